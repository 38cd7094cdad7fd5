//! A 4+2 volume on disks in memory, whose operations complete at once, so that rows can be damaged one at a time.

use scrubjay_core::buffer::Buffer;
use scrubjay_core::index::{RowIndex, StripeIndex};
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{ChunkPlace, Layout, LayoutKind};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::{MemberOffset, Nanos, VolumeOffset};
use scrubjay_core::volume::block::{BlockFailure, BlockReply, BlockRequest, ReadPart, RequestId};
use scrubjay_core::volume::finding::VolumeFinding;
use scrubjay_core::volume::format::assemble::assemble;
use scrubjay_core::volume::format::geometry::{ArrayParameters, Geometry};
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::member::{ArrayMachine, MemberOp, MemberOpDone, OpKind};
use scrubjay_core::volume::{Volume, VolumeOptions};
use scrubjay_sim::member_disk::{Discarded, MemberDisk, WriteFate, array};

/// Six disks that survive two failures: the smallest stripe in which every scheme keeps all its copies on different
/// disks.
pub const SHAPE: Shape = Shape { data: 4, parity: 2 };
/// A sector of these disks, in bytes.
pub const SECTOR: u64 = 512;
/// A chunk, in bytes.
pub const CHUNK: u64 = 8 * SECTOR;
/// Stripes of the volume: one layout period, and the surroundings of a victim in the next one.
pub const STRIPES: u64 = 10;
/// The size of a member in bytes: more than superblocks, maps and these stripes take.
const MEMBER_BYTES: u64 = 2 << 20;
/// The duration of an operation; no result depends on it.
const OP: Nanos = Nanos(1000);

/// A fault: reads of one row return bytes from elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct MisdirectedReads {
    /// The row whose reads go astray.
    pub place: ChunkPlace,
    /// The distance, in bytes.
    pub distance: i64,
    /// Only the next read goes astray; otherwise all of them, until the row is written.
    pub is_once: bool,
}

/// The volume, its disks, and the bytes that it should hold.
pub struct Rig {
    /// The places of its rows.
    pub geometry: Geometry,
    disks: Vec<MemberDisk>,
    /// The bytes that the client wrote.
    expected: Vec<u8>,
    misdirected: Option<MisdirectedReads>,
    volume: Volume,
    rng: Rng,
    now: Nanos,
    requests: u64,
}

impl Rig {
    /// A volume that was fully written, flushed and read once, so that later reads need no first-read comparison.
    pub fn new(scheme: Scheme) -> Rig {
        let layout = Layout::new(LayoutKind::Rotating, SHAPE, SHAPE.width()).expect("a shape that the layout takes");
        let parameters = ArrayParameters { layout, scheme, chunk_bytes: CHUNK, block_bytes: SECTOR };
        let size = STRIPES * SHAPE.data as u64 * CHUNK;
        let geometry = Geometry::fit(&parameters, MEMBER_BYTES, Some(size)).expect("the members are large enough");
        let disk = |slot| MemberDisk::new(slot as u64, SECTOR as usize, MEMBER_BYTES);
        let mut disks: Vec<MemberDisk> = (0..SHAPE.width()).map(disk).collect();
        array::create(geometry, &mut disks);
        let assembly = assemble(&array::given(&disks)).expect("members that were just created");
        let member_bytes = vec![MEMBER_BYTES; disks.len()];
        let options =
            VolumeOptions { faults_max: usize::MAX, member_bytes, start_number: 1, ..VolumeOptions::default() };
        let volume = Volume::start(assembly, options);
        let expected = vec![0; size as usize];
        let (rng, now, requests) = (Rng::new(1), Nanos::ZERO, 0);
        let mut rig = Rig { geometry, disks, expected, misdirected: None, volume, rng, now, requests };
        (0..STRIPES).for_each(|stripe| rig.write(stripe, 0, SHAPE.data));
        rig.ask(BlockRequest::Flush);
        assert!(rig.is_right(0, rig.expected.len()), "what was written is read");
        rig
    }

    /// A client writes `chunks` chunks, from a data slot of a stripe on.
    pub fn write(&mut self, stripe: u64, slot: usize, chunks: usize) {
        let (start, len) = (self.offset(stripe, slot), chunks * CHUNK as usize);
        let bytes: Vec<u8> = (0..len / 8).flat_map(|_| self.rng.bits().to_le_bytes()).collect();
        self.expected[start..start + len].copy_from_slice(&bytes);
        let request = BlockRequest::Write {
            offset: VolumeOffset(start as u64),
            data: Buffer::copy_of(&bytes),
            is_durable: false,
        };
        assert_eq!(self.ask(request), BlockReply::Done, "nothing is wrong yet");
    }

    /// A client reads one chunk: returns whether it is what was written.
    pub fn reads_right(&mut self, stripe: u64, slot: usize) -> bool {
        self.is_right(self.offset(stripe, slot), CHUNK as usize)
    }

    /// A client reads everything: returns whether it is what was written.
    pub fn reads_all_right(&mut self) -> bool {
        self.is_right(0, self.expected.len())
    }

