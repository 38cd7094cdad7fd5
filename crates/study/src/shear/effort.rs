//! How much is measured.

use scrubjay_core::probe::paper::Parameters;

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
    /// What the figures are made with: [`Parameters::PUBLISHED`].
    pub const FULL: Effort = Effort {
        requests: Parameters::PUBLISHED.requests,
        repeats: Parameters::PUBLISHED.repeats,
        seed: Parameters::PUBLISHED.seed,
    };

    /// As the prober takes it.
    pub fn parameters(self) -> Parameters {
        let Effort { requests, repeats, seed } = self;
        Parameters { requests, repeats, seed, ..Parameters::PUBLISHED }
    }
}
