//! A client of the volume: sends random requests, and checks every reply against the oracle.

use crate::oracle::{DeviceOracle, WriteContent};
use crate::pattern::{self, WriteId};
use crate::trace::StormLog;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::rng::Rng;
use scrubjay_core::units::{Nanos, VolumeOffset};
use scrubjay_core::volume::block::{BlockFailure, BlockReply, BlockRequest, ReadPart, RequestId};
use scrubjay_core::volume::member::ArrayMachine;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// How a client behaves; shares are percentages (0 to 100) unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// Requests in all, at least 1.
    pub requests: u64,
    /// Requests under way at once, at least 1.
    pub depth: usize,
    /// Share of reads. What all shares leave is writes, except one request in 100, which asks for allocation.
    pub reads: u64,
    /// Share of flushes among the requests.
    pub flushes: u64,
    /// Share of trims among the requests.
    pub trims: u64,
    /// Share of zeroings among the requests.
    pub zeroings: u64,
    /// Share of writes and zeroings that must be durable.
    pub durable: u64,
    /// Share of requests that fall on a few hot places.
    pub hot: u64,
    /// Share of requests whose ends need not be multiples of a sector.
    pub odd: u64,
    /// The mean of the pauses between requests, where a request is not sent at once.
    pub pause: Nanos,
    /// The size of a chunk in bytes: sizes and places are drawn with it in mind.
    pub chunk_bytes: u64,
    /// The size of a stripe in bytes, used likewise.
    pub stripe_bytes: u64,
}

/// A client with its requests under way and its oracle.
pub struct StormClient {
    /// Knows which replies are legal.
    pub oracle: DeviceOracle,
    /// Counts of its replies.
    pub tally: ClientTally,
    habits: Habits,
    size: u64,
    rng: Rng,
    hot: Vec<u64>,
    pending: BTreeMap<RequestId, PendingRequest>,
    /// Chunks, counted from the start of the volume, of which a read reported bytes as lost, and whose stripes were not written
    /// since: they stay lost, or read as they should.
    reported_lost: BTreeSet<u64>,
    next_id: u64,
    sent: u64,
    trace: StormLog,
}

/// Counts of the replies that a client got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientTally {
    /// Replies of all kinds.
    pub replies: u64,
    /// Bytes read and found right.
    pub bytes_right: u64,
    /// Bytes reported as lost, where that is legal.
    pub bytes_lost: u64,
    /// Writes that failed, where that is legal.
    pub writes_failed: u64,
}

#[derive(Clone, Debug)]
enum PendingRequest {
    Read { begin: u64, range: Range<u64> },
    Write { write: WriteId, is_durable: bool, range: Range<u64> },
    Flush { begin: u64 },
    Allocation { begin: u64, range: Range<u64> },
    Verify,
}

impl StormClient {
    /// A client of a device of `size` bytes.
    pub fn new(habits: Habits, size: u64, mut rng: Rng, trace: StormLog) -> StormClient {
        let hot = (0..3).map(|_| rng.below(size)).collect();
        StormClient {
            oracle: DeviceOracle::new(size),
            tally: ClientTally::default(),
            habits,
            size,
            rng,
            hot,
            pending: BTreeMap::new(),
            reported_lost: BTreeSet::new(),
            next_id: 0,
            sent: 0,
            trace,
        }
    }

    /// Random requests ([`StormClient::send`]) sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Has it sent all requests of its own?
    pub fn has_sent_all(&self) -> bool {
        self.sent >= self.habits.requests
    }

    /// Is there room for another request?
    pub fn has_room(&self) -> bool {
        self.pending.len() < self.habits.depth
    }

    /// Does it wait for a reply?
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Draws the pause before the next request.
    pub fn pause(&mut self) -> Nanos {
        // Half of the requests follow their predecessor at once.
        if self.rng.below(2) == 0 { Nanos::ZERO } else { Nanos(self.rng.below(2 * self.habits.pause.0 + 1)) }
    }

    /// Sends a random request.
    pub fn send(&mut self, now: Nanos, array: &mut impl ArrayMachine) {
        self.sent += 1;
        let Habits { reads, flushes, trims, zeroings, durable, .. } = self.habits;
        let kind = self.rng.below(100);
        let is_durable = self.rng.below(100) < durable;
        let range = self.range();
        let bounds = [reads, flushes, trims, zeroings, 1];
        let chosen = (0..bounds.len()).find(|&index| kind < bounds[..=index].iter().sum());
        match chosen {
            Some(0) => self.read(now, range, array),
            Some(1) => self.flush(now, array),
            Some(2) => self.write(now, range, WriteContent::ZerosPerhaps, false, array),
            Some(3) => self.write(now, range, WriteContent::Zeros, is_durable, array),
            Some(_) => {
                let begin = self.oracle.read_begins();
                let request =
                    BlockRequest::Allocation { offset: VolumeOffset(range.start), len: range.end - range.start };
                self.submit(now, request, PendingRequest::Allocation { begin, range }, array);
            }
            None => self.write(now, range, WriteContent::Pattern, is_durable, array),
        }
    }

