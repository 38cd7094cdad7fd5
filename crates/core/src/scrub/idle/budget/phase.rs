//! The clock: finds programs that end idle intervals at the same moments of each second, or minute.
//!
//! The age of an interval predicts when it is likely to end; in addition, each part of a period may have more or fewer
//! ends than the age predicts. For some periods that daemons commonly use, the ends in each part are counted, and how
//! many were expected there by age alone. Intervals younger and older than half a period are counted separately,
//! because where no other request has come for so long, most of the rest come by the clock. If more intervals end in
//! all parts than their age predicts, or fewer, the ages are not known well, and the clock is not the cause: so each
//! part is compared with all of them. A period is believed once it has *predicted* the ends better than age alone did:
//! each end is scored by what was known before it (a prequential likelihood), so that chance has nothing to fit.

use super::ages::Ages;
use crate::scrub::idle::Periodicity;
use crate::units::Nanos;

/// The periods that are tested, in seconds.
const PERIODS: [u64; 6] = [1, 2, 5, 10, 30, 60];
/// The number of parts of each period.
const BINS: usize = 128;
/// The weight, in ends, of the prior that a part is like the others, and of the prior that it is the same at all ages.
const PRIOR: f64 = 2.0;
/// An interval is old from this share of the period on.
const OLD: f64 = 0.5;
/// A period is believed from this score on, in nats: in all, and per end. Chance produces few nats, and few nats are of no use.
const BELIEVE_MIN: [f64; 2] = [15.0, 0.4];
/// A period is no longer believed below this score, in nats: in all, or per end.
const KEEP_MIN: [f64; 2] = [8.0, 0.25];
/// The score of a period falls no lower than this, in nats, because a program may start tomorrow.
const SCORE_MIN: f64 = -10.0;
/// Once this many ends have shown no promising period, only `ROW` ends in a row of each `ROW` * `ROWS` are examined.
const ENDS_EXAMINED: u64 = 2000;
const ROW: u64 = 64;
const ROWS: u64 = 64;
/// The multipliers are recomputed after this number of ends.
const ENDS_STEP: u64 = 8;
/// The past counts half after this many seconds of idle time, or `HALF_LIFE_ENDS` ends, whichever is later: programs drift.
const HALF_LIFE: f64 = 1200.0;
const HALF_LIFE_ENDS: f64 = 500.0;
/// This many periods of an interval are followed part by part; the rest is taken to be even.
const FOLLOWED: u64 = 2;

/// All tested periods; see the module's text.
#[derive(Clone, Debug)]
pub(super) struct Phases {
    phases: Vec<ClockPhase>,
    /// The index of the period that is believed.
    believed: Option<usize>,
    is_promising: bool,
    ends: u64,
}

#[derive(Clone, Debug)]
struct ClockPhase {
    period: Nanos,
    /// Of young intervals, and of old ones.
    rows: [PhaseRow; 2],
    /// The ratio of the ends in all parts to those that the ages predict; the clock is not the cause of it.
    level: f64,
    /// The weight of one end; it grows, so that earlier ends count for less.
    weight: f64,
    score: f64,
    /// The ends that `score` was made from; they fade.
    ends: f64,
    is_believed: bool,
}

/// Counts by part of the period.
#[derive(Clone, Debug)]
struct PhaseRow {
    bins: Vec<Bin>,
    /// How many times likelier than by its age an interval is to end in each part.
    multipliers: Vec<f64>,
    /// The sum of the multipliers before each part; one more than there are parts.
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

/// A period that is believed, at a moment of an idle interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct BelievedPeriod<'a> {
    phase: &'a ClockPhase,
    now: Nanos,
    /// The age of the interval, in seconds.
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
            is_believed: false,
        };
        Phases { phases: PERIODS.map(phase).to_vec(), believed: None, is_promising: false, ends: 0 }
    }
}

impl Phases {
    /// Records that an interval has ended at `now`, at an age of `length` seconds; nothing was to be sent before the
    /// age of `first`.
    pub(super) fn update(&mut self, ages: &Ages, now: Nanos, first: f64, length: f64) {
        if length <= first {
            return;
        }
        self.ends += 1;
        let is_examined = self.is_promising || (self.ends / ROW).is_multiple_of(ROWS);
        if (self.ends > ENDS_EXAMINED && !is_examined) || ages.reach(first) <= 0.0 {
            return;
        }
        let is_step = self.ends.is_multiple_of(ENDS_STEP);
        for phase in &mut self.phases {
            phase.update(ages, now, first, length);
            if is_step {
                phase.update_multipliers();
            }
        }
        self.is_promising = self.phases.iter().any(|phase| phase.score > KEEP_MIN[0]);
        let believed = (0..PERIODS.len()).filter(|&index| self.phases[index].is_believed);
        self.believed = believed.max_by(|&one, &two| self.phases[one].score.total_cmp(&self.phases[two].score));
    }

