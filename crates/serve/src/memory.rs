//! A volume in memory, on which blocks can be lost at will: for tests and measurements.

use crate::control::CommandHandler;
use scrubjay_core::buffer::{Buffer, Pool};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::block::{AllocationRun, BlockFailure, BlockReply, BlockRequest, ReadPart, RequestId};
use scrubjay_core::volume::member::{ArrayMachine, MemberOp, MemberOpDone};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

/// Granularity of the states written, lost and unwritten, in bytes.
pub const BLOCK_BYTES: u64 = 512;

/// The volume. At first all of it is unwritten, and reads as zeros. Every request is done at once.
#[derive(Debug)]
pub struct MemoryArray {
    bytes: Vec<u8>,
    /// For each block: was it never written?
    unwritten: Vec<bool>,
    /// The lost blocks, by number.
    lost: BTreeSet<u64>,
    replies: VecDeque<(RequestId, BlockReply)>,
    pool: Pool,
    /// Draws the next reply to return; `None`: replies keep the order of the requests.
    order: Option<Rng>,
}

impl MemoryArray {
    /// A volume of `size` bytes, a multiple of [`BLOCK_BYTES`].
    ///
    /// # Panics
    /// When `size` is no such multiple.
    pub fn new(size: u64) -> MemoryArray {
        assert!(size.is_multiple_of(BLOCK_BYTES), "whole blocks");
        MemoryArray {
            bytes: vec![0; size as usize],
            unwritten: vec![true; (size / BLOCK_BYTES) as usize],
            lost: BTreeSet::new(),
            replies: VecDeque::new(),
            pool: Pool::default(),
            order: None,
        }
    }

    /// Returns replies in an order drawn from this seed.
    #[must_use]
    pub fn shuffled(mut self, seed: u64) -> MemoryArray {
        self.order = Some(Rng::new(seed));
        self
    }

    /// All its bytes, to be inspected or changed without a request. All blocks count as written afterwards.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.unwritten.fill(false);
        &mut self.bytes
    }

    /// Loses every block with a byte in `range`, until it is written, trimmed or zeroed in full.
    pub fn lose(&mut self, range: Range<u64>) {
        self.lost.extend(range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES));
    }

    fn read(&mut self, range: Range<u64>) -> Vec<ReadPart> {
        let mut parts = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let state = self.state(at);
            let mut end = at;
            while end < range.end && self.state(end) == state {
                end = (end / BLOCK_BYTES + 1) * BLOCK_BYTES;
            }
            let end = end.min(range.end);
            let len = end - at;
            parts.push(match state {
                BlockState::Lost => ReadPart::Lost(len),
                BlockState::Unwritten => ReadPart::Zeros(len),
                BlockState::Written => {
                    let mut buffer = self.pool.take(len as usize);
                    buffer.copy_from_slice(&self.bytes[at as usize..end as usize]);
                    ReadPart::Data(buffer, 0..len as usize)
                }
            });
            at = end;
        }
        parts
    }

    fn state(&self, at: u64) -> BlockState {
        let block = at / BLOCK_BYTES;
        match self.unwritten[block as usize] {
            _ if self.lost.contains(&block) => BlockState::Lost,
            true => BlockState::Unwritten,
            false => BlockState::Written,
        }
    }

    /// Marks the blocks of a range as written or unwritten. Blocks that lie in it in full are no longer lost.
    fn mark(&mut self, range: Range<u64>, is_unwritten: bool) {
        let whole = range.start.div_ceil(BLOCK_BYTES)..range.end / BLOCK_BYTES;
        let touched = range.start / BLOCK_BYTES..range.end.div_ceil(BLOCK_BYTES);
        if !self.lost.is_empty() {
            for block in whole.clone() {
                self.lost.remove(&block);
            }
        }
        let marked = if is_unwritten { whole } else { touched };
        if !marked.is_empty() {
            self.unwritten[marked.start as usize..marked.end as usize].fill(is_unwritten);
        }
    }

    fn zero(&mut self, range: Range<u64>) {
        self.bytes[range.start as usize..range.end as usize].fill(0);
        self.mark(range, true);
    }

    fn runs(&self, range: Range<u64>) -> Vec<AllocationRun> {
        let mut runs: Vec<AllocationRun> = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min((at / BLOCK_BYTES + 1) * BLOCK_BYTES);
            let is_written = self.state(at) != BlockState::Unwritten;
            match runs.last_mut() {
                Some(run) if run.is_written == is_written => run.len += end - at,
                _ => runs.push(AllocationRun { len: end - at, is_written }),
            }
            at = end;
        }
        runs
    }

    fn answer(&mut self, request: BlockRequest) -> BlockReply {
        let size = self.size();
        let inside = |offset: u64, len: u64| {
            offset.checked_add(len).filter(|end| *end <= size).map(|end| offset..end).ok_or(BlockFailure::OutOfRange)
        };
        let reply = match request {
            BlockRequest::Read { offset, len } => {
                inside(offset.get(), len).map(|range| BlockReply::Read(self.read(range)))
            }
            BlockRequest::Write { offset, data, .. } => inside(offset.get(), data.len() as u64).map(|range| {
                self.bytes[range.start as usize..range.end as usize].copy_from_slice(&data);
                self.mark(range, false);
                self.pool.give(data);
                BlockReply::Done
            }),
            BlockRequest::Flush => Ok(BlockReply::Done),
            BlockRequest::Trim { offset, len } | BlockRequest::Zero { offset, len, .. } => inside(offset.get(), len)
                .map(|range| {
                    self.zero(range);
                    BlockReply::Done
                }),
            BlockRequest::Allocation { offset, len } => {
                inside(offset.get(), len).map(|range| BlockReply::Allocation(self.runs(range)))
            }
        };
        reply.unwrap_or_else(BlockReply::Failed)
    }
}

