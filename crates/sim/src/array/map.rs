//! The member and row of each chunk: a layout with a name, or any list of members that repeats.

use scrubjay_core::layout::{ChunkPlace, Layout};
use scrubjay_core::probe::library::{self, copies_of};

/// The places of an array's chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkMap {
    /// A layout with a name.
    Layout(Layout),
    /// Chunk `i` lies on member `list[i mod n]`, without redundancy: a map that no table knows.
    Free(Vec<usize>),
    /// One member behind the other: LVM linear, JBOD. There is no pattern.
    Concatenated {
        /// The number of members.
        disks: usize,
        /// Chunks of each member.
        rows: u64,
    },
    /// Striping over all members but the last, which has the parity of each stripe.
    Raid4 {
        /// The number of members, three or more.
        disks: usize,
    },
    /// Linux' RAID-10: each chunk on `copies` members (md(4)).
    Raid10 {
        /// The places of the copies.
        kind: Raid10Kind,
        /// Copies of each chunk: from two to the number of members.
        copies: usize,
        /// The number of members.
        disks: usize,
    },
}

/// The places of a chunk's copies (Linux, drivers/md/raid10.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raid10Kind {
    /// Side by side, continued in the next row.
    Near,
    /// Each set of copies is striped over all members, in a part of its own; each part begins one member further on.
    Far {
        /// Rows of each part.
        rows: u64,
    },
    /// As in `Far`, but row by row.
    Offset,
}

/// The redundancy of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapRedundancy {
    /// No redundancy.
    None,
    /// Every chunk lies in this many places.
    Copies(usize),
    /// Each stripe has this many parities.
    Parity(usize),
}

impl ChunkMap {
    /// The number of members.
    pub fn disks(&self) -> usize {
        match self {
            ChunkMap::Layout(layout) => layout.disks(),
            ChunkMap::Free(list) => list.iter().max().map_or(0, |most| most + 1),
            ChunkMap::Concatenated { disks, .. } | ChunkMap::Raid4 { disks } | ChunkMap::Raid10 { disks, .. } => *disks,
        }
    }

    /// Data chunks of a stripe.
    pub fn data(&self) -> usize {
        match self {
            ChunkMap::Layout(layout) => layout.shape().data,
            ChunkMap::Free(list) => list.len(),
            ChunkMap::Raid4 { disks } => disks - 1,
            ChunkMap::Concatenated { .. } | ChunkMap::Raid10 { .. } => 1,
        }
    }

    /// The map's redundancy.
    pub fn redundancy(&self) -> MapRedundancy {
        match self {
            ChunkMap::Free(_) | ChunkMap::Concatenated { .. } => MapRedundancy::None,
            ChunkMap::Raid4 { .. } => MapRedundancy::Parity(1),
            ChunkMap::Raid10 { copies, .. } => MapRedundancy::Copies(*copies),
            ChunkMap::Layout(layout) if copies_of(layout) > 1 => MapRedundancy::Copies(copies_of(layout)),
            ChunkMap::Layout(layout) if layout.shape().parity == 0 => MapRedundancy::None,
            ChunkMap::Layout(layout) => MapRedundancy::Parity(layout.shape().parity),
        }
    }

    /// Chunks of a stripe, including redundant ones.
    pub fn slots(&self) -> usize {
        match self {
            ChunkMap::Layout(layout) => layout.shape().width(),
            ChunkMap::Free(list) => list.len(),
            ChunkMap::Concatenated { .. } => 1,
            ChunkMap::Raid4 { disks } => *disks,
            ChunkMap::Raid10 { copies, .. } => *copies,
        }
    }

    /// The place of a chunk of a stripe; slots count data first, then copies or parities.
    pub fn place(&self, stripe: u64, slot: usize) -> ChunkPlace {
        match self {
            ChunkMap::Layout(layout) => layout.place(stripe, slot),
            ChunkMap::Free(list) => {
                let disk = list[slot];
                let is_same = |other: &&usize| **other == disk;
                let (share, rank) = (list.iter().filter(is_same).count(), list[..slot].iter().filter(is_same).count());
                ChunkPlace { disk, row: stripe * share as u64 + rank as u64 }
            }
            ChunkMap::Concatenated { rows, .. } => ChunkPlace { disk: (stripe / rows) as usize, row: stripe % rows },
            ChunkMap::Raid4 { .. } => ChunkPlace { disk: slot, row: stripe },
            ChunkMap::Raid10 { kind, copies, disks } => {
                raid10(*kind, *copies as u64, *disks as u64, stripe, slot as u64)
            }
        }
    }

