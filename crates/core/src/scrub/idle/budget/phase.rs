//! The clock: programs that work by it end idle intervals at the same moments of each second, or minute.
//!
//! The age of an interval says when it is likely to end; beside that each part of a period ends more or fewer than it is told
//! to. For some periods that daemons like, the ends in each part are counted, and how many were expected there by age alone:
//! apart for intervals younger and older than half a period, for where nobody else has come for so long the clock is most of
//! what is left.
//! Where more end in all parts than their age says, or fewer, the ages are not known well, and that is not the clock's doing: parts
//! are held against all of them.
//! A period is believed when it has *foretold* the ends better than age alone did: each end is scored by what was known before
//! it (a prequential likelihood), so that chance has nothing to fit.

use super::ages::Ages;
use crate::scrub::idle::Beat;
use crate::units::Nanos;

/// In seconds.
const PERIODS: [u64; 6] = [1, 2, 5, 10, 30, 60];
/// Parts of each.
const BINS: usize = 128;
/// Each part is believed to be like the others as if that had been seen so often, and the same at all ages likewise.
const PRIOR: f64 = 2.0;
/// An interval of so many periods is old.
const OLD: f64 = 0.5;
/// A period is believed from so many nats on, in all and for each end: chance makes few, and few are of no use.
const OPEN: [f64; 2] = [15.0, 0.4];
/// Until so few are left.
const CLOSE: [f64; 2] = [8.0, 0.25];
/// It never is further from it than that: a program may start tomorrow.
const LEAST: f64 = -10.0;
/// Where so many ends told of no period, only so many in a row of each so many are looked at.
const ENDS_LOOKED_AT: u64 = 2000;
const ROW: u64 = 64;
const ROWS: u64 = 64;
/// The multipliers are reckoned anew after so many ends.
const ENDS_STEP: u64 = 8;
/// What was seen counts half after so many seconds of idleness, or so many ends, whichever is later: programs drift.
const HALF_LIFE: f64 = 1200.0;
const HALF_LIFE_ENDS: f64 = 500.0;
/// So many periods of an interval are followed part by part; what is longer is taken to be even.
const FOLLOWED: u64 = 2;

/// See the module's text.
#[derive(Clone, Debug)]
pub(super) struct Phases {
    phases: Vec<ClockPhase>,
    /// Which of them is believed.
    open: Option<usize>,
    is_promising: bool,
    ends: u64,
}

#[derive(Clone, Debug)]
struct ClockPhase {
    period: Nanos,
    /// Of young intervals, and of old ones.
    rows: [PhaseRow; 2],
    /// How many times as many end in all parts as their age says: that is not the clock's doing.
    level: f64,
    /// What one end counts for; it grows, so that what was before counts for less.
    weight: f64,
    score: f64,
    /// The ends that it was made of.
    ends: f64,
    is_open: bool,
}

/// By part of the period.
#[derive(Clone, Debug)]
struct PhaseRow {
    bins: Vec<Bin>,
    /// How many times more likely than that it is that an interval ends there.
    multipliers: Vec<f64>,
    /// Their sums before each part; one more.
    sums: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    ends: f64,
    expected: f64,
}

impl Default for PhaseRow {
    fn default() -> PhaseRow {
        let sums = (0..=BINS as u32).map(f64::from).collect();
        PhaseRow { bins: vec![Bin::default(); BINS], multipliers: vec![1.0; BINS], sums }
    }
}

/// A period that is believed.
#[derive(Clone, Copy, Debug)]
pub(super) struct BelievedPeriod<'a> {
    phase: &'a ClockPhase,
    now: Nanos,
    /// Of the interval, in seconds.
    age: f64,
}

impl Default for Phases {
    fn default() -> Phases {
        let phase = |period| ClockPhase {
            period: Nanos::from_secs(period),
            rows: Default::default(),
            level: 1.0,
            weight: 1.0,
            score: 0.0,
            ends: 0.0,
            is_open: false,
        };
        Phases { phases: PERIODS.map(phase).to_vec(), open: None, is_promising: false, ends: 0 }
    }
}

