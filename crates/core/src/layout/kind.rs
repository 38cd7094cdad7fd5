//! The kinds of layout: their names, and the arrays that each is made for.

use crate::layout::Shape;
use std::fmt;

/// A kind of layout: how chunks are placed on the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayoutKind {
    /// Striping without redundancy.
    Raid0,
    /// Striped pairs: each chunk lies on both disks of its pair.
    Raid1,
    /// RAID-5 left-symmetric: parity moves left, data follow it. Linux' default.
    Raid5Ls,
    /// RAID-5 left-asymmetric: parity moves left, data begin at disk 0.
    Raid5La,
    /// RAID-5 right-symmetric: parity moves right, data follow it.
    Raid5Rs,
    /// RAID-5 right-asymmetric: parity moves right, data begin at disk 0.
    Raid5Ra,
    /// RAID-6, Linux' default: left-symmetric, P and Q move left by one disk per stripe.
    Raid6Md,
    /// RAID-6 whose P and Q move left by two disks per stripe: data chunk i lies on disk i mod D (Denehy et al. 2004).
    Raid6Pq,
    /// Any number of parities that move left by one disk per stripe: generalises RAID-5 left-symmetric and Linux' RAID-6.
    Rotating,
    /// Chained declustering: the copy of a chunk lies on the next disk.
    Chained,
    /// Striping without redundancy; every second row runs from right to left.
    ZigZag,
    /// Two adjacent copies, continued in the next row: Linux' RAID-10 `near` on an odd number of disks (on an even
    /// number it is [`LayoutKind::Raid1`]).
    Near,
}

impl LayoutKind {
    /// All kinds.
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

    /// The kind's name on the command line.
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

    /// The kind of this name.
    pub fn by_name(name: &str) -> Option<LayoutKind> {
        LayoutKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The shapes and numbers of disks that this kind is made for, in words.
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

    /// Whether this kind is made for `shape` on `disks` disks.
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
