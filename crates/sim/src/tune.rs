//! The tuner: the wait and the request size that read most of a disk within a slowdown goal, for one trace.
//!
//! The paper's method (Amvrosiadis et al., DSN'12, V-C): for each size the smallest threshold that keeps the goal, and
//! of these pairs the one with the greatest throughput. Every figure comes from the exact simulator. The thresholds
//! tried lie on a fixed grid, 32 to the octave.
//!
//! The paper bisects because "larger thresholds will always lead to smaller slowdowns". Almost: a collision costs the
//! rest of one request, which depends on the remainder of the interval's length divided by the request's time. Where
//! many intervals matter, this chance averages out; where few do, every threshold is tried. Thresholds above the
//! smallest one that keeps the goal are tried as long as they could still read more.
//!
//! Where the lengths themselves lie on a grid (the clock of the recorder), chance does not average out: the slowdown as
//! a function of the wait is a sawtooth whose teeth repeat with the time of a request. So the best few sizes are
//! searched again, finely, over the length of some requests ([`Tuner::refined`]). And because tomorrow's intervals will
//! differ, [`Tuner::spread`] computes what waits near an answer's would have cost, and [`Tuner::steady`] finds a pair
//! that keeps the goal with any wait nearby.

use crate::exact::Limit;
use crate::exact::{self, ScrubFigures};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{Goal, GoalForm};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_trace::Periods;

/// Thresholds in one octave, as a power of two: steps of 2 to 3 %.
const STEPS_LOG2: u32 = 5;
/// The power of two of the first threshold above zero, in nanoseconds: 131 us. No disk can use shorter idle times.
const BITS_MIN: u32 = 17;
/// The power of two at which the last octave ends: 2^47 ns, 39 hours.
const BITS_MAX: u32 = 47;
/// The number of thresholds: zero, and the steps of all octaves.
const THRESHOLDS: usize = 1 + (((BITS_MAX - BITS_MIN) as usize) << STEPS_LOG2);
/// Where fewer intervals than this are longer than the threshold, chance dominates, and every threshold is tried.
const INTERVALS_FEW: u64 = 1000;

/// Waits that each of the two rounds of the finer search tries.
const WAITS_FINE: u64 = 256;
/// How far below the best wait the finer search begins, in service times of a request (teeth of the saw).
const TEETH: u64 = 2;
/// Sizes that are searched finely: those that read most.
pub const SIZES_FINE: usize = 8;
/// Waits tried near a wait, besides the first; near is at most half of one request's service time away.
const WAITS_NEAR: u64 = 8;
/// A wait is lucky if its loss is below this share of the mean loss of the waits near it.
const LUCKY_SHARE: f64 = 0.9;

/// The request sizes tried by default, in units of 64 KiB: 64 KiB to 4 MiB, the paper's.
pub const SIZES: std::ops::RangeInclusive<u64> = 1..=64;

/// A wait and a request size, with their result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The wait (threshold) before the first request.
    pub wait: Nanos,
    /// The size of one request.
    pub size: Bytes,
    /// The figures of a scrub with this pair.
    pub outcome: ScrubFigures,
}

/// The mean slowdown of the foreground with waits near the chosen one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSpread {
    /// The least of these mean slowdowns.
    pub least: Nanos,
    /// Their mean.
    pub mean: Nanos,
    /// The greatest of these mean slowdowns.
    pub most: Nanos,
}

impl WaitSpread {
    /// Is a pair with this mean slowdown so good only because of its exact wait?
    pub fn is_lucky(&self, slowdown_mean: Nanos) -> bool {
        (slowdown_mean.0 as f64) < LUCKY_SHARE * self.mean.0 as f64
    }
}

/// One trace, prepared for tuning to any goal and any size.
#[derive(Debug)]
pub struct Tuner<'a> {
    periods: &'a Periods,
    disk: ServiceModel,
    /// By threshold: the intervals above it in the unscrubbed trace, which give an upper bound.
    beyond: Vec<IntervalTail>,
    /// By busy period: the number of requests up to its end.
    until: Vec<u64>,
}

/// The intervals above a threshold: their number, their sum beyond it in ns, and the requests of the busy periods after them.
#[derive(Clone, Copy, Debug, Default)]
struct IntervalTail {
    count: u64,
    residual: u128,
    requests: u64,
}

