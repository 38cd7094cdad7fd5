//! Slow disks: a disk by the day, against its own past, its siblings, and those that share a way with it.
//!
//! A disk is divided into 64 parts. Of each day the median time is kept of each part that was read then; the day's ratio to a reference (an
//! earlier map of the same disk, or those of its siblings) is what three quarters of these parts reach, so it does not matter which parts were read. A disk
//! is slow if three quarters of its last days are: one busy night, a hot afternoon or a rebuild do not make it so.

use super::map::SpeedMap;
use super::visit::PassVisits;
use super::{ReadTime, median, ratio_of_steps, steps_of_ratio};
use std::collections::BTreeMap;

/// The parts of a disk.
pub const PARTS: usize = 64;
/// Days that are judged together, at most.
pub const DAYS: usize = 7;
/// Days that are judged, at least.
pub const DAYS_MIN: usize = 6;
/// A disk is slow from this ratio on.
pub const SLOW_RATIO: f64 = 1.15;
/// Siblings that make a reference, at least: of two disks nobody knows which is right.
pub const SIBLINGS_MIN: usize = 2;

/// What reading a MiB takes in each part of a disk; nothing where it was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartTimes(pub [ReadTime; PARTS]);

/// A disk's last days, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DailyTimes {
    days: Vec<PartTimes>,
}

/// What is slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlowDisk {
    /// The disk: slower than it was.
    ThanBefore {
        /// How many times as long reading takes.
        ratio: f64,
    },
    /// The disk: slower than its siblings, at the same places.
    ThanSiblings {
        /// How many times as long reading takes.
        ratio: f64,
        /// How many siblings it was compared with.
        siblings: usize,
    },
    /// All disks that share a way with it are slower than they were: the controller, the cable, the enclosure.
    WithItsWay {
        /// How many times as long reading takes.
        ratio: f64,
        /// How many disks there are.
        disks: usize,
    },
}

/// One disk as it is compared with others.
#[derive(Clone, Debug)]
pub struct ComparedDisk<'a> {
    /// Its last days.
    pub days: &'a DailyTimes,
    /// Its first whole passes, at most three; none: it has no past yet.
    pub past: &'a [PartTimes],
    /// Disks of the same model and size are of one kind.
    pub kind: usize,
    /// Whether it was called slow the last time: it is no longer from half the steps on, so that a disk at the edge does not come and go.
    pub was_slow: bool,
    /// Disks behind one controller or bridge share a way; `None`: not known.
    pub way: Option<usize>,
}

impl PartTimes {
    /// Of a whole pass.
    pub fn of_map(map: &SpeedMap) -> PartTimes {
        let mut parts = vec![Vec::new(); PARTS];
        for (region, timing) in map.regions.iter().enumerate() {
            parts[part_of(region as u64, map.regions.len() as u64)].push(timing.typical);
        }
        PartTimes(std::array::from_fn(|part| median(&mut parts[part])))
    }

    /// The median of several in each part.
    fn of_all<'a>(all: impl Iterator<Item = &'a PartTimes> + Clone) -> PartTimes {
        PartTimes(std::array::from_fn(|part| median(&mut all.clone().map(|times| times.0[part]).collect::<Vec<_>>())))
    }

    /// Steps behind `reference` that three quarters of the parts are, at least, which both have; `None`: none.
    fn behind(&self, reference: &PartTimes) -> Option<f64> {
        let both = self.0.iter().zip(&reference.0).filter(|(own, other)| own.is_measured() && other.is_measured());
        let mut steps: Vec<f64> = both.map(|(own, other)| f64::from(own.code()) - f64::from(other.code())).collect();
        quarter(&mut steps)
    }
}

impl DailyTimes {
    /// The days, the oldest first.
    pub fn all(&self) -> &[PartTimes] {
        &self.days
    }

