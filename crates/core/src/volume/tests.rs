//! Tests of the volume on members in memory, each operation done at once: replies, findings, and what is kept.

use super::finding::FindingPlace;
use super::{Volume, VolumeOptions};
use crate::buffer::Buffer;
use crate::finding::{FindingKind, Resolution};
use crate::index::{MemberIndex, RowIndex, StripeIndex, StripePosition};
use crate::layout::Shape;
use crate::layout::{Layout, LayoutKind};
use crate::rng::Rng;
use crate::units::{MemberOffset, Nanos, UnixSeconds, VolumeOffset};
use crate::volume::block::{BlockFailure, BlockReply, BlockRequest, ReadPart, RequestId};
use crate::volume::format::assemble::{GivenMember, assemble};
use crate::volume::format::blank;
use crate::volume::format::geometry::{ArrayParameters, Geometry, MetadataArea};
use crate::volume::format::superblock::Superblock;
use crate::volume::format::uuid::Uuid;
use crate::volume::integrity::scheme::Scheme;
use crate::volume::member::{ArrayMachine, DiskFault, MemberOp, MemberOpDone, MemberOpId, OpKind};

mod attacks;
mod blame;
mod crashes;
mod edges;
mod metadata;
mod mutants;
mod promises;
mod refusals;
mod repaired;
mod returns;

const MEMBER_BYTES: u64 = 3 << 20;
const CHUNK: u64 = 4096;

/// A volume, and members in memory that do as the test sets them.
struct Rig {
    volume: Volume,
    members: Vec<Vec<u8>>,
    is_gone: Vec<bool>,
    /// Writes of superblocks stay under way and never end.
    holds_superblocks: bool,
    /// Flushes stay under way and never end.
    holds_flushes: bool,
    /// Members answer reads and refuse all writes.
    is_full: bool,
    /// Members refuse writes outside of the rows.
    refuses_metadata: bool,
    /// The member whose next flush fails.
    is_unflushable: Option<usize>,
    geometry: Geometry,
    next: u64,
    now: u64,
    ops: usize,
    bytes_read: usize,
    /// The member that takes operations and never ends them. `all_hang`: all members do.
    hangs: Option<usize>,
    all_hang: bool,
    held: Vec<MemberOpId>,
    /// A write that stays under way until it is released: the next one at this (member, byte).
    holds: Option<(usize, u64)>,
    under_way: Vec<MemberOp>,
    /// A write that is refused: the next one at this (member, byte).
    refuses: Option<(usize, u64)>,
    /// A write that is reported as done and is not done: the next one at this (member, byte).
    loses: Option<(usize, u64)>,
    /// Reads stay under way until they are released.
    holds_reads: bool,
    /// The member that refuses all writes.
    refuses_all: Option<usize>,
    /// A misdirected read: the next one at this (member, byte) returns other bytes.
    misdirects: Option<(usize, u64)>,
    /// A read that fails, whatever was written there: at this (member, byte).
    unreadable: Option<(usize, u64)>,
}

impl Rig {
    fn new(scheme: Scheme, kind: LayoutKind, data: usize, parity: usize) -> Rig {
        let layout = Layout::new(kind, Shape { data, parity }, data + parity).unwrap();
        let parameters = ArrayParameters { layout, scheme, chunk_bytes: CHUNK, block_bytes: 512 };
        let geometry = Geometry::fit(&parameters, MEMBER_BYTES, None).unwrap();
        let members = blank(&geometry);
        Rig::start(members, geometry)
    }

    fn start(members: Vec<Vec<u8>>, geometry: Geometry) -> Rig {
        Rig::start_as(members, geometry, VolumeOptions::default())
    }

    fn start_as(members: Vec<Vec<u8>>, geometry: Geometry, options: VolumeOptions) -> Rig {
        let mut rig = Rig::begin(members, geometry, options);
        rig.pump();
        rig
    }