    /// Sends a flush.
    pub fn flush(&mut self, now: Nanos, array: &mut impl ArrayMachine) {
        let begin = self.oracle.flush_begins();
        self.submit(now, BlockRequest::Flush, PendingRequest::Flush { begin }, array);
    }

    /// Sends a read.
    pub fn read(&mut self, now: Nanos, range: Range<u64>, array: &mut impl ArrayMachine) {
        let begin = self.oracle.read_begins();
        let request = BlockRequest::Read { offset: VolumeOffset(range.start), len: range.end - range.start };
        self.submit(now, request, PendingRequest::Read { begin, range }, array);
    }

    /// Registers a verification that the simulation asks for, whose reply is given to [`StormClient::reply`], too.
    pub fn verify(&mut self) -> RequestId {
        self.remember(PendingRequest::Verify)
    }

    /// Checks a reply. `may_lose` returns whether any byte of a range of the volume may be lost.
    ///
    /// # Panics
    /// When the reply is not legal.
    pub fn reply(
        &mut self,
        now: Nanos,
        id: RequestId,
        reply: BlockReply,
        may_lose: impl Fn(Range<u64>) -> bool,
        array: &mut impl ArrayMachine,
    ) {
        self.trace.log(now, || format!("  {} -> {}", id.0, describe(&reply)));
        let pending = self.pending.remove(&id).unwrap_or_else(|| panic!("request {} was never sent", id.0));
        self.tally.replies += 1;
        match (pending, reply) {
            (PendingRequest::Read { begin, range }, BlockReply::Read(parts)) => {
                self.judge(begin, range, parts, may_lose, array)
            }
            (PendingRequest::Read { begin, range }, BlockReply::Failed(BlockFailure::Io))
                if may_lose(range.clone()) =>
            {
                self.tally.bytes_lost += range.end - range.start;
                self.oracle.read_ends(begin);
            }
            (PendingRequest::Write { write, is_durable, .. }, BlockReply::Done) => {
                self.oracle.write_ends(write, is_durable)
            }
            (PendingRequest::Write { write, range, .. }, BlockReply::Failed(BlockFailure::Io))
                if may_lose(range.clone()) =>
            {
                self.tally.writes_failed += 1;
                self.oracle.write_fails(write);
            }
            (PendingRequest::Flush { begin }, BlockReply::Done) => self.oracle.flush_ends(begin),
            (PendingRequest::Flush { .. }, BlockReply::Failed(BlockFailure::Io)) if may_lose(0..self.size) => {}
            (PendingRequest::Allocation { begin, range }, BlockReply::Allocation(runs)) => {
                assert!(!runs.is_empty(), "request {}: no run at all", id.0);
                let mut at = range.start;
                for run in runs {
                    assert!(run.len > 0 && at + run.len <= range.end, "request {}: {run:?} at {at} of {range:?}", id.0);
                    let is_legal = run.is_written || self.oracle.may_be_zeros(begin, at..at + run.len);
                    assert!(is_legal, "request {}: {run:?} at {at} is said to be unwritten", id.0);
                    at += run.len;
                }
                self.oracle.read_ends(begin);
            }
            (PendingRequest::Verify, BlockReply::Done | BlockReply::Failed(BlockFailure::Stopping)) => {}
            (PendingRequest::Verify, BlockReply::Failed(BlockFailure::Io)) if may_lose(0..self.size) => {}
            (pending, reply) => panic!("request {}, {pending:?}, was replied to with {}", id.0, describe(&reply)),
        }
    }

    /// Notes that the program is about to be killed while the disks live on: the acknowledged data of these bytes stay,
    /// unless `is_first` (the stripe was never written before) and a write of them is under way.
    pub fn keeps(&mut self, range: Range<u64>, is_first: bool) {
        let is_hit = |pending: &PendingRequest| match pending {
            PendingRequest::Write { range: written, .. } => written.start < range.end && range.start < written.end,
            _ => false,
        };
        if !(is_first && self.pending.values().any(is_hit)) {
            self.oracle.keeps(range);
        }
    }

    /// Accepts any content of this chunk until it is written again, unless a read has reported it as lost: then it stays lost.
    /// Returns whether it does.
    pub fn accept_anything(&mut self, chunk: Range<u64>) -> bool {
        let is_reported = self.reported_lost.contains(&(chunk.start / self.habits.chunk_bytes));
        if !is_reported {
            self.oracle.accept_anything(chunk);
        }
        !is_reported
    }

