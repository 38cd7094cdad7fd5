//! Step 1: the size of the pattern (Denehy et al. 2004, section 2.3.1).

use super::cluster;
use super::trial::{Halt, ScanPoint, TrialParameters, mean, reads_at};
use crate::probe::io::ProbeIo;
use crate::rng::Rng;

/// The result of the scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatternScan {
    /// The size of the pattern, in bytes.
    pub bytes: u64,
    /// The time in seconds of N reads at this distance, all on one disk (of a mirror: one pair).
    pub seconds: f64,
    /// The mean silhouette of the slowest cluster, times the share of the size's multiples that are in it: if the
    /// divisor has collapsed, most of them are not. 0 to 1.
    pub confidence: f64,
}

/// Measures each assumed size: a block at the same random place of N random segments of that size.
///
/// # Errors
/// When the budget is spent, or requests fail repeatedly.
pub async fn scan<K>(bench: &ProbeIo<K>, parameters: &TrialParameters, rng: &mut Rng) -> Result<Vec<ScanPoint>, Halt> {
    let largest = parameters.pattern_bytes_max.min(bench.device().bytes);
    let mut samples = Vec::new();
    for bytes in (1..=largest / parameters.step_bytes).map(|step| step * parameters.step_bytes) {
        let trial = || {
            let place = rng.below(bytes / parameters.block_bytes) * parameters.block_bytes;
            reads_at(bench, parameters, rng, (0, bytes), |_| place)
        };
        samples.push(ScanPoint { bytes, seconds: mean(bench, parameters.repeats, trial).await? });
    }
    Ok(samples)
}

/// The pattern: the greatest common divisor of the sizes in the slowest cluster; `None` of an empty scan.
pub fn pattern(samples: &[ScanPoint]) -> Option<PatternScan> {
    let seconds: Vec<f64> = samples.iter().map(|sample| sample.seconds).collect();
    let clusters = cluster::by_criterion(&seconds);
    let slowest = clusters.means.len() - 1;
    let bytes = cluster::gcd(clusters.members(slowest).map(|index| samples[index].bytes));
    if bytes == 0 {
        return None;
    }
    let multiples = || samples.iter().enumerate().filter(|(_, sample)| sample.bytes.is_multiple_of(bytes));
    let agreeing = multiples().filter(|&(index, _)| clusters.labels[index] == slowest).count();
    let clear = clusters.silhouette_mean(&seconds, clusters.members(slowest));
    let confidence = clear.max(0.0) * agreeing as f64 / multiples().count() as f64;
    Some(PatternScan { bytes, seconds: clusters.means[slowest], confidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(seconds: impl Fn(u64) -> f64, count: u64) -> Vec<ScanPoint> {
        (1..=count).map(|step| ScanPoint { bytes: step * 4096, seconds: seconds(step) }).collect()
    }

    #[test]
    fn the_divisor_of_the_slowest_is_the_pattern() {
        let times = |step: u64| {
            if step.is_multiple_of(16) {
                2.0
            } else if step.is_multiple_of(8) {
                1.05
            } else {
                0.6
            }
        };
        let found = pattern(&samples(times, 40)).expect("some");
        assert_eq!(found.bytes, 65_536);
        assert!(found.confidence > 0.95);
    }

    #[test]
    fn one_outlier_breaks_the_rule_and_the_confidence_is_low() {
        let times = |step: u64| if step.is_multiple_of(16) || step == 31 { 2.0 } else { 1.0 };
        let found = pattern(&samples(times, 40)).expect("some");
        assert_eq!(found.bytes, 4096);
        assert!(found.confidence < 0.1, "{}", found.confidence);
    }

    #[test]
    fn where_all_sizes_are_alike_the_pattern_is_a_block() {
        assert_eq!(pattern(&samples(|_| 2.0, 40)).map(|found| found.bytes), Some(4096));
        assert_eq!(pattern(&[]), None);
    }
}
