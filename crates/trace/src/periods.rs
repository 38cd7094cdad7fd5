//! A trace as a scrub sees it: idle intervals, and the number of requests in the busy period after each.
//!
//! Nothing else matters to a first-come-first-served disk. A scrub request that is still at the disk when a busy period
//! begins delays all requests of that period by the same time, and shortens the idle interval after it. So a trace in
//! memory takes 12 bytes per busy period, and at most 12 bytes per request.

use crate::part::{PartError, PartPeriods};
use scrubjay_core::scrub::disk_server::ForegroundRequest;
use scrubjay_core::units::Nanos;

/// The busy periods of one disk, in their order.
#[derive(Clone, Debug, Default)]
pub struct Periods {
    /// The idle interval before each busy period; zero before the first, because it is unknown since when the disk was
    /// idle.
    idle: Vec<Nanos>,
    /// The requests of each busy period, at least one.
    requests: Vec<u32>,
    requests_total: u64,
    idle_total: Nanos,
    started: Nanos,
    free: Nanos,
}

/// One idle interval and the busy period after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The length of the idle interval before it.
    pub idle: Nanos,
    /// The number of requests until the disk is idle again.
    pub requests: u32,
}

impl Periods {
    /// Adds the next request, in order of arrival.
    pub fn add(&mut self, request: ForegroundRequest) {
        let idle = request.at.since(self.free);
        match self.requests.last_mut() {
            Some(last) if idle == Nanos::ZERO && *last < u32::MAX => *last += 1,
            Some(_) => self.begin(idle),
            None => {
                self.started = request.at;
                self.begin(Nanos::ZERO);
            }
        }
        self.free = self.free.max(request.at).saturating_add(request.service);
        self.requests_total += 1;
    }

    fn begin(&mut self, idle: Nanos) {
        self.idle.push(idle);
        self.requests.push(1);
        self.idle_total = self.idle_total.saturating_add(idle);
    }

    /// All busy periods, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Period> + Clone + '_ {
        self.idle.iter().zip(&self.requests).map(|(&idle, &requests)| Period { idle, requests })
    }

    /// The idle interval before each busy period, in order: as many as [`Periods::requests_by_period`] has numbers. The
    /// first is a zero that was never observed, because it is unknown since when the disk was idle; figures of idle
    /// intervals are made from [`Periods::intervals`].
    pub fn idle_before(&self) -> &[Nanos] {
        &self.idle
    }

    /// The number of requests in each busy period, in order.
    pub fn requests_by_period(&self) -> &[u32] {
        &self.requests
    }

    /// The idle intervals between busy periods, in order: [`Periods::idle_before`] without its first zero.
    pub fn intervals(&self) -> &[Nanos] {
        self.idle.get(1..).unwrap_or_default()
    }

    /// The number of requests in all busy periods.
    pub fn requests_total(&self) -> u64 {
        self.requests_total
    }

    /// The sum of the idle intervals.
    pub fn idle_total(&self) -> Nanos {
        self.idle_total
    }

    /// The time from the first arrival to the end of the last busy period.
    pub fn span(&self) -> Nanos {
        self.free.since(self.started)
    }
}

impl Periods {
    /// Appends a part whose requests all arrive after those that are here, or with the last of them.
    ///
    /// # Errors
    /// If its columns do not fit together, or if it begins before the first request here.
    pub fn join(&mut self, part: &PartPeriods) -> Result<(), PartError> {
        part.check()?;
        if part.idle.is_empty() {
            return Ok(());
        }
        if self.requests.is_empty() {
            (self.started, self.free) = (part.started, part.started);
        } else if part.started < self.started {
            return Err(PartError);
        }
        self.idle.reserve(part.idle.len());
        self.requests.reserve(part.requests.len());
        let mut own_free = part.started;
        for index in 0..part.idle.len() {
            let at = own_free.saturating_add(Nanos(part.idle[index]));
            own_free = at.saturating_add(Nanos(part.busy[index]));
            self.take(at.since(self.free), part.requests[index]);
            self.free = self.free.saturating_add(Nanos(part.work[index])).max(own_free);
        }
        Ok(())
    }

    /// Adds `count` requests after an idle interval (zero: none), with no idle intervals between them.
    fn take(&mut self, idle: Nanos, count: u32) {
        self.requests_total += u64::from(count);
        let mut remaining = count;
        if self.requests.is_empty() {
            self.begin(Nanos::ZERO);
            remaining -= 1;
        } else if idle > Nanos::ZERO {
            self.begin(idle);
            remaining -= 1;
        }
        while remaining > 0 {
            let last = self.requests.last_mut().expect("there is one");
            let added = remaining.min(u32::MAX - *last);
            *last += added;
            remaining -= added;
            if remaining > 0 {
                self.begin(Nanos::ZERO);
                remaining -= 1;
            }
        }
    }
}

