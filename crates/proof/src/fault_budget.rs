//! The fault budget: keeps faults within what a volume must survive, and knows where a volume may lose data.
//!
//! In a stripe, at any time, at most one chunk is silently corrupt, and then at most m - 1 others have failed (their
//! member is missing, or they cannot be read); with none silently corrupt, at most m have (Li & Lee 2014, section
//! II-B). With one data chunk and no versions there is one witness less, and m is one less where a chunk is silently
//! corrupt. Over the budget, every fault is allowed that cannot pass for an older state of the stripe: a write that was
//! lost in one chunk too many looks as if it had never been made, and no array can detect that.
//!
//! A crash in the middle of the writes of a stripe is no fault. But a stripe that is dirty when the volume crashes, and
//! has anything wrong at that time (or until it is resynced), may lose chunks: what is missing or corrupt cannot be
//! distinguished from what was half written. There `Lost` is legal within the budget, and nowhere else, except for the
//! cases in [`super`] (Hybrid-1's versions, a bare array's dirty regions).

use crate::member_metadata;
use scrubjay_core::index::RowIndex;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::format::geometry::Geometry;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_sim::member_disk::MemberDisk;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A row of a member: disk and row number.
pub type Row = (usize, u64);

/// How a fault damages a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// The row will look whole, but be old.
    Stale,
    /// The row will be wrong, and show it by itself if rows of this scheme check themselves.
    Corrupt,
    /// The row will be unreadable.
    Failed,
}

/// How a stripe with some faults stands to the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// Everything in it must survive.
    Within,
    /// Its chunks may be lost.
    Beyond {
        /// Can it not pass for an older state of the stripe?
        is_detectable: bool,
    },
    /// A fault that its scheme cannot handle, be it the only one.
    NeverBorne,
}

/// What is wrong with the array now, and which faults are still allowed.
#[derive(Clone, Debug)]
pub struct FaultBudget {
    geometry: Geometry,
    is_over_budget: bool,
    /// By member: does it lack any of its data (missing, or being rebuilt)?
    pub lacking: Vec<bool>,
    /// Rows that silently do not hold their last write, in part or as a whole.
    stale: BTreeSet<Row>,
    /// Rows that are, or may be, wrong although no block of the disk is wrong any more: since when, and whether they were
    /// read since. (What is computed from a stale parity is as stale, and its list says so. And where a data row carries
    /// a copy of its neighbour's checksum, its appendix is read and written alone, whatever the content of the row is.)
    handed_on: BTreeMap<Row, (Nanos, bool)>,
    /// By stripe: the position whose last read returned another place's bytes, until it is read again.
    misread: BTreeMap<u64, usize>,
    /// Stripes that a crash found dirty, and that are not resynced yet.
    dirty: BTreeSet<u64>,
    /// Stripes whose chunks may be lost.
    losable: BTreeSet<u64>,
    /// Data rows under Hybrid-1 whose version is older than that of their last write.
    old_versions: BTreeSet<Row>,
    /// Stripes with a row of `old_versions` that was then overwritten: the next version was counted from the old one,
    /// and names two contents. Without a crash the other rows distinguish them; in a half-written stripe nothing does.
    recounted: BTreeSet<u64>,
}