    /// A rig whose volume is started; no operation is done yet.
    fn begin(members: Vec<Vec<u8>>, geometry: Geometry, options: VolumeOptions) -> Rig {
        let assembly = assemble(&given(&members)).unwrap();
        let volume = Volume::start(assembly, options);
        let is_gone = vec![false; members.len()];
        Rig {
            volume,
            members,
            is_gone,
            holds_superblocks: false,
            holds_flushes: false,
            is_full: false,
            refuses_metadata: false,
            is_unflushable: None,
            geometry,
            next: 0,
            now: 0,
            ops: 0,
            bytes_read: 0,
            hangs: None,
            all_hang: false,
            held: Vec::new(),
            holds: None,
            under_way: Vec::new(),
            refuses: None,
            loses: None,
            holds_reads: false,
            refuses_all: None,
            misdirects: None,
            unreadable: None,
        }
    }

    fn pump(&mut self) {
        self.pump_until(|_| false);
    }

    fn pump_until(&mut self, is_enough: impl Fn(&Rig) -> bool) {
        while !is_enough(self)
            && let Some(op) = self.volume.poll_op(Nanos(self.now))
        {
            let superblocks = Superblock::offsets(MEMBER_BYTES).unwrap();
            let is_superblock = |offset: u64, buffer: &[u8]| {
                superblocks.contains(&MemberOffset(offset)) && buffer.iter().any(|&byte| byte != 0)
            };
            if matches!(&op.kind, OpKind::Write { offset, buffer, .. } if self.holds_superblocks && is_superblock(offset.get(), buffer))
            {
                continue;
            }
            if self.holds_flushes && matches!(op.kind, OpKind::Flush) {
                continue;
            }
            if self.all_hang || self.hangs == Some(op.member.get()) {
                self.held.push(op.id);
                continue;
            }
            if self.holds_reads && matches!(op.kind, OpKind::Read { .. }) {
                self.under_way.push(op);
                continue;
            }
            if matches!(op.kind, OpKind::Write { offset, .. } if self.holds == Some((op.member.get(), offset.get()))) {
                self.holds = None;
                self.under_way.push(op);
                continue;
            }
            self.end(op);
        }
    }

    /// Ends all operations that were held, and pumps.
    fn release(&mut self) {
        for op in std::mem::take(&mut self.under_way) {
            self.end(op);
        }
        self.pump();
    }

    fn end(&mut self, op: MemberOp) {
        self.ops += 1;
        self.now += 1000;
        let member = &mut self.members[op.member.get()];
        let (buffer, result) = match op.kind {
            _ if self.is_gone[op.member.get()] => match op.kind {
                OpKind::Read { buffer, .. } | OpKind::Write { buffer, .. } => (Some(buffer), Err(DiskFault::Gone)),
                _ => (None, Err(DiskFault::Gone)),
            },
            OpKind::Read { offset, buffer } if self.unreadable == Some((op.member.get(), offset.get())) => {
                (Some(buffer), Err(DiskFault::Medium))
            }
            OpKind::Read { offset, mut buffer } if self.misdirects == Some((op.member.get(), offset.get())) => {
                self.misdirects = None;
                buffer.fill(0xee);
                (Some(buffer), Ok(()))
            }
            OpKind::Read { offset, mut buffer } => {
                let len = buffer.len();
                self.bytes_read += len;
                buffer.copy_from_slice(&member[offset.get() as usize..offset.get() as usize + len]);
                (Some(buffer), Ok(()))
            }
            OpKind::Write { buffer, .. } if self.is_full || self.refuses_all == Some(op.member.get()) => {
                (Some(buffer), Err(DiskFault::Medium))
            }
            OpKind::Write { offset, buffer, .. } if self.refuses_metadata && self.geometry.row_at(offset).is_none() => {
                (Some(buffer), Err(DiskFault::Medium))
            }
            OpKind::Write { offset, buffer, .. } if self.refuses == Some((op.member.get(), offset.get())) => {
                self.refuses = None;
                (Some(buffer), Err(DiskFault::Medium))
            }
            OpKind::Write { offset, buffer, .. } if self.loses == Some((op.member.get(), offset.get())) => {
                self.loses = None;
                (Some(buffer), Ok(()))
            }
            OpKind::Write { offset, buffer, .. } => {
                member[offset.get() as usize..offset.get() as usize + buffer.len()].copy_from_slice(&buffer);
                (Some(buffer), Ok(()))
            }
            OpKind::Flush if self.is_unflushable == Some(op.member.get()) => {
                self.is_unflushable = None;
                (None, Err(DiskFault::Medium))
            }
            OpKind::Flush | OpKind::Discard { .. } => (None, Ok(())),
        };
        self.volume.handle(Nanos(self.now), MemberOpDone { id: op.id, buffer, result });
    }

