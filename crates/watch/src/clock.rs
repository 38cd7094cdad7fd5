//! Decides whether the clock may be trusted: dates come from it, and a recorded date stays.

use crate::calendar::{DAY, HOUR, MINUTE, after, elapsed};
use crate::events::WatchEvent;
use crate::facts::SessionNews;
use scrubjay_core::units::UnixSeconds;

/// A clock that is further than this, in seconds, from what it showed is not trusted at once; a nearer one was
/// corrected or set, and the effect on dates is small.
const FAR: u64 = 2 * DAY;
/// A far clock is trusted after this many seconds, if it is not known whether it is synchronised.
const STAYS: u64 = 3 * HOUR;
/// A far clock that is known not to be synchronised is trusted after this many seconds: there may never be a network.
const STAYS_ALONE: u64 = DAY;
/// 1 January 2025: an earlier date is wrong on any machine that runs this program.
const BUILT: UnixSeconds = UnixSeconds(1_735_689_600);
/// While the clock is not trusted, it is checked again after this many seconds.
const LOOK_AGAIN: u64 = MINUTE;
/// Events that are kept while it is not trusted, at most.
const EVENTS_MAX: usize = 100_000;

/// The state of trust in the clock.
#[derive(Debug, Default)]
pub(crate) struct ClockTrust {
    /// Is it synchronised, if that was reported?
    synchronised: Option<bool>,
    /// Has this machine seen a time that it trusts?
    is_begun: bool,
    /// While it is not trusted: since when, by its own time, and the last time that it showed.
    doubted: Option<(UnixSeconds, UnixSeconds)>,
    /// Events that arrived while it was not trusted.
    events: Vec<WatchEvent>,
}

impl ClockTrust {
    /// Records whether the clock is synchronised.
    pub fn note(&mut self, is_synchronised: bool) {
        self.synchronised = Some(is_synchronised);
    }

    /// May `now` be trusted? `latest` is the latest time of all events; 0: there was none.
    pub fn believes(&mut self, now: UnixSeconds, latest: UnixSeconds) -> bool {
        let reference = if latest.0 == 0 { BUILT } else { latest };
        // The clock may be this far ahead after a start, but not between two events, and not at a start if it is known
        // not to be synchronised.
        let is_late = latest.0 > 0 && now.0 > latest.0.saturating_add(FAR);
        let is_ahead = is_late && (self.is_begun || self.synchronised == Some(false));
        let is_behind = now.0.saturating_add(FAR) < reference.0;
        if !is_ahead && !is_behind || self.synchronised == Some(true) {
            (self.doubted, self.is_begun) = (None, true);
            return true;
        }
        let since = match self.doubted {
            // It has jumped again.
            Some((_, last)) if now.0.abs_diff(last.0) > FAR => now,
            Some((since, _)) => since.min(now),
            None => now,
        };
        self.doubted = Some((since, now));
        let stays = if self.synchronised == Some(false) { STAYS_ALONE } else { STAYS };
        let is_believed = elapsed(now, since) >= stays;
        if is_believed {
            (self.doubted, self.is_begun) = (None, true);
        }
        is_believed
    }

    /// Is the clock not trusted now?
    pub fn is_doubted(&self) -> bool {
        self.doubted.is_some()
    }

    /// When to check again, while it is not trusted.
    pub fn look_again(&self) -> Option<UnixSeconds> {
        self.doubted.map(|(_, last)| after(last, LOOK_AGAIN))
    }

    /// Keeps an event that arrives meanwhile, unless its like will come again.
    pub fn keep(&mut self, event: WatchEvent) {
        let comes_again = match &event {
            WatchEvent::Tick | WatchEvent::IdleHour(..) => true,
            WatchEvent::Session(_, SessionNews::Progress(report)) => report.unreadable.is_empty(),
            _ => false,
        };
        if !comes_again && self.events.len() < EVENTS_MAX {
            self.events.push(event);
        }
    }

    /// Takes the kept events.
    pub fn take(&mut self) -> Vec<WatchEvent> {
        std::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

    fn later(seconds: u64) -> UnixSeconds {
        after(NOW, seconds)
    }

    #[test]
    fn a_clock_that_is_far_behind_is_believed_when_it_is_synchronised_or_has_stayed_so() {
        let mut clock = ClockTrust::default();
        let old = UnixSeconds(NOW.0 - 400 * DAY);
        assert!(!clock.believes(old, NOW) && clock.is_doubted());
        assert!(!clock.believes(after(old, STAYS - 1), NOW) && clock.believes(after(old, STAYS), NOW));
        let mut clock = ClockTrust::default();
        clock.note(false);
        assert!(!clock.believes(old, NOW) && !clock.believes(after(old, STAYS), NOW));
        clock.note(true);
        assert!(clock.believes(after(old, STAYS), NOW) && !clock.is_doubted());
    }

    #[test]
    fn one_that_jumps_again_is_doubted_anew() {
        let mut clock = ClockTrust::default();
        assert!(!clock.believes(UnixSeconds(30), NOW));
        assert!(!clock.believes(UnixSeconds(NOW.0 - 100 * DAY), NOW), "a hundred days behind is not where it stayed");
        assert!(clock.believes(NOW, NOW));
    }

    #[test]
    fn a_start_after_a_long_rest_is_believed_and_a_jump_ahead_is_not() {
        let mut clock = ClockTrust::default();
        assert!(clock.believes(later(40 * DAY), NOW));
        assert!(!clock.believes(later(80 * DAY), later(40 * DAY)));
        let mut alone = ClockTrust::default();
        alone.note(false);
        assert!(!alone.believes(later(40 * DAY), NOW), "of this one it is known that it has no source");
    }

    #[test]
    fn no_first_date_lies_before_the_program() {
        let mut clock = ClockTrust::default();
        assert!(!clock.believes(UnixSeconds(30), UnixSeconds(0)) && clock.believes(NOW, UnixSeconds(0)));
    }
}
