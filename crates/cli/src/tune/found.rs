//! What is tuned for, and what was found.

use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::Goal;
use scrubjay_core::units::Bytes;
use scrubjay_sim::exact::ScrubFigures;
use scrubjay_sim::tune::{Pair, WaitSpread};
use std::time::Duration;

/// What to tune for.
#[derive(Clone, Debug)]
pub struct TuneTask {
    pub goal: Goal,
    pub disk: ServiceModel,
    /// Ascending.
    pub sizes: Vec<Bytes>,
}

/// What was found for one load.
#[derive(Debug)]
pub struct Tuned {
    /// The best pair of each size that has one, by size.
    pub candidates: Vec<Pair>,
    /// The best of these, or why there is none.
    pub best: Result<TunedPair, String>,
    /// What the paper's baseline would have done.
    pub idle_class: ScrubFigures,
    /// What the disk reads with nobody else there, in bytes a second.
    pub alone: f64,
}

/// The best pair.
#[derive(Clone, Copy, Debug)]
pub struct TunedPair {
    pub pair: Pair,
    /// What waits near its own cost.
    pub spread: WaitSpread,
    /// Its very wait happens to suit this trace: near it much more is lost.
    pub is_lucky: bool,
    /// If so: the best pair that keeps the goal with any wait near it.
    pub steady: Option<Pair>,
}

impl TunedPair {
    /// What is likely to keep the goal tomorrow, too.
    pub fn usable(&self) -> &Pair {
        self.steady.as_ref().unwrap_or(&self.pair)
    }
}

/// How long it took: reading all traces, and tuning all of them.
#[derive(Clone, Copy, Debug)]
pub struct Took {
    pub read: Duration,
    pub tune: Duration,
}
