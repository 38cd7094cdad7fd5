//! The first half: a disk with latent sector errors and a busy owner, scrubbed in real time inside a latency budget.
//!
//! The disk is a file of 256 MiB behind the timing of a real drive (one head, 3.70 ms + 11.07 ms/MiB, first come first
//! served) and planted errors. The owner reads 4 KiB in bursts, first alone, then with the scrub: the same requests at
//! the same think times. All else is what ships: the scrubber, the real-time pump, the reads.

use anyhow::{Context, Result, ensure};
use scrubjay_core::range_set::RangeSet;
use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::coverage::Coverage;
use scrubjay_core::scrub::idle::{Goal, PolicyConfig};
use scrubjay_core::scrub::machine::Event;
use scrubjay_core::scrub::tour::{Grid, OrderKind};
use scrubjay_core::scrub::{Config, Pass, Scrub, ScrubReport};
use scrubjay_core::units::{Bytes, Nanos, SectorRange};
use scrubjay_device::decorate::{DiskTiming, FaultyVerifier, HardDisk, SharedHead};
use scrubjay_device::detector::{Detector, OwnTraffic};
use scrubjay_device::pump::Steering;
use scrubjay_device::verify::{self, Verifier, VerifierSetup};
use scrubjay_device::{clock, pump};
use scrubjay_sim::lse::ClusterModel;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

const DISK: Bytes = Bytes::mib(256);
const GOAL: Goal = Goal::new(Nanos::from_millis(1), Nanos::from_millis(50));
/// The owner alone is watched for so many requests.
const OWNER_REQUESTS: usize = 1000;
/// The scrub is done long before so many; a bound, not an expectation.
const REQUESTS_MAX: usize = 5000;
const SEED: u64 = 2012;

/// Runs it, and tells what happened.
pub fn run() -> Result<()> {
    let folder = tempfile::tempdir().context("no room for a temporary folder")?;
    let path = folder.path().join("disk.img");
    std::fs::File::create(&path)?.set_len(DISK.0).context("no room for a file of 256 MiB")?;
    let planted = planted_errors();
    println!("A disk of {DISK} in a file: one head, 3.70 ms + 11.07 ms/MiB (a Hitachi Ultrastar 15K450), with");
    println!("{} unreadable sectors in 3 clusters, and an owner who reads 4 KiB in bursts.\n", planted.count());

    println!("1. The owner alone, {OWNER_REQUESTS} requests ...");
    let before =
        run_owner(&SharedHead::new(DiskTiming::ULTRASTAR_15K450), OWNER_REQUESTS, &AtomicBool::new(false), None);
    println!("   {}\n", figures(&before));

    println!("2. The same owner, and a scrub that may cost {} ms a request on average ...", GOAL.mean.as_millis_f64());
    let (during, report) = scrub_with_owner(&path, &planted)?;
    println!("   {}\n", figures(&during));

    print_comparison(&before, &during, &report);
    judge(&planted, &report)
}

/// Three clusters after the published model, small enough to be read aloud.
fn planted_errors() -> RangeSet {
    let mut rng = Rng::new(SEED);
    let mut clusters = Vec::new();
    while clusters.len() < 3 {
        let cluster = ClusterModel::NEARLINE.draw(DISK.sectors(), &mut rng);
        if (4..=24).contains(&cluster.len()) {
            clusters.push(cluster);
        }
    }
    clusters.concat().into_iter().map(|sector| SectorRange::at(sector.0, 1)).collect()
}

/// Reads 4 KiB in bursts of 25 with think times between; returns each request's latency. Stops at `stop`.
fn run_owner(head: &SharedHead, requests: usize, stop: &AtomicBool, events: Option<Sender<Event>>) -> Vec<Nanos> {
    let mut rng = Rng::new(SEED);
    let mut latencies = Vec::new();
    for request in 0..requests {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let think = if request % 25 == 0 { rng.pareto(0.08, 1.5).min(1.0) } else { rng.exponential(0.000_5) };
        thread::sleep(Duration::from_secs_f64(think));
        let sector = rng.below(DISK.sectors() / 8) * 8;
        if let Some(events) = &events {
            let _ = events.send(Event::ForegroundArrived { at: clock::now(), count: 1 });
        }
        let (arrived, done) = head.serve(SectorRange::at(sector, 8));
        if let Some(events) = &events {
            let _ = events.send(Event::ForegroundCompleted { at: done, count: 1 });
        }
        latencies.push(done.since(arrived));
    }
    latencies
}

/// The detector of the demo: the owner says himself what he does.
struct OwnerDetector(Receiver<Event>);

impl Detector for OwnerDetector {
    fn drain(&mut self, _: OwnTraffic, events: &mut Vec<Event>) {
        events.extend(self.0.try_iter());
    }
}

/// Draws a line now and then.
struct ProgressPrinter(Nanos);