impl FaultBudget {
    /// The budget of an array with nothing wrong; if `is_over_budget`, one that allows too many faults.
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
            losable: BTreeSet::new(),
            old_versions: BTreeSet::new(),
            recounted: BTreeSet::new(),
        }
    }

    /// May all these faults be planted at once?
    pub fn allows(&self, disks: &[MemberDisk], damages: &[(Row, DamageKind)]) -> bool {
        let mut stripes: Vec<u64> = damages.iter().filter_map(|&(row, _)| self.stripe(row)).collect();
        stripes.sort_unstable();
        stripes.dedup();
        stripes.into_iter().all(|stripe| self.bears(disks, stripe, damages, &self.lacking))
    }

    /// May the metadata outside this member's rows be damaged? See [`member_metadata`].
    pub fn allows_metadata_damage(&self, disks: &[MemberDisk], member: usize) -> bool {
        if self.lacking[member] {
            return false;
        }
        let is_active = |&other: &usize| !self.lacking[other] && !disks[other].is_gone;
        let whole = (0..disks.len()).filter(|other| *other != member && is_active(other));
        let mut whole = whole.filter(|&other| member_metadata::is_whole(&self.geometry, &disks[other])).peekable();
        whole.peek().is_some() && {
            // A wiped disk is intact, because its zeros are what was written, but it has no generations.
            let generations = |other: usize| member_metadata::newest(&self.geometry, &disks[other]);
            let newest = (0..disks.len())
                .filter(is_active)
                .map(generations)
                .reduce(|one, other| one.into_iter().zip(other).map(|(one, other)| one.max(other)).collect());
            whole.any(|other| Some(generations(other)) == newest)
        }
    }

    /// May this member be lost now?
    pub fn allows_loss(&self, disks: &[MemberDisk], member: usize) -> bool {
        if !self.allows_metadata_damage(disks, member) {
            return false;
        }
        let mut lacking = self.lacking.clone();
        lacking[member] = true;
        // Even over the budget the array must remain startable.
        let layout = &self.geometry.layout;
        let is_missing = |stripe: u64, slot: &usize| lacking[layout.place(stripe, *slot).disk];
        let missing = |stripe: u64| (0..layout.shape().width()).filter(|slot| is_missing(stripe, slot)).count();
        if (0..layout.period()).any(|stripe| missing(stripe) > layout.shape().parity) {
            return false;
        }
        (0..self.geometry.stripes).all(|stripe| self.bears(disks, stripe, &[], &lacking))
    }

    /// Is such a fault beyond this scheme, even a single one?
    fn is_beyond(&self, slot: usize, damage: DamageKind) -> bool {
        let shape = self.geometry.layout.shape();
        match self.geometry.scheme {
            Scheme::None => damage != DamageKind::Failed,
            // Parities are not protected, and a chunk carries no checksum of its own.
            Scheme::Pure => damage != DamageKind::Failed && slot >= shape.data,
            // A version may be used twice: docs/decisions.md, "Second hole".
            Scheme::Hybrid1 => damage == DamageKind::Stale && shape.data < shape.parity + 2,
            Scheme::Hybrid2 | Scheme::Stamp => false,
        }
    }

    /// May a stripe have these faults: are they within the budget, or over it, but such that the stripe cannot pass for an older one?
    fn bears(&self, disks: &[MemberDisk], stripe: u64, damages: &[(Row, DamageKind)], lacking: &[bool]) -> bool {
        match self.load(disks, stripe, damages, lacking) {
            Load::Within => true,
            Load::Beyond { is_detectable } => self.is_over_budget && is_detectable,
            Load::NeverBorne => false,
        }
    }

    /// How a stripe with these faults, in addition to those that it has, stands to the budget.
    fn load(&self, disks: &[MemberDisk], stripe: u64, damages: &[(Row, DamageKind)], lacking: &[bool]) -> Load {
        let shape = self.geometry.layout.shape();
        let (mut silent, mut failed, mut is_stale) = (0, 0, false);
        for slot in 0..shape.width() {
            let place = self.geometry.layout.place(stripe, slot);
            let (row, disk) = ((place.disk, place.row), &disks[place.disk]);
            let struck = damages.iter().filter(|&&(struck, _)| struck == row).map(|&(_, damage)| damage);
            let (mut is_silent, mut is_failed) = (false, lacking[place.disk]);
            for damage in struck {
                if self.is_beyond(slot, damage) {
                    return Load::NeverBorne;
                }
                is_silent |= damage != DamageKind::Failed;
                is_failed |= damage == DamageKind::Failed;
                is_stale |= damage == DamageKind::Stale;
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
        match is_within {
            true => Load::Within,
            false => Load::Beyond { is_detectable: !is_stale && (silent == 0 || self.geometry.scheme.checks_itself()) },
        }
    }

    /// Adds the stripes that are beyond the budget now to those whose chunks may be lost.
    fn note_beyond(&mut self, disks: &[MemberDisk]) {
        let is_beyond = |&stripe: &u64| self.load(disks, stripe, &[], &self.lacking) != Load::Within;
        let beyond: Vec<u64> = (0..self.geometry.stripes).filter(is_beyond).collect();
        self.losable.extend(beyond);
    }

    /// Notes that these faults were planted.
    pub fn note(&mut self, now: Nanos, disks: &[MemberDisk], damages: &[(Row, DamageKind)]) {
        let has_buddies = self.geometry.scheme.has_buddies();
        for &(row, damage) in damages.iter().filter(|&&(_, damage)| damage != DamageKind::Failed) {
            let slot = self.geometry.layout.chunk_at(row.0, row.1).map(|(_, slot)| slot);
            let is_parity = slot.is_some_and(|slot| slot >= self.geometry.layout.shape().data);
            if damage == DamageKind::Stale {
                self.stale.insert(row);
            }
            if if is_parity { damage == DamageKind::Stale } else { has_buddies } {
                self.handed_on.insert(row, (now, false));
            }
        }
        self.note_beyond(disks);
        self.doubt(disks);
    }

    /// Notes a write of a whole row. It rights a data row, which is compared with the lists before it is changed, and a
    /// parity that was not read since it became stale, because that one was computed from the data.
    pub fn note_write(&mut self, row: Row) {
        let slot = self.geometry.layout.chunk_at(row.0, row.1).map(|(_, slot)| slot);
        let is_data = slot.is_some_and(|slot| slot < self.geometry.layout.shape().data);
        if self.old_versions.remove(&row) {
            self.recounted.extend(self.stripe(row));
        }
        if self.handed_on.get(&row).is_some_and(|&(_, was_read)| is_data || !was_read) {
            self.handed_on.remove(&row);
        }
    }

    /// Notes that the last write of this row left an older appendix there.
    pub fn note_old_version(&mut self, row: Row) {
        if self.geometry.scheme == Scheme::Hybrid1 {
            self.old_versions.insert(row);
        }
    }

    /// The half-written stripes in which a version may name two contents.
    pub fn ambiguous(&self) -> impl Iterator<Item = u64> {
        self.dirty.intersection(&self.recounted).copied()
    }

    /// Notes that a row was found to be wrong, and repaired.
    pub fn note_repair(&mut self, row: Row) {
        self.old_versions.remove(&row);
        self.handed_on.remove(&row);
    }

    /// Notes that everything was verified, beginning at `begin`.
    pub fn note_verified(&mut self, begin: Nanos) {
        self.handed_on.retain(|_, (since, _)| *since >= begin);
    }

    /// Notes a read of this row, which returned what it should (`is_right`) or another place's bytes.
    pub fn note_read(&mut self, row: Row, is_right: bool) {
        self.handed_on.entry(row).and_modify(|(_, was_read)| *was_read = true);
        let Some((stripe, slot)) = self.geometry.layout.chunk_at(row.0, row.1) else { return };
        match is_right {
            true if self.misread.get(&stripe) == Some(&slot) => drop(self.misread.remove(&stripe)),
            true => {}
            false => drop(self.misread.insert(stripe, slot)),
        }
    }

    /// May the next read of this row be misdirected?
    pub fn allows_misread(&self, disks: &[MemberDisk], row: Row) -> bool {
        let Some(stripe) = self.stripe(row) else { return false };
        !self.misread.contains_key(&stripe) && self.allows(disks, &[(row, DamageKind::Corrupt)])
    }

    /// Notes that a member lacks data from now on. Stripes that are beyond the budget without it may be lost.
    pub fn lacks(&mut self, disks: &[MemberDisk], member: usize) {
        self.lacking[member] = true;
        self.note_beyond(disks);
        self.doubt(disks);
    }

    /// Notes a crash while these stripes were being written, or held data that were not flushed; the disks are as the
    /// crash left them.
    pub fn crash(&mut self, disks: &[MemberDisk], dirty: impl IntoIterator<Item = u64>) {
        self.misread.clear();
        self.dirty.extend(dirty);
        let ambiguous: Vec<u64> = self.ambiguous().collect();
        self.losable.extend(ambiguous);
        self.doubt(disks);
    }

    /// Did a crash leave this stripe half written, and is it not resynced yet, or may its chunks be lost?
    pub fn is_doubtful(&self, stripe: u64) -> bool {
        self.dirty.contains(&stripe) || self.losable.contains(&stripe)
    }

    /// The stripes whose chunks may be lost.
    pub fn losable(&self) -> impl Iterator<Item = u64> {
        self.losable.iter().copied()
    }

    /// Notes that these stripes are whole again: nothing in them may be lost any more.
    pub fn recovered(&mut self, stripes: impl IntoIterator<Item = u64>) {
        for stripe in stripes.into_iter().filter(|stripe| !self.dirty.contains(stripe)) {
            self.losable.remove(&stripe);
        }
    }

    /// May this row be wrong although its medium holds what was last written there?
    pub fn may_be_wrong(&self, row: Row) -> bool {
        let is_recounted = self.stripe(row).is_some_and(|stripe| self.recounted.contains(&stripe));
        is_recounted || self.handed_on.contains_key(&row) || self.old_versions.contains(&row)
    }

    /// Adds the dirty stripes in which anything is wrong now to those whose chunks may be lost.
    pub fn doubt(&mut self, disks: &[MemberDisk]) {
        let dirty: Vec<u64> = self.dirty.iter().copied().collect();
        let damaged = dirty.into_iter().filter(|&stripe| self.is_damaged(disks, stripe));
        let damaged: Vec<u64> = damaged.collect();
        self.losable.extend(damaged);
    }

    /// Removes from the dirty stripes those that are resynced.
    pub fn resynced(&mut self, is_resynced: impl Fn(u64) -> bool) {
        self.dirty.retain(|&stripe| !is_resynced(stripe));
    }

    /// The stripes that a crash left half written, and that are not resynced yet.
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
        self.losable.range(bytes.start / stripe..bytes.end.div_ceil(stripe)).next().is_some()
    }

    /// Is anything wrong in this stripe?
    fn is_damaged(&self, disks: &[MemberDisk], stripe: u64) -> bool {
        let (len, layout) = (self.geometry.row_bytes(), &self.geometry.layout);
        (0..layout.shape().width()).any(|slot| {
            let place = layout.place(stripe, slot);
            let (disk, offset) = (&disks[place.disk], self.geometry.chunk_offset(RowIndex(place.row)));
            let row = (place.disk, place.row);
            let is_silent = disk.is_corrupt(offset.get(), len) || self.handed_on.contains_key(&row);
            self.lacking[place.disk] || is_silent || disk.is_unreadable(offset.get(), len)
        })
    }

    /// The stripe of a row, if it has one.
    pub fn stripe(&self, (disk, row): Row) -> Option<u64> {
        let (stripe, _) = self.geometry.layout.chunk_at(disk, row)?;
        (row < self.geometry.rows && stripe < self.geometry.stripes).then_some(stripe)
    }
}