impl<'a> Tuner<'a> {
    /// Counts the intervals by length, once.
    pub fn new(periods: &'a Periods, disk: ServiceModel) -> Tuner<'a> {
        let mut counts = vec![(0u64, 0u128, 0u64); THRESHOLDS];
        for period in periods.iter().skip(1) {
            let slot = &mut counts[slot_of(period.idle)];
            slot.0 += 1;
            slot.1 += u128::from(period.idle.0);
            slot.2 += u64::from(period.requests);
        }
        let mut beyond = vec![IntervalTail::default(); THRESHOLDS];
        let (mut count, mut sum, mut requests) = (0, 0, 0);
        for slot in (0..THRESHOLDS).rev() {
            count += counts[slot].0;
            sum += counts[slot].1;
            requests += counts[slot].2;
            let residual = sum - u128::from(count) * u128::from(threshold(slot).0);
            beyond[slot] = IntervalTail { count, residual, requests };
        }
        let until = periods.iter().scan(0, |sum, period| {
            *sum += u64::from(period.requests);
            Some(*sum)
        });
        Tuner { periods, disk, beyond, until: until.collect() }
    }

    /// The best threshold for one size. `None`: none keeps the goal, or a single request of this size takes longer than
    /// the max goal.
    pub fn best_wait(&self, size: Bytes, goal: Goal) -> Option<Pair> {
        if self.disk.service(size) > goal.max {
            return None;
        }
        let mut search = SizeSearch { tuner: self, size, goal, tried: vec![TriedThreshold::Not; THRESHOLDS] };
        let near = search.measured(self.estimate(self.disk.service(size).0 / 2, goal));
        let first = search.first_that_keeps(near)?;
        let mut best = search.try_at(first)?;
        for slot in (0..first).rev() {
            if self.beyond[slot].count > INTERVALS_FEW {
                break;
            }
            best = search.better_of(best, slot);
        }
        for slot in first + 1..THRESHOLDS {
            if self.bytes_max(slot, size) <= u128::from(best.scrub_bytes) {
                break;
            }
            best = search.better_of(best, slot);
        }
        let slot = (0..THRESHOLDS).find(|&slot| search.tried[slot] == TriedThreshold::Keeps(best)).unwrap_or(first);
        Some(Pair { wait: threshold(slot), size, outcome: best })
    }

    /// The best pairs of those of `sizes` that have one, in their order.
    pub fn candidates(&self, sizes: impl IntoIterator<Item = Bytes>, goal: Goal) -> Vec<Pair> {
        sizes.into_iter().filter_map(|size| self.best_wait(size, goal)).collect()
    }

    /// The wait that reads most with the size of `pair`: tries many waits from some service times below its own to the
    /// next threshold above, and as many around the best of these.
    pub fn refined(&self, pair: Pair, goal: Goal) -> Pair {
        let slot = slot_of(pair.wait);
        let below =
            Nanos(TEETH * self.disk.service(pair.size).0).max(pair.wait.since(threshold(slot.saturating_sub(2))));
        let (from, to) = (Nanos(pair.wait.0.saturating_sub(below.0)), threshold((slot + 1).min(THRESHOLDS - 1)));
        let pair = self.best_between(from, to, pair, goal);
        let step = (to.0 - from.0) / WAITS_FINE;
        let (from, to) = (Nanos(pair.wait.0.saturating_sub(step)), pair.wait.saturating_add(Nanos(step)));
        self.best_between(from, to, pair, goal)
    }

    /// The best of `pair` and of waits evenly spaced between two.
    fn best_between(&self, from: Nanos, to: Nanos, pair: Pair, goal: Goal) -> Pair {
        let waits = (0..=WAITS_FINE).map(|step| Nanos(from.0 + (to.0 - from.0) * step / WAITS_FINE));
        let tried = waits.filter_map(|wait| {
            let outcome = self.keeps(wait, pair.size, goal)?;
            Some(Pair { wait, outcome, ..pair })
        });
        tried.fold(
            pair,
            |best, candidate| if candidate.outcome.scrub_bytes > best.outcome.scrub_bytes { candidate } else { best },
        )
    }

    /// The mean slowdowns with waits near that of `pair`.
    pub fn spread(&self, pair: &Pair) -> WaitSpread {
        let service = self.disk.service(pair.size);
        let lost = near(pair.wait, service).filter_map(|wait| {
            let outcome = exact::waiting(self.periods, wait, pair.size, service, Limit::None)?;
            Some((outcome.slowdown_total / u128::from(outcome.requests.max(1))) as u64)
        });
        let (least, most, sum, count) = lost.fold((u64::MAX, 0, 0, 0), |(least, most, sum, count), loss| {
            (least.min(loss), most.max(loss), sum + loss, count + 1)
        });
        WaitSpread { least: Nanos(least), mean: Nanos(sum / count.max(1)), most: Nanos(most) }
    }

    /// The shortest threshold, from that of `pair` on, that keeps the goal with every wait near it.
    pub fn steady(&self, pair: &Pair, goal: Goal) -> Option<Pair> {
        let service = self.disk.service(pair.size);
        let keeps = |wait: &Nanos| near(*wait, service).all(|wait| self.keeps(wait, pair.size, goal).is_some());
        let wait = (slot_of(pair.wait)..THRESHOLDS).map(threshold).find(keeps)?;
        let outcome = self.keeps(wait, pair.size, goal)?;
        Some(Pair { wait, outcome, ..*pair })
    }

    /// The figures of a wait and a size, if they keep the goal.
    fn keeps(&self, wait: Nanos, size: Bytes, goal: Goal) -> Option<ScrubFigures> {
        let limit = match goal.form {
            GoalForm::Strict => Limit::SoFar { each: goal.mean, until: &self.until },
            GoalForm::Average => Limit::InAll(self.lost_max(goal)),
        };
        let outcome = exact::waiting(self.periods, wait, size, self.disk.service(size), limit)?;
        Some(outcome).filter(|outcome| outcome.slowdown_max <= goal.max)
    }

    /// A threshold to begin with: the first that keeps the mean goal if every interval above it ends in a collision
    /// that costs each following request `each` nanoseconds (half a service time, as long as nothing better is known).
    fn estimate(&self, each: u64, goal: Goal) -> usize {
        let (each, lost_max) = (u128::from(each), self.lost_max(goal));
        let slot = self.beyond.partition_point(|beyond| u128::from(beyond.requests) * each > lost_max);
        slot.min(THRESHOLDS - 1)
    }

    /// What all requests together may lose, in nanoseconds.
    fn lost_max(&self, goal: Goal) -> u128 {
        u128::from(goal.mean.0) * u128::from(self.periods.requests_total())
    }

    /// An upper bound of the bytes read with this threshold: every longer interval is filled, and one request more each.
    fn bytes_max(&self, slot: usize, size: Bytes) -> u128 {
        let IntervalTail { count, residual, .. } = self.beyond[slot];
        let requests = residual.div_ceil(u128::from(self.disk.service(size).0.max(1))) + u128::from(count);
        requests * u128::from(size.0)
    }
}

/// The pair that reads most; among equals, the one with the least slowdown.
pub fn best(pairs: &[Pair]) -> Option<Pair> {
    pairs.iter().copied().max_by_key(merit)
}

/// The indices of the [`SIZES_FINE`] best pairs, the best first.
pub fn best_indices(pairs: &[Pair]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..pairs.len()).collect();
    places.sort_by_key(|&place| std::cmp::Reverse(merit(&pairs[place])));
    places.truncate(SIZES_FINE);
    places
}

