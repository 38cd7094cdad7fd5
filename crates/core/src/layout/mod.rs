//! Where the chunks of a stripe lie: the address maps of arrays, defined in both directions.
//!
//! ```text
//! data chunk i -> stripe i div k, position i mod k -> Layout::place -> disk, row
//!                                                  <- Layout::chunk_at <-
//! ```
//!
//! A *row* of a disk is the space for one chunk, numbered from 0. (A stripe's chunks lie in rows of several disks, which
//! need not have the same number.) Formulas: Linux, drivers/md/raid5.c; Patterson,
//! Gibson & Katz (1988); Lee & Katz (1993) for the RAID-5 names; Hsiao & DeWitt (1990) for chained declustering; Denehy
//! et al., "Deconstructing Storage Arrays" (ASPLOS'04), figure 1, for ZIGZAG and P+Q.

mod kind;
pub mod md_map;
pub mod md_parity;
mod shape;

pub use kind::LayoutKind;
pub use shape::Shape;

use std::fmt;

/// Chunks of a stripe, and disks of an array, at most: what a [`crate::position_set::PositionSet`] can hold.
pub const DISKS_MAX: usize = 256;

/// The place of a chunk on the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkPlace {
    /// The disk of the array, from 0.
    pub disk: usize,
    /// The row of that disk, from 0: its bytes from `row * chunk` on.
    pub row: u64,
}

/// The address map of one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    kind: LayoutKind,
    shape: Shape,
    disks: usize,
}

/// Why an array of this kind cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// The kind takes other numbers of chunks or disks: see [`LayoutKind::takes`].
    Shape {
        /// The kind.
        kind: LayoutKind,
        /// The chunks of a stripe that were asked for.
        shape: Shape,
        /// The number of disks that was asked for.
        disks: usize,
    },
    /// More than [`DISKS_MAX`] disks.
    TooManyDisks(usize),
}

impl Layout {
    /// The map of an array of `disks` disks.
    ///
    /// # Errors
    /// When the kind takes other shapes or numbers of disks, or there are too many.
    pub fn new(kind: LayoutKind, shape: Shape, disks: usize) -> Result<Layout, LayoutError> {
        if disks > DISKS_MAX {
            return Err(LayoutError::TooManyDisks(disks));
        }
        if !kind.accepts(shape, disks) {
            return Err(LayoutError::Shape { kind, shape, disks });
        }
        Ok(Layout { kind, shape, disks })
    }

    /// The kind of layout.
    pub fn kind(&self) -> LayoutKind {
        self.kind
    }

    /// The chunks of a stripe.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The number of disks.
    pub fn disks(&self) -> usize {
        self.disks
    }

    /// The place of a chunk of a stripe: slots `0..k` are data, `k..k + m` parities (or the copy, in a mirror).
    ///
    /// # Panics
    /// When the stripe has no such slot.
    pub fn place(&self, stripe: u64, slot: usize) -> ChunkPlace {
        assert!(slot < self.shape.width(), "slot {slot} of {}", self.shape.width());
        let (data, parity, disks) = (self.shape.data, self.shape.parity, self.disks);
        let disk = match self.kind {
            LayoutKind::Raid1 => return mirrored(stripe, slot, disks),
            LayoutKind::Chained => return chained(stripe, slot, disks),
            LayoutKind::Near => return near(stripe, slot, disks),
            LayoutKind::ZigZag if stripe % 2 == 1 => disks - 1 - slot,
            LayoutKind::Raid0 | LayoutKind::ZigZag => slot,
            LayoutKind::Raid5La | LayoutKind::Raid5Ra => match (slot, self.head(stripe)) {
                (slot, head) if slot == data => head,
                (slot, head) => slot + usize::from(slot >= head),
            },
            // Beginning at the first parity, round the disks: the parities, then the data.
            _ if slot < data => (self.head(stripe) + parity + slot) % disks,
            _ => (self.head(stripe) + slot - data) % disks,
        };
        ChunkPlace { disk, row: stripe }
    }

    /// The stripe and slot of the chunk at this place: the inverse of [`Layout::place`]. `None` when there is no such
    /// disk, or when the row is so large that its stripe number would overflow.
    pub fn chunk_at(&self, disk: usize, row: u64) -> Option<(u64, usize)> {
        if disk >= self.disks {
            return None;
        }
        let (data, parity, disks) = (self.shape.data, self.shape.parity, self.disks);
        let slot = match self.kind {
            LayoutKind::Raid1 => return mirrored_at(disk, row, disks),
            LayoutKind::Chained => return chained_at(disk, row, disks),
            LayoutKind::Near => return near_at(disk, row, disks),
            LayoutKind::ZigZag if row % 2 == 1 => disks - 1 - disk,
            LayoutKind::Raid0 | LayoutKind::ZigZag => disk,
            LayoutKind::Raid5La | LayoutKind::Raid5Ra => match self.head(row) {
                head if disk == head => data,
                head => disk - usize::from(disk > head),
            },
            _ => match (disk + disks - self.head(row)) % disks {
                offset if offset < parity => data + offset,
                offset => offset - parity,
            },
        };
        Some((row, slot))
    }