    /// Verifies these stripes.
    pub fn verify(&mut self, stripes: std::ops::Range<u64>) {
        let id = self.next_id();
        self.volume.verify(self.now, id, StripeIndex(stripes.start)..StripeIndex(stripes.end));
        let reply = self.reply(id);
        assert_ne!(reply, BlockReply::Failed(BlockFailure::Stopping), "nobody stops it");
    }

    /// The findings since the last call.
    pub fn records(&mut self) -> Vec<VolumeFinding> {
        std::iter::from_fn(|| self.volume.poll_finding()).collect()
    }

    /// The bytes of a row, appendix included.
    pub fn row(&self, place: ChunkPlace) -> Vec<u8> {
        let mut bytes = vec![0; self.geometry.row_bytes() as usize];
        self.disks[place.disk]
            .read((self.geometry.chunk_offset(RowIndex(place.row))).get(), &mut bytes)
            .expect("a disk that can be read");
        bytes
    }

    /// Overwrites the disk with `bytes`, from `distance` bytes behind the beginning of a row on.
    pub fn strike(&mut self, place: ChunkPlace, distance: i64, bytes: &[u8]) {
        let start =
            self.geometry.chunk_offset(RowIndex(place.row)).get().checked_add_signed(distance).expect("rows around it");
        self.disks[place.disk].strike(start, bytes);
    }

    /// Makes reads of a row go astray from now on.
    pub fn misdirect_reads(&mut self, misdirected: MisdirectedReads) {
        self.misdirected = Some(misdirected);
    }

    /// Whether any row returns other bytes than were last written to it.
    pub fn is_damaged(&self) -> bool {
        let (start, len) = (self.geometry.data_offset, self.geometry.rows * self.geometry.row_bytes());
        self.misdirected.is_some() || self.disks.iter().any(|disk| disk.is_corrupt(start, len))
    }

    /// The offset of a chunk in the volume, in bytes.
    fn offset(&self, stripe: u64, slot: usize) -> usize {
        (stripe * self.geometry.stripe_bytes() + slot as u64 * CHUNK) as usize
    }

    fn is_right(&mut self, start: usize, len: usize) -> bool {
        let BlockReply::Read(parts) =
            self.ask(BlockRequest::Read { offset: VolumeOffset(start as u64), len: len as u64 })
        else {
            return false;
        };
        let mut at = start;
        parts.iter().all(|part| {
            let expected = &self.expected[at..at + part.len() as usize];
            at += expected.len();
            match part {
                ReadPart::Data(buffer, range) => buffer[range.clone()] == *expected,
                ReadPart::Zeros(_) => expected.iter().all(|&byte| byte == 0),
                ReadPart::Lost(_) => false,
            }
        })
    }

    fn next_id(&mut self) -> RequestId {
        self.requests += 1;
        RequestId(self.requests)
    }

    fn ask(&mut self, request: BlockRequest) -> BlockReply {
        let id = self.next_id();
        self.volume.submit(self.now, id, request);
        self.reply(id)
    }

    /// Performs the operations that the volume asks for, until it replies.
    fn reply(&mut self, id: RequestId) -> BlockReply {
        while let Some(op) = self.volume.poll_op(self.now) {
            self.now.0 += OP.0;
            let done = self.done(op);
            self.volume.handle(self.now, done);
        }
        let (answered, reply) = self.volume.poll_reply().expect("nothing is left to do but to answer");
        assert_eq!(answered, id, "one request at a time");
        reply
    }

    fn done(&mut self, MemberOp { id, member, kind }: MemberOp) -> MemberOpDone {
        let (buffer, result) = match kind {
            OpKind::Read { offset, mut buffer } => {
                let from = self.read_from(member.get(), offset.get());
                let result = self.disks[member.get()].read(from, &mut buffer);
                (Some(buffer), result)
            }
            OpKind::Write { offset, buffer, is_durable } => {
                self.misdirected = self
                    .misdirected
                    .filter(|misdirected| !self.is_row_at(misdirected.place, member.get(), offset.get()));
                self.disks[member.get()].write(offset.get(), &buffer, is_durable, WriteFate::HONEST);
                (Some(buffer), Ok(()))
            }
            OpKind::Flush => {
                let mark = self.disks[member.get()].flush_mark();
                self.disks[member.get()].flushed(mark);
                (None, Ok(()))
            }
            OpKind::Discard { offset, len } => {
                self.disks[member.get()].discard(offset.get(), len, Discarded::Kept);
                (None, Ok(()))
            }
        };
        MemberOpDone { id, buffer, result }
    }

    /// The offset from which such a read really returns bytes.
    fn read_from(&mut self, member: usize, offset: u64) -> u64 {
        let Some(misdirected) =
            self.misdirected.filter(|misdirected| self.is_row_at(misdirected.place, member, offset))
        else {
            return offset;
        };
        if misdirected.is_once {
            self.misdirected = None;
        }
        offset.checked_add_signed(misdirected.distance).expect("rows around it")
    }

    fn is_row_at(&self, place: ChunkPlace, member: usize, offset: u64) -> bool {
        place.disk == member && self.geometry.row_at(MemberOffset(offset)) == Some(RowIndex(place.row))
    }
}