    /// Lets time pass, like a pump that polls whenever `poll_timeout` asks for it.
    fn wait(&mut self, nanos: u64) {
        let until = self.now + nanos;
        while let Some(next) = self.volume.poll_timeout().filter(|next| next.0 <= until) {
            self.now = self.now.max(next.0);
            self.pump();
        }
        self.now = until;
        self.pump();
    }

    fn ask(&mut self, request: BlockRequest) -> BlockReply {
        let id = RequestId(self.next);
        self.next += 1;
        self.volume.submit(Nanos(self.now), id, request);
        self.pump();
        let (answered, reply) = self.volume.poll_reply().expect("it was answered");
        assert_eq!(answered, id);
        reply
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        let request =
            BlockRequest::Write { offset: VolumeOffset(offset), data: Buffer::copy_of(bytes), is_durable: false };
        assert_eq!(self.ask(request), BlockReply::Done);
    }

    /// The bytes of a read; `None` for lost bytes.
    fn read(&mut self, offset: u64, len: u64) -> Vec<Option<u8>> {
        let BlockReply::Read(parts) = self.ask(BlockRequest::Read { offset: VolumeOffset(offset), len }) else {
            panic!("a read is answered by parts")
        };
        let bytes = parts.iter().flat_map(|part| match part {
            ReadPart::Data(buffer, range) => buffer[range.clone()].iter().copied().map(Some).collect::<Vec<_>>(),
            ReadPart::Zeros(len) => vec![Some(0); *len as usize],
            ReadPart::Lost(len) => vec![None; *len as usize],
        });
        bytes.collect()
    }

    fn place(&self, stripe: u64, slot: usize) -> (usize, usize) {
        let place = self.geometry.place(StripeIndex(stripe), StripePosition(slot));
        (place.member.get(), self.geometry.chunk_offset(place.row).get() as usize)
    }

    fn stop(mut self) -> Vec<Vec<u8>> {
        self.volume.stop(Nanos(self.now));
        self.pump();
        assert!(self.volume.is_stopped());
        self.members
    }

    fn kinds(&mut self) -> Vec<(u64, usize, FindingKind, Resolution)> {
        std::iter::from_fn(|| self.volume.poll_finding())
            .filter_map(|record| match record.place {
                FindingPlace::Row { stripe, position } => {
                    Some((stripe.get(), position.get(), record.kind, record.resolution))
                }
                _ => None,
            })
            .collect()
    }
}

/// The members' newest superblocks, as `assemble` takes them; an empty member is absent.
fn given(members: &[Vec<u8>]) -> Vec<GivenMember> {
    let is_present = |(_, member): &(usize, &Vec<u8>)| !member.is_empty();
    let read_member = |(index, member): (usize, &Vec<u8>)| {
        let copies = Superblock::offsets(MEMBER_BYTES).unwrap();
        let copy = |at: u64| &member[at as usize..at as usize + crate::volume::format::geometry::SUPERBLOCK_BYTES];
        let superblock = crate::volume::format::superblock::newest(copies.map(MemberOffset::get).map(copy));
        GivenMember { label: index.to_string(), bytes: MEMBER_BYTES, superblock }
    };
    members.iter().enumerate().filter(is_present).map(read_member).collect()
}

