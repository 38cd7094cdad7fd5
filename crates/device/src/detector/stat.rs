//! The detector that needs no privilege: counts from `/sys/block/X/stat`, dated when they are read.
//!
//! All writes, discards and flushes in there are foreground, because a scrub only reads. Foreground *reads* are computed from
//! sectors: those that the disk read and the scrub did not. Requests cannot be compared, because the kernel splits them.
//!
//! **The scrub's own reads must never count as foreground, so three moments are left out.**
//! 1. While a scrub request is at the disk, part of it may be counted already: reads are judged when none is.
//! 2. When the kernel has counted fewer sectors than the scrub has read, it may be late: reads are judged [`LAG_MAX`] later.
//!    If the difference remains, it is a read that failed before it reached the disk, and is forgotten.
//! 3. Just after a scrub request, `in_flight` may still count it: that count is only believed when the scrub has been
//!    idle for [`LAG_MAX`], or when it is 0.
//!
//! Waiting misses nothing, but dates it later: the counters are cumulative. Requests counted since the last poll are
//! dated in the middle between the two polls, which is the best guess.

use std::fs::File;
use std::os::unix::fs::FileExt;

use scrubjay_core::scrub::machine::Event;
use scrubjay_core::units::Nanos;

use super::activity::LAG_MAX;
use super::{Detector, OwnTraffic, Refusal, RequestSources};
use crate::clock;
use crate::sysfs::DiskNode;

/// Counts the foreground requests of one disk.
pub(super) struct Stat {
    file: File,
    /// Made by the first poll, which only gives the counters to start from.
    judge: Option<Judge>,
    /// The longest read that the kernel does not split, in sectors.
    split: u64,
}

impl Stat {
    /// Watches the counters of `disk`, and returns a description of what is seen.
    ///
    /// # Errors
    /// When the disk is gone, or its counting is switched off.
    pub(super) fn open(disk: &DiskNode, _sources: RequestSources) -> Result<(Box<dyn Detector>, String), Refusal> {
        if disk.number("queue/iostats") == Some(0) {
            return Err(Refusal::CountingOff(disk.name.clone()));
        }
        let path = disk.folder().join("stat");
        let file = File::open(&path).map_err(Refusal::failed("cannot read the counters"))?;
        let split = disk.number("queue/max_sectors_kb").unwrap_or(SPLIT_KIB).max(1) * 2;
        let stat = Stat { file, judge: None, split };
        if stat.read_counters().is_none() {
            return Err(Refusal::failed("cannot understand the counters")(std::io::ErrorKind::InvalidData.into()));
        }
        Ok((Box::new(stat), format!("counts polled from {}", path.display())))
    }

    fn read_counters(&self) -> Option<Counters> {
        let mut text = [0; 512];
        let bytes = self.file.read_at(&mut text, 0).ok()?;
        Counters::parse(std::str::from_utf8(&text[..bytes]).ok()?)
    }
}

/// `max_sectors_kb` where the disk does not report it: long the kernel's default (2560 sectors, `BLK_DEF_MAX_SECTORS`).
const SPLIT_KIB: u64 = 1280;

impl Detector for Stat {
    fn drain(&mut self, own: OwnTraffic, events: &mut Vec<Event>) {
        let now = clock::now();
        let Some(counters) = self.read_counters() else { return };
        match &mut self.judge {
            Some(judge) => judge.judge(now, counters, own, events),
            None => {
                self.judge = Some(Judge::new(now, counters, own, self.split));
                events.push(Event::ForegroundCounted { at: now });
            }
        }
    }
}

/// The kernel's counts, the scrub's requests included. Documentation/block/stat.rst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    /// Completed reads.
    reads: u64,
    /// 512-byte sectors that they transferred.
    read_sectors: u64,
    /// Completed writes, discards and flushes.
    non_reads: u64,
    /// Requests at the disk now.
    in_flight: u64,
}

impl Counters {
    /// Parses the line. Discards came with Linux 4.18 and flushes with 5.5; without them they are 0.
    fn parse(text: &str) -> Option<Counters> {
        let numbers = text.split_ascii_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
        let [reads, _, read_sectors, _, writes, _, _, _, in_flight, ..] = numbers[..] else { return None };
        let optional = |index: usize| numbers.get(index).copied().unwrap_or(0);
        Some(Counters { reads, read_sectors, non_reads: writes + optional(11) + optional(15), in_flight })
    }
}

