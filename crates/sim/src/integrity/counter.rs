//! The counter: turns users' requests into disk I/Os, under all schemes at once.

use super::cost::{Costs, PlanCost};
use scrubjay_core::layout::Shape;
use scrubjay_core::units::{Bytes, VolumeOffset};
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::plan::chooser::AccessHistogram;
use scrubjay_core::volume::plan::{PlanMode, StripePart, split};
use scrubjay_core::volume::request::read_status::ReadStatus;
use scrubjay_trace::RequestKind;

/// The size of the array: 1 PiB. Requests beyond it are left out.
const ARRAY_BYTES: u64 = 1 << 50;

/// Zones of a read-status bitmap that are in memory: 256 MiB, one bit for each 4-KiB chunk of 8 TB (Li & Lee 2014, section V-C).
const ZONES_MAX: usize = 1 << 16;

/// How chunks are treated of which a write covers only a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// As in the paper: they are written as if they were covered whole.
    Paper,
    /// They are read before a reconstruct-write.
    Strict,
}

/// Counts the disk I/Os of one array. All bits of its read-status bitmaps are unset at first.
#[derive(Debug)]
pub struct Counter {
    shape: Shape,
    chunk_bytes: u64,
    accounting: Accounting,
    lanes: [SchemeCounter; Scheme::ALL.len()],
    requests: RequestCounts,
    histogram: AccessHistogram,
}

/// Counts of users' requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Reads of at least one byte.
    pub reads: u64,
    /// Bytes of these reads.
    pub read_bytes: u64,
    /// Writes of at least one byte.
    pub writes: u64,
    /// Bytes of these writes.
    pub write_bytes: u64,
    /// Requests left out: discards, flushes, requests of zero bytes, and those beyond 1 PiB.
    pub left_out: u64,
}

/// Counts of disk I/Os under one scheme. A request counts once for each stripe it touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoTally {
    /// I/Os for reads.
    pub read_ios: u64,
    /// I/Os for writes.
    pub write_ios: u64,
    /// Of all these I/Os, those of appendices alone.
    pub appendix_ios: u64,
    /// Reads.
    pub reads: u64,
    /// Reads that touched a chunk not read since it was written. (Zero for schemes without a read-status bitmap.)
    pub first_reads: u64,
    /// Writes as read-modify-write.
    pub modifies: u64,
    /// Writes as reconstruct-write.
    pub reconstructs: u64,
    /// Writes of full stripes.
    pub full_stripes: u64,
}

/// One scheme: it chooses its own ways of writing, so it has its own bitmap.
#[derive(Debug)]
struct SchemeCounter {
    costs: Costs,
    /// Its read-status bitmap; `None`: the scheme needs none.
    status: Option<ReadStatus>,
    tally: IoTally,
}

/// The part of a request in one stripe, as a run of data chunks.
#[derive(Clone, Copy)]
struct ChunkRun {
    /// Data chunks, counted over the whole array: the first of the stripe, of the run, after the run, of the next stripe.
    stripe: u64,
    start: u64,
    end: u64,
    stripe_end: u64,
    /// Are the run's first and last chunks touched in part?
    is_partial: [bool; 2],
}

impl Counter {
    /// A counter for an array of stripes of this shape.
    ///
    /// # Panics
    /// When a chunk has no bytes.
    pub fn new(shape: Shape, chunk: Bytes, accounting: Accounting) -> Counter {
        assert!(chunk.0 > 0, "a chunk has bytes");
        let stripes = ARRAY_BYTES / chunk.0 / shape.data as u64 + 1;
        let lane = |scheme| SchemeCounter {
            costs: Costs::new(scheme, shape),
            status: needs_read_status(scheme).then(|| ReadStatus::new(stripes * shape.data as u64, ZONES_MAX)),
            tally: IoTally::default(),
        };
        let (lanes, histogram) = (Scheme::ALL.map(lane), AccessHistogram::new(shape));
        Counter { shape, chunk_bytes: chunk.0, accounting, lanes, requests: RequestCounts::default(), histogram }
    }

    /// Counts one request of a user.
    pub fn add(&mut self, kind: RequestKind, offset: Bytes, length: Bytes) {
        let is_write = kind == RequestKind::Write;
        let is_inside = offset.0.checked_add(length.0).is_some_and(|end| end <= ARRAY_BYTES);
        if !matches!(kind, RequestKind::Read | RequestKind::Write) || length.0 == 0 || !is_inside {
            self.requests.left_out += 1;
            return;
        }
        let requests = &mut self.requests;
        let (count, bytes) = match is_write {
            true => (&mut requests.writes, &mut requests.write_bytes),
            false => (&mut requests.reads, &mut requests.read_bytes),
        };
        (*count, *bytes) = (*count + 1, *bytes + length.0);
        for part in split(self.shape, self.chunk_bytes, VolumeOffset(offset.0), length.0) {
            let run = ChunkRun::new(self.shape, part, self.accounting);
            for (scheme, lane) in Scheme::ALL.into_iter().zip(&mut self.lanes) {
                let is_first = if is_write { lane.write(run) } else { lane.read(run) };
                if scheme == Scheme::Hybrid2 {
                    self.histogram.add(is_write, run.length(), is_first);
                }
            }
        }
    }