/// New members; bytes that were never written are not zeros.
fn blank(geometry: &Geometry) -> Vec<Vec<u8>> {
    let names: Vec<Uuid> = (0..geometry.layout.disks()).map(|slot| Uuid([10 + slot as u8; 16])).collect();
    let superblock = blank::superblock(*geometry, Uuid([1; 16]), "rig", UnixSeconds(1), &names);
    let member = |slot: usize| {
        let mut bytes = vec![0xee; MEMBER_BYTES as usize];
        for (at, block) in blank::member(&superblock, MemberIndex(slot), MEMBER_BYTES) {
            bytes[at.get() as usize..at.get() as usize + block.len()].copy_from_slice(&block);
        }
        bytes
    };
    (0..names.len()).map(member).collect()
}

fn shapes() -> Vec<(LayoutKind, usize, usize)> {
    vec![
        (LayoutKind::Rotating, 4, 2),
        (LayoutKind::Rotating, 3, 3),
        (LayoutKind::Rotating, 2, 1),
        (LayoutKind::Raid0, 3, 0),
        (LayoutKind::Raid1, 1, 1),
    ]
}

#[test]
fn data_written_are_read_back_and_kept_with_every_shape_and_scheme() {
    for scheme in Scheme::ALL {
        for (kind, data, parity) in shapes() {
            let mut rig = Rig::new(scheme, kind, data, parity);
            let size = rig.volume.size().min(1 << 20);
            let mut model = vec![0u8; size as usize];
            let mut rng = Rng::new(7);
            for step in 0..200 {
                let offset = rng.below(size);
                let len = (1 + rng.below(20_000)).min(size - offset);
                if rng.below(3) < 2 {
                    let bytes: Vec<u8> = (0..len).map(|_| rng.bits() as u8).collect();
                    model[offset as usize..(offset + len) as usize].copy_from_slice(&bytes);
                    rig.write(offset, &bytes);
                } else {
                    let right: Vec<_> =
                        model[offset as usize..(offset + len) as usize].iter().copied().map(Some).collect();
                    assert!(rig.read(offset, len) == right, "{scheme} {data}+{parity} step {step}");
                }
            }
            assert_eq!(rig.kinds(), []);
            let geometry = rig.geometry;
            let mut again = Rig::start(rig.stop(), geometry);
            let right: Vec<_> = model.iter().copied().map(Some).collect();
            assert!(again.read(0, size) == right, "{scheme} {data}+{parity} after a stop");
        }
    }
}

#[test]
fn a_crash_between_requests_loses_nothing_that_was_written() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(10_000, &[7; 50_000]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.write(20_000, &[8; 1000]);
    let (members, geometry) = (std::mem::take(&mut rig.members), rig.geometry);
    let mut again = Rig::start(members, geometry);
    assert!(again.read(20_000, 1000) == vec![Some(8); 1000]);
    assert!(again.read(21_000, 39_000) == vec![Some(7); 39_000]);
    assert_eq!(again.kinds(), []);
}

#[test]
fn a_page_of_the_written_map_left_on_one_member_by_a_crash_is_copied_to_all() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    let old = rig.members.clone();
    rig.write(0, &[7; 1000]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    let (mut members, geometry) = (std::mem::take(&mut rig.members), rig.geometry);
    let map = geometry.page_offset(MetadataArea::WrittenMap, 0, 0).get() as usize..geometry.data_offset as usize;
    for (member, old) in members.iter_mut().zip(&old).skip(1) {
        member[map.clone()].copy_from_slice(&old[map.clone()]);
    }
    let mut members = Rig::start(members, geometry).stop();
    members[0].clear();
    let mut again = Rig::start(members, geometry);
    assert!(again.read(0, 1000) == vec![Some(7); 1000]);
}

