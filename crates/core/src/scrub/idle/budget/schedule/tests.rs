//! Tests of the schedule: plans are tried on the lengths that they were made from.

use super::*;
use crate::rng::Rng;
use crate::scrub::idle::service::{Overrun, SIZES, ServiceEstimate};
use crate::stats::DurationHistogram;
use crate::units::Nanos;

const GOAL: f64 = 1e-3;
const INTERVALS: usize = 2000;

fn service(size: Bytes) -> ServiceEstimate {
    let seconds = 0.6e-3 + 10e-3 * size.as_mib_f64();
    ServiceEstimate::steady(seconds, seconds)
}

/// A disk that reads 100 MiB a second.
fn requests() -> Vec<PlannedRequest> {
    SIZES
        .map(|size| PlannedRequest { size, services: [Some(service(size)); 2], overruns: [[Overrun::default(); 2]; 2] })
        .to_vec()
}

/// What an interval loses, is expected to lose, and reads, on average, if the lengths that the plan was made from occur again.
struct Tried {
    lost: f64,
    predicted: f64,
    mib: f64,
}

fn schedule(lengths: &[f64], goal: f64) -> Schedule {
    let mut seen = DurationHistogram::default();
    lengths.iter().for_each(|&length| seen.add(Nanos::from_secs_f64(length)));
    let mut schedule = Schedule::new(Ages::new(&seen), requests(), [0.0; 2], PriceLevel::default(), |_, _| 1.0);
    schedule.set_target(goal * lengths.len() as f64, 0.0, 0.0, LateIntervals::default);
    schedule
}

fn play(schedule: &Schedule, lengths: &[f64]) -> Tried {
    let mut tried = Tried { lost: 0.0, predicted: 0.0, mib: 0.0 };
    let share = 1.0 / lengths.len() as f64;
    for (index, &length) in lengths.iter().enumerate() {
        let (interval, mut age, mut access) = (index as u64, 0.0, AccessPattern::Random);
        while age < length {
            let AgeAction { size, until } = schedule.at(age, interval, access);
            let Some(size) = size else {
                age = until * (1.0 + 1e-12);
                continue;
            };
            tried.mib += share * size.as_mib_f64();
            age += service(size).mean;
            access = AccessPattern::Sequential;
            tried.lost += share * (age - length).max(0.0);
        }
        tried.predicted += share * schedule.expected_cost(length, interval);
    }
    tried
}

fn lengths(mut length: impl FnMut(&mut Rng) -> f64) -> Vec<f64> {
    let mut rng = Rng::new(1);
    (0..INTERVALS).map(|_| length(&mut rng)).collect()
}

#[test]
fn the_planned_delay_is_the_delay_caused() {
    let uniform = |rng: &mut Rng, from: f64, to: f64| from + (to - from) * rng.uniform();
    let loads: [(&str, Vec<f64>, f64); 5] = [
        ("an even beat", lengths(|rng| uniform(rng, 0.05005, 0.05035)), 4.7),
        ("a beat with jitter", lengths(|rng| uniform(rng, 0.025, 0.075)), 4.2),
        (
            "short and long",
            lengths(|rng| [0.002, 0.003, 0.05, 2.0][rng.below(4) as usize] * uniform(rng, 0.9, 1.1)),
            48.0,
        ),
        ("no memory", lengths(|rng| rng.exponential(0.05)), 3.4),
        ("long tails", lengths(|rng| rng.pareto(0.001, 0.9)), 1.7),
    ];
    for (load, lengths, least) in loads {
        let Tried { lost, predicted, mib } = play(&schedule(&lengths, GOAL), &lengths);
        println!("{load}: lost {lost:.6}, foreseen {predicted:.6}, {mib} MiB an interval");
        // Within a cell a plan does not know at which age an even beat ends the interval.
        assert!((0.4..=1.1).contains(&(lost / GOAL)), "{load}: lost {lost} s an interval");
        assert!((0.6..=1.6).contains(&(predicted / lost)), "{load}: foreseen {predicted}, lost {lost} s an interval");
        assert!(mib >= least, "{load}: {mib} MiB an interval");
    }
}

#[test]
fn a_smaller_budget_causes_less_delay() {
    for seed in 0..10 {
        let mut rng = Rng::new(seed);
        let peaks: Vec<f64> = (0..1 + rng.below(4)).map(|_| 0.001 * 400f64.powf(rng.uniform())).collect();
        let spread = rng.uniform();
        let length = |rng: &mut Rng| peaks[rng.below(peaks.len() as u64) as usize] * (1.0 + spread * rng.uniform());
        let lengths: Vec<f64> = (0..INTERVALS).map(|_| length(&mut rng)).collect();
        let mut schedule = schedule(&lengths, 4.0 * GOAL);
        let mut lost = |goal| {
            schedule.set_target(goal * INTERVALS as f64, 0.0, 0.0, LateIntervals::default);
            play(&schedule, &lengths[..400]).lost
        };
        let lost: Vec<f64> = (0..12).map(|octave| lost(4.0 * GOAL * 0.5f64.powi(octave))).collect();
        for pair in lost.windows(2) {
            assert!(pair[1] <= 1.1 * pair[0] + 0.05 * GOAL, "seed {seed}: {lost:?} at {peaks:?}, {spread}");
        }
    }
}
