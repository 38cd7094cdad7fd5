//! What all tasks of a volume share: its numbers, its members, its maps, and the queues to and from its pump.

use super::cache::Cache;
use super::disk::PlacedDisk;
use super::finding::VolumeFinding;
use super::intents::Intents;
use super::locks::Locks;
use super::lost::LostMark;
use super::ops::Groups;
use super::options::{SeededBug, VolumeOptions};
use super::read_status::ReadStatus;
use super::tasks::{Task, TaskId};
use super::unflushed::Unflushed;
use super::unsynced::UnsyncedRegions;
use super::writes::Writes;

use crate::buffer::{Buffer, Pool};
use crate::index::{RegionIndex, RowIndex, StripeIndex, StripePosition, indexed};
use crate::layout::Shape;
use crate::position_set::{MemberSet, PositionSet};
use crate::units::Nanos;
use crate::volume::block::{BlockReply, RequestId};
use crate::volume::format::bits::Bits;
use crate::volume::format::geometry::Geometry;
use crate::volume::format::superblock::MemberState;
use crate::volume::format::superblock::Superblock;
use crate::volume::integrity::tag::{ListEntry, RowIdentity, Version};
use crate::volume::member::{MemberIndex, MemberOp};
use scrubjay_code::Code;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// Records that nobody has taken yet; beyond these they are only counted.
const RECORDS_MAX: usize = 4096;

/// Lists of tasks that wait for something of the volume's to change; each looks again when it is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitList {
    /// For the volume to be open.
    Open,
    /// For the superblock that was asked for to be durable.
    Superblock,
    /// For a page of the intents to be durable.
    Intent,
    /// For a round of flushing to be over.
    Flush,
    /// For the end of writes that were under way.
    Idle,
}

const QUEUES: usize = 5;

/// So many deadlines long one operation may take while the same disk ends others: a long queue is no disk that hangs.
const PATIENCE: u64 = 10;

/// Where the volume is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VolumePhase {
    /// It reads its maps, and resyncs what a crash left.
    Opening,
    /// It serves.
    Open,
    /// It takes no requests any more.
    Stopping,
    /// Nothing is under way, and nothing will be.
    Stopped,
}

/// How much of a thing that is made durable in rounds is wanted, and how much is done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    pub wanted: u64,
    pub done: u64,
    pub is_running: bool,
}

/// A member, as the volume deals with it.
#[derive(Clone, Debug)]
pub(super) struct VolumeMember {
    pub state: MemberState,
    /// Do the others' superblocks not know yet that it is the one in this place?
    pub is_joining: bool,
    /// The newest generation of superblocks that it is known to have.
    pub generation_known: u64,
    /// Are the intents and the written map on it? It gets no superblock before: what else lies in their places may be those
    /// of another time.
    pub has_maps: bool,
    /// While one is rebuilt that was the same member before: the regions that were written since; it holds all others.
    pub lacks: Option<Bits<RegionIndex>>,
    /// While it is rebuilt: stripes behind `stripes_done` that it holds already.
    pub ahead: BTreeSet<StripeIndex>,
    /// Of its `stripes_done`, those that it may be said to hold: the written map is durable as it was when they were done.
    pub stripes_vouched: u64,
    /// When faults were located on it, the last few.
    pub faults: VecDeque<Nanos>,
    /// The row of the last one.
    pub fault_row: Option<RowIndex>,
    /// What may still be lost with its disk's cache.
    pub cache: Cache,
}

indexed!(MemberIndex: VolumeMember);

pub(super) struct VolumeState {
    pub now: Nanos,
    pub current: TaskId,
    pub ready: VecDeque<TaskId>,
    pub spawned: Vec<Task>,
    /// Operations that the pump has not taken yet, each with the disk that it is meant for.
    pub out: VecDeque<(PlacedDisk, MemberOp)>,
    pub groups: Groups,
    /// When it was last looked whether an operation takes too long.
    pub looked_at: Nanos,
    pub timers: BinaryHeap<Reverse<(Nanos, TaskId)>>,
    pub parked: [Vec<TaskId>; QUEUES],
    pub replies: VecDeque<(RequestId, BlockReply)>,
    pub pool: Pool,
    pub records: VecDeque<VolumeFinding>,
    pub records_dropped: u64,

