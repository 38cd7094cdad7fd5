//! Compares the budget with the best fixed pair of a wait and a size, chosen in hindsight, for the same form of the same goal.
//!
//! `budget_trials [--form strict|average] [--only TEXT|TEXT...] [FILE[:DEVICE]]...` plays loads of every kind, and the devices of traces;
//! `--only`: those whose name contains one of the texts.
//! With `--judge` it plays near-empty disks and loads that change, too, with eight goals around each of five, and says which loads
//! fall short of what is wanted (`judge.rs`); `--quick`: with three goals; `--pairs FILE` keeps what the pairs read.
//! `--sensitivity`: what the budget reads of eight loads (`sensitivity.rs`).
//!
//! Without it, it prints a line for each load and goal, over five goals around it: the budget's throughput as a share of the pair's (mean
//! and least); as shares of the goal, the greatest mean slowdown so far and the greatest at the end; and the throughput in
//! MB/s of the budget, of the pair, and of an Oracle that uses the longest idle intervals from their beginning.

mod judge;
mod sensitivity;

use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{Budget, Goal, GoalForm};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_sim::exact::{self, Oracle};
use scrubjay_sim::loads::{self, TrialLoad};
use scrubjay_sim::tune::{self, Tuner};
use scrubjay_trace::{Input, OpenOptions, Periods, Record, ServiceQueue, ServiceSource, TraceSource};
use std::error::Error;
use std::fs::File;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const DISK: ServiceModel = ServiceModel::ULTRASTAR_15K450;
const GOALS_US: [u64; 4] = [500, 1000, 2000, 4000];
/// Factors of a goal: a single run would depend on chance.
const JITTER: [f64; 5] = [0.92, 0.96, 1.0, 1.04, 1.08];
/// The pair's sizes, in units of 64 KiB.
const STEPS: [u64; 16] = [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 56, 64];
/// The ratio of the budget to the pair counts as this, at most: some pairs read next to nothing.
const RATIO_MAX: f64 = 2.0;

/// The goal of this mean; the max goal is that of the paper's Table III.
fn goal(mean: Nanos, form: GoalForm) -> Goal {
    Goal::new(mean, Nanos::from_millis(50)).form(form)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut form, mut only, mut loads) = (GoalForm::Strict, String::new(), Vec::new());
    let (mut is_judged, mut is_quick, mut pairs) = (false, false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--form" => {
                form = match arguments.next().as_deref() {
                    Some("strict") => GoalForm::Strict,
                    Some("average") => GoalForm::Average,
                    other => return Err(format!("--form: strict or average, not {other:?}").into()),
                }
            }
            "--only" => only = arguments.next().unwrap_or_default(),
            "--judge" => is_judged = true,
            "--sensitivity" => {
                sensitivity::print();
                return Ok(());
            }
            "--quick" => is_quick = true,
            "--pairs" => pairs = arguments.next(),
            option if option.starts_with('-') => return Err(format!("{option}: no such option").into()),
            file => loads.push((file.rsplit('/').next().unwrap_or(file).to_owned(), recorded(file)?)),
        }
    }
    let made = |TrialLoad { name, requests }| (name, requests.into_iter().collect::<Periods>());
    loads.extend(loads::study().into_iter().map(made));
    if is_judged {
        loads.extend(loads::near_empty().into_iter().chain(loads::changing()).map(made));
    }
    loads.retain(|(name, _)| only.split('|').any(|only| name.contains(only)));
    if is_judged {
        judge::judge(&loads, form, is_quick, &judge::Pairs::kept_in(pairs));
        return Ok(());
    }
    let cells: Vec<(usize, u64)> = (0..loads.len()).flat_map(|load| GOALS_US.map(|goal| (load, goal))).collect();
    let played = in_parallel(&cells, |&(load, goal)| cell(&loads[load].1, goal, form));
    for ((load, goal), cell) in cells.iter().zip(&played) {
        println!("{:34} {:4} ms  {}", loads[*load].0, *goal as f64 / 1e3, cell.line());
    }
    println!("mean {:.3}", played.iter().map(|cell| cell.ratio).sum::<f64>() / played.len() as f64);
    Ok(())
}