    /// The period that is believed, for the next run.
    pub(super) fn kept(&self) -> Option<Periodicity> {
        let phase = &self.phases[self.believed?];
        let kept = |row: &PhaseRow| {
            row.bins.iter().map(|bin| [bin.ends, bin.expected].map(|one| one / phase.weight)).collect()
        };
        let ClockPhase { period, score, ends, .. } = *phase;
        Some(Periodicity { period, score, ends, parts: phase.rows.each_ref().map(kept) })
    }

    /// Begins with the period of an earlier run. Its score is limited, so that it is soon doubted if it no longer holds.
    pub(super) fn recall(&mut self, periodicity: &Periodicity) {
        let parts = |row: &[[f64; 2]]| row.iter().map(|&[ends, expected]| Bin { ends, expected }).collect::<Vec<Bin>>();
        let is_whole = periodicity.parts.iter().all(|row| row.len() == BINS);
        let index = self.phases.iter().position(|phase| phase.period == periodicity.period).filter(|_| is_whole);
        let Some(index) = index else { return };
        let keep = (2.0 * BELIEVE_MIN[0] / periodicity.score.max(1.0)).min(1.0);
        let phase = &mut self.phases[index];
        (phase.score, phase.ends) = (keep * periodicity.score, keep * periodicity.ends);
        phase.is_believed = phase.score > KEEP_MIN[0] && phase.score > KEEP_MIN[1] * phase.ends;
        for (row, kept) in phase.rows.iter_mut().zip(&periodicity.parts) {
            row.bins = parts(kept);
        }
        phase.update_multipliers();
        self.is_promising = phase.is_believed;
        self.believed = phase.is_believed.then_some(index);
    }

    /// The period that predicts most, if any is believed, for an interval of `age` seconds.
    pub(super) fn clock(&self, now: Nanos, age: f64) -> Option<BelievedPeriod<'_>> {
        self.believed.map(|believed| BelievedPeriod { phase: &self.phases[believed], now, age })
    }
}

impl ClockPhase {
    /// The position of `at` within the period, in parts.
    fn bins_at(&self, at: Nanos) -> f64 {
        (at.0 % self.period.0) as f64 / self.period.0 as f64 * BINS as f64
    }

    fn bin_of(&self, at: Nanos) -> usize {
        (self.bins_at(at) as usize).min(BINS - 1)
    }

    /// The time from `at` to the end of its part, in seconds.
    fn time_left(&self, at: Nanos) -> f64 {
        let bins = self.bins_at(at);
        ((bins.floor() + 1.0 - bins) * self.period.as_secs_f64() / BINS as f64).max(1e-9)
    }

    /// The age from which an interval is old, in seconds.
    fn old_from(&self) -> f64 {
        OLD * self.period.as_secs_f64()
    }

    /// The index of the row for intervals of this age.
    fn row(&self, age: f64) -> usize {
        usize::from(age >= self.old_from())
    }

