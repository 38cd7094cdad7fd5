//! Turns a blocking way to verify into a [`Verifier`]: `submit` does the work, `wait` hands out the completion.

use super::{Verifier, VerifyCompletion};
use crate::clock::now;
use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::units::{Nanos, SectorRange};
use std::collections::VecDeque;

pub(super) use super::progress::RangeEnded;

/// A way to verify one range that returns when it is done.
pub(super) trait VerifyNow: Send {
    /// Verifies `range` and returns the outcome.
    fn verify(&mut self, range: SectorRange) -> RangeEnded;
}

/// The adapter. It holds a completion for each verification that was submitted and not yet waited for.
pub(super) struct Blocking<V> {
    inner: V,
    answers: VecDeque<VerifyCompletion>,
}

impl<V: VerifyNow> Blocking<V> {
    /// Wraps `inner`.
    pub fn new(inner: V) -> Blocking<V> {
        Blocking { inner, answers: VecDeque::new() }
    }
}

impl<V: VerifyNow> Verifier for Blocking<V> {
    fn submit(&mut self, id: OpId, range: SectorRange) {
        let started = now();
        let RangeEnded { outcome, counted } = self.inner.verify(range);
        self.answers.push_back(VerifyCompletion { id, outcome, started, finished: now(), counted });
    }

    fn wait(&mut self, _timeout: Nanos) -> Option<VerifyCompletion> {
        self.answers.pop_front()
    }
}