#[test]
fn acknowledged_writes_survive_a_kill_without_a_flush_and_zeroed_stripes_stay_zero() {
    for scheme in Scheme::ALL {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 4, 2);
        rig.write(0, &[1; 8 * CHUNK as usize]);
        rig.write(3 * 4 * CHUNK, &[2; 4 * CHUNK as usize]);
        let zero = BlockRequest::Zero { offset: VolumeOffset(0), len: 4 * CHUNK, is_durable: false };
        assert_eq!(rig.ask(zero), BlockReply::Done);
        rig.write(5 * 4 * CHUNK + 100, &[3; 10]);
        let (members, geometry) = (std::mem::take(&mut rig.members), rig.geometry);
        let mut again = Rig::start(members, geometry);
        assert!(again.read(0, 4 * CHUNK) == vec![Some(0); 4 * CHUNK as usize], "{scheme}");
        assert!(again.read(4 * CHUNK, 4 * CHUNK) == vec![Some(1); 4 * CHUNK as usize], "{scheme}");
        assert!(again.read(12 * CHUNK, 4 * CHUNK) == vec![Some(2); 4 * CHUNK as usize], "{scheme}");
        assert!(again.read(20 * CHUNK + 100, 10) == vec![Some(3); 10], "{scheme}");
        assert!(again.read(20 * CHUNK, 100) == vec![Some(0); 100], "{scheme}");
    }
}

#[test]
fn a_read_only_volume_does_not_call_clean_what_a_crash_left() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &[1; 8 * CHUNK as usize]);
    assert_eq!(rig.ask(BlockRequest::Flush), BlockReply::Done);
    rig.write(0, &[2; CHUNK as usize]);
    let (members, geometry) = (std::mem::take(&mut rig.members), rig.geometry);
    let mut reader = Rig::start_as(members, geometry, VolumeOptions { is_read_only: true, ..VolumeOptions::default() });
    assert_eq!(reader.volume.status().stripes_undecided, 2);
    assert!(reader.read(0, CHUNK) == vec![Some(2); CHUNK as usize]);
    let members = std::mem::take(&mut reader.members);
    assert_eq!(Rig::start(members, geometry).volume.status().stripes_undecided, 0);
}

#[test]
fn a_write_that_was_lost_is_found_by_the_first_read_and_repaired() {
    for scheme in [Scheme::Pure, Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Stamp] {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 4, 2);
        rig.write(0, &[1; 4 * CHUNK as usize]);
        let (member, at) = rig.place(0, 2);
        let old = rig.members[member][at..at + rig.geometry.row_bytes() as usize].to_vec();
        rig.write(2 * CHUNK, &[2; CHUNK as usize]);
        rig.members[member][at..at + old.len()].copy_from_slice(&old);
        assert!(rig.read(2 * CHUNK, CHUNK) == vec![Some(2); CHUNK as usize], "{scheme}");
        assert_eq!(rig.kinds(), [(0, 2, FindingKind::LostWrite, Resolution::Repaired)], "{scheme}");
        assert!(rig.members[member][at..at + CHUNK as usize].iter().all(|&byte| byte == 2), "{scheme}");
        assert_eq!(rig.read(0, 4 * CHUNK).len(), 4 * CHUNK as usize);
        assert_eq!(rig.kinds(), [], "{scheme}");
    }
}

#[test]
fn damage_of_a_misdirected_write_is_repaired_at_its_victim_and_its_target() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![1; 40 * CHUNK as usize]);
    let row_bytes = rig.geometry.row_bytes() as usize;
    let (member, target) = rig.place(1, 3);
    let victim = target + 2 * row_bytes;
    let old_target = rig.members[member][target..target + row_bytes].to_vec();
    rig.write(4 * CHUNK + 3 * CHUNK, &[9; CHUNK as usize]);
    let stray = rig.members[member][target..target + row_bytes].to_vec();
    rig.members[member][target..target + row_bytes].copy_from_slice(&old_target);
    rig.members[member][victim..victim + row_bytes].copy_from_slice(&stray);
    let row = rig.geometry.row_at(MemberOffset(victim as u64)).unwrap();
    let (stripe, slot) = rig.geometry.layout.chunk_at(member, row.get()).unwrap();
    rig.volume.verify(Nanos(rig.now), RequestId(99), StripeIndex(stripe)..StripeIndex(stripe + 1));
    rig.pump();
    assert!(matches!(rig.volume.poll_reply(), Some((RequestId(99), BlockReply::Done))));
    let found = rig.kinds();
    assert_eq!(found.len(), 2, "{found:?}");
    let named = FindingKind::MisdirectedWrite { member: MemberIndex(member), offset: MemberOffset(target as u64) };
    assert_eq!(found[0], (stripe, slot, named, Resolution::Repaired));
    assert_eq!(found[1], (1, 3, FindingKind::LostWrite, Resolution::Repaired));
    assert!(rig.read(7 * CHUNK, CHUNK) == vec![Some(9); CHUNK as usize]);
}

