//! A logarithmic scale: finds the step that a number falls on without computing a logarithm.

/// Steps per octave, at most: no step may be narrower than a table entry, and 2^(1/256) - 1 is more than 1/1024.
const STEPS_MAX: u32 = 256;
const TABLE_BITS: u32 = 10;
/// The number of bits of a double's fraction, and the bits of 1.0.
const FRACTION_BITS: u32 = 52;
const ONE: u64 = 1.0f64.to_bits();

/// Steps of equal ratio from 1 upwards, a fixed number of them per octave. Finding a number's step takes some nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct OctaveScale {
    /// The edges within an octave, from 1 to 2, both included.
    edges: Vec<f64>,
    /// Indexed by the first bits of a fraction: the step of the least fraction with these bits. The next may have them too.
    table: Vec<u16>,
    steps_per_octave: f64,
}

impl OctaveScale {
    /// A scale with `steps_per_octave` steps from a number to its double.
    ///
    /// # Panics
    /// When `steps_per_octave` is not in 1..=256.
    pub fn new(steps_per_octave: u32) -> OctaveScale {
        assert!((1..=STEPS_MAX).contains(&steps_per_octave), "1 to {STEPS_MAX} steps per octave");
        let steps = f64::from(steps_per_octave);
        let edges: Vec<f64> = (0..=steps_per_octave).map(|step| (f64::from(step) / steps).exp2()).collect();
        let mut step = 0;
        let entries = (0..1 << TABLE_BITS).map(|entry| 1.0 + f64::from(entry) / f64::from(1 << TABLE_BITS));
        let table = entries.map(|from| {
            while from > edges[step] {
                step += 1;
            }
            step as u16
        });
        let table = table.collect();
        OctaveScale { edges, table, steps_per_octave: steps }
    }

    /// The number of steps from a number to its double, 1..=256.
    pub fn steps_per_octave(&self) -> u32 {
        self.steps_per_octave as u32
    }

    #[inline]
    /// The first step whose upper edge is not below `ratio` (at least 1): 0 for 1 alone, 1 up to the first edge.
    pub fn step_of(&self, ratio: f64) -> usize {
        let bits = ratio.to_bits();
        let octave = (bits - ONE) >> FRACTION_BITS;
        let fraction = f64::from_bits(bits & ((1 << FRACTION_BITS) - 1) | ONE);
        let first = usize::from(self.table[(bits >> (FRACTION_BITS - TABLE_BITS)) as usize & ((1 << TABLE_BITS) - 1)]);
        let step = first + usize::from(fraction > self.edges[first]);
        octave as usize * (self.edges.len() - 1) + step
    }

    /// The upper edge of a step.
    pub fn edge(&self, step: usize) -> f64 {
        (step as f64 / self.steps_per_octave).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn every_number_gets_the_step_of_its_logarithm() {
        let mut rng = Rng::new(5);
        for steps in [1, 3, 8, 64, 256] {
            let scale = OctaveScale::new(steps);
            for _ in 0..20_000 {
                let ratio = (rng.uniform() * 40.0).exp2();
                let step = (ratio.log2() * f64::from(steps)).ceil() as usize;
                assert_eq!(scale.step_of(ratio), step, "{ratio} of {steps}");
                assert!(scale.edge(step) >= ratio && scale.edge(step - 1) < ratio);
            }
            let whole = [1.0, 2.0, 1024.0].map(|ratio| scale.step_of(ratio));
            assert_eq!(whole, [0, steps as usize, 10 * steps as usize]);
            assert_eq!(scale.step_of(f64::from_bits(ONE + 1)), 1);
        }
    }
}
