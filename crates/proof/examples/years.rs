//! Runs the watch through years of modelled hosts, on all cores: `years N [--from S]`, or one: `years --seed S`, which with
//! `--about TEXT` prints every fact of it that has TEXT in it (a serial number, `Power(`), with its day.
//!
//! `years --planted [N]` seeds each of the watch's bugs in turn, and fails unless each is found within N seeds (400).

use scrubjay_proof::years;
use scrubjay_proof::years::oracle::{YearOracle, YearOutcome};
use scrubjay_sim::host::fact::{HostFact, HostObserver};
use scrubjay_sim::host::run::ModelledHost;
use scrubjay_sim::host::setup::{EPOCH, HostSetup};
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

const USAGE: &str = "usage: years N [--from S] | years --seed S [--about TEXT] | years --planted [N]";

#[derive(Default)]
struct YearArguments {
    count: Option<u64>,
    from: u64,
    seed: Option<u64>,
    about: Option<String>,
    is_planted: bool,
}

/// Prints the facts that have a text in them, and lets the oracle judge all.
struct FactPrinter {
    oracle: YearOracle,
    about: String,
}

impl HostObserver for FactPrinter {
    fn observe(&mut self, at: u64, fact: &HostFact<'_>) {
        let text = match fact {
            HostFact::Noon(_) | HostFact::Heartbeat(_) | HostFact::Woken(_) => String::new(), // whole statuses
            _ => format!("{fact:?}"),
        };
        if text.contains(&self.about) {
            println!("day {:.4}: {text:.6000}", (at - EPOCH) as f64 / 86_400.0);
        }
        self.oracle.observe(at, fact);
    }
}

fn main() -> ExitCode {
    let is_well = match arguments() {
        None => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
        Some(YearArguments { seed: Some(seed), about: Some(about), .. }) => {
            let setup = HostSetup::storm(seed);
            let mut printer = FactPrinter { oracle: YearOracle::new(&setup), about };
            ModelledHost::run(setup, &mut printer);
            true
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
            let not_found = AtomicU64::new(0);
            on_all_cores(WatchBug::ALL.len() as u64, |step| {
                not_found.fetch_add(u64::from(!is_found(WatchBug::ALL[step as usize], from, count)), Ordering::Relaxed);
                false
            });
            not_found.into_inner() == 0
        }
        Some(YearArguments { count, from, .. }) => run_many(from, count.unwrap_or(1)),
    };
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn arguments() -> Option<YearArguments> {
    let mut found = YearArguments::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--about" {
            found.about = Some(words.next()?);
            continue;
        }
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

/// Runs steps on all cores until there are none left, or one returns true.
fn on_all_cores(count: u64, run: impl Fn(u64) -> bool + Sync) {
    let next = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let step = next.fetch_add(1, Ordering::Relaxed);
                    if step >= count {
                        return;
                    }
                    if run(step) {
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
    let mut a_year: Vec<u64> = Vec::new();
    let judge = Mutex::new(|seed, outcome: YearOutcome| {
        sum.forecasts += outcome.forecasts;
        sum.held += outcome.held;
        sum.passes += outcome.passes;
        disks += outcome.summary.disks;
        messages += outcome.summary.messages;
        a_year.push(outcome.summary.messages * 365 / HostSetup::storm(seed).days.max(1));
        starts += outcome.summary.starts;
        if outcome.faults.is_empty() {
            well += 1;
        } else {
            failures.push((seed, outcome.faults[0].clone()));
        }
        failures.len() >= FAILURES_MAX
    });
    on_all_cores(count, |step| {
        let outcome = attempt(from + step, None);
        judge.lock().is_ok_and(|mut judge| judge(from + step, outcome))
    });
    failures.sort();
    a_year.sort_unstable();
    let nth = |percent: usize| a_year.get(a_year.len().saturating_sub(1) * percent / 100).copied().unwrap_or(0);
    for (seed, fault) in &failures {
        println!("seed {seed}: {fault}\n    cargo xtask years --seed {seed}");
    }
    let share = sum.held as f64 * 100.0 / sum.forecasts.max(1) as f64;
    println!(
        "{well} years from {from} passed, {} failed, {:.1} s; {disks} disks, {} passes, {messages} messages, {starts} starts; \
         {share:.1} % of {} forecasts held; messages a machine and year: median {}, 99th percentile {}",
        failures.len(),
        begin.elapsed().as_secs_f64(),
        sum.passes,
        sum.forecasts,
        nth(50),
        nth(99),
    );
    let is_calibrated = is_calibrated(sum.held, sum.forecasts);
    if !is_calibrated {
        println!("of forecasts said to hold in eight of ten cases 70 to 90 in a hundred must");
    }
    failures.is_empty() && is_calibrated
}

/// Is a planted bug found, by a fault in some year or by the share of forecasts that held?
fn is_found(bug: WatchBug, from: u64, count: u64) -> bool {
    let (mut forecasts, mut held) = (0, 0);
    for seed in from..from + count {
        let outcome = attempt(seed, Some(bug));
        forecasts += outcome.forecasts;
        held += outcome.held;
        let is_uncalibrated = !is_calibrated(held, forecasts) && forecasts >= 4 * FORECASTS_MIN;
        let by_share = is_uncalibrated.then(|| format!("{held} of {forecasts} forecasts held"));
        if let Some(fault) = outcome.faults.into_iter().next().or(by_share) {
            println!("{bug:?}: found by seed {seed}: {fault}");
            return true;
        }
    }
    println!("{bug:?}: not found in {count} years");
    false
}
