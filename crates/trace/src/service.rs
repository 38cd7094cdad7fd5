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

impl ServiceSource {
    /// Its name in JSON: `recorded` or `model`.
    pub const fn name(self) -> &'static str {
        match self {
            ServiceSource::Recorded(_) => "recorded",
            ServiceSource::Model(_) => "model",
        }
    }

    /// The modelled disk, of which the times are that are not recorded.
    pub const fn model(self) -> ServiceModel {
        match self {
            ServiceSource::Recorded(model) | ServiceSource::Model(model) => model,
        }
    }

    /// In words.
    pub const fn about(self) -> &'static str {
        match self {
            ServiceSource::Recorded(_) => "recorded response times",
            ServiceSource::Model(_) => "the model disk",
        }
    }
}

/// Where service times are to be taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServiceChoice {
    /// Recorded, if the trace begins with response times, else the model.
    #[default]
    Auto,
    /// The trace's response times, where it has them.
    Recorded,
    /// The model of the disk.
    Model,
}

impl ServiceChoice {
    /// The source for a trace of this modelled disk that begins with these records, whichever devices they are of.
    pub fn source(self, disk: ServiceModel, beginning: &[Record]) -> ServiceSource {
        // Zeros in every record of the beginning are no measured times, whatever the format.
        let is_measured = |record: &Record| record.response.is_some_and(|time| time > Nanos::ZERO);
        match self {
            ServiceChoice::Auto if beginning.iter().any(is_measured) => ServiceSource::Recorded(disk),
            ServiceChoice::Recorded => ServiceSource::Recorded(disk),
            ServiceChoice::Auto | ServiceChoice::Model => ServiceSource::Model(disk),
        }
    }
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

    #[test]
    fn recorded_times_are_taken_where_the_beginning_has_any() {
        let record = |response| Record {
            arrival: Nanos::ZERO,
            response,
            offset: Bytes(0),
            length: Bytes::mib(1),
            device: DeviceId(0),
            kind: RequestKind::Read,
        };
        let model = ServiceModel::default();
        let auto = |responses: [Option<Nanos>; 2]| ServiceChoice::Auto.source(model, &responses.map(record));
        assert_eq!(auto([None, Some(Nanos(5))]), ServiceSource::Recorded(model), "of one device of several");
        assert_eq!(auto([Some(Nanos::ZERO); 2]), ServiceSource::Model(model), "zeros are no times");
        assert_eq!(ServiceChoice::Auto.source(model, &[]), ServiceSource::Model(model));
        let measured = [record(Some(Nanos(5)))];
        assert_eq!(ServiceChoice::Model.source(model, &measured), ServiceSource::Model(model));
        assert_eq!(ServiceChoice::Recorded.source(model, &[]), ServiceSource::Recorded(model));
    }
}
