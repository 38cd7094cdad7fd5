//! Measures how often the fast prober is right, and how sure it was: `probe_trials [--trials N] [--seed N] [--only TEXT]`.
//!
//! It probes modelled arrays of every kind (`array::trials`), N of them a line. With `--only`, it plays the lines whose
//! name has that text.
//!
//! For each kind it prints the cost of a probe and how often all of it was true; then, for each noise and each sort of
//! statement, how many of those with that confidence were wrong. Wrong statements go to standard error, with the truth.
//!
//! `--surprises N` plays N arrays that nothing was tuned on (`array::surprises`) instead, `--writes N` as many whose
//! level is found by writes (`array::written`).

use scrubjay_core::probe::known::LevelRefusal;
use scrubjay_sim::array::noise::Noise;
use scrubjay_sim::array::surprises::{DeclineReason, SurpriseOutcome, families};
use scrubjay_sim::array::trials::{TrialCase, TrialOutcome, layouts, misconfigured, odd, sizes};
use scrubjay_sim::array::truth::{Statement, Truth};
use scrubjay_sim::array::written::{WrittenOutcome, written_families};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Trials of each line, by default.
const TRIALS: usize = 40;
/// The bounds of the bins of confidence.
const CONFIDENCES: [f64; 4] = [0.9, 0.99, 0.999, 0.9999];

/// The result of a trial.
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
    let (mut trials, mut seed, mut only, mut surprises, mut writes) = (TRIALS, 1u64, String::new(), 0, 0);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or("usage: probe_trials [--trials N] [--seed N] [--only TEXT]")?;
        match name.as_str() {
            "--trials" => trials = value.parse()?,
            "--seed" => seed = value.parse()?,
            "--only" => only = value,
            "--surprises" => surprises = value.parse()?,
            "--writes" => writes = value.parse()?,
            _ => return Err(format!("there is no {name}").into()),
        }
    }
    if surprises > 0 {
        play_surprises(surprises, seed, &only);
        return Ok(());
    }
    if writes > 0 {
        play_writes(writes, seed, &only);
        return Ok(());
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
                    let outcome = run_trial(&cases[case], trial_seed);
                    done.lock().expect("nobody panics with it").insert((case, trial), outcome);
                }
            });
        }
    });
    let done = done.into_inner()?;
    print_cases(&cases, &done);
    print_confidences(&done.into_values().collect::<Vec<_>>());
    Ok(())
}

/// Plays `count` arrays that nothing was tuned on, of all families in turn.
fn play_surprises(count: usize, seed: u64, only: &str) {
    let families = families();
    let names: Vec<&str> = families.iter().map(|family| family.name).collect();
    let done = played(&names, count, only, |family, trial| {
        families[family].probe(seed.wrapping_mul(7_000_003) + trial as u64)
    });
    println!(
        "{:38} {:>8} {:>7}  right  declined: its reason, one of several, time, wrong   of  >= .99: wrong  of  wrong layouts",
        "family", "I/Os", "seconds"
    );
    let mut all = Vec::new();
    for (index, family) in families.iter().enumerate() {
        let outcomes: Vec<&SurpriseOutcome> =
            done.range((index, 0)..(index + 1, 0)).map(|(_, outcome)| outcome).collect();
        if !outcomes.is_empty() {
            print_surprises(family.name, &outcomes);
            all.extend(outcomes);
        }
    }
    print_surprises("all", &all);
    // Wrong statements, and arrays declined without a right reason.
    for ((family, trial), outcome) in &done {
        let SurpriseOutcome { setup, known, .. } = outcome;
        let wrong: Vec<String> = confident_statements(outcome)
            .filter(|statement| !statement.is_true)
            .map(|statement| format!("{} {:.5}", statement.about, statement.confidence))
            .collect();
        if !wrong.is_empty() || outcome.declined == Some(DeclineReason::Wrong) {
            let name = families[*family].name;
            eprintln!("{name}, trial {trial}: wrong: {}\n  {known:?}", wrong.join(", "));
            eprintln!("  truth {:?}\n  of {setup:?}", Truth::of(setup));
        }
    }
    println!("\nof what is said with a probability of ...");
    for (from, to) in [(0.5, 0.9), (0.9, 0.99), (0.99, 0.999), (0.999, 0.9999), (0.9999, 1.1)] {
        let statements = || all.iter().flat_map(|outcome| &outcome.statements);
        let in_bin: Vec<_> = statements().filter(|statement| (from..to).contains(&statement.confidence)).collect();
        let right = in_bin.iter().filter(|statement| statement.is_true).count();
        let mean_confidence =
            in_bin.iter().map(|statement| statement.confidence).sum::<f64>() / in_bin.len().max(1) as f64;
        println!(
            "  {from} to {:.4}: {right} of {} are true ({:.4}; said {mean_confidence:.4})",
            f64::min(to, 1.0),
            in_bin.len(),
            right as f64 / in_bin.len().max(1) as f64
        );
    }
}

