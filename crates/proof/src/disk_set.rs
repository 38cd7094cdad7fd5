//! All disks of an array: their operations under way, when these end, and how.

mod in_place;
mod recovered;
mod rows;

use crate::fault_budget::{DamageKind, FaultBudget, Row};
use crate::faults::{FaultInjector, InjectedFault};
use crate::member_metadata;
use crate::trace::StormLog;
use scrubjay_core::index::{MemberIndex, RowIndex};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::{MemberOffset, Nanos};
use scrubjay_core::volume::format::geometry::Geometry;
use scrubjay_core::volume::member::{DiskFault, MemberOp, MemberOpDone, OpKind};
use scrubjay_sim::member_disk::array;
use scrubjay_sim::member_disk::{CrashSurvival, Discarded, MemberDisk, WriteFate};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::ops::Range;

/// The first bytes of a chunk that the volume marked as lost (docs/format.md).
const LOST_MARK: &[u8] = b"Lost: what volume ";

/// The distribution of operation times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpLatency {
    /// The least time of an operation.
    pub least: Nanos,
    /// The width of the uniform distribution that is added to `least`.
    pub spread: Nanos,
    /// Probability that an operation takes fifty times as long (0 to 1).
    pub slow: f64,
}

/// The disks, their operations under way, and their faults.
pub struct DiskSet {
    geometry: Geometry,
    /// By member index.
    pub disks: Vec<MemberDisk>,
    /// Decides which further faults are allowed.
    pub fault_budget: FaultBudget,
    /// By member: until this time it may still be taken out for an operation that it refused, or (`Nanos::MAX`) because it hangs.
    pub suspected: Vec<Nanos>,
    /// All faults ever planted, by row.
    pub planted: BTreeMap<Row, Vec<InjectedFault>>,
    /// Rows hit by a fault since they were last read whole: the volume cannot know of that fault.
    pub unseen: BTreeSet<Row>,
    /// Damage to metadata, outside of the rows: member, and byte range.
    pub blighted: Vec<(usize, Range<u64>)>,
    /// Rows that a fault silently hit while a crash had left their stripe half written and not resynced: what they hold
    /// cannot be decided. The caller takes them out.
    pub undecidable: Vec<Row>,
    /// Counts of faults and operations.
    pub tally: DiskTally,
    injector: FaultInjector,
    latency: OpLatency,
    rng: Rng,
    under_way: Vec<Option<UnderWay>>,
    /// The disk that hangs. `held`: the operations that it has begun since, as indices in `under_way`.
    hung: Option<usize>,
    held: Vec<usize>,
    /// Does the hung disk still end reads?
    still_reads: bool,
    /// Does the volume still wait for the hung disk, as of the last [`DiskSet::hold_up`]?
    is_held_up: bool,
    ends: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
    started: u64,
    trace: StormLog,
}

/// Counts of what the disks did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskTally {
    /// Faults planted (count).
    pub faults: u64,
    /// Operations that ended (count).
    pub ops: u64,
    /// A hash of all operations and the order of their ends: equal runs have equal hashes.
    pub mark: u64,
}

struct UnderWay {
    op: MemberOp,
    /// For a flush: which of the disk's writes it covers (`MemberDisk::flush_mark`).
    mark: u64,
    /// The incarnation of the disk that it was submitted to.
    incarnation: u64,
}

impl DiskSet {
    /// A set of these disks, with nothing under way.
    pub fn new(
        geometry: Geometry,
        disks: Vec<MemberDisk>,
        fault_budget: FaultBudget,
        injector: FaultInjector,
        latency: OpLatency,
        rng: Rng,
        trace: StormLog,
    ) -> DiskSet {
        DiskSet {
            geometry,
            suspected: vec![Nanos::ZERO; disks.len()],
            disks,
            fault_budget,
            planted: BTreeMap::new(),
            unseen: BTreeSet::new(),
            blighted: Vec::new(),
            undecidable: Vec::new(),
            tally: DiskTally::default(),
            injector,
            latency,
            rng,
            under_way: Vec::new(),
            hung: None,
            held: Vec::new(),
            still_reads: false,
            is_held_up: false,
            ends: BinaryHeap::new(),
            started: 0,
            trace,
        }
    }