/// Separates the foreground's traffic from the scrub's. Pure.
#[derive(Debug)]
struct Judge {
    /// The counters up to which all is judged.
    judged: Counters,
    /// The scrub's traffic up to which all is judged.
    judged_own: OwnTraffic,
    /// Time of the last poll.
    polled_at: Nanos,
    /// The scrub's traffic at the last poll.
    own: OwnTraffic,
    /// When that last changed, or a scrub request was last seen at the disk.
    own_changed: Nanos,
    /// Foreground requests at the disk, as far as that is known.
    outstanding: u64,
    /// Whether there was foreground since the last [`Event::ForegroundDrained`].
    open: bool,
    /// The longest read that the kernel does not split, in sectors.
    split: u64,
}

impl Judge {
    fn new(now: Nanos, counters: Counters, own: OwnTraffic, split: u64) -> Judge {
        Judge {
            judged: counters,
            judged_own: own,
            polled_at: now,
            own,
            own_changed: now,
            outstanding: 0,
            open: false,
            split,
        }
    }

    fn judge(&mut self, now: Nanos, counters: Counters, own: OwnTraffic, events: &mut Vec<Event>) {
        if own != self.own || own.in_flight > 0 {
            self.own_changed = now;
        }
        self.own = own;
        let is_quiet = now.since(self.own_changed) >= LAG_MAX;
        let completed = self.non_reads(counters) + self.reads(counters, own, is_quiet);
        let before = self.outstanding;
        self.outstanding = match counters.in_flight {
            0 => 0,
            all if is_quiet => all,
            _ => before.saturating_sub(completed),
        };
        let arrived = (completed + self.outstanding).saturating_sub(before);
        if arrived > 0 {
            let at = Nanos(self.polled_at.0.midpoint(now.0));
            events.push(Event::ForegroundArrived { at, count: clamp(arrived) });
        }
        self.polled_at = now;
        if completed > 0 {
            events.push(Event::ForegroundCompleted { at: now, count: clamp(completed) });
        }
        self.open |= arrived + completed > 0;
        let certain = is_quiet || counters.in_flight == 0;
        if self.open && certain && self.outstanding == 0 {
            events.push(Event::ForegroundDrained { at: now });
            self.open = false;
        }
    }

    /// Writes, discards and flushes since the last judgement.
    fn non_reads(&mut self, counters: Counters) -> u64 {
        let non_reads = counters.non_reads.wrapping_sub(self.judged.non_reads);
        self.judged.non_reads = counters.non_reads;
        non_reads
    }

    /// Foreground reads since the last judgement; 0 when the judgement must wait.
    fn reads(&mut self, counters: Counters, own: OwnTraffic, is_quiet: bool) -> u64 {
        let sectors = counters.read_sectors.wrapping_sub(self.judged.read_sectors);
        let own_sectors = own.sectors.wrapping_sub(self.judged_own.sectors);
        if own.in_flight > 0 || (sectors < own_sectors && !is_quiet) {
            return 0;
        }
        let requests = counters.reads.wrapping_sub(self.judged.reads);
        let own_requests = own.requests.wrapping_sub(self.judged_own.requests).max(own_sectors.div_ceil(self.split));
        (self.judged.reads, self.judged.read_sectors, self.judged_own) = (counters.reads, counters.read_sectors, own);
        if sectors > own_sectors { requests.saturating_sub(own_requests).max(1) } else { 0 }
    }
}

