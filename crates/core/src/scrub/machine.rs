//! The interface of the scrubbing machine: its events and operations as plain values, the contract of the two pumps.
//!
//! A pump reports events to the machine ([`Event`], with the time of the report), takes the operations that the machine
//! wants done ([`Op`]), and comes back no later than the machine's time-out. The simulator's pump and the real one obey
//! the same contract, so the code that the simulator studies is the code that ships.

use crate::finding::Finding;
use crate::scrub::verdict::VerifyOutcome;
use crate::units::{Nanos, SectorRange};

/// Identifies one operation of one machine, from its start to its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u64);

/// An operation that the machine wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Verify every sector of `range` and report one [`Event::Completed`] for `id`.
    Verify {
        /// Returned in the completion.
        id: OpId,
        /// Never empty; a multiple of the disk's logical block.
        range: SectorRange,
    },
}

/// An event that the pump reports to the machine.
///
/// `at` is when it happened, which may be some time before it is reported; events of the foreground are reported in the
/// order of `at`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `count` foreground requests reached the disk.
    ForegroundArrived {
        /// When they arrived.
        at: Nanos,
        /// How many, at least 1.
        count: u32,
    },
    /// `count` foreground requests were completed.
    ForegroundCompleted {
        /// When they were completed.
        at: Nanos,
        /// How many, at least 1.
        count: u32,
    },
    /// The pump has checked: no foreground request is outstanding, whatever the counts are (flushes and merges make the
    /// kernel's arrivals and completions drift apart).
    ForegroundDrained {
        /// When the last of them was completed, as far as is known.
        at: Nanos,
    },
    /// From now on the foreground's events come from sampled counters: their times are those of the samples, which
    /// limits all figures computed from them.
    ForegroundCounted {
        /// The time of the first sample.
        at: Nanos,
    },
    /// An operation ended.
    Completed {
        /// ID of the operation.
        id: OpId,
        /// The result of the verification.
        outcome: VerifyOutcome,
        /// When the disk received it.
        started: Nanos,
        /// When it was done.
        finished: Nanos,
    },
    /// Time has passed; nothing else is new.
    Tick,
}

/// A machine that decides, without clock, thread or file. `now` never runs backwards.
///
/// The pumps' loop: deliver what happened with [`Machine::handle`] (a [`Event::Tick`] last), then take operations with
/// [`Machine::poll_op`] until it has none, then wait for a completion, but no longer than [`Machine::poll_timeout`].
/// A pump that sees the foreground live delivers its events before every decision, not necessarily when they happen.
pub trait Machine {
    /// Handles `event`, reported at `now`.
    fn handle(&mut self, now: Nanos, event: Event);

    /// Takes what the subject found; the machine dates it. It changes no decision, so recordings do not have it.
    fn found(&mut self, now: Nanos, finding: Finding) {
        let _ = (now, finding);
    }

    /// The next operation to start right now, if any.
    fn poll_op(&mut self, now: Nanos) -> Option<Op>;

    /// When to come back although nothing has completed; `None`: not before a completion.
    fn poll_timeout(&self, now: Nanos) -> Option<Nanos>;

    /// Whether nothing is left to do, or nothing that can be done.
    fn is_done(&self) -> bool;
}
