//! Li & Lee 2014, Table III: twelve workloads, from its figures.
//!
//! The traces (Kavalanekar et al. 2008, production servers) are not needed for Figure 8: how many requests write, and how many
//! chunks each touches, follow from the table and from where requests begin. How often a chunk is read again does not follow.

use scrubjay_core::rng::Rng;
use scrubjay_core::units::Bytes;
use scrubjay_trace::RequestKind;

/// Requests begin at pages of this size, as in databases and mail stores.
const PAGE: Bytes = Bytes::kib(8);
/// The pages begin behind a partition table of 63 sectors, as partitions of that time did. (If partitions were aligned
/// to pages, Pure would take 58 % more on TPC-E, where the paper has 43.74 %.)
const PARTITION_START: Bytes = Bytes(63 * 512);
/// The size of the pages in use. It is so small that 200,000 requests read everything more than once; reads and writes
/// go to the same pages, evenly, so that more reads are first ones than in the paper.
const FOOTPRINT: Bytes = Bytes::mib(64);

const SECTOR_BYTES: f64 = 512.0;

/// One column of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// The paper's name for it.
    pub name: &'static str,
    /// Reads among the requests, in percent; the others are writes.
    pub reads_percent: f64,
    /// The mean size of a read, in KiB.
    pub read_kib: f64,
    /// The mean size of a write, in KiB.
    pub write_kib: f64,
}

/// The table, in its order: by the share of reads.
pub const WORKLOADS: [Workload; 12] = [
    workload("DAP-DS", 90.49, 31.50, 7.04),
    workload("TPC-E", 90.40, 8.00, 9.26),
    workload("LM-TBE", 79.46, 53.28, 63.47),
    workload("MSN-BEFS", 76.58, 9.88, 10.45),
    workload("MSN-CFS", 73.96, 7.55, 13.63),
    workload("DTRS", 65.42, 21.60, 34.57),
    workload("TPC-C", 62.44, 8.00, 8.62),
    workload("DAP-PS", 56.19, 62.13, 97.13),
    workload("Exch", 52.58, 10.04, 12.59),
    workload("WBS", 50.71, 26.09, 29.78),
    workload("RAD-BE", 18.49, 152.28, 8.54),
    workload("RAD-AS", 10.43, 10.29, 8.24),
];

const fn workload(name: &'static str, reads_percent: f64, read_kib: f64, write_kib: f64) -> Workload {
    Workload { name, reads_percent, read_kib, write_kib }
}

/// One request of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRequest {
    /// Read or write.
    pub kind: RequestKind,
    /// The offset of the first byte.
    pub offset: Bytes,
    /// The length in bytes: whole sectors.
    pub length: Bytes,
}

impl Workload {
    /// An endless stream of requests. All reads have their mean size, and all writes theirs, except for rounding to
    /// sectors: up or down at random, so that the mean stays.
    pub fn requests(&self, seed: u64) -> impl Iterator<Item = TableRequest> + use<> {
        let mut rng = Rng::new(seed);
        let workload = *self;
        std::iter::repeat_with(move || {
            let is_read = rng.uniform() * 100.0 < workload.reads_percent;
            let (kind, kib) =
                if is_read { (RequestKind::Read, workload.read_kib) } else { (RequestKind::Write, workload.write_kib) };
            let sectors = (kib * 1024.0 / SECTOR_BYTES + rng.uniform()).floor();
            let offset = PARTITION_START.0 + rng.below(FOOTPRINT.0 / PAGE.0) * PAGE.0;
            TableRequest { kind, offset: Bytes(offset), length: Bytes((sectors * SECTOR_BYTES) as u64) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_have_the_tables_means() {
        for workload in WORKLOADS {
            let requests: Vec<_> = workload.requests(7).take(100_000).collect();
            let of_kind = |kind| requests.iter().filter(move |request| request.kind == kind);
            let share = of_kind(RequestKind::Read).count() as f64 / requests.len() as f64 * 100.0;
            assert!((share - workload.reads_percent).abs() < 0.6, "{}: {share} % reads", workload.name);
            for (kind, kib) in [(RequestKind::Read, workload.read_kib), (RequestKind::Write, workload.write_kib)] {
                let bytes: u64 = of_kind(kind).map(|request| request.length.0).sum();
                let mean = bytes as f64 / of_kind(kind).count() as f64 / 1024.0;
                assert!((mean - kib).abs() < 0.02, "{}: {mean} KiB, not {kib}", workload.name);
            }
            let inside = PARTITION_START.0..PARTITION_START.0 + FOOTPRINT.0;
            assert!(requests.iter().all(|request| inside.contains(&request.offset.0) && request.length.0 % 512 == 0));
            assert!(workload.requests(7).take(100_000).eq(requests));
        }
    }

    #[test]
    fn the_table_is_in_its_order() {
        assert!(WORKLOADS.is_sorted_by(|first, second| first.reads_percent > second.reads_percent));
    }
}
