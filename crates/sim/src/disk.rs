//! One modelled disk: a server with a queue, and latent errors.

use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::disk_server::{DiskServer, ServiceModel};
use scrubjay_core::scrub::verdict::{Cause, VerifyOutcome};
use scrubjay_core::units::{Bytes, Nanos, SectorRange};

/// Linux' error number for a failed read of a bad sector (input/output error).
const EIO: i32 = 5;

/// A disk with latent errors that a verification finds and nothing heals.
#[derive(Clone, Debug)]
pub struct SimulatedDisk {
    sectors: u64,
    model: ServiceModel,
    /// Ascending, disjoint, not empty.
    errors: Vec<SectorRange>,
    server: DiskServer,
    unsteady: Option<(Unsteady, Rng)>,
    /// From when, until when, and how much longer each scrub request takes.
    busy: Option<([Nanos; 2], Nanos)>,
}

/// How the service times of scrub requests differ from the model's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unsteady {
    /// Added to each request that does not begin where the scrub's previous request ended, or follows a foreground request.
    pub seek: Nanos,
    /// Each service time is longer or shorter by a random factor up to this, 1 or more.
    pub scatter: f64,
    /// Share of requests (0 to 1) with a stray long time, and the time added to them: a retry of the drive, or a
    /// thermal recalibration.
    pub tail: (f64, Nanos),
    /// All service times grow by a factor up to this (1 or more) and shrink again; the time is half of such a period.
    pub drift: (f64, Nanos),
}

impl Unsteady {
    fn service(&self, now: Nanos, service: Nanos, must_seek: bool, rng: &mut Rng) -> Nanos {
        let service = service + if must_seek { self.seek } else { Nanos::ZERO };
        let scatter = self.scatter.powf(2.0 * rng.uniform() - 1.0);
        let phase = now.as_secs_f64() / self.drift.1.as_secs_f64().max(1e-9) % 2.0;
        let drift = self.drift.0.powf(1.0 - (phase - 1.0).abs());
        let tail = if rng.uniform() < self.tail.0 { self.tail.1 } else { Nanos::ZERO };
        Nanos::from_secs_f64(service.as_secs_f64() * scatter * drift) + tail
    }
}

impl SimulatedDisk {
    /// A steady disk without errors.
    ///
    /// # Panics
    /// When it has no sectors.
    pub fn new(sectors: u64, model: ServiceModel) -> SimulatedDisk {
        assert!(sectors > 0, "a disk holds something");
        SimulatedDisk { sectors, model, errors: Vec::new(), server: DiskServer::default(), unsteady: None, busy: None }
    }

    /// The same disk with these latent errors, in any order, overlapping or not. Empty ranges are no errors.
    ///
    /// # Panics
    /// When one lies beyond the end of the disk.
    pub fn with_errors(mut self, errors: impl IntoIterator<Item = SectorRange>) -> SimulatedDisk {
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

    /// The same disk with unsteady service times.
    pub fn unsteady(self, unsteady: Unsteady, rng: Rng) -> SimulatedDisk {
        SimulatedDisk { unsteady: Some((unsteady, rng)), ..self }
    }

    /// The same disk while something else than the foreground keeps it or the machine busy, from one time until another: each scrub
    /// request then takes `longer`.
    pub fn busy(self, times: [Nanos; 2], longer: Nanos) -> SimulatedDisk {
        SimulatedDisk { busy: Some((times, longer)), ..self }
    }

    /// Its size in sectors.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// The service time of a request of this size by its model.
    pub fn service(&self, size: Bytes) -> Nanos {
        self.model.service(size)
    }

    /// The service time of a scrub request that begins now; `must_seek`: the head must seek first.
    pub fn work(&mut self, now: Nanos, size: Bytes, must_seek: bool) -> Nanos {
        let busy = self.busy.filter(|([from, until], _)| (*from..*until).contains(&now));
        let service = self.service(size) + busy.map_or(Nanos::ZERO, |(_, longer)| longer);
        self.unsteady.as_mut().map_or(service, |(unsteady, rng)| unsteady.service(now, service, must_seek, rng))
    }

    /// Its latent errors: ascending, disjoint, not empty.
    pub fn errors(&self) -> &[SectorRange] {
        &self.errors
    }

    /// The queue at the disk.
    pub fn server(&mut self) -> &mut DiskServer {
        &mut self.server
    }

    /// The outcome of a verification of `range`. The drive names no place: any error in it makes all of it unreadable.
    ///
    /// # Panics
    /// When `range` is empty or beyond the end of the disk, which no machine may ask for.
    pub fn verify(&self, range: SectorRange) -> VerifyOutcome {
        assert!(!range.is_empty() && range.end.0 <= self.sectors, "verify {range} of {} sectors", self.sectors);
        let next = self.errors.partition_point(|error| error.end <= range.start);
        match self.errors.get(next) {
            Some(error) if error.start < range.end => VerifyOutcome::Unreadable(Cause::Errno(EIO)),
            _ => VerifyOutcome::Clean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares every range of a small disk with a flat array of sectors.
    #[test]
    fn a_verify_finds_an_error_exactly_when_it_touches_one() {
        let planted = [(20, 4), (3, 1), (4, 2), (21, 5), (39, 1), (7, 0)];
        let disk =
            SimulatedDisk::new(40, ServiceModel::default()).with_errors(planted.map(|(at, n)| SectorRange::at(at, n)));
        assert_eq!(disk.errors(), [SectorRange::new(3, 6), SectorRange::new(20, 26), SectorRange::new(39, 40)]);
        let bad = |sector: u64| planted.iter().any(|&(at, n)| at <= sector && sector < at + n);
        for start in 0..40 {
            for end in start + 1..=40 {
                let found = disk.verify(SectorRange::new(start, end)) != VerifyOutcome::Clean;
                assert_eq!(found, (start..end).any(bad), "{start}..{end}");
            }
        }
    }
}
