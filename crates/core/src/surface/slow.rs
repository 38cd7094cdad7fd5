//! Slow places: regions that answer slower than their neighbours, in one pass and in two.
//!
//! The speed of a hard disk falls from zone to zone, and differs from head to head; so a region is compared with the median of those around it
//! (a fiftieth of the disk to each side, or sixteen regions), and by how much those differ among themselves.

use super::map::{RegionTiming, SpeedMap};
use super::{ReadTime, ratio_of_steps, steps_of_ratio};
use crate::units::SectorRange;

/// A region is slow from this ratio to its neighbours on.
pub const SLOW_RATIO: f64 = 1.25;
/// And from this many standard deviations of what regions differ by (estimated from their median).
const SLOW_DEVIATIONS: f64 = 4.5;
/// A slow place reaches as far as regions are this share of that behind.
const EDGE: f64 = 0.6;
/// A region says something from this many visits on.
const VISITS_MIN: u8 = 4;
/// Neighbours to each side, at least; on a large disk this share of it.
const NEIGHBOURS_MIN: u64 = 16;
const NEIGHBOURS_SHARE: u64 = 50;
/// Neighbours that were measured, at least.
const MEASURED_MIN: u32 = 8;
/// What chance alone may bring about, at most.
const CHANCE_MAX: f64 = 1.0 / 20_000.0;
/// A region whose requests stalled in fewer visits does not stall.
const STALLED_MIN: u8 = 4;
/// The standard deviation of a normal distribution in median deviations.
const DEVIATIONS_OF_MEDIAN: f64 = 1.4826;

/// A run of regions that answer slower than their neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowPlace {
    /// The sectors of the regions.
    pub sectors: SectorRange,
    /// The number of regions.
    pub regions: u64,
    /// How many times as long a request takes there as around it (the median over the run).
    pub ratio: f64,
    /// The most visits to one region in which a request stalled; 7: or more.
    pub stalled: u8,
    /// Whether these are more than chance explains on this disk.
    pub is_stalling: bool,
}

/// What the neighbours of each region take: the curve of the zones. Nothing where too few were measured.
pub fn zone_curve(map: &SpeedMap) -> Vec<ReadTime> {
    let regions = &map.regions;
    let reach = NEIGHBOURS_MIN.max(regions.len() as u64 / NEIGHBOURS_SHARE) as usize;
    let mut counts = CodeCounts::default();
    regions.iter().take(reach).for_each(|region| counts.add(region.typical));
    let around = |at: usize| {
        regions.get(at + reach).into_iter().for_each(|region| counts.add(region.typical));
        if at > reach {
            counts.remove(regions[at - reach - 1].typical);
        }
        counts.median()
    };
    (0..regions.len()).map(around).collect()
}

/// What one pass says of slow places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassPlaces {
    /// The slow places, in order. What they say holds for that pass: a place that is being rewritten inside the drive is slow, too, and no longer
    /// in the next ([`lasting`]).
    pub places: Vec<SlowPlace>,
    /// The share of the disk's regions that they have, 0..=1.
    pub share: f64,
}

/// The slow places of one pass.
pub fn slow_places(map: &SpeedMap) -> PassPlaces {
    let curve = zone_curve(map);
    let steps: Vec<Option<f64>> =
        map.regions.iter().zip(&curve).map(|(region, around)| behind(*region, *around)).collect();
    let least = steps_of_ratio(SLOW_RATIO).max(SLOW_DEVIATIONS * deviation(&steps));
    let stalls = stalled_least(map);
    let is_behind = |at: usize, least: f64| {
        let region = map.regions[at];
        let is_proven = region.visits() >= VISITS_MIN && region.is_spread();
        is_proven && (steps[at].is_some_and(|steps| steps >= least) || region.stalled() >= stalls)
    };
    let is_slow = |at: usize| is_behind(at, least * EDGE);
    let mut places = Vec::new();
    let mut at = 0;
    while at < map.regions.len() {
        let end = (at..map.regions.len()).find(|&next| !is_slow(next)).unwrap_or(map.regions.len());
        if (at..end).any(|at| is_behind(at, least)) {
            let mut run: Vec<f64> = steps[at..end].iter().flatten().copied().collect();
            run.sort_by(f64::total_cmp);
            let stalled = map.regions[at..end].iter().map(|region| region.stalled()).max().unwrap_or_default();
            places.push(SlowPlace {
                sectors: map.sectors_of(at as u64, end as u64),
                regions: (end - at) as u64,
                ratio: ratio_of_steps(run.get(run.len() / 2).copied().unwrap_or_default()),
                stalled,
                is_stalling: stalled >= stalls,
            });
        }
        at = end.max(at + 1);
    }
    let slow: u64 = places.iter().map(|place| place.regions).sum();
    PassPlaces { places, share: slow as f64 / map.regions.len().max(1) as f64 }
}