impl FromIterator<ForegroundRequest> for Periods {
    fn from_iter<T: IntoIterator<Item = ForegroundRequest>>(requests: T) -> Periods {
        let mut periods = Periods::default();
        requests.into_iter().for_each(|request| periods.add(request));
        periods
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::PartCollector;
    use crate::record::{DeviceId, Record, RequestKind};
    use crate::service::{ServiceQueue, ServiceSource};
    use proptest::prelude::*;
    use scrubjay_core::scrub::disk_server::ServiceModel;
    use scrubjay_core::units::Bytes;

    const MODEL: ServiceModel = ServiceModel { positioning: Nanos(50), per_mib: Nanos(1000) };

    fn records() -> impl Strategy<Value = Vec<Record>> {
        let drawn_request = (0u64..120, proptest::option::of(0u64..400), 0u64..3, 0u8..4);
        proptest::collection::vec(drawn_request, 1..120).prop_map(|drawn| {
            let mut arrival = 1_000;
            drawn
                .into_iter()
                .map(|(gap, response, length, kind)| {
                    arrival += gap;
                    Record {
                        arrival: Nanos(arrival),
                        response: response.map(Nanos),
                        offset: Bytes(0),
                        length: Bytes(length << 18),
                        device: DeviceId(0),
                        kind: if kind == 0 { RequestKind::Flush } else { RequestKind::Read },
                    }
                })
                .collect()
        })
    }

    fn whole(records: &[Record], service: ServiceSource) -> Periods {
        let mut queue = ServiceQueue::new(service);
        records.iter().map(|record| queue.serve(record)).collect()
    }

    fn part(records: &[Record], service: ServiceSource) -> PartPeriods {
        let mut collector = PartCollector::new(service);
        records.iter().for_each(|record| collector.add(record));
        collector.finish()
    }

    proptest! {
        #[test]
        fn periods_of_a_trace_cut_anywhere_join_to_those_of_the_whole(
            records in records(),
            mut cuts in proptest::collection::vec(0usize..120, 0..8),
            is_recorded in any::<bool>(),
        ) {
            let service = if is_recorded { ServiceSource::Recorded(MODEL) } else { ServiceSource::Model(MODEL) };
            cuts.extend([0, records.len()]);
            cuts.iter_mut().for_each(|cut| *cut = (*cut).min(records.len()));
            cuts.sort_unstable();
            let mut joined = Periods::default();
            for ends in cuts.windows(2) {
                joined.join(&part(&records[ends[0]..ends[1]], service)).unwrap();
            }
            let whole = whole(&records, service);
            prop_assert_eq!(joined.idle_before(), whole.idle_before());
            prop_assert_eq!(joined.requests_by_period(), whole.requests_by_period());
            prop_assert_eq!(
                (joined.requests_total(), joined.idle_total(), joined.span()),
                (whole.requests_total(), whole.idle_total(), whole.span())
            );
        }
    }

    #[test]
    fn a_full_count_begins_another_period() {
        let part = |started, requests| PartPeriods {
            started: Nanos(started),
            idle: vec![0],
            busy: vec![10],
            work: vec![10],
            requests: vec![requests],
        };
        let mut joined = Periods::default();
        joined.join(&part(0, u32::MAX - 1)).unwrap();
        joined.join(&part(5, 3)).unwrap();
        assert_eq!((joined.requests_by_period(), joined.idle_before()), (&[u32::MAX, 2][..], &[Nanos::ZERO; 2][..]));
    }

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        let sound = PartPeriods { started: Nanos(9), idle: vec![0], busy: vec![1], work: vec![1], requests: vec![1] };
        assert_eq!(sound.check(), Ok(()));
        for broken in [
            PartPeriods { idle: vec![], ..sound.clone() },
            PartPeriods { idle: vec![3], ..sound.clone() },
            PartPeriods { requests: vec![0], ..sound.clone() },
            PartPeriods { busy: vec![u64::MAX], ..sound.clone() },
        ] {
            assert_eq!(Periods::default().join(&broken), Err(PartError), "{broken:?}");
        }
    }

    #[test]
    fn periods_of_a_few_requests() {
        let requests = [(100, 10), (105, 10), (120, 1), (130, 5)];
        let periods: Periods = requests
            .into_iter()
            .map(|(at, service)| ForegroundRequest { at: Nanos(at), service: Nanos(service) })
            .collect();
        // Busy 100..120; the request at 120 arrives at its very end, so there is no idle time in between.
        let found: Vec<_> = periods.iter().map(|period| (period.idle.0, period.requests)).collect();
        assert_eq!(found, [(0, 3), (9, 1)]);
        assert_eq!((periods.requests_total(), periods.idle_total(), periods.span()), (4, Nanos(9), Nanos(35)));
    }
}