fn merit(pair: &Pair) -> (u64, std::cmp::Reverse<u128>) {
    (pair.outcome.scrub_bytes, std::cmp::Reverse(pair.outcome.slowdown_total))
}

/// Waits no further from `wait` than half of a service time.
fn near(wait: Nanos, service: Nanos) -> impl Iterator<Item = Nanos> {
    (0..=WAITS_NEAR).map(move |step| Nanos((wait.0 + service.0 * step / WAITS_NEAR).saturating_sub(service.0 / 2)))
}

/// All thresholds of the grid, ascending.
pub fn thresholds() -> impl Iterator<Item = Nanos> {
    (0..THRESHOLDS).map(threshold)
}

/// The result of trying one threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TriedThreshold {
    Not,
    Breaks,
    Keeps(ScrubFigures),
}

/// The search for one size.
struct SizeSearch<'a, 'b> {
    tuner: &'a Tuner<'b>,
    size: Bytes,
    goal: Goal,
    tried: Vec<TriedThreshold>,
}

impl SizeSearch<'_, '_> {
    /// A better estimate than `near`, from the loss measured there. Intervals after a collision are shorter, and some delays last
    /// for several intervals, but this changes little from one threshold to the next: most often it saves half of the trials.
    fn measured(&mut self, near: usize) -> usize {
        let Tuner { periods, disk, .. } = *self.tuner;
        let service = disk.service(self.size);
        let outcome = exact::waiting(periods, threshold(near), self.size, service, Limit::None);
        let Some(outcome) = outcome else { return near };
        if self.goal.form == GoalForm::Average {
            let lost_max = self.tuner.lost_max(self.goal);
            self.note(near, Some(outcome).filter(|outcome| outcome.slowdown_total <= lost_max));
        }
        let delayed_requests = u128::from(self.tuner.beyond[near].requests.max(1));
        u64::try_from(outcome.slowdown_total / delayed_requests)
            .map_or(near, |each| self.tuner.estimate(each, self.goal))
    }

