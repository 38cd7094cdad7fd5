//! The cases of Figure 8: twelve workloads with three chunk sizes, on RAID-6 of eight disks.

use scrubjay_core::layout::Shape;
use scrubjay_core::units::Bytes;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::plan::chooser;
use scrubjay_sim::integrity::table3::Workload;
use scrubjay_sim::integrity::{Accounting, Counter};

/// The array of the figure.
pub const RAID6: Shape = Shape { data: 6, parity: 2 };

/// The chunk sizes of the figure.
pub const CHUNKS: [Bytes; 3] = [Bytes::kib(2), Bytes::kib(4), Bytes::kib(8)];

/// One case, counted.
#[derive(Clone, Debug, PartialEq)]
pub struct IntegrityCase {
    /// The workload.
    pub workload: Workload,
    /// The chunk size.
    pub chunk: Bytes,
    /// The increase in disk I/Os over a bare array, as a share, in the order of [`Scheme::ALL`].
    pub increases: [f64; Scheme::ALL.len()],
    /// The share of reads, under Hybrid-2, of chunks not read since they were written.
    pub first_reads: f64,
    /// The hybrid that the paper's rule chooses.
    pub by_rule: Scheme,
    /// The hybrid that the histogram of chunks touched chooses.
    pub by_histogram: Scheme,
}

impl IntegrityCase {
    /// Counts the I/Os of `requests` requests of a workload, by the paper's accounting.
    pub fn count(workload: Workload, chunk: Bytes, requests: usize, seed: u64) -> IntegrityCase {
        let mut counter = Counter::new(RAID6, chunk, Accounting::Paper);
        for request in workload.requests(seed).take(requests) {
            counter.add(request.kind, request.offset, request.length);
        }
        let tally = counter.tally(Scheme::Hybrid2);
        IntegrityCase {
            workload,
            chunk,
            increases: Scheme::ALL.map(|scheme| counter.increase(scheme)),
            first_reads: tally.first_reads as f64 / tally.reads.max(1) as f64,
            by_rule: chooser::by_mean_size(RAID6, chunk.0, workload.write_kib * 1024.0),
            by_histogram: counter.histogram().best(&[Scheme::Hybrid1, Scheme::Hybrid2]),
        }
    }

    /// The increase in disk I/Os of this scheme over a bare array, as a share.
    pub fn increase(&self, scheme: Scheme) -> f64 {
        let place = Scheme::ALL.into_iter().position(|other| other == scheme).expect("the table is complete");
        self.increases[place]
    }

    /// The hybrid with fewer I/Os; Hybrid-1 if they are equal.
    pub fn by_count(&self) -> Scheme {
        match self.increase(Scheme::Hybrid2) < self.increase(Scheme::Hybrid1) {
            true => Scheme::Hybrid2,
            false => Scheme::Hybrid1,
        }
    }

    /// The difference between the hybrids, as a share of the bare array's I/Os.
    pub fn difference(&self) -> f64 {
        (self.increase(Scheme::Hybrid1) - self.increase(Scheme::Hybrid2)).abs()
    }
}