    /// Begins an operation.
    ///
    /// # Panics
    /// When the contract of `core::volume::member` is broken: the bytes are not whole blocks, reach beyond the disk's
    /// end, or overlap another operation under way, one of the two being a write.
    pub fn start(&mut self, now: Nanos, op: MemberOp) {
        self.trace.log(now, || format!("    {}", describe(&op)));
        let disk = &self.disks[op.member.get()];
        if let Some(range) = range(&op.kind) {
            let block = disk.block_bytes() as u64;
            let is_whole = range.start.is_multiple_of(block) && range.end.is_multiple_of(block);
            assert!(is_whole && range.start < range.end && range.end <= disk.bytes(), "not blocks: {}", describe(&op));
            let is_clash = |other: &&UnderWay| other.incarnation == disk.incarnation && clashes(&other.op, &op);
            let clash = self.under_way.iter().flatten().find(is_clash);
            assert!(
                clash.is_none(),
                "together on the same bytes: {} and {}",
                describe(&clash.unwrap().op),
                describe(&op)
            );
        }
        let OpLatency { least, spread, slow } = self.latency;
        let mut takes = least.0 + self.rng.below(spread.0 + 1);
        if self.rng.uniform() < slow {
            takes *= 50;
        }
        let (mark, incarnation) = (disk.flush_mark(), disk.incarnation);
        let is_held =
            self.hung == Some(op.member.get()) && !(self.still_reads && matches!(op.kind, OpKind::Read { .. }));
        let under_way = Some(UnderWay { op, mark, incarnation });
        let place = self.under_way.iter().position(Option::is_none).unwrap_or(self.under_way.len());
        match self.under_way.get_mut(place) {
            Some(free) => *free = under_way,
            None => self.under_way.push(under_way),
        }
        match is_held {
            true => self.held.push(place),
            false => self.ends.push(Reverse((now + Nanos(takes.max(1)), self.started, place))),
        }
        self.started += 1;
    }

    /// When the next operation ends; `None`: none will.
    pub fn next_end(&self) -> Option<Nanos> {
        self.ends.peek().map(|Reverse((time, ..))| *time)
    }

    /// Ends the next operation.
    ///
    /// # Panics
    /// When no operation is due to end.
    pub fn end(&mut self) -> MemberOpDone {
        let Reverse((now, _, place)) = self.ends.pop().expect("something is under way");
        let UnderWay { op, mark, incarnation } = self.under_way[place].take().expect("it is under way");
        self.tally.ops += 1;
        self.tally.mark = (self.tally.mark ^ op.id.0 ^ now.0).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        let MemberOp { id, member, kind } = op;
        let is_gone = self.disks[member.get()].is_gone || self.disks[member.get()].incarnation != incarnation;
        let (buffer, result) = match kind {
            OpKind::Read { offset, mut buffer } => {
                let result = if is_gone {
                    Err(DiskFault::Gone)
                } else {
                    self.read(now, member.get(), offset.get(), &mut buffer)
                };
                (Some(buffer), result)
            }
            OpKind::Write { offset, buffer, is_durable } => {
                let result = if is_gone {
                    Err(DiskFault::Gone)
                } else {
                    self.write(now, member.get(), offset.get(), &buffer, is_durable)
                };
                (Some(buffer), result)
            }
            _ if is_gone => (None, Err(DiskFault::Gone)),
            OpKind::Flush => (None, self.flush(now, member.get(), mark)),
            OpKind::Discard { offset, len } => {
                let outcomes = [Discarded::Kept, Discarded::Zeroed, Discarded::Junk];
                self.disks[member.get()].discard(offset.get(), len, outcomes[self.rng.below(3) as usize]);
                (None, Ok(()))
            }
        };
        if let Err(fault) = result {
            self.trace.log(now, || format!("    op {} on disk {member}: {fault:?}", id.0));
        }
        MemberOpDone { id, buffer, result }
    }

