//! Evidence as log-odds: what one burst contributes, how it adds up, and which confidence results.

use super::thresholds::{
    ALIKE_SHARE, EARLY_TO, EARLY_TOGETHER, LATE_APART, LATE_FROM, SHARED_LOG, SHARED_SPREAD, STRAY_SHARE,
};

/// The probability that belongs to log-odds.
pub fn probability(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// An upper bound of the probability that at least one of several statements is wrong: the sum of theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Doubt(f64);

impl Doubt {
    /// Adds a statement with these log-odds for the side that was taken.
    pub fn add(&mut self, log_odds: f64) {
        self.0 += probability(-log_odds.abs());
    }

    /// The confidence that all of them are right.
    pub fn confidence(self) -> f64 {
        (1.0 - self.0).max(0.0)
    }
}

/// The log-odds that one burst adds to "this stride is a multiple of the pattern". `log_ratio` is the logarithm of its pace
/// relative to the references of one disk, `spread` their spread. A burst as slow as one disk adds little, because many
/// places look so anyway; a fast one subtracts much. (A sequential probability ratio test, Wald 1945, against a mixture.)
pub fn of_stride(log_ratio: f64, spread: f64) -> f64 {
    let one_disk = density(log_ratio.min(0.0), 0.0, spread);
    let shared = density(log_ratio.max(SHARED_LOG), SHARED_LOG, SHARED_SPREAD);
    (one_disk / (ALIKE_SHARE * one_disk + (1.0 - ALIKE_SHARE) * shared)).ln()
}

/// A normal density, with a share of stray values.
fn density(value: f64, mean: f64, spread: f64) -> f64 {
    let z = (value - mean) / spread;
    (1.0 - STRAY_SHARE) * (-z * z / 2.0).exp() / (spread * (2.0 * std::f64::consts::PI).sqrt()) + STRAY_SHARE
}

/// The log-odds that a probe adds to "it lies on the hammer's disk", by the share of the hammer that was done before it.
pub fn of_probe(done_before: f64) -> f64 {
    let late = ((1.0 - EARLY_TOGETHER) / LATE_APART).ln();
    let early = (EARLY_TOGETHER / (1.0 - LATE_APART)).ln();
    let lateness = ((done_before - EARLY_TO) / (LATE_FROM - EARLY_TO)).clamp(0.0, 1.0);
    early + lateness * (late - early)
}

#[cfg(test)]
mod tests {
    use super::super::thresholds::DECIDED;
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn a_fast_burst_is_stronger_evidence_than_a_slow_one() {
        let (slow, fast) = (of_stride(0.0, 0.08), of_stride(-0.6, 0.08));
        assert!((0.4..=-ALIKE_SHARE.ln()).contains(&slow), "{slow}");
        assert!((-4.5..-2.5).contains(&fast), "{fast}");
        assert!((of_stride(5.0, 0.08) - slow).abs() < 0.1, "slower than one disk is as slow as one");
        assert!(of_stride(-9.0, 0.08) >= fast - 1e-9, "and no burst says more");
    }

    #[test]
    fn the_sequential_test_errs_no_more_often_than_it_claims() {
        let (mut rng, spread, trials) = (Rng::new(1), 0.09, 4000);
        let mut normal = || (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0;
        let mut wrong = [0; 2];
        for trial in 0..trials {
            for is_multiple in [true, false] {
                let mut odds = 0.0f64;
                let mut step = 0u64;
                while odds.abs() < DECIDED {
                    step += 1;
                    let is_alike = is_multiple || (trial * 31 + step * 17) % 100 < 50;
                    let log = if is_alike { normal() * spread } else { SHARED_LOG + normal() * SHARED_SPREAD };
                    odds += of_stride(log, spread);
                }
                wrong[usize::from(is_multiple)] += usize::from((odds > 0.0) != is_multiple);
            }
        }
        assert!(wrong.iter().all(|&count| count <= 8), "{wrong:?} of {trials}: one in ten thousand and its chance");
    }

    #[test]
    fn probes_are_late_or_early_or_give_little_evidence() {
        assert!((2.9..3.0).contains(&of_probe(1.0)) && (-3.9..-3.8).contains(&of_probe(0.2)));
        assert!(of_probe(0.74).abs() < 0.5);
    }

    #[test]
    fn doubts_add_up() {
        let mut doubt = Doubt::default();
        doubt.add(DECIDED);
        doubt.add(-DECIDED);
        assert!((1.0 - doubt.confidence() - 2.0e-4).abs() < 1e-5);
        (0..10).for_each(|_| doubt.add(0.0));
        assert_eq!(doubt.confidence(), 0.0);
    }
}
