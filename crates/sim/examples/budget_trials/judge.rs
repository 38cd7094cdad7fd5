//! The judgement over all loads: the budget beside the best pair in hindsight, over eight goals around each of five.

use super::{DISK, best_pair, goal};
use scrubjay_core::scrub::idle::{Budget, GoalForm};
use scrubjay_core::units::Nanos;
use scrubjay_sim::exact;
use scrubjay_trace::Periods;
use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;

const GOALS_US: [u64; 5] = [300, 500, 1000, 2000, 4000];
/// Eight goals within 16 % of each.
const AROUND: [f64; 8] = [0.84, 0.89, 0.93, 0.98, 1.02, 1.07, 1.11, 1.16];
/// What must be reached, as a share of the pair: over all loads (geometric mean), in each (mean), with each goal.
const WANTED: [f64; 3] = [0.96, 0.92, 0.8];
/// The mean so far, as a share of the goal, but for bursts greater than any before; held in the strict form.
const SO_FAR_MAX: f64 = 1.05;

/// One run: what the budget reads as a share of what the pair does (1 at most), and its mean so far as a share of the goal.
#[derive(Clone, Copy)]
struct Run {
    ratio: f64,
    so_far: f64,
    rates: [f64; 2],
}

/// What the pairs read, in bytes a second: they do not depend on the budget, and need half of the time. Kept in a file if one is named.
pub struct Pairs {
    file: Option<String>,
    known: Mutex<BTreeMap<String, f64>>,
}

impl Pairs {
    pub fn kept_in(file: Option<String>) -> Pairs {
        let text = file.as_ref().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
        let known = text.lines().filter_map(|line| {
            let (key, value) = line.rsplit_once('\t')?;
            Some((key.to_owned(), value.parse().ok()?))
        });
        Pairs { file, known: Mutex::new(known.collect()) }
    }

    fn get(&self, name: &str, periods: &Periods, form: GoalForm, mean: Nanos) -> f64 {
        let key = format!("{name}\t{form:?}\t{}", mean.0);
        if let Some(&known) = self.known.lock().expect("nobody panicked").get(&key) {
            return known;
        }
        let pair = best_pair(periods, goal(mean, form));
        self.known.lock().expect("nobody panicked").insert(key, pair);
        pair
    }

    fn keep(&self) {
        let Some(file) = &self.file else { return };
        let known = self.known.lock().expect("nobody panicked");
        let text: String = known.iter().map(|(key, value)| format!("{key}\t{value}\n")).collect();
        if let Err(error) = fs::write(file, text) {
            eprintln!("budget_trials: {file}: {error}");
        }
    }
}

/// Judges all loads in a form, prints a line for each, and what falls short.
pub fn judge(loads: &[(String, Periods)], form: GoalForm, quick: bool, pairs: &Pairs) {
    let around: &[f64] = if quick { &[0.93, 1.02, 1.11] } else { &AROUND };
    let cells: Vec<(usize, u64, f64)> = (0..loads.len())
        .flat_map(|load| {
            GOALS_US.into_iter().flat_map(move |micros| around.iter().map(move |&factor| (load, micros, factor)))
        })
        .collect();
    let runs = super::in_parallel(&cells, |&(load, micros, factor)| {
        let (name, periods) = &loads[load];
        let mean = Nanos((micros as f64 * 1e3 * factor) as u64);
        let pair = pairs.get(name, periods, form, mean);
        let learned = exact::learner(periods, DISK, &mut Budget::new(goal(mean, form)));
        let budget = learned.outcome.bytes_per_second();
        let so_far = learned.slowdown_so_far_known.as_secs_f64() / mean.as_secs_f64();
        Run { ratio: (budget / pair.max(1.0)).min(1.0), so_far, rates: [budget, pair] }
    });
    pairs.keep();
    let geometric =
        |runs: &[Run]| (runs.iter().map(|run| run.ratio.max(1e-6).ln()).sum::<f64>() / runs.len() as f64).exp();
    let mean = |runs: &[Run]| runs.iter().map(|run| run.ratio).sum::<f64>() / runs.len() as f64;
    let least = |runs: &[Run]| runs.iter().map(|run| run.ratio).fold(f64::INFINITY, f64::min);
    println!("{form:?}: mean (least) of the budget / the pair by goal in ms; mean, least; the mean so far");
    let mut short = Vec::new();
    for ((name, _), runs) in loads.iter().zip(runs.chunks(GOALS_US.len() * around.len())) {
        let by_goal: String =
            runs.chunks(around.len()).map(|runs| format!(" {:4.2} ({:4.2})", mean(runs), least(runs))).collect();
        let so_far = runs.iter().map(|run| run.so_far).fold(0.0, f64::max);
        let falls: String = runs.chunks(around.len()).map(|runs| if falls(runs) { '!' } else { '.' }).collect();
        println!("{name:24}{by_goal}; {:5.3} {:4.2}; {so_far:4.2} {falls}", mean(runs), least(runs));
        if mean(runs) < WANTED[1] || least(runs) < WANTED[2] || (form == GoalForm::Strict && so_far > SO_FAR_MAX) {
            short.push(name.as_str());
        }
    }
    let all = geometric(&runs);
    println!(
        "all {all:.4} of {}; {} of {} loads fall short: {}",
        WANTED[0],
        short.len(),
        loads.len(),
        short.join(", ")
    );
}

/// Does more goal ever read less, by more than 1 %?
fn falls(runs: &[Run]) -> bool {
    runs.windows(2).any(|two| two[1].rates[0] < 0.99 * two[0].rates[0])
}