    /// The days of a pass so far, by the hours since it began.
    pub fn of_visits(pass: &PassVisits) -> DailyTimes {
        let mut days = DailyTimes::default();
        days_of_visits(pass).into_iter().for_each(|(_, day)| days.push(day));
        days
    }

    /// Adds a day; the oldest goes when there are too many. A day on which nothing was read is none.
    pub fn push(&mut self, day: PartTimes) {
        if day.0.iter().any(|time| time.is_measured()) {
            self.days.push(day);
            let more = self.days.len().saturating_sub(DAYS);
            self.days.drain(..more);
        }
    }

    /// The days of an earlier pass, then those of this one.
    pub fn followed_by(mut self, later: DailyTimes) -> DailyTimes {
        later.days.into_iter().for_each(|day| self.push(day));
        self
    }

    /// All days together.
    fn week(&self) -> PartTimes {
        PartTimes::of_all(self.days.iter())
    }

    /// Steps behind `reference` that three quarters of the days are, at least; `None`: too few days.
    fn behind(&self, reference: &PartTimes) -> Option<f64> {
        let mut days: Vec<f64> = self.days.iter().filter_map(|day| day.behind(reference)).collect();
        if days.len() < DAYS_MIN {
            return None;
        }
        quarter(&mut days)
    }
}

/// The part in which a region lies.
fn part_of(region: u64, regions: u64) -> usize {
    (region * PARTS as u64 / regions) as usize
}

/// The days of a pass, each with its number since the pass began.
pub fn days_of_visits(pass: &PassVisits) -> Vec<(u16, PartTimes)> {
    let count = pass.grid().region_count();
    let mut times: BTreeMap<u16, Vec<Vec<ReadTime>>> = BTreeMap::new();
    for (region, visit) in pass.all() {
        let day = times.entry(visit.hour / 24).or_insert_with(|| vec![Vec::new(); PARTS]);
        day[part_of(region, count)].push(visit.typical);
    }
    let median_of = |parts: &mut Vec<Vec<ReadTime>>| PartTimes(std::array::from_fn(|part| median(&mut parts[part])));
    times.into_iter().map(|(day, mut parts)| (day, median_of(&mut parts))).collect()
}

/// Which of these disks are slow, and what of each: `None`: not slow, or not known. One estimator for disks of a host and members of a volume.
pub fn slow_disks(disks: &[ComparedDisk<'_>]) -> Vec<Option<SlowDisk>> {
    let least_of = |disk: &ComparedDisk<'_>| steps_of_ratio(SLOW_RATIO) * if disk.was_slow { 0.5 } else { 1.0 };
    let before: Vec<Option<f64>> = disks.iter().map(than_before).collect();
    let weeks: Vec<PartTimes> = disks.iter().map(|disk| disk.days.week()).collect();
    let judge = |at: usize| {
        let disk = &disks[at];
        let least = least_of(disk);
        let sharing = || (0..disks.len()).filter(|&other| disk.way.is_some() && disks[other].way == disk.way);
        let all_behind: Option<Vec<f64>> = sharing().map(|other| before[other]).collect();
        if let Some(mut all) = all_behind.filter(|all| all.len() > 1 && all.iter().all(|steps| *steps >= least)) {
            let count = all.len();
            return middle(&mut all).map(|steps| SlowDisk::WithItsWay { ratio: ratio_of_steps(steps), disks: count });
        }
        let siblings: Vec<&PartTimes> = (0..disks.len())
            .filter(|&other| other != at && disks[other].kind == disk.kind && disks[other].days.days.len() >= DAYS_MIN)
            .map(|other| &weeks[other])
            .collect();
        let than_siblings = (siblings.len() >= SIBLINGS_MIN)
            .then(|| disk.days.behind(&PartTimes::of_all(siblings.iter().copied())))
            .flatten();
        match (than_siblings.filter(|steps| *steps >= least), before[at].filter(|steps| *steps >= least)) {
            (Some(steps), _) => Some(SlowDisk::ThanSiblings { ratio: ratio_of_steps(steps), siblings: siblings.len() }),
            // Where siblings were read as well, and are no faster, the cause is not the disk.
            (None, Some(steps)) if than_siblings.is_none() => {
                Some(SlowDisk::ThanBefore { ratio: ratio_of_steps(steps) })
            }
            _ => None,
        }
    };
    (0..disks.len()).map(judge).collect()
}

fn than_before(disk: &ComparedDisk<'_>) -> Option<f64> {
    (!disk.past.is_empty()).then(|| disk.days.behind(&PartTimes::of_all(disk.past.iter()))).flatten()
}

/// What three quarters of the values reach, at least. Orders `values` anew.
fn quarter(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 4).copied()
}