impl Phases {
    /// An interval has ended at `now`, at an age of `length` seconds; nothing was to be sent before the age of `first`.
    pub(super) fn update(&mut self, ages: &Ages, now: Nanos, first: f64, length: f64) {
        if length <= first {
            return;
        }
        self.ends += 1;
        let is_looked_at = self.is_promising || (self.ends / ROW).is_multiple_of(ROWS);
        if (self.ends > ENDS_LOOKED_AT && !is_looked_at) || ages.reach(first) <= 0.0 {
            return;
        }
        let is_step = self.ends.is_multiple_of(ENDS_STEP);
        for phase in &mut self.phases {
            phase.update(ages, now, first, length);
            if is_step {
                phase.reckon();
            }
        }
        self.is_promising = self.phases.iter().any(|phase| phase.score > CLOSE[0]);
        let open = (0..PERIODS.len()).filter(|&index| self.phases[index].is_open);
        self.open = open.max_by(|&one, &two| self.phases[one].score.total_cmp(&self.phases[two].score));
    }

    /// What is to be remembered of the period that is believed.
    pub(super) fn kept(&self) -> Option<Beat> {
        let phase = &self.phases[self.open?];
        let kept = |row: &PhaseRow| {
            row.bins.iter().map(|bin| [bin.ends, bin.expected].map(|one| one / phase.weight)).collect()
        };
        let ClockPhase { period, score, ends, .. } = *phase;
        Some(Beat { period, score, ends, parts: phase.rows.each_ref().map(kept) })
    }

    /// Begins with what was remembered. It is doubted soon if it does not hold any more.
    pub(super) fn recall(&mut self, beat: &Beat) {
        let parts = |row: &[[f64; 2]]| row.iter().map(|&[ends, expected]| Bin { ends, expected }).collect::<Vec<Bin>>();
        let is_whole = beat.parts.iter().all(|row| row.len() == BINS);
        let index = self.phases.iter().position(|phase| phase.period == beat.period).filter(|_| is_whole);
        let Some(index) = index else { return };
        let keep = (2.0 * OPEN[0] / beat.score.max(1.0)).min(1.0);
        let phase = &mut self.phases[index];
        (phase.score, phase.ends) = (keep * beat.score, keep * beat.ends);
        phase.is_open = phase.score > CLOSE[0] && phase.score > CLOSE[1] * phase.ends;
        for (row, kept) in phase.rows.iter_mut().zip(&beat.parts) {
            row.bins = parts(kept);
        }
        phase.reckon();
        self.is_promising = phase.is_open;
        self.open = phase.is_open.then_some(index);
    }

    /// The period that foretells most, if any is believed, for an interval of so many seconds.
    pub(super) fn clock(&self, now: Nanos, age: f64) -> Option<BelievedPeriod<'_>> {
        self.open.map(|open| BelievedPeriod { phase: &self.phases[open], now, age })
    }
}

impl ClockPhase {
    /// How many parts of its period have passed.
    fn bins_at(&self, at: Nanos) -> f64 {
        (at.0 % self.period.0) as f64 / self.period.0 as f64 * BINS as f64
    }

    fn bin_of(&self, at: Nanos) -> usize {
        (self.bins_at(at) as usize).min(BINS - 1)
    }

    /// How long it is from `at` to the end of its part, in seconds.
    fn left(&self, at: Nanos) -> f64 {
        let bins = self.bins_at(at);
        ((bins.floor() + 1.0 - bins) * self.period.as_secs_f64() / BINS as f64).max(1e-9)
    }

    /// The age from which on an interval is old, in seconds.
    fn old(&self) -> f64 {
        OLD * self.period.as_secs_f64()
    }

    /// Which of the rows is of intervals of this age.
    fn row(&self, age: f64) -> usize {
        usize::from(age >= self.old())
    }

