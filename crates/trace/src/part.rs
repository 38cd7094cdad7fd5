//! The busy periods of a part of a trace, cut out by time, and how those of the next part are joined to what came before: exactly,
//! to the nanosecond, as if the trace had never been cut.
//!
//! Whoever looks at a part alone does not know when the disk is free of what came before it. But each request moves that time in
//! one way only: `free' = max(free + s, c)`, with `s` its service time and `c` its arrival plus that if the model says how long it
//! takes, and `s` zero and `c` its completion if the trace does. Such steps in a row are one step of that form. So three numbers a
//! busy period (its length, the sum of `s`, the idle time before it) say what becomes of it for any beginning.

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
    /// The service time of its requests by the model, in nanoseconds: a disk that is still busy with earlier ones stays busy for that
    /// much longer. Zero where the trace says how long requests took.
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