impl pump::Watcher<Scrub> for ProgressPrinter {
    fn turned(&mut self, now: Nanos, scrub: &mut Scrub) {
        if now.since(self.0) < Nanos::from_secs(2) {
            return;
        }
        self.0 = now;
        let report = scrub.report(now);
        let eta = report.forecast.map_or("not known yet".to_owned(), |forecast| {
            let seconds = |time: Nanos| time.as_secs_f64();
            format!("{:.0} s ({:.0} to {:.0})", seconds(forecast.likely), seconds(forecast.low), seconds(forecast.high))
        });
        println!(
            "   {:5.1} %   {:2} unreadable   slowdown {:.2} of {} ms   wait {:.1} ms, request {}   ETA {eta}",
            report.share_done() * 100.0,
            report.unreadable_sectors(),
            report.slowdown.mean_seconds(report.foreground_requests) * 1e3,
            GOAL.mean.as_millis_f64(),
            report.setting.wait.as_millis_f64(),
            report.setting.size,
        );
    }

    fn is_present(&mut self) -> bool {
        true
    }
}

fn scrub_with_owner(path: &std::path::Path, planted: &RangeSet) -> Result<(Vec<Nanos>, ScrubReport)> {
    let head = SharedHead::new(DiskTiming::ULTRASTAR_15K450);
    let grid = Grid::new(DISK.sectors(), Bytes::mib(16).sectors(), Bytes::mib(4).sectors());
    let config = Config {
        range: grid.disk(),
        granule: 1,
        depth: 1,
        held_max: None,
        started: clock::now(),
        today: clock::today(),
    };
    let policy = PolicyConfig::budget(GOAL).policy();
    let order = OrderKind::STAGGERED.order(&[]);
    let mut scrub = Scrub::new(config, order, policy, Coverage::new(grid), Pass::default());

    let file = std::fs::File::open(path)?;
    let setup =
        VerifierSetup { file, is_block_device: false, logical_block: Bytes(512), depth: 1, request_max: Bytes::mib(4) };
    let reader = verify::open(verify::VerifierKind::Read, setup)?.verifier;
    let faulty: Box<dyn Verifier> = Box::new(FaultyVerifier::new(reader, planted.iter().collect()));
    let mut disk = HardDisk::new(faulty, head.clone());

    let is_over = AtomicBool::new(false);
    let (sender, events) = channel();
    let latencies = thread::scope(|scope| {
        let owner = scope.spawn(|| run_owner(&head, REQUESTS_MAX, &is_over, Some(sender)));
        pump::run(
            &mut scrub,
            &mut disk,
            &mut OwnerDetector(events),
            &mut ProgressPrinter(clock::now()),
            &mut |_, _| Steering::GoOn,
        );
        is_over.store(true, Ordering::Relaxed);
        owner.join()
    });
    let latencies = latencies.ok().context("the owner died")?;
    Ok((latencies, scrub.report(clock::now())))
}

fn mean(latencies: &[Nanos]) -> f64 {
    latencies.iter().map(|latency| latency.as_millis_f64()).sum::<f64>() / latencies.len().max(1) as f64
}

/// The value below which `share` of them lie, in milliseconds.
fn quantile(latencies: &[Nanos], share: f64) -> f64 {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    let index = (sorted.len().saturating_sub(1)) as f64 * share;
    sorted.get(index as usize).map_or(0.0, |latency| latency.as_millis_f64())
}

fn figures(latencies: &[Nanos]) -> String {
    let quantile_of = |share| quantile(latencies, share);
    format!("{} requests: {:.2} ms on average, {:.2} ms at most", latencies.len(), mean(latencies), quantile_of(1.0))
}

fn print_comparison(before: &[Nanos], during: &[Nanos], report: &ScrubReport) {
    let row = |name: &str, first: f64, second: f64| {
        println!("   {name:<18} {first:6.2} ms {second:10.2} ms {:+10.2} ms", second - first);
    };
    println!("   the program's latency  alone   with the scrub   difference");
    row("on average", mean(before), mean(during));
    row("median", quantile(before, 0.5), quantile(during, 0.5));
    row("99 % are below", quantile(before, 0.99), quantile(during, 0.99));
    row("at most", quantile(before, 1.0), quantile(during, 1.0));
    let seconds = report.elapsed.as_secs_f64();
    println!("\n   The scrub took {seconds:.1} s, {:.1} MiB/s.", report.bytes_requested.as_mib_f64() / seconds);
}

fn judge(planted: &RangeSet, report: &ScrubReport) -> Result<()> {
    let found: RangeSet = report.unreadable.iter().map(|found| found.range).collect();
    let right = found == *planted;
    let exactly = if right { "exactly those" } else { "NOT those" };
    println!("   Planted {} unreadable sectors, found {}: {exactly}.", planted.count(), found.count());
    let lost = report.slowdown.mean_seconds(report.foreground_requests) * 1e3;
    let goal = GOAL.mean.as_millis_f64();
    let verdict = if lost <= goal { "kept" } else { "NOT kept" };
    println!("   The scrub's own estimate is {lost:.2} ms a request: the limit of {goal} ms was {verdict}.");
    ensure!(right, "the scrub did not find what was planted");
    Ok(())
}
