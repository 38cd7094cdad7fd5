//! Visits: what a scrub measured each time it came to a segment of a region, and a whole pass of them.

use super::map::{RegionTiming, SpeedMap};
use super::{ReadTime, median};
use crate::grid::{Grid, SegmentPlace};
use crate::units::UnixSeconds;

/// What one visit to a segment measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visit {
    /// The median of its requests; nothing: none of them was alone at the disk and followed the one before.
    pub typical: ReadTime,
    /// The slowest of its requests.
    pub slowest: ReadTime,
    /// Requests that took far longer than any disk should ([`super::map::RegionTiming::stalled`]); 255: or more.
    pub stalls: u8,
    /// Requests that had the disk for themselves; 255: or more. 0: there was no visit.
    pub requests: u8,
    /// When, in whole hours since the pass began; 65535: or later.
    pub hour: u16,
}

impl Visit {
    /// The bytes of a visit as it is saved.
    pub const BYTES: usize = 6;

    /// The visit as it is saved. All zero: there was none.
    pub fn to_bytes(self) -> [u8; Visit::BYTES] {
        let [low, high] = self.hour.to_le_bytes();
        [self.typical.code(), self.slowest.code(), self.stalls, self.requests, low, high]
    }

    /// The visit that was saved so.
    pub fn of_bytes([typical, slowest, stalls, requests, low, high]: [u8; Visit::BYTES]) -> Visit {
        let hour = u16::from_le_bytes([low, high]);
        Visit { typical: ReadTime::of_code(typical), slowest: ReadTime::of_code(slowest), stalls, requests, hour }
    }

    /// This visit and another one to the same segment, which was interrupted: the one with more requests tells what is typical.
    pub fn joined(self, other: Visit) -> Visit {
        let (more, less) = if other.requests > self.requests { (other, self) } else { (self, other) };
        Visit {
            typical: if more.typical.is_measured() { more.typical } else { less.typical },
            slowest: more.slowest.max(less.slowest),
            stalls: more.stalls.saturating_add(less.stalls),
            requests: more.requests.saturating_add(less.requests),
            hour: more.hour,
        }
    }
}

/// The visits of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassVisits {
    grid: Grid,
    /// When the pass began.
    begun: UnixSeconds,
    /// Segment by segment of all regions, as a staggered pass makes them.
    visits: Vec<Visit>,
}

impl PassVisits {
    /// Segments of a region, at most: the memory of a map is bounded by them.
    pub const SEGMENTS_MAX: u64 = 64;

    /// A pass without visits; `None`: the grid has too many segments a region.
    pub fn new(grid: Grid, begun: UnixSeconds) -> Option<PassVisits> {
        PassVisits::is_bounded(&grid).then(|| {
            let count = grid.step_count() as usize;
            PassVisits { grid, begun, visits: vec![Visit::default(); count] }
        })
    }

    /// Whether a pass on this grid is kept: not if it has too many segments a region.
    pub fn is_bounded(grid: &Grid) -> bool {
        grid.segments_per_region() <= PassVisits::SEGMENTS_MAX
    }

    /// The division into regions and segments.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// When the pass began.
    pub fn begun(&self) -> UnixSeconds {
        self.begun
    }

    /// The number of a place among all visits: those of segment 0 of all regions come first.
    pub fn index(grid: &Grid, place: SegmentPlace) -> u64 {
        place.segment * grid.region_count() + place.region
    }

    /// All visits in that order, to be filled.
    pub fn visits_mut(&mut self) -> &mut [Visit] {
        &mut self.visits
    }

    /// Adds a visit.
    ///
    /// # Panics
    /// When the place is not of the grid.
    pub fn add(&mut self, place: SegmentPlace, visit: Visit) {
        let slot = &mut self.visits[PassVisits::index(&self.grid, place) as usize];
        *slot = slot.joined(visit);
    }

