//! The tuner: the wait and the request size that read most of a disk inside a slowdown goal, for one trace.
//!
//! The paper's method (Amvrosiadis et al., DSN'12, V-C): for each size the smallest threshold that keeps the goal, and
//! of these pairs the one with the greatest throughput. Every figure comes from the exact simulator. Thresholds are
//! tried on a fixed grid, 32 to the octave.
//!
//! The paper bisects because "larger thresholds will always lead to smaller slowdowns". Almost: a collision costs the rest
//! of one request, and that depends on how the interval's length happens to divide by the request's time. Where many
//! intervals decide, such chance averages out; where few do, every threshold is tried. Thresholds above the smallest one
//! that keeps the goal are tried as long as they could still read more.

use crate::exact::Limit;
use crate::exact::{self, Outcome};
use scrubjay_core::idle::{Form, Goal};
use scrubjay_core::server::ServiceModel;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_trace::Periods;

/// Thresholds in one octave, as a power of two: steps of 2 to 3 %.
const STEPS_LOG2: u32 = 5;
/// The first threshold above zero has this many bits: 131 us. Below, no disk has anything to do with the idle time.
const BITS_MIN: u32 = 17;
/// The last octave ends at 2^47 ns: 39 hours.
const BITS_MAX: u32 = 47;
/// So many thresholds: zero, and the steps of all octaves.
const THRESHOLDS: usize = 1 + (((BITS_MAX - BITS_MIN) as usize) << STEPS_LOG2);
/// Where fewer intervals than this are longer than the threshold, chance rules, and every threshold is tried.
const INTERVALS_FEW: u64 = 1000;

/// The sizes that are tried by default: 64 KiB to 4 MiB in steps of 64 KiB, the paper's.
pub const SIZES: std::ops::RangeInclusive<u64> = 1..=64;

/// A wait and a size, and what they come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The threshold.
    pub wait: Nanos,
    /// The size of one request.
    pub size: Bytes,
    /// What a scrub with them would have done.
    pub outcome: Outcome,
}

/// One trace, prepared to be tuned to any goal and any size.
#[derive(Debug)]
pub struct Tuner<'a> {
    periods: &'a Periods,
    disk: ServiceModel,
    /// By threshold: an upper bound, for a disk that nobody has touched.
    beyond: Vec<Beyond>,
    /// By busy period: the requests until its end.
    until: Vec<u64>,
}

/// Intervals above a threshold: how many, what they have beyond it, and the requests of the busy periods after them.
#[derive(Clone, Copy, Debug, Default)]
struct Beyond {
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
        let mut beyond = vec![Beyond::default(); THRESHOLDS];
        let (mut count, mut sum, mut requests) = (0, 0, 0);
        for slot in (0..THRESHOLDS).rev() {
            count += counts[slot].0;
            sum += counts[slot].1;
            requests += counts[slot].2;
            let residual = sum - u128::from(count) * u128::from(threshold(slot).0);
            beyond[slot] = Beyond { count, residual, requests };
        }
        let until = periods.iter().scan(0, |sum, period| {
            *sum += u64::from(period.requests);
            Some(*sum)
        });
        Tuner { periods, disk, beyond, until: until.collect() }
    }

    /// The best threshold for one size, if any keeps the goal. `None` also for sizes whose single request takes longer than
    /// the max goal.
    pub fn best_wait(&self, size: Bytes, goal: Goal) -> Option<Pair> {
        if self.disk.service(size) > goal.max {
            return None;
        }
        let mut search = Search { tuner: self, size, goal, tried: vec![Tried::Not; THRESHOLDS] };
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
        let slot = (0..THRESHOLDS).find(|&slot| search.tried[slot] == Tried::Keeps(best)).unwrap_or(first);
        Some(Pair { wait: threshold(slot), size, outcome: best })
    }

    /// The best threshold for each of `sizes` that has one, in their order.
    pub fn candidates(&self, sizes: impl IntoIterator<Item = Bytes>, goal: Goal) -> Vec<Pair> {
        sizes.into_iter().filter_map(|size| self.best_wait(size, goal)).collect()
    }

    /// Where to begin: the first threshold that keeps the mean goal if every interval above it ends in a collision, and
    /// those who come then lose `each` nanoseconds; half a request of ours, as long as nothing better is known.
    fn estimate(&self, each: u64, goal: Goal) -> usize {
        let (each, lost_max) = (u128::from(each), self.lost_max(goal));
        let slot = self.beyond.partition_point(|beyond| u128::from(beyond.requests) * each > lost_max);
        slot.min(THRESHOLDS - 1)
    }

    /// What all requests together may lose, in nanoseconds.
    fn lost_max(&self, goal: Goal) -> u128 {
        u128::from(goal.mean.0) * u128::from(self.periods.requests())
    }

    /// No scrub with this threshold reads more: every interval longer than it is filled, and one request more each.
    fn bytes_max(&self, slot: usize, size: Bytes) -> u128 {
        let Beyond { count, residual, .. } = self.beyond[slot];
        let requests = residual.div_ceil(u128::from(self.disk.service(size).0.max(1))) + u128::from(count);
        requests * u128::from(size.0)
    }
}

