//! Random faults of writes and reads, as far as the fault budget allows.

use crate::fault_budget::{DamageKind, FaultBudget, Row};
use scrubjay_core::finding::{FindingKind, Judgement};
use scrubjay_core::index::RowIndex;
use scrubjay_core::rng::Rng;
use scrubjay_core::units::MemberOffset;
use scrubjay_core::volume::format::geometry::Geometry;
use scrubjay_sim::member_disk::{MemberDisk, WriteFate};

/// The probability of each fault, for each operation that it can hit (0 to 1).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chances {
    /// A write is lost as a whole.
    pub lost: f64,
    /// The tail of a write is lost.
    pub torn: f64,
    /// A write hits a whole row elsewhere.
    pub misdirected: f64,
    /// A write hits the end of a row and the beginning of the next one.
    pub misdirected_unaligned: f64,
    /// Among lost, torn and misdirected writes: the fault stays hidden by the disk's cache until a flush.
    pub latent: f64,
    /// Among misdirected writes and reads: another disk is hit.
    pub wrong_disk: f64,
    /// A read returns another row.
    pub misread: f64,
    /// A read returns bytes that span two other rows.
    pub misread_unaligned: f64,
    /// A write to a row is refused, and the row becomes unreadable; or a write outside of the rows, or a flush, is refused.
    pub refused: f64,
    /// A write of a superblock, the intents or the written map is lost or torn.
    pub metadata: f64,
}

/// A fault planted in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The row's write was lost.
    Lost,
    /// The tail of the row's write was lost.
    Torn,
    /// The row's write went elsewhere.
    Missed,
    /// A write meant for a row at this disk and byte lies over the whole row.
    Struck(usize, u64),
    /// A misdirected write lies over a part of the row.
    Grazed,
    /// Junk lies over the row.
    Overwritten,
    /// Bits of the row are wrong, in its content or in its appendix or in both.
    Rotten,
    /// A read of the row returned another place's bytes.
    Misread,
    /// The row cannot be read.
    Unreadable,
}

impl InjectedFault {
    /// Does the fault leave an older appendix?
    pub fn leaves_old_appendix(self) -> bool {
        matches!(self, InjectedFault::Lost | InjectedFault::Torn | InjectedFault::Missed)
    }

    /// May the volume report this fault as a finding of this kind? (Another fault, or half a write, may lie over it.)
    pub fn explains(self, kind: FindingKind) -> bool {
        match kind {
            FindingKind::Unreadable(None) => self == InjectedFault::Unreadable,
            FindingKind::LostWrite => {
                matches!(self, InjectedFault::Lost | InjectedFault::Missed | InjectedFault::Torn)
            }
            FindingKind::TornWrite => !matches!(self, InjectedFault::Unreadable | InjectedFault::Misread),
            FindingKind::MisdirectedWrite { .. } => {
                // Bits of the place that the appendix names may be wrong.
                matches!(self, InjectedFault::Struck(..) | InjectedFault::Grazed | InjectedFault::Rotten)
            }
            FindingKind::MisdirectedRead => self == InjectedFault::Misread,
            // A write lost where the volume had written nothing before shows what lay there.
            FindingKind::Corrupt => !matches!(self, InjectedFault::Unreadable | InjectedFault::Misread),
            FindingKind::Mismatch(Judgement::Undecided) => true,
            // These kinds are reported of lost chunks only.
            FindingKind::HalfWritten | FindingKind::MarkedLost => false,
            // A volume has no findings of other kinds.
            _ => false,
        }
    }
}

/// What happens to a write.
#[derive(Debug)]
pub struct Harm {
    /// What the write does in its own place.
    pub fate: WriteFate,
    /// Does the disk refuse the write?
    pub is_refused: bool,
    /// Where else the write lands: disk and byte.
    pub strikes: Option<(usize, u64)>,
    /// The damage to rows, for the fault budget.
    pub damages: Vec<(Row, DamageKind)>,
    /// The faults to remember, by row.
    pub planted: Vec<(Row, InjectedFault)>,
}

impl Harm {
    /// No harm: the write is done as requested.
    pub fn none() -> Harm {
        Harm { fate: WriteFate::HONEST, is_refused: false, strikes: None, damages: Vec::new(), planted: Vec::new() }
    }
}

/// Decides which faults happen.
#[derive(Clone, Debug)]
pub struct FaultInjector {
    geometry: Geometry,
    chances: Chances,
    /// The disk that loses all writes to its rows.
    pub forgetful: Option<usize>,
    rng: Rng,
}