    /// The visits to a region that measured something.
    pub fn of_region(&self, region: u64) -> impl Iterator<Item = Visit> + '_ {
        let (count, segments) = (self.grid.region_count(), self.grid.segments_per_region());
        (0..segments)
            .map(move |segment| self.visits[(segment * count + region) as usize])
            .filter(|visit| visit.requests > 0)
    }

    /// All visits that measured something, with their regions.
    pub fn all(&self) -> impl Iterator<Item = (u64, Visit)> + '_ {
        let count = self.grid.region_count();
        let numbered = self.visits.iter().enumerate();
        numbered.map(move |(index, visit)| (index as u64 % count, *visit)).filter(|(_, visit)| visit.requests > 0)
    }

    /// The map of the pass, which ended at `ended` (or is under way).
    pub fn map(&self, ended: UnixSeconds) -> SpeedMap {
        let mut visits = Vec::new();
        let regions = (0..self.grid.region_count())
            .map(|region| {
                visits.clear();
                visits.extend(self.of_region(region));
                region_of(&visits)
            })
            .collect();
        SpeedMap {
            sectors: self.grid.disk().count(),
            region_sectors: self.grid.region_sectors(),
            begun: self.begun,
            ended,
            regions,
        }
    }
}

/// What the visits to a region say together.
fn region_of(visits: &[Visit]) -> RegionTiming {
    let mut typical: Vec<ReadTime> = visits.iter().map(|visit| visit.typical).collect();
    // Where most visits tell nothing of the time, those that do are too few.
    let measured = typical.iter().filter(|time| time.is_measured()).count();
    if 2 * measured < visits.len() {
        typical.clear();
    }
    let mut slowest: Vec<ReadTime> = visits.iter().map(|visit| visit.slowest).collect();
    slowest.sort_unstable_by(|a, b| b.cmp(a));
    // Of about a hundred requests one is slower than the 99th percentile.
    let p99 = slowest.get(1).or(slowest.first()).copied().unwrap_or_default();
    let stalled = visits.iter().filter(|visit| visit.stalls > 0).count();
    RegionTiming::new(median(&mut typical), p99, stalled, visits.len(), is_spread(visits))
}

/// Whether what returns each day at the same hour cannot be what the visits measured: they came at several hours of the day, or all within one day.
fn is_spread(visits: &[Visit]) -> bool {
    let hours = visits.iter().map(|visit| visit.hour);
    let span = hours.clone().max().unwrap_or_default() - hours.clone().min().unwrap_or_default();
    let of_day = hours.fold(0u32, |seen, hour| seen | 1 << (hour % 24));
    span < 24 || of_day.count_ones() >= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(code: u8, hour: u16) -> Visit {
        Visit { typical: ReadTime::of_code(code), slowest: ReadTime::of_code(code + 1), stalls: 0, requests: 8, hour }
    }

    #[test]
    fn a_visit_comes_back_from_its_bytes() {
        let visit = Visit { stalls: 3, ..visit(77, 700) };
        assert_eq!(Visit::of_bytes(visit.to_bytes()), visit);
        assert_eq!(Visit::of_bytes([0; Visit::BYTES]), Visit::default());
    }

    #[test]
    fn a_region_is_the_median_of_its_visits_so_a_slow_hour_does_not_count() {
        let grid = Grid::new(4 * 16, 16, 1);
        let mut pass = PassVisits::new(grid, UnixSeconds(5)).unwrap();
        for segment in 0..16 {
            for region in 0..4 {
                let code = if segment < 6 { 120 } else { 100 + region as u8 };
                pass.add(SegmentPlace { region, segment }, visit(code, segment as u16));
            }
        }
        let map = pass.map(UnixSeconds(9));
        assert_eq!(map.regions.iter().map(|region| region.typical.code()).collect::<Vec<_>>(), [100, 101, 102, 103]);
        assert_eq!(pass.all().count(), 64);
    }

    #[test]
    fn visits_at_the_same_hour_of_each_day_prove_nothing() {
        let at = |hours: &[u16]| is_spread(&hours.iter().map(|&hour| visit(9, hour)).collect::<Vec<_>>());
        assert!(!at(&[3, 27, 51, 75, 99]), "each day at three");
        assert!(at(&[3, 28, 53, 78]), "at 3, 4, 5 and 6");
        assert!(at(&[3, 4, 5]), "within a day");
    }

    #[test]
    fn an_interrupted_visit_is_one() {
        let part = |requests, code| Visit { requests, ..visit(code, 1) };
        let joined = part(2, 50).joined(part(5, 60));
        assert_eq!((joined.typical.code(), joined.slowest.code(), joined.requests), (60, 61, 7));
        assert_eq!(Visit::default().joined(part(1, 9)), part(1, 9));
    }
}
