//! Requests that failed without a word about the medium: asked again, then left out, and what that means for the disk.

use crate::range_set::RangeSet;
use crate::scrub::verdict::Cause;
use crate::units::SectorRange;
use std::collections::BTreeMap;

/// A range is asked so many times in all.
pub(super) const ATTEMPTS_MAX: u32 = 4;
/// So many ranges, each of another segment while the tour lasts, and no answer between them: the device is taken to be
/// out of order. A guess: with time-outs of 30 s, half an hour.
const SILENT_MAX: u32 = 16;

/// What failed, by range.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    attempts: BTreeMap<u64, u32>,
    left_out: RangeSet,
    in_a_row: u32,
    cause: Option<Cause>,
}

/// What to do about a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureStep {
    /// Ask again, a little later.
    Again,
    /// Leave this range, for the end of the pass or for good, and go on elsewhere.
    LeaveOut,
    /// Nothing answers any more.
    GiveUp,
}

impl Failures {
    /// A request for `range` failed.
    pub(super) fn on_failed(&mut self, range: SectorRange, cause: Cause) -> FailureStep {
        self.cause = Some(cause);
        let attempts = self.attempts.entry(range.start.0).or_default();
        *attempts += 1;
        if *attempts < ATTEMPTS_MAX {
            return FailureStep::Again;
        }
        self.attempts.remove(&range.start.0);
        self.in_a_row += 1;
        if self.in_a_row < SILENT_MAX { FailureStep::LeaveOut } else { FailureStep::GiveUp }
    }

    /// `range` will not be asked again in this run.
    pub(super) fn leave_out(&mut self, range: SectorRange) {
        self.left_out.insert(range);
    }

    /// A request for `range` was answered, one way or the other.
    pub(super) fn on_answered(&mut self, range: SectorRange) {
        self.attempts.remove(&range.start.0);
        self.in_a_row = 0;
    }

    /// Why some ranges have no verdict, if any were left out.
    pub(super) fn cause(&self) -> Option<Cause> {
        self.cause.filter(|_| self.left_out.count() > 0)
    }
}
