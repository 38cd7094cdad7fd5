//! The table of address maps: their names, and the arrays they are made for.

use crate::layout::Shape;
use std::fmt;

/// An address map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayoutKind {
    /// Striping without redundancy.
    Raid0,
    /// Striped pairs: each chunk on both disks of its pair.
    Raid1,
    /// RAID-5, parity moving left, data following it: Linux' default.
    Raid5Ls,
    /// RAID-5, parity moving left, data from disk 0 on.
    Raid5La,
    /// RAID-5, parity moving right, data following it.
    Raid5Rs,
    /// RAID-5, parity moving right, data from disk 0 on.
    Raid5Ra,
    /// RAID-6 as Linux lays it out by default: left-symmetric, P and Q moving left by one disk a stripe.
    Raid6Md,
    /// RAID-6 with P and Q moving left by two disks a stripe: data chunk i lies on disk i mod D (Denehy et al. 2004).
    Raid6Pq,
    /// Any number of parities, moving left by one disk a stripe: RAID-5 left-symmetric and Linux' RAID-6, generalised.
    Rotating,
    /// Chained declustering: the copy of a chunk lies on the next disk.
    Chained,
    /// Striping without redundancy, every second row from right to left.
    ZigZag,
    /// Two copies side by side, going on in the next row: Linux' RAID-10 `near` of an odd number of disks (of an even one it is
    /// [`LayoutKind::Raid1`]).
    Near,
}

impl LayoutKind {
    /// All of them.
    pub const ALL: [LayoutKind; 12] = [
        LayoutKind::Raid0,
        LayoutKind::Raid1,
        LayoutKind::Raid5Ls,
        LayoutKind::Raid5La,
        LayoutKind::Raid5Rs,
        LayoutKind::Raid5Ra,
        LayoutKind::Raid6Md,
        LayoutKind::Raid6Pq,
        LayoutKind::Rotating,
        LayoutKind::Chained,
        LayoutKind::ZigZag,
        LayoutKind::Near,
    ];

    /// As it is called on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            LayoutKind::Raid0 => "raid0",
            LayoutKind::Raid1 => "raid1",
            LayoutKind::Raid5Ls => "raid5-ls",
            LayoutKind::Raid5La => "raid5-la",
            LayoutKind::Raid5Rs => "raid5-rs",
            LayoutKind::Raid5Ra => "raid5-ra",
            LayoutKind::Raid6Md => "raid6-md",
            LayoutKind::Raid6Pq => "raid6-pq",
            LayoutKind::Rotating => "rotating",
            LayoutKind::Chained => "chained",
            LayoutKind::ZigZag => "zigzag",
            LayoutKind::Near => "raid10-near",
        }
    }

    /// By its name.
    pub fn by_name(name: &str) -> Option<LayoutKind> {
        LayoutKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Which arrays it is made for, in words.
    pub const fn takes(self) -> &'static str {
        match self {
            LayoutKind::Raid0 | LayoutKind::ZigZag => "a data chunk on each disk and no redundant one",
            LayoutKind::Raid1 => "one data chunk, one copy, and an even number of disks",
            LayoutKind::Chained => "one data chunk, one copy, and two disks or more",
            LayoutKind::Near => "one data chunk, one copy, and an odd number of disks, three or more",
            LayoutKind::Raid5Ls | LayoutKind::Raid5La | LayoutKind::Raid5Rs | LayoutKind::Raid5Ra => {
                "one parity and a disk for each chunk of a stripe"
            }
            LayoutKind::Raid6Md | LayoutKind::Raid6Pq => "two parities and a disk for each chunk of a stripe",
            LayoutKind::Rotating => {
                "a data chunk or more, any number of parities, and a disk for each chunk of a stripe"
            }
        }
    }

    /// Is it made for this?
    pub(super) fn accepts(self, shape: Shape, disks: usize) -> bool {
        let Shape { data, parity } = shape;
        let on_every_disk = data >= 1 && data.checked_add(parity) == Some(disks);
        match self {
            LayoutKind::Raid0 | LayoutKind::ZigZag => on_every_disk && parity == 0,
            LayoutKind::Raid1 => data == 1 && parity == 1 && disks >= 2 && disks.is_multiple_of(2),
            LayoutKind::Chained => data == 1 && parity == 1 && disks >= 2,
            LayoutKind::Near => data == 1 && parity == 1 && disks >= 3 && !disks.is_multiple_of(2),
            LayoutKind::Raid5Ls | LayoutKind::Raid5La | LayoutKind::Raid5Rs | LayoutKind::Raid5Ra => {
                on_every_disk && parity == 1
            }
            LayoutKind::Raid6Md | LayoutKind::Raid6Pq => on_every_disk && parity == 2,
            LayoutKind::Rotating => on_every_disk,
        }
    }
}

impl fmt::Display for LayoutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
