//! Compares the budget with the best fixed pair of a wait and a size, chosen in hindsight, for the same form of the same goal.
//!
//! `budget_trials [--form strict|average] [--only TEXT] [FILE[:DEVICE]]...` plays loads of every kind, and the devices of traces.
//!
//! It prints a line for each load and goal, over five goals around it: the budget's throughput as a share of the pair's (mean
//! and least); as shares of the goal, the greatest mean slowdown so far and the greatest at the end; and the throughput in
//! MB/s of the budget, of the pair, and of an Oracle that uses the longest idle intervals from their beginning.

use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::scrub::idle::{Budget, Goal, GoalForm};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_sim::exact::{self, Oracle};
use scrubjay_sim::tune::{self, Tuner};
use scrubjay_sim::workload::{Bursts, TimeSpan};
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
const SERVICE: TimeSpan = TimeSpan::Exponential { mean: Nanos::from_millis(4) };

fn main() -> Result<(), Box<dyn Error>> {
    let (mut form, mut only, mut loads) = (GoalForm::Strict, String::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--form" => {
                form = if arguments.next().as_deref() == Some("average") { GoalForm::Average } else { GoalForm::Strict }
            }
            "--only" => only = arguments.next().unwrap_or_default(),
            file => loads.push((file.rsplit('/').next().unwrap_or(file).to_owned(), recorded(file)?)),
        }
    }
    loads.extend(synthetic_loads());
    loads.retain(|(name, _)| name.contains(&only));
    let cells: Vec<(usize, u64)> = (0..loads.len()).flat_map(|load| GOALS_US.map(|goal| (load, goal))).collect();
    let (next, lines) = (AtomicUsize::new(0), Mutex::new(vec![String::new(); cells.len()]));
    let sums = Mutex::new((0.0, 0u32));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |cores| cores.get()) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&(load, goal)) = cells.get(place) else { break };
                    let cell = cell(&loads[load].1, goal, form);
                    let line = format!("{:34} {:4} ms  {}", loads[load].0, goal as f64 / 1e3, cell.line());
                    lines.lock().expect("nobody panicked")[place] = line;
                    let mut sums = sums.lock().expect("nobody panicked");
                    *sums = (sums.0 + cell.ratio, sums.1 + 1);
                }
            });
        }
    });
    lines.into_inner()?.iter().for_each(|line| println!("{line}"));
    let (sum, count) = sums.into_inner()?;
    println!("mean {:.3}", sum / f64::from(count));
    Ok(())
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
    let tuner = Tuner::new(periods, DISK);
    let mut cell = Cell { ratio: 0.0, least: f64::INFINITY, so_far: 0.0, at_end: 0.0, rates: [0.0; 3] };
    for jitter in JITTER {
        let mean = Nanos((goal_us as f64 * 1e3 * jitter) as u64);
        let goal = Goal::new(mean, Nanos::from_millis(50)).form(form);
        let mut pairs = tuner.candidates(STEPS.map(|step| Bytes::kib(64 * step)), goal);
        tune::best_indices(&pairs).into_iter().for_each(|place| pairs[place] = tuner.refined(pairs[place], goal));
        let pair = tune::best(&pairs).map_or(0.0, |pair| pair.outcome.bytes_per_second());
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

/// Loads of every kind that a budget had trouble with, and some plain ones.
fn synthetic_loads() -> Vec<(String, Periods)> {
    let ms = Nanos::from_millis;
    let bursts = |count: usize, burst: u32, gap: TimeSpan, think: TimeSpan, seed: u64| -> Vec<ForegroundRequest> {
        Bursts::new(burst, gap, think, SERVICE, Rng::new(seed)).take(count).collect()
    };
    let gap = TimeSpan::Exponential { mean: ms(5) };
    let pareto =
        |minimum: u64, shape: f64| TimeSpan::Pareto { minimum: ms(minimum), shape, maximum: Nanos::from_secs(3600) };
    let mut one_burst = bursts(3000, 4, gap, pareto(50, 0.6), 1);
    let middle = one_burst[900].at;
    one_burst.extend(
        bursts(7000, 7000, TimeSpan::Exponential { mean: ms(3) }, TimeSpan::Fixed(ms(1)), 2)
            .into_iter()
            .map(|request| ForegroundRequest { at: request.at + middle, ..request }),
    );
    one_burst.sort_by_key(|request| request.at);
    let mut busy_burst = bursts(3000, 4, gap, pareto(50, 0.6), 1);
    busy_burst.extend(
        bursts(7000, 7000, TimeSpan::Exponential { mean: ms(7) }, TimeSpan::Fixed(ms(1)), 2)
            .into_iter()
            .map(|request| ForegroundRequest { at: request.at + middle + ms(100), ..request }),
    );
    busy_burst.sort_by_key(|request| request.at);
    let loads = [
        ("one burst of 70 %", one_burst),
        ("one busy time of 70 %", busy_burst),
        ("13,000 a week", bursts(13_000, 6, gap, pareto(100, 0.42), 3)),
        ("even beat of 50 ms", bursts(20_000, 1, gap, TimeSpan::Uniform(ms(50), ms(50)), 4)),
        ("beat of 25 to 75 ms", bursts(20_000, 1, gap, TimeSpan::Uniform(ms(25), ms(75)), 5)),
        ("even beat of 1 s", bursts(5_000, 3, gap, TimeSpan::Fixed(ms(1000)), 6)),
        ("no memory, 60 ms", bursts(20_000, 1, gap, TimeSpan::Exponential { mean: ms(60) }, 7)),
        ("long tails", bursts(20_000, 3, gap, pareto(5, 0.8), 8)),
        ("bursts of 200", bursts(40_000, 200, gap, pareto(400, 0.9), 9)),
    ];
    loads.into_iter().map(|(name, requests)| (name.to_owned(), requests.into_iter().collect())).collect()
}
