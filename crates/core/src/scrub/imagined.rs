//! An imagined disk: how long a request would take that is never sent. For a watch that only observes.

use crate::scrub::disk_server::{DiskServer, Served, ServiceModel};
use crate::units::{Nanos, Sector, SectorRange};

/// A request that begins this long after the last one has ended does not continue it: the heads were elsewhere meanwhile.
const FOLLOWS_WITHIN: Nanos = Nanos::from_millis(2);

/// One request at a time, by a model: a usual disk that rotates, or usual flash.
#[derive(Clone, Debug)]
pub struct ImaginedDisk {
    /// A request that continues where the last one ended.
    following: ServiceModel,
    /// Any other.
    elsewhere: ServiceModel,
    server: DiskServer,
    ends_at: Sector,
}

impl ImaginedDisk {
    /// A disk of 150 MB/s and 8 ms, or flash of 500 MB/s and 0.1 ms.
    pub fn new(is_rotational: bool) -> ImaginedDisk {
        const COMMAND: Nanos = Nanos(200_000);
        let model = |positioning, per_mib| ServiceModel { positioning, per_mib };
        let (elsewhere, following) = match is_rotational {
            true => (model(Nanos::from_millis(8), Nanos(6_990_000)), model(COMMAND, Nanos(6_990_000))),
            false => (model(Nanos(100_000), Nanos(2_097_000)), model(Nanos(100_000), Nanos(2_097_000))),
        };
        ImaginedDisk { following, elsewhere, server: DiskServer::default(), ends_at: Sector(0) }
    }

    /// When it would have begun and ended this request.
    pub fn serve(&mut self, now: Nanos, range: SectorRange) -> Served {
        let is_following = range.start == self.ends_at && now <= self.server.free().saturating_add(FOLLOWS_WITHIN);
        let model = if is_following { self.following } else { self.elsewhere };
        self.ends_at = range.end;
        self.server.serve(now, model.service(range.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_is_faster_unless_it_comes_late() {
        let mut disk = ImaginedDisk::new(true);
        let mib = |index: u64| SectorRange::at(index * 2048, 2048);
        let first = disk.serve(Nanos::from_millis(100), mib(1));
        assert_eq!(first.finished - first.started, Nanos(14_990_000));
        let second = disk.serve(first.finished, mib(2));
        assert_eq!(second.finished - first.finished, Nanos(7_190_000));
        let late = disk.serve(second.finished + Nanos::from_millis(3), mib(3));
        assert_eq!(late.finished - late.started, Nanos(14_990_000));
        let elsewhere = disk.serve(late.finished, mib(9));
        assert_eq!(elsewhere.finished - elsewhere.started, Nanos(14_990_000));
    }
}
