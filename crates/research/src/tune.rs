//! Finds the wait and the request size that read most of a disk inside a slowdown goal: the task, the search, and its result.
//!
//! The search runs on several threads: the sizes of one load are tuned for independently.

use crate::ResearchError;
use crate::costs;
use crate::job_control::JobControl;
use crate::parallel;
use crate::workload::DeviceLoad;
use scrubjay_core::quantity::{self, show_time};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{Goal, IdleClass};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_sim::exact::{self, ScrubFigures};
use scrubjay_sim::tune::{self, Pair, Tuner, WaitSpread};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The default goal for the mean slowdown.
pub const SLOWDOWN: &str = "1ms";
/// The default goal for the maximum slowdown (Amvrosiadis et al., DSN'12, V-C).
pub const SLOWDOWN_MAX: &str = "50.4ms";
/// The default form of the goal: over which requests the mean is kept.
pub const GOAL_FORM: &str = "average";
/// The default range of request sizes to try.
pub const SIZES: &str = "64KiB..4MiB";
/// By default, devices with fewer requests than this are left out.
pub const REQUESTS_MIN: u64 = 100;
/// Request sizes are multiples of this.
pub const SIZE_STEP: Bytes = Bytes::kib(64);
/// The largest request size, which is the largest that `scrub` accepts.
const SIZE_MAX: Bytes = Bytes::mib(16);

/// What to tune for.
#[derive(Clone, Debug)]
pub struct TuneTask {
    /// The slowdown that may not be exceeded.
    pub goal: Goal,
    /// The model of the disk's service times.
    pub disk: ServiceModel,
    /// Request sizes to try, ascending.
    pub sizes: Vec<Bytes>,
}

/// The result for one load.
#[derive(Debug)]
pub struct Tuned {
    /// The best pair of each size that has one, by size.
    pub candidates: Vec<Pair>,
    /// The best of these, or why there is none.
    pub best: Result<TunedPair, String>,
    /// The result of the paper's baseline.
    pub idle_class: ScrubFigures,
    /// The rate of reading without a foreground, in bytes a second.
    pub idle_disk_rate: f64,
}

/// The best pair.
#[derive(Clone, Copy, Debug)]
pub struct TunedPair {
    /// The wait, the size, and what they read and cost.
    pub pair: Pair,
    /// The slowdown with waits near this one.
    pub spread: WaitSpread,
    /// Does this very wait happen to suit the trace? Then waits near it cost much more.
    pub is_lucky: bool,
    /// If `is_lucky`: the best pair that keeps the goal with any wait near it.
    pub steady: Option<Pair>,
}

impl TunedPair {
    /// The pair that is likely to keep the goal tomorrow, too.
    pub fn usable(&self) -> &Pair {
        self.steady.as_ref().unwrap_or(&self.pair)
    }
}

/// How long the work took: reading all traces, and tuning to all of them.
#[derive(Clone, Copy, Debug)]
pub struct TuneTimes {
    /// Time to read them.
    pub read: Duration,
    /// Time to tune.
    pub tune: Duration,
}

impl TuneTask {
    /// A task for these sizes, in steps of 64 KiB.
    pub fn new(goal: Goal, disk: ServiceModel, steps: RangeInclusive<u64>) -> TuneTask {
        TuneTask { goal, disk, sizes: steps.map(|step| Bytes(step * SIZE_STEP.0)).collect() }
    }
}

/// Parses a range of sizes, `64KiB..4MiB`: the first and the last, in steps of 64 KiB.
///
/// # Errors
/// It is no range of sizes; the text says what is wrong, in one line.
pub fn sizes(text: &str) -> Result<RangeInclusive<u64>, String> {
    let error = || format!("`{text}` is no range of sizes: write 64KiB..4MiB");
    let (first, last) = text.split_once("..").ok_or_else(error)?;
    let steps = |text: &str| {
        let size = quantity::bytes(text)?;
        if size.0 == 0 || !size.0.is_multiple_of(SIZE_STEP.0) {
            return Err(format!("`{text}` is not a multiple of 64 KiB"));
        }
        if size > SIZE_MAX {
            return Err(format!("`{text}` is too large: {SIZE_MAX} is the most"));
        }
        Ok(size.0 / SIZE_STEP.0)
    };
    let range = steps(first)?..=steps(last)?;
    if range.is_empty() { Err(format!("`{text}` is empty")) } else { Ok(range) }
}

/// One piece of work, for the load of this index.
enum SearchPiece {
    Size(usize, Bytes),
    IdleClass(usize),
}

/// The result of a piece of work.
enum SearchResult {
    Size(usize, Option<Pair>),
    IdleClass(usize, ScrubFigures),
}

