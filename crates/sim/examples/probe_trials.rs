//! How often the fast prober is right, and how sure it was: `probe_trials [--trials N] [--seed N] [--only TEXT]` has it probe
//! modelled arrays of every kind (`array::trials`), N fresh ones a line. With `--only`, the lines whose name has that text.
//!
//! Of each kind it prints what a probe took and how often all of it was true; then, for each noise and each sort of
//! statement, how many were wrong of those that were that sure. What was wrong goes to standard error, beside the truth.

use scrubjay_sim::array::noise::Noise;
use scrubjay_sim::array::trials::{TrialCase, TrialOutcome, layouts, misconfigured, odd, sizes};
use scrubjay_sim::array::truth::{Statement, Truth};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Of each line.
const TRIALS: usize = 40;
/// How sure a statement is, in bins: below each of these, and above.
const SURE: [f64; 4] = [0.9, 0.99, 0.999, 0.9999];

/// What came of a trial.
struct Trial {
    noise: Noise,
    requests: u64,
    seconds: f64,
    pattern: bool,
    chunk: bool,
    classes: bool,
    all: bool,
    wrong_layout: bool,
    statements: Vec<Statement>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut trials, mut seed, mut only) = (TRIALS, 1u64, String::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or("usage: probe_trials [--trials N] [--seed N] [--only TEXT]")?;
        match name.as_str() {
            "--trials" => trials = value.parse()?,
            "--seed" => seed = value.parse()?,
            "--only" => only = value,
            _ => return Err(format!("there is no {name}").into()),
        }
    }
    let cases: Vec<TrialCase> = [sizes(), layouts(), misconfigured(), odd()].into_iter().flatten().collect();
    // A line's seeds are the same whether others are left out or not.
    let jobs: Vec<(usize, usize)> = (0..cases.len())
        .filter(|case| cases[*case].name.contains(&only))
        .flat_map(|case| (0..trials).map(move |trial| (case, trial)))
        .collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(&(case, trial)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let trial_seed = seed.wrapping_mul(1_000_003) + (case * 100_000 + trial) as u64;
                    let outcome = try_one(&cases[case], trial_seed);
                    done.lock().expect("nobody panics with it").insert((case, trial), outcome);
                }
            });
        }
    });
    let done = done.into_inner()?;
    print_cases(&cases, &done);
    print_sureness(&done.into_values().collect::<Vec<_>>());
    Ok(())
}

fn try_one(case: &TrialCase, seed: u64) -> Trial {
    let TrialOutcome { setup, known, spent, is_right } = case.probe(seed);
    let truth = Truth::of(&setup);
    if !is_right {
        eprintln!("{} seed {seed}: {known:?}\n  truth {truth:?}", case.name);
    }
    let found = truth.agreement(&setup, &known);
    Trial {
        noise: setup.noise,
        requests: spent.requests,
        seconds: spent.time.as_secs_f64(),
        pattern: found.pattern,
        chunk: found.chunk,
        classes: found.classes,
        all: is_right,
        wrong_layout: found.is_layout_wrong,
        statements: truth.statements(&setup, &known),
    }
}

fn print_cases(cases: &[TrialCase], done: &BTreeMap<(usize, usize), Trial>) {
    println!("{:44} {:>8} {:>7}  pattern chunk classes  all  of  wrong layouts", "array", "I/Os", "seconds");
    for (index, case) in cases.iter().enumerate() {
        print_line(&case.name, done.range((index, 0)..(index + 1, 0)).map(|(_, trial)| trial).collect());
    }
    for noise in Noise::ALL {
        let is_one = |index: usize, trial: &Trial| cases[index].name.starts_with("sizes") && trial.noise == noise;
        let of = done.iter().filter(|((index, _), trial)| is_one(*index, trial)).map(|(_, trial)| trial);
        print_line(&format!("all sizes, {noise}"), of.collect());
    }
}

fn print_line(name: &str, of: Vec<&Trial>) {
    if of.is_empty() {
        return;
    }
    let mean = |value: &dyn Fn(&Trial) -> f64| of.iter().map(|trial| value(trial)).sum::<f64>() / of.len() as f64;
    let count = |is: &dyn Fn(&Trial) -> bool| of.iter().filter(|trial| is(trial)).count();
    println!(
        "{name:44} {:8.0} {:7.1}  {:7} {:5} {:7} {:4} {:3} {:6}",
        mean(&|trial| trial.requests as f64),
        mean(&|trial| trial.seconds),
        count(&|trial| trial.pattern),
        count(&|trial| trial.chunk),
        count(&|trial| trial.classes),
        count(&|trial| trial.all),
        of.len(),
        count(&|trial| trial.wrong_layout),
    );
}

/// How many statements were wrong, of how many that were that sure.
fn print_sureness(trials: &[Trial]) {
    let mut bins: BTreeMap<(&str, &str), [(usize, usize); SURE.len() + 1]> = BTreeMap::new();
    for trial in trials {
        for statement in &trial.statements {
            let bin = SURE.iter().filter(|from| statement.confidence >= **from).count();
            let (wrong, of) = &mut bins.entry((statement.about, trial.noise.name())).or_default()[bin];
            *wrong += usize::from(!statement.is_true);
            *of += 1;
        }
    }
    let heads = SURE.map(|from| format!("{:>14}", format!("< {from}"))).concat();
    println!("\n{:20}{heads}{:>14}   wrong of all that were so sure", "statement", "more");
    for ((about, noise), bins) in bins {
        let cells = bins.map(|(wrong, of)| format!("{:>14}", format!("{wrong} / {of}"))).concat();
        println!("{:20}{cells}", format!("{about}, {noise}"));
    }
}
