//! A trace as the scrubber feels it: idle intervals, and how many requests come in the busy period after each.
//!
//! Nothing else matters to a first-come-first-served disk. A request of ours that is still at the disk when a busy
//! period begins delays all requests of that period by the same time, and shortens the idle interval after it. So a
//! held trace is 12 bytes for each busy period, and never more than that for each request.

mod part;

pub use part::{PartCollector, PartError, PartPeriods};

use scrubjay_core::scrub::disk_server::ForegroundRequest;
use scrubjay_core::units::Nanos;

/// The busy periods of one disk, in their order.
#[derive(Clone, Debug, Default)]
pub struct Periods {
    /// The idle interval before each busy period; zero before the first, for nobody knows since when the disk was idle.
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
    /// How long the disk was idle before.
    pub idle: Nanos,
    /// How many requests came before it was idle again.
    pub requests: u32,
}

impl Periods {
    /// Takes the next request, in order of arrival.
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

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Period> + Clone + '_ {
        self.idle.iter().zip(&self.requests).map(|(&idle, &requests)| Period { idle, requests })
    }

    /// The idle interval before each busy period, in their order.
    pub fn idle(&self) -> &[Nanos] {
        &self.idle
    }

    /// The requests of each busy period, in their order.
    pub fn counts(&self) -> &[u32] {
        &self.requests
    }

    /// The idle intervals, the zero before the first busy period left out.
    pub fn intervals(&self) -> &[Nanos] {
        self.idle.get(1..).unwrap_or_default()
    }

    /// Requests in all.
    pub fn requests(&self) -> u64 {
        self.requests_total
    }

    /// The sum of the idle intervals.
    pub fn idle_total(&self) -> Nanos {
        self.idle_total
    }

    /// From the first arrival to the end of the last busy period.
    pub fn span(&self) -> Nanos {
        self.free.since(self.started)
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

    #[test]
    fn periods_of_a_few_requests() {
        let requests = [(100, 10), (105, 10), (120, 1), (130, 5)];
        let periods: Periods = requests
            .into_iter()
            .map(|(at, service)| ForegroundRequest { at: Nanos(at), service: Nanos(service) })
            .collect();
        // Busy 100..120, and 120 arrives at its very end: no idleness in between.
        let found: Vec<_> = periods.iter().map(|period| (period.idle.0, period.requests)).collect();
        assert_eq!(found, [(0, 3), (9, 1)]);
        assert_eq!((periods.requests(), periods.idle_total(), periods.span()), (4, Nanos(9), Nanos(35)));
    }
}