    /// The counts of users' requests.
    pub fn requests(&self) -> &RequestCounts {
        &self.requests
    }

    /// The disk I/Os under a scheme.
    pub fn tally(&self, scheme: Scheme) -> &IoTally {
        let place = Scheme::ALL.into_iter().position(|other| other == scheme).expect("the table is complete");
        &self.lanes[place].tally
    }

    /// The extra I/Os of a scheme, as a share of the bare array's; zero if that had none.
    pub fn increase(&self, scheme: Scheme) -> f64 {
        match self.tally(Scheme::None).ios() {
            0 => 0.0,
            bare => self.tally(scheme).ios() as f64 / bare as f64 - 1.0,
        }
    }

    /// A histogram of the chunks of a stripe that were read and written together.
    pub fn histogram(&self) -> &AccessHistogram {
        &self.histogram
    }
}

impl RequestCounts {
    /// The mean size of a write in bytes; `None`: there was no write.
    pub fn write_bytes_mean(&self) -> Option<f64> {
        (self.writes > 0).then(|| self.write_bytes as f64 / self.writes as f64)
    }
}

impl IoTally {
    /// All disk I/Os.
    pub fn ios(&self) -> u64 {
        self.read_ios + self.write_ios
    }
}

impl SchemeCounter {
    /// Counts a read. Was one of its chunks not read since it was written?
    fn read(&mut self, run: ChunkRun) -> bool {
        let is_first = self.status.as_ref().is_some_and(|status| !status.are_read(run.start, run.end - run.start));
        let cost = self.costs.read(run.length(), is_first);
        self.tally.read_ios += u64::from(cost.ios);
        self.tally.appendix_ios += u64::from(cost.appendix_ios);
        self.tally.reads += 1;
        self.tally.first_reads += u64::from(is_first);
        if let Some(status) = self.status.as_mut().filter(|_| is_first) {
            status.set_run(run.start, run.end - run.start);
        }
        is_first
    }

    /// Counts a write. Was a chunk that stays not read since it was written?
    fn write(&mut self, run: ChunkRun) -> bool {
        let is_first =
            self.status.as_ref().is_some_and(|status| !run.all_kept(|start, count| status.are_read(start, count)));
        let cost = self.costs.write(run.length(), run.partial(), is_first);
        self.tally.write_ios += u64::from(cost.ios);
        self.tally.appendix_ios += u64::from(cost.appendix_ios);
        *self.tally.writes(cost) += 1;
        if let Some(status) = &mut self.status {
            if cost.mode == PlanMode::ReconstructWrite && is_first {
                status.set_run(run.stripe, run.start - run.stripe);
                status.set_run(run.end, run.stripe_end - run.end);
            }
            status.clear_run(run.start, run.end - run.start);
        }
        is_first
    }
}

impl IoTally {
    fn writes(&mut self, cost: PlanCost) -> &mut u64 {
        match cost.mode {
            PlanMode::ReadModifyWrite => &mut self.modifies,
            PlanMode::FullStripe => &mut self.full_stripes,
            PlanMode::ReconstructWrite => &mut self.reconstructs,
            PlanMode::Read | PlanMode::Reconstruct => unreachable!("a write writes"),
        }
    }
}

impl ChunkRun {
    fn new(shape: Shape, part: StripePart, accounting: Accounting) -> ChunkRun {
        let stripe = part.stripe.get() * shape.data as u64;
        let (start, end) = (stripe + part.start.get() as u64, stripe + part.end.get() as u64);
        let is_partial = match accounting {
            Accounting::Paper => [false; 2],
            Accounting::Strict => [part.is_head_partial, part.is_tail_partial],
        };
        ChunkRun { stripe, start, end, stripe_end: stripe + shape.data as u64, is_partial }
    }

    fn length(self) -> usize {
        (self.end - self.start) as usize
    }

    /// The number of chunks that are touched in part.
    fn partial(self) -> usize {
        let count = self.is_partial.into_iter().filter(|is_partial| *is_partial).count();
        count.min(self.length())
    }

    /// Does `holds` (of a first chunk and a count) hold for all chunks that a reconstruct-write reads?
    fn all_kept(self, holds: impl Fn(u64, u64) -> bool) -> bool {
        let [head, tail] = self.is_partial;
        holds(self.stripe, self.start - self.stripe)
            && holds(self.end, self.stripe_end - self.end)
            && (!head || holds(self.start, 1))
            && (!tail || holds(self.end - 1, 1))
    }
}