    fn update(&mut self, ages: &Ages, now: Nanos, first: f64, length: f64) {
        let begin = Nanos(now.0.saturating_sub(Nanos::from_secs_f64(length - first).0));
        let width = self.period.as_secs_f64() / BINS as f64;
        let followed = length.min(first + FOLLOWED as f64 * self.period.as_secs_f64());
        let (mut bin, mut age, mut until) = (self.bin_of(begin), first, first + self.time_left(begin));
        let (mut hint, mut expected_all) = (0, 0.0);
        let mut reach = ages.reach(first);
        let mut add = |phase: &mut ClockPhase, age: f64, bin: usize, expected: f64| {
            let row = phase.row(age);
            expected_all += (phase.rows[row].multipliers[bin] - 1.0) * phase.level * expected;
            phase.rows[row].bins[bin].expected += phase.weight * expected;
        };
        while age < followed {
            let to = until.min(followed);
            let reach_after = ages.reach_spot(ages.spot_near(to, &mut hint)).max(0.5).min(reach);
            add(self, age, bin, (reach / reach_after).ln());
            (age, until, reach, bin) = (to, to + width, reach_after, (bin + 1) % BINS);
        }
        if followed < length {
            let reach_after = ages.reach(length).max(0.5).min(reach);
            let each = (reach / reach_after).ln() / BINS as f64;
            (0..BINS).for_each(|bin| add(self, length, bin, each));
        }
        let (row, end) = (self.row(length), self.bin_of(now));
        let fade = 2f64.powf((length / HALF_LIFE).min(1.0 / HALF_LIFE_ENDS));
        self.score = (self.score / fade + self.rows[row].multipliers[end].ln() - expected_all).max(SCORE_MIN);
        self.ends = self.ends / fade + 1.0;
        self.rows[row].bins[end].ends += self.weight;
        self.weight *= fade;
        let [all, each] = if self.is_believed { KEEP_MIN } else { BELIEVE_MIN };
        self.is_believed = self.score > all && self.score > each * self.ends;
    }

    fn update_multipliers(&mut self) {
        if self.weight > 1e6 {
            let (weight, bins) = (self.weight, self.rows.iter_mut().flat_map(|row| &mut row.bins));
            bins.for_each(|bin| (bin.ends, bin.expected) = (bin.ends / weight, bin.expected / weight));
            self.weight = 1.0;
        }
        let prior = PRIOR * self.weight;
        let bins = || self.rows.iter().flat_map(|row| &row.bins);
        let sum = |value: fn(&Bin) -> f64| bins().map(value).sum::<f64>() + BINS as f64 * prior;
        self.level = sum(|bin| bin.ends) / sum(|bin| bin.expected);
        // The multiplier is `default` until more is seen.
        let multiplier = |seen: Bin, default: f64| (seen.ends + prior * default) / (seen.expected + prior);
        for bin in 0..BINS {
            let [young, old] = [0, 1].map(|row| {
                let seen = self.rows[row].around(bin);
                Bin { expected: seen.expected * self.level, ..seen }
            });
            let all = multiplier(Bin { ends: young.ends + old.ends, expected: young.expected + old.expected }, 1.0);
            for (row, seen) in self.rows.iter_mut().zip([young, old]) {
                row.multipliers[bin] = multiplier(seen, all);
                row.sums[bin + 1] = row.sums[bin] + row.multipliers[bin];
            }
        }
    }
}

impl PhaseRow {
    /// The counts of a part, smoothed by those of its neighbours.
    fn around(&self, bin: usize) -> Bin {
        let near = [(bin + BINS - 1) % BINS, bin, (bin + 1) % BINS].map(|bin| self.bins[bin]);
        let of = |value: fn(Bin) -> f64| 0.25 * value(near[0]) + 0.5 * value(near[1]) + 0.25 * value(near[2]);
        Bin { ends: of(|bin| bin.ends), expected: of(|bin| bin.expected) }
    }

    /// The sum of the multipliers of the first `bins` parts, which may go on into further periods.
    fn sum_to(&self, bins: f64) -> f64 {
        let (periods, within) = ((bins / BINS as f64).floor(), bins % BINS as f64);
        let bin = within as usize;
        periods * self.sums[BINS] + self.sums[bin] + (within - bin as f64) * self.multipliers[bin]
    }
}