    /// The figures of a threshold, if it keeps the goal.
    fn try_at(&mut self, slot: usize) -> Option<ScrubFigures> {
        if self.tried[slot] == TriedThreshold::Not {
            let outcome = self.tuner.keeps(threshold(slot), self.size, self.goal);
            self.note(slot, outcome);
        }
        match self.tried[slot] {
            TriedThreshold::Keeps(outcome) => Some(outcome),
            TriedThreshold::Not | TriedThreshold::Breaks => None,
        }
    }

    /// Remembers an outcome within the mean goal, or that there is none.
    fn note(&mut self, slot: usize, outcome: Option<ScrubFigures>) {
        let keeps = outcome.filter(|outcome| outcome.slowdown_max <= self.goal.max);
        self.tried[slot] = keeps.map_or(TriedThreshold::Breaks, TriedThreshold::Keeps);
    }

    fn better_of(&mut self, best: ScrubFigures, slot: usize) -> ScrubFigures {
        self.try_at(slot).filter(|outcome| outcome.scrub_bytes > best.scrub_bytes).unwrap_or(best)
    }

    /// A threshold that keeps the goal next to one that does not, or the smallest of all: moves away from `near` in
    /// steps that double, then bisects. `None`: the largest does not keep it.
    fn first_that_keeps(&mut self, near: usize) -> Option<usize> {
        let (mut breaks, mut keeps) = (None, None);
        let (mut slot, mut step) = (near, 1);
        while breaks.is_none() || keeps.is_none() {
            if self.try_at(slot).is_some() {
                keeps = Some(slot);
                if slot == 0 {
                    return keeps;
                }
                slot = slot.saturating_sub(step);
            } else {
                breaks = Some(slot);
                if slot == THRESHOLDS - 1 {
                    return None;
                }
                slot = (slot + step).min(THRESHOLDS - 1);
            }
            step *= 2;
        }
        let (mut breaks, mut keeps) = (breaks?, keeps?);
        while keeps - breaks > 1 {
            let middle = usize::midpoint(breaks, keeps);
            if self.try_at(middle).is_some() { keeps = middle } else { breaks = middle }
        }
        Some(keeps)
    }
}

/// The threshold of a slot: zero, and then `2^e * (1 + i / 32)` nanoseconds.
fn threshold(slot: usize) -> Nanos {
    let Some(step) = slot.checked_sub(1) else { return Nanos::ZERO };
    let (octave, part) = (step >> STEPS_LOG2, (step & ((1 << STEPS_LOG2) - 1)) as u64);
    Nanos(((1 << STEPS_LOG2) + part) << (BITS_MIN as usize + octave - STEPS_LOG2 as usize))
}