    fn update(&mut self, ages: &Ages, now: Nanos, first: f64, length: f64) {
        let begin = Nanos(now.0.saturating_sub(Nanos::from_secs_f64(length - first).0));
        let width = self.period.as_secs_f64() / BINS as f64;
        let followed = length.min(first + FOLLOWED as f64 * self.period.as_secs_f64());
        let (mut bin, mut age, mut until) = (self.bin_of(begin), first, first + self.left(begin));
        let (mut hint, mut expected_all) = (0, 0.0);
        let mut reach = ages.reach(first);
        let mut add = |phase: &mut ClockPhase, age: f64, bin: usize, expected: f64| {
            let row = phase.row(age);
            expected_all += (phase.rows[row].multipliers[bin] - 1.0) * phase.level * expected;
            phase.rows[row].bins[bin].expected += phase.weight * expected;
        };
        while age < followed {
            let to = until.min(followed);
            let then = ages.reach_spot(ages.spot_near(to, &mut hint)).max(0.5).min(reach);
            add(self, age, bin, (reach / then).ln());
            (age, until, reach, bin) = (to, to + width, then, (bin + 1) % BINS);
        }
        if followed < length {
            let then = ages.reach(length).max(0.5).min(reach);
            let each = (reach / then).ln() / BINS as f64;
            (0..BINS).for_each(|bin| add(self, length, bin, each));
        }
        let (row, end) = (self.row(length), self.bin_of(now));
        let fade = 2f64.powf((length / HALF_LIFE).min(1.0 / HALF_LIFE_ENDS));
        self.score = (self.score / fade + self.rows[row].multipliers[end].ln() - expected_all).max(LEAST);
        self.ends = self.ends / fade + 1.0;
        self.rows[row].bins[end].ends += self.weight;
        self.weight *= fade;
        let [all, each] = if self.is_open { CLOSE } else { OPEN };
        self.is_open = self.score > all && self.score > each * self.ends;
    }

    fn reckon(&mut self) {
        if self.weight > 1e6 {
            let (weight, bins) = (self.weight, self.rows.iter_mut().flat_map(|row| &mut row.bins));
            bins.for_each(|bin| (bin.ends, bin.expected) = (bin.ends / weight, bin.expected / weight));
            self.weight = 1.0;
        }
        let prior = PRIOR * self.weight;
        let bins = || self.rows.iter().flat_map(|row| &row.bins);
        let sum = |value: fn(&Bin) -> f64| bins().map(value).sum::<f64>() + BINS as f64 * prior;
        self.level = sum(|bin| bin.ends) / sum(|bin| bin.expected);
        // As likely as `else_` says, until more is seen.
        let likely = |seen: Bin, else_: f64| (seen.ends + prior * else_) / (seen.expected + prior);
        for bin in 0..BINS {
            let [young, old] = [0, 1].map(|row| {
                let seen = self.rows[row].around(bin);
                Bin { expected: seen.expected * self.level, ..seen }
            });
            let all = likely(Bin { ends: young.ends + old.ends, expected: young.expected + old.expected }, 1.0);
            for (row, seen) in self.rows.iter_mut().zip([young, old]) {
                row.multipliers[bin] = likely(seen, all);
                row.sums[bin + 1] = row.sums[bin] + row.multipliers[bin];
            }
        }
    }
}

impl PhaseRow {
    /// What was seen in a part, and in those beside it.
    fn around(&self, bin: usize) -> Bin {
        let near = [(bin + BINS - 1) % BINS, bin, (bin + 1) % BINS].map(|bin| self.bins[bin]);
        let of = |value: fn(Bin) -> f64| 0.25 * value(near[0]) + 0.5 * value(near[1]) + 0.25 * value(near[2]);
        Bin { ends: of(|bin| bin.ends), expected: of(|bin| bin.expected) }
    }

