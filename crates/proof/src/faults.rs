//! What goes wrong with a write or a read, by chance, as far as the fault budget allows.

use crate::fault_budget::{DamageKind, FaultBudget, Row};
use scrubjay_core::index::RowIndex;
use scrubjay_core::rng::Rng;
use scrubjay_core::units::MemberOffset;
use scrubjay_core::volume::finding::CorruptionKind;
use scrubjay_core::volume::format::geometry::Geometry;
use scrubjay_sim::member_disk::{MemberDisk, WriteFate};

/// How likely each fault is, for each operation that it can befall.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chances {
    /// A write is lost as a whole.
    pub lost: f64,
    /// Its tail is.
    pub torn: f64,
    /// It hits a whole row elsewhere.
    pub misdirected: f64,
    /// It hits the end of a row and the beginning of the next one.
    pub misdirected_unaligned: f64,
    /// Of lost, torn and misdirected writes, those that the disk's cache hides until a flush.
    pub latent: f64,
    /// Of misdirected ones, those that hit another disk.
    pub wrong_disk: f64,
    /// A read returns another row.
    pub misread: f64,
    /// It returns bytes between two.
    pub misread_unaligned: f64,
    /// A write cannot be done, and what was there cannot be read any more; one beside the rows cannot; or a flush.
    pub refused: f64,
    /// A write of a superblock, the intents or the written map is lost, or torn.
    pub beside: f64,
}

/// A fault, as it was planted in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// Its write was lost.
    Lost,
    /// The tail of its write was lost.
    Torn,
    /// Its write went elsewhere.
    Missed,
    /// A write that was meant for elsewhere lies on all of it (that it was meant for a row of this disk and byte).
    Struck(usize, u64),
    /// Such a write lies on a part of it.
    Grazed,
    /// Junk lies on it.
    Overwritten,
    /// Bits of it are wrong, in its content or in its appendix or in both.
    Rotten,
    /// A read of it returned another place's bytes.
    Misread,
    /// It cannot be read.
    Unreadable,
}

impl InjectedFault {
    /// Does it leave an older appendix?
    pub fn is_behind(self) -> bool {
        matches!(self, InjectedFault::Lost | InjectedFault::Torn | InjectedFault::Missed)
    }

    /// May a volume take this fault for that kind of thing? (Over a fault another one may lie, or half a write.)
    pub fn explains(self, kind: CorruptionKind) -> bool {
        match kind {
            CorruptionKind::Unreadable => self == InjectedFault::Unreadable,
            CorruptionKind::LostWrite => {
                matches!(self, InjectedFault::Lost | InjectedFault::Missed | InjectedFault::Torn)
            }
            CorruptionKind::TornWrite => !matches!(self, InjectedFault::Unreadable | InjectedFault::Misread),
            CorruptionKind::MisdirectedWrite { .. } => {
                // Bits of what the appendix says of its place may be wrong.
                matches!(self, InjectedFault::Struck(..) | InjectedFault::Grazed | InjectedFault::Rotten)
            }
            CorruptionKind::MisdirectedRead => self == InjectedFault::Misread,
            // A write lost where nothing of ours was before shows what lay there.
            CorruptionKind::Corrupt => !matches!(self, InjectedFault::Unreadable | InjectedFault::Misread),
            CorruptionKind::Mismatch => true,
            // These are said of what is lost only.
            CorruptionKind::HalfWritten | CorruptionKind::MarkedLost => false,
        }
    }
}

/// What a write comes to.
#[derive(Debug)]
pub struct Harm {
    /// What becomes of it where it was meant for.
    pub fate: WriteFate,
    /// The disk could not do it.
    pub is_refused: bool,
    /// Where it lands besides: on which disk, at which byte.
    pub strikes: Option<(usize, u64)>,
    /// What the rows suffer.
    pub damages: Vec<(Row, DamageKind)>,
    /// What to remember of it.
    pub planted: Vec<(Row, InjectedFault)>,
}

impl Harm {
    /// None.
    pub fn none() -> Harm {
        Harm { fate: WriteFate::HONEST, is_refused: false, strikes: None, damages: Vec::new(), planted: Vec::new() }
    }
}

/// Decides about faults.
#[derive(Clone, Debug)]
pub struct FaultInjector {
    geometry: Geometry,
    chances: Chances,
    /// The disk that loses all that is written to its rows.
    pub forgetful: Option<usize>,
    rng: Rng,
}

impl FaultInjector {
    /// By these chances.
    pub fn new(geometry: Geometry, chances: Chances, rng: Rng) -> FaultInjector {
        FaultInjector { geometry, chances, forgetful: None, rng }
    }

    /// No more faults from here on.
    pub fn end(&mut self) {
        (self.chances, self.forgetful) = (Chances::default(), None);
    }