    pub options: VolumeOptions,
    pub life: VolumePhase,
    /// Are more members gone than it can do without? From then on what can still be read is read, nothing is written.
    pub is_broken: bool,
    pub geometry: Geometry,
    pub code: Code,
    pub array: u64,
    pub superblock: Superblock,
    /// As it was last written.
    pub superblock_written: Option<Superblock>,
    pub superblock_rounds: Rounds,
    pub members: Vec<VolumeMember>,
    pub write_number: u64,
    /// Numbers below this are reserved, durably.
    pub write_numbers_end: u64,

    pub locks: Locks,
    pub writes: Writes,
    pub read_status: ReadStatus,
    pub unflushed: Unflushed,
    pub flush_rounds: Rounds,
    pub written: Bits<StripeIndex>,
    pub written_generations: Vec<u64>,
    /// What was written before, and is not in the map, was forgotten: see `Page::since` of the format.
    pub written_sinces: Vec<u64>,
    pub written_changed: BTreeSet<u64>,
    /// Pages whose two places may say different things.
    pub written_once: BTreeSet<u64>,
    /// Is the next round of flushing to make both places of every page say the same?
    pub writes_twice: bool,
    pub intents: Intents,
    /// Stripes that a crash may have left half written, in a volume that is open for reading only: nobody resyncs them.
    pub unresolved: BTreeSet<StripeIndex>,
    /// Stripes that a crash may have left half written, and that nobody looked at since.
    pub unsynced: UnsyncedRegions,
    /// The members that took part in the last start: only they know of intents and of the map.
    pub abreast: MemberSet,
    /// Requests that were taken and not replied to, and whatever else may write: stopping waits for it.
    pub requests: usize,
    /// Members that are being taken in, and have no disk in use yet.
    pub joining: MemberSet,
    /// Disks that are being rebuilt.
    pub rebuilds: BTreeSet<PlacedDisk>,
    /// Stripes to be looked at: a misdirected write named them as its true target.
    pub suspects: Vec<StripeIndex>,
}

impl VolumeState {
    /// Is this mistake to be made?
    #[cfg(feature = "planted")]
    pub fn is_planted(&self, mistake: SeededBug) -> bool {
        self.options.planted == Some(mistake)
    }

    /// No mistake is made on purpose.
    #[cfg(not(feature = "planted"))]
    pub const fn is_planted(&self, _: SeededBug) -> bool {
        false
    }

    /// Is it open, and not broken?
    pub fn is_serving(&self) -> bool {
        self.life == VolumePhase::Open && !self.is_broken
    }

    /// May anything be written?
    pub fn is_writable(&self) -> bool {
        !self.options.is_read_only && !self.is_broken
    }

    /// How many of the data and parity chunks a stripe has.
    pub fn shape(&self) -> Shape {
        self.geometry.layout.shape()
    }

    pub fn chunk_bytes(&self) -> usize {
        self.geometry.chunk_bytes as usize
    }

    pub fn row_bytes(&self) -> usize {
        self.geometry.row_bytes() as usize
    }

    /// The physical identity of a row, and where on its member it lies.
    pub fn identity(&self, stripe: StripeIndex, position: StripePosition) -> RowIdentity {
        let place = self.geometry.place(stripe, position);
        RowIdentity { array: self.array, member: place.member, row: place.row, role: position }
    }

    /// What says that this data chunk was lost.
    pub fn mark(&self, stripe: StripeIndex, position: StripePosition) -> LostMark {
        LostMark { array: self.array, stripe, position }
    }

    /// An entry as it is written: where no version is, none.
    pub fn sealed(&self, entry: ListEntry) -> ListEntry {
        if self.geometry.scheme.has_versions() { entry } else { ListEntry { version: Version(0), ..entry } }
    }

    /// Does this chunk, in a scheme whose rows have no version to say so, say that it was lost?
    pub fn is_marked(&self, stripe: StripeIndex, position: StripePosition, chunk: &[u8]) -> bool {
        !self.geometry.scheme.has_versions() && self.mark(stripe, position).is_in(chunk)
    }