    /// The sum of the multipliers of the first so many parts, from one period on to the next.
    fn sum_to(&self, bins: f64) -> f64 {
        let (periods, within) = ((bins / BINS as f64).floor(), bins % BINS as f64);
        let bin = within as usize;
        periods * self.sums[BINS] + self.sums[bin] + (within - bin as f64) * self.multipliers[bin]
    }
}

impl BelievedPeriod<'_> {
    /// How many times more likely than its age says an interval is to end in the next `time` seconds.
    pub(super) fn multiplier(&self, time: f64) -> f64 {
        let from = self.phase.bins_at(self.now);
        let bins = time / self.phase.period.as_secs_f64() * BINS as f64;
        let row = &self.phase.rows[self.phase.row(self.age)];
        if bins > 0.0 { (row.sum_to(from + bins) - row.sum_to(from)) / bins } else { 1.0 }
    }

    /// It is never less, and never more.
    pub(super) fn range(&self) -> [f64; 2] {
        let multipliers = self.phase.rows.iter().flat_map(|row| &row.multipliers);
        multipliers.fold([f64::INFINITY, 0.0], |[least, most], &one| [least.min(one), most.max(one)])
    }

    /// In how many seconds that may be another.
    pub(super) fn until(&self) -> f64 {
        let (left, old) = (self.phase.left(self.now), self.phase.old() - self.age);
        if old > 0.0 { left.min(old) } else { left }
    }

    /// How long a part of the period is, in seconds.
    pub(super) fn width(&self) -> f64 {
        self.phase.period.as_secs_f64() / BINS as f64
    }

    /// So many seconds later.
    pub(super) fn after(self, time: f64) -> Self {
        BelievedPeriod { now: self.now.saturating_add(Nanos::from_secs_f64(time)), age: self.age + time, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::stats::DurationHistogram;

    /// Intervals end when somebody comes: so often a second at any time, and each `beat` seconds to 4 ms.
    fn told(rate: f64, beat: Option<f64>, seconds: f64, seed: u64) -> Phases {
        let mut rng = Rng::new(seed);
        let (mut arrivals, mut at) = (Vec::new(), 0.0);
        while at < seconds {
            at += rng.exponential(1.0 / rate);
            arrivals.push(at);
        }
        if let Some(beat) = beat {
            let count = (seconds / beat) as u32;
            arrivals.extend((1..count).map(|tick| f64::from(tick) * beat + (rng.uniform() - 0.5) * 0.008));
        }
        arrivals.sort_by(f64::total_cmp);
        learned(arrivals)
    }

    fn learned(arrivals: Vec<f64>) -> Phases {
        let lengths = || arrivals.windows(2).map(|pair| (pair[1], pair[1] - pair[0] - 1e-3)).filter(|one| one.1 > 0.0);
        let mut histogram = DurationHistogram::default();
        lengths().for_each(|(_, length)| histogram.add(Nanos::from_secs_f64(length)));
        let (ages, mut phases) = (Ages::new(&histogram), Phases::default());
        lengths().for_each(|(at, length)| phases.update(&ages, Nanos::from_secs_f64(at), 0.01, length));
        phases
    }

    #[test]
    fn a_daemon_that_works_by_the_clock_is_foretold() {
        let phases = told(2.0, Some(1.0), 600.0, 1);
        let clock = |millis: u64| phases.clock(Nanos::from_millis(millis), 0.2).expect("it is believed");
        assert!(clock(700_990).multiplier(0.02) > 3.0, "{}", clock(700_990).multiplier(0.02));
        assert!(clock(700_300).multiplier(0.02) < 0.8, "{}", clock(700_300).multiplier(0.02));
        assert!((clock(700_000).multiplier(3.0) - 1.0).abs() < 0.5, "over whole periods it tells nothing");
        let of_five = told(2.0, Some(5.0), 3000.0, 1);
        assert_eq!(of_five.clock(Nanos::ZERO, 0.0).map(|clock| clock.phase.period), None, "too seldom to be of use");
        let alone = told(0.1, Some(5.0), 3000.0, 1);
        assert!(alone.clock(Nanos::ZERO, 0.0).is_some(), "alone it is");
    }

    /// Somebody comes by the clock each second, and somebody else at any time, ten times within a second or two: where the other
    /// has been away for longer, hardly anybody comes but by the clock.
    #[test]
    fn old_intervals_go_by_the_clock() {
        let mut rng = Rng::new(1);
        let (mut arrivals, mut at) = ((1..3000).map(f64::from).collect::<Vec<f64>>(), 0.0);
        while at < 3000.0 {
            at += rng.exponential(10.0);
            arrivals.extend((0..10).map(|_| {
                at += rng.exponential(0.15);
                at
            }));
        }
        arrivals.sort_by(f64::total_cmp);
        let phases = learned(arrivals);
        let clock = |age| phases.clock(Nanos::from_millis(2_900_600), age).expect("it is believed");
        let [young, old] = [0.2, 0.6].map(|age| clock(age).multiplier(0.02));
        assert!(old < 0.6 * young, "{young} and {old}");
        assert!((clock(0.499).until() - 0.001).abs() < 1e-9, "it becomes old: {}", clock(0.499).until());
        assert!((clock(0.499).after(0.0011).multiplier(0.02) - old).abs() < 0.2 * old, "it is old");
    }

    #[test]
    fn a_beat_is_remembered_and_left_where_it_is_gone() {
        let beat = told(2.0, Some(1.0), 600.0, 1).kept().expect("it is believed");
        let mut phases = Phases::default();
        phases.recall(&beat);
        let clock = |millis: u64| phases.clock(Nanos::from_millis(millis), 0.2).expect("it is believed");
        assert!(clock(990).multiplier(0.02) > 3.0 && clock(300).multiplier(0.02) < 0.8);
        assert!(told(10.0, None, 5000.0, 1).kept().is_none(), "nothing is remembered of chance");
        let mut rng = Rng::new(3);
        let (lengths, mut at) = ((0..200).map(|_| rng.exponential(0.5)).collect::<Vec<f64>>(), 1000.0);
        let mut histogram = DurationHistogram::default();
        lengths.iter().for_each(|&length| histogram.add(Nanos::from_secs_f64(length)));
        let ages = Ages::new(&histogram);
        let ended = lengths.iter().position(|&length| {
            at += length;
            phases.update(&ages, Nanos::from_secs_f64(at), 0.01, length);
            phases.clock(Nanos::ZERO, 0.0).is_none()
        });
        assert!(ended.is_some_and(|ends| ends < 100), "{ended:?}");
        for odd in [Beat { period: Nanos(7), ..beat.clone() }, Beat { parts: Default::default(), ..beat }] {
            let mut phases = Phases::default();
            phases.recall(&odd);
            assert!(phases.clock(Nanos::ZERO, 0.0).is_none());
        }
    }

    #[test]
    fn chance_is_not_believed() {
        for seed in 0..20 {
            let phases = told(10.0, None, 5000.0, seed);
            assert!(phases.clock(Nanos::ZERO, 0.0).is_none(), "{seed}");
        }
        assert!(told(2.0, Some(1.003), 3000.0, 1).clock(Nanos::ZERO, 0.0).is_none(), "it drifts through all parts");
    }

    #[test]
    fn parts_are_found_and_left() {
        let phase = Phases::default().phases[1].clone();
        for (nanos, bin, left) in
            [(0, 0, 0.015625), (1, 0, 0.015624999), (2_000_000_000, 0, 0.015625), (1_999_999_999, 127, 1e-9)]
        {
            assert_eq!(phase.bin_of(Nanos(nanos)), bin);
            assert!((phase.left(Nanos(nanos)) - left).abs() < 1e-9, "{}", phase.left(Nanos(nanos)));
        }
    }
}
