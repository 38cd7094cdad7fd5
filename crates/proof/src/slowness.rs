//! Sets of disks through months: which slow places and slow disks the estimators name, beside the truth.

use scrubjay_core::scrub::tour::{Grid, SegmentPlace};
use scrubjay_core::surface::ReadTime;
use scrubjay_core::surface::daily::{ComparedDisk, DailyTimes, PartTimes, SlowDisk, days_of_visits, slow_disks};
use scrubjay_core::surface::slow::{PassPlaces, SlowPlace, lasting, slow_places};
use scrubjay_core::surface::visit::{PassVisits, Visit};
use scrubjay_core::units::UnixSeconds;
use scrubjay_sim::siblings::{PlantedSlowness, ROUNDS, SiblingDisks, SiblingHours, SiblingKind, SiblingVisit};

/// Seconds in a day.
const DAY: f64 = 86_400.0;
/// Days from the beginning of a pass to that of the next one.
const PASS_EVERY: u64 = 30;
/// Whole passes that are a disk's past.
const PAST: usize = 3;

/// A siblings, and how it is read.
#[derive(Clone, Copy, Debug)]
pub struct SlowTrial {
    /// What disks.
    pub kind: SiblingKind,
    /// When they are read.
    pub hours: SiblingHours,
    /// How many of one model.
    pub disks: usize,
    /// Regions of each.
    pub regions: u64,
    /// Days that a pass takes.
    pub pass_days: u64,
    /// Passes.
    pub months: u64,
    /// What is slow.
    pub planted: PlantedSlowness,
    /// The seed.
    pub seed: u64,
}

/// What the estimators said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlowTrialOutcome {
    /// Slow places of one pass: disk, month, place.
    pub found: Vec<(usize, u64, SlowPlace)>,
    /// Those that last: what is told.
    pub told: Vec<(usize, u64, SlowPlace)>,
    /// When a disk was first called slow, after it was not: disk, day, what.
    pub slow: Vec<(usize, u64, SlowDisk)>,
}

/// Reads the siblings, month after month.
pub fn run(trial: SlowTrial) -> SlowTrialOutcome {
    let SlowTrial { kind, hours, disks, regions, pass_days, months, planted, seed } = trial;
    let seconds = (months + 2) as f64 * PASS_EVERY as f64 * DAY;
    let mut siblings = SiblingDisks::new(kind, hours, disks, regions, seconds, seed).with(planted);
    let mut outcome = SlowTrialOutcome::default();
    let mut days = vec![DailyTimes::default(); disks];
    let mut past: Vec<Vec<PartTimes>> = vec![Vec::new(); disks];
    let mut before: Vec<Vec<PassPlaces>> = vec![Vec::new(); disks];
    let mut was_slow = vec![false; disks];
    for month in 0..months {
        let begun = month * PASS_EVERY;
        let passes: Vec<PassVisits> = (0..disks)
            .map(|disk| pass_of(&siblings.pass(disk, begun as f64 * DAY, pass_days as f64), begun, regions))
            .collect();
        let by_day: Vec<Vec<(u16, PartTimes)>> = passes.iter().map(days_of_visits).collect();
        for day in 0..=pass_days {
            for (disk, list) in by_day.iter().enumerate() {
                list.iter().filter(|(at, _)| u64::from(*at) == day).for_each(|(_, times)| days[disk].push(*times));
            }
            let compared: Vec<ComparedDisk<'_>> = (0..disks)
                .map(|disk| ComparedDisk {
                    days: &days[disk],
                    past: &past[disk],
                    kind: 0,
                    was_slow: was_slow[disk],
                    way: Some(0),
                })
                .collect();
            for (disk, slow) in slow_disks(&compared).into_iter().enumerate() {
                if let (Some(slow), false) = (slow, was_slow[disk]) {
                    outcome.slow.push((disk, begun + day, slow));
                }
                was_slow[disk] = slow.is_some();
            }
        }
        for (disk, pass) in passes.iter().enumerate() {
            let map = pass.map(UnixSeconds((begun + pass_days) * 86_400));
            let places = slow_places(&map);
            let told = lasting(&places, before[disk].iter().rev());
            outcome.told.extend(told.into_iter().map(|place| (disk, month, place)));
            outcome.found.extend(places.places.iter().map(|place| (disk, month, *place)));
            before[disk].push(places);
            if past[disk].len() < PAST {
                past[disk].push(PartTimes::of_map(&map));
            }
        }
    }
    outcome
}

/// The visits as a scrub keeps them.
fn pass_of(visits: &[SiblingVisit], begun: u64, regions: u64) -> PassVisits {
    let grid = Grid::new(regions * ROUNDS, ROUNDS, 1);
    let mut pass = PassVisits::new(grid, UnixSeconds(begun * 86_400)).expect("sixteen segments are few");
    for visit in visits {
        let hour = ((visit.at - begun as f64 * DAY) / 3600.0) as u16;
        let time = |seconds: f64| ReadTime::of_nanos(seconds * 1e9);
        let (typical, slowest) = (time(visit.typical), time(visit.slowest));
        let place = SegmentPlace { region: visit.region, segment: visit.segment };
        pass.add(place, Visit { typical, slowest, stalls: visit.hesitations as u8, requests: 8, hour });
    }
    pass
}
