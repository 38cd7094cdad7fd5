//! Modelled disks of one model, read pass after pass: how long each visit to a place took, and what disturbed it.
//!
//! It judges how slow places and slow disks are found (docs/slow.md). It was committed before the estimator, and stays as it is: a disturbance
//! that is altered after an estimator was tuned on it judges nothing. New kinds are added beside them.
//!
//! ```text
//! zones, heads, adaptive formatting  what a healthy disk of this model does at this place (the same in each pass)
//! spells (hidden load, heat, housekeeping, a shared bus)  what lasts for minutes to hours, some of it every night
//! rewritten places (caches, shingles)  what lasts for days, and then lies elsewhere
//! planted: a slow place, a slow disk, a slow bus  the truth to be found
//! ```

use scrubjay_core::rng::Rng;

/// Seconds in an hour and in a day.
const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;
/// Visits to each region in a pass: one to each of its segments.
pub const ROUNDS: u64 = 16;
/// Requests in a visit.
const REQUESTS: u32 = 8;
/// One turn of a hard disk, in seconds.
const TURN: f64 = 60.0 / 7200.0;

/// What kind of disks they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiblingKind {
    /// Hard disks that write in place.
    Spinning,
    /// Hard disks with shingled tracks that tidy up by themselves.
    Shingled,
    /// Flash.
    Flash,
}

impl SiblingKind {
    /// All kinds.
    pub const ALL: [SiblingKind; 3] = [SiblingKind::Spinning, SiblingKind::Shingled, SiblingKind::Flash];
}

/// When a host reads its disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiblingHours {
    /// At all hours.
    All,
    /// From 22 to 6 o'clock.
    Nights,
}

/// What is slow, and since when (seconds).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlantedSlowness {
    /// Nothing.
    Nothing,
    /// These regions of one disk, in a row.
    Place {
        /// The disk.
        disk: usize,
        /// The first region.
        first: u64,
        /// How many.
        count: u64,
        /// How many times as long a request takes.
        factor: f64,
        /// Since when.
        since: f64,
    },
    /// One disk.
    Disk {
        /// The disk.
        disk: usize,
        /// How many times as long a request takes.
        factor: f64,
        /// Since when.
        since: f64,
    },
    /// All disks, because of what they share.
    Bus {
        /// How many times as long a request takes.
        factor: f64,
        /// Since when.
        since: f64,
    },
}

/// What a visit to a segment measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SiblingVisit {
    /// The region.
    pub region: u64,
    /// The segment of the region.
    pub segment: u64,
    /// When, in seconds.
    pub at: f64,
    /// The median time of its requests, in seconds a MiB.
    pub typical: f64,
    /// The longest time of one of its requests, in seconds a MiB.
    pub slowest: f64,
    /// Requests that took a tenth of a second longer than they should.
    pub hesitations: u32,
}

/// A time in which everything takes longer.
#[derive(Clone, Copy, Debug)]
struct Spell {
    from: f64,
    until: f64,
    factor: f64,
}

/// A time in which a run of regions takes longer, or shorter.
#[derive(Clone, Copy, Debug)]
struct Rewritten {
    spell: Spell,
    first: u64,
    count: u64,
}

/// One of the disks.
#[derive(Clone, Debug)]
struct SiblingDisk {
    /// Seconds a MiB of each region, when nothing disturbs.
    healthy: Vec<f64>,
    spells: Vec<Spell>,
    rewritten: Vec<Rewritten>,
    rng: Rng,
}

/// The disks, and what they share.
#[derive(Clone, Debug)]
pub struct SiblingDisks {
    kind: SiblingKind,
    hours: SiblingHours,
    regions: u64,
    shared: Vec<Spell>,
    disks: Vec<SiblingDisk>,
    planted: PlantedSlowness,
}