    /// Stops all random faults from now on.
    pub fn calm(&mut self) {
        self.injector.end();
    }

    /// Makes a disk hang: it ends none of the operations that it begins from now on, or only reads, as on a frozen file system.
    pub fn hang(&mut self, now: Nanos, member: usize) {
        self.release(now);
        self.still_reads = self.rng.below(3) == 0;
        self.trace.log(now, || format!("DISK {member} HANGS{}", if self.still_reads { ", but for reads" } else { "" }));
        (self.hung, self.suspected[member]) = (Some(member), Nanos::MAX);
        self.lacks(member);
    }

    /// The disk that hangs, if one does.
    pub fn hung(&self) -> Option<usize> {
        self.hung
    }

    /// Ends the hang: the held operations end now.
    pub fn release(&mut self, now: Nanos) {
        for place in std::mem::take(&mut self.held) {
            self.ends.push(Reverse((now + Nanos(1), self.started, place)));
            self.started += 1;
        }
        if let Some(member) = self.hung.take() {
            self.suspected[member] = Nanos::ZERO;
        }
    }

    /// Brings back a disk that was gone, with what it kept.
    pub fn bring_back(&mut self, now: Nanos, survival: CrashSurvival) {
        let Some(member) = self.disks.iter().position(|disk| disk.is_gone) else { return };
        self.trace.log(now, || format!("disk {member} is back"));
        self.disks[member].is_gone = false;
        self.disks[member].crash(&[], survival, &mut self.rng);
    }

    /// Damages metadata of a random member, outside of its rows, if the fault budget allows it.
    pub fn blight(&mut self, now: Nanos) {
        let member = self.rng.below(self.disks.len() as u64) as usize;
        if self.disks[member].is_gone || !self.fault_budget.allows_metadata_damage(&self.disks, member) {
            return;
        }
        let bytes = member_metadata::pick(&self.geometry, &self.disks[member], &mut self.rng);
        let mut damaged = self.disks[member].clone();
        if self.rng.below(2) == 0 {
            damaged.spoil(bytes.start, bytes.end - bytes.start);
        } else {
            let junk: Vec<u8> = bytes.clone().map(|_| self.rng.bits() as u8).collect();
            damaged.strike(bytes.start, &junk);
        }
        // The damage must not make the disk look older than it is.
        let generation = |disk: &MemberDisk| array::superblock(disk).map(|superblock| superblock.generation);
        if generation(&damaged) == generation(&self.disks[member]) {
            self.disks[member] = damaged;
            self.note_blight(now, member, bytes);
        }
    }

    fn note_blight(&mut self, now: Nanos, member: usize, bytes: Range<u64>) {
        self.tally.faults += 1;
        self.trace.log(now, || format!("  FAULT disk {member} at {bytes:?}, beside the rows"));
        self.blighted.push((member, bytes));
    }

    /// Makes some blocks of a random row unreadable, if the fault budget allows it; returns whether it does.
    pub fn spoil(&mut self, now: Nanos) -> bool {
        let (block, row_bytes) = (self.geometry.block_bytes, self.geometry.row_bytes());
        let row = (self.rng.below(self.disks.len() as u64) as usize, self.rng.below(self.geometry.rows));
        let damages = [(row, DamageKind::Failed)];
        let is_allowed = self.fault_budget.stripe(row).is_some() && self.fault_budget.allows(&self.disks, &damages);
        if is_allowed && !self.disks[row.0].is_gone {
            let blocks = row_bytes / block;
            let first = self.rng.below(blocks);
            let len = (1 + self.rng.below(blocks - first)) * block;
            self.disks[row.0].spoil((self.geometry.chunk_offset(RowIndex(row.1)) + first * block).get(), len);
            self.note_faults(now, &damages, &[(row, InjectedFault::Unreadable)]);
        }
        is_allowed
    }

