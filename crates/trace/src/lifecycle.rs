//! The life of requests by their events: queued (Q), issued to the driver (D), merged (M, F), completed (C).
//!
//! A request arrives when it is queued. A trace that was recorded without these events (`blktrace -a issue -a complete`) has its
//! arrivals where requests were issued: without the time that they waited in the kernel's scheduler. With completions alone
//! there are no arrivals at all.

use crate::pairing::{MergeSide, Pairing};
use crate::record::{DeviceId, Record, RequestKind};
use crate::record_sink::{ArrivalSource, RecordSink};
use scrubjay_core::units::{Bytes, Nanos};

/// Events that are held back until it is known by what requests arrive; after as many without a queued one, none is expected.
const HELD_MAX: usize = 1 << 14;

/// One event in the life of a request.
#[derive(Clone, Copy, Debug)]
pub enum LifeEvent {
    /// It was queued.
    Queued(Record),
    /// It was issued to the driver.
    Issued(Record),
    /// It was merged with another one on that side of it.
    Merged(DeviceId, RequestKind, Bytes, Bytes, MergeSide),
    /// This range was completed, at this time.
    Completed(DeviceId, RequestKind, Bytes, Bytes, Nanos),
}

/// Makes records of events, in the order of their arrival.
#[derive(Default)]
pub struct Lifecycle {
    pairing: Pairing,
    /// Events before the first one that shows by what requests arrive.
    held: Vec<LifeEvent>,
    source: Option<ArrivalSource>,
    has_completions: bool,
}

impl Lifecycle {
    /// Takes the next event.
    pub fn take(&mut self, event: LifeEvent, out: &mut Vec<Record>) {
        self.has_completions |= matches!(event, LifeEvent::Completed(..));
        match (self.source, event) {
            (None, LifeEvent::Queued(_)) => {
                // Completions of what was queued before the trace began change nothing.
                self.held = Vec::new();
                self.source = Some(ArrivalSource::Queued);
                self.pass(event, out);
            }
            (None, LifeEvent::Issued(_) | LifeEvent::Completed(..)) => {
                self.held.push(event);
                if self.held.len() >= HELD_MAX {
                    self.decide(out);
                }
            }
            (None, LifeEvent::Merged(..)) => {}
            (Some(_), _) => self.pass(event, out),
        }
    }

    /// Takes what was issued for arrivals, if there is any; forgets completions of nothing.
    fn decide(&mut self, out: &mut Vec<Record>) {
        let held = std::mem::take(&mut self.held);
        if held.iter().any(|event| matches!(event, LifeEvent::Issued(_))) {
            self.source = Some(ArrivalSource::Issued);
            held.into_iter().for_each(|event| self.pass(event, out));
        }
    }

    fn pass(&mut self, event: LifeEvent, out: &mut Vec<Record>) {
        let is_queued = self.source == Some(ArrivalSource::Queued);
        match event {
            LifeEvent::Queued(record) if is_queued => self.pairing.queued(record, out),
            LifeEvent::Issued(record) if !is_queued => self.pairing.queued(record, out),
            LifeEvent::Merged(device, kind, offset, length, side) if is_queued => {
                self.pairing.merged(device, kind, offset, length, side);
            }
            LifeEvent::Completed(device, kind, offset, length, time) => {
                self.pairing.completed(device, kind, offset, length, time, out);
            }
            LifeEvent::Queued(_) | LifeEvent::Issued(_) | LifeEvent::Merged(..) => {}
        }
    }

    /// Emits everything at the end of the trace.
    pub fn drain(&mut self, out: &mut Vec<Record>) {
        if self.source.is_none() {
            self.decide(out);
        }
        self.pairing.drain(out);
    }

    /// Notes in the sink by what the requests arrived; to be called at the end.
    pub fn note(&self, sink: &mut RecordSink) {
        sink.arrivals = match self.source {
            None if self.has_completions => ArrivalSource::Missing,
            None | Some(ArrivalSource::Queued) => ArrivalSource::Queued,
            Some(source) => source,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(at: u64, offset: u64) -> Record {
        let (arrival, offset) = (Nanos(at), Bytes(offset));
        Record { arrival, response: None, offset, length: Bytes(4096), device: DeviceId(0), kind: RequestKind::Read }
    }

    fn completed(at: u64, offset: u64) -> LifeEvent {
        LifeEvent::Completed(DeviceId(0), RequestKind::Read, Bytes(offset), Bytes(4096), Nanos(at))
    }

    fn made(events: &[LifeEvent]) -> (Vec<(u64, Option<u64>)>, ArrivalSource) {
        let (mut life, mut out, mut sink) = (Lifecycle::default(), Vec::new(), RecordSink::default());
        events.iter().for_each(|&event| life.take(event, &mut out));
        life.drain(&mut out);
        life.note(&mut sink);
        (out.iter().map(|record| (record.arrival.0, record.response.map(|time| time.0))).collect(), sink.arrivals)
    }

    #[test]
    fn requests_arrive_when_they_are_queued_and_else_when_they_are_issued() {
        let queued =
            [completed(1, 0), LifeEvent::Queued(record(2, 0)), LifeEvent::Issued(record(5, 0)), completed(9, 0)];
        assert_eq!(made(&queued), (vec![(2, Some(7))], ArrivalSource::Queued));
        assert_eq!(made(&queued[2..]), (vec![(5, Some(4))], ArrivalSource::Issued));
        assert_eq!(made(&queued[3..]), (vec![], ArrivalSource::Missing));
        assert_eq!(made(&[]), (vec![], ArrivalSource::Queued), "an empty trace");
    }

    #[test]
    fn a_long_trace_without_queued_requests_keeps_bounded_memory_and_all_requests() {
        let events =
            (0..40_000_u64).flat_map(|n| [LifeEvent::Issued(record(2 * n, n * 4096)), completed(2 * n + 1, n * 4096)]);
        let (records, source) = made(&events.collect::<Vec<_>>());
        assert_eq!((records.len(), source), (40_000, ArrivalSource::Issued));
        assert!(records.iter().all(|(_, response)| *response == Some(1)) && records.is_sorted());
        let (mut life, mut out) = (Lifecycle::default(), Vec::new());
        (0..40_000).for_each(|n| life.take(completed(n, 0), &mut out));
        assert!(life.held.len() < HELD_MAX);
    }
}
