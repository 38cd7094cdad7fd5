//! The paper's ranking of policies at equal collision rates.
//!
//! Amvrosiadis et al., DSN'12, V-B: Oracle, Lossless Waiting, Waiting, the mixes, Auto-Regression.

use super::predictors::{Predictors, used_within};
use scrubjay_chart::Series;

/// The collision rates at which policies are compared, in collisions per idle interval.
pub const RATES: [f64; 5] = [0.005, 0.01, 0.02, 0.05, 0.10];
/// Shares of the idle time that differ by less than this are called equal: the sweeps are no finer.
const EQUAL: f64 = 0.005;

/// Two policies of the ranking, at one collision rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranking {
    /// The better one in the paper.
    pub better: &'static str,
    /// The worse one in the paper.
    pub worse: &'static str,
    /// Collisions per idle interval.
    pub rate: f64,
    /// The share of the idle time that the better one uses.
    pub better_used: f64,
    /// The share that the worse one uses.
    pub worse_used: f64,
}

impl Ranking {
    /// Whether the order is the paper's. Equality within half a percent of the idle time counts.
    pub fn holds(&self) -> bool {
        self.better_used >= self.worse_used - EQUAL
    }
}

/// Compares neighbours in the ranking, and Waiting with both predictors. Of the four mixes, the best at each rate
/// counts.
pub fn check(found: &Predictors) -> Vec<Ranking> {
    let used = |curve: &Series, rate: f64| used_within(curve, rate);
    let oracle = |rate| used(&found.oracle, rate);
    let lossless = |rate| used(&found.lossless, rate);
    let waiting = |rate| used(&found.waiting, rate);
    let mix = |rate| found.mixes.iter().map(|mix| used_within(mix, rate)).fold(0.0, f64::max);
    let regression = |rate| used(&found.auto_regression, rate);
    let acd = |rate| used(&found.acd, rate);
    type Used<'a> = (&'static str, &'a dyn Fn(f64) -> f64);
    let pairs: [(Used, Used); 6] = [
        (("Oracle", &oracle), ("Lossless Waiting", &lossless)),
        (("Lossless Waiting", &lossless), ("Waiting", &waiting)),
        (("Waiting", &waiting), ("AR + Waiting", &mix)),
        (("AR + Waiting", &mix), ("Auto-Regression", &regression)),
        (("Waiting", &waiting), ("Auto-Regression", &regression)),
        (("Waiting", &waiting), ("ACD", &acd)),
    ];
    let compare = |(better, worse): &(Used, Used)| {
        let ((better, better_by), (worse, worse_by)) = (*better, *worse);
        RATES.map(|rate| Ranking { better, worse, rate, better_used: better_by(rate), worse_used: worse_by(rate) })
    };
    pairs.iter().flat_map(compare).collect()
}
