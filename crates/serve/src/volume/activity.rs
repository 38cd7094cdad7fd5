//! The requests of a volume's clients: always counted, and logged with their times while a scrub asks for that.
//!
//! Verifications, repairs and rebuilds are not clients' requests, and do not count.

use super::commands::{ActivityMark, ClientActivity};
use scrubjay_core::units::Nanos;
use std::collections::VecDeque;

/// Marks kept, at most (count); older ones are only counted. A scrub asks at least 20 times a second, and marks are
/// [`JOINED`] or more apart: this is four fifths of the most that one interval can have, and no real load comes near that.
const MARKS_MAX: usize = 4096;
/// Events within this time form one mark: clocks are not more precise than that.
const JOINED: Nanos = Nanos(10_000);
/// Logging stops when no client of the control socket has asked for this long.
const WATCHED_FOR: Nanos = Nanos::from_secs(5);

/// The activity of clients so far.
#[derive(Debug, Default)]
pub(super) struct ActivityLog {
    arrived: u64,
    completed: u64,
    marks: VecDeque<ActivityMark>,
    /// Marks ever made, which is the number of the next one.
    marks_made: u64,
    /// The last mark was reported already, and must not grow any more.
    is_reported: bool,
    watched_until: Nanos,
}

impl ActivityLog {
    /// A client's request arrived.
    pub fn arrived(&mut self, now: Nanos) {
        self.arrived += 1;
        if now < self.watched_until {
            self.note(ActivityMark(now.0, 1, 0));
        }
    }

    /// A client's request was replied to.
    pub fn completed(&mut self, now: Nanos) {
        self.completed += 1;
        if now < self.watched_until {
            self.note(ActivityMark(now.0, 0, 1));
        }
    }

    fn note(&mut self, ActivityMark(at, arrived, completed): ActivityMark) {
        match self.marks.back_mut() {
            Some(last) if !self.is_reported && at.saturating_sub(last.0) < JOINED.0 => {
                last.1 += arrived;
                last.2 += completed;
            }
            _ => {
                if self.marks.len() == MARKS_MAX {
                    self.marks.pop_front();
                }
                self.marks.push_back(ActivityMark(at, arrived, completed));
                (self.marks_made, self.is_reported) = (self.marks_made + 1, false);
            }
        }
    }

    /// The activity since the mark of number `since`; without it, only the counts.
    pub fn report(&mut self, now: Nanos, since: Option<u64>) -> ClientActivity {
        self.watched_until = now.saturating_add(WATCHED_FOR);
        self.is_reported = true;
        let fresh = self.marks_made.saturating_sub(since.unwrap_or(self.marks_made)) as usize;
        let skipped = self.marks.len().saturating_sub(fresh);
        ClientActivity {
            next: self.marks_made,
            arrived: self.arrived,
            completed: self.completed,
            marks: self.marks.iter().skip(skipped).copied().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: u64) -> Nanos {
        Nanos(1_000 * micros)
    }

    #[test]
    fn marks_are_kept_only_while_a_client_keeps_asking() {
        let mut log = ActivityLog::default();
        log.arrived(us(1));
        let first = log.report(us(2), None);
        assert_eq!((first.next, first.arrived, first.completed, first.marks), (0, 1, 0, vec![]));
        log.completed(us(3));
        log.arrived(us(2) + WATCHED_FOR);
        let second = log.report(us(2) + WATCHED_FOR, Some(0));
        assert_eq!((second.next, second.arrived, second.completed), (1, 2, 1));
        assert_eq!(second.marks, [ActivityMark(3_000, 0, 1)], "the other one is only counted");
    }

    #[test]
    fn simultaneous_events_share_a_mark_unless_it_was_reported() {
        let mut log = ActivityLog::default();
        log.report(us(0), None);
        log.arrived(us(100));
        log.arrived(us(100));
        log.completed(us(109));
        log.arrived(us(110));
        let report = log.report(us(110), Some(0));
        assert_eq!(report.marks, [ActivityMark(100_000, 2, 1), ActivityMark(110_000, 1, 0)]);
        log.completed(us(110));
        assert_eq!(log.report(us(120), Some(report.next)).marks, [ActivityMark(110_000, 0, 1)]);
        assert_eq!(log.report(us(130), Some(report.next)).marks.len(), 1, "another one may ask, too");
        assert_eq!(log.report(us(130), Some(99)).marks, [], "a number that never was");
    }

    #[test]
    fn marks_that_no_client_fetched_in_time_are_only_counted() {
        let mut log = ActivityLog::default();
        log.report(us(0), None);
        (0..MARKS_MAX as u64 + 10).for_each(|step| log.arrived(us(20 * step)));
        let report = log.report(us(1_000_000), Some(0));
        assert_eq!((report.marks.len(), report.arrived), (MARKS_MAX, MARKS_MAX as u64 + 10));
        assert_eq!(report.marks[0].0, 200_000);
    }
}
