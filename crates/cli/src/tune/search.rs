//! The search, on all cores: the sizes of one load are tuned for independently.

use super::found::{TuneTask, Tuned, TunedPair};
use crate::costs;
use scrubjay_core::scrub::idle::IdleClass;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_jobs::parallel;
use scrubjay_jobs::quantity::show_time;
use scrubjay_jobs::workload::DeviceLoad;
use scrubjay_sim::exact::{self, ScrubFigures};
use scrubjay_sim::tune::{self, Pair, Tuner};

/// One piece of work, for the load of this index.
enum SearchPiece {
    Size(usize, Bytes),
    IdleClass(usize),
}

/// What a piece of work came to.
enum SearchResult {
    Size(usize, Option<Pair>),
    IdleClass(usize, ScrubFigures),
}

/// Tunes to each load.
pub fn tune(loads: &[DeviceLoad], task: &TuneTask) -> Vec<Tuned> {
    let tuners = parallel::share(loads, |load| Tuner::new(&load.periods, task.disk));
    let pieces: Vec<SearchPiece> = (0..loads.len())
        .flat_map(|at| {
            task.sizes.iter().map(move |size| SearchPiece::Size(at, *size)).chain([SearchPiece::IdleClass(at)])
        })
        .collect();
    let found = parallel::share(&pieces, |piece| match *piece {
        SearchPiece::Size(at, size) => SearchResult::Size(at, tuners[at].best_wait(size, task.goal)),
        SearchPiece::IdleClass(at) => {
            SearchResult::IdleClass(at, exact::simulate(&loads[at].periods, task.disk, &mut IdleClass))
        }
    });
    let mut candidates: Vec<Vec<Pair>> = vec![Vec::new(); loads.len()];
    let mut idle_class = vec![ScrubFigures::default(); loads.len()];
    for found in found {
        match found {
            SearchResult::Size(at, pair) => candidates[at].extend(pair),
            SearchResult::IdleClass(at, outcome) => idle_class[at] = outcome,
        }
    }
    refine(&tuners, &mut candidates, task);
    let best = parallel::share(&(0..loads.len()).collect::<Vec<usize>>(), |&at| {
        let best = tune::best(&candidates[at]).filter(|pair| pair.outcome.scrub_bytes > 0);
        best.map(|pair| answer(&tuners[at], &candidates[at], pair, task)).ok_or_else(|| refusal(&loads[at], task))
    });
    let all = best.into_iter().zip(candidates).zip(idle_class);
    all.map(|((best, candidates), idle_class)| Tuned { candidates, best, idle_class, alone: alone(task) }).collect()
}

/// Searches around the best few pairs of each load once more, finely.
fn refine(tuners: &[Tuner], candidates: &mut [Vec<Pair>], task: &TuneTask) {
    let places = candidates.iter().enumerate();
    let places: Vec<(usize, usize)> =
        places.flat_map(|(at, pairs)| tune::most(pairs).into_iter().map(move |place| (at, place))).collect();
    let finer = parallel::share(&places, |&(at, place)| tuners[at].refined(candidates[at][place], task.goal));
    for ((at, place), pair) in places.into_iter().zip(finer) {
        candidates[at][place] = pair;
    }
}

/// The best pair, what a wait near it costs, and if that is much more, the pair to take instead.
fn answer(tuner: &Tuner, candidates: &[Pair], pair: Pair, task: &TuneTask) -> TunedPair {
    let spread = tuner.spread(&pair);
    let is_lucky = spread.is_lucky(costs::slowdown_mean(&pair.outcome));
    let steady = is_lucky.then(|| {
        let steady = tune::most(candidates).into_iter().filter_map(|place| tuner.steady(&candidates[place], task.goal));
        tune::best(&steady.collect::<Vec<Pair>>()).filter(|pair| pair.outcome.scrub_bytes > 0)
    });
    TunedPair { pair, spread, is_lucky, steady: steady.flatten() }
}

/// What the disk reads with nobody else there, in the best of the sizes.
fn alone(task: &TuneTask) -> f64 {
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