impl SiblingDisks {
    /// `disks` disks of `regions` regions through `seconds`.
    pub fn new(
        kind: SiblingKind,
        hours: SiblingHours,
        disks: usize,
        regions: u64,
        seconds: f64,
        seed: u64,
    ) -> SiblingDisks {
        let mut shared_rng = Rng::stream(seed, 0);
        // A bus that other traffic shares, several times a week; heat waves on the hottest hours of two fortnights a year.
        let mut shared = spells(&mut shared_rng, seconds, 3.0 * DAY, (HOUR, 6.0 * HOUR), (1.1, 1.6));
        if kind == SiblingKind::Flash {
            shared.extend(heat(&mut shared_rng, seconds));
        }
        let model = SiblingModel::new(kind, &mut shared_rng);
        let make = |disk: usize| {
            let mut rng = Rng::stream(seed, 1 + disk as u64);
            let healthy = model.disk(regions, &mut rng);
            let mut times = hidden_load(&mut rng, seconds);
            let mut rewritten = Vec::new();
            match kind {
                SiblingKind::Spinning => {}
                SiblingKind::Shingled => {
                    times.extend(housekeeping(&mut rng, seconds));
                    rewritten = places(&mut rng, seconds, regions, 0.02, (DAY, 20.0 * DAY), (1.2, 3.0));
                }
                SiblingKind::Flash => {
                    rewritten = places(&mut rng, seconds, regions, 0.05, (7.0 * DAY, 40.0 * DAY), (0.5, 0.8));
                }
            }
            times.sort_by(|a, b| a.from.total_cmp(&b.from));
            SiblingDisk { healthy, spells: times, rewritten, rng }
        };
        let disks = (0..disks).map(make).collect();
        shared.sort_by(|a, b| a.from.total_cmp(&b.from));
        SiblingDisks { kind, hours, regions, shared, disks, planted: PlantedSlowness::Nothing }
    }

    /// The same disks, with something slow among them.
    pub fn with(self, planted: PlantedSlowness) -> SiblingDisks {
        SiblingDisks { planted, ..self }
    }

    /// The number of regions of each disk.
    pub fn regions(&self) -> u64 {
        self.regions
    }

    /// Reads a disk in the staggered order, from `from` on, a pass in `days` days. Times are in order.
    pub fn pass(&mut self, disk: usize, from: f64, days: f64) -> Vec<SiblingVisit> {
        let SiblingDisks { kind, hours, regions, ref shared, ref mut disks, planted } = *self;
        let SiblingDisk { healthy, spells, rewritten, rng } = &mut disks[disk];
        let visits = regions * ROUNDS;
        let step = days * DAY / visits as f64;
        let (mut of_disk, mut of_all) = (Cursor::default(), Cursor::default());
        let mut out = Vec::with_capacity(visits as usize);
        for number in 0..visits {
            let (segment, region) = (number / regions, number % regions);
            let at = hours.moment(from + number as f64 * step);
            let mut factor = of_disk.factor(spells, at) * of_all.factor(shared, at);
            let here = rewritten.iter().filter(|place| {
                (place.spell.from..place.spell.until).contains(&at)
                    && (place.first..place.first + place.count).contains(&region)
            });
            factor *= here.map(|place| place.spell.factor).product::<f64>();
            factor *= planted.factor(disk, region, at);
            if rng.uniform() < 0.01 {
                factor *= 0.1 + 0.4 * rng.uniform(); // answered from the drive's cache
            }
            let base = healthy[region as usize] * factor;
            // The median of a visit's requests varies less than one of them.
            let typical = base * (0.013 * normal(rng)).exp();
            let mut slowest = base * (0.03 * (1.4 + 0.5 * normal(rng))).exp();
            let mut hesitations = 0;
            if kind != SiblingKind::Flash && rng.uniform() < 0.02 * f64::from(REQUESTS) {
                slowest += TURN; // one more turn
            }
            if rng.uniform() < 0.0005 {
                slowest += 0.1 + 0.4 * rng.uniform(); // the drive measures its own temperature, or parks a head
                hesitations = 1;
            }
            out.push(SiblingVisit { region, segment, at, typical, slowest, hesitations });
        }
        out
    }
}

impl PlantedSlowness {
    fn factor(self, on: usize, region: u64, at: f64) -> f64 {
        match self {
            PlantedSlowness::Place { disk, first, count, factor, since }
                if disk == on && at >= since && (first..first + count).contains(&region) =>
            {
                factor
            }
            PlantedSlowness::Disk { disk, factor, since } if disk == on && at >= since => factor,
            PlantedSlowness::Bus { factor, since } if at >= since => factor,
            _ => 1.0,
        }
    }
}

