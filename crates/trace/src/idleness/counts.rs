//! Counts requests by the minute, as the basis of the daily rhythm.

use scrubjay_core::units::Nanos;

/// The width of a bin.
pub const MINUTE: Nanos = Nanos::from_secs(60);
/// Four years of minutes, 8 MiB. No trace is longer, so a later arrival has a wrong time and is counted as astray.
const MINUTES_MAX: u64 = 4 * 366 * 24 * 60;
/// Tells clocks apart: one that begins with the trace never shows more than a year, one that counts from 1970 never
/// less.
const YEAR: Nanos = Nanos::from_secs(365 * 86_400);

/// The number of requests in each minute of the clock, from that of the first request to that of the last.
#[derive(Clone, Debug, Default)]
pub struct MinuteCounts {
    first: Nanos,
    last: Nanos,
    minutes: Vec<u32>,
    out_of_range: u64,
}

impl MinuteCounts {
    /// Counts a request by its arrival; arrivals must come in order.
    pub fn add(&mut self, arrival: Nanos) {
        if self.minutes.is_empty() {
            (self.first, self.last) = (arrival, arrival);
        }
        let minute = (arrival.0 / MINUTE.0).saturating_sub(self.first.0 / MINUTE.0);
        if minute >= MINUTES_MAX {
            self.out_of_range += 1;
            return;
        }
        if minute as usize >= self.minutes.len() {
            self.minutes.resize(minute as usize + 1, 0);
        }
        let count = &mut self.minutes[minute as usize];
        *count = count.saturating_add(1);
        self.last = self.last.max(arrival);
    }

    /// Requests more than four years after the first; they are counted only here.
    pub fn out_of_range(&self) -> u64 {
        self.out_of_range
    }

    /// Whether the trace's clock counts from 1970, so that hours of the day (UTC) are known.
    pub fn absolute(&self) -> bool {
        self.first > YEAR
    }

    /// The time from the first request to the last.
    pub fn span(&self) -> Nanos {
        self.last.since(self.first)
    }

    /// Requests in each minute; the first and the last minute are partial.
    pub fn minutes(&self) -> &[u32] {
        &self.minutes
    }

    /// Requests in each hour of the clock, from that of the first request to that of the last; these two are partial.
    pub fn hours(&self) -> Vec<u64> {
        let mut hours = vec![0; self.minutes.len().div_ceil(60) + 1];
        let offset = (self.first.0 / MINUTE.0 % 60) as usize;
        for (minute, &count) in self.minutes.iter().enumerate() {
            hours[(offset + minute) / 60] += u64::from(count);
        }
        hours.truncate((offset + self.minutes.len()).div_ceil(60));
        hours
    }

    /// The hour of the day (0..24) of the first of [`MinuteCounts::hours`]; 0 if the clock begins with the trace.
    pub fn first_hour(&self) -> usize {
        (self.first.0 / (60 * MINUTE.0) % 24) as usize
    }

    /// Whether the first hour begins with the trace, and whether the last ends with it, to the minute.
    pub fn has_whole_ends(&self) -> (bool, bool) {
        ((self.first.0 / MINUTE.0).is_multiple_of(60), self.last.0 / MINUTE.0 % 60 == 59)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_and_hours_of_the_clock() {
        let mut counts = MinuteCounts::default();
        let minute = |minute: u64| Nanos(minute * MINUTE.0 + 7);
        // From 01:59 to 04:00.
        [119, 119, 120, 179, 240].iter().for_each(|&at| counts.add(minute(at)));
        assert_eq!((counts.minutes().len(), counts.minutes()[0], counts.minutes()[121]), (122, 2, 1));
        assert_eq!((counts.hours(), counts.first_hour()), (vec![2, 2, 0, 1], 1));
        assert_eq!(
            (counts.has_whole_ends(), counts.absolute(), counts.span()),
            ((false, false), false, Nanos(121 * MINUTE.0))
        );
    }

    #[test]
    fn a_wrong_time_takes_no_memory() {
        let mut counts = MinuteCounts::default();
        [Nanos(0), Nanos::MAX, Nanos(5)].iter().for_each(|&at| counts.add(at));
        assert_eq!((counts.minutes(), counts.out_of_range(), counts.span()), (&[2][..], 1, Nanos(5)));
        assert!(MinuteCounts::default().hours().is_empty());
    }
}