impl FaultInjector {
    /// An injector with these probabilities.
    pub fn new(geometry: Geometry, chances: Chances, rng: Rng) -> FaultInjector {
        FaultInjector { geometry, chances, forgetful: None, rng }
    }

    /// Ends all faults from now on.
    pub fn end(&mut self) {
        (self.chances, self.forgetful) = (Chances::default(), None);
    }

    /// Draws what happens to a write.
    pub fn harm(
        &mut self,
        (disk, offset, data): (usize, u64, &[u8]),
        is_durable: bool,
        disks: &[MemberDisk],
        fault_budget: &FaultBudget,
    ) -> Harm {
        let len = data.len() as u64;
        let Chances { lost, torn, misdirected, misdirected_unaligned, latent, wrong_disk, refused, .. } = self.chances;
        let lost = if self.forgetful == Some(disk) { 1.0 } else { lost };
        let draw = self.rng.uniform();
        let bounds = [lost, torn, misdirected, misdirected_unaligned, refused];
        if draw >= bounds.iter().sum() {
            return Harm::none();
        }
        let rows = self.rows(disk, offset, len);
        let is_data = !rows.is_empty() && rows.iter().all(|&row| fault_budget.stripe(row).is_some());
        let blocks = len / self.geometry.block_bytes;
        let mut harm = Harm::none();
        harm.fate = WriteFate { stale_from: Some(0), is_latent: !is_durable && self.rng.uniform() < latent };
        let add_damage = |harm: &mut Harm, rows: &[Row], damage, planted| {
            harm.damages.extend(rows.iter().map(|&row| (row, damage)));
            harm.planted.extend(rows.iter().map(|&row| (row, planted)));
        };
        let kind = bounds.iter().scan(0.0, |sum, chance| {
            *sum += chance;
            Some(*sum)
        });
        match kind.take_while(|&bound| draw >= bound).count() {
            0 => add_damage(&mut harm, &rows, DamageKind::Stale, InjectedFault::Lost),
            1 if blocks >= 2 => {
                let kept = 1 + self.rng.below(blocks - 1);
                harm.fate.stale_from = Some(kept);
                // Where the new data equal what was there already, the whole row is as old as its tail.
                let mut old = vec![0; (kept * self.geometry.block_bytes) as usize];
                let is_old = disks[disk].read(offset, &mut old).is_ok() && data.starts_with(&old);
                match rows.len() == 1 && !is_old {
                    true => add_damage(&mut harm, &rows, DamageKind::Corrupt, InjectedFault::Torn),
                    false => add_damage(&mut harm, &rows, DamageKind::Stale, InjectedFault::Lost),
                }
            }
            2 => {
                let Some((to_disk, at)) = self.elsewhere(disk, offset, len, wrong_disk) else { return Harm::none() };
                harm.strikes = Some((to_disk, at));
                add_damage(&mut harm, &rows, DamageKind::Stale, InjectedFault::Missed);
                add_damage(
                    &mut harm,
                    &self.rows(to_disk, at, len),
                    DamageKind::Corrupt,
                    InjectedFault::Struck(disk, offset),
                );
            }
            3 => {
                let Some((to_disk, at)) = self.askew(disk, offset, len) else { return Harm::none() };
                harm.strikes = Some((to_disk, at));
                add_damage(&mut harm, &rows, DamageKind::Stale, InjectedFault::Missed);
                let struck = self.rows(to_disk, at, len);
                add_damage(&mut harm, &struck, DamageKind::Corrupt, InjectedFault::Grazed);
            }
            4 => {
                (harm.is_refused, harm.fate) = (true, WriteFate::HONEST);
                add_damage(&mut harm, &rows, DamageKind::Failed, InjectedFault::Unreadable);
            }
            _ => return Harm::none(),
        }
        // A member that refuses a write may be taken out for it.
        if harm.is_refused && !fault_budget.allows_loss(disks, disk) {
            return Harm::none();
        }
        let is_everywhere_data = harm.damages.iter().all(|&(row, _)| fault_budget.stripe(row).is_some());
        if is_data && is_everywhere_data && fault_budget.allows(disks, &harm.damages) { harm } else { Harm::none() }
    }

    /// Draws what happens to a write outside of the rows.
    pub fn harm_metadata(
        &mut self,
        member: usize,
        len: u64,
        disks: &[MemberDisk],
        fault_budget: &FaultBudget,
    ) -> WriteFate {
        if self.rng.uniform() >= self.chances.metadata || !fault_budget.allows_metadata_damage(disks, member) {
            return WriteFate::HONEST;
        }
        WriteFate { stale_from: Some(self.rng.below(len / self.geometry.block_bytes)), is_latent: false }
    }

