//! The fault_budget of faults: keeps what is wrong within what a volume must survive, and knows where less is asked of it.
//!
//! In a stripe, at any time, at most one chunk is silently corrupt, and then at most m - 1 others have failed (their
//! member is missing, or they cannot be read); with none silently corrupt, at most m have (Li & Lee 2014, section
//! II-B). Over the budget, anything goes that cannot pass for an older state of the stripe: a write that was lost in
//! one chunk too many is one that never was, and no array can know. With one data chunk and no versions there is a witness less,
//! and m is one less where one is silently corrupt.
//!
//! A crash in the middle of the writes of a stripe is no fault. But a stripe that is dirty when the volume crashes, and
//! has anything wrong at that time (or until it is resynced), may lose chunks: what is missing or corrupt cannot be told
//! from what was half written. There `Lost` is legal within the budget; and nowhere else, but for the exceptions in
//! [`super`] (Hybrid-1's versions, a bare array's dirty regions).

use crate::beside;
use scrubjay_core::index::RowIndex;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::format::geometry::Geometry;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_sim::member_disk::MemberDisk;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A row of a member.
pub type Row = (usize, u64);

/// What is to happen to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// It will look whole, and be old.
    Stale,
    /// It will be wrong, and say so itself, if rows of this scheme say anything.
    Corrupt,
    /// It will be unreadable.
    Failed,
}

/// Where what is wrong, and what is allowed to be.
#[derive(Clone, Debug)]
pub struct FaultBudget {
    geometry: Geometry,
    is_over_budget: bool,
    /// Members that do not hold all that they should: missing, or being rebuilt.
    pub lacking: Vec<bool>,
    /// Rows whose last write is silently not what they hold, some of it or all.
    stale: BTreeSet<Row>,
    /// Rows that are wrong, or may be, although no block of the disk is any more: since when, and were they read since?
    /// What is reckoned from a stale parity is as stale, and says so in its list. And where a data row carries a copy of
    /// its neighbour's sum, its appendix is read and written alone, whatever the content beside it is.
    handed_on: BTreeMap<Row, (Nanos, bool)>,
    /// Rows of which a read just returned another place's bytes, by stripe, until they are read again.
    misread: BTreeMap<u64, usize>,
    /// Stripes that a crash found dirty, and that are not resynced yet.
    dirty: BTreeSet<u64>,
    /// Stripes that any crash found dirty.
    ever_dirty: BTreeSet<u64>,
    /// Stripes whose chunks may be lost.
    losable: BTreeSet<u64>,
    /// Data rows under Hybrid-1 whose version is older than that of their last write,
    behind: BTreeSet<Row>,
    /// and the stripes of those that were then written over: the next version was counted from the old one, and names two
    /// contents. Without a crash the other rows tell them apart; of a half-written stripe nothing does.
    recounted: BTreeSet<u64>,
}

impl FaultBudget {
    /// Of an array with nothing wrong.
    pub fn new(geometry: Geometry, is_over_budget: bool) -> FaultBudget {
        let lacking = vec![false; geometry.layout.disks()];
        FaultBudget {
            geometry,
            is_over_budget,
            lacking,
            stale: BTreeSet::new(),
            handed_on: BTreeMap::new(),
            misread: BTreeMap::new(),
            dirty: BTreeSet::new(),
            ever_dirty: BTreeSet::new(),
            losable: BTreeSet::new(),
            behind: BTreeSet::new(),
            recounted: BTreeSet::new(),
        }
    }

    /// May all these blows fall at once?
    pub fn allows(&self, disks: &[MemberDisk], blows: &[(Row, Blow)]) -> bool {
        let mut stripes: Vec<u64> = blows.iter().filter_map(|&(row, _)| self.stripe(row)).collect();
        stripes.sort_unstable();
        stripes.dedup();
        stripes.into_iter().all(|stripe| self.bears(disks, stripe, blows, &self.lacking))
    }

    /// May what lies beside the rows of this member be damaged? See [`beside`].
    pub fn allows_beside(&self, disks: &[MemberDisk], member: usize) -> bool {
        if self.lacking[member] {
            return false;
        }
        let is_active = |&other: &usize| !self.lacking[other] && !disks[other].is_gone;
        let whole = (0..disks.len()).filter(|other| *other != member && is_active(other));
        let mut whole = whole.filter(|&other| beside::is_whole(&self.geometry, &disks[other])).peekable();
        whole.peek().is_some() && {
            // What was wiped is as it was written, and says nothing any more.
            let told = |other: usize| beside::newest(&self.geometry, &disks[other]);
            let newest = (0..disks.len())
                .filter(is_active)
                .map(told)
                .reduce(|one, other| one.into_iter().zip(other).map(|(one, other)| one.max(other)).collect());
            whole.any(|other| Some(told(other)) == newest)
        }
    }

