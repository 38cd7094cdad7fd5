//! The busy periods of a part of a trace, cut out by time, and how those of the next part are joined to what came before: exactly,
//! to the nanosecond, as if the trace had never been cut.
//!
//! Whoever looks at a part alone does not know when the disk is free of what came before it. But each request moves that time in
//! one way only: `free' = max(free + s, c)`, with `s` its service time and `c` its arrival plus that if the model says how long it
//! takes, and `s` zero and `c` its completion if the trace does. Such steps in a row are one step of that form. So three numbers a
//! busy period (its length, the sum of `s`, the idle time before it) say what becomes of it for any beginning.

use super::Periods;
use crate::record::{Record, RequestKind};
use crate::service::ServiceSource;
use scrubjay_core::units::{Bytes, Nanos};

/// The busy periods of one device in a part of a trace, as if the disk had been idle before: 28 bytes each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartPeriods {
    /// When the first request arrived.
    pub started: Nanos,
    /// The idle interval before each busy period; zero before the first.
    pub idle: Vec<u64>,
    /// How long each lasts.
    pub busy: Vec<u64>,
    /// By how much each moves the end of what came before, if that is late: the sum of service times that the model says.
    pub work: Vec<u64>,
    /// The requests of each.
    pub requests: Vec<u32>,
}

/// Columns of a part that cannot be one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the columns of a part's busy periods do not fit together")]
pub struct PartError;

/// Collects a part, request by request.
#[derive(Clone, Debug)]
pub struct PartCollector {
    service: ServiceSource,
    part: PartPeriods,
    free: Nanos,
}

impl PartCollector {
    /// Of an idle disk.
    pub fn new(service: ServiceSource) -> PartCollector {
        PartCollector { service, part: PartPeriods::default(), free: Nanos::ZERO }
    }

    /// Takes the next record, in order of arrival.
    pub fn add(&mut self, record: &Record) {
        let at = record.arrival;
        let (work, done) = match (self.service, record.response) {
            (ServiceSource::Recorded(_), Some(response)) => (Nanos::ZERO, at.saturating_add(response)),
            (ServiceSource::Recorded(model) | ServiceSource::Model(model), _) => {
                let service = match record.kind {
                    RequestKind::Read | RequestKind::Write => model.service(record.length),
                    RequestKind::Discard | RequestKind::Flush => model.service(Bytes(0)),
                };
                (service, at.saturating_add(service))
            }
        };
        let part = &mut self.part;
        let idle = at.since(self.free);
        match part.requests.last_mut() {
            Some(last) if idle == Nanos::ZERO && *last < u32::MAX => *last += 1,
            is_first => {
                if is_first.is_none() {
                    (part.started, self.free) = (at, at);
                }
                part.idle.push(at.since(self.free).0);
                part.busy.push(0);
                part.work.push(0);
                part.requests.push(1);
                self.free = self.free.max(at);
            }
        }
        let free = self.free.saturating_add(work).max(done);
        let last = part.busy.len() - 1;
        part.busy[last] = part.busy[last].saturating_add(free.since(self.free).0);
        part.work[last] = part.work[last].saturating_add(work.0);
        self.free = free;
    }

    /// All of it.
    pub fn finish(self) -> PartPeriods {
        self.part
    }
}

impl PartPeriods {
    /// Do the columns fit together?
    ///
    /// # Errors
    /// They differ in length, a period has no request, or times go beyond what can be told.
    pub fn check(&self) -> Result<(), PartError> {
        let count = self.idle.len();
        let lengths = [self.busy.len(), self.work.len(), self.requests.len()];
        let sum = |times: &[u64]| times.iter().try_fold(0u64, |sum, time| sum.checked_add(*time));
        let is_whole = || {
            let end = self.started.0.checked_add(sum(&self.idle)?)?.checked_add(sum(&self.busy)?)?;
            end.checked_add(sum(&self.work)?)
        };
        let is_sound =
            lengths == [count; 3] && !self.requests.contains(&0) && self.idle.first().is_none_or(|&idle| idle == 0);
        if is_sound && is_whole().is_some() { Ok(()) } else { Err(PartError) }
    }
}

impl Periods {
    /// Appends a part: all its requests arrive after those that are here, or with the last of them.
    ///
    /// # Errors
    /// Its columns do not fit together, or it begins before the last busy period does.
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

    /// Takes `count` requests that follow an idle interval, or none, and one another without any.
    fn take(&mut self, idle: Nanos, count: u32) {
        self.requests_total += u64::from(count);
        let mut left = count;
        if self.requests.is_empty() {
            self.begin(Nanos::ZERO);
            left -= 1;
        } else if idle > Nanos::ZERO {
            self.begin(idle);
            left -= 1;
        }
        while left > 0 {
            let last = self.requests.last_mut().expect("there is one");
            let more = left.min(u32::MAX - *last);
            *last += more;
            left -= more;
            if left > 0 {
                self.begin(Nanos::ZERO);
                left -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::DeviceId;
    use crate::service::ServiceQueue;
    use proptest::prelude::*;
    use scrubjay_core::scrub::disk_server::ServiceModel;

    const MODEL: ServiceModel = ServiceModel { positioning: Nanos(50), per_mib: Nanos(1000) };

    fn records() -> impl Strategy<Value = Vec<Record>> {
        let one = (0u64..120, proptest::option::of(0u64..400), 0u64..3, 0u8..4);
        proptest::collection::vec(one, 1..120).prop_map(|drawn| {
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
        records.iter().map(|record| queue.request(record)).collect()
    }

    fn part(records: &[Record], service: ServiceSource) -> PartPeriods {
        let mut collector = PartCollector::new(service);
        records.iter().for_each(|record| collector.add(record));
        collector.finish()
    }

    proptest! {
        #[test]
        fn what_was_cut_anywhere_is_joined_as_if_it_never_was(
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
            prop_assert_eq!(joined.idle(), whole.idle());
            prop_assert_eq!(joined.counts(), whole.counts());
            prop_assert_eq!(
                (joined.requests(), joined.idle_total(), joined.span()),
                (whole.requests(), whole.idle_total(), whole.span())
            );
        }
    }

    #[test]
    fn full_counts_begin_another_period_as_they_do_one_by_one() {
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
        assert_eq!((joined.counts(), joined.idle()), (&[u32::MAX, 2][..], &[Nanos::ZERO; 2][..]));
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
}
