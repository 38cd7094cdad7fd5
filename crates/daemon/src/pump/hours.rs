//! How much of each hour of the week a disk can be read: measured while it is read, estimated while it is not.

use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::HOUR;
use scrubjay_watch::facts::SessionSubject;
use std::collections::BTreeMap;
use std::time::Instant;

/// The assumed share of a disk's idle time that a scrub can use, before anything was measured: the rest is in short
/// gaps between requests.
const USE_PRIOR: f32 = 0.7;
/// The weight of the latest measurement.
const USE_WEIGHT: f32 = 0.2;

/// Measurements of a disk in the present hour.
#[derive(Clone, Copy, Debug, Default)]
struct HourTally {
    /// Seconds in which a session ran.
    session: f32,
    /// Seconds of these in which it read.
    reading: f32,
    /// Seconds in which no session ran.
    no_session: f32,
    /// Seconds of these in which the disk had requests.
    busy: f32,
    /// The kernel's count of busy milliseconds, and when it was read.
    counted: Option<(u64, Instant)>,
}

/// The present hour of each disk and array.
#[derive(Debug)]
pub(super) struct IdleHours {
    hour: u64,
    tallies: BTreeMap<SessionSubject, HourTally>,
    usable: f32,
}

impl Default for IdleHours {
    fn default() -> IdleHours {
        IdleHours { hour: 0, tallies: BTreeMap::new(), usable: USE_PRIOR }
    }
}

impl IdleHours {
    /// Drops a subject that is gone.
    pub(super) fn forget(&mut self, subject: &SessionSubject) {
        self.tallies.remove(subject);
    }

    /// Adds the time since the last call. `busy_millis`: the kernel's count of milliseconds with a request, if there is
    /// one. `share`: the share of that time in which a session read, if one ran.
    pub(super) fn note(&mut self, subject: &SessionSubject, busy_millis: Option<u64>, share: Option<f32>) {
        let tally = self.tallies.entry(subject.clone()).or_default();
        let now = Instant::now();
        let before = std::mem::replace(&mut tally.counted, busy_millis.map(|count| (count, now)));
        let (Some((counted, at)), Some(count)) = (before, busy_millis) else { return };
        let passed = now.duration_since(at).as_secs_f32();
        match share {
            Some(share) => {
                tally.session += passed;
                tally.reading += passed * share.clamp(0.0, 1.0);
            }
            None => {
                tally.no_session += passed;
                tally.busy += (count.saturating_sub(counted) as f32 / 1000.0).min(passed);
            }
        }
    }

    /// The number of the hour that has ended, and its shares; `None`: the hour goes on.
    pub(super) fn end_hour(&mut self, now: UnixSeconds) -> Option<(u64, Vec<(SessionSubject, f32)>)> {
        let hour = now.0 / HOUR;
        let ended = std::mem::replace(&mut self.hour, hour);
        if ended == hour || ended == 0 {
            return None;
        }
        let mut shares = Vec::new();
        for (subject, tally) in &mut self.tallies {
            let idle = if tally.no_session > 0.0 { 1.0 - tally.busy / tally.no_session } else { 0.0 };
            if tally.session > tally.no_session {
                let measured = tally.reading / tally.session;
                shares.push((subject.clone(), measured));
            } else if tally.no_session > 0.0 {
                shares.push((subject.clone(), idle * self.usable));
            }
            if tally.session > 0.0 && tally.no_session > 0.0 && idle > 0.1 {
                // Both were measured in one hour, which gives the share of the idle time that a scrub can use.
                let used = (tally.reading / tally.session / idle).clamp(0.05, 1.0);
                self.usable += (used - self.usable) * USE_WEIGHT;
            }
            *tally = HourTally { counted: tally.counted, ..HourTally::default() };
        }
        Some((ended, shares))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(name: &str) -> SessionSubject {
        SessionSubject::Disk(name.to_owned())
    }

    #[test]
    fn an_hour_is_measured_where_it_was_read_and_estimated_where_it_was_not() {
        let mut hours = IdleHours::default();
        assert_eq!(hours.end_hour(UnixSeconds(100 * HOUR)), None, "the first hour was not seen whole");
        let tally =
            |session, reading, no_session, busy| HourTally { session, reading, no_session, busy, counted: None };
        hours.tallies.insert(disk("sda"), tally(3600.0, 900.0, 0.0, 0.0));
        hours.tallies.insert(disk("sdb"), tally(0.0, 0.0, 3600.0, 1800.0));
        hours.tallies.insert(disk("sdc"), HourTally::default());
        let (hour, shares) = hours.end_hour(UnixSeconds(101 * HOUR)).unwrap();
        assert_eq!((hour, shares), (100, vec![(disk("sda"), 0.25), (disk("sdb"), 0.5 * USE_PRIOR)]));
        assert_eq!(hours.end_hour(UnixSeconds(101 * HOUR + 60)), None);
        hours.tallies.insert(disk("sda"), tally(1000.0, 900.0, 2000.0, 0.0));
        hours.end_hour(UnixSeconds(102 * HOUR)).unwrap();
        assert!((hours.usable - (USE_PRIOR + 0.2 * (0.9 - USE_PRIOR))).abs() < 1e-6);
    }

    #[test]
    fn a_busy_count_is_used_only_with_the_previous_one() {
        let mut hours = IdleHours::default();
        hours.note(&disk("sda"), Some(1000), None);
        assert_eq!(hours.tallies[&disk("sda")].no_session, 0.0);
        hours.note(&disk("sda"), Some(1000), None);
        assert!(hours.tallies[&disk("sda")].no_session > 0.0 && hours.tallies[&disk("sda")].busy == 0.0);
        hours.note(&disk("sda"), None, None);
        hours.note(&disk("sda"), Some(5), None);
        assert_eq!(hours.tallies[&disk("sda")].busy, 0.0, "the counter began anew");
    }
}