/// Tunes to each load.
///
/// # Errors
/// The job was stopped.
pub fn tune(loads: &[DeviceLoad], task: &TuneTask, control: &JobControl) -> Result<Vec<Tuned>, ResearchError> {
    let tuners = parallel::share_under(control, loads, |load| Tuner::new(&load.periods, task.disk))?;
    let pieces: Vec<SearchPiece> = (0..loads.len())
        .flat_map(|index| {
            task.sizes.iter().map(move |size| SearchPiece::Size(index, *size)).chain([SearchPiece::IdleClass(index)])
        })
        .collect();
    let found = parallel::share_under(control, &pieces, |piece| match *piece {
        SearchPiece::Size(index, size) => SearchResult::Size(index, tuners[index].best_wait(size, task.goal)),
        SearchPiece::IdleClass(index) => {
            SearchResult::IdleClass(index, exact::simulate(&loads[index].periods, task.disk, &mut IdleClass))
        }
    })?;
    let mut candidates: Vec<Vec<Pair>> = vec![Vec::new(); loads.len()];
    let mut idle_class = vec![ScrubFigures::default(); loads.len()];
    for found in found {
        match found {
            SearchResult::Size(index, pair) => candidates[index].extend(pair),
            SearchResult::IdleClass(index, outcome) => idle_class[index] = outcome,
        }
    }
    refine(&tuners, &mut candidates, task, control)?;
    let best = parallel::share_under(control, &(0..loads.len()).collect::<Vec<usize>>(), |&index| {
        let best = tune::best(&candidates[index]).filter(|pair| pair.outcome.scrub_bytes > 0);
        best.map(|pair| answer(&tuners[index], &candidates[index], pair, task))
            .ok_or_else(|| refusal(&loads[index], task))
    })?;
    let all = best.into_iter().zip(candidates).zip(idle_class);
    Ok(all
        .map(|((best, candidates), idle_class)| Tuned {
            candidates,
            best,
            idle_class,
            idle_disk_rate: idle_disk_rate(task),
        })
        .collect())
}

/// Searches once more, finely, around the best few pairs of each load.
fn refine(
    tuners: &[Tuner],
    candidates: &mut [Vec<Pair>],
    task: &TuneTask,
    control: &JobControl,
) -> Result<(), ResearchError> {
    let places = candidates.iter().enumerate();
    let places: Vec<(usize, usize)> = places
        .flat_map(|(index, pairs)| tune::best_indices(pairs).into_iter().map(move |place| (index, place)))
        .collect();
    let finer = parallel::share_under(control, &places, |&(index, place)| {
        tuners[index].refined(candidates[index][place], task.goal)
    })?;
    for ((index, place), pair) in places.into_iter().zip(finer) {
        candidates[index][place] = pair;
    }
    Ok(())
}

/// The best pair, the slowdown with waits near its own, and if that is much more, the pair to take instead.
fn answer(tuner: &Tuner, candidates: &[Pair], pair: Pair, task: &TuneTask) -> TunedPair {
    let spread = tuner.spread(&pair);
    let is_lucky = spread.is_lucky(costs::slowdown_mean(&pair.outcome));
    let steady = is_lucky.then(|| {
        let steady =
            tune::best_indices(candidates).into_iter().filter_map(|place| tuner.steady(&candidates[place], task.goal));
        tune::best(&steady.collect::<Vec<Pair>>()).filter(|pair| pair.outcome.scrub_bytes > 0)
    });
    TunedPair { pair, spread, is_lucky, steady: steady.flatten() }
}

/// The rate of reading without a foreground, with the best of the sizes, in bytes a second.
fn idle_disk_rate(task: &TuneTask) -> f64 {
    let rate = |size: &Bytes| size.0 as f64 / task.disk.service(*size).as_secs_f64();
    task.sizes.iter().map(rate).fold(0.0, f64::max)
}

/// Why no pair keeps the goal and reads anything, and which goal some pair would keep.
fn refusal(load: &DeviceLoad, task: &TuneTask) -> String {
    let Some(&size) = task.sizes.first() else { return "there are no sizes to try".to_owned() };
    let service = task.disk.service(size);
    if service > task.goal.max {
        let (max, least) = (show_time(task.goal.max), show_time(service));
        return format!("a request of {size} takes the disk {least}: no foreground request can be promised {max}");
    }
    let tried =
        tune::thresholds().filter_map(|wait| exact::waiting(&load.periods, wait, size, service, exact::Limit::None));
    let reading = tried.filter(|outcome| outcome.scrub_bytes > 0);
    match reading.min_by_key(|outcome| outcome.slowdown_total) {
        None => "the disk is never idle for long enough to read anything".to_owned(),
        Some(outcome) => {
            let mean = Nanos::from_secs_f64(outcome.slowdown_mean_seconds() + 1e-6);
            let goal = show_time(task.goal.mean);
            format!("no wait keeps a mean slowdown of {goal}; the smallest that one keeps is {}", show_time(mean))
        }
    }
}

/// Removes devices with fewer than `least` requests, which give no useful result, and returns their names.
///
/// # Errors
/// All of them have fewer.
pub fn leave_out_small(loads: &mut Vec<DeviceLoad>, least: u64) -> Result<Vec<String>, ResearchError> {
    let is_small = |load: &DeviceLoad| load.periods.requests_total() < least;
    let left_out: Vec<String> = loads.iter().filter(|load| is_small(load)).map(|load| load.name.clone()).collect();
    if left_out.len() == loads.len() {
        let most = loads.iter().map(|load| load.periods.requests_total()).max().unwrap_or(0);
        return Err(ResearchError::TooFewRequests { most, least });
    }
    loads.retain(|load| !is_small(load));
    Ok(left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_steps() {
        assert_eq!(sizes("64KiB..4MiB"), Ok(1..=64));
        assert_eq!(sizes("1MiB..1MiB"), Ok(16..=16));
        for text in ["", "64KiB", "64KiB..", "..4MiB", "0..4MiB", "65KiB..4MiB", "2MiB..1MiB", "64KiB..17MiB"] {
            assert!(sizes(text).is_err(), "{text}");
        }
    }
}
