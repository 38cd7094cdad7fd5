//! The dependence of values on their predecessors: a stationary series of standard normals behind them.
//!
//! It is a Gaussian copula: an AR(1) series plus noise, fitted to the autocorrelation at lags 1, 2 and 5.

use scrubjay_core::rng::Rng;
use std::f64::consts::TAU;

/// An autocorrelation below this counts as none; it is within chance for 2,500 values.
const NONE_BELOW: f64 = 0.02;
/// The greatest memory of the AR(1) series, which keeps it away from a random walk.
const MEMORY_MAX: f64 = 0.995;
/// The number of cells of the table of the cumulative distribution, over -6..6; with linear interpolation the error is
/// at most 4e-6.
const CELLS: usize = 1024;
const EDGE: f64 = 6.0;

/// A series of dependent standard normals.
#[derive(Clone, Debug)]
pub(super) struct LatentSeries {
    /// The autocorrelation of the slow part from one value to the next.
    memory: f64,
    /// The weight of a new normal in the slow part.
    fresh: f64,
    /// The weights of the slow part and of the noise in a value; their squares add up to 1.
    signal: f64,
    noise: f64,
    slow: f64,
}

impl LatentSeries {
    /// A series with approximately this autocorrelation at lags 1, 2 and 5: `share * memory^lag`.
    pub(super) fn new(acf: [f64; 3], rng: &mut Rng) -> LatentSeries {
        let [first, second, fifth] = acf;
        let (memory, share) = if first.abs() < NONE_BELOW {
            (0.0, 0.0)
        } else if first < 0.0 {
            (first.max(-MEMORY_MAX), 1.0)
        } else {
            // The mean of the estimates of the memory by lags 2 and 5, or the only one; without any, plain AR(1).
            let by_second = (second > 0.0).then(|| second / first);
            let by_fifth = (fifth > 0.0).then(|| (fifth / first).powf(0.25));
            let estimates = [by_second, by_fifth].into_iter().flatten();
            let (sum, count) = estimates.fold((0.0, 0.0), |(sum, count), estimate| (sum + estimate, count + 1.0));
            let memory = if count > 0.0 { sum / count } else { first };
            let memory = memory.max(first).min(MEMORY_MAX);
            (memory, (first / memory).min(1.0))
        };
        let fresh = (1.0 - memory * memory).sqrt();
        LatentSeries { memory, fresh, signal: share.sqrt(), noise: (1.0 - share).sqrt(), slow: normals(rng).0 }
    }

    /// Whether every value is independent of the previous ones.
    pub(super) fn is_independent(&self) -> bool {
        self.signal == 0.0
    }

    /// The next value.
    pub(super) fn next(&mut self, rng: &mut Rng) -> f64 {
        let (fresh, noise) = normals(rng);
        self.slow = self.memory * self.slow + self.fresh * fresh;
        self.signal * self.slow + self.noise * noise
    }
}

/// Box & Muller, "A note on the generation of random normal deviates" (1958): two at a time.
fn normals(rng: &mut Rng) -> (f64, f64) {
    let radius = (-2.0 * (1.0 - rng.uniform()).ln()).sqrt();
    let (sine, cosine) = (TAU * rng.uniform()).sin_cos();
    (radius * cosine, radius * sine)
}

/// The cumulative distribution of a mixture of normals, as a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cumulative {
    table: Vec<f64>,
}

impl Cumulative {
    /// The mixture of normals with the given (weight, mean) and one standard deviation. Weights add up to 1.
    pub(super) fn new(parts: &[(f64, f64)], deviation: f64) -> Cumulative {
        let at = |x: f64| parts.iter().map(|(weight, mean)| weight * normal_below((x - mean) / deviation)).sum();
        Cumulative { table: (0..=CELLS).map(|cell| at(2.0 * EDGE * cell as f64 / CELLS as f64 - EDGE)).collect() }
    }

    /// The standard normal distribution.
    pub(super) fn normal() -> Cumulative {
        Cumulative::new(&[(1.0, 0.0)], 1.0)
    }

    /// The probability of a value below `x`.
    pub(super) fn below(&self, x: f64) -> f64 {
        let position = ((x + EDGE) * (CELLS as f64 / (2.0 * EDGE))).clamp(0.0, CELLS as f64 - 1e-6);
        let cell = position as usize;
        let (from, to) = (self.table[cell], self.table[cell + 1]);
        from + (to - from) * (position - cell as f64)
    }
}

/// The standard normal distribution function: Abramowitz & Stegun, "Handbook of mathematical functions" (1964),
/// formula 26.2.17, off by less than 7.5e-8.
fn normal_below(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let polynomial =
        t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let tail = (-x * x / 2.0).exp() / TAU.sqrt() * polynomial;
    if x < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn autocorrelation(values: &[f64], lag: usize) -> f64 {
        let products: f64 = values.iter().zip(&values[lag..]).map(|(a, b)| a * b).sum();
        products / values.iter().map(|value| value * value).sum::<f64>()
    }

    #[test]
    fn a_series_has_the_wanted_autocorrelation() {
        for acf in [[0.6, 0.5, 0.289], [0.3, 0.09, 0.002_43], [-0.2, 0.04, 0.0], [0.0; 3]] {
            let mut rng = Rng::new(3);
            let mut latent = LatentSeries::new(acf, &mut rng);
            let values: Vec<f64> = (0..100_000).map(|_| latent.next(&mut rng)).collect();
            for (lag, wanted) in [1, 2, 5].into_iter().zip(acf) {
                let found = autocorrelation(&values, lag);
                assert!((found - wanted).abs() < 0.02, "{acf:?} at {lag}: {found}");
            }
            let normal = Cumulative::normal();
            let mean = values.iter().map(|&x| normal.below(x)).sum::<f64>() / values.len() as f64;
            assert!((mean - 0.5).abs() < 0.02, "ranks are even: {mean}");
        }
    }

    #[test]
    fn the_distribution_function_is_the_known_one() {
        let normal = Cumulative::normal();
        for (x, wanted) in [(0.0, 0.5), (1.0, 0.841_344_7), (-1.96, 0.024_997_9), (3.0, 0.998_650_1), (9.0, 1.0)] {
            assert!((normal.below(x) - wanted).abs() < 1e-5, "{x}");
        }
    }
}