/// In how many visits to a region requests must stall, so that none of this disk's regions does so by chance (less than one pass in 20,000 has one).
/// 8, which no region has: its requests stall everywhere.
fn stalled_least(map: &SpeedMap) -> u8 {
    let visits: f64 = map.regions.iter().map(|region| f64::from(region.visits())).sum();
    let stalled: f64 = map.regions.iter().map(|region| f64::from(region.stalled())).sum();
    let rate = stalled / visits.max(1.0);
    // A bound of the binomial tail: as many pairs, triples... of visits as there are, times the chance that all of them stall.
    let chance =
        |least: u8| (0..least).fold(1.0, |product, at| product * f64::from(16 - at) / f64::from(at + 1) * rate);
    (STALLED_MIN..8).find(|&least| chance(least) * (map.regions.len() as f64) < CHANCE_MAX).unwrap_or(8)
}

/// Those of the newest pass that were slow in the passes before, too (the newest of these first), so often that chance does not explain it.
///
/// Inside a drive places are rewritten all the time, and slow meanwhile; where as many are slow as in an earlier pass, one of today lies on one of
/// then with twice their share of the disk. The product of these chances must be less than 1 in 20,000.
pub fn lasting<'a>(newest: &PassPlaces, earlier: impl Iterator<Item = &'a PassPlaces> + Clone) -> Vec<SlowPlace> {
    let lasts = |place: &&SlowPlace| {
        let mut chance = newest.places.len() as f64;
        for pass in earlier.clone() {
            let common = pass.places.iter().map(|old| old.sectors.intersection(place.sectors).count()).sum::<u64>();
            if 2 * common < place.sectors.count() {
                return false;
            }
            chance *= (2.0 * pass.share).min(1.0);
            if chance < CHANCE_MAX {
                return true;
            }
        }
        false
    };
    newest.places.iter().filter(lasts).copied().collect()
}

/// Steps behind the neighbours.
fn behind(region: RegionTiming, around: ReadTime) -> Option<f64> {
    let is_known = region.typical.is_measured() && around.is_measured();
    is_known.then(|| f64::from(region.typical.code()) - f64::from(around.code()))
}

/// The standard deviation of what regions are behind, or ahead, as their median deviation tells it; at least half a step, to which times are rounded.
fn deviation(steps: &[Option<f64>]) -> f64 {
    let mut all: Vec<f64> = steps.iter().flatten().map(|steps| steps.abs()).collect();
    if all.is_empty() {
        return f64::INFINITY;
    }
    let middle = all.len() / 2;
    let (_, median, _) = all.select_nth_unstable_by(middle, f64::total_cmp);
    (*median * DEVIATIONS_OF_MEDIAN).max(0.5)
}

/// How many of the timings in a window have each code.
struct CodeCounts {
    counts: [u32; 256],
    all: u32,
}

impl Default for CodeCounts {
    fn default() -> CodeCounts {
        CodeCounts { counts: [0; 256], all: 0 }
    }
}

impl CodeCounts {
    fn add(&mut self, timing: ReadTime) {
        if timing.is_measured() {
            self.counts[usize::from(timing.code())] += 1;
            self.all += 1;
        }
    }

    fn remove(&mut self, timing: ReadTime) {
        if timing.is_measured() {
            self.counts[usize::from(timing.code())] -= 1;
            self.all -= 1;
        }
    }

