//! The size of the measurements.

use scrubjay_core::probe::paper::TrialParameters;

/// N, R and the seed of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// N: requests per trial.
    pub requests: usize,
    /// R: trials per point.
    pub repeats: usize,
    /// The seed of all random draws.
    pub seed: u64,
}

impl Effort {
    /// The values used for the figures: [`TrialParameters::PUBLISHED`].
    pub const FULL: Effort = Effort {
        requests: TrialParameters::PUBLISHED.requests,
        repeats: TrialParameters::PUBLISHED.repeats,
        seed: TrialParameters::PUBLISHED.seed,
    };

    /// The same values as the prober's parameters.
    pub fn parameters(self) -> TrialParameters {
        let Effort { requests, repeats, seed } = self;
        TrialParameters { requests, repeats, seed, ..TrialParameters::PUBLISHED }
    }
}