    /// Were so many faults located on this member of late that it should be replaced?
    pub fn is_unreliable(&self, member: MemberIndex) -> bool {
        let VolumeOptions { faults_max, faults_window, .. } = self.options;
        let is_late = |at: &&Nanos| at.saturating_add(faults_window) >= self.now;
        self.members[member].faults.iter().filter(is_late).count() >= faults_max
    }

    /// Does this member hold this stripe?
    pub fn holds(&self, member: MemberIndex, stripe: StripeIndex) -> bool {
        match self.members[member].state {
            MemberState::Active => true,
            MemberState::Rebuilding { stripes_done } => {
                let VolumeMember { ahead, lacks, .. } = &self.members[member];
                let is_kept = |lacks: &Bits<RegionIndex>| !lacks.get(self.geometry.region_of(stripe));
                stripe.get() < stripes_done || ahead.contains(&stripe) || lacks.as_ref().is_some_and(is_kept)
            }
            MemberState::Failed(_) | MemberState::Missing => false,
        }
    }

    /// Is there a disk behind this member, to be kept up to date?
    pub fn is_attached(&self, member: MemberIndex) -> bool {
        matches!(self.members[member].state, MemberState::Active | MemberState::Rebuilding { .. })
    }

    /// Is any member out, or is what took its place not known to the others yet? After a crash it is out as before then.
    pub fn is_anybody_out(&self) -> bool {
        MemberIndex::first(self.members.len())
            .any(|member| !self.is_attached(member) || self.members[member].is_joining)
    }

    /// The disk that is in a member's place now.
    pub fn disk(&self, member: MemberIndex) -> PlacedDisk {
        PlacedDisk { member, term: self.superblock.members[member].term }
    }

    /// Is this disk still in its place, and in use?
    pub fn is_current(&self, disk: PlacedDisk) -> bool {
        self.disk(disk.member) == disk && self.is_attached(disk.member)
    }

    /// All members with a disk.
    pub fn attached(&self) -> Vec<MemberIndex> {
        MemberIndex::first(self.members.len()).filter(|&member| self.is_attached(member)).collect()
    }

    /// The positions of a stripe whose members do not hold it.
    pub fn missing(&self, stripe: StripeIndex) -> PositionSet {
        if self.members.iter().all(|member| member.state == MemberState::Active) {
            return PositionSet::NONE;
        }
        let member = |position| self.geometry.place(stripe, position).member;
        self.shape().positions().filter(|&position| !self.holds(member(position), stripe)).collect()
    }

    /// When to look again whether an operation takes too long.
    pub fn next_look(&self) -> Nanos {
        self.looked_at.saturating_add(Nanos(self.options.op_deadline.0 / 4))
    }

    /// Disks in use that owe an answer for longer than they may, and gave none to anything of its kind meanwhile.
    pub fn overdue(&self) -> Vec<PlacedDisk> {
        let Some(before) = self.now.0.checked_sub(self.options.op_deadline.0) else { return Vec::new() };
        let long_before = self.now.0.saturating_sub(PATIENCE * self.options.op_deadline.0);
        self.groups
            .overdue(Nanos(before), Nanos(long_before))
            .into_iter()
            .filter(|&disk| self.is_current(disk))
            .collect()
    }

    /// Disks that hang, and are to be let go; from time to time. When more of them hang at once than can be spared, it is
    /// not the disks that are to blame; nor where nobody has looked for long: this program itself was stopped.
    pub fn hung(&mut self) -> Vec<PlacedDisk> {
        if self.groups.is_idle() {
            self.looked_at = self.now;
        }
        if self.now < self.next_look() {
            return Vec::new();
        }
        let late = self.now.0 - self.looked_at.0;
        self.looked_at = self.now;
        if late > self.options.op_deadline.0 / 2 {
            self.groups.excuse(self.now);
            return Vec::new();
        }
        let hung = self.overdue();
        let members: MemberSet = hung.iter().map(|disk| disk.member).collect();
        if self.can_spare_all(members) { hung } else { Vec::new() }
    }

    /// Would the volume still hold everything without this member? (Not whether it does now.)
    pub fn can_spare(&self, member: MemberIndex) -> bool {
        self.can_spare_all(MemberSet::one(member))
    }

