//! Inconclusive requests: retried, then left out, and when they mean that the device is out of order.

use crate::range_set::RangeSet;
use crate::scrub::verdict::Cause;
use crate::units::SectorRange;
use std::collections::BTreeMap;

/// Attempts at one range in a row, the first included.
pub(super) const ATTEMPTS_MAX: u32 = 4;
/// Ranges that fail one after the other, without an answer between them, before the device is taken to be out of order;
/// each lies in another segment while the tour lasts. A guess: with time-outs of 30 s, half an hour.
const SILENT_MAX: u32 = 16;

/// The inconclusive ranges, with their attempts.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    attempts: BTreeMap<u64, u32>,
    left_out: RangeSet,
    in_a_row: u32,
    /// All inconclusive requests (count), and the cause of the first.
    failed: u64,
    first_cause: Option<Cause>,
    cause: Option<Cause>,
}

/// What to do about an inconclusive request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureStep {
    /// Ask again after a pause.
    Again,
    /// Leave this range out, to the end of the pass or for good, and continue elsewhere.
    LeaveOut,
    /// The device answers nothing any more: end the scrub.
    GiveUp,
}

impl Failures {
    /// A request for `range` was inconclusive.
    pub(super) fn on_failed(&mut self, range: SectorRange, cause: Cause) -> FailureStep {
        self.cause = Some(cause);
        self.failed += 1;
        self.first_cause.get_or_insert(cause);
        let attempts = self.attempts.entry(range.start.0).or_default();
        *attempts += 1;
        if *attempts < ATTEMPTS_MAX {
            return FailureStep::Again;
        }
        self.attempts.remove(&range.start.0);
        self.in_a_row += 1;
        if self.in_a_row < SILENT_MAX { FailureStep::LeaveOut } else { FailureStep::GiveUp }
    }

    /// `range` will not be asked for again in this run.
    pub(super) fn leave_out(&mut self, range: SectorRange) {
        self.left_out.insert(range);
    }

    /// A request for `range` was answered, as readable or as unreadable.
    pub(super) fn on_answered(&mut self, range: SectorRange) {
        self.attempts.remove(&range.start.0);
        self.in_a_row = 0;
    }

    /// Inconclusive requests (count) whose range was answered later, or left out, and the cause of the first. One that still waits to be
    /// repeated does not count: a stop leaves one behind where it cuts a request short.
    pub(super) fn unanswered(&self) -> (u64, Option<Cause>) {
        let waiting: u64 = self.attempts.values().map(|&attempts| u64::from(attempts)).sum();
        let count = self.failed - waiting;
        (count, self.first_cause.filter(|_| count > 0))
    }

    /// Why some ranges have no verdict, if any were left out.
    pub(super) fn cause(&self) -> Option<Cause> {
        self.cause.filter(|_| self.left_out.count() > 0)
    }
}
