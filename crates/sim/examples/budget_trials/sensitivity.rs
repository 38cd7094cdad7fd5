//! What the budget reads of eight loads, for `cargo xtask bench-budget --sensitivity`, which plays it with other constants.

use super::{DISK, goal, in_parallel};
use scrubjay_core::scrub::idle::{Budget, GoalForm};
use scrubjay_core::units::Nanos;
use scrubjay_sim::exact;
use scrubjay_sim::loads::{self, TrialLoad};
use scrubjay_trace::Periods;

/// The loads: of each kind one that the budget had trouble with.
const LOADS: [&str; 8] = [
    "one burst of 70 %",
    "13,000 a week",
    "beat of 25 to 75 ms",
    "no memory, 60 ms",
    "long tails",
    "bursts of 200",
    "near-empty 104",
    "busy between quiet 113",
];
const GOALS_US: [u64; 3] = [500, 1000, 2000];
/// Four goals around each: with a single one chance decides.
const AROUND: [f64; 4] = [0.9, 0.97, 1.03, 1.1];

/// Prints a line for each load and goal: the load, MB/s, and the greatest mean so far as a share of the goal.
pub fn print() {
    let all = loads::study().into_iter().chain(loads::near_empty()).chain(loads::changing());
    let loads: Vec<(String, Periods)> = all
        .filter(|load| LOADS.contains(&load.name.as_str()))
        .map(|TrialLoad { name, requests }| (name, requests.into_iter().collect()))
        .collect();
    let cells: Vec<(usize, u64)> = (0..loads.len()).flat_map(|load| GOALS_US.map(|micros| (load, micros))).collect();
    let played = in_parallel(&cells, |&(load, micros)| {
        AROUND.into_iter().fold([0.0f64; 2], |[read, so_far], factor| {
            let mean = Nanos((micros as f64 * 1e3 * factor) as u64);
            let learned = exact::learner(&loads[load].1, DISK, &mut Budget::new(goal(mean, GoalForm::Strict)));
            let share = learned.slowdown_so_far_known.as_secs_f64() / mean.as_secs_f64();
            [read + learned.outcome.bytes_per_second() / 1e6 / AROUND.len() as f64, so_far.max(share)]
        })
    });
    for (&(load, micros), [read, so_far]) in cells.iter().zip(&played) {
        println!("{}\t{micros}\t{read:.4}\t{so_far:.4}", loads[load].0);
    }
}