/// A count in the width that events have.
fn clamp(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scrub request of 1 MiB, which this disk gets in two requests.
    const OWN: OwnTraffic = OwnTraffic { sectors: 2048, requests: 1, in_flight: 0 };
    const AT_DISK: OwnTraffic = OwnTraffic { sectors: 0, requests: 0, in_flight: 1 };
    const NONE: OwnTraffic = OwnTraffic { sectors: 0, requests: 0, in_flight: 0 };

    fn reads(reads: u64, read_sectors: u64) -> Counters {
        Counters { reads, read_sectors, ..Counters::default() }
    }

    fn arrived(micros: u64, count: u32) -> Event {
        Event::ForegroundArrived { at: Nanos(micros * 1000), count }
    }

    fn completed(millis: u64, count: u32) -> Event {
        Event::ForegroundCompleted { at: Nanos::from_millis(millis), count }
    }

    fn drained(millis: u64) -> Event {
        Event::ForegroundDrained { at: Nanos::from_millis(millis) }
    }

    /// The result of each poll: the time in ms, the counters, the scrub's traffic.
    fn judge(polls: &[(u64, Counters, OwnTraffic)]) -> Vec<Event> {
        let mut judge = Judge::new(Nanos::ZERO, Counters::default(), NONE, 1024);
        let mut events = Vec::new();
        for &(millis, counters, own) in polls {
            judge.judge(Nanos::from_millis(millis), counters, own, &mut events);
        }
        events
    }

    #[test]
    fn lines_of_every_kernel() {
        let line = "  100  1  2000  3  40  5  600  7  8  9  10  11  0  12  13  14  15\n";
        let counters = Counters { reads: 100, read_sectors: 2000, non_reads: 40 + 11 + 14, in_flight: 8 };
        assert_eq!(Counters::parse(line), Some(counters));
        let short = "100 1 2000 3 40 5 600 7 8 9 10";
        assert_eq!(Counters::parse(short), Some(Counters { non_reads: 40, ..counters }));
        assert_eq!(Counters::parse("100 1 2000"), None);
        assert_eq!(Counters::parse("100 1 2000 3 40 5 600 7 x 9 10"), None);
    }

    #[test]
    fn foreground_is_all_traffic_except_the_scrubs() {
        assert_eq!(judge(&[(5, reads(3, 24), NONE)]), [arrived(2500, 3), completed(5, 3), drained(5)]);
        // One scrub request, counted as two, and a foreground request.
        assert_eq!(judge(&[(5, reads(3, 2056), OWN)]), [arrived(2500, 1), completed(5, 1), drained(5)]);
        let non_reads = Counters { non_reads: 4, ..Counters::default() };
        assert_eq!(judge(&[(5, non_reads, AT_DISK)]), [arrived(2500, 4), completed(5, 4), drained(5)]);
    }

    #[test]
    fn a_read_of_the_scrub_is_never_counted_as_foreground() {
        // Half of it is counted, then all of it, then the scrub is notified.
        let polls = [(1, reads(1, 1024), AT_DISK), (2, reads(2, 2048), AT_DISK), (3, reads(2, 2048), OWN)];
        assert_eq!(judge(&polls), []);
        // The kernel is late with the sectors, then with the request.
        let polls = [(3, reads(1, 1024), OWN), (3, reads(1, 2048), OWN), (9, reads(2, 2048), OWN)];
        assert_eq!(judge(&polls), []);
        // The scrub request is still counted as in flight just after its end.
        let late = Counters { in_flight: 1, ..reads(2, 2048) };
        assert_eq!(judge(&[(2, late, AT_DISK), (3, late, OWN), (3, late, OWN), (4, reads(2, 2048), OWN)]), []);
    }

    #[test]
    fn a_foreground_read_during_a_scrub_read_is_reported_after_it() {
        let polls = [(2, reads(2, 2056), AT_DISK), (3, reads(3, 2056), OWN)];
        assert_eq!(judge(&polls), [arrived(2500, 1), completed(3, 1), drained(3)]);
    }

    #[test]
    fn a_read_that_never_reached_the_disk_hides_nothing_for_long() {
        let polls = [(2, reads(0, 0), OWN), (4, reads(0, 0), OWN), (9, reads(1, 8), OWN)];
        assert_eq!(judge(&polls), [arrived(6500, 1), completed(9, 1), drained(9)]);
    }

    #[test]
    fn a_request_that_takes_its_time_arrives_before_it_is_completed() {
        let waiting = Counters { in_flight: 1, ..Counters::default() };
        let polls = [(5, waiting, NONE), (6, waiting, NONE), (7, reads(1, 8), NONE), (8, reads(1, 8), NONE)];
        assert_eq!(judge(&polls), [arrived(2500, 1), completed(7, 1), drained(7)]);
    }
}
