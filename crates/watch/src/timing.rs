//! When the machine acts: its last turn and its next one, and what it has done since it began.

use crate::calendar::elapsed;
use crate::forecast::AllForeseen;
use scrubjay_core::units::UnixSeconds;

/// When the machine acts.
#[derive(Debug)]
pub(crate) struct Timing {
    /// The time of the last turn.
    pub last_turn: UnixSeconds,
    /// When the next turn is due.
    pub wake: UnixSeconds,
    /// Has it resumed: has there been a trusted time yet?
    pub is_resumed: bool,
    /// Have the messages been marked that were under way when an earlier machine ended?
    pub is_marked: bool,
    /// Are the passes planned for the present disks and arrays?
    pub are_passes_planned: bool,
    /// The last forecasts for messages, and when they were made.
    pub foreseen: (UnixSeconds, AllForeseen),
}

impl Timing {
    /// Those of a machine that begins now.
    pub fn new(now: UnixSeconds) -> Timing {
        Timing {
            last_turn: now,
            wake: now,
            is_resumed: false,
            is_marked: false,
            are_passes_planned: false,
            foreseen: (UnixSeconds(0), AllForeseen::new()),
        }
    }

    /// Asks for the next turn at this time at the latest.
    pub fn wake_at(&mut self, at: UnixSeconds) {
        self.wake = self.wake.min(at);
    }

    /// Begins a turn; returns the seconds since the last one.
    pub fn begin(&mut self, now: UnixSeconds) -> u64 {
        elapsed(now, std::mem::replace(&mut self.last_turn, now))
    }
}