    fn median(&self) -> ReadTime {
        if self.all < MEASURED_MIN {
            return ReadTime::NONE;
        }
        let mut below = 0;
        let code = self.counts.iter().position(|count| {
            below += count;
            2 * below >= self.all
        });
        ReadTime::of_code(code.unwrap_or_default() as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::UnixSeconds;

    /// A disk of 1000 regions that becomes slower towards its end.
    fn map(slower: impl Fn(u64) -> u8) -> SpeedMap {
        let regions = (0..1000u64)
            .map(|at| {
                let code = 100 + (at / 70) as u8 + (at * 7 % 3) as u8 + slower(at);
                RegionTiming::new(ReadTime::of_code(code), ReadTime::of_code(code + 3), 0, 16, true)
            })
            .collect();
        SpeedMap { sectors: 1000 * 10 - 3, region_sectors: 10, begun: UnixSeconds(1), ended: UnixSeconds(2), regions }
    }

    #[test]
    fn zones_are_no_slow_places_and_a_slow_run_is_one_with_its_sectors() {
        assert_eq!(slow_places(&map(|_| 0)), PassPlaces::default());
        let found =
            slow_places(&map(|at| if (995..1000).contains(&at) || (400..410).contains(&at) { 9 } else { 0 })).places;
        assert_eq!(
            found.iter().map(|place| (place.sectors, place.regions)).collect::<Vec<_>>(),
            [(SectorRange::new(4000, 4100), 10), (SectorRange::new(9950, 9997), 5),]
        );
        assert!(found.iter().all(|place| (1.4..1.6).contains(&place.ratio)), "{found:?}");
        assert_eq!(slow_places(&map(|at| if at < 10 { 9 } else { 0 })).places.len(), 1, "at the beginning");
    }

    #[test]
    fn a_region_that_was_hardly_visited_or_always_at_one_hour_is_not_called_slow() {
        let mut of = map(|at| if at == 500 { 20 } else { 0 });
        assert_eq!(slow_places(&of).places.len(), 1);
        let slow = of.regions[500];
        of.regions[500] = RegionTiming::new(slow.typical, slow.p99, 0, 3, true);
        assert_eq!(slow_places(&of).places, []);
        of.regions[500] = RegionTiming::new(slow.typical, slow.p99, 0, 16, false);
        assert_eq!(slow_places(&of).places, []);
        of.regions[500] = RegionTiming::default();
        assert_eq!(slow_places(&of).places, [], "not measured at all");
        of.regions[7] = RegionTiming::new(of.regions[7].typical, slow.p99, 4, 16, true);
        assert_eq!(slow_places(&of).places[0].stalled, 4, "its requests stall");
    }

    #[test]
    fn a_disk_whose_regions_differ_much_is_judged_by_what_they_differ_by() {
        let wild = |at: u64| (at * 31 % 17) as u8 + if at == 500 { 9 } else { 0 };
        assert_eq!(slow_places(&map(wild)).places, []);
    }

    #[test]
    fn what_was_slow_in_so_few_passes_that_chance_explains_it_does_not_last() {
        let at = |first: u64, count: u64| SlowPlace {
            sectors: SectorRange::at(first, count),
            regions: count,
            ratio: 1.5,
            stalled: 0,
            is_stalling: false,
        };
        let pass = |places: &[SlowPlace], share: f64| PassPlaces { places: places.to_vec(), share };
        let newest = pass(&[at(10, 10), at(50, 4)], 0.005);
        let same = pass(&[at(15, 20)], 0.002);
        let of = |earlier: &[&PassPlaces]| lasting(&newest, earlier.iter().copied());
        assert_eq!(of(&[&same]), [], "once: two in five hundred by chance");
        assert_eq!(of(&[&same, &same]), [at(10, 10)]);
        let elsewhere = pass(&[at(16, 20)], 0.002);
        assert_eq!(of(&[&same, &elsewhere, &same]), []);
        let everywhere = pass(&[at(0, 100)], 0.5);
        assert_eq!(of(&[&everywhere; 9]), [], "half of the disk is slow in each pass: that says nothing of a place");
    }

    #[test]
    fn where_requests_stall_everywhere_no_place_stalls() {
        let stalling = |everywhere: usize| {
            let mut of = map(|_| 0);
            for (at, region) in of.regions.iter_mut().enumerate() {
                let stalled = if at == 7 {
                    5
                } else if at % 2 == 0 {
                    everywhere
                } else {
                    0
                };
                *region = RegionTiming::new(region.typical, region.p99, stalled, 16, true);
            }
            slow_places(&of).places.len()
        };
        assert_eq!(stalling(0), 1);
        assert_eq!(stalling(3), 0);
    }
}
