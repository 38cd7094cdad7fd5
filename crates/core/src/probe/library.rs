//! The library of known layouts: which of them have a given list of classes.
//!
//! A *class* is the set of the chunks of a pattern that lie on the same disk (for mirrors: on the same pair). Classes are
//! numbered in the order of their first chunks, so that two lists are equal when they describe the same classes. Reads alone
//! cannot distinguish layouts whose data lie alike: RAID-0, RAID-5 left-symmetric and the paper's P+Q have the same classes.

use crate::layout::Shape;
use crate::layout::{Layout, LayoutKind};
use std::collections::BTreeSet;

/// Disks of an array in the library, at most. A choice: eight times the largest array of Denehy et al. 2004.
pub const DISKS_MAX: usize = 128;

/// A known layout that has the given classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutFit {
    /// The layout, with its number of disks.
    pub layout: Layout,
    /// The chunk of the layout's pattern that is the first of the given chunks.
    pub shift: u64,
}

impl LayoutFit {
    /// The layout's classes, beginning at that chunk.
    pub fn classes(&self) -> Vec<usize> {
        classes_of(&self.layout, self.shift)
    }

    /// Whether the layout has these classes, numbered by their first chunks. Most layouts fail within the first chunks.
    fn has_classes(&self, classes: &[usize]) -> bool {
        let mut disks: Vec<usize> = Vec::new();
        (self.shift..).zip(classes).all(|(chunk, &class)| {
            let disk = self.layout.data_disk(chunk);
            match disks.get(class) {
                Some(&known) => known == disk,
                None => {
                    let is_new = !disks.contains(&disk);
                    disks.push(disk);
                    is_new
                }
            }
        })
    }
}

/// The given classes, numbered in the order of their first chunks.
pub fn canonical(classes: &[usize]) -> Vec<usize> {
    let mut seen: Vec<usize> = Vec::new();
    let number = |class: &usize| {
        seen.iter().position(|other| other == class).unwrap_or_else(|| {
            seen.push(*class);
            seen.len() - 1
        })
    };
    classes.iter().map(number).collect()
}

/// The least period of a list: the true pattern, if too large a pattern was assumed.
pub fn period(classes: &[usize]) -> usize {
    let repeats = |size: &usize| {
        classes.len().is_multiple_of(*size) && classes.iter().enumerate().all(|(i, class)| *class == classes[i % size])
    };
    (1..=classes.len()).find(repeats).unwrap_or(classes.len())
}

/// All known layouts with a pattern of `chunks` chunks, at each shift that gives different classes. Layouts with
/// another number of copies are left out, if it is known.
pub fn candidates(chunks: u64, copies: Option<usize>) -> Vec<LayoutFit> {
    let mut found: Vec<LayoutFit> = Vec::new();
    for layout in layouts(chunks, copies) {
        let mut seen = BTreeSet::new();
        let each = (0..chunks).map(|shift| LayoutFit { layout, shift });
        found.extend(each.filter(|fit| seen.insert(fit.classes())));
    }
    found
}

/// The known layouts that have exactly these classes, in any numbering.
pub fn fits(classes: &[usize], copies: Option<usize>) -> Vec<LayoutFit> {
    let (wanted, chunks) = (canonical(classes), classes.len() as u64);
    let fit = |layout| (0..chunks).map(|shift| LayoutFit { layout, shift }).find(|fit| fit.has_classes(&wanted));
    layouts(chunks, copies).into_iter().filter_map(fit).collect()
}

/// The number of disks that hold each chunk.
pub fn copies_of(layout: &Layout) -> usize {
    if matches!(layout.kind(), LayoutKind::Raid1 | LayoutKind::Chained | LayoutKind::Near) { 2 } else { 1 }
}