    /// What becomes of a write.
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
        let suffers = |harm: &mut Harm, rows: &[Row], damage, planted| {
            harm.damages.extend(rows.iter().map(|&row| (row, damage)));
            harm.planted.extend(rows.iter().map(|&row| (row, planted)));
        };
        let kind = bounds.iter().scan(0.0, |sum, chance| {
            *sum += chance;
            Some(*sum)
        });
        match kind.take_while(|&bound| draw >= bound).count() {
            0 => suffers(&mut harm, &rows, DamageKind::Stale, InjectedFault::Lost),
            1 if blocks >= 2 => {
                let kept = 1 + self.rng.below(blocks - 1);
                harm.fate.stale_from = Some(kept);
                // Where what is written is what was there already, all of it is as old as its end.
                let mut old = vec![0; (kept * self.geometry.block_bytes) as usize];
                let is_old = disks[disk].read(offset, &mut old).is_ok() && data.starts_with(&old);
                match rows.len() == 1 && !is_old {
                    true => suffers(&mut harm, &rows, DamageKind::Corrupt, InjectedFault::Torn),
                    false => suffers(&mut harm, &rows, DamageKind::Stale, InjectedFault::Lost),
                }
            }
            2 => {
                let Some((there, at)) = self.elsewhere(disk, offset, len, wrong_disk) else { return Harm::none() };
                harm.strikes = Some((there, at));
                suffers(&mut harm, &rows, DamageKind::Stale, InjectedFault::Missed);
                suffers(
                    &mut harm,
                    &self.rows(there, at, len),
                    DamageKind::Corrupt,
                    InjectedFault::Struck(disk, offset),
                );
            }
            3 => {
                let Some((there, at)) = self.askew(disk, offset, len) else { return Harm::none() };
                harm.strikes = Some((there, at));
                suffers(&mut harm, &rows, DamageKind::Stale, InjectedFault::Missed);
                let struck = self.rows(there, at, len);
                suffers(&mut harm, &struck, DamageKind::Corrupt, InjectedFault::Grazed);
            }
            4 => {
                (harm.is_refused, harm.fate) = (true, WriteFate::HONEST);
                suffers(&mut harm, &rows, DamageKind::Failed, InjectedFault::Unreadable);
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

    /// What becomes of a write beside the rows.
    pub fn harm_beside(
        &mut self,
        member: usize,
        len: u64,
        disks: &[MemberDisk],
        fault_budget: &FaultBudget,
    ) -> WriteFate {
        if self.rng.uniform() >= self.chances.beside || !fault_budget.allows_beside(disks, member) {
            return WriteFate::HONEST;
        }
        WriteFate { stale_from: Some(self.rng.below(len / self.geometry.block_bytes)), is_latent: false }
    }

    /// Does a disk refuse to flush, or a write beside the rows? It may be taken out for that.
    pub fn refuses(&mut self, member: usize, disks: &[MemberDisk], fault_budget: &FaultBudget) -> bool {
        self.rng.uniform() < self.chances.refused && fault_budget.allows_loss(disks, member)
    }

    /// Where a read of `len` bytes at `offset` really reads; nothing when it does as it was told.
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
        let there = if draw < self.chances.misread {
            self.elsewhere(disk, offset, len, self.chances.wrong_disk)
        } else {
            self.askew(disk, offset, len)
        };
        // What lies there must be right there, and what lies here, here: two faults in one read are one too many. (A
        // write that went astray may lie where this read does, whole and old, and where nothing was written before.)
        let is_well = |(disk, at): (usize, u64)| {
            let rows = self.rows(disk, at, len);
            let is_wrong = |&(disk, row): &Row| {
                let (offset, len) = (self.geometry.chunk_offset(RowIndex(row)), self.geometry.row_bytes());
                disks[disk].is_covered(offset.get(), len) || disks[disk].is_unreadable(offset.get(), len)
            };
            !disks[disk].is_gone && !rows.iter().any(is_wrong)
        };
        there.filter(|&there| is_well(there) && is_well((disk, offset)) && fault_budget.allows_misread(disks, row))
    }

    /// The row of a byte.
    fn row_at(&self, offset: u64) -> Option<u64> {
        self.geometry.row_at(MemberOffset(offset)).map(RowIndex::get)
    }

    /// The first byte of a row.
    fn chunk_offset(&self, row: u64) -> u64 {
        self.geometry.chunk_offset(RowIndex(row)).get()
    }

    /// The rows that these bytes of a disk touch; none unless all of them lie in rows.
    pub fn rows(&self, disk: usize, offset: u64, len: u64) -> Vec<Row> {
        match (self.row_at(offset), self.row_at(offset + len - 1)) {
            (Some(first), Some(last)) => (first..=last).map(|row| (disk, row)).collect(),
            _ => Vec::new(),
        }
    }

    /// The same place in another row.
    fn elsewhere(&mut self, disk: usize, offset: u64, len: u64, wrong_disk: f64) -> Option<(usize, u64)> {
        let (row, last) = (self.row_at(offset)?, self.row_at(offset + len - 1)?);
        let disks = self.geometry.layout.disks() as u64;
        let count = last - row + 1;
        let (there, to) = if self.rng.uniform() < wrong_disk && disks > 1 {
            ((disk as u64 + 1 + self.rng.below(disks - 1)) % disks, row)
        } else {
            // Near ones, too: a bit of the address that flipped, or a head that resynced on the next track.
            let reach = [2, self.geometry.rows][self.rng.below(2) as usize].min(self.geometry.rows - count + 1);
            let to = (row + 1 + self.rng.below(reach)) % (self.geometry.rows - count + 1);
            (disk as u64, to)
        };
        let is_elsewhere = there != disk as u64 || to.abs_diff(row) >= count;
        is_elsewhere.then(|| (there as usize, offset - self.chunk_offset(row) + self.chunk_offset(to)))
    }

    /// A place that is off by some blocks, less than a row.
    fn askew(&mut self, disk: usize, offset: u64, len: u64) -> Option<(usize, u64)> {
        let blocks = self.geometry.row_bytes() / self.geometry.block_bytes;
        if blocks < 2 {
            return None;
        }
        let end = self.chunk_offset(self.geometry.rows);
        let row = self.rng.below(self.geometry.rows);
        let here = offset - self.chunk_offset(self.row_at(offset)?);
        let skew = (1 + self.rng.below(blocks - 1)) * self.geometry.block_bytes;
        let near = self.row_at(offset)?;
        let base = if self.rng.below(2) == 0 { row } else { near };
        let base = self.chunk_offset(base);
        let at = base + here + skew;
        (at + len <= end && !at.abs_diff(offset).is_multiple_of(self.geometry.row_bytes())).then_some((disk, at))
    }
}