    /// Is a mark of a lost chunk being written?
    pub fn is_marking(&self) -> bool {
        let is_mark = |kind: &OpKind| matches!(kind, OpKind::Write { buffer, .. } if buffer.starts_with(LOST_MARK));
        self.under_way.iter().flatten().any(|under_way| is_mark(&under_way.op.kind))
    }

    /// Picks another disk that from now on loses all writes to its rows, as far as the fault budget allows; or none.
    pub fn forget(&mut self, now: Nanos) {
        let member =
            Some(self.rng.below(self.disks.len() as u64 + 1) as usize).filter(|&member| member < self.disks.len());
        self.trace.log(now, || format!("DISK {member:?} FORGETS"));
        self.injector.forgetful = member;
    }

    /// Crashes all disks: operations under way end in some way or other, without a report. Returns the rows whose content cannot
    /// be decided: in half-written stripes those that are silently corrupt, and those whose versions or parities mislead.
    pub fn crash(&mut self, now: Nanos, survival: CrashSurvival) -> Vec<Row> {
        let mut dirty = Vec::new();
        for (member, disk) in self.disks.iter().enumerate() {
            dirty.extend(disk.unflushed().map(|offset| (member, offset)));
        }
        let under_way = std::mem::take(&mut self.under_way);
        for UnderWay { op, .. } in under_way.iter().flatten() {
            if let OpKind::Write { offset, buffer, .. } = &op.kind {
                let rows = self.injector.rows(op.member.get(), offset.get(), buffer.len() as u64);
                // A stripe is not being written because the volume marks a chunk of it as lost.
                let written = rows.iter().zip(buffer.chunks(self.geometry.row_bytes() as usize));
                let written = written.filter(|(_, bytes)| !bytes.starts_with(LOST_MARK)).map(|(&row, _)| row);
                dirty.extend(written.map(|(disk, row)| (disk, self.geometry.chunk_offset(RowIndex(row)).get())));
            }
        }
        let row = |(disk, offset)| self.geometry.row_at(MemberOffset(offset)).map(|row| (disk, row.get()));
        let mut rows: Vec<Row> = dirty.into_iter().filter_map(row).collect();
        rows.sort_unstable();
        rows.dedup();
        let mut dirty: Vec<u64> = rows.iter().filter_map(|&row| self.fault_budget.stripe(row)).collect();
        dirty.sort_unstable();
        dirty.dedup();
        self.trace.log(now, || format!("CRASH, {survival:?}; dirty stripes {dirty:?}"));
        for (member, disk) in self.disks.iter_mut().enumerate().filter(|(_, disk)| !disk.is_gone) {
            let is_on_this_disk = |under_way: &&UnderWay| {
                under_way.op.member == MemberIndex(member) && under_way.incarnation == disk.incarnation
            };
            let writes: Vec<(u64, &[u8])> = under_way
                .iter()
                .flatten()
                .filter(is_on_this_disk)
                .filter_map(|under_way| match &under_way.op.kind {
                    OpKind::Write { offset, buffer, .. } => Some((offset.get(), &buffer[..])),
                    _ => None,
                })
                .collect();
            disk.crash(&writes, survival, &mut self.rng);
        }
        self.ends.clear();
        self.held.clear();
        self.release(now);
        self.fault_budget.crash(&self.disks, dirty);
        let mut undecidable = self.corrupt(self.fault_budget.dirty().filter(|&stripe| !self.is_proven(stripe)));
        undecidable.extend(self.fault_budget.ambiguous().flat_map(|stripe| self.places(stripe)));
        undecidable.extend(self.fault_budget.dirty().flat_map(|stripe| self.misled(stripe)));
        undecidable
    }

    /// Notes that a member lacks data from now on.
    pub fn lacks(&mut self, member: usize) {
        self.fault_budget.lacks(&self.disks, member);
        self.note_unproven();
    }

    /// Notes that wrong rows of half-written stripes cannot be decided any more, where their proof is gone.
    fn note_unproven(&mut self) {
        let unproven = self.corrupt(self.fault_budget.dirty().filter(|&stripe| !self.is_proven(stripe)));
        self.undecidable.extend(unproven);
    }

