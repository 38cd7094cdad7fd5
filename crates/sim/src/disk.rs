//! One modelled disk: a service time that grows with the size, one server, latent errors.

use scrubjay_core::units::{Bytes, Nanos, SectorRange};
use scrubjay_core::verdict::{Cause, Outcome};

/// Linux: input/output error, what a read of a bad sector says.
const EIO: i32 = 5;

/// How long the disk works on one request: `positioning + per_mib * size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceModel {
    /// The fixed part: command, seek and rotation.
    pub positioning: Nanos,
    /// The medium's share, for each MiB (2^20 bytes).
    pub per_mib: Nanos,
}

impl ServiceModel {
    /// The disk of Amvrosiadis et al. (DSN'12), a Hitachi Ultrastar 15K450: SCSI VERIFY of b MiB takes
    /// 3.70 ms + 11.07 ms * b. A fit to the times in the authors' published artefact (64 KiB 4.61 ms, 1 MiB 14.75 ms,
    /// 4 MiB 47.54 ms, 16 MiB 181.2 ms), better than 5 % from 64 KiB to 16 MiB.
    pub const ULTRASTAR_15K450: ServiceModel =
        ServiceModel { positioning: Nanos(3_700_000), per_mib: Nanos(11_070_000) };

    /// The service time of one request, rounded down to the nanosecond.
    pub fn service(self, size: Bytes) -> Nanos {
        let transfer = (u128::from(self.per_mib.0) * u128::from(size.0)) >> 20;
        self.positioning + Nanos(u64::try_from(transfer).expect("a transfer ends some day"))
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
    /// When it began: the arrival, or the end of what was queued before.
    pub started: Nanos,
    /// When it was done.
    pub finished: Nanos,
}

/// One first-come-first-served, non-preemptible server: a request at the disk cannot be recalled.
#[derive(Clone, Debug, Default)]
pub struct Server {
    free: Nanos,
}

impl Server {
    /// When all that was queued so far is done.
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

/// A disk of so many sectors, with latent errors that a verification finds and nothing heals.
#[derive(Clone, Debug)]
pub struct Disk {
    sectors: u64,
    model: ServiceModel,
    /// Ascending, disjoint, not empty.
    errors: Vec<SectorRange>,
    server: Server,
}

impl Disk {
    /// A flawless disk.
    ///
    /// # Panics
    /// When it has no sectors.
    pub fn new(sectors: u64, model: ServiceModel) -> Disk {
        assert!(sectors > 0, "a disk holds something");
        Disk { sectors, model, errors: Vec::new(), server: Server::default() }
    }

    /// The same disk with these latent errors, in any order, overlapping or not. Empty ranges are no errors.
    ///
    /// # Panics
    /// When one lies beyond the end of the disk.
    pub fn with_errors(mut self, errors: impl IntoIterator<Item = SectorRange>) -> Disk {
        let mut errors: Vec<_> = errors.into_iter().filter(|range| !range.is_empty()).collect();
        errors.sort_unstable();
        self.errors.clear();
        for range in errors {
            assert!(range.end.0 <= self.sectors, "error {range} beyond the disk's {} sectors", self.sectors);
            match self.errors.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => self.errors.push(range),
            }
        }
        self
    }

    /// Its size in sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// How long it works on a request of that size.
    pub fn service(&self, size: Bytes) -> Nanos {
        self.model.service(size)
    }

    /// Its latent errors: ascending, disjoint, not empty.
    pub fn errors(&self) -> &[SectorRange] {
        &self.errors
    }

    /// The queue at the disk.
    pub fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    /// What a verification of `range` finds. The drive names no place: any error in it makes all of it unreadable.
    ///
    /// # Panics
    /// When `range` is empty or beyond the end of the disk: a pump's machine must not ask that.
    pub fn verify(&self, range: SectorRange) -> Outcome {
        assert!(!range.is_empty() && range.end.0 <= self.sectors, "verify {range} of {} sectors", self.sectors);
        let next = self.errors.partition_point(|error| error.end <= range.start);
        match self.errors.get(next) {
            Some(error) if error.start < range.end => Outcome::Unreadable(Cause::Errno(EIO)),
            _ => Outcome::Clean,
        }
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
        let mut server = Server::default();
        let served = [(0, 10), (3, 5), (40, 1)].map(|(at, service)| server.serve(Nanos(at), Nanos(service)));
        assert_eq!(served.map(|one| (one.started.0, one.finished.0)), [(0, 10), (10, 15), (40, 41)]);
    }

    /// Every range of a small disk against a flat array of sectors.
    #[test]
    fn a_verify_finds_an_error_exactly_when_it_touches_one() {
        let planted = [(20, 4), (3, 1), (4, 2), (21, 5), (39, 1), (7, 0)];
        let disk = Disk::new(40, ServiceModel::default()).with_errors(planted.map(|(at, n)| SectorRange::at(at, n)));
        assert_eq!(disk.errors(), [SectorRange::new(3, 6), SectorRange::new(20, 26), SectorRange::new(39, 40)]);
        let bad = |sector: u64| planted.iter().any(|&(at, n)| at <= sector && sector < at + n);
        for start in 0..40 {
            for end in start + 1..=40 {
                let found = disk.verify(SectorRange::new(start, end)) != Outcome::Clean;
                assert_eq!(found, (start..end).any(bad), "{start}..{end}");
            }
        }
    }
}