/// All known layouts with a pattern of `chunks` chunks, and with this number of copies if it is known. (`rotating` is
/// included with three to six parities only: with one or two it is RAID-5 and RAID-6.)
pub fn layouts(chunks: u64, copies: Option<usize>) -> Vec<Layout> {
    let mut found = Vec::new();
    for disks in 1..=DISKS_MAX {
        // No pattern is longer than disks times data chunks, or shorter than half the disks.
        if disks as u64 > 2 * chunks || (disks * disks) as u64 * 2 < chunks {
            continue;
        }
        for kind in LayoutKind::ALL {
            let shapes: Vec<Shape> = match kind {
                LayoutKind::Raid0 | LayoutKind::ZigZag => vec![Shape { data: disks, parity: 0 }],
                LayoutKind::Raid1 | LayoutKind::Chained | LayoutKind::Near => vec![Shape { data: 1, parity: 1 }],
                LayoutKind::Rotating => (3..=6)
                    .filter(|parity| parity + 2 <= disks)
                    .map(|parity| Shape { data: disks - parity, parity })
                    .collect(),
                LayoutKind::Raid6Md | LayoutKind::Raid6Pq if disks >= 3 => vec![Shape { data: disks - 2, parity: 2 }],
                _ if disks >= 3 => vec![Shape { data: disks - 1, parity: 1 }],
                _ => Vec::new(),
            };
            // A single disk has one name only, and two chained disks are a mirror.
            let is_canonical_name = match kind {
                LayoutKind::Raid0 => true,
                LayoutKind::Chained => disks > 2,
                _ => disks > 1,
            };
            let possible = shapes.into_iter().filter_map(|shape| Layout::new(kind, shape, disks).ok());
            found.extend(possible.filter(|layout| is_canonical_name && layout.pattern() == chunks));
        }
    }
    found.retain(|layout| copies.is_none_or(|copies| copies_of(layout) == copies));
    found
}

fn classes_of(layout: &Layout, shift: u64) -> Vec<usize> {
    let chunks = layout.pattern();
    canonical(&(0..chunks).map(|chunk| layout.data_disk(shift + chunk)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(classes: &[usize], copies: Option<usize>) -> Vec<(&'static str, usize)> {
        fits(classes, copies).iter().map(|fit| (fit.layout.kind().name(), fit.layout.disks())).collect()
    }

    #[test]
    fn the_period_is_the_shortest_repeating_part() {
        assert_eq!(period(&[0, 1, 2, 0, 1, 2]), 3);
        assert_eq!((period(&[0, 0]), period(&[0, 1, 0]), period(&[])), (1, 3, 0));
    }

    #[test]
    fn layouts_that_reads_cannot_distinguish_are_listed_together() {
        assert_eq!(names(&[0, 1, 2, 3, 4, 5], Some(1)), [("raid0", 6), ("raid5-ls", 6), ("raid6-pq", 6)]);
        assert_eq!(names(&[9, 1, 2], Some(2)), [("chained", 3), ("raid10-near", 3), ("raid1", 6)]);
        assert_eq!(names(&[0, 1], Some(2)), [("raid1", 4)], "two disks that are chained are a mirror");
        assert_eq!(names(&[0], None), [("raid0", 1), ("raid1", 2)]);
        assert_eq!(names(&[0, 1, 0, 2], None), []);
    }

    #[test]
    fn every_layout_is_found_from_every_shift_and_no_other_one_of_its_family() {
        for (kind, data, parity) in [
            (LayoutKind::Raid5La, 4, 1),
            (LayoutKind::Raid5Ra, 4, 1),
            (LayoutKind::Raid5Rs, 4, 1),
            (LayoutKind::Raid6Md, 4, 2),
            (LayoutKind::ZigZag, 6, 0),
            (LayoutKind::Rotating, 4, 3),
        ] {
            let layout = Layout::new(kind, Shape { data, parity }, data + parity).unwrap();
            for shift in 0..layout.pattern() {
                let fits = fits(&classes_of(&layout, shift), None);
                assert!(fits.iter().any(|fit| fit.layout == layout), "{kind} from {shift}");
                assert!(fits.iter().all(|fit| fit.layout == layout), "{kind} from {shift} is also {fits:?}");
            }
        }
    }

    #[test]
    fn equal_lists_are_kept_once() {
        let zigzag = candidates(12, Some(1)).into_iter().filter(|fit| fit.layout.kind() == LayoutKind::ZigZag);
        let lists: Vec<_> = zigzag.map(|fit| fit.classes()).collect();
        assert_eq!(lists.len(), 6, "from the other end it is the same: {lists:?}");
    }
}