impl SiblingHours {
    /// The moment at which the host gets to what an idle host would do at `at`.
    fn moment(self, at: f64) -> f64 {
        match self {
            SiblingHours::All => at,
            SiblingHours::Nights => {
                let (day, of_day) = ((at / DAY).floor(), at.rem_euclid(DAY));
                day * DAY + 22.0 * HOUR + of_day / 3.0 // eight hours for a whole day
            }
        }
    }
}

/// Where in a list of spells, sorted by their beginnings, the visits have come to.
#[derive(Default)]
struct Cursor {
    next: usize,
    active: Vec<Spell>,
}

impl Cursor {
    fn factor(&mut self, spells: &[Spell], at: f64) -> f64 {
        while let Some(spell) = spells.get(self.next).filter(|spell| spell.from <= at) {
            self.active.push(*spell);
            self.next += 1;
        }
        self.active.retain(|spell| spell.until > at);
        self.active.iter().map(|spell| spell.factor).product()
    }
}

/// What the disks of a model have in common.
struct SiblingModel {
    kind: SiblingKind,
    /// Seconds a MiB of the first region, and of the last one.
    ends: (f64, f64),
    zones: u64,
    heads: u64,
}

impl SiblingModel {
    fn new(kind: SiblingKind, rng: &mut Rng) -> SiblingModel {
        let outer = match kind {
            SiblingKind::Flash => 0.000_3 + 0.002 * rng.uniform(),
            _ => 0.003_8 + 0.003 * rng.uniform(),
        };
        let inner = if kind == SiblingKind::Flash { 1.0 } else { 1.8 + 0.5 * rng.uniform() };
        SiblingModel { kind, ends: (outer, outer * inner), zones: 16 + rng.below(20), heads: 2 + rng.below(17) }
    }

    /// A disk: each is a little faster or slower than the model, each head too, and the zones begin elsewhere.
    fn disk(&self, regions: u64, rng: &mut Rng) -> Vec<f64> {
        let of_disk = (0.02 * normal(rng)).exp();
        let of_heads: Vec<f64> = (0..self.heads).map(|_| (0.04 * normal(rng)).exp()).collect();
        let shift = 0.5 + 0.5 * rng.uniform();
        let place = |region: u64| {
            let zone = (region as f64 / regions as f64 * self.zones as f64 + shift).floor() / (self.zones + 1) as f64;
            let of_zone = self.ends.0 + (self.ends.1 - self.ends.0) * zone;
            // Tracks of one head follow one another for about a GiB, then those of the next.
            let head = match self.kind {
                SiblingKind::Flash => 1.0,
                _ => of_heads[(region / 8 % self.heads) as usize],
            };
            of_zone * of_disk * head
        };
        (0..regions).map(|region| place(region) * (0.015 * normal(rng)).exp()).collect()
    }
}

/// A number of the normal distribution (Box and Muller, 1958).
fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.uniform()).ln()).sqrt() * (std::f64::consts::TAU * rng.uniform()).cos()
}

fn between(rng: &mut Rng, (low, high): (f64, f64)) -> f64 {
    low * (high / low).powf(rng.uniform())
}

/// Spells that come at any time.
fn spells(rng: &mut Rng, seconds: f64, every: f64, length: (f64, f64), factor: (f64, f64)) -> Vec<Spell> {
    let mut list = Vec::new();
    let mut at = rng.exponential(every);
    while at < seconds {
        list.push(Spell { from: at, until: at + between(rng, length), factor: between(rng, factor) });
        at += rng.exponential(every);
    }
    list
}

/// Load that the scrub does not see: rare at night, often by day; and of some hosts every night at the same hour.
fn hidden_load(rng: &mut Rng, seconds: f64) -> Vec<Spell> {
    let mut list = spells(rng, seconds, 6.0 * HOUR, (30.0, 0.5 * HOUR), (1.1, 4.0));
    let nightly = (rng.uniform() < 0.3).then(|| (23.0 + 6.0 * rng.uniform(), 0.5 + 2.0 * rng.uniform()));
    for day in 0..(seconds / DAY) as u64 {
        let day = day as f64 * DAY;
        for _ in 0..6 {
            if rng.uniform() < 0.5 {
                let from = day + (8.0 + 11.0 * rng.uniform()) * HOUR;
                list.push(Spell { from, until: from + between(rng, (60.0, HOUR)), factor: between(rng, (1.1, 3.0)) });
            }
        }
        if let Some((hour, hours)) = nightly {
            let from = day + hour * HOUR;
            list.push(Spell { from, until: from + hours * HOUR, factor: between(rng, (1.3, 3.0)) });
        }
    }
    list
}