    fn can_spare_all(&self, members: MemberSet) -> bool {
        let gone = |member: MemberIndex| members.contains(member) || self.members[member].state != MemberState::Active;
        let period = self.geometry.layout.period().min(self.geometry.stripes);
        StripeIndex::first(period).all(|stripe| {
            self.shape().positions().filter(|&position| gone(self.geometry.place(stripe, position).member)).count()
                <= self.shape().parity
        })
    }

    /// The number of a data chunk in the read-status map.
    pub fn chunk(&self, stripe: StripeIndex, position: StripePosition) -> u64 {
        stripe.get() * self.shape().data as u64 + position.get() as u64
    }

    /// Data chunks of a stripe that a read, asked for now, gets from the medium itself: everything written to them was
    /// flushed.
    pub fn flushed(&self, stripe: StripeIndex) -> PositionSet {
        let is_blind = self.is_planted(SeededBug::SetReadBitWithoutFlush);
        self.shape()
            .data_positions()
            .filter(|&position| is_blind || !self.unflushed.contains(self.chunk(stripe, position)))
            .collect()
    }

    /// Is all of this region resynced?
    pub fn is_decided(&self, region: RegionIndex) -> bool {
        !self.unsynced.has(region) || self.is_planted(SeededBug::CleanUnsettled)
    }

    /// Does what a crash left in the stripes of this page of the written map keep it from calling anything forgotten? A first
    /// write that the map does not know of is found by its version, as long as that is not less than the page's `since`.
    pub fn is_held_back(&self, page: u64) -> bool {
        let stripes = self.geometry.stripes_of_page(page);
        let last = StripeIndex(stripes.end.get() - 1);
        let regions = self.geometry.region_of(stripes.start)..=self.geometry.region_of(last);
        self.geometry.scheme.has_versions() && self.unsynced.has_any(regions)
    }

    /// May this stripe be half written, and did nobody look at it since the start?
    pub fn needs_resync(&self, stripe: StripeIndex) -> bool {
        let region = self.geometry.region_of(stripe);
        self.unsynced.contains(region, stripe - self.geometry.stripes_of_region(region).start)
    }

    /// Is it not known what this stripe should hold?
    pub fn is_undecided(&self, stripe: StripeIndex) -> bool {
        self.unresolved.contains(&stripe) || self.needs_resync(stripe)
    }

    /// A row was read, which was resynced before that, and its content is right: the medium has it.
    pub fn note_read(&mut self, stripe: StripeIndex, position: StripePosition) {
        let chunk = self.chunk(stripe, position);
        self.read_status.set(chunk);
    }

    /// All rows of a stripe are written: from the next flush on the written map says so.
    pub fn note_written(&mut self, stripe: StripeIndex) {
        if !self.written.get(stripe) {
            self.written.set(stripe, true);
            self.written_changed.insert(self.geometry.written_page_of(stripe));
        }
    }

    pub fn note_write(&mut self, stripe: StripeIndex, position: StripePosition) {
        let chunk = self.chunk(stripe, position);
        self.read_status.clear(chunk);
        self.unflushed.insert(chunk);
    }

    /// The stripe that the row at this place of a member belongs to is to be looked at.
    pub fn suspect(&mut self, member: MemberIndex, offset: u64) {
        let row = self.geometry.row_at(offset).filter(|_| member.get() < self.members.len());
        let stripe = row.and_then(|row| self.geometry.chunk_at(member, row)).map(|(stripe, _)| stripe);
        self.suspects.extend(stripe.filter(|stripe| self.geometry.all_stripes().contains(stripe)));
    }

    pub fn record(&mut self, record: VolumeFinding) {
        if self.records.len() == RECORDS_MAX {
            self.records.pop_front();
            self.records_dropped += 1;
        }
        self.records.push_back(record);
    }

    pub fn park(&mut self, queue: WaitList) {
        let task = self.current;
        self.parked[queue as usize].push(task);
    }

    /// Lets all that wait in a queue look again.
    pub fn wake(&mut self, queue: WaitList) {
        let VolumeState { parked, ready, .. } = self;
        ready.extend(parked[queue as usize].drain(..));
    }

    pub fn recycle(&mut self, buffers: impl IntoIterator<Item = Buffer>) {
        buffers.into_iter().for_each(|buffer| self.pool.give(buffer));
    }
}