/// Plays `count` trials, of all families in turn, if the family's name has a text; returns the results by family and number.
fn played<T: Send>(
    names: &[&str],
    count: usize,
    only: &str,
    play: impl Fn(usize, usize) -> T + Sync,
) -> BTreeMap<(usize, usize), T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let trial = next.fetch_add(1, Ordering::Relaxed);
                    if trial >= count {
                        break;
                    }
                    let family = trial % names.len();
                    if names[family].contains(only) {
                        let outcome = play(family, trial);
                        done.lock().expect("nobody panics with it").insert((family, trial), outcome);
                    }
                }
            });
        }
    });
    done.into_inner().expect("nobody panicked")
}

/// Plays `count` arrays whose level is found by writes.
fn play_writes(count: usize, seed: u64, only: &str) {
    let families = written_families();
    let names: Vec<&str> = families.iter().map(|family| family.name).collect();
    let done = played(&names, count, only, |family, trial| {
        families[family].probe(seed.wrapping_mul(9_000_011) + trial as u64)
    });
    println!("{:28} right  declined: not known by reads, cache, unlike  wrong: with >= .99   of", "family");
    let print = |name: &str, outcomes: Vec<&WrittenOutcome>| {
        let count =
            |predicate: &dyn Fn(&WrittenOutcome) -> bool| outcomes.iter().filter(|outcome| predicate(outcome)).count();
        let declined = |why: Option<LevelRefusal>| {
            count(&|outcome| !outcome.is_right && outcome.wrong.is_none() && outcome.refusal == why)
        };
        println!(
            "{name:28} {:5}  {:8}  {:18}  {:5}  {:6}  {:5}  {:8}  {:4}",
            count(&|outcome| outcome.is_right),
            count(&|outcome| !outcome.is_right && outcome.wrong.is_none()),
            declined(None) + declined(Some(LevelRefusal::NoLayout)),
            declined(Some(LevelRefusal::WriteCache)),
            declined(Some(LevelRefusal::Unlike)),
            count(&|outcome| outcome.wrong.is_some()),
            count(&|outcome| outcome.wrong.is_some_and(|confidence| confidence >= 0.99)),
            outcomes.len(),
        );
    };
    for (index, name) in names.iter().enumerate() {
        let outcomes: Vec<&WrittenOutcome> =
            done.range((index, 0)..(index + 1, 0)).map(|(_, outcome)| outcome).collect();
        if !outcomes.is_empty() {
            print(name, outcomes);
        }
    }
    print("all", done.values().collect());
    for ((family, trial), outcome) in done.iter().filter(|(_, outcome)| !outcome.is_right) {
        let WrittenOutcome { setup, known, level, refusal, .. } = outcome;
        eprintln!("{}, trial {trial}: {:?} for {level:?}, {refusal:?}", names[*family], known.level);
        eprintln!("  ratio {:?}, {:?}\n  of {setup:?}", known.write_ratio, known.unmeasurable);
    }
    println!("\nof levels that are said with a probability of ...");
    for (from, to) in [(0.5, 0.9), (0.9, 0.99), (0.99, 1.1)] {
        let with_level = done.values().filter_map(|outcome| Some((outcome, outcome.known.level.as_ref()?.confidence)));
        let in_bin: Vec<_> = with_level.filter(|(_, confidence)| (from..to).contains(confidence)).collect();
        let right = in_bin.iter().filter(|(outcome, _)| outcome.is_right).count();
        let mean_confidence = in_bin.iter().map(|(_, confidence)| confidence).sum::<f64>() / in_bin.len().max(1) as f64;
        println!(
            "  {from} to {:.2}: {right} of {} are true (said {mean_confidence:.4})",
            f64::min(to, 1.0),
            in_bin.len()
        );
    }
}