    /// Does a disk refuse a flush, or a write outside of the rows? It may be taken out for that.
    pub fn refuses(&mut self, member: usize, disks: &[MemberDisk], fault_budget: &FaultBudget) -> bool {
        self.rng.uniform() < self.chances.refused && fault_budget.allows_loss(disks, member)
    }

    /// Where a read of `len` bytes at `offset` really reads (disk and byte); `None`: where it should.
    pub fn stray(
        &mut self,
        (disk, offset, len): (usize, u64, u64),
        disks: &[MemberDisk],
        fault_budget: &FaultBudget,
    ) -> Option<(usize, u64)> {
        let draw = self.rng.uniform();
        if draw >= self.chances.misread + self.chances.misread_unaligned {
            return None;
        }
        let rows = self.rows(disk, offset, len);
        let [row] = rows[..] else { return None };
        let place = if draw < self.chances.misread {
            self.elsewhere(disk, offset, len, self.chances.wrong_disk)
        } else {
            self.askew(disk, offset, len)
        };
        // Both the place that is read and the place that should be must be right: two faults in one read are one too
        // many. (A misdirected write may lie where the read goes, whole and old, also where nothing was written before.)
        let is_sound = |(disk, at): (usize, u64)| {
            let rows = self.rows(disk, at, len);
            let is_wrong = |&(disk, row): &Row| {
                let (offset, len) = (self.geometry.chunk_offset(RowIndex(row)), self.geometry.row_bytes());
                disks[disk].is_covered(offset.get(), len) || disks[disk].is_unreadable(offset.get(), len)
            };
            !disks[disk].is_gone && !rows.iter().any(is_wrong)
        };
        place.filter(|&place| is_sound(place) && is_sound((disk, offset)) && fault_budget.allows_misread(disks, row))
    }

    /// The row of a byte, if it lies in one.
    fn row_at(&self, offset: u64) -> Option<u64> {
        self.geometry.row_at(MemberOffset(offset)).map(RowIndex::get)
    }

    /// The first byte of a row.
    fn chunk_offset(&self, row: u64) -> u64 {
        self.geometry.chunk_offset(RowIndex(row)).get()
    }

    /// The rows that these bytes of a disk touch; none unless the first and the last byte lie in rows.
    pub fn rows(&self, disk: usize, offset: u64, len: u64) -> Vec<Row> {
        match (self.row_at(offset), self.row_at(offset + len - 1)) {
            (Some(first), Some(last)) => (first..=last).map(|row| (disk, row)).collect(),
            _ => Vec::new(),
        }
    }

    /// The same offset in another row, near or far, or on another disk.
    fn elsewhere(&mut self, disk: usize, offset: u64, len: u64, wrong_disk: f64) -> Option<(usize, u64)> {
        let (row, last) = (self.row_at(offset)?, self.row_at(offset + len - 1)?);
        let disks = self.geometry.layout.disks() as u64;
        let count = last - row + 1;
        let (to_disk, to_row) = if self.rng.uniform() < wrong_disk && disks > 1 {
            ((disk as u64 + 1 + self.rng.below(disks - 1)) % disks, row)
        } else {
            // Near rows, too: a flipped bit of the address, or a head that settled on the next track.
            let reach = [2, self.geometry.rows][self.rng.below(2) as usize].min(self.geometry.rows - count + 1);
            let to_row = (row + 1 + self.rng.below(reach)) % (self.geometry.rows - count + 1);
            (disk as u64, to_row)
        };
        let is_elsewhere = to_disk != disk as u64 || to_row.abs_diff(row) >= count;
        is_elsewhere.then(|| (to_disk as usize, offset - self.chunk_offset(row) + self.chunk_offset(to_row)))
    }

    /// A place on the same disk that is off by blocks that do not make whole rows.
    fn askew(&mut self, disk: usize, offset: u64, len: u64) -> Option<(usize, u64)> {
        let blocks = self.geometry.row_bytes() / self.geometry.block_bytes;
        if blocks < 2 {
            return None;
        }
        let end = self.chunk_offset(self.geometry.rows);
        let row = self.rng.below(self.geometry.rows);
        let in_row = offset - self.chunk_offset(self.row_at(offset)?);
        let skew = (1 + self.rng.below(blocks - 1)) * self.geometry.block_bytes;
        let near = self.row_at(offset)?;
        let base = if self.rng.below(2) == 0 { row } else { near };
        let base = self.chunk_offset(base);
        let at = base + in_row + skew;
        (at + len <= end && !at.abs_diff(offset).is_multiple_of(self.geometry.row_bytes())).then_some((disk, at))
    }
}