/// A shingled disk tidies up after the night's backup, and now and then.
fn housekeeping(rng: &mut Rng, seconds: f64) -> Vec<Spell> {
    let mut list = spells(rng, seconds, 8.0 * HOUR, (300.0, HOUR), (1.5, 10.0));
    for day in 0..(seconds / DAY) as u64 {
        if rng.uniform() < 0.6 {
            let from = day as f64 * DAY + (2.0 + 0.5 * rng.uniform()) * HOUR;
            list.push(Spell {
                from,
                until: from + between(rng, (0.5 * HOUR, 3.0 * HOUR)),
                factor: between(rng, (1.5, 10.0)),
            });
        }
    }
    list
}

/// Two heat waves a year: in the afternoons all flash disks go slower, to stay cool.
fn heat(rng: &mut Rng, seconds: f64) -> Vec<Spell> {
    let mut list = Vec::new();
    let mut wave = rng.exponential(180.0 * DAY);
    while wave < seconds {
        for day in 0..14 {
            let from = ((wave / DAY).floor() + f64::from(day)) * DAY + (11.0 + 3.0 * rng.uniform()) * HOUR;
            list.push(Spell {
                from,
                until: from + (3.0 + 5.0 * rng.uniform()) * HOUR,
                factor: between(rng, (1.2, 3.0)),
            });
        }
        wave += 30.0 * DAY + rng.exponential(150.0 * DAY);
    }
    list
}

/// Runs of 2 to 16 regions that answer otherwise for a while; at any time about this share of the disk.
fn places(
    rng: &mut Rng,
    seconds: f64,
    regions: u64,
    share: f64,
    length: (f64, f64),
    factor: (f64, f64),
) -> Vec<Rewritten> {
    let mean_length = (length.1 - length.0) / (length.1 / length.0).ln();
    let every = 9.0 * mean_length / (share * regions as f64);
    spells(rng, seconds, every.max(60.0), length, factor)
        .into_iter()
        .map(|spell| {
            let count = 2 + rng.below(15);
            Rewritten { spell, first: rng.below(regions.saturating_sub(count).max(1)), count }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_visits_each_segment_once_in_order_of_time_and_a_seed_is_its_disks() {
        for kind in SiblingKind::ALL {
            for hours in [SiblingHours::All, SiblingHours::Nights] {
                let make = || SiblingDisks::new(kind, hours, 2, 64, 60.0 * DAY, 7);
                let visits = make().pass(1, 5.0 * DAY, 20.0);
                assert_eq!(visits, make().pass(1, 5.0 * DAY, 20.0));
                assert!(visits.windows(2).all(|pair| pair[0].at <= pair[1].at), "{kind:?}");
                let mut places: Vec<_> = visits.iter().map(|visit| (visit.region, visit.segment)).collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len() as u64, 64 * ROUNDS);
                assert!(visits.iter().all(|visit| visit.typical > 0.0 && visit.slowest.is_finite()));
            }
        }
    }

    #[test]
    fn what_is_planted_is_slower_by_that_much_and_nothing_else_is() {
        let plain = || SiblingDisks::new(SiblingKind::Spinning, SiblingHours::All, 3, 128, 40.0 * DAY, 3);
        let place = PlantedSlowness::Place { disk: 1, first: 20, count: 4, factor: 1.5, since: 0.0 };
        let (before, after) = (plain().pass(1, 0.0, 30.0), plain().with(place).pass(1, 0.0, 30.0));
        for (before, after) in before.iter().zip(&after) {
            let expected = if (20..24).contains(&before.region) { 1.5 } else { 1.0 };
            assert!((after.typical / before.typical - expected).abs() < 1e-9);
        }
        assert_eq!(plain().pass(0, 0.0, 30.0), plain().with(place).pass(0, 0.0, 30.0), "another disk");
    }
}
