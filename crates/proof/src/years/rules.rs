//! When a disk may be read: by the hours of the settings and a person's pause, as the host's clock shows them.

use scrubjay_core::units::UnixSeconds;
use scrubjay_sim::host::calendar::DaylightCalendar;
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::hours::DailyHours;

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// The length of daily hours, in seconds; a whole day if they end when they begin.
pub(super) fn length(hours: DailyHours) -> u64 {
    u64::from((hours.to + 1439 - hours.from) % 1440 + 1) * 60
}

/// The error of the host's clock.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClockTruth {
    ahead: i64,
    /// When it last jumped.
    pub jumped_at: u64,
}

impl ClockTruth {
    pub fn jump(&mut self, at: u64, step: i64) {
        self.ahead += step;
        self.jumped_at = at;
    }

    /// What the clock shows at true time `at`.
    pub fn shows(&self, at: u64) -> u64 {
        (at as i64 + self.ahead) as u64
    }

    /// The second of the day that the clock shows, local time; `None`: a daylight-saving change is less than a day away.
    fn second(&self, at: u64) -> Option<u32> {
        let wall = |at| DaylightCalendar.local(UnixSeconds(at)).second;
        let shown = self.shows(at);
        (wall(shown - DAY) == wall(shown + DAY)).then(|| wall(shown))
    }

    /// Is this time inside these hours, and not within `slack` seconds of their edges?
    pub fn is_inside(&self, at: u64, hours: DailyHours, slack: u32) -> bool {
        let since = |second: u32| (second + 86_400 - hours.from * 60) % 86_400;
        self.second(at).map(since).is_some_and(|since| since >= slack && u64::from(since + slack) < length(hours))
    }

    /// Is this time outside these hours, and not within `slack` seconds of their edges?
    pub fn is_outside(&self, at: u64, hours: DailyHours, slack: u32) -> bool {
        let complement = DailyHours { from: hours.to, to: hours.from };
        hours.from != hours.to && self.is_inside(at, complement, slack)
    }
}

/// A person's pause.
#[derive(Clone, Copy, Debug)]
pub(super) struct PauseTruth {
    from: u64,
    /// The time, by the host's clock, at which it ends.
    until: u64,
    /// Its length, in seconds.
    span: u64,
}

impl PauseTruth {
    pub fn new(at: u64, clock: &ClockTruth, span: u64) -> PauseTruth {
        PauseTruth { from: at, until: clock.shows(at) + span, span }
    }

    /// Adapts the pause to a jump of the clock: it lasts no longer than its length. A pause that was over, but by the
    /// new clock is not, begins once more.
    pub fn jump(&mut self, at: u64, before: &ClockTruth, clock: &ClockTruth) {
        if before.shows(at) >= self.until {
            self.from = at;
        }
        self.until = self.until.min(clock.shows(at) + self.span);
    }

    /// Was it in force at this time, and for `slack` seconds before?
    pub fn holds(&self, at: u64, clock: &ClockTruth, slack: u64) -> bool {
        at >= self.from + slack && clock.shows(at) < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 January 2026, 00:00 UTC: 01:00 on the wall.
    const NIGHT: u64 = 1_768_003_200;

    #[test]
    fn hours_may_cross_midnight_and_their_edges_are_neither_inside_nor_outside() {
        let clock = ClockTruth::default();
        let quiet = DailyHours { from: 22 * 60, to: 7 * 60 };
        assert!(clock.is_inside(NIGHT, quiet, 60) && !clock.is_outside(NIGHT, quiet, 60));
        assert!(clock.is_outside(NIGHT + 12 * HOUR, quiet, 60) && !clock.is_inside(NIGHT + 12 * HOUR, quiet, 60));
        let edge = NIGHT + 6 * HOUR;
        assert!(!clock.is_inside(edge - 30, quiet, 60) && !clock.is_outside(edge + 30, quiet, 60));
        assert!(clock.is_inside(edge - 90, quiet, 60) && clock.is_outside(edge + 90, quiet, 60));
        let all = DailyHours { from: 60, to: 60 };
        assert!(clock.is_inside(NIGHT + HOUR, all, 0) && !clock.is_outside(NIGHT + HOUR, all, 0));
    }

    #[test]
    fn a_pause_ends_by_the_clock_and_lasts_no_longer_than_its_length() {
        let mut clock = ClockTruth::default();
        let mut pause = PauseTruth::new(NIGHT, &clock, DAY);
        assert!(pause.holds(NIGHT + HOUR, &clock, HOUR) && !pause.holds(NIGHT + HOUR, &clock, HOUR + 1));
        assert!(!pause.holds(NIGHT + DAY, &clock, 0));
        let before = clock;
        clock.jump(NIGHT + HOUR, -(DAY as i64) / 2);
        pause.jump(NIGHT + HOUR, &before, &clock);
        assert!(pause.holds(NIGHT + DAY, &clock, 0) && !pause.holds(NIGHT + DAY + HOUR, &clock, 0));
    }

    #[test]
    fn a_pause_that_was_over_begins_again_when_the_clock_is_set_back() {
        let mut clock = ClockTruth::default();
        let mut pause = PauseTruth::new(NIGHT, &clock, DAY);
        let (before, at) = (clock, NIGHT + DAY + 2 * HOUR);
        clock.jump(at, -(DAY as i64) / 2);
        pause.jump(at, &before, &clock);
        assert!(pause.holds(at, &clock, 0), "it is to be heeded from now on");
        assert!(!pause.holds(at - HOUR, &clock, HOUR), "what was read before was read after it");
        assert!(pause.holds(at + HOUR, &clock, HOUR));
    }
}
