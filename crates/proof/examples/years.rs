//! Runs the watch through years of modelled hosts, on all cores: `years N [--from S]`, or one: `years --seed S`.
//!
//! `years --planted [N]` seeds each of the watch's bugs in turn, and fails unless each is found within N seeds (400).

use scrubjay_proof::years;
use scrubjay_proof::years::oracle::YearOutcome;
use scrubjay_sim::host::setup::HostSetup;
use scrubjay_watch::events::WatchBug;
use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// Seeds within which a planted bug must be found, by default.
const PLANTED_SEEDS: u64 = 400;
/// Failures after which a run gives up.
const FAILURES_MAX: usize = 20;
/// Forecasts below which the share of those that held is not judged.
const FORECASTS_MIN: u64 = 500;

const USAGE: &str = "usage: years N [--from S] | years --seed S | years --planted [N]";

#[derive(Default)]
struct YearArguments {
    count: Option<u64>,
    from: u64,
    seed: Option<u64>,
    is_planted: bool,
}

fn main() -> ExitCode {
    let is_well = match arguments() {
        None => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
        Some(YearArguments { seed: Some(seed), .. }) => {
            let outcome = attempt(seed, None);
            println!("seed {seed}: {outcome:#?}");
            outcome.faults.is_empty()
        }
        Some(YearArguments { is_planted: true, .. }) if !cfg!(feature = "planted") => {
            println!("built without the feature `planted`: no mistake can be made on purpose");
            false
        }
        Some(YearArguments { is_planted: true, count, from, .. }) => {
            let count = count.unwrap_or(PLANTED_SEEDS);
            WatchBug::ALL.into_iter().map(|bug| is_found(bug, from, count)).fold(true, |all, is| all & is)
        }
        Some(YearArguments { count, from, .. }) => run_many(from, count.unwrap_or(1)),
    };
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn arguments() -> Option<YearArguments> {
    let mut found = YearArguments::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next()?.parse::<u64>().ok();
        match word.as_str() {
            "--from" => found.from = number()?,
            "--seed" => found.seed = Some(number()?),
            "--planted" => found.is_planted = true,
            count => found.count = Some(count.replace(['_', ','], "").parse().ok()?),
        }
    }
    (found.seed.is_some() || found.count.is_some() || found.is_planted).then_some(found)
}

/// Runs one seed; a panic counts as a fault.
fn attempt(seed: u64, bug: Option<WatchBug>) -> YearOutcome {
    let setup = HostSetup { bug, ..HostSetup::storm(seed) };
    catch_unwind(|| years::run(setup))
        .unwrap_or_else(|_| YearOutcome { faults: vec!["it panicked: see above".to_owned()], ..YearOutcome::default() })
}

/// Runs seeds on all cores until there are none left, or `judge` returns true for an outcome.
fn search(from: u64, count: u64, bug: Option<WatchBug>, mut judge: impl FnMut(u64, YearOutcome) -> bool + Send) {
    let next = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let judge = Mutex::new(&mut judge);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let step = next.fetch_add(1, Ordering::Relaxed);
                    if step >= count {
                        return;
                    }
                    let outcome = attempt(from + step, bug);
                    let is_enough = judge.lock().is_ok_and(|mut judge| judge(from + step, outcome));
                    if is_enough {
                        next.store(count, Ordering::Relaxed);
                    }
                }
            });
        }
    });
}

/// Do between 70 and 90 in a hundred forecasts hold? Each is made to hold in eight of ten cases.
fn is_calibrated(held: u64, forecasts: u64) -> bool {
    forecasts < FORECASTS_MIN || (held * 100 >= forecasts * 70 && held * 100 <= forecasts * 90)
}

fn run_many(from: u64, count: u64) -> bool {
    let begin = Instant::now();
    let (mut failures, mut well, mut sum) = (Vec::new(), 0u64, YearOutcome::default());
    let (mut disks, mut messages, mut starts) = (0, 0, 0);
    search(from, count, None, |seed, outcome| {
        sum.forecasts += outcome.forecasts;
        sum.held += outcome.held;
        sum.passes += outcome.passes;
        disks += outcome.summary.disks;
        messages += outcome.summary.messages;
        starts += outcome.summary.starts;
        if outcome.faults.is_empty() {
            well += 1;
        } else {
            failures.push((seed, outcome.faults[0].clone()));
        }
        failures.len() >= FAILURES_MAX
    });
    failures.sort();
    for (seed, fault) in &failures {
        println!("seed {seed}: {fault}\n    cargo xtask years --seed {seed}");
    }
    let share = sum.held as f64 * 100.0 / sum.forecasts.max(1) as f64;
    println!(
        "{well} years from {from} passed, {} failed, {:.1} s; {disks} disks, {} passes, {messages} messages, {starts} starts; \
         {share:.1} % of {} forecasts held",
        failures.len(),
        begin.elapsed().as_secs_f64(),
        sum.passes,
        sum.forecasts,
    );
    let is_calibrated = is_calibrated(sum.held, sum.forecasts);
    if !is_calibrated {
        println!("of forecasts said to hold in eight of ten cases 70 to 90 in a hundred must");
    }
    failures.is_empty() && is_calibrated
}

/// Is a planted bug found, by a fault in some year or by the share of forecasts that held?
fn is_found(bug: WatchBug, from: u64, count: u64) -> bool {
    let (mut found, mut tried, mut forecasts, mut held) = (None, 0u64, 0, 0);
    search(from, count, Some(bug), |seed, outcome| {
        tried += 1;
        forecasts += outcome.forecasts;
        held += outcome.held;
        if let Some(fault) = outcome.faults.first() {
            found.get_or_insert((seed, fault.clone()));
        } else if !is_calibrated(held, forecasts) && forecasts >= 4 * FORECASTS_MIN {
            found.get_or_insert((seed, format!("{held} of {forecasts} forecasts held")));
        }
        found.is_some()
    });
    match &found {
        Some((seed, fault)) => println!("{bug:?}: found after {tried} years, seed {seed}: {fault}"),
        None => println!("{bug:?}: not found in {tried} years"),
    }
    found.is_some()
}
