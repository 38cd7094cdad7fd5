//! Which member holds a chunk: a layout of the table, or any list of members that repeats.

use scrubjay_core::layout::{ChunkPlace, Layout, LayoutKind};

/// Where the chunks of an array lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkMap {
    /// One that has a name.
    Layout(Layout),
    /// Chunk `i` lies on member `list[i mod n]`, without redundancy: what no table knows.
    Free(Vec<usize>),
}

/// How a map protects what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapRedundancy {
    /// Not at all.
    None,
    /// Every chunk lies in two places.
    Copies,
    /// So many parities a stripe.
    Parity(usize),
}

impl ChunkMap {
    /// Members.
    pub fn disks(&self) -> usize {
        match self {
            ChunkMap::Layout(layout) => layout.disks(),
            ChunkMap::Free(list) => list.iter().max().map_or(0, |most| most + 1),
        }
    }

    /// Data chunks of a stripe.
    pub fn data(&self) -> usize {
        match self {
            ChunkMap::Layout(layout) => layout.shape().data,
            ChunkMap::Free(list) => list.len(),
        }
    }

    /// How it protects what it holds.
    pub fn redundancy(&self) -> MapRedundancy {
        match self {
            ChunkMap::Free(_) => MapRedundancy::None,
            ChunkMap::Layout(layout) if matches!(layout.kind(), LayoutKind::Raid1 | LayoutKind::Chained) => {
                MapRedundancy::Copies
            }
            ChunkMap::Layout(layout) if layout.shape().parity == 0 => MapRedundancy::None,
            ChunkMap::Layout(layout) => MapRedundancy::Parity(layout.shape().parity),
        }
    }

    /// Chunks of a stripe, redundant ones among them.
    pub fn slots(&self) -> usize {
        match self {
            ChunkMap::Layout(layout) => layout.shape().slots(),
            ChunkMap::Free(list) => list.len(),
        }
    }

    /// Where a chunk of a stripe lies: data first, then copies or parities.
    pub fn place(&self, stripe: u64, slot: usize) -> ChunkPlace {
        match self {
            ChunkMap::Layout(layout) => layout.place(stripe, slot),
            ChunkMap::Free(list) => {
                let disk = list[slot];
                let is_same = |other: &&usize| **other == disk;
                let (share, rank) = (list.iter().filter(is_same).count(), list[..slot].iter().filter(is_same).count());
                ChunkPlace { disk, row: stripe * share as u64 + rank as u64 }
            }
        }
    }

    /// How many whole stripes fit when each member has so many rows.
    pub fn stripes(&self, rows: u64) -> u64 {
        match self {
            ChunkMap::Layout(layout) => layout.stripes(rows),
            ChunkMap::Free(list) => {
                let share = |disk| list.iter().filter(|&&other| other == disk).count() as u64;
                rows / (0..self.disks()).map(share).max().unwrap_or(1).max(1)
            }
        }
    }

    /// The members of the chunks of one pattern: the truth that a prober looks for. (Denehy et al. 2004, section 2: the
    /// least period of the data.)
    pub fn pattern(&self) -> Vec<usize> {
        match self {
            ChunkMap::Layout(layout) => (0..layout.pattern()).map(|chunk| layout.data_disk(chunk)).collect(),
            ChunkMap::Free(list) => {
                let repeats = |size: &usize| {
                    list.len().is_multiple_of(*size) && list.iter().enumerate().all(|(i, disk)| *disk == list[i % size])
                };
                let size = (1..=list.len()).find(repeats).unwrap_or(list.len());
                list[..size].to_vec()
            }
        }
    }
}
