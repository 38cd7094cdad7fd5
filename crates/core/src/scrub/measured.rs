//! What a scrub's own requests say of the surface: one visit to a segment at a time ([`crate::surface`]).

use crate::scrub::tour::SegmentPlace;
use crate::surface::visit::Visit;
use crate::surface::{ReadTime, median};
use crate::units::{Bytes, Nanos};

/// The shortest request that is measured: of a shorter one most of the time is not reading.
const REQUEST_MIN: Bytes = Bytes::kib(512);
/// A request stalls if it takes this much longer than at [`STALL_SPEED`].
const STALL: Nanos = Nanos::from_millis(100);
/// Bytes a second.
const STALL_SPEED: u64 = 10_000_000;
/// Requests of a visit that are kept one by one, at most.
const REQUESTS_MAX: usize = 64;
/// Visits that wait to be taken, at most: who does not take them gets the first ones.
const WAITING_MAX: usize = 4096;

/// A request that has ended, as the scrub knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnTiming {
    /// The segment in which it began.
    pub place: SegmentPlace,
    /// Its size.
    pub bytes: Bytes,
    /// How long it was at the disk.
    pub time: Nanos,
    /// Whether it followed the one before, so that no seek is in its time.
    pub is_next: bool,
    /// Whole hours since the pass began.
    pub hour: u64,
}

/// Collects the requests of the visit under way, and the visits that are over.
#[derive(Debug, Default)]
pub(super) struct VisitRecorder {
    place: Option<SegmentPlace>,
    times: Vec<ReadTime>,
    visit: Visit,
    waiting: Vec<(SegmentPlace, Visit)>,
}

impl VisitRecorder {
    /// A request has ended that had the disk for itself.
    pub(super) fn add(&mut self, request: OwnTiming) {
        let OwnTiming { place, bytes, time, is_next, hour } = request;
        if self.place != Some(place) {
            self.close();
            self.place = Some(place);
            self.visit.hour = hour.min(u64::from(u16::MAX)) as u16;
        }
        let stall = Nanos(STALL.0 + bytes.0 * 1_000_000_000 / STALL_SPEED);
        if time > stall {
            self.visit.stalls = self.visit.stalls.saturating_add(1);
        }
        self.visit.requests = self.visit.requests.saturating_add(1);
        if is_next && bytes >= REQUEST_MIN {
            let step = ReadTime::of(time, bytes);
            self.visit.slowest = self.visit.slowest.max(step);
            if self.times.len() < REQUESTS_MAX {
                self.times.push(step);
            }
        }
    }

    /// The visits that are over; `is_last`: the one under way, too.
    pub(super) fn take(&mut self, is_last: bool) -> Vec<(SegmentPlace, Visit)> {
        if is_last {
            self.close();
        }
        std::mem::take(&mut self.waiting)
    }

    fn close(&mut self) {
        let visit = std::mem::take(&mut self.visit);
        let typical = median(&mut self.times);
        self.times.clear();
        if let Some(place) = self.place.take()
            && self.waiting.len() < WAITING_MAX
        {
            self.waiting.push((place, Visit { typical, ..visit }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(segment: u64, mib: u64, millis: u64, is_next: bool) -> OwnTiming {
        let place = SegmentPlace { region: 3, segment };
        OwnTiming { place, bytes: Bytes::mib(mib), time: Nanos::from_millis(millis), is_next, hour: 70 }
    }

    #[test]
    fn a_visit_is_the_median_of_requests_without_a_seek() {
        let mut recorder = VisitRecorder::default();
        for request in [timing(0, 1, 90, false), timing(0, 2, 10, true), timing(0, 1, 5, true), timing(0, 1, 9, true)] {
            recorder.add(request);
        }
        recorder.add(OwnTiming { bytes: Bytes::kib(64), ..timing(0, 1, 1, true) });
        assert_eq!(recorder.take(false), []);
        recorder.add(timing(1, 1, 300, false));
        let place = SegmentPlace { region: 3, segment: 0 };
        let of = |millis: u64| ReadTime::of(Nanos::from_millis(millis), Bytes::mib(1));
        let visit = Visit { typical: of(5), slowest: of(9), stalls: 0, requests: 5, hour: 70 };
        assert_eq!(recorder.take(false), [(place, visit)]);
        let stalled = Visit { stalls: 1, requests: 1, hour: 70, ..Visit::default() };
        assert_eq!(recorder.take(true), [(SegmentPlace { segment: 1, ..place }, stalled)]);
        assert_eq!(recorder.take(true), []);
    }
}
