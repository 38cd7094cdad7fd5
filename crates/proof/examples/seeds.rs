//! Runs storms of the volume on all cores: `seeds N [--from S]`, or one of them: `seeds --seed S [--trace]`.
//!
//! `seeds --planted [N]` seeds each of the volume's bugs in turn, and fails unless each is found within N seeds (10,000). A seed
//! that fails is narrowed down first: without losses, crashes or faults as long as it still fails, then with fewer requests.

use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::{SeededBug, Volume};
use scrubjay_proof::config::{Narrowed, StormConfig};
use scrubjay_proof::simulation::{self, StormOutcome};
use scrubjay_proof::trace::StormLog;
use std::cell::RefCell;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// Seeds within which a planted bug must be found, by default.
const PLANTED_SEEDS: u64 = 10_000;
/// Failures after which a run gives up.
const FAILURES_MAX: usize = 20;

const USAGE: &str = "usage: seeds N [--from S] [--threads T] [--scheme NAME]
       seeds --seed S [--trace] [--requests N] [--faultless] [--crashless] [--lossless]
       seeds --planted [N]";

/// The command line.
#[derive(Default)]
struct Arguments {
    count: Option<u64>,
    from: u64,
    threads: Option<usize>,
    seed: Option<u64>,
    is_traced: bool,
    is_planted: bool,
    /// Runs only the seeds of this scheme.
    scheme: Option<Scheme>,
    narrowed: Narrowed,
}