    /// The number of whole stripes that fit on disks of `rows` rows each.
    pub fn stripes(&self, rows: u64) -> u64 {
        match self.kind {
            LayoutKind::Raid1 => rows.saturating_mul(self.disks as u64 / 2),
            LayoutKind::Chained => (rows / 2).saturating_mul(self.disks as u64),
            LayoutKind::Near => u64::try_from(u128::from(rows) * self.disks as u128 / 2).unwrap_or(u64::MAX),
            _ => rows,
        }
    }

    /// The number of rows of each disk that `stripes` stripes take.
    pub fn rows(&self, stripes: u64) -> u64 {
        match self.kind {
            LayoutKind::Raid1 => stripes.div_ceil(self.disks as u64 / 2),
            LayoutKind::Chained => stripes.div_ceil(self.disks as u64).saturating_mul(2),
            LayoutKind::Near => (u128::from(stripes) * 2).div_ceil(self.disks as u128) as u64,
            _ => stripes,
        }
    }

    /// The period: the least number of stripes after which the disks of all slots repeat.
    pub fn period(&self) -> u64 {
        let disks = self.disks as u64;
        match self.kind {
            LayoutKind::Raid0 => 1,
            LayoutKind::ZigZag => disks.min(2),
            LayoutKind::Raid1 => disks / 2,
            LayoutKind::Raid6Pq if disks.is_multiple_of(2) => disks / 2,
            _ => disks,
        }
    }

    /// The disk of data chunk `chunk`: chunk `i` is slot `i mod k` of stripe `i div k`.
    pub fn data_disk(&self, chunk: u64) -> usize {
        let data = self.shape.data as u64;
        self.place(chunk / data, (chunk % data) as usize).disk
    }

    /// The pattern size in chunks: the least P with `data_disk(i + P) = data_disk(i)` for all i (Denehy et al. 2004,
    /// section 2; only data chunks count, because only they can be seen from outside).
    pub fn pattern(&self) -> u64 {
        // The pattern size divides every other period of the sequence.
        let period_chunks = self.period() * self.shape.data as u64;
        let repeats =
            |size: &u64| (0..period_chunks).all(|chunk| self.data_disk(chunk) == self.data_disk(chunk + size));
        (1..period_chunks).filter(|&size| period_chunks.is_multiple_of(size)).find(repeats).unwrap_or(period_chunks)
    }

    /// The disk of the first parity of a stripe of a rotating kind (without parities: of its first chunk).
    fn head(&self, stripe: u64) -> usize {
        let turn = (stripe % self.disks as u64) as usize;
        match self.kind {
            LayoutKind::Raid5Rs | LayoutKind::Raid5Ra => turn,
            LayoutKind::Raid6Pq => (3 * self.disks - 2 - 2 * turn) % self.disks,
            _ => self.disks - 1 - turn,
        }
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::Shape { kind, shape, disks } => write!(
                f,
                "{kind} takes {}, not {} data and {} redundant chunks on {disks} disks",
                kind.takes(),
                shape.data,
                shape.parity
            ),
            LayoutError::TooManyDisks(disks) => write!(f, "{disks} disks are more than {DISKS_MAX}"),
        }
    }
}

impl std::error::Error for LayoutError {}

/// The place of a chunk in RAID-1 over pairs of neighbouring disks, striped.
fn mirrored(stripe: u64, slot: usize, disks: usize) -> ChunkPlace {
    let pairs = disks as u64 / 2;
    ChunkPlace { disk: 2 * (stripe % pairs) as usize + slot, row: stripe / pairs }
}

fn mirrored_at(disk: usize, row: u64, disks: usize) -> Option<(u64, usize)> {
    let stripe = row.checked_mul(disks as u64 / 2)?.checked_add(disk as u64 / 2)?;
    Some((stripe, disk % 2))
}

/// The place of a chunk in chained declustering: first copies in the even rows, second copies in the odd rows, one disk
/// on. (With two disks both hold the same data, each in its own order.)
fn chained(stripe: u64, slot: usize, disks: usize) -> ChunkPlace {
    let disks = disks as u64;
    ChunkPlace { disk: ((stripe % disks + slot as u64) % disks) as usize, row: stripe / disks * 2 + slot as u64 }
}

fn chained_at(disk: usize, row: u64, disks: usize) -> Option<(u64, usize)> {
    let slot = (row % 2) as usize;
    let primary = (disk + disks - slot) % disks;
    Some(((row / 2).checked_mul(disks as u64)?.checked_add(primary as u64)?, slot))
}

/// The place of a chunk when the copies of all chunks, in order, are dealt to the disks in turn (Linux,
/// drivers/md/raid10.c, `near_copies` of 2).
fn near(stripe: u64, slot: usize, disks: usize) -> ChunkPlace {
    let (disks, copy) = (disks as u128, u128::from(stripe) * 2 + slot as u128);
    ChunkPlace { disk: (copy % disks) as usize, row: (copy / disks) as u64 }
}

fn near_at(disk: usize, row: u64, disks: usize) -> Option<(u64, usize)> {
    let copy = u128::from(row) * disks as u128 + disk as u128;
    Some((u64::try_from(copy / 2).ok()?, (copy % 2) as usize))
}

#[cfg(test)]
mod tests;
