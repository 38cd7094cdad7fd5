//! Turns records into requests with service times, for a single server that serves first come, first served.

use crate::record::{Record, RequestKind};
use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::units::{Bytes, Nanos};

/// Where service times come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceSource {
    /// From the trace's response times: a request is in service from its arrival, or the end of the previous one, to
    /// its completion. A record without a response time gets the model's service time.
    Recorded(ServiceModel),
    /// From a model of the disk and the request's length.
    Model(ServiceModel),
}

/// The state of the disk's queue that matters: when it will be empty.
#[derive(Clone, Debug)]
pub struct ServiceQueue {
    service: ServiceSource,
    free: Nanos,
}

impl ServiceQueue {
    /// The queue of an idle disk.
    pub fn new(service: ServiceSource) -> ServiceQueue {
        ServiceQueue { service, free: Nanos::ZERO }
    }

    /// When all requests so far are served; zero before the first.
    pub fn free(&self) -> Nanos {
        self.free
    }

    /// Serves the next record, in order of arrival; returns it as a request with its service time.
    pub fn serve(&mut self, record: &Record) -> ForegroundRequest {
        let at = record.arrival;
        let start = at.max(self.free);
        let service = match (self.service, record.response) {
            (ServiceSource::Recorded(_), Some(response)) => at.saturating_add(response).since(start),
            (ServiceSource::Recorded(model) | ServiceSource::Model(model), _) => match record.kind {
                RequestKind::Read | RequestKind::Write => model.service(record.length),
                // No data are transferred, whatever the length of the range.
                RequestKind::Discard | RequestKind::Flush => model.service(Bytes(0)),
            },
        };
        self.free = start.saturating_add(service);
        ForegroundRequest { at, service }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::DeviceId;

    #[test]
    fn responses_that_overlap_are_served_one_after_the_other() {
        let record = |at, response| Record {
            arrival: Nanos(at),
            response,
            offset: Bytes(0),
            length: Bytes::mib(1),
            device: DeviceId(0),
            kind: RequestKind::Read,
        };
        let model = ServiceModel { positioning: Nanos(5), per_mib: Nanos(2) };
        let mut queue = ServiceQueue::new(ServiceSource::Recorded(model));
        // Served 10..30, then 30..35 (it waited), then for zero time (its completion was before that), then by the
        // model.
        let served = [(10, Some(20)), (20, Some(15)), (22, Some(3)), (50, None)]
            .map(|(at, response)| queue.serve(&record(at, response.map(Nanos))).service.0);
        assert_eq!((served, queue.free()), ([20, 5, 0, 7], Nanos(57)));
    }
}