    /// May this member be lost now?
    pub fn allows_loss(&self, disks: &[MemberDisk], member: usize) -> bool {
        if !self.allows_beside(disks, member) {
            return false;
        }
        let mut lacking = self.lacking.clone();
        lacking[member] = true;
        // Even over the budget an array is to be one that can be started.
        let layout = &self.geometry.layout;
        let is_missing = |stripe: u64, slot: &usize| lacking[layout.place(stripe, *slot).disk];
        let missing = |stripe: u64| (0..layout.shape().slots()).filter(|slot| is_missing(stripe, slot)).count();
        if (0..layout.period()).any(|stripe| missing(stripe) > layout.shape().parity) {
            return false;
        }
        (0..self.geometry.stripes).all(|stripe| self.bears(disks, stripe, &[], &lacking))
    }

    /// Such faults are known to be beyond this scheme, however few.
    fn is_beyond(&self, slot: usize, blow: Blow) -> bool {
        let shape = self.geometry.layout.shape();
        match self.geometry.scheme {
            Scheme::None => blow != Blow::Failed,
            // Parities are not protected, and a chunk says nothing of itself.
            Scheme::Pure => blow != Blow::Failed && slot >= shape.data,
            // A version may be used twice: docs/notes.md, "Second hole".
            Scheme::Hybrid1 => blow == Blow::Stale && shape.data < shape.parity + 2,
            Scheme::Hybrid2 | Scheme::Stamp => false,
        }
    }

    /// Is a stripe with these blows within the budget? (Or, over it, not past telling?)
    fn bears(&self, disks: &[MemberDisk], stripe: u64, blows: &[(Row, Blow)], lacking: &[bool]) -> bool {
        let shape = self.geometry.layout.shape();
        let (mut silent, mut failed, mut is_stale) = (0, 0, false);
        for slot in 0..shape.slots() {
            let place = self.geometry.layout.place(stripe, slot);
            let (row, disk) = ((place.disk, place.row), &disks[place.disk]);
            let struck = blows.iter().filter(|&&(struck, _)| struck == row).map(|&(_, blow)| blow);
            let (mut is_silent, mut is_failed) = (false, lacking[place.disk]);
            for blow in struck {
                if self.is_beyond(slot, blow) {
                    return false;
                }
                is_silent |= blow != Blow::Failed;
                is_failed |= blow == Blow::Failed;
                is_stale |= blow == Blow::Stale;
            }
            let (offset, len) = (self.geometry.chunk_offset(RowIndex(place.row)), self.geometry.row_bytes());
            is_silent |=
                disk.is_corrupt(offset.get(), len) && !disk.is_gone || self.misread.get(&stripe) == Some(&slot);
            is_silent |= self.handed_on.contains_key(&row);
            is_failed |= disk.is_unreadable(offset.get(), len);
            is_stale |= is_silent && (self.stale.contains(&row) || self.handed_on.contains_key(&row));
            silent += usize::from(is_silent);
            failed += usize::from(is_failed && !is_silent);
        }
        // Without a neighbour's copy there is one witness less.
        let witnesses_short = usize::from(!self.geometry.scheme.has_versions() && shape.data == 1);
        let is_within = match silent {
            0 => failed <= shape.parity,
            1 => failed + 1 + witnesses_short <= shape.parity,
            _ => false,
        };
        is_within || self.is_over_budget && !is_stale && (silent == 0 || self.geometry.scheme.checks_itself())
    }

    /// These blows have fallen.
    pub fn note(&mut self, now: Nanos, disks: &[MemberDisk], blows: &[(Row, Blow)]) {
        let has_buddies = self.geometry.scheme.has_buddies();
        for &(row, blow) in blows.iter().filter(|&&(_, blow)| blow != Blow::Failed) {
            let slot = self.geometry.layout.slot_at(row.0, row.1).map(|(_, slot)| slot);
            let is_parity = slot.is_some_and(|slot| slot >= self.geometry.layout.shape().data);
            if blow == Blow::Stale {
                self.stale.insert(row);
            }
            if if is_parity { blow == Blow::Stale } else { has_buddies } {
                self.handed_on.insert(row, (now, false));
            }
        }
        self.doubt(disks);
    }

    /// A whole row was written. A parity that was not read since it became stale was made anew from the data, and a data
    /// row is compared with the lists before it is changed.
    pub fn note_write(&mut self, row: Row) {
        let slot = self.geometry.layout.slot_at(row.0, row.1).map(|(_, slot)| slot);
        let is_data = slot.is_some_and(|slot| slot < self.geometry.layout.shape().data);
        if self.behind.remove(&row) {
            self.recounted.extend(self.stripe(row));
        }
        if self.handed_on.get(&row).is_some_and(|&(_, was_read)| is_data || !was_read) {
            self.handed_on.remove(&row);
        }
    }

    /// The last write of this row left an older appendix there.
    pub fn note_behind(&mut self, row: Row) {
        if self.geometry.scheme == Scheme::Hybrid1 {
            self.behind.insert(row);
        }
    }