    /// The stripes of which a read reported bytes as lost, and that were not written since.
    pub fn lost_stripes(&self) -> impl Iterator<Item = u64> + '_ {
        let chunks = self.habits.stripe_bytes / self.habits.chunk_bytes;
        self.reported_lost.iter().map(move |chunk| chunk / chunks)
    }

    /// Notes a crash: no request sent so far will be replied to.
    pub fn crash(&mut self) {
        self.pending.clear();
        self.oracle.crash();
    }

    fn judge(
        &mut self,
        begin: u64,
        range: Range<u64>,
        parts: Vec<ReadPart>,
        may_lose: impl Fn(Range<u64>) -> bool,
        array: &mut impl ArrayMachine,
    ) {
        let mut at = range.start;
        for part in parts {
            assert!(!part.is_empty() && at + part.len() <= range.end, "{} bytes at {at} of {range:?}", part.len());
            let end = at + part.len();
            match part {
                ReadPart::Data(buffer, bytes) => {
                    self.oracle.read_shows(begin, at, &buffer[bytes]);
                    self.tally.bytes_right += end - at;
                    array.recycle(buffer);
                }
                ReadPart::Zeros(len) => {
                    let zeros = vec![0; len as usize];
                    self.oracle.read_shows(begin, at, &zeros);
                    self.tally.bytes_right += len;
                }
                ReadPart::Lost(len) => {
                    assert!(may_lose(at..end), "{len} bytes at {at} are called lost, and should not be");
                    let chunk = self.habits.chunk_bytes;
                    self.reported_lost.extend(at / chunk..end.div_ceil(chunk));
                    self.tally.bytes_lost += len;
                }
            }
            at = end;
        }
        assert_eq!(at, range.end, "a reply to a read answers all of it");
        self.oracle.read_ends(begin);
    }

    fn write(
        &mut self,
        now: Nanos,
        range: Range<u64>,
        content: WriteContent,
        is_durable: bool,
        array: &mut impl ArrayMachine,
    ) {
        let (offset, len) = (range.start, range.end - range.start);
        let Habits { chunk_bytes, stripe_bytes, .. } = self.habits;
        let stripes = range.start / stripe_bytes * stripe_bytes..range.end.next_multiple_of(stripe_bytes);
        self.reported_lost.retain(|chunk| !stripes.contains(&(chunk * chunk_bytes)));
        let write = self.oracle.write_begins(offset, len, content);
        let request = match content {
            WriteContent::Pattern => {
                let mut data = Buffer::zeroed(len as usize);
                pattern::fill(&mut data, offset, write);
                BlockRequest::Write { offset: VolumeOffset(offset), data, is_durable }
            }
            WriteContent::Zeros => BlockRequest::Zero { offset: VolumeOffset(offset), len, is_durable },
            WriteContent::ZerosPerhaps | WriteContent::Anything => {
                BlockRequest::Trim { offset: VolumeOffset(offset), len }
            }
        };
        self.submit(now, request, PendingRequest::Write { write, is_durable, range }, array);
    }

    fn submit(&mut self, now: Nanos, request: BlockRequest, pending: PendingRequest, array: &mut impl ArrayMachine) {
        let id = self.remember(pending.clone());
        self.trace.log(now, || format!("  {} <- {pending:?}", id.0));
        array.submit(now, id, request);
    }

    fn remember(&mut self, pending: PendingRequest) -> RequestId {
        let id = RequestId(self.next_id);
        self.next_id += 1;
        self.pending.insert(id, pending);
        id
    }

    /// Draws a range of bytes as users of disks have them: small and large, aligned and odd, anywhere.
    fn range(&mut self) -> Range<u64> {
        let Habits { chunk_bytes, stripe_bytes, hot, odd, .. } = self.habits;
        let (chunk, stripe) = (chunk_bytes, stripe_bytes);
        let grain = match self.rng.below(100) < odd {
            true => 1,
            false => [512, 512, chunk, stripe][self.rng.below(4) as usize],
        };
        let len = match self.rng.below(10) {
            0..3 => 1 + self.rng.below(512),
            3..6 => 1 + self.rng.below(chunk),
            6..9 => 1 + self.rng.below(2 * stripe),
            _ => 1 + self.rng.below(5 * stripe),
        };
        let place = match self.rng.below(100) < hot {
            true => self.hot[self.rng.below(self.hot.len() as u64) as usize] + self.rng.below(2 * stripe),
            false => self.rng.below(self.size),
        };
        let start = place % self.size / grain * grain;
        let end = (start + len.next_multiple_of(grain)).min(self.size);
        start..end
    }
}

fn describe(reply: &BlockReply) -> String {
    match reply {
        BlockReply::Read(parts) => {
            let mut runs: Vec<(&str, u64)> = Vec::new();
            for part in parts {
                let word = match part {
                    ReadPart::Data(..) => "read",
                    ReadPart::Zeros(_) => "zeros",
                    ReadPart::Lost(_) => "LOST",
                };
                match runs.last_mut() {
                    Some((last, len)) if *last == word => *len += part.len(),
                    _ => runs.push((word, part.len())),
                }
            }
            runs.iter().map(|(word, len)| format!("{len} {word}")).collect::<Vec<_>>().join(", ")
        }
        BlockReply::Done => "done".to_owned(),
        BlockReply::Allocation(runs) => format!("{} runs", runs.len()),
        BlockReply::Failed(failure) => format!("FAILED: {failure:?}"),
    }
}
