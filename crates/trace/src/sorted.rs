//! Sorts records by arrival within a bounded window.
//!
//! Formats log requests on completion, or per CPU, so neighbours are out of order throughout a trace. The last records
//! are held back: [`WINDOW`] of them after the first disorder, an eighth of that before. While records come in order,
//! batches are only checked. After disorder two windows are gathered and sorted at once: that costs one sort of two
//! windows per window.

use crate::error::TraceError;
use crate::record::Record;
use scrubjay_core::units::Nanos;
use std::collections::VecDeque;

/// The number of records held back: 12 MiB, and ten times the requests that a large array has in flight.
pub(crate) const WINDOW: usize = 1 << 18;
/// While all records came in order, one in this many of the window is held back. An eighth is 1.5 MiB, which stays in
/// one core's cache and makes reading a table a fifth faster.
const ORDERLY: usize = 8;
/// Sorted records are passed on in batches of this many, which stay in the cache.
const BATCH: usize = 8192;

/// Takes batches in the order of the source and returns batches in order of arrival. Equal arrivals keep their order.
#[derive(Debug)]
pub(crate) struct Sorter {
    window: usize,
    /// The records held back.
    batches: VecDeque<Vec<Record>>,
    /// The number of records held back.
    held: usize,
    /// Whether the records held back are sorted.
    is_sorted: bool,
    /// Whether all records so far came in order.
    is_orderly: bool,
    /// The arrival of the last record held back; only meaningful if `is_sorted`.
    last: Nanos,
    /// The arrival of the last record passed on.
    passed: Nanos,
    /// The number of records taken so far.
    taken: u64,
    /// An empty batch for reuse, because its memory is already mapped.
    spare: Vec<Record>,
}

impl Sorter {
    /// Makes a sorter that holds back `window` records after the first disorder.
    pub(crate) fn new(window: usize) -> Sorter {
        let (batches, spare) = (VecDeque::new(), Vec::new());
        let (last, passed) = (Nanos(0), Nanos(0));
        Sorter { window, batches, held: 0, is_sorted: true, is_orderly: true, last, passed, taken: 0, spare }
    }

    /// Takes all of `batch` and leaves it empty.
    ///
    /// # Errors
    /// If a record arrives before one already passed on.
    pub(crate) fn push(&mut self, batch: &mut Vec<Record>) -> Result<(), TraceError> {
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else {
            return Ok(());
        };
        let is_next = self.is_sorted && first.arrival >= self.last;
        if is_next && batch.is_sorted_by_key(|record| record.arrival) {
            self.last = last.arrival;
        } else {
            self.is_sorted = false;
            if let Some(at) = batch.iter().position(|record| record.arrival < self.passed) {
                let lateness = self.passed - batch[at].arrival;
                return Err(TraceError::out_of_order(self.taken + at as u64 + 1, lateness, self.hold_back()));
            }
            self.is_orderly = false;
        }
        self.taken += batch.len() as u64;
        self.held += batch.len();
        self.batches.push_back(std::mem::replace(batch, std::mem::take(&mut self.spare)));
        Ok(())
    }

    /// Replaces the contents of `batch` by the next records, in order. False, with `batch` untouched: more records are
    /// needed first or, if `at_end` (no more will come), none are left.
    pub(crate) fn pop(&mut self, batch: &mut Vec<Record>, at_end: bool) -> bool {
        if !self.is_sorted {
            if !at_end && self.held < 2 * self.window {
                return false;
            }
            self.sort();
        }
        let window = if at_end { 0 } else { self.hold_back() };
        match self.batches.front() {
            Some(front) if self.held - front.len() >= window => {}
            _ => return false,
        }
        self.spare = std::mem::replace(batch, self.batches.pop_front().expect("looked at"));
        self.spare.clear();
        self.held -= batch.len();
        self.passed = batch.last().expect("batches are not empty").arrival;
        true
    }

    /// The number of records to hold back at present.
    fn hold_back(&self) -> usize {
        if self.is_orderly { self.window / ORDERLY } else { self.window }
    }

    /// Sorts everything that is held back.
    fn sort(&mut self) {
        let mut all = Vec::with_capacity(self.held);
        for batch in self.batches.drain(..) {
            all.extend_from_slice(&batch);
        }
        all.sort_by_key(|record| record.arrival);
        self.batches.extend(all.chunks(BATCH).map(<[Record]>::to_vec));
        self.last = all.last().map_or(self.passed, |record| record.arrival);
        self.is_sorted = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{DeviceId, RequestKind};
    use proptest::prelude::*;
    use scrubjay_core::units::Bytes;

    /// A record that arrives at `arrival` and is number `number` of the source.
    fn record(arrival: u64, number: usize) -> Record {
        let (offset, length, device) = (Bytes(number as u64), Bytes(512), DeviceId(0));
        Record { arrival: Nanos(arrival), response: None, offset, length, device, kind: RequestKind::Read }
    }

    /// Sorts these arrivals, pushed in batches of `size`.
    fn sort(arrivals: &[u64], size: usize, window: usize) -> Result<Vec<Record>, TraceError> {
        let records: Vec<Record> = arrivals.iter().enumerate().map(|(number, &at)| record(at, number)).collect();
        let (mut sorter, mut sorted, mut out) = (Sorter::new(window), Vec::new(), Vec::new());
        for batch in records.chunks(size) {
            let mut batch = batch.to_vec();
            sorter.push(&mut batch)?;
            assert!(batch.is_empty());
            while sorter.pop(&mut out, false) {
                sorted.extend_from_slice(&out);
                assert!(sorter.held >= sorter.hold_back(), "holds back its window");
            }
        }
        while sorter.pop(&mut out, true) {
            sorted.extend_from_slice(&out);
        }
        Ok(sorted)
    }

    proptest! {
        #[test]
        fn records_within_the_window_are_sorted(
            jitter in prop::collection::vec(0u64..40, 0..600), size in 1usize..50
        ) {
            let arrivals: Vec<u64> = jitter.iter().enumerate().map(|(at, jitter)| at as u64 + jitter).collect();
            let mut expected: Vec<Record> = arrivals.iter().enumerate().map(|(i, &at)| record(at, i)).collect();
            expected.sort_by_key(|record| record.arrival);
            prop_assert_eq!(sort(&arrivals, size, 40 * ORDERLY).unwrap(), expected);
        }
    }

    #[test]
    fn the_first_disorder_opens_the_whole_window() {
        let mut arrivals: Vec<u64> = (0..400).map(|i| i * 10).collect();
        arrivals[100] = 985; // two too late: within an eighth of 80
        arrivals[399] = 3251; // seventy-four too late: within 80
        assert_eq!(sort(&arrivals, 1, 80).unwrap().len(), 400);
        arrivals[100] = 1000;
        let error = sort(&arrivals, 1, 80).unwrap_err().to_string();
        assert!(error.starts_with("record 400 arrives 0.0000"), "{error}");
    }

    #[test]
    fn a_record_beyond_the_window_is_an_error() {
        let mut arrivals: Vec<u64> = (0..100).map(|i| i * 1_000_000_000).collect();
        arrivals.push(500_000_000);
        assert_eq!(sort(&arrivals, 10, 100 * ORDERLY).unwrap().len(), 101, "all are still held");
        let error = sort(&arrivals, 10, 50 * ORDERLY).unwrap_err().to_string();
        assert!(error.starts_with("record 101 arrives 48.500000 s before records already passed on"), "{error}");
    }
}
