//! What goes into the scrubbing machine and what comes out: plain values, the contract of the two pumps.
//!
//! A pump tells the machine what happened ([`Event`], with the time at which it is told), takes the operations it
//! wants done ([`Op`]), and comes back no later than the machine's time-out. The simulator's pump and the real one
//! obey the same contract, so what the simulator studies is what ships.

use crate::scrub::verdict::VerifyOutcome;
use crate::units::{Nanos, SectorRange};

/// Names one operation of one machine, from its start to its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u64);

/// Something the machine wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Verify every sector of `range` and report one [`Event::Completed`] for `id`.
    Verify {
        /// Comes back in the completion.
        id: OpId,
        /// Never empty; a multiple of the disk's logical block.
        range: SectorRange,
    },
}

/// Something that happened.
///
/// `at` is when it happened, which may be some time before the machine is told; events about the foreground come in
/// the order of `at`.
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
    /// The pump has looked: no foreground request is outstanding, whatever the counts say (flushes and merges make
    /// the kernel's arrivals and completions drift apart).
    ForegroundDrained {
        /// When the last of them was completed, as far as is known.
        at: Nanos,
    },
    /// What is told of the foreground from now on comes from counters: it is dated by the looks at them, and so are all figures
    /// made of it.
    ForegroundCounted {
        /// When they were first looked at.
        at: Nanos,
    },
    /// An operation ended.
    Completed {
        /// ID of the operation.
        id: OpId,
        /// What was found.
        outcome: VerifyOutcome,
        /// When the disk got it.
        started: Nanos,
        /// When it was done.
        finished: Nanos,
    },
    /// Time has passed; nothing else is new.
    Tick,
}

/// A machine that decides: no clock, no thread, no file. `now` never runs backwards.
///
/// The pumps' loop: deliver what happened with [`Machine::handle`] (a [`Event::Tick`] last), then take operations with
/// [`Machine::poll_op`] until it has none, then wait for a completion, but no longer than [`Machine::poll_timeout`].
/// A pump that sees the foreground live delivers its events before every decision, not necessarily when they happen.
pub trait Machine {
    /// Takes note of `event`, told at `now`.
    fn handle(&mut self, now: Nanos, event: Event);

    /// The next operation to start right now, if any.
    fn poll_op(&mut self, now: Nanos) -> Option<Op>;

    /// When to come back although nothing has completed; `None`: only completions matter now.
    fn poll_timeout(&self, now: Nanos) -> Option<Nanos>;

    /// Is there nothing left to do, or nothing left that can be done?
    fn is_done(&self) -> bool;
}