impl BelievedPeriod<'_> {
    /// How many times likelier than by its age an interval is to end in the next `time` seconds.
    pub(super) fn multiplier(&self, time: f64) -> f64 {
        let from = self.phase.bins_at(self.now);
        let bins = time / self.phase.period.as_secs_f64() * BINS as f64;
        let row = &self.phase.rows[self.phase.row(self.age)];
        if bins > 0.0 { (row.sum_to(from + bins) - row.sum_to(from)) / bins } else { 1.0 }
    }

    /// The least and the greatest multiplier of any part.
    pub(super) fn range(&self) -> [f64; 2] {
        let multipliers = self.phase.rows.iter().flat_map(|row| &row.multipliers);
        multipliers.fold([f64::INFINITY, 0.0], |[least, most], &one| [least.min(one), most.max(one)])
    }

    /// The time until the multiplier may change, in seconds.
    pub(super) fn until(&self) -> f64 {
        let (time_left, until_old) = (self.phase.time_left(self.now), self.phase.old_from() - self.age);
        if until_old > 0.0 { time_left.min(until_old) } else { time_left }
    }

    /// The length of a part of the period, in seconds.
    pub(super) fn width(&self) -> f64 {
        self.phase.period.as_secs_f64() / BINS as f64
    }

    /// The same period `time` seconds later.
    pub(super) fn after(self, time: f64) -> Self {
        BelievedPeriod { now: self.now.saturating_add(Nanos::from_secs_f64(time)), age: self.age + time, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::stats::DurationHistogram;

    /// Intervals end by arrivals: `rate` a second at random times, and one each `periodicity` seconds, within 4 ms.
    fn simulated(rate: f64, periodicity: Option<f64>, seconds: f64, seed: u64) -> Phases {
        let mut rng = Rng::new(seed);
        let (mut arrivals, mut at) = (Vec::new(), 0.0);
        while at < seconds {
            at += rng.exponential(1.0 / rate);
            arrivals.push(at);
        }
        if let Some(periodicity) = periodicity {
            let count = (seconds / periodicity) as u32;
            arrivals.extend((1..count).map(|tick| f64::from(tick) * periodicity + (rng.uniform() - 0.5) * 0.008));
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
    fn the_requests_of_a_daemon_that_works_by_the_clock_are_predicted() {
        let phases = simulated(2.0, Some(1.0), 600.0, 1);
        let clock = |millis: u64| phases.clock(Nanos::from_millis(millis), 0.2).expect("it is believed");
        assert!(clock(700_990).multiplier(0.02) > 3.0, "{}", clock(700_990).multiplier(0.02));
        assert!(clock(700_300).multiplier(0.02) < 0.8, "{}", clock(700_300).multiplier(0.02));
        assert!((clock(700_000).multiplier(3.0) - 1.0).abs() < 0.5, "over whole periods it tells nothing");
        let every_five_seconds = simulated(2.0, Some(5.0), 3000.0, 1);
        assert_eq!(
            every_five_seconds.clock(Nanos::ZERO, 0.0).map(|clock| clock.phase.period),
            None,
            "too seldom to be of use"
        );
        let without_others = simulated(0.1, Some(5.0), 3000.0, 1);
        assert!(without_others.clock(Nanos::ZERO, 0.0).is_some(), "alone it is");
    }

    /// One program sends a request each second by the clock, and another ten within a second or two, at random times.
    /// When the other one has paused for longer, nearly all arrivals are by the clock.
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
    fn a_recalled_period_predicts_at_once_and_is_dropped_when_it_no_longer_holds() {
        let periodicity = simulated(2.0, Some(1.0), 600.0, 1).kept().expect("it is believed");
        let mut phases = Phases::default();
        phases.recall(&periodicity);
        let clock = |millis: u64| phases.clock(Nanos::from_millis(millis), 0.2).expect("it is believed");
        assert!(clock(990).multiplier(0.02) > 3.0 && clock(300).multiplier(0.02) < 0.8);
        assert!(simulated(10.0, None, 5000.0, 1).kept().is_none(), "nothing is remembered of chance");
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
        for odd in [
            Periodicity { period: Nanos(7), ..periodicity.clone() },
            Periodicity { parts: Default::default(), ..periodicity },
        ] {
            let mut phases = Phases::default();
            phases.recall(&odd);
            assert!(phases.clock(Nanos::ZERO, 0.0).is_none());
        }
    }

    #[test]
    fn random_arrivals_are_not_taken_for_a_period() {
        for seed in 0..20 {
            let phases = simulated(10.0, None, 5000.0, seed);
            assert!(phases.clock(Nanos::ZERO, 0.0).is_none(), "{seed}");
        }
        assert!(
            simulated(2.0, Some(1.003), 3000.0, 1).clock(Nanos::ZERO, 0.0).is_none(),
            "it drifts through all parts"
        );
    }

    #[test]
    fn each_moment_has_its_part_of_the_period_and_the_time_left_in_it() {
        let phase = Phases::default().phases[1].clone();
        for (nanos, bin, time_left) in
            [(0, 0, 0.015625), (1, 0, 0.015624999), (2_000_000_000, 0, 0.015625), (1_999_999_999, 127, 1e-9)]
        {
            assert_eq!(phase.bin_of(Nanos(nanos)), bin);
            assert!((phase.time_left(Nanos(nanos)) - time_left).abs() < 1e-9, "{}", phase.time_left(Nanos(nanos)));
        }
    }
}