/// The state of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockState {
    Lost,
    Unwritten,
    Written,
}

impl ArrayMachine for MemoryArray {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn submit(&mut self, _now: Nanos, id: RequestId, request: BlockRequest) {
        let reply = self.answer(request);
        self.replies.push_back((id, reply));
    }

    fn handle(&mut self, _now: Nanos, done: MemberOpDone) {
        panic!("{done:?}: memory has no members");
    }

    fn poll_op(&mut self, _now: Nanos) -> Option<MemberOp> {
        None
    }

    fn poll_reply(&mut self) -> Option<(RequestId, BlockReply)> {
        if let Some(order) = self.order.as_mut().filter(|_| !self.replies.is_empty()) {
            let drawn = order.below(self.replies.len() as u64) as usize;
            self.replies.swap(0, drawn);
        }
        self.replies.pop_front()
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        None
    }

    fn buffer(&mut self, len: usize) -> Buffer {
        self.pool.take(len)
    }

    fn recycle(&mut self, buffer: Buffer) {
        self.pool.give(buffer);
    }
}

impl CommandHandler for MemoryArray {}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::units::VolumeOffset;

    fn ask(array: &mut MemoryArray, request: BlockRequest) -> BlockReply {
        array.submit(Nanos::ZERO, RequestId(1), request);
        array.poll_reply().expect("a reply at once").1
    }

    #[test]
    fn parts_distinguish_written_unwritten_and_lost_bytes() {
        let mut array = MemoryArray::new(8 * BLOCK_BYTES);
        let data = Buffer::copy_of(&[7; 700]);
        assert_eq!(
            ask(&mut array, BlockRequest::Write { offset: VolumeOffset(1000), data, is_durable: false }),
            BlockReply::Done
        );
        array.lose(3000..3001);
        let BlockReply::Read(parts) = ask(&mut array, BlockRequest::Read { offset: VolumeOffset(500), len: 3000 })
        else {
            panic!("no parts")
        };
        assert_eq!(parts.iter().map(ReadPart::len).collect::<Vec<_>>(), [12, 1536, 512, 512, 428]);
        assert!(matches!(
            parts[..],
            [ReadPart::Zeros(_), ReadPart::Data(..), ReadPart::Zeros(_), ReadPart::Lost(_), ReadPart::Zeros(_)]
        ));
        let ReadPart::Data(buffer, range) = &parts[1] else { panic!("no data") };
        let expected: Vec<u8> = (512..2048).map(|at| if (1000..1700).contains(&at) { 7 } else { 0 }).collect();
        assert_eq!(buffer[range.clone()], expected);

        let runs = ask(&mut array, BlockRequest::Allocation { offset: VolumeOffset(0), len: 4096 });
        let run = |len, is_written| AllocationRun { len, is_written };
        let expected = [run(512, false), run(1536, true), run(512, false), run(512, true), run(1024, false)];
        assert_eq!(runs, BlockReply::Allocation(expected.to_vec()));
        assert_eq!(
            ask(&mut array, BlockRequest::Zero { offset: VolumeOffset(0), len: 4096, is_durable: true }),
            BlockReply::Done
        );
        assert_eq!(
            ask(&mut array, BlockRequest::Read { offset: VolumeOffset(0), len: 4096 }),
            BlockReply::Read(vec![ReadPart::Zeros(4096)]),
            "what is written in full is no longer lost"
        );
        let beyond = ask(&mut array, BlockRequest::Read { offset: VolumeOffset(4095), len: 2 });
        assert_eq!(beyond, BlockReply::Failed(BlockFailure::OutOfRange));
    }
}
