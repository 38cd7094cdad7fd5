//! A subject whose requests are long and let others pass: a step of md's check takes a quarter of a second whatever its size, and
//! holds up those who come meanwhile for some milliseconds.

use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::coverage::Coverage;
use scrubjay_core::scrub::idle::{Goal, PolicyConfig};
use scrubjay_core::scrub::machine::{Event, Machine, Op};
use scrubjay_core::scrub::tour::{Grid, OrderKind};
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::scrub::{Config, Pass, Scrub};
use scrubjay_core::units::{Bytes, Nanos, UnixSeconds};

const STEP: Nanos = Nanos::from_millis(240);
const HELD_MAX: Nanos = Nanos::from_millis(40);

/// Twenty reads one after the other, then a pause; a read takes 4 to 10 ms.
struct Reader {
    rng: Rng,
    pause: Nanos,
    /// How long one that comes during a step is held up: in this share of the cases, up to so long.
    held: (f64, Nanos),
    left: u32,
    arrives: Nanos,
    completes: Option<Nanos>,
    reads: u64,
    /// What they were held up, all together.
    lost: Nanos,
}

impl Reader {
    fn new(pause: Nanos, held: (f64, Nanos), seed: u64) -> Reader {
        let (rng, lost) = (Rng::new(seed), Nanos::ZERO);
        Reader { rng, pause, held, left: 20, arrives: Nanos::from_millis(5), completes: None, reads: 0, lost }
    }

    fn next(&self) -> Nanos {
        self.completes.unwrap_or(self.arrives)
    }

    /// What happens at [`Reader::next`], when a step of ours is under way that ends at `own`.
    fn step(&mut self, own: Option<Nanos>) -> Event {
        if let Some(at) = self.completes.take() {
            self.left -= 1;
            let pause = if self.left == 0 { self.pause } else { Nanos(100_000) };
            self.left = if self.left == 0 { 20 } else { self.left };
            self.arrives = at + pause;
            return Event::ForegroundCompleted { at, count: 1 };
        }
        let (share, most) = self.held;
        let rest = own.filter(|_| self.rng.uniform() < share).map_or(Nanos::ZERO, |ends| ends.since(self.arrives));
        let held = rest.min(Nanos((most.0 as f64 * self.rng.uniform()) as u64));
        self.reads += 1;
        self.lost += held;
        let service = Nanos(4_000_000 + self.rng.below(6_000_000));
        self.completes = Some(self.arrives + service + held);
        Event::ForegroundArrived { at: self.arrives, count: 1 }
    }
}

/// What came of so many seconds: of the time, which share was a step under way; what a read lost, in truth and by the report.
fn run(mut reader: Reader, goal: Goal, held_max: Option<Nanos>, seconds: u64) -> (f64, f64, f64) {
    let grid = Grid::new(Bytes::gib(200).sectors(), Bytes::mib(128).sectors(), Bytes::mib(8).sectors());
    let (started, today) = (Nanos::ZERO, UnixSeconds(1));
    let config = Config { range: grid.disk(), granule: 8, depth: 1, held_max, started, today };
    let (order, policy) = (OrderKind::SEQUENTIAL.order(&[]), PolicyConfig::budget(goal).policy());
    let mut scrub = Scrub::new(config, order, policy, Coverage::new(grid), Pass::default());
    let (mut now, mut own, mut busy) = (Nanos::ZERO, None, Nanos::ZERO);
    while now < Nanos::from_secs(seconds) {
        if own.is_none()
            && let Some(Op::Verify { id, .. }) = scrub.poll_op(now)
        {
            own = Some((id, now));
            busy += STEP;
        }
        let ends = own.map_or(Nanos::MAX, |(_, started)| started + STEP);
        let looks = scrub.poll_timeout(now).filter(|_| own.is_none()).unwrap_or(Nanos::MAX).max(now + Nanos(1));
        now = reader.next().min(ends).min(looks).max(now);
        if ends == now {
            let (id, started) = own.take().expect("it ends");
            let outcome = VerifyOutcome::Clean;
            scrub.handle(now, Event::Completed { id, outcome, started, finished: now });
        } else if reader.next() == now {
            let event = reader.step(own.map(|_| ends));
            scrub.handle(now, event);
        }
        scrub.handle(now, Event::Tick);
    }
    let report = scrub.report(now);
    let (lost, reads) = (reader.lost.as_millis_f64(), reader.reads as f64);
    let told = report.slowdown.mean_seconds(report.foreground_requests) * 1e3;
    (busy.as_secs_f64() / now.as_secs_f64(), lost / reads, told)
}

#[test]
fn steps_that_let_others_pass_are_priced_by_what_they_cost() {
    let goal = Goal::new(Nanos::from_millis(1), Nanos::from_millis(50));
    let reader = |pause, held| Reader::new(Nanos::from_millis(pause), held, 1);
    // Room for a step between two bursts.
    for (pause, share_min) in [(400, 0.25), (2000, 0.45)] {
        let held = (0.3, Nanos::from_millis(30));
        let (share, truth, told) = run(reader(pause, held), goal, Some(HELD_MAX), 400);
        assert!(share > share_min && truth < 1.02, "pause {pause} ms: {share} of the time, {truth} ms lost");
        assert!((told - truth).abs() < 0.15, "pause {pause} ms: {told} ms told, {truth} ms lost");
    }
    // None between them, but little is lost.
    let (share, truth, told) = run(reader(100, (0.2, Nanos::from_millis(8))), goal, Some(HELD_MAX), 400);
    assert!(
        share > 0.05 && truth < 1.02 && (told - truth).abs() < 0.15,
        "{share} of the time, {truth} ms, {told} told"
    );
    // None between them, and much is lost.
    let (share, truth, told) = run(reader(100, (1.0, Nanos::from_millis(40))), goal, Some(HELD_MAX), 400);
    assert!(truth < 1.02 && (told - truth).abs() < 0.15, "{share} of the time, {truth} ms lost, {told} told");
    // Not known to let others pass: longer than any read may lose, so it is tried, seldom.
    let (share, ..) = run(reader(400, (0.3, Nanos::from_millis(30))), goal, None, 400);
    assert!(share < 0.02, "{share}");
}
