//! Decides whether the clock may be trusted: dates come from it, and a recorded date stays.

use crate::calendar::{DAY, HOUR, MINUTE, after, elapsed};
use crate::events::WatchEvent;
use crate::facts::SessionNews;
use scrubjay_core::units::UnixSeconds;

/// A clock that is further than this, in seconds, from what it showed is not trusted at once; a nearer one was
/// corrected or set, and the effect on dates is small.
const DEVIATION_MAX: u64 = 2 * DAY;
/// A far clock is trusted after this many seconds, if it is not known whether it is synchronised.
const TRUST_AFTER: u64 = 3 * HOUR;
/// A far clock that is known not to be synchronised is trusted after this many seconds: there may never be a network.
const TRUST_AFTER_UNSYNCHRONISED: u64 = DAY;
/// 1 January 2025: an earlier date is wrong on any machine that runs this program.
const EARLIEST: UnixSeconds = UnixSeconds(1_735_689_600);
/// While the clock is not trusted, it is checked again after this many seconds.
const RECHECK: u64 = MINUTE;
/// Events that are kept while it is not trusted, at most.
const EVENTS_MAX: usize = 100_000;

/// The state of trust in the clock.
#[derive(Debug, Default)]
pub(crate) struct ClockTrust {
    /// Is it synchronised, if that was reported?
    synchronised: Option<bool>,
    /// For how many seconds it was suspended since a time was last trusted: so much the clock may be ahead.
    suspended: u64,
    /// Has this machine seen a time that it trusts?
    has_trusted: bool,
    /// While it is not trusted: since when, by its own time, and the last time that it showed.
    doubted: Option<(UnixSeconds, UnixSeconds)>,
    /// Events that arrived while it was not trusted.
    events: Vec<WatchEvent>,
}

impl ClockTrust {
    /// Records whether the clock is synchronised.
    pub fn set_synchronised(&mut self, is_synchronised: bool) {
        self.synchronised = Some(is_synchronised);
    }

    /// Records that the machine was suspended for so many seconds, by the kernel's count.
    pub fn add_suspended(&mut self, seconds: u64) {
        self.suspended = self.suspended.saturating_add(seconds);
    }

    /// May `now` be trusted? `latest` is the latest time of all events; 0: there was none.
    pub fn trusts(&mut self, now: UnixSeconds, latest: UnixSeconds) -> bool {
        let reference = if latest.0 == 0 { EARLIEST } else { latest };
        // The clock may be this far ahead after a start, but not between two events, and not at a start if it is known
        // not to be synchronised.
        // Over a suspend it is ahead by as much as that took.
        let explained = latest.0.saturating_add(DEVIATION_MAX).saturating_add(self.suspended);
        let is_far_ahead = latest.0 > 0 && now.0 > explained;
        let is_ahead = is_far_ahead && (self.has_trusted || self.synchronised == Some(false));
        let is_behind = now.0.saturating_add(DEVIATION_MAX) < reference.0;
        if !is_ahead && !is_behind || self.synchronised == Some(true) {
            (self.doubted, self.has_trusted, self.suspended) = (None, true, 0);
            return true;
        }
        let since = match self.doubted {
            // It has jumped again.
            Some((_, last)) if now.0.abs_diff(last.0) > DEVIATION_MAX => now,
            Some((since, _)) => since.min(now),
            None => now,
        };
        self.doubted = Some((since, now));
        let trust_after = if self.synchronised == Some(false) { TRUST_AFTER_UNSYNCHRONISED } else { TRUST_AFTER };
        let is_trusted = elapsed(now, since) >= trust_after;
        if is_trusted {
            (self.doubted, self.has_trusted, self.suspended) = (None, true, 0);
        }
        is_trusted
    }

    /// Is the clock not trusted now?
    pub fn is_doubted(&self) -> bool {
        self.doubted.is_some()
    }

    /// When to check again, while it is not trusted.
    pub fn next_check(&self) -> Option<UnixSeconds> {
        self.doubted.map(|(_, last)| after(last, RECHECK))
    }

    /// Keeps an event that arrives meanwhile, unless its like will come again.
    pub fn keep_event(&mut self, event: WatchEvent) {
        let is_repeated = match &event {
            WatchEvent::Tick | WatchEvent::IdleHour(..) => true,
            WatchEvent::Session(_, SessionNews::Progress(report)) => report.unreadable.is_empty(),
            _ => false,
        };
        if !is_repeated && self.events.len() < EVENTS_MAX {
            self.events.push(event);
        }
    }

    /// Takes the kept events.
    pub fn take_events(&mut self) -> Vec<WatchEvent> {
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
    fn a_clock_far_behind_is_trusted_when_it_is_synchronised_or_stays_so_for_hours() {
        let mut clock = ClockTrust::default();
        let old = UnixSeconds(NOW.0 - 400 * DAY);
        assert!(!clock.trusts(old, NOW) && clock.is_doubted());
        assert!(!clock.trusts(after(old, TRUST_AFTER - 1), NOW) && clock.trusts(after(old, TRUST_AFTER), NOW));
        let mut clock = ClockTrust::default();
        clock.set_synchronised(false);
        assert!(!clock.trusts(old, NOW) && !clock.trusts(after(old, TRUST_AFTER), NOW));
        clock.set_synchronised(true);
        assert!(clock.trusts(after(old, TRUST_AFTER), NOW) && !clock.is_doubted());
    }

    #[test]
    fn a_clock_that_jumps_to_another_wrong_time_stays_untrusted() {
        let mut clock = ClockTrust::default();
        assert!(!clock.trusts(UnixSeconds(30), NOW));
        assert!(!clock.trusts(UnixSeconds(NOW.0 - 100 * DAY), NOW), "a hundred days behind is not where it stayed");
        assert!(clock.trusts(NOW, NOW));
    }

    #[test]
    fn a_start_after_weeks_off_is_trusted_and_a_jump_ahead_while_running_is_not() {
        let mut clock = ClockTrust::default();
        assert!(clock.trusts(later(40 * DAY), NOW));
        assert!(!clock.trusts(later(80 * DAY), later(40 * DAY)));
        let mut unsynchronised = ClockTrust::default();
        unsynchronised.set_synchronised(false);
        assert!(!unsynchronised.trusts(later(40 * DAY), NOW), "of this one it is known that it has no source");
    }

    #[test]
    fn a_suspend_explains_as_much_as_it_took_and_no_more() {
        let mut clock = ClockTrust::default();
        clock.set_synchronised(false);
        assert!(clock.trusts(NOW, NOW));
        clock.add_suspended(3 * DAY);
        assert!(clock.trusts(later(3 * DAY + HOUR), NOW));
        assert!(!clock.trusts(later(7 * DAY), later(3 * DAY + HOUR)), "what was explained is used up");
        let mut clock = ClockTrust::default();
        assert!(clock.trusts(NOW, NOW));
        clock.add_suspended(3 * DAY);
        assert!(!clock.trusts(later(40 * DAY), NOW), "a wrong clock beside a suspend");
    }

    #[test]
    fn a_first_date_from_before_the_program_existed_is_not_trusted() {
        let mut clock = ClockTrust::default();
        assert!(!clock.trusts(UnixSeconds(30), UnixSeconds(0)) && clock.trusts(NOW, UnixSeconds(0)));
    }
}