    /// Takes a disk away: it does not answer any more.
    pub fn lose(&mut self, now: Nanos, member: usize) {
        self.trace.log(now, || format!("DISK {member} IS GONE"));
        self.disks[member].is_gone = true;
        self.lacks(member);
    }

    /// Puts another disk, or the same one again, in a member's place. What is under way on the old disk ends as gone.
    pub fn exchange(&mut self, now: Nanos, member: usize) {
        self.trace.log(now, || format!("disk {member} is exchanged"));
        let old = &self.disks[member];
        let bytes = self.geometry.member_bytes + [0, 0, 4096, 65_536][self.rng.below(4) as usize];
        let mut disk = match self.rng.below(3) {
            // The same disk, as it is.
            0 if !old.is_gone => old.clone(),
            _ => MemberDisk::new(self.rng.bits(), old.block_bytes(), bytes),
        };
        disk.incarnation = old.incarnation + 1;
        if self.hung == Some(member) {
            self.release(now);
        }
        self.disks[member] = disk;
        self.lacks(member);
    }

    /// Pulls a disk and puts it in again: what is under way on it ends as gone, and its cache loses power.
    pub fn put_back(&mut self, now: Nanos, member: usize) {
        self.disks[member].crash(&[], CrashSurvival::Blocks(0.5), &mut self.rng);
        self.disks[member].incarnation += 1;
        if self.hung == Some(member) {
            self.release(now);
        }
    }

    fn read(&mut self, now: Nanos, member: usize, offset: u64, buffer: &mut [u8]) -> Result<(), DiskFault> {
        let len = buffer.len() as u64;
        let stray = self.injector.stray((member, offset, len), &self.disks, &self.fault_budget);
        if let Some((disk, at)) = stray {
            let row = (member, self.geometry.row_at(MemberOffset(offset)).expect("only reads of rows go astray").get());
            self.fault_budget.note_read(row, false);
            self.note_faults(now, &[], &[(row, InjectedFault::Misread)]);
            return self.disks[disk].read(at, buffer);
        }
        // An appendix read alone proves nothing about its content.
        if len >= self.geometry.row_bytes() {
            for row in self.injector.rows(member, offset, len) {
                self.fault_budget.note_read(row, true);
                self.unseen.remove(&row);
            }
        }
        self.disks[member].read(offset, buffer)
    }

    /// Writes that a failing flush should cover may be lost: [`DiskSet::put_back`].
    fn flush(&mut self, now: Nanos, member: usize, mark: u64) -> Result<(), DiskFault> {
        if !self.injector.refuses(member, &self.disks, &self.fault_budget) {
            self.disks[member].flushed(mark);
            return Ok(());
        }
        self.suspect(now, member);
        Err(DiskFault::Medium)
    }

    /// Notes that this member refused an operation, and may be taken out for it for a while.
    fn suspect(&mut self, now: Nanos, member: usize) {
        self.suspected[member] = now + self.patience();
        self.lacks(member);
    }

    /// The time within which the volume has learnt of every refused operation: a thousand times the greatest normal latency.
    fn patience(&self) -> Nanos {
        let OpLatency { least, spread, .. } = self.latency;
        Nanos(1000 * (least.0 + spread.0))
    }

    /// Notes whether the volume still waits for the hung disk (`is_now`). Until it takes that disk out, it learns
    /// nothing of the other operations in a group with one of that disk's: so current suspicions are extended.
    pub fn hold_up(&mut self, now: Nanos, is_now: bool) {
        if !std::mem::replace(&mut self.is_held_up, is_now) && !is_now {
            return;
        }
        let until = now + self.patience();
        for (slot, suspected) in self.suspected.iter_mut().enumerate() {
            if *suspected != Nanos::ZERO && self.fault_budget.lacking[slot] {
                *suspected = (*suspected).max(until);
            }
        }
    }