/// Of several pairs the one that reads most, the gentlest of equals.
pub fn best(pairs: &[Pair]) -> Option<Pair> {
    let gentle = |pair: &Pair| (pair.outcome.scrub_bytes, std::cmp::Reverse(pair.outcome.slowdown_total));
    pairs.iter().copied().max_by_key(gentle)
}

/// All thresholds that are tried, ascending.
pub fn thresholds() -> impl Iterator<Item = Nanos> {
    (0..THRESHOLDS).map(threshold)
}

/// What is known of one threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tried {
    Not,
    Breaks,
    Keeps(Outcome),
}

/// The search for one size.
struct Search<'a, 'b> {
    tuner: &'a Tuner<'b>,
    size: Bytes,
    goal: Goal,
    tried: Vec<Tried>,
}

impl Search<'_, '_> {
    /// A better estimate than `near`: after what was really lost there. Intervals after a collision are shorter, and
    /// some requests are felt for several intervals, but of that not much changes from one threshold to the next: most
    /// often this saves half of the trials.
    fn measured(&mut self, near: usize) -> usize {
        let Some(outcome) = self.play(near, Limit::None) else { return near };
        if self.goal.form == Form::Average {
            let lost_max = self.tuner.lost_max(self.goal);
            self.note(near, Some(outcome).filter(|outcome| outcome.slowdown_total <= lost_max));
        }
        let felt = u128::from(self.tuner.beyond[near].requests.max(1));
        u64::try_from(outcome.slowdown_total / felt).map_or(near, |each| self.tuner.estimate(each, self.goal))
    }

    /// What the threshold comes to, if it keeps the goal.
    fn try_at(&mut self, slot: usize) -> Option<Outcome> {
        if self.tried[slot] == Tried::Not {
            let limit = match self.goal.form {
                Form::Strict => Limit::SoFar { each: self.goal.mean, until: &self.tuner.until },
                Form::Average => Limit::InAll(self.tuner.lost_max(self.goal)),
            };
            let outcome = self.play(slot, limit);
            self.note(slot, outcome);
        }
        match self.tried[slot] {
            Tried::Keeps(outcome) => Some(outcome),
            Tried::Not | Tried::Breaks => None,
        }
    }

    /// What the threshold comes to, within a limit.
    fn play(&self, slot: usize, limit: Limit) -> Option<Outcome> {
        let Tuner { periods, disk, .. } = *self.tuner;
        exact::waiting(periods, threshold(slot), self.size, disk.service(self.size), limit)
    }

    /// Remembers an outcome that keeps the mean goal, or that there is none.
    fn note(&mut self, slot: usize, outcome: Option<Outcome>) {
        let keeps = outcome.filter(|outcome| outcome.slowdown_max <= self.goal.max);
        self.tried[slot] = keeps.map_or(Tried::Breaks, Tried::Keeps);
    }

    fn better_of(&mut self, best: Outcome, slot: usize) -> Outcome {
        self.try_at(slot).filter(|outcome| outcome.scrub_bytes > best.scrub_bytes).unwrap_or(best)
    }

    /// A threshold that keeps the goal next to one that does not, or the smallest of all: steps that double, away from
    /// `near`, and then halving. `None`: the largest does not keep it.
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
    use scrubjay_core::server::Request;

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

    /// Gaps over six orders of magnitude.
    fn periods() -> impl Strategy<Value = Periods> {
        let gap = (0.0..5.0f64).prop_map(|exponent| Nanos((10f64.powf(exponent) * 1e5) as u64));
        prop::collection::vec((gap, 1u64..10_000_000), 2..80).prop_map(|drawn| {
            let mut at = Nanos::ZERO;
            let requests = drawn.into_iter().map(|(gap, service)| {
                at += gap + Nanos(service);
                Request { at, service: Nanos(service) }
            });
            requests.collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Every threshold and every size, against the search.
        #[test]
        fn the_search_finds_what_trying_all_finds(periods in periods(), mean_us in 10u64..5000, max_ms in 5u64..60) {
            let goal = Goal::new(Nanos(mean_us * 1000), Nanos::from_millis(max_ms)).form(Form::Average);
            let sizes = [1, 5, 16, 40, 64].map(|step| Bytes::kib(64 * step));
            let lost_max = u128::from(goal.mean.0) * u128::from(periods.requests());
            let all: Vec<Pair> = sizes
                .iter()
                .flat_map(|&size| thresholds().map(move |wait| (size, wait)))
                .filter(|&(size, _)| DISK.service(size) <= goal.max)
                .map(|(size, wait)| {
                    let outcome = exact::simulate(&periods, DISK, &mut scrubjay_core::idle::Waiting { wait, size });
                    Pair { wait, size, outcome }
                })
                .filter(|pair| pair.outcome.slowdown_total <= lost_max && pair.outcome.slowdown_max <= goal.max)
                .collect();
            let found = best(&Tuner::new(&periods, DISK).candidates(sizes, goal));
            prop_assert_eq!(found.map(|pair| pair.outcome.scrub_bytes), best(&all).map(|pair| pair.outcome.scrub_bytes));
        }
    }
}