thread_local! {
    /// The message and place of this thread's last panic.
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

fn main() -> ExitCode {
    match arguments().map(|arguments| run(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("seeds: {error}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<Arguments, Box<dyn Error>> {
    let mut found = Arguments::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().ok_or(USAGE)?.parse::<u64>().map_err(|_| USAGE);
        match word.as_str() {
            "--from" => found.from = number()?,
            "--threads" => found.threads = Some(number()? as usize),
            "--seed" => found.seed = Some(number()?),
            "--requests" => found.narrowed.requests = Some(number()?),
            "--scheme" => found.scheme = Some(words.next().and_then(|name| Scheme::by_name(&name)).ok_or(USAGE)?),
            "--trace" => found.is_traced = true,
            "--planted" => found.is_planted = true,
            "--faultless" => found.narrowed.is_faultless = true,
            "--crashless" => found.narrowed.is_crashless = true,
            "--lossless" => found.narrowed.is_lossless = true,
            count => found.count = Some(count.replace(['_', ','], "").parse().map_err(|_| USAGE)?),
        }
    }
    let is_something = found.seed.is_some() || found.count.is_some() || found.is_planted;
    if is_something { Ok(found) } else { Err(USAGE.into()) }
}

fn run(arguments: &Arguments) -> bool {
    set_hook(Box::new(|panic| {
        let place = panic.location().map_or(String::new(), |place| format!(" ({}:{})", place.file(), place.line()));
        let payload = panic.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("it says nothing");
        LAST_PANIC.with(|last| *last.borrow_mut() = format!("{text}{place}"));
    }));
    let threads = arguments.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    match (arguments.seed, arguments.is_planted) {
        (Some(seed), _) => run_one(seed, arguments),
        (None, true) if !cfg!(feature = "planted") => {
            println!("built without the feature `planted`: no mistake can be made on purpose");
            false
        }
        (None, true) => {
            let seeds = arguments.count.unwrap_or(PLANTED_SEEDS);
            SeededBug::ALL
                .into_iter()
                .map(|bug| is_found(bug, arguments.from, seeds, threads))
                .fold(true, |all, is| all & is)
        }
        (None, false) => run_many(arguments, threads),
    }
}

/// Runs one seed, with a trace if asked for; true if it passes.
fn run_one(seed: u64, arguments: &Arguments) -> bool {
    let setting = StormConfig::new(seed, arguments.narrowed);
    let trace = if arguments.is_traced { StormLog::to(|line| println!("{line}")) } else { StormLog::default() };
    match attempt(&setting, trace) {
        Ok(outcome) => {
            println!("seed {seed}: all is well. {outcome:?}");
            true
        }
        Err(cause) => {
            println!("{setting}\nseed {seed}: {cause}");
            false
        }
    }
}

/// Runs many seeds; true if none fails.
fn run_many(arguments: &Arguments, threads: usize) -> bool {
    let (from, count) = (arguments.from, arguments.count.unwrap_or(1));
    let (begin, sums) = (Instant::now(), Mutex::new((StormOutcome::default(), 0u64, 0u64)));
    let failures = search(from, count, threads, FAILURES_MAX, |seed| {
        let setting = StormConfig::new(seed, arguments.narrowed);
        if arguments.scheme.is_some_and(|scheme| scheme != setting.geometry.scheme) {
            return Ok(());
        }
        let outcome = attempt(&setting, StormLog::default())?;
        let mut sums = sums.lock().expect("no panic leaves it");
        add(&mut sums.0, &outcome);
        sums.1 += u64::from(outcome.client.bytes_lost > 0);
        sums.2 += 1;
        Ok(())
    });
    for (seed, cause) in &failures {
        let (options, cause) = smaller(*seed, arguments.narrowed, cause);
        println!("{}\n    {cause}\n    cargo xtask seeds --seed {seed}{options} --trace", describe_seed(*seed));
    }
    let seconds = begin.elapsed().as_secs_f64();
    let (StormOutcome { client, disk_set, runs, records, .. }, lossy, well) = *sums.lock().expect("no panic leaves it");
    println!(
        "{well} seeds from {from} passed, {} failed, {seconds:.1} s, {:.0} a second on each of {threads} threads; {} replies, \
         {} ops, {} faults, {runs} starts, {records} records; {lossy} seeds lost {} of {} bytes, legally",
        failures.len(),
        well as f64 / seconds / threads as f64,
        client.replies,
        disk_set.ops,
        disk_set.faults,
        client.bytes_lost,
        client.bytes_lost + client.bytes_right,
    );
    failures.is_empty()
}

/// Is a planted bug found?
fn is_found(bug: SeededBug, from: u64, count: u64, threads: usize) -> bool {
    let failures = search(from, count, threads, 1, |seed| {
        let setting = StormConfig::new(seed, Narrowed::default());
        let mistaken = StormConfig { planted: Some(bug), ..setting.clone() };
        let failure = attempt(&mistaken, StormLog::default()).err();
        // The failure counts only if the seed passes without the bug.
        failure.filter(|_| attempt(&setting, StormLog::default()).is_ok()).map_or(Ok(()), Err)
    });
    match failures.first() {
        Some((seed, cause)) => println!("{bug:?}: found by seed {seed}: {cause}"),
        None => println!("{bug:?}: NOT FOUND by {count} seeds"),
    }
    !failures.is_empty()
}

/// The lowest seeds that fail, each with its cause, in order; stops at about `enough` of them.
fn search(
    from: u64,
    count: u64,
    threads: usize,
    enough: usize,
    attempt: impl Fn(u64) -> Result<(), String> + Sync,
) -> Vec<(u64, String)> {
    let (next, failures) = (AtomicU64::new(from), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let is_enough = failures.lock().expect("no panic leaves it").len() >= enough;
                    if seed >= from + count || is_enough {
                        return;
                    }
                    if let Err(cause) = attempt(seed) {
                        failures.lock().expect("no panic leaves it").push((seed, cause));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no panic leaves it");
    failures.sort();
    failures
}

fn attempt(setting: &StormConfig, trace: StormLog) -> Result<StormOutcome, String> {
    catch_unwind(AssertUnwindSafe(|| simulation::run::<Volume>(setting, trace)))
        .map_err(|_| LAST_PANIC.with(|last| last.borrow().clone()))
}

/// Narrows a failing seed down while it still fails; returns the options for that, and the cause of the failure then.
fn smaller(seed: u64, from: Narrowed, cause: &str) -> (String, String) {
    let mut best = (from, cause.to_owned());
    let mut consider = |narrowed: Narrowed| {
        let failure = attempt(&StormConfig::new(seed, narrowed), StormLog::default()).err();
        let is_worse = failure.is_none();
        failure.into_iter().for_each(|cause| best = (narrowed, cause));
        (best.0, !is_worse)
    };
    let (mut now, _) = consider(from);
    for change in [
        |narrowed: &mut Narrowed| narrowed.is_lossless = true,
        |narrowed: &mut Narrowed| narrowed.is_crashless = true,
        |narrowed: &mut Narrowed| narrowed.is_faultless = true,
    ] {
        let mut narrowed = now;
        change(&mut narrowed);
        now = consider(narrowed).0;
    }
    // Bisects for the fewest requests that still fail. More requests need not fail too, so this is only an attempt.
    let (mut low, mut high) = (0, StormConfig::new(seed, now).habits.requests);
    while high - low > 1 {
        let middle = (low + high) / 2;
        let (narrowed, fails) = consider(Narrowed { requests: Some(middle), ..now });
        (low, high) = if fails { (low, middle) } else { (middle, high) };
        now = if fails { narrowed } else { now };
    }
    let Narrowed { requests, is_faultless, is_crashless, is_lossless } = best.0;
    let mut options = requests.map_or(String::new(), |requests| format!(" --requests {requests}"));
    for (is_set, option) in
        [(is_faultless, " --faultless"), (is_crashless, " --crashless"), (is_lossless, " --lossless")]
    {
        options += if is_set { option } else { "" };
    }
    (options, best.1)
}

/// Describes a seed in one line, without its script.
fn describe_seed(seed: u64) -> String {
    let line = StormConfig::new(seed, Narrowed::default()).to_string();
    line.split_once("; script").map_or(line.clone(), |(head, _)| head.to_owned())
}

fn add(sum: &mut StormOutcome, outcome: &StormOutcome) {
    sum.client.replies += outcome.client.replies;
    sum.client.bytes_right += outcome.client.bytes_right;
    sum.client.bytes_lost += outcome.client.bytes_lost;
    sum.client.writes_failed += outcome.client.writes_failed;
    sum.disk_set.faults += outcome.disk_set.faults;
    sum.disk_set.ops += outcome.disk_set.ops;
    sum.runs += outcome.runs;
    sum.records += outcome.records;
}
