//! For how long the whole process was stopped (Ctrl-Z, SIGSTOP): time in which no session ran.
//!
//! A long gap between two turns of a session may also be a disk that hangs, so a gap counts only with a SIGCONT. The
//! thread of the session may run before the one that receives the signal, so the last gap is kept for a moment.

use scrubjay_core::units::Nanos;

/// A gap as long as this is kept, for a signal that is still to come.
const GAP_MIN: Nanos = Nanos::from_millis(200);
/// After a gap as long as this it matters whether a signal is still to come. Shorter ones are common on a busy machine.
const UNCERTAIN_MIN: Nanos = Nanos::from_secs(2);
/// For so long after its end.
const KEPT_FOR: Nanos = Nanos::from_secs(1);

/// The time for which a process was stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standstill {
    /// All of it so far.
    pub total: Nanos,
    turned_at: Nanos,
    /// The last long gap, and when it ended.
    gap: (Nanos, Nanos),
}

impl Standstill {
    /// Nothing was stopped by `now`.
    pub fn new(now: Nanos) -> Standstill {
        Standstill { total: Nanos::ZERO, turned_at: now, gap: (Nanos::ZERO, now) }
    }

    /// Did this turn come after a gap that a signal may still explain? Then the time so far is not known yet.
    pub fn is_uncertain(&self, now: Nanos) -> bool {
        self.gap.0 >= UNCERTAIN_MIN && now.since(self.gap.1) <= KEPT_FOR
    }

    /// A turn of the session; `was_continued`: has the process received a SIGCONT since the last one?
    pub fn turned(&mut self, now: Nanos, was_continued: bool) {
        let gap = now.since(std::mem::replace(&mut self.turned_at, now));
        if gap >= GAP_MIN {
            self.gap = (gap, now);
        }
        if was_continued {
            let (gap, at) = std::mem::replace(&mut self.gap, (Nanos::ZERO, now));
            self.total += if now.since(at) <= KEPT_FOR { gap } else { Nanos::ZERO };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    #[test]
    fn a_gap_counts_once_and_only_with_a_signal() {
        let mut stopped = Standstill::new(ms(0));
        stopped.turned(ms(50), false);
        stopped.turned(ms(10_050), true);
        assert_eq!(stopped.total, ms(10_000));
        stopped.turned(ms(10_100), true);
        assert_eq!(stopped.total, ms(10_000), "the signal came twice");
        stopped.turned(ms(40_100), false);
        assert_eq!(stopped.total, ms(10_000), "a disk hung");
        assert!(stopped.is_uncertain(ms(40_200)) && !stopped.is_uncertain(ms(41_200)));
        stopped.turned(ms(45_100), false);
        stopped.turned(ms(45_101), true);
        assert_eq!(stopped.total, ms(15_000), "the signal came a moment later");
        stopped.turned(ms(50_101), false);
        (1..40).for_each(|turn| stopped.turned(ms(50_101 + 50 * turn), false));
        stopped.turned(ms(52_101), true);
        assert_eq!(stopped.total, ms(15_000), "the gap was long over");
    }
}
