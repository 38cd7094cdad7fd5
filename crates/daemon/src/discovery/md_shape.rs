//! The layout of an md array: how many members may be lost, and where the chunks lie, if `scrubjay_core` knows the layout.

use scrubjay_core::layout::{Layout, LayoutKind, Shape};

/// What determines where md places chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MdShape {
    /// The text of `md/level`, such as `raid6`.
    pub level: String,
    /// The number of places.
    pub disks: usize,
    /// The number in `md/layout`, whose meaning depends on the level.
    pub layout: u64,
    /// Sectors of a chunk; 0 if the level has no chunks.
    pub chunk: u64,
    /// Is the same number of sectors used of every member?
    pub is_even: bool,
}

/// Sectors of a page. Linux rewrites unreadable sectors of a mirror page by page (drivers/md/raid1.c,
/// `fix_read_error`), so two members lose the same data if they lose the same page.
const PAGE_SECTORS: u64 = 8;
/// The bit of `md/layout` of RAID-10 for the offset layout (drivers/md/raid10.c, `setup_geo`). The first byte has the
/// near copies, the second byte the far copies; with this bit the far copies follow at once.
const FAR_IS_OFFSET: u64 = 1 << 16;

impl MdShape {
    fn near_copies(&self) -> u64 {
        self.layout & 0xff
    }

    fn far_copies(&self) -> u64 {
        self.layout >> 8 & 0xff
    }

    /// How many members, whichever they are, may be missing, counted from all present.
    pub fn redundancy(&self) -> u32 {
        match self.level.as_str() {
            "raid1" => u32::try_from(self.disks.saturating_sub(1)).unwrap_or(u32::MAX),
            "raid4" | "raid5" => 1,
            "raid6" => 2,
            "raid10" => (self.near_copies() * self.far_copies()).saturating_sub(1) as u32,
            _ => 0,
        }
    }

    /// The level for people, such as `RAID6`.
    pub fn words(&self) -> String {
        match self.level.strip_prefix("raid") {
            Some(number) => format!("RAID{number}"),
            None => self.level.clone(),
        }
    }

    /// The layout, and the sectors of a chunk. `None`: core has no map of it. These are RAID-4, RAID-10 `far`, RAID-5
    /// and RAID-6 with parity in unusual places, and striping over members of different sizes.
    pub fn map(&self) -> Option<(Layout, u64)> {
        let stripe_shape = |parity: usize| Some(Shape { data: self.disks.checked_sub(parity)?, parity });
        let (kind, shape, chunk) = match (self.level.as_str(), self.layout) {
            ("raid0", _) if self.is_even => (LayoutKind::Raid0, stripe_shape(0)?, self.chunk),
            ("raid1", _) => return mirror(self.disks, PAGE_SECTORS),
            // drivers/md/raid5.h, ALGORITHM_*
            ("raid5", 0) => (LayoutKind::Raid5La, stripe_shape(1)?, self.chunk),
            ("raid5", 1) => (LayoutKind::Raid5Ra, stripe_shape(1)?, self.chunk),
            ("raid5", 2) => (LayoutKind::Raid5Ls, stripe_shape(1)?, self.chunk),
            ("raid5", 3) => (LayoutKind::Raid5Rs, stripe_shape(1)?, self.chunk),
            ("raid6", 2) => (LayoutKind::Raid6Md, stripe_shape(2)?, self.chunk),
            ("raid10", layout) => return self.raid10(layout),
            _ => return None,
        };
        with_chunk(kind, shape, self.disks, chunk)
    }

    fn raid10(&self, layout: u64) -> Option<(Layout, u64)> {
        let pair = Shape { data: 1, parity: 1 };
        match (self.near_copies(), self.far_copies(), layout >> 16) {
            (near, 1, 0) if near == self.disks as u64 => mirror(self.disks, self.chunk),
            (2, 1, 0) if self.disks.is_multiple_of(2) => with_chunk(LayoutKind::Raid1, pair, self.disks, self.chunk),
            (2, 1, 0) => with_chunk(LayoutKind::Near, pair, self.disks, self.chunk),
            (1, 2, _) if layout >> 16 == FAR_IS_OFFSET >> 16 => {
                with_chunk(LayoutKind::Chained, pair, self.disks, self.chunk)
            }
            _ => None,
        }
    }
}