/// The last slot whose threshold is not above `time`.
fn slot_of(time: Nanos) -> usize {
    let Some(octave) = (time.0 >> BITS_MIN).checked_ilog2() else { return 0 };
    let part = (time.0 >> (BITS_MIN + octave - STEPS_LOG2)) as usize & ((1 << STEPS_LOG2) - 1);
    (1 + ((octave as usize) << STEPS_LOG2) + part).min(THRESHOLDS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use scrubjay_core::scrub::disk_server::ForegroundRequest;

    const DISK: ServiceModel = ServiceModel::ULTRASTAR_15K450;

    #[test]
    fn slots_and_thresholds_agree() {
        assert_eq!((threshold(1), threshold(33)), (Nanos(1 << 17), Nanos(1 << 18)));
        for slot in 0..THRESHOLDS {
            assert_eq!(slot_of(threshold(slot)), slot);
            assert_eq!(slot_of(Nanos((threshold(slot).0).max(1) - 1)), slot.saturating_sub(1));
        }
        assert_eq!(slot_of(Nanos::MAX), THRESHOLDS - 1);
    }

    /// Gaps over five orders of magnitude.
    fn periods() -> impl Strategy<Value = Periods> {
        let gap = (0.0..5.0f64).prop_map(|exponent| Nanos((10f64.powf(exponent) * 1e5) as u64));
        prop::collection::vec((gap, 1u64..10_000_000), 2..80).prop_map(|drawn| {
            let mut at = Nanos::ZERO;
            let requests = drawn.into_iter().map(|(gap, service)| {
                at += gap + Nanos(service);
                ForegroundRequest { at, service: Nanos(service) }
            });
            requests.collect()
        })
    }

    /// Requests with times on a grid of `grid` microseconds (0: none), with long-tailed gaps.
    fn recorded(grid: u64, seed: u64) -> Periods {
        let mut rng = scrubjay_core::rng::Rng::new(seed);
        let mut at = Nanos::ZERO;
        let requests = (0..3000).map(|_| {
            let gap = Nanos::from_secs_f64(0.02 * rng.uniform().max(1e-4).powf(-1.0 / 1.2));
            at += gap + Nanos::from_millis(2);
            let ticks = at.0.checked_div(grid * 1000).map_or(at, |ticks| Nanos(ticks * grid * 1000));
            ForegroundRequest { at: ticks, service: Nanos(500_000) }
        });
        requests.collect()
    }

    /// The most bytes that any of 5,000 waits up to `until` reads within the goal.
    fn brute_force(tuner: &Tuner, sizes: &[Bytes], goal: Goal, until: Nanos) -> u64 {
        let waits = (0..=5000).map(|step| Nanos(until.0 * step / 5000));
        let tried = waits.flat_map(|wait| sizes.iter().filter_map(move |&size| tuner.keeps(wait, size, goal)));
        tried.map(|outcome| outcome.scrub_bytes).max().unwrap_or(0)
    }

    #[test]
    fn the_best_pair_is_as_good_as_trying_all_waits_or_is_flagged_as_lucky() {
        let goal = Goal::new(Nanos::from_millis(1), Nanos::from_millis(50)).form(GoalForm::Average);
        let sizes = [4, 16, 48].map(|step| Bytes::kib(64 * step));
        let mut lucky = 0;
        for seed in 0..20 {
            let periods = recorded(if seed % 4 == 3 { 6550 } else { 0 }, seed);
            let tuner = Tuner::new(&periods, DISK);
            let coarse = tuner.candidates(sizes, goal);
            let pairs: Vec<Pair> = coarse.iter().map(|&pair| tuner.refined(pair, goal)).collect();
            let found = best(&pairs).expect("some pair keeps the goal");
            let mean = Nanos::from_secs_f64(found.outcome.slowdown_mean_seconds());
            let (spread, all) = (tuner.spread(&found), brute_force(&tuner, &sizes, goal, found.wait + found.wait));
            let share = found.outcome.scrub_bytes as f64 / all as f64;
            lucky += u32::from(spread.is_lucky(mean));
            assert!(share >= 0.99 || spread.is_lucky(mean), "{seed}: {share} of brute force, {mean:?} of {spread:?}");
            if spread.is_lucky(mean) {
                let steady = tuner.steady(&found, goal).expect("the longest of all waits loses nothing");
                let spread = tuner.spread(&steady);
                assert!(spread.most <= goal.mean && !spread.is_lucky(spread.mean), "{seed}: {steady:?} {spread:?}");
            }
        }
        assert!(lucky <= 5, "{lucky} of the 5 with a clock and 15 without");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Compares the search with trying every threshold and every size.
        #[test]
        fn the_search_reads_as_much_as_trying_every_threshold_and_size(
            periods in periods(), mean_us in 10u64..5000, max_ms in 5u64..60
        ) {
            let goal = Goal::new(Nanos(mean_us * 1000), Nanos::from_millis(max_ms)).form(GoalForm::Average);
            let sizes = [1, 5, 16, 40, 64].map(|step| Bytes::kib(64 * step));
            let lost_max = u128::from(goal.mean.0) * u128::from(periods.requests_total());
            let all: Vec<Pair> = sizes
                .iter()
                .flat_map(|&size| thresholds().map(move |wait| (size, wait)))
                .filter(|&(size, _)| DISK.service(size) <= goal.max)
                .map(|(size, wait)| {
                    let outcome = exact::simulate(&periods, DISK, &mut scrubjay_core::scrub::idle::Waiting { wait, size });
                    Pair { wait, size, outcome }
                })
                .filter(|pair| pair.outcome.slowdown_total <= lost_max && pair.outcome.slowdown_max <= goal.max)
                .collect();
            let found = best(&Tuner::new(&periods, DISK).candidates(sizes, goal));
            prop_assert_eq!(found.map(|pair| pair.outcome.scrub_bytes), best(&all).map(|pair| pair.outcome.scrub_bytes));
        }
    }
}