fn confident_statements(outcome: &SurpriseOutcome) -> impl Iterator<Item = &Statement> {
    outcome.statements.iter().filter(|statement| statement.confidence >= 0.99)
}

fn print_surprises(name: &str, outcomes: &[&SurpriseOutcome]) {
    let count =
        |predicate: &dyn Fn(&SurpriseOutcome) -> bool| outcomes.iter().filter(|outcome| predicate(outcome)).count();
    let declined = |why| count(&|outcome| outcome.declined == Some(why));
    let requests = outcomes.iter().map(|outcome| outcome.spent.requests).sum::<u64>() / outcomes.len().max(1) as u64;
    let seconds =
        outcomes.iter().map(|outcome| outcome.spent.time.as_secs_f64()).sum::<f64>() / outcomes.len().max(1) as f64;
    let confident: Vec<&Statement> = outcomes.iter().flat_map(|outcome| confident_statements(outcome)).collect();
    let wrong = |about: &str| {
        confident.iter().filter(|statement| !statement.is_true && statement.about.contains(about)).count()
    };
    println!(
        "{name:38} {requests:8} {seconds:7.1}  {:5}  {:8}  {:10}  {:14}  {:4}  {:5}  {:4}  {:12}  {:4}  {:5}",
        count(&|outcome| outcome.is_right),
        count(&|outcome| outcome.declined.is_some()),
        declined(DeclineReason::Own),
        declined(DeclineReason::Several),
        declined(DeclineReason::Time),
        declined(DeclineReason::Wrong),
        outcomes.len(),
        wrong(""),
        confident.len(),
        wrong("layout"),
    );
}

fn run_trial(case: &TrialCase, seed: u64) -> Trial {
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
        let is_of_sizes = |index: usize, trial: &Trial| cases[index].name.starts_with("sizes") && trial.noise == noise;
        let trials = done.iter().filter(|((index, _), trial)| is_of_sizes(*index, trial)).map(|(_, trial)| trial);
        print_line(&format!("all sizes, {noise}"), trials.collect());
    }
}

fn print_line(name: &str, trials: Vec<&Trial>) {
    if trials.is_empty() {
        return;
    }
    let mean =
        |value: &dyn Fn(&Trial) -> f64| trials.iter().map(|trial| value(trial)).sum::<f64>() / trials.len() as f64;
    let count = |predicate: &dyn Fn(&Trial) -> bool| trials.iter().filter(|trial| predicate(trial)).count();
    println!(
        "{name:44} {:8.0} {:7.1}  {:7} {:5} {:7} {:4} {:3} {:6}",
        mean(&|trial| trial.requests as f64),
        mean(&|trial| trial.seconds),
        count(&|trial| trial.pattern),
        count(&|trial| trial.chunk),
        count(&|trial| trial.classes),
        count(&|trial| trial.all),
        trials.len(),
        count(&|trial| trial.wrong_layout),
    );
}

/// Prints how many statements were wrong, of how many with that confidence.
fn print_confidences(trials: &[Trial]) {
    let mut bins: BTreeMap<(&str, &str), [(usize, usize); CONFIDENCES.len() + 1]> = BTreeMap::new();
    for trial in trials {
        for statement in &trial.statements {
            let bin = CONFIDENCES.iter().filter(|from| statement.confidence >= **from).count();
            let (wrong, all) = &mut bins.entry((statement.about, trial.noise.name())).or_default()[bin];
            *wrong += usize::from(!statement.is_true);
            *all += 1;
        }
    }
    let heads = CONFIDENCES.map(|from| format!("{:>14}", format!("< {from}"))).concat();
    println!("\n{:20}{heads}{:>14}   wrong of all that were so sure", "statement", "more");
    for ((about, noise), bins) in bins {
        let cells = bins.map(|(wrong, all)| format!("{:>14}", format!("{wrong} / {all}"))).concat();
        println!("{:20}{cells}", format!("{about}, {noise}"));
    }
}
