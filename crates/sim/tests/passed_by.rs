//! A subject with long requests that let foreground requests pass.
//!
//! A step of md's check takes a quarter of a second whatever its size, and holds up requests that arrive meanwhile for
//! some milliseconds.

use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::coverage::Coverage;
use scrubjay_core::scrub::idle::{Goal, PolicyConfig};
use scrubjay_core::scrub::machine::{Event, Machine, Op};
use scrubjay_core::scrub::tour::{Grid, OrderKind};
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::scrub::{Config, Pass, Scrub};
use scrubjay_core::units::{Bytes, Nanos, UnixSeconds};

/// The time of a step before it reads anything; afterwards it reads `RATE` bytes a second.
const STEP: Nanos = Nanos::from_millis(230);
const RATE: f64 = 10e6;
const HELD_MAX: Nanos = Nanos::from_millis(40);

/// A program that sends twenty reads one after the other, then pauses; a read takes 4 to 10 ms.
struct Reader {
    rng: Rng,
    /// The mean pause, and whether pauses are exponential (else all are equal).
    pause: (Nanos, bool),
    /// The delay of a read that arrives during a step: the share of reads that is delayed, and the greatest delay.
    held: (f64, Nanos),
    /// The share of reads that is delayed by 120 ms instead.
    long: f64,
    left: u32,
    arrives: Nanos,
    completes: Option<Nanos>,
    reads: u64,
    /// The sum of all delays.
    lost: Nanos,
    /// Reads that were delayed by more than 50 ms.
    broken: u64,
}

impl Reader {
    fn new(pause: Nanos, held: (f64, Nanos)) -> Reader {
        let (rng, pause, arrives) = (Rng::new(1), (pause, false), Nanos::from_millis(5));
        Reader {
            rng,
            pause,
            held,
            long: 0.0,
            left: 20,
            arrives,
            completes: None,
            reads: 0,
            lost: Nanos::ZERO,
            broken: 0,
        }
    }

    fn next(&self) -> Nanos {
        self.completes.unwrap_or(self.arrives)
    }

    /// The event at [`Reader::next`]; `step_end` is the end of the step under way, if there is one.
    fn step(&mut self, step_end: Option<Nanos>) -> Event {
        if let Some(at) = self.completes.take() {
            self.left -= 1;
            let (mean, is_random) = self.pause;
            let long = if is_random { Nanos::from_secs_f64(self.rng.exponential(mean.as_secs_f64())) } else { mean };
            let pause = if self.left == 0 { long } else { Nanos(100_000) };
            self.left = if self.left == 0 { 20 } else { self.left };
            self.arrives = at + pause;
            return Event::ForegroundCompleted { at, count: 1 };
        }
        let (share, most) = self.held;
        let rest = step_end.filter(|_| self.rng.uniform() < share).map_or(Nanos::ZERO, |ends| ends.since(self.arrives));
        let held = rest.min(Nanos((most.0 as f64 * self.rng.uniform()) as u64));
        let is_long = step_end.is_some() && self.rng.uniform() < self.long;
        let held = if is_long {
            step_end.map_or(held, |ends| ends.since(self.arrives)).min(Nanos::from_millis(120))
        } else {
            held
        };
        self.reads += 1;
        self.broken += u64::from(held > Nanos::from_millis(50));
        self.lost += held;
        let service = Nanos(4_000_000 + self.rng.below(6_000_000));
        self.completes = Some(self.arrives + service + held);
        Event::ForegroundArrived { at: self.arrives, count: 1 }
    }
}