    fn write(
        &mut self,
        now: Nanos,
        member: usize,
        offset: u64,
        data: &[u8],
        is_durable: bool,
    ) -> Result<(), DiskFault> {
        if self.geometry.row_at(MemberOffset(offset)).is_none() {
            if self.injector.refuses(member, &self.disks, &self.fault_budget) {
                self.suspect(now, member);
                return Err(DiskFault::Medium);
            }
            let len = data.len() as u64;
            let fate = self.injector.harm_metadata(member, len, &self.disks, &self.fault_budget);
            self.disks[member].write(offset, data, is_durable, fate);
            if fate != WriteFate::HONEST {
                self.note_blight(now, member, offset..offset + len);
            }
            return Ok(());
        }
        let harm = self.injector.harm((member, offset, data), is_durable, &self.disks, &self.fault_budget);
        if harm.is_refused {
            self.disks[member].spoil(offset, data.len() as u64);
            self.suspect(now, member);
        } else {
            self.disks[member].write(offset, data, is_durable, harm.fate);
        }
        if data.len() as u64 >= self.geometry.row_bytes() {
            self.injector
                .rows(member, offset, data.len() as u64)
                .into_iter()
                .for_each(|row| self.fault_budget.note_write(row));
        }
        if let Some((target, at)) = harm.strikes.filter(|&(target, _)| !self.disks[target].is_gone) {
            self.disks[target].strike(at, data);
        }
        if !harm.planted.is_empty() {
            self.note_faults(now, &harm.damages, &harm.planted);
        }
        if harm.is_refused { Err(DiskFault::Medium) } else { Ok(()) }
    }

    fn note_faults(&mut self, now: Nanos, damages: &[(Row, DamageKind)], planted: &[(Row, InjectedFault)]) {
        self.tally.faults += 1;
        for &(row, kind) in planted {
            let stripe = self.fault_budget.stripe(row);
            let offset = self.geometry.chunk_offset(RowIndex(row.1));
            self.trace.log(now, || {
                format!("  FAULT disk {} at {offset} (row {}, stripe {stripe:?}): {kind:?}", row.0, row.1)
            });
            self.planted.entry(row).or_default().push(kind);
            if kind.leaves_old_appendix() {
                self.fault_budget.note_old_version(row);
            }
        }
        self.unseen.extend(damages.iter().map(|&(row, _)| row));
        let is_silent = |&&(row, damage): &&(Row, DamageKind)| {
            damage != DamageKind::Failed && self.fault_budget.is_half_written(row)
        };
        self.undecidable.extend(damages.iter().filter(is_silent).map(|&(row, _)| row));
        self.fault_budget.note(now, &self.disks, damages);
        if damages.iter().any(|&(_, damage)| damage == DamageKind::Failed) {
            self.note_unproven();
        }
    }
}

/// The bytes that an operation reads, writes or discards.
fn range(kind: &OpKind) -> Option<Range<u64>> {
    match kind {
        OpKind::Read { offset, buffer } | OpKind::Write { offset, buffer, .. } => {
            Some(offset.get()..offset.get() + buffer.len() as u64)
        }
        OpKind::Discard { offset, len } => Some(offset.get()..offset.get() + len),
        OpKind::Flush => None,
    }
}

fn clashes(one: &MemberOp, other: &MemberOp) -> bool {
    let is_read = |op: &MemberOp| matches!(op.kind, OpKind::Read { .. });
    match (range(&one.kind), range(&other.kind)) {
        (Some(a), Some(b)) => {
            one.member == other.member && a.start < b.end && b.start < a.end && !(is_read(one) && is_read(other))
        }
        _ => false,
    }
}

fn describe(op: &MemberOp) -> String {
    let verb = match &op.kind {
        OpKind::Read { .. } => "read",
        OpKind::Write { is_durable: true, .. } => "write, durable",
        OpKind::Write { .. } => "write",
        OpKind::Flush => "flush",
        OpKind::Discard { .. } => "discard",
    };
    let place = range(&op.kind).map_or(String::new(), |range| format!(" {}+{}", range.start, range.end - range.start));
    format!("op {} on disk {}: {verb}{place}", op.id.0, op.member)
}