/// The median; of two, the lower one. Orders `values` anew.
fn middle(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(code: u8, from: usize, end: usize) -> PartTimes {
        let time = |part: usize| if (from..end).contains(&part) { code + (part / 8) as u8 } else { 0 };
        PartTimes(std::array::from_fn(|part| ReadTime::of_code(time(part))))
    }

    fn days(codes: &[u8]) -> DailyTimes {
        let mut days = DailyTimes::default();
        for (day, &code) in codes.iter().enumerate() {
            days.push(parts(code, day * 8 % PARTS, day * 8 % PARTS + 16)); // each day reads another part
        }
        days
    }

    fn judged(disks: &[(&DailyTimes, &[PartTimes], Option<usize>)]) -> Vec<Option<SlowDisk>> {
        let compared =
            disks.iter().map(|&(days, past, way)| ComparedDisk { days, past, kind: 0, was_slow: false, way });
        slow_disks(&compared.collect::<Vec<_>>())
    }

    #[test]
    fn a_disk_alone_is_compared_with_its_past_at_the_same_places() {
        let past = [parts(100, 0, PARTS)];
        let of = |codes: &[u8]| judged(&[(&days(codes), &past, None)])[0];
        assert_eq!(of(&[100; 7]), None);
        assert!(matches!(of(&[107; 7]), Some(SlowDisk::ThanBefore { ratio }) if (1.3..1.4).contains(&ratio)));
        assert_eq!(of(&[107; 5]), None, "five days are too few");
        assert_eq!(of(&[100, 107, 107, 100, 107, 107, 107]), None, "not on three quarters of the days");
        assert!(of(&[100, 107, 107, 107, 107, 107, 107]).is_some());
        assert_eq!(judged(&[(&days(&[107; 7]), &[], None)])[0], None, "without a past nothing is known");
    }

    #[test]
    fn siblings_tell_a_slow_disk_from_a_slow_host() {
        let past = [parts(100, 0, PARTS)];
        let (slow, well) = (days(&[106; 7]), days(&[100; 7]));
        let found = judged(&[(&slow, &[], None), (&well, &past, None), (&well, &past, None)]);
        assert!(matches!(found[0], Some(SlowDisk::ThanSiblings { siblings: 2, .. })), "{found:?}");
        assert_eq!(found[1..], [None, None]);
        let all = judged(&[(&slow, &past, None), (&slow, &past, None), (&slow, &past, None)]);
        assert_eq!(all, [None; 3], "all are, and share nothing that is known");
        let sharing = judged(&[(&slow, &past, Some(1)), (&slow, &past, Some(1)), (&well, &past, Some(2))]);
        assert!(matches!(sharing[0], Some(SlowDisk::WithItsWay { disks: 2, .. })), "{sharing:?}");
        assert_eq!(sharing[2], None);
    }

    #[test]
    fn days_on_which_nothing_was_read_are_none_and_the_oldest_go() {
        let mut list = days(&[100; 9]);
        list.push(parts(100, 3, 3));
        assert_eq!(list.days.len(), DAYS);
        assert_eq!(days(&[1, 2]).followed_by(days(&[3; 6])).days.len(), DAYS);
    }
}