/// Runs for some seconds. Returns the share of the time with a step under way, the mean loss of a read in truth and by
/// the report, in ms, and the MB read a second.
fn run(reader: &mut Reader, goal: Goal, held_max: Option<Nanos>, seconds: u64) -> (f64, f64, f64, f64) {
    let grid = Grid::new(Bytes::gib(200).sectors(), Bytes::mib(128).sectors(), Bytes::mib(8).sectors());
    let (started, today) = (Nanos::ZERO, UnixSeconds(1));
    let config = Config { range: grid.disk(), granule: 8, depth: 1, held_max, started, today };
    let (order, policy) = (OrderKind::SEQUENTIAL.order(&[]), PolicyConfig::budget(goal).policy());
    let mut scrub = Scrub::new(config, order, policy, Coverage::new(grid), Pass::default());
    let (mut now, mut under_way, mut busy, mut rng) = (Nanos::ZERO, None, Nanos::ZERO, Rng::new(2));
    while now < Nanos::from_secs(seconds) {
        if under_way.is_none()
            && let Some(Op::Verify { id, range }) = scrub.poll_op(now)
        {
            let chance = Nanos(rng.below(40_000_000));
            let duration = STEP + chance + Nanos::from_secs_f64(range.bytes().0 as f64 / RATE);
            under_way = Some((id, now, now + duration));
            busy += duration;
        }
        let ends = under_way.map_or(Nanos::MAX, |(_, _, ends)| ends);
        let next_look =
            scrub.poll_timeout(now).filter(|_| under_way.is_none()).unwrap_or(Nanos::MAX).max(now + Nanos(1));
        now = reader.next().min(ends).min(next_look).max(now);
        if ends == now {
            let (id, started, _) = under_way.take().expect("it ends");
            let outcome = VerifyOutcome::Clean;
            scrub.handle(now, Event::Completed { id, outcome, started, finished: now });
        } else if reader.next() == now {
            let event = reader.step(under_way.map(|_| ends));
            scrub.handle(now, event);
        }
        scrub.handle(now, Event::Tick);
    }
    let report = scrub.report(now);
    let (lost, reads) = (reader.lost.as_millis_f64(), reader.reads as f64);
    let reported = report.slowdown.mean_seconds(report.foreground_requests) * 1e3;
    let rate = report.bytes_verified.0 as f64 / 1e6 / now.as_secs_f64();
    (busy.as_secs_f64() / now.as_secs_f64(), lost / reads, reported, rate)
}

#[test]
fn steps_that_let_foreground_requests_pass_are_priced_by_their_real_cost() {
    let goal = Goal::new(Nanos::from_millis(1), Nanos::from_millis(50));
    let run = |pause, held, held_max| {
        let (share, truth, reported, rate) =
            run(&mut Reader::new(Nanos::from_millis(pause), held), goal, held_max, 400);
        println!("pause {pause} ms: {share:.3} of the time, {rate:.2} MB/s, {truth:.3} ms lost, {reported:.3} told");
        assert!(truth < 1.02 && (reported - truth).abs() < 0.15, "pause {pause} ms: {truth} ms lost, {reported} told");
        (share, rate)
    };
    // There is room for a step between two bursts.
    for (pause, share_min, rate_min) in [(400, 0.25, 1.5), (2000, 0.45, 2.5)] {
        let (share, rate) = run(pause, (0.3, Nanos::from_millis(30)), Some(HELD_MAX));
        assert!(share > share_min && rate > rate_min, "pause {pause} ms: {share} of the time, {rate} MB/s");
    }
    // There is no room for a step, but little is lost.
    let (share, _) = run(100, (0.2, Nanos::from_millis(8)), Some(HELD_MAX));
    assert!(share > 0.05, "{share}");
    // There is no room for a step, and much is lost.
    run(100, (1.0, Nanos::from_millis(40)), Some(HELD_MAX));
    // The scrub does not know that steps let reads pass. A step is longer than any read may lose, so it is tried, but seldom.
    let (share, _) = run(400, (0.3, Nanos::from_millis(30)), None);
    assert!(share < 0.02, "{share}");
}

/// The stated limit is 40 ms, but some reads are delayed by 120 ms.
#[test]
fn reads_that_are_delayed_beyond_the_stated_limit_make_steps_dearer() {
    const SEEDS: u64 = 8;
    let goal = Goal::new(Nanos::from_millis(3), Nanos::from_millis(50));
    let shares = (1..=SEEDS).map(|seed| {
        let reader = Reader::new(Nanos::from_millis(400), (0.3, Nanos::from_millis(30)));
        let mut reader = Reader { long: 0.03, rng: Rng::new(seed), ..reader };
        reader.pause.1 = true;
        let (share, truth, ..) = run(&mut reader, goal, Some(HELD_MAX), 4000);
        let (broken, reads) = (reader.broken as f64, reader.reads as f64);
        assert!(truth < 3.06 && broken <= 5e-4 * reads, "seed {seed}: {truth} ms lost, {broken} of {reads} by 50 ms");
        share
    });
    let share = shares.sum::<f64>() / SEEDS as f64;
    assert!(share > 0.015, "{share}");
}