#[test]
fn verifying_a_stripe_reports_whether_it_has_all_of_its_content() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![1; 40 * CHUNK as usize]);
    let verify = |rig: &mut Rig, stripe: u64| {
        rig.volume.verify(Nanos(rig.now), RequestId(99), StripeIndex(stripe)..StripeIndex(stripe + 1));
        rig.pump();
        rig.volume.poll_reply()
    };
    for (damaged, reply) in [(2, BlockReply::Done), (3, BlockReply::Failed(BlockFailure::Io))] {
        for slot in 0..damaged {
            let (member, start) = rig.place(damaged as u64, slot);
            rig.members[member][start..start + CHUNK as usize].fill(0xee);
        }
        assert_eq!(verify(&mut rig, damaged as u64), Some((RequestId(99), reply)), "{damaged} rows of six");
    }
    assert!(rig.volume.is_written(StripeIndex(9)) && !rig.volume.is_written(StripeIndex(10)));
    assert_eq!(verify(&mut rig, 10), Some((RequestId(99), BlockReply::Done)), "it was never written");
}

#[test]
fn lost_members_up_to_m_are_tolerated_and_replaced_and_more_are_an_error() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    let bytes: Vec<u8> = (0..60 * CHUNK as usize).map(|index| (index / 512) as u8).collect();
    let right: Vec<Option<u8>> = bytes.iter().copied().map(Some).collect();
    rig.write(0, &bytes);
    rig.is_gone[1] = true;
    assert!(rig.read(0, bytes.len() as u64) == right);
    rig.is_gone[4] = true;
    assert!(rig.read(0, bytes.len() as u64) == right);
    rig.write(5 * CHUNK, &[77; 512]);
    assert!(rig.read(5 * CHUNK, 512) == vec![Some(77); 512]);
    rig.write(5 * CHUNK, &bytes[5 * CHUNK as usize..5 * CHUNK as usize + 512]);

    rig.is_gone[1] = false;
    rig.members[1].fill(0xaa);
    rig.volume.replace(Nanos(rig.now), MemberIndex(1), Uuid([9; 16]), MEMBER_BYTES);
    rig.pump();
    assert_eq!(rig.volume.status().members[1].0, crate::volume::format::superblock::MemberState::Active);
    rig.is_gone[0] = true;
    assert!(rig.read(0, bytes.len() as u64) == right);
    assert_eq!(rig.kinds(), []);

    rig.is_gone[2] = true;
    let read = rig.read(0, bytes.len() as u64);
    assert!(read.iter().zip(&right).all(|(read, right)| read.is_none() || read == right));
    assert!(read.iter().any(Option::is_none));
    let request = BlockRequest::Write { offset: VolumeOffset(0), data: Buffer::zeroed(512), is_durable: false };
    assert!(matches!(rig.ask(request), BlockReply::Failed(_)));
}

#[test]
fn zeroed_bytes_are_zeros_and_allocation_shows_what_was_written() {
    let mut rig = Rig::new(Scheme::Stamp, LayoutKind::Rotating, 4, 2);
    rig.write(0, &vec![5; 40 * CHUNK as usize]);
    assert_eq!(
        rig.ask(BlockRequest::Zero { offset: VolumeOffset(1000), len: 30 * CHUNK, is_durable: true }),
        BlockReply::Done
    );
    assert!(rig.read(0, 1000) == vec![Some(5); 1000]);
    assert!(rig.read(1000, 30 * CHUNK) == vec![Some(0); 30 * CHUNK as usize]);
    assert!(rig.read(1000 + 30 * CHUNK, CHUNK) == vec![Some(5); CHUNK as usize]);
    let BlockReply::Allocation(runs) = rig.ask(BlockRequest::Allocation { offset: VolumeOffset(0), len: 80 * CHUNK })
    else {
        panic!()
    };
    let runs: Vec<(u64, bool)> = runs.iter().map(|run| (run.len / CHUNK, run.is_written)).collect();
    assert_eq!(runs, [(4, true), (24, false), (12, true), (40, false)]);
}

