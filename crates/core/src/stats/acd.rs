//! Autoregressive conditional durations: long durations are expected after long ones, and short ones after short ones.

use super::nelder_mead;

/// ACD(1,1) (Engle & Russell, "Autoregressive conditional duration: a new model for irregularly spaced transaction
/// data", Econometrica 66(5), 1998): the duration `x[i]` is expected to be
/// `psi[i] = omega + alpha x[i-1] + beta psi[i-1]`, with omega > 0, alpha, beta >= 0 and alpha + beta < 1.
///
/// The fit is quasi-maximum likelihood: `x[i] / psi[i]` is treated as exponential, which gives the right weights for
/// other positive errors of mean 1 as well (the paper's section 4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acd {
    omega: f64,
    alpha: f64,
    beta: f64,
}

/// The least number of durations for a fit: fewer do not determine three parameters.
const DURATIONS_MIN: usize = 16;
/// Where the searches start, as (alpha, beta): a long memory and a short one. The likelihood can have a maximum near each.
const STARTS: [(f64, f64); 2] = [(0.1, 0.8), (0.3, 0.3)];
/// The first step of the search, in the transformed parameters: a factor of 1.6 in omega or in odds.
const STEP: f64 = 0.5;
/// The search ends when the mean log-likelihood changes by less.
const TOLERANCE: f64 = 1e-9;
/// Evaluations of the likelihood from one start, at most; about 120 are needed.
const CALLS_MAX: usize = 400;
/// Transformed parameters are at most this in absolute value: odds of e^30 to 1 are practically certainty.
const TRANSFORMED_MAX: f64 = 30.0;
/// Factors that are multiplied before the logarithm of their product is taken. Each lies between e^-30 and about the
/// number of durations, so that the product stays far from both ends of the range of an f64.
const FACTORS: usize = 16;

impl Acd {
    /// Fits `durations` (any unit, none negative), oldest first. The first one's expectation is taken to be their mean.
    ///
    /// `None` when there are fewer than 16, all are zero, or one is negative or not finite.
    pub fn fit(durations: &[f64]) -> Option<Acd> {
        let mean = durations.iter().sum::<f64>() / durations.len() as f64;
        let is_usable = durations.iter().all(|duration| *duration >= 0.0) && mean > 0.0 && mean.is_finite();
        if durations.len() < DURATIONS_MIN || !is_usable {
            return None;
        }
        // In units of the mean the search behaves alike for seconds and for microseconds.
        let scaled: Vec<f64> = durations.iter().map(|duration| duration / mean).collect();
        let surprise = |place: &[f64; 3]| {
            let is_allowed = place.iter().all(|value| value.abs() <= TRANSFORMED_MAX);
            if is_allowed { Acd::from_transformed(place).surprise(&scaled, 1.0) } else { f64::INFINITY }
        };
        let best = STARTS
            .map(|(alpha, beta)| Acd { omega: 1.0 - alpha - beta, alpha, beta }.to_transformed())
            .map(|start| nelder_mead::minimize(surprise, start, STEP, TOLERANCE, CALLS_MAX))
            .into_iter()
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        let Acd { omega, alpha, beta } = Acd::from_transformed(&best.0);
        Some(Acd { omega: omega * mean, alpha, beta })
    }

    /// The constant omega, in the unit of the durations.
    pub fn omega(&self) -> f64 {
        self.omega
    }

    /// The weight alpha of the last duration, 0..1.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The weight beta of the last duration's expectation, 0..1.
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// The long-run mean duration: omega / (1 - alpha - beta).
    pub fn mean(&self) -> f64 {
        self.omega / (1.0 - self.alpha - self.beta)
    }

    /// The expectation of the next duration, after one with the expectation `psi` that took `duration`.
    pub fn next(&self, psi: f64, duration: f64) -> f64 {
        self.omega + self.alpha * duration + self.beta * psi
    }

    /// The expectation of the next duration after `durations`, oldest first; the first one's expectation is taken to be
    /// their mean. Without durations: the long-run mean.
    pub fn predict(&self, durations: &[f64]) -> f64 {
        if durations.is_empty() {
            return self.mean();
        }
        let mean = durations.iter().sum::<f64>() / durations.len() as f64;
        durations.iter().fold(mean, |psi, &duration| self.next(psi, duration))
    }

    /// The mean of `ln psi + x / psi`: the negative log-likelihood per duration, as if durations were exponential.
    fn surprise(&self, durations: &[f64], psi_first: f64) -> f64 {
        let mut psi = psi_first;
        let mut total = 0.0;
        for chunk in durations.chunks(FACTORS) {
            // Logarithms are expensive: one of a product replaces one for each factor.
            let mut product = 1.0;
            for &duration in chunk {
                product *= psi;
                total += duration / psi;
                psi = self.next(psi, duration);
            }
            total += f64::ln(product);
        }
        total / durations.len() as f64
    }

