//! The cost of the four steps, in requests (Denehy et al. 2004, section 2.4 and Figure 7).

use super::trial::TrialParameters;

/// The requests of each step, if none fails and no cache takes the writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepCost {
    /// Step 1: N R for each size up to the largest.
    pub pattern: u64,
    /// Step 2: 2 N R for each block of the pattern.
    pub boundary: u64,
    /// Step 3: 2 N R for each pair of chunks, a chunk with itself included.
    pub layout: u64,
    /// Step 4: N reads, N reads of other places, N writes.
    pub redundancy: u64,
}

impl StepCost {
    /// The cost for a pattern and a chunk of these sizes.
    pub fn of(parameters: &TrialParameters, pattern_bytes: u64, chunk_bytes: u64) -> StepCost {
        let (requests, repeats) = (parameters.requests as u64, parameters.repeats as u64);
        let chunks = pattern_bytes / chunk_bytes;
        StepCost {
            pattern: parameters.pattern_bytes_max / parameters.step_bytes * requests * repeats,
            boundary: pattern_bytes / parameters.block_bytes * 2 * requests * repeats,
            layout: chunks * (chunks + 1) / 2 * 2 * requests * repeats,
            redundancy: if parameters.writes.is_some() { 3 * requests } else { 0 },
        }
    }

    /// The cost of all steps.
    pub fn total(&self) -> u64 {
        self.pattern + self.boundary + self.layout + self.redundancy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_disks_left_asymmetric_take_hundreds_of_millions() {
        // 240 chunks of 32 KiB, sizes up to twice the pattern; N = 500, R = 10.
        let pattern = 240 * 32_768;
        let parameters = TrialParameters { pattern_bytes_max: 2 * pattern, ..TrialParameters::PUBLISHED };
        let cost = StepCost::of(&parameters, pattern, 32_768);
        assert_eq!((cost.pattern, cost.boundary, cost.layout), (19_200_000, 19_200_000, 289_200_000));
        assert_eq!(cost.total(), 327_600_000 + 1500);
    }
}
