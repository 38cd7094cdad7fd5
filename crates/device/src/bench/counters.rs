//! The kernel's counters of a disk, which show the traffic of others, and whether the disk itself served the requests.

use crate::sysfs::DiskNode;
use scrubjay_core::bench::step_result::ForeignTraffic;

/// Counts since the disk appeared: `/sys/block/X/stat` (Documentation/block/stat.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DiskCounts {
    read_requests: u64,
    read_sectors: u64,
    write_requests: u64,
    write_sectors: u64,
}

/// Traffic during a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StepCounts {
    /// Traffic of others.
    pub others: ForeignTraffic,
    /// Sectors in the direction of the benchmark, others' included.
    pub served_sectors: u64,
}

impl DiskCounts {
    /// The current counts; `None` where the kernel does not count (`queue/iostats`) or there is no disk.
    pub fn of(disk: &DiskNode) -> Option<DiskCounts> {
        if disk.number("queue/iostats") == Some(0) {
            return None;
        }
        DiskCounts::parse(&disk.attribute("stat")?)
    }

    fn parse(text: &str) -> Option<DiskCounts> {
        let numbers: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let [read_requests, _, read_sectors, _, write_requests, _, write_sectors, ..] = numbers[..] else {
            return None;
        };
        Some(DiskCounts { read_requests, read_sectors, write_requests, write_sectors })
    }

    /// The traffic since `before`, of which this many requests and bytes were the benchmark's. Requests that the kernel splits
    /// (`is_cut`) are not counted, because the pieces cannot be told from those of others.
    pub fn since(self, before: DiskCounts, requests: u64, bytes: u64, is_write: bool, is_cut: bool) -> StepCounts {
        let difference = |now: u64, then: u64| now.saturating_sub(then);
        let read = difference(self.read_sectors, before.read_sectors);
        let written = difference(self.write_sectors, before.write_sectors);
        let all = difference(self.read_requests, before.read_requests)
            + difference(self.write_requests, before.write_requests);
        let others = ForeignTraffic {
            requests: if is_cut { 0 } else { all.saturating_sub(requests) },
            sectors: (read + written).saturating_sub(bytes / 512),
        };
        StepCounts { others, served_sectors: if is_write { written } else { read } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "  100  5  8000  77  50  0  400  9  0  80  86  0 0 0 0 0 0";

    #[test]
    fn traffic_beyond_the_benchmarks_own_is_counted_as_that_of_others() {
        let before = DiskCounts::parse(BEFORE).unwrap();
        let after = DiskCounts::parse("160 5 8480 77 53 0 424 9 0 80 86").unwrap();
        let counts = after.since(before, 60, 60 * 4096, false, false);
        assert_eq!(counts.others, ForeignTraffic { requests: 3, sectors: 24 }, "three writes");
        assert_eq!(counts.served_sectors, 480);
        let counts = after.since(before, 1, 480 * 512, false, true);
        assert_eq!(counts.others, ForeignTraffic { requests: 0, sectors: 24 }, "ours was cut to pieces");
        assert_eq!(before.since(after, 1, 4096, true, false), StepCounts::default(), "counts that began anew");
        assert_eq!(DiskCounts::parse("1 2 3"), None);
    }
}