    /// The parameters without constraints: ln omega, the log-odds of alpha + beta, and those of alpha's share in it.
    fn to_transformed(self) -> [f64; 3] {
        let log_odds = |share: f64| (share / (1.0 - share)).ln();
        let sum = self.alpha + self.beta;
        [self.omega.ln(), log_odds(sum), log_odds(self.alpha / sum)]
    }

    fn from_transformed(place: &[f64; 3]) -> Acd {
        let share = |log_odds: f64| 1.0 / (1.0 + (-log_odds).exp());
        let (sum, of_alpha) = (share(place[1]), share(place[2]));
        Acd { omega: place[0].exp(), alpha: sum * of_alpha, beta: sum * (1.0 - of_alpha) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const TRUTH: Acd = Acd { omega: 0.05, alpha: 0.2, beta: 0.7 };

    fn simulated(count: usize, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        let mut psi = TRUTH.mean();
        let mut draw = || {
            let duration = psi * rng.exponential(1.0);
            psi = TRUTH.next(psi, duration);
            duration
        };
        (0..count).map(|_| draw()).collect()
    }

    fn assert_near(found: &Acd, expected: &Acd, tolerance: f64) {
        let differences = [found.omega - expected.omega, found.alpha - expected.alpha, found.beta - expected.beta];
        assert!(differences.iter().all(|difference| difference.abs() <= tolerance), "{found:?} is not {expected:?}");
    }

    #[test]
    fn a_simulated_series_gives_its_parameters_back() {
        let model = Acd::fit(&simulated(50_000, 1)).unwrap();
        assert_near(&model, &TRUTH, 0.015);
        assert!((model.mean() - TRUTH.mean()).abs() < 0.02);
    }

    /// Reference: SciPy 1's Nelder-Mead on an independent Python version of the likelihood, to 14 digits.
    #[test]
    fn the_fit_agrees_with_an_independent_search() {
        let durations = simulated(1000, 2);
        let model = Acd::fit(&durations).unwrap();
        assert_near(&model, &Acd { omega: 0.0552768, alpha: 0.2730364, beta: 0.6396258 }, 2e-5);
        assert!((model.surprise(&durations, durations.iter().sum::<f64>() / 1000.0) - 0.3445139971).abs() < 1e-9);
        assert!((model.predict(&durations) - 1.3051758).abs() < 2e-5);
    }

    #[test]
    fn the_unit_does_not_matter() {
        let durations = simulated(500, 3);
        let micros: Vec<f64> = durations.iter().map(|duration| duration * 1e6).collect();
        let (model, other) = (Acd::fit(&durations).unwrap(), Acd::fit(&micros).unwrap());
        assert_near(&Acd { omega: other.omega / 1e6, ..other }, &model, 1e-5);
    }

    #[test]
    fn a_prediction_continues_the_filter_over_the_durations() {
        let durations = simulated(100, 4);
        let (first, last) = durations.split_at(99);
        let mean = |durations: &[f64]| durations.iter().sum::<f64>() / durations.len() as f64;
        let psi = first.iter().fold(mean(&durations), |psi, &duration| TRUTH.next(psi, duration));
        assert_eq!(TRUTH.predict(&durations), TRUTH.next(psi, last[0]));
        assert_eq!(TRUTH.predict(&[]), TRUTH.mean());
    }

    #[test]
    fn the_constraints_hold_for_any_durations() {
        let mut rng = Rng::new(5);
        let trend: Vec<f64> = (0..200).map(f64::from).collect();
        let tail: Vec<f64> = (0..4096).map(|_| rng.pareto(1e-4, 0.7)).collect();
        let pulses: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { 0.0 } else { 1.0 }).collect();
        for durations in [trend, tail, pulses, vec![3.0; 50]] {
            let model = Acd::fit(&durations).unwrap();
            assert!(model.omega > 0.0 && model.alpha >= 0.0 && model.beta >= 0.0, "{model:?}");
            assert!(model.alpha + model.beta < 1.0 && model.predict(&durations).is_finite(), "{model:?}");
        }
        assert!((Acd::fit(&[3.0; 50]).unwrap().predict(&[3.0; 50]) - 3.0).abs() < 1e-3);
    }

    #[test]
    fn unusable_durations_give_no_model() {
        assert_eq!(Acd::fit(&[]), None);
        assert_eq!(Acd::fit(&[1.0; DURATIONS_MIN - 1]), None);
        assert_eq!(Acd::fit(&[0.0; 100]), None);
        let with_odd = |odd: f64| [vec![1.0; 50], vec![odd]].concat();
        assert!([-1.0, f64::NAN, f64::INFINITY].into_iter().all(|odd| Acd::fit(&with_odd(odd)).is_none()));
    }
}
