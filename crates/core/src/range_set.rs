//! A set of sectors, kept as the fewest disjoint runs: such as the sectors that a pass has verified.

use crate::units::{Sector, SectorRange};
use std::collections::BTreeMap;

/// Disjoint, non-adjacent, non-empty runs of sectors. Each run takes one tree entry of memory; a tour in any order
/// leaves at most about one run per region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    runs: BTreeMap<u64, u64>,
    count: u64,
}

impl RangeSet {
    /// The number of sectors in the set.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds every sector of `range`; returns how many of them are new.
    pub fn insert(&mut self, range: SectorRange) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let (mut start, mut end) = (range.start.0, range.end.0);
        let before = self.count;
        // First the one run that begins before `range` and reaches it, then all that begin inside or right behind it.
        if let Some((&run_start, &run_end)) = self.runs.range(..start).next_back()
            && run_end >= start
        {
            self.remove_run(run_start, run_end);
            start = run_start;
            end = end.max(run_end);
        }
        while let Some((&run_start, &run_end)) = self.runs.range(start..=end).next() {
            self.remove_run(run_start, run_end);
            end = end.max(run_end);
        }
        self.runs.insert(start, end);
        self.count += end - start;
        self.count - before
    }

    /// The first run inside `range` that is *not* in the set; `None` when the set holds all of it.
    pub fn first_gap(&self, range: SectorRange) -> Option<SectorRange> {
        let mut start = range.start.0;
        if let Some((_, &run_end)) = self.runs.range(..=start).next_back() {
            start = start.max(run_end);
        }
        if start >= range.end.0 {
            return None;
        }
        let next = self.runs.range(start..range.end.0).next().map_or(range.end.0, |(&run_start, _)| run_start);
        Some(SectorRange::new(start, next))
    }

    /// Whether the set holds all of `range`.
    pub fn covers(&self, range: SectorRange) -> bool {
        self.first_gap(range).is_none()
    }

    /// The number of sectors of `range` that are in the set.
    pub fn count_in(&self, range: SectorRange) -> u64 {
        let first = self.runs.range(..range.start.0).next_back().map(|(&start, &end)| (start, end));
        let inside = self.runs.range(range.start.0..range.end.0).map(|(&start, &end)| (start, end));
        first
            .into_iter()
            .chain(inside)
            .map(|(start, end)| end.min(range.end.0).saturating_sub(start.max(range.start.0)))
            .sum()
    }

    /// Removes every sector of `range`.
    pub fn remove(&mut self, range: SectorRange) {
        let (start, end) = (range.start.0, range.end.0);
        if range.is_empty() {
            return;
        }
        while let Some((&run_start, &run_end)) =
            self.runs.range(..end).next_back().filter(|(_, run_end)| **run_end > start)
        {
            self.remove_run(run_start, run_end);
            for (start, end) in [(run_start, start.max(run_start)), (end.min(run_end), run_end)] {
                if start < end {
                    self.runs.insert(start, end);
                    self.count += end - start;
                }
            }
            if run_start <= start {
                break;
            }
        }
    }

    /// Removes and returns the first run, or its first `count` sectors if it is longer.
    pub fn take_first(&mut self, count: u64) -> Option<SectorRange> {
        let (start, end) = self.runs.pop_first()?;
        let middle = start.saturating_add(count).min(end);
        if middle < end {
            self.runs.insert(middle, end);
        }
        self.count -= middle - start;
        Some(SectorRange::new(start, middle))
    }

    /// The runs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = SectorRange> + '_ {
        self.runs.iter().map(|(&start, &end)| SectorRange { start: Sector(start), end: Sector(end) })
    }

    fn remove_run(&mut self, start: u64, end: u64) {
        self.runs.remove(&start);
        self.count -= end - start;
    }
}

impl FromIterator<SectorRange> for RangeSet {
    fn from_iter<I: IntoIterator<Item = SectorRange>>(ranges: I) -> RangeSet {
        let mut set = RangeSet::default();
        for range in ranges {
            set.insert(range);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Agrees with a flat array of booleans.
        #[test]
        fn behaves_like_an_array_of_flags(inserts in prop::collection::vec((0u64..60, 0u64..12), 0..40), probe in (0u64..60, 0u64..20)) {
            let mut flags = [false; 100];
            let mut set = RangeSet::default();
            for (start, count) in inserts {
                let range = SectorRange::at(start, count);
                let new = (start..start + count).filter(|&s| !flags[s as usize]).count() as u64;
                flags[start as usize..(start + count) as usize].fill(true);
                prop_assert_eq!(set.insert(range), new);
            }
            prop_assert_eq!(set.count(), flags.iter().filter(|&&f| f).count() as u64);
            let range = SectorRange::at(probe.0, probe.1);
            let inside = || range.start.0..range.end.0;
            prop_assert_eq!(set.count_in(range), inside().filter(|&s| flags[s as usize]).count() as u64);
            let gap = inside().find(|&s| !flags[s as usize]).map(|start| {
                let end = (start..range.end.0).find(|&s| flags[s as usize]).unwrap_or(range.end.0);
                SectorRange::new(start, end)
            });
            prop_assert_eq!(set.first_gap(range), gap);
            prop_assert_eq!(set.covers(range), gap.is_none());
            let runs: Vec<_> = set.iter().collect();
            prop_assert!(runs.windows(2).all(|pair| pair[0].end < pair[1].start), "runs are apart");
            let mut rest = set.clone();
            rest.remove(range);
            prop_assert_eq!(rest.count(), set.count() - set.count_in(range));
            prop_assert_eq!(rest.count_in(range), 0);
            prop_assert_eq!(rest.insert(range), range.count());
            let mut both = set.clone();
            both.insert(range);
            prop_assert_eq!(rest, both);
            let (whole, mut taken) = (set.clone(), RangeSet::default());
            while let Some(range) = set.take_first(3) {
                prop_assert!((1..=3).contains(&range.count()));
                prop_assert_eq!(taken.insert(range), range.count());
            }
            prop_assert_eq!(taken, whole);
            prop_assert_eq!(set, RangeSet::default());
        }
    }
}
