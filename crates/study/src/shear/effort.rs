//! How much is measured.

use scrubjay_core::probe::paper::TrialParameters;

/// N, R and the seed of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// N: requests of a trial.
    pub requests: usize,
    /// R: trials of a point.
    pub repeats: usize,
    /// Of all chance.
    pub seed: u64,
}

impl Effort {
    /// What the figures are made with: [`TrialParameters::PUBLISHED`].
    pub const FULL: Effort = Effort {
        requests: TrialParameters::PUBLISHED.requests,
        repeats: TrialParameters::PUBLISHED.repeats,
        seed: TrialParameters::PUBLISHED.seed,
    };

    /// As the prober takes it.
    pub fn parameters(self) -> TrialParameters {
        let Effort { requests, repeats, seed } = self;
        TrialParameters { requests, repeats, seed, ..TrialParameters::PUBLISHED }
    }
}