/// Computes something of each, on all processors; the results are in the order of `all`.
fn in_parallel<T: Sync, R: Send>(all: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(all.len())));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |cores| cores.get()) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = all.get(place) else { break };
                    let result = of(one);
                    results.lock().expect("nobody panicked").push((place, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("nobody panicked");
    results.sort_by_key(|&(place, _)| place);
    results.into_iter().map(|(_, result)| result).collect()
}

/// What the best pair in hindsight reads, in bytes a second.
fn best_pair(periods: &Periods, goal: Goal) -> f64 {
    let tuner = Tuner::new(periods, DISK);
    let mut pairs = tuner.candidates(STEPS.map(|step| Bytes::kib(64 * step)), goal);
    tune::best_indices(&pairs).into_iter().for_each(|place| pairs[place] = tuner.refined(pairs[place], goal));
    tune::best(&pairs).map_or(0.0, |pair| pair.outcome.bytes_per_second())
}

struct Cell {
    ratio: f64,
    least: f64,
    so_far: f64,
    at_end: f64,
    /// In MB/s: of the budget, the pair, and the Oracle.
    rates: [f64; 3],
}

impl Cell {
    fn line(&self) -> String {
        let Cell { ratio, least, so_far, at_end, rates: [budget, pair, oracle] } = self;
        format!(
            "{ratio:5.2} ({least:5.2})  {so_far:5.2} {at_end:5.2} of the goal  {budget:6.1} {pair:6.1} {oracle:6.1} MB/s"
        )
    }
}

fn cell(periods: &Periods, goal_us: u64, form: GoalForm) -> Cell {
    let mut cell = Cell { ratio: 0.0, least: f64::INFINITY, so_far: 0.0, at_end: 0.0, rates: [0.0; 3] };
    for jitter in JITTER {
        let mean = Nanos((goal_us as f64 * 1e3 * jitter) as u64);
        let goal = goal(mean, form);
        let pair = best_pair(periods, goal);
        let learned = exact::learner(periods, DISK, &mut Budget::new(goal));
        let budget = learned.outcome.bytes_per_second();
        let ratio = budget / pair.max(1.0);
        let oracle = STEPS.map(|step| {
            let size = Bytes::kib(64 * step);
            exact::simulate(periods, DISK, &mut Oracle::within(goal, periods, DISK, size)).bytes_per_second()
        });
        cell.ratio += ratio.min(RATIO_MAX) / JITTER.len() as f64;
        cell.least = cell.least.min(ratio.min(RATIO_MAX));
        cell.so_far = cell.so_far.max(learned.slowdown_so_far.as_secs_f64() / mean.as_secs_f64());
        cell.at_end = cell.at_end.max(learned.outcome.slowdown_mean_seconds() / mean.as_secs_f64());
        let rates = [budget, pair, oracle.into_iter().fold(0.0, f64::max)];
        cell.rates.iter_mut().zip(rates).for_each(|(sum, rate)| *sum += rate / 1e6 / JITTER.len() as f64);
    }
    cell
}

fn recorded(file: &str) -> Result<Periods, Box<dyn Error>> {
    let (path, device) = file.rsplit_once(':').map_or((file, None), |(path, device)| (path, Some(device)));
    let source = TraceSource::File(Box::new(File::open(path)?));
    let mut trace = scrubjay_trace::open(vec![Input { name: path.to_owned(), source }], OpenOptions::default())?;
    let (mut queue, mut periods) = (ServiceQueue::new(ServiceSource::Model(DISK)), Periods::default());
    while trace.next_batch()?.is_some() {
        let is_wanted = |record: &&Record| device.is_none_or(|device| trace.devices().name(record.device) == device);
        trace.records().iter().filter(is_wanted).for_each(|record| periods.add(queue.serve(record)));
    }
    Ok(periods)
}