    /// The number of whole stripes that fit if each member has `rows` rows.
    pub fn stripes(&self, rows: u64) -> u64 {
        match self {
            ChunkMap::Layout(layout) => layout.stripes(rows),
            ChunkMap::Free(list) => {
                let share = |disk| list.iter().filter(|&&other| other == disk).count() as u64;
                rows / (0..self.disks()).map(share).max().unwrap_or(1).max(1)
            }
            ChunkMap::Raid4 { .. } => rows,
            ChunkMap::Concatenated { disks, rows: member_rows } => rows.min(*member_rows) * *disks as u64,
            ChunkMap::Raid10 { kind: Raid10Kind::Near, copies, disks } => rows * *disks as u64 / *copies as u64,
            ChunkMap::Raid10 { kind: Raid10Kind::Far { rows: member_rows }, copies, disks } => {
                (rows / *copies as u64).min(*member_rows) * *disks as u64
            }
            ChunkMap::Raid10 { kind: Raid10Kind::Offset, copies, disks } => rows / *copies as u64 * *disks as u64,
        }
    }

    /// The members of the chunks of one pattern: the truth that a prober looks for. (Denehy et al. 2004, section 2: the
    /// least period of the data.) For mirrors, the members of the first copies. Empty if there is no pattern.
    pub fn pattern(&self) -> Vec<usize> {
        let list: Vec<usize> = match self {
            ChunkMap::Layout(layout) => {
                return (0..layout.pattern()).map(|chunk| layout.data_disk(chunk)).collect();
            }
            ChunkMap::Free(list) => list.clone(),
            ChunkMap::Raid4 { disks } => (0..disks - 1).collect(),
            ChunkMap::Concatenated { disks: 1, .. } => vec![0],
            ChunkMap::Concatenated { .. } => Vec::new(),
            ChunkMap::Raid10 { disks, .. } => (0..*disks as u64).map(|chunk| self.place(chunk, 0).disk).collect(),
        };
        let size = library::period(&list);
        list[..size].to_vec()
    }
}

fn raid10(kind: Raid10Kind, copies: u64, disks: u64, chunk: u64, copy: u64) -> ChunkPlace {
    let (disk, row) = match kind {
        Raid10Kind::Near => ((chunk * copies + copy) % disks, (chunk * copies + copy) / disks),
        Raid10Kind::Far { rows } => ((chunk + copy) % disks, chunk / disks + copy * rows),
        Raid10Kind::Offset => ((chunk + copy) % disks, chunk / disks * copies + copy),
    };
    ChunkPlace { disk: disk as usize, row }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every copy of every chunk has a place of its own, no two on one member, and all fit.
    #[test]
    fn every_copy_has_a_place_of_its_own() {
        for kind in [Raid10Kind::Near, Raid10Kind::Far { rows: 12 }, Raid10Kind::Offset] {
            for (copies, disks) in [(2, 2), (2, 3), (2, 4), (2, 5), (3, 3), (3, 4), (3, 6)] {
                let map = ChunkMap::Raid10 { kind, copies, disks };
                let rows = 12 * copies as u64;
                let mut used = std::collections::BTreeSet::new();
                for chunk in 0..map.stripes(rows) {
                    let places: Vec<ChunkPlace> = (0..copies).map(|copy| map.place(chunk, copy)).collect();
                    assert!(places.iter().all(|place| place.row < rows && place.disk < disks), "{map:?} {places:?}");
                    let members: std::collections::BTreeSet<usize> = places.iter().map(|place| place.disk).collect();
                    assert_eq!(members.len(), copies, "{map:?}, chunk {chunk}");
                    assert!(places.iter().all(|place| used.insert(*place)), "{map:?}, chunk {chunk}");
                }
            }
        }
        let concatenated = ChunkMap::Concatenated { disks: 3, rows: 10 };
        assert_eq!((concatenated.stripes(10), concatenated.place(29, 0)), (30, ChunkPlace { disk: 2, row: 9 }));
    }
}