/// Does the scheme need to know whether a chunk was read since it was written?
fn needs_read_status(scheme: Scheme) -> bool {
    scheme.checks_itself()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::position_set::PositionSet;
    use scrubjay_core::rng::Rng;
    use scrubjay_core::volume::plan::{StripeState, Want, plan};

    const RAID6: Shape = Shape { data: 6, parity: 2 };

    /// A slow reference without tables and runs: a plan for each part, a set of positions for each stripe.
    struct ReferenceCounter {
        scheme: Scheme,
        stripes: Vec<PositionSet>,
        ios: u64,
    }

    impl ReferenceCounter {
        fn add(&mut self, is_write: bool, part: StripePart, accounting: Accounting) {
            let (stripe, touched, partial) = (part.stripe, part.touched(), part.partial());
            let is_read = &mut self.stripes[stripe.get() as usize];
            let partial = if accounting == Accounting::Strict { partial } else { PositionSet::NONE };
            let want = if is_write { Want::Write { touched, partial } } else { Want::Read(touched) };
            let state =
                StripeState { is_read: *is_read, missing: PositionSet::NONE, list_rotation: stripe.get() as usize };
            let plan = plan(self.scheme, RAID6, want, state).unwrap();
            self.ios += plan.ios() as u64;
            *is_read = match plan.mode {
                PlanMode::Read => *is_read | touched,
                PlanMode::ReconstructWrite => (*is_read | plan.read_chunks) - touched,
                _ => *is_read - touched,
            };
        }
    }

    #[test]
    fn the_counter_counts_the_ios_of_the_plans() {
        for accounting in [Accounting::Paper, Accounting::Strict] {
            let mut counter = Counter::new(RAID6, Bytes::kib(4), accounting);
            let mut references =
                Scheme::ALL.map(|scheme| ReferenceCounter { scheme, stripes: vec![PositionSet::NONE; 60], ios: 0 });
            let mut rng = Rng::new(1);
            for _ in 0..20_000 {
                let (is_write, offset) = (rng.below(2) == 0, rng.below(50 * 6 * 8) * 512);
                let length = [512, 4096, 3 * 4096, rng.below(60_000) + 1][rng.below(4) as usize];
                counter.add(
                    if is_write { RequestKind::Write } else { RequestKind::Read },
                    Bytes(offset),
                    Bytes(length),
                );
                for part in split(RAID6, 4096, VolumeOffset(offset), length) {
                    references.iter_mut().for_each(|reference| reference.add(is_write, part, accounting));
                }
            }
            for reference in &references {
                assert_eq!(counter.tally(reference.scheme).ios(), reference.ios, "{} {accounting:?}", reference.scheme);
            }
            if accounting == Accounting::Paper {
                // These schemes' costs depend on nothing that the histogram leaves out, so it must be exact.
                for scheme in [Scheme::None, Scheme::Pure, Scheme::Hybrid2] {
                    assert_eq!(counter.histogram().ios(scheme), counter.tally(scheme).ios(), "{scheme}");
                }
            }
        }
    }

    #[test]
    fn a_chunk_is_new_until_it_is_read_and_after_it_is_written() {
        let mut counter = Counter::new(RAID6, Bytes::kib(4), Accounting::Paper);
        let mut ios_of = |kind, chunk: u64| {
            let ios = counter.tally(Scheme::Stamp).ios();
            counter.add(kind, Bytes(chunk * 4096), Bytes(4096));
            counter.tally(Scheme::Stamp).ios() - ios
        };
        let reads: [u64; 4] = [2, 1, 2, 1].map(|_| ios_of(RequestKind::Read, 7));
        assert_eq!(reads, [2, 1, 1, 1]);
        assert_eq!(
            [ios_of(RequestKind::Write, 7), ios_of(RequestKind::Read, 7), ios_of(RequestKind::Read, 7)],
            [6, 2, 1]
        );
        assert_eq!(ios_of(RequestKind::Read, 8), 2, "its neighbour is new");
        assert_eq!(counter.tally(Scheme::Stamp).first_reads, 3);
        assert_eq!(counter.tally(Scheme::None).first_reads, 0, "nobody asks");
    }

    #[test]
    fn requests_that_are_left_out_are_counted() {
        let mut counter = Counter::new(RAID6, Bytes::kib(4), Accounting::Paper);
        let requests = [
            (RequestKind::Discard, 0, 4096),
            (RequestKind::Flush, 0, 0),
            (RequestKind::Read, 0, 0),
            (RequestKind::Write, ARRAY_BYTES - 1, 2),
            (RequestKind::Read, u64::MAX, 2),
            (RequestKind::Write, ARRAY_BYTES - 1, 1),
        ];
        for (kind, offset, length) in requests {
            counter.add(kind, Bytes(offset), Bytes(length));
        }
        let requests = *counter.requests();
        assert_eq!((requests.left_out, requests.writes, requests.write_bytes_mean()), (5, 1, Some(1.0)));
        assert_eq!(counter.tally(Scheme::None).ios(), 6);
        assert_eq!(Counter::new(RAID6, Bytes(512), Accounting::Strict).increase(Scheme::Pure), 0.0);
    }
}
