//! The cost of rarely slow requests to a scrub: a table of docs/budget.md.
//!
//! One program thinks, and reads; the disk takes 8 ms to position, and a share of the scrub's requests takes 60 ms
//! longer. Each cell: MB/s, the mean of six runs, and how many requests of the program lost more than 50 ms, of how many.
//! The first argument: seconds of each run (1200).

use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::coverage::Coverage;
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{Goal, PolicyConfig};
use scrubjay_core::scrub::tour::{Grid, OrderKind};
use scrubjay_core::scrub::{Config, Pass, Scrub};
use scrubjay_core::units::{Bytes, Nanos, UnixSeconds};
use scrubjay_sim::disk::{SimulatedDisk, Unsteady};
use scrubjay_sim::pump::SimulatedPump;
use scrubjay_sim::source::Clients;
use scrubjay_sim::workload::TimeSpan;

const SHARES: [f64; 6] = [0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2];
const SECONDS: u64 = 1200;
const SEEDS: std::ops::RangeInclusive<u64> = 1..=6;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn main() {
    let seconds = std::env::args().nth(1).map_or(SECONDS, |text| text.parse().expect("seconds"));
    let think_times = [
        TimeSpan::Uniform(ms(10), ms(30)),
        TimeSpan::Uniform(ms(25), ms(75)),
        TimeSpan::Uniform(ms(100), ms(300)),
        TimeSpan::Uniform(ms(50), Nanos(50_300_000)),
    ];
    println!("| slow | 20 ms ±50 % | 50 ms ±50 % | 200 ms ±50 % | even gaps of 50 ms |\n|---|---|---|---|---|");
    for share in SHARES {
        let cells = think_times.map(|think_time| cell(share, think_time, seconds));
        println!("| {share} |{}", cells.map(|cell| format!(" {cell} |")).concat());
    }
}

fn cell(share: f64, think_time: TimeSpan, seconds: u64) -> String {
    let (mut rate, mut late, mut requests) = (0.0, 0.0, 0);
    for seed in SEEDS {
        let clients =
            Clients::new(1, 1, TimeSpan::Fixed(Nanos::ZERO), think_time, TimeSpan::Fixed(ms(8)), Rng::new(seed));
        let model = ServiceModel { positioning: ms(1), per_mib: ms(10) };
        let unsteady = Unsteady { seek: ms(8), scatter: 1.1, tail: (share, ms(60)), drift: (1.0, Nanos::from_secs(1)) };
        let disk = SimulatedDisk::new(Bytes::gib(2000).sectors(), model).unsteady(unsteady, Rng::new(seed + 77));
        let mut scrub = scrub();
        let run = SimulatedPump::with_source(disk, clients).until(Nanos::from_secs(seconds)).run(&mut scrub).report;
        rate += run.scrub_bytes_per_second() / 1e6 / 6.0;
        let delays = scrub.seen().slowdown.histogram.buckets();
        late += delays.filter(|&(upper, _)| upper > 0.051).map(|(_, count)| count).sum::<f64>();
        requests += run.foreground.requests;
    }
    format!("{rate:.1}; {late:.0} of {requests}")
}

/// The shipped scrubber with the default goal.
fn scrub() -> Scrub {
    let grid = Grid::new(Bytes::gib(2000).sectors(), Bytes::mib(128).sectors(), Bytes::mib(8).sectors());
    let (started, today) = (Nanos::ZERO, UnixSeconds(1));
    let config = Config { range: grid.disk(), granule: 8, depth: 1, held_max: None, started, today };
    let policy = PolicyConfig::budget(Goal::default()).policy();
    Scrub::new(config, OrderKind::STAGGERED.order(&[]), policy, Coverage::new(grid), Pass::default())
}
