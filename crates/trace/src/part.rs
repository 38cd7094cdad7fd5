//! The busy periods of a part of a trace, cut by time; joined, parts give exactly the busy periods of the uncut trace.
//!
//! A part alone does not show when the disk is done with requests from before it. But each request changes that time in
//! only one way: `free' = max(free + s, c)`. If the model gives the service time, `s` is that time and `c` is the
//! arrival plus `s`; if the trace does, `s` is zero and `c` is the completion. Several such steps combine to one step
//! of the same form. So three numbers per busy period (its length, the sum of `s`, the idle time before it) determine
//! its result for any initial state.

use crate::record::{Record, RequestKind};
use crate::service::ServiceSource;
use scrubjay_core::units::{Bytes, Nanos};

/// The busy periods of one device in a part of a trace, for a disk idle at the beginning: 28 bytes each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartPeriods {
    /// The arrival of the first request.
    pub started: Nanos,
    /// The idle interval before each busy period, in nanoseconds; zero before the first.
    pub idle: Vec<u64>,
    /// The length of each busy period, in nanoseconds.
    pub busy: Vec<u64>,
    /// The service time of each period's requests by the model, in nanoseconds: a disk still busy with earlier requests
    /// stays busy for that much longer. Zero where the trace gives the response times.
    pub work: Vec<u64>,
    /// The number of requests in each busy period.
    pub requests: Vec<u32>,
}

/// The columns of a part are inconsistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the columns of a part's busy periods do not fit together")]
pub struct PartError;

/// Collects the busy periods of a part, request by request.
#[derive(Clone, Debug)]
pub struct PartCollector {
    service: ServiceSource,
    part: PartPeriods,
    free: Nanos,
}

impl PartCollector {
    /// Starts with an idle disk.
    pub fn new(service: ServiceSource) -> PartCollector {
        PartCollector { service, part: PartPeriods::default(), free: Nanos::ZERO }
    }

    /// Adds the next record, in order of arrival.
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

    /// The collected part.
    pub fn finish(self) -> PartPeriods {
        self.part
    }
}

impl PartPeriods {
    /// Checks that the columns are consistent.
    ///
    /// # Errors
    /// If they differ in length, a period has no request, the first idle interval is not zero, or times overflow.
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
