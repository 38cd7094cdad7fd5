//! A model of one disk as a server: how long it works on a request, and in which order.

use crate::units::{Bytes, Nanos};

/// One foreground request as the disk sees it: 16 bytes. A recorded list of them (`Vec`, `.into_iter()`) is a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForegroundRequest {
    /// When it reaches the disk; never before its predecessor.
    pub at: Nanos,
    /// Its service time: `disk.service(size)`, a measured time, or a drawn one.
    pub service: Nanos,
}

/// The service time of a request as a function of its size: `positioning + per_mib * size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceModel {
    /// The fixed part: command, seek and rotation.
    pub positioning: Nanos,
    /// The time at the medium, per MiB (2^20 bytes).
    pub per_mib: Nanos,
}

impl ServiceModel {
    /// The disk of Amvrosiadis et al. (DSN'12), a Hitachi Ultrastar 15K450: SCSI VERIFY of b MiB takes
    /// 3.70 ms + 11.07 ms * b. A fit to the times in the authors' published artefact (64 KiB 4.61 ms, 1 MiB 14.75 ms,
    /// 4 MiB 47.54 ms, 16 MiB 181.2 ms), better than 5 % from 64 KiB to 16 MiB.
    pub const ULTRASTAR_15K450: ServiceModel =
        ServiceModel { positioning: Nanos(3_700_000), per_mib: Nanos(11_070_000) };

    /// The service time of one request, rounded down to the nanosecond; saturates if it does not fit.
    pub fn service(self, size: Bytes) -> Nanos {
        let transfer = (u128::from(self.per_mib.0) * u128::from(size.0)) >> 20;
        self.positioning.saturating_add(Nanos(u64::try_from(transfer).unwrap_or(u64::MAX)))
    }
}

impl Default for ServiceModel {
    fn default() -> ServiceModel {
        ServiceModel::ULTRASTAR_15K450
    }
}

/// When the server worked on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When it began: at the arrival, or at the end of the request queued before.
    pub started: Nanos,
    /// When it was done.
    pub finished: Nanos,
}

/// One first-come-first-served, non-preemptible server: a request at the disk cannot be recalled.
#[derive(Clone, Debug, Default)]
pub struct DiskServer {
    free: Nanos,
}

impl DiskServer {
    /// When all requests queued so far are done.
    pub fn free(&self) -> Nanos {
        self.free
    }

    /// Queues one request; requests are queued in the order of their arrival.
    pub fn serve(&mut self, arrival: Nanos, service: Nanos) -> Served {
        let started = arrival.max(self.free);
        self.free = started + service;
        Served { started, finished: self.free }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The authors' mean VERIFY times (their artefact, Ultrastar 15K450, cache off), in KiB and ms.
    #[test]
    fn the_default_disk_is_the_authors() {
        let measured = [
            (64, 4.61),
            (128, 5.33),
            (256, 6.72),
            (512, 9.29),
            (1024, 14.75),
            (2048, 25.74),
            (4096, 47.54),
            (8192, 91.5),
            (16384, 181.2),
        ];
        for (kib, millis) in measured {
            let modelled = ServiceModel::default().service(Bytes::kib(kib)).as_millis_f64();
            assert!((modelled / millis - 1.0).abs() < 0.05, "{kib} KiB: {modelled} ms, measured {millis} ms");
        }
    }

    #[test]
    fn requests_are_served_one_after_the_other() {
        let mut server = DiskServer::default();
        let served = [(0, 10), (3, 5), (40, 1)].map(|(at, service)| server.serve(Nanos(at), Nanos(service)));
        assert_eq!(served.map(|one| (one.started.0, one.finished.0)), [(0, 10), (10, 15), (40, 41)]);
    }
}
