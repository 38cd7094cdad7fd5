//! One-way analysis of variance: do the values of a series depend on their phase in a period?

use std::f64::consts::PI;

/// The result of an analysis of variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    /// F: the variance between the groups' means divided by that within the groups; about 1 when the groups do not differ.
    pub f: f64,
    /// The share (0..=1) of the variance that the groups explain.
    pub explained: f64,
    /// The natural logarithm of the probability that F is at least this large when the groups do not differ. A
    /// logarithm, because a daily rhythm makes the probability too small for an f64.
    pub log_chance: f64,
}

/// One-way analysis of variance of `values`, grouped by their place modulo `period`: phase 0 holds the values 0,
/// `period`, 2 `period`, ...
///
/// `None` when there are fewer than two groups, a group has fewer than two values, or nothing varies within them.
/// (R. A. Fisher, "Statistical methods for research workers", 1925; for request counts as in Amvrosiadis, Oprea &
/// Schroeder, DSN'12, section V-A.)
pub fn variance_by_phase(values: &[f64], period: usize) -> Option<Variance> {
    if period < 2 || values.len() < 2 * period {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let (mut between, mut within) = (0.0, 0.0);
    for phase in 0..period {
        let group = || values[phase..].iter().step_by(period);
        let count = group().count() as f64;
        let group_mean = group().sum::<f64>() / count;
        between += count * (group_mean - mean).powi(2);
        within += group().map(|value| (value - group_mean).powi(2)).sum::<f64>();
    }
    let (between_freedom, within_freedom) = ((period - 1) as f64, (values.len() - period) as f64);
    if within <= 0.0 {
        return None;
    }
    let f = (between / between_freedom) / (within / within_freedom);
    let log_chance = log_beta_ratio(
        within_freedom / (within_freedom + between_freedom * f),
        within_freedom / 2.0,
        between_freedom / 2.0,
    );
    Some(Variance { f, explained: between / (between + within), log_chance })
}

/// The logarithm of the regularised incomplete beta function I_x(a, b): the tail of the F distribution.
///
/// Computed from its continued fraction (Abramowitz & Stegun, "Handbook of mathematical functions", 1964, 26.5.8) by
/// Lentz's method; it converges fast for x below the mean, and elsewhere 1 - I_(1-x)(b, a) is used.
fn log_beta_ratio(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if x >= 1.0 {
        return 0.0;
    }
    let log_front = a * x.ln() + b * (-x).ln_1p() - (log_gamma(a) + log_gamma(b) - log_gamma(a + b));
    if x < (a + 1.0) / (a + b + 2.0) {
        log_front + (fraction(x, a, b) / a).ln()
    } else {
        let other = log_front.exp() * fraction(1.0 - x, b, a) / b;
        (-other.min(1.0)).ln_1p()
    }
}

/// The continued fraction of the incomplete beta function.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    /// Terms closer to zero are replaced by this, because they are divided by.
    const TINY: f64 = 1e-300;
    /// Terms computed, at most: about sqrt(max(a, b)) are needed; a year of hours needs less than a hundred.
    const TERMS_MAX: u32 = 10_000;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut c, mut d) = (1.0, 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)));
    let mut result = d;
    for m in (1..TERMS_MAX).map(f64::from) {
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut factor = 1.0;
        for term in [even, odd] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            factor = d * c;
            result *= factor;
        }
        if (factor - 1.0).abs() < 1e-14 {
            break;
        }
    }
    result
}

/// ln Gamma(x) for x > 0: Stirling's series beyond 12, reached by Gamma(x + 1) = x Gamma(x); better than 1e-12.
fn log_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 12.0 {
        shift += x.ln();
        x += 1.0;
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5)) - 1.0 / (1680.0 * x.powi(7));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series - shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn two_groups_by_hand() {
        // Groups (1, 2, 3) and (5, 6, 7): means 2 and 6; between: 24 with 1 degree of freedom; within: 4 with 4.
        let found = variance_by_phase(&[1.0, 5.0, 2.0, 6.0, 3.0, 7.0], 2).unwrap();
        assert!((found.f - 24.0).abs() < 1e-12 && (found.explained - 24.0 / 28.0).abs() < 1e-12);
        // F(1, 4) = t(4)^2: the two-sided tail of Student's t at sqrt(24), 1 - s (1.5 - s^2 / 2) with s^2 = 24 / 28.
        let s = (24.0f64 / 28.0).sqrt();
        assert!((found.log_chance - (1.0 - s * (1.5 - s * s / 2.0)).ln()).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn too_few_or_unvarying_values_give_no_analysis() {
        assert_eq!(variance_by_phase(&[1.0, 2.0, 3.0], 2), None);
        assert_eq!(variance_by_phase(&[1.0, 2.0, 3.0, 4.0], 1), None);
        assert_eq!(variance_by_phase(&[1.0, 2.0, 1.0, 2.0], 2), None);
    }

    /// With two degrees of freedom between the groups the tail has the closed form (1 + 2 F / n)^(-n / 2).
    #[test]
    fn the_tail_of_f_is_that_of_the_theory() {
        for (f, freedom) in [(0.1, 5.0), (1.0, 30.0), (3.0, 57.0), (50.0, 2000.0), (5000.0, 8000.0)] {
            let reached = log_beta_ratio(freedom / (freedom + 2.0 * f), freedom / 2.0, 1.0);
            let theory = -freedom / 2.0 * (2.0 * f / freedom).ln_1p();
            assert!(
                (reached - theory).abs() < 1e-8 * theory.abs().max(1.0),
                "F {f} of 2, {freedom}: {reached} {theory}"
            );
        }
    }

    #[test]
    fn the_logarithm_of_gamma_at_known_places() {
        assert!((log_gamma(0.5) - PI.sqrt().ln()).abs() < 1e-12);
        assert!((log_gamma(5.0) - 24f64.ln()).abs() < 1e-12);
        assert!((log_gamma(21.0) - (1..=20).map(|i| f64::from(i).ln()).sum::<f64>()).abs() < 1e-11);
    }

    #[test]
    fn a_rhythm_stands_out_of_noise() {
        let mut rng = Rng::new(11);
        let noise: Vec<f64> = (0..240).map(|_| rng.uniform()).collect();
        let rhythm: Vec<f64> = noise.iter().enumerate().map(|(i, v)| v + if i % 24 < 8 { 1.0 } else { 0.0 }).collect();
        let chance = |values: &[f64], period| variance_by_phase(values, period).unwrap().log_chance;
        assert!(chance(&noise, 24) > 0.001f64.ln(), "{}", chance(&noise, 24).exp());
        let best = (2..=48).min_by(|&a, &b| chance(&rhythm, a).total_cmp(&chance(&rhythm, b)));
        assert_eq!(best, Some(24));
    }
}