/// Li & Lee 2014, Table II: the I/Os of the volume itself, counted at its members.
#[test]
fn a_small_write_under_stamp_takes_as_many_ios_as_in_a_bare_array() {
    for scheme in [Scheme::None, Scheme::Stamp] {
        let mut rig = Rig::new(scheme, LayoutKind::Rotating, 4, 2);
        rig.write(0, &vec![5; 40 * CHUNK as usize]);
        rig.write(0, &[6; CHUNK as usize]);
        rig.ops = 0;
        rig.write(0, &[7; CHUNK as usize]);
        assert_eq!(rig.ops, 6, "{scheme}");
        rig.ops = 0;
        rig.read(0, CHUNK);
        assert_eq!(rig.ops, if scheme == Scheme::None { 1 } else { 2 }, "{scheme}");
    }
}

#[test]
fn without_versions_the_bytes_in_the_version_field_are_ignored() {
    let mut rig = Rig::new(Scheme::Pure, LayoutKind::Rotating, 1, 2);
    rig.write(0, &[3; CHUNK as usize]);
    let (member, at) = rig.place(0, 0);
    let row_bytes = rig.geometry.row_bytes() as usize;
    rig.members[member][at + CHUNK as usize..at + row_bytes].fill(0xff);
    assert!(rig.read(0, CHUNK) == vec![Some(3); CHUNK as usize]);
}

#[test]
fn no_write_is_acknowledged_before_a_members_failure_is_durably_recorded() {
    for scheme in [Scheme::None, Scheme::Stamp] {
        let mut rig = Rig::new(scheme, LayoutKind::Raid1, 1, 1);
        rig.write(0, &[1; CHUNK as usize]);
        rig.volume.fail(Nanos(rig.now), MemberIndex(0));
        let data = Buffer::copy_of(&[2; CHUNK as usize]);
        rig.volume.submit(
            Nanos(rig.now),
            RequestId(99),
            BlockRequest::Write { offset: VolumeOffset(0), data, is_durable: false },
        );
        let starts = Superblock::offsets(MEMBER_BYTES).unwrap();
        let is_superblock = |kind: &OpKind| matches!(kind, OpKind::Write { offset, .. } if starts.contains(offset));
        // Everything is done except the writes of superblocks.
        let (mut held, mut rows_written) = (Vec::new(), 0);
        while let Some(op) = rig.volume.poll_op(Nanos(rig.now)) {
            if is_superblock(&op.kind) {
                held.push(op);
                continue;
            }
            let first = rig.geometry.chunk_offset(RowIndex(0));
            rows_written += usize::from(matches!(&op.kind, OpKind::Write { offset, .. } if *offset == first));
            let buffer = match op.kind {
                OpKind::Read { offset, mut buffer } => {
                    let len = buffer.len();
                    buffer.copy_from_slice(
                        &rig.members[op.member.get()][offset.get() as usize..offset.get() as usize + len],
                    );
                    Some(buffer)
                }
                OpKind::Write { buffer, .. } => Some(buffer),
                _ => None,
            };
            rig.volume.handle(Nanos(rig.now), MemberOpDone { id: op.id, buffer, result: Ok(()) });
        }
        assert_eq!((rows_written, rig.volume.poll_reply()), (1, None), "{scheme}");
        for op in held {
            let OpKind::Write { buffer, .. } = op.kind else { unreachable!() };
            rig.volume.handle(Nanos(rig.now), MemberOpDone { id: op.id, buffer: Some(buffer), result: Ok(()) });
        }
        rig.pump();
        assert!(matches!(rig.volume.poll_reply(), Some((RequestId(99), BlockReply::Done))), "{scheme}");
    }
}