    /// The half-written stripes in which a version may name two contents.
    pub fn ambiguous(&self) -> impl Iterator<Item = u64> {
        self.dirty.intersection(&self.recounted).copied()
    }

    /// A row was found to be wrong, and repaired.
    pub fn note_repair(&mut self, row: Row) {
        self.behind.remove(&row);
        self.handed_on.remove(&row);
    }

    /// Everything was verified, beginning then.
    pub fn note_verified(&mut self, begin: Nanos) {
        self.handed_on.retain(|_, (since, _)| *since >= begin);
    }

    /// A read of this row returned another place's bytes; or what it should have.
    pub fn note_read(&mut self, row: Row, is_right: bool) {
        self.handed_on.entry(row).and_modify(|(_, was_read)| *was_read = true);
        let Some((stripe, slot)) = self.geometry.layout.slot_at(row.0, row.1) else { return };
        match is_right {
            true if self.misread.get(&stripe) == Some(&slot) => drop(self.misread.remove(&stripe)),
            true => {}
            false => drop(self.misread.insert(stripe, slot)),
        }
    }

    /// May the next read of this row go astray?
    pub fn allows_misread(&self, disks: &[MemberDisk], row: Row) -> bool {
        let Some(stripe) = self.stripe(row) else { return false };
        !self.misread.contains_key(&stripe) && self.allows(disks, &[(row, Blow::Corrupt)])
    }

    /// A member does not hold what it should any more. What is beyond the budget without it may be lost.
    pub fn lacks(&mut self, disks: &[MemberDisk], member: usize) {
        self.lacking[member] = true;
        let beyond = (0..self.geometry.stripes).filter(|&stripe| !self.bears(disks, stripe, &[], &self.lacking));
        let beyond: Vec<u64> = beyond.collect();
        self.losable.extend(beyond);
        self.doubt(disks);
    }

    /// The volume has crashed while these stripes were being written, or held what was not flushed; the disks are what
    /// the crash left.
    pub fn crash(&mut self, disks: &[MemberDisk], dirty: impl IntoIterator<Item = u64>) {
        self.misread.clear();
        self.dirty.extend(dirty);
        self.ever_dirty.extend(&self.dirty);
        let ambiguous: Vec<u64> = self.ambiguous().collect();
        self.losable.extend(ambiguous);
        self.doubt(disks);
    }

    /// Was this stripe half written when the array crashed, or may its chunks be lost?
    pub fn is_doubtful(&self, stripe: u64) -> bool {
        self.ever_dirty.contains(&stripe) || self.losable.contains(&stripe)
    }

    /// Something has gone wrong: where it meets a dirty stripe, chunks may be lost.
    pub fn doubt(&mut self, disks: &[MemberDisk]) {
        let dirty: Vec<u64> = self.dirty.iter().copied().collect();
        let hurt = dirty.into_iter().filter(|&stripe| self.is_hurt(disks, stripe));
        let hurt: Vec<u64> = hurt.collect();
        self.losable.extend(hurt);
    }

    /// What the last crash left of these stripes is resynced.
    pub fn resynced(&mut self, is_settled: impl Fn(u64) -> bool) {
        self.dirty.retain(|&stripe| !is_settled(stripe));
    }

    /// The stripes that a crash left half written.
    pub fn dirty(&self) -> impl Iterator<Item = u64> {
        self.dirty.iter().copied()
    }

    /// Did a crash leave the stripe of this row half written?
    pub fn is_half_written(&self, row: Row) -> bool {
        self.stripe(row).is_some_and(|stripe| self.dirty.contains(&stripe))
    }

    /// May any of these bytes of the volume be reported as lost?
    pub fn may_lose(&self, bytes: Range<u64>) -> bool {
        let stripe = self.geometry.stripe_bytes();
        self.is_over_budget || self.losable.range(bytes.start / stripe..bytes.end.div_ceil(stripe)).next().is_some()
    }

    /// Is anything wrong in this stripe?
    fn is_hurt(&self, disks: &[MemberDisk], stripe: u64) -> bool {
        let (len, layout) = (self.geometry.row_bytes(), &self.geometry.layout);
        (0..layout.shape().slots()).any(|slot| {
            let place = layout.place(stripe, slot);
            let (disk, offset) = (&disks[place.disk], self.geometry.chunk_offset(RowIndex(place.row)));
            let row = (place.disk, place.row);
            let is_silent = disk.is_corrupt(offset.get(), len) || self.handed_on.contains_key(&row);
            self.lacking[place.disk] || is_silent || disk.is_unreadable(offset.get(), len)
        })
    }

    /// The stripe of a row, if it has one.
    pub fn stripe(&self, (disk, row): Row) -> Option<u64> {
        let (stripe, _) = self.geometry.layout.slot_at(disk, row)?;
        (row < self.geometry.rows && stripe < self.geometry.stripes).then_some(stripe)
    }
}