/// The layout of a mirror: two members are a pair; more are one chunk of data whose "parities" are its copies, in turn.
fn mirror(disks: usize, chunk: u64) -> Option<(Layout, u64)> {
    let shape = Shape { data: 1, parity: disks.checked_sub(1)? };
    let kind = if disks == 2 { LayoutKind::Raid1 } else { LayoutKind::Rotating };
    with_chunk(kind, shape, disks, chunk)
}

fn with_chunk(kind: LayoutKind, shape: Shape, disks: usize, chunk: u64) -> Option<(Layout, u64)> {
    let layout = Layout::new(kind, shape, disks).ok()?;
    (chunk > 0).then_some((layout, chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(level: &str, disks: usize, layout: u64) -> MdShape {
        MdShape { level: level.into(), disks, layout, chunk: 1024, is_even: true }
    }

    fn kind(level: &str, disks: usize, layout: u64) -> Option<LayoutKind> {
        shape(level, disks, layout).map().map(|(layout, _)| layout.kind())
    }

    #[test]
    fn levels_and_layouts_have_their_maps() {
        assert_eq!(kind("raid0", 3, 0), Some(LayoutKind::Raid0));
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(|layout| kind("raid5", 4, layout)),
            [
                Some(LayoutKind::Raid5La),
                Some(LayoutKind::Raid5Ra),
                Some(LayoutKind::Raid5Ls),
                Some(LayoutKind::Raid5Rs),
                None,
                None
            ]
        );
        assert_eq!([2, 0, 8, 18].map(|layout| kind("raid6", 6, layout)), [Some(LayoutKind::Raid6Md), None, None, None]);
        assert_eq!([4, 5].map(|disks| kind("raid10", disks, 0x102)), [Some(LayoutKind::Raid1), Some(LayoutKind::Near)]);
        assert_eq!(
            [0x10201, 0x201, 0x202, 0x20201].map(|layout| kind("raid10", 4, layout)),
            [Some(LayoutKind::Chained), None, None, None]
        );
        assert_eq!(kind("raid10", 3, 0x103), Some(LayoutKind::Rotating));
        assert_eq!(["raid4", "linear", "faulty"].map(|level| kind(level, 4, 0)), [None; 3]);
        assert_eq!(MdShape { is_even: false, ..shape("raid0", 3, 0) }.map(), None);
        assert_eq!(MdShape { chunk: 0, ..shape("raid5", 3, 2) }.map(), None);
    }

    #[test]
    fn mirrors_meet_in_one_stripe_on_all_disks() {
        for disks in 2..6 {
            let (layout, chunk) = shape("raid1", disks, 0).map().unwrap();
            assert_eq!((layout.disks(), chunk, layout.shape().parity), (disks, 8, disks - 1));
            for row in 0..20 {
                let stripes: Vec<u64> = (0..disks).map(|disk| layout.chunk_at(disk, row).unwrap().0).collect();
                assert_eq!(stripes, vec![row; disks]);
            }
        }
    }

    #[test]
    fn the_redundancy_is_the_number_of_members_that_may_be_missing() {
        let redundancy_of = |level, disks, layout| shape(level, disks, layout).redundancy();
        assert_eq!(
            [
                redundancy_of("raid0", 4, 0),
                redundancy_of("linear", 4, 0),
                redundancy_of("raid1", 3, 0),
                redundancy_of("raid5", 4, 2)
            ],
            [0, 0, 2, 1]
        );
        assert_eq!(
            [
                redundancy_of("raid6", 4, 2),
                redundancy_of("raid10", 4, 0x102),
                redundancy_of("raid10", 6, 0x103),
                redundancy_of("raid10", 6, 0x202)
            ],
            [2, 1, 2, 3]
        );
        assert_eq!(shape("raid10", 4, 0).redundancy(), 0, "nonsense");
        assert_eq!(shape("raid6", 4, 2).words(), "RAID6");
    }
}
