//! The machine that measures a disk: it decides the next request, when a step is over, and which requests count.
//!
//! A step is measured in steady state: requests that fill the queue or empty it do not count. So the figures obey
//! Little's law (requests at a time = rate x mean latency), which a test checks.

use super::permutation::BlockPermutation;
use super::plan::{BenchPattern, BenchPlan, BenchStep, RUN_REQUESTS, ZoneGrid};
use super::step_result::{BenchFault, ForeignTraffic, StepFigures};
use crate::stats::Moments;
use crate::units::Nanos;

/// Deeper queues are left out once the mean latency exceeds this, in seconds: their figures are useless, and emptying
/// them takes minutes.
pub const LATENCY_MAX: f64 = 1.0;
/// Requests per place in the queue that a step counts, at least, however short its time.
const ROUNDS_MIN: u64 = 2;
/// A step may take up to this many times its time to count so many requests.
const STRETCH_MAX: u64 = 3;
/// The least time of a step that is shortened because time is short, in tenths of the planned time.
const TENTHS_MIN: u64 = 2;
/// Failed requests in a row, with no success before them, after which the measurement ends.
pub const FAULTS_IN_A_ROW_MAX: u64 = 64;

/// What the pump has to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchOp {
    /// Send this request.
    Request(BenchRequest),
    /// Wait for a request to complete, but no longer than until this time.
    Wait(Nanos),
    /// No request is at the disk now: read the kernel's counters, and report them by [`DiskBench::end_step`].
    EndStep,
    /// The measurement is over.
    Done,
}

/// A request of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchRequest {
    /// Its first byte.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Are its data to be checked for zeroes?
    pub is_checked_for_zeroes: bool,
}

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchEnd {
    /// The request.
    pub request: BenchRequest,
    /// When it was given to the kernel.
    pub issued: Nanos,
    /// When its completion was seen.
    pub done: Nanos,
    /// Its result: an errno if it failed.
    pub result: Result<(), i32>,
    /// Were its data all zeroes? Meaningful only if they were to be checked.
    pub is_zero: bool,
}

/// The state of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchState {
    /// Measuring.
    Running,
    /// All steps were measured or left out.
    Complete,
    /// Stopped by request.
    Stopped,
    /// The disk is gone.
    Gone,
    /// No request succeeds.
    Failing,
}

/// The throughput of one zone of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ZoneFigures {
    /// The bytes that count: those of all successful requests except the first one of each run.
    pub bytes: u64,
    /// The time that these requests took.
    pub time: Nanos,
    /// Latencies of random requests at the first depth, in seconds.
    pub random: Moments,
}

/// All figures of a measurement, whichever program took them.
#[derive(Clone, Debug)]
pub struct BenchRecord {
    /// The plan.
    pub plan: BenchPlan,
    /// How the measurement ended.
    pub state: BenchState,
    /// The steps that are over, in their order.
    pub results: Vec<StepFigures>,
    /// The steps that were not measured, because shallower ones were too slow or time was short.
    pub left_out: Vec<BenchStep>,
    /// Figures by zone of the disk.
    pub zones: Vec<ZoneFigures>,
    /// The latency of the very first request.
    pub first: Option<Nanos>,
}

/// Measures a disk.
#[derive(Debug)]
pub struct DiskBench {
    plan: BenchPlan,
    /// The places of random requests, in their order.
    places: BlockPermutation,
    places_used: u64,
    sequential_at: u64,
    grid: ZoneGrid,
    zones: Vec<ZoneFigures>,
    /// The steps that are over.
    results: Vec<StepFigures>,
    current: Option<StepRun>,
    left_out: Vec<BenchStep>,
    state: BenchState,
    /// The latency of the very first request, which may have woken the disk.
    first: Option<Nanos>,
    has_succeeded: bool,
    faults_in_a_row: u64,
    seed: u64,
    /// When the first step began.
    begun: Option<Nanos>,
}

#[derive(Debug)]
struct StepRun {
    result: StepFigures,
    begun: Nanos,
    /// When the measurement of the full queue began.
    window: Option<Nanos>,
    /// Completions left until then.
    filling: u32,
    in_flight: u32,
    is_over: bool,
    /// When the last request that counts was completed.
    last_counted: Nanos,
    tour: RunTour,
}

/// The progress of a step by position through its runs.
#[derive(Debug)]
struct RunTour {
    order: BlockPermutation,
    round: u64,
    /// The index of the run within the round.
    index: u64,
    /// The index of the request within the run.
    request: u64,
    last_end: Nanos,
}

impl DiskBench {
    /// A benchmark by `plan`. The same seed gives the same places.
    pub fn new(plan: BenchPlan, seed: u64) -> DiskBench {
        let request = |pattern| plan.steps.iter().find(|step| step.pattern == pattern).map(|step| step.request);
        let small = request(BenchPattern::Random).expect("random requests are always measured");
        let large = request(BenchPattern::Sequential).expect("sequential ones, too");
        let grid = ZoneGrid::new(plan.bytes, large);
        DiskBench {
            places: BlockPermutation::new(plan.bytes / small, seed),
            places_used: 0,
            sequential_at: 0,
            zones: vec![ZoneFigures::default(); grid.zones as usize],
            grid,
            results: Vec::new(),
            current: None,
            left_out: Vec::new(),
            state: BenchState::Running,
            first: None,
            has_succeeded: false,
            faults_in_a_row: 0,
            seed,
            begun: None,
            plan,
        }
    }

    /// The next thing for the pump to do.
    pub fn poll_op(&mut self, now: Nanos) -> BenchOp {
        if self.current.is_none() && !self.begin_step(now) {
            return BenchOp::Done;
        }
        let is_running = self.state == BenchState::Running;
        let run = self.current.as_mut().expect("it was begun");
        let (step, begun) = (run.result.step, run.begun);
        let deadline = run.window.map_or(begun.saturating_add(step.time), |window| window.saturating_add(step.time));
        let is_silent = run.window.is_none() && run.filling == step.depth;
        if run.window.is_none() && now >= deadline && !is_silent {
            // A queue that was not filled and served once in time is measured as it is. (A disk without any answer may
            // be waking up.)
            run.window = Some(now);
            return self.poll_op(now);
        }
        let is_time_over = run.window.is_some() && now >= deadline;
        let is_long_over = now >= begun.saturating_add(Nanos(step.time.0.saturating_mul(STRETCH_MAX)));
        // A step by position covers each zone once, any other step each place in the queue twice: with fewer requests,
        // only the fastest would be counted.
        let is_short = match step.pattern {
            BenchPattern::Positions => run.tour.round == 0,
            _ => run.result.fault_count == 0 && run.result.requests < u64::from(step.depth) * ROUNDS_MIN,
        };
        let must_go_on = is_short && !is_long_over;
        let is_all_seen = step.pattern == BenchPattern::Positions && run.tour.round >= self.grid.rounds();
        if !run.is_over && (!is_running || is_all_seen || is_time_over && !must_go_on) {
            run.is_over = true;
            run.result.is_complete = is_running;
            let until =
                if step.pattern == BenchPattern::Positions { now } else { now.min(deadline.max(run.last_counted)) };
            run.result.window = run.window.map_or(Nanos::ZERO, |window| until.since(window));
        }
        if run.is_over {
            return if run.in_flight == 0 { BenchOp::EndStep } else { BenchOp::Wait(Nanos::MAX) };
        }
        if run.in_flight == step.depth {
            // Completions later than the deadline do not count.
            return BenchOp::Wait(if must_go_on || is_silent { Nanos::MAX } else { deadline });
        }
        run.in_flight += 1;
        run.result.sent += 1;
        let offset = self.next_offset(step);
        let is_checked_for_zeroes = step.pattern == BenchPattern::Random && step.depth == 1 && !self.plan.is_write;
        BenchOp::Request(BenchRequest { offset, len: step.request, is_checked_for_zeroes })
    }

    /// A request was completed.
    ///
    /// # Panics
    /// When none is at the disk.
    pub fn handle(&mut self, end: BenchEnd) {
        let run = self.current.as_mut().expect("a request of a step");
        let BenchEnd { request, issued, done, result, is_zero } = end;
        run.in_flight = run.in_flight.checked_sub(1).expect("it was at the disk");
        run.result.bytes_moved += request.len;
        let latency = done.since(issued);
        self.first.get_or_insert(latency);
        if let Err(errno) = result {
            self.faults_in_a_row += 1;
            run.result.add_fault(BenchFault { offset: request.offset, len: request.len, errno });
            if !self.has_succeeded && self.faults_in_a_row >= FAULTS_IN_A_ROW_MAX && self.state == BenchState::Running {
                self.state = BenchState::Failing;
            }
        } else {
            self.has_succeeded = true;
        }
        if request.is_checked_for_zeroes && result.is_ok() {
            run.result.checked_for_zeroes += 1;
            run.result.zeroes += u64::from(is_zero);
        }
        let step = run.result.step;
        if step.pattern == BenchPattern::Positions {
            let zone = &mut self.zones[self.grid.zone_of(request.offset)];
            // Only later requests of a run show the throughput, and only successful ones.
            if run.tour.last_end != Nanos::ZERO && result.is_ok() {
                zone.bytes += request.len;
                zone.time += done.since(run.tour.last_end);
            }
            let is_run_over = run.tour.request == 0;
            run.tour.last_end = if is_run_over { Nanos::ZERO } else { done };
        }
        let Some(window) = run.window else {
            run.filling -= 1;
            if run.filling == 0 {
                run.window = Some(done);
            }
            return;
        };
        let is_enough = run.result.requests >= u64::from(step.depth) * ROUNDS_MIN;
        let is_late = step.pattern != BenchPattern::Positions && done.since(window) > step.time && is_enough;
        if run.is_over || is_late || result.is_err() {
            return;
        }
        run.last_counted = done;
        run.result.add(latency, done.since(window));
        if step.pattern == BenchPattern::Random && step.depth == self.plan.steps[0].depth {
            self.zones[self.grid.zone_of(request.offset)].random.add(latency.as_secs_f64());
        }
    }

    /// Ends the step; `others` is the traffic of other programs meanwhile, from the kernel's counters.
    ///
    /// # Panics
    /// When the machine did not ask for it by [`BenchOp::EndStep`].
    pub fn end_step(&mut self, others: Option<ForeignTraffic>) {
        let mut run = self.current.take().filter(|run| run.is_over && run.in_flight == 0).expect("a step that is over");
        run.result.others = others;
        self.results.push(run.result);
    }

    /// Ends the step without waiting for the requests at the disk, and the measurement with it. `others` is the traffic
    /// of other programs meanwhile, from the kernel's counters.
    pub fn abandon(&mut self, others: Option<ForeignTraffic>) {
        self.stop();
        if let Some(mut run) = self.current.take() {
            run.result.is_complete = false;
            run.result.others = others;
            self.results.push(run.result);
        }
    }

    /// Sends no more requests; the figures so far are kept.
    pub fn stop(&mut self) {
        self.end_as(BenchState::Stopped);
    }

    /// The disk is gone.
    pub fn note_gone(&mut self) {
        self.end_as(BenchState::Gone);
    }

    fn end_as(&mut self, state: BenchState) {
        if self.state == BenchState::Running {
            self.state = state;
        }
    }

    /// The figures so far.
    pub fn into_record(self) -> BenchRecord {
        let DiskBench { plan, state, results, left_out, zones, first, .. } = self;
        BenchRecord { plan, state, results, left_out, zones, first }
    }

    /// The state of the measurement.
    pub fn state(&self) -> BenchState {
        self.state
    }

    /// The plan.
    pub fn plan(&self) -> &BenchPlan {
        &self.plan
    }

    /// The steps that are over, in their order.
    pub fn results(&self) -> &[StepFigures] {
        &self.results
    }

    /// The figures so far of the step under way, and the time since it began; its window is still open.
    pub fn under_way(&self, now: Nanos) -> Option<(StepFigures, Nanos)> {
        let run = self.current.as_ref()?;
        let mut result = run.result.clone();
        if !run.is_over {
            result.window = run.window.map_or(Nanos::ZERO, |window| now.since(window));
        }
        Some((result, now.since(run.begun)))
    }

    /// The steps that were not measured, because shallower ones were too slow or time was short.
    pub fn left_out(&self) -> &[BenchStep] {
        &self.left_out
    }

    /// Figures by zone of the disk.
    pub fn zones(&self) -> &[ZoneFigures] {
        &self.zones
    }

    /// Where the zones lie.
    pub fn grid(&self) -> ZoneGrid {
        self.grid
    }

    /// The latency of the very first request.
    pub fn first(&self) -> Option<Nanos> {
        self.first
    }

    fn begin_step(&mut self, now: Nanos) -> bool {
        loop {
            if self.state != BenchState::Running {
                return false;
            }
            let Some(&step) = self.plan.steps.get(self.results.len() + self.left_out.len()) else {
                self.state = BenchState::Complete;
                return false;
            };
            let shallower = self.results.iter().rfind(|result| result.step.pattern == step.pattern);
            let is_too_slow = shallower.is_some_and(|last| last.step.depth < step.depth && last.mean() > LATENCY_MAX);
            // Each pattern is measured at one depth at least, even if time is up.
            let fitted = self.fitted(step, now, shallower.is_none());
            let Some(step) = fitted.filter(|_| !is_too_slow) else {
                self.left_out.push(step);
                continue;
            };
            let order = BlockPermutation::new(self.grid.zones, self.seed);
            let tour = RunTour { order, round: 0, index: 0, request: 0, last_end: Nanos::ZERO };
            let result = StepFigures::new(step);
            let filling = step.depth;
            self.current = Some(StepRun {
                result,
                begun: now,
                window: None,
                filling,
                in_flight: 0,
                is_over: false,
                last_counted: Nanos::ZERO,
                tour,
            });
            return true;
        }
    }

    /// The step, shortened so that it and all later steps fit in the time left; `None` if it does not fit and need not be done.
    fn fitted(&mut self, step: BenchStep, now: Nanos, is_required: bool) -> Option<BenchStep> {
        let elapsed = now.since(*self.begun.get_or_insert(now));
        let remaining = self.plan.limit().0.saturating_sub(elapsed.0);
        let steps_ahead = &self.plan.steps[self.results.len() + self.left_out.len()..];
        // A step by position is not shortened: it would not cover every zone.
        let shorter = |step: BenchStep, tenths: u64| match step.pattern {
            BenchPattern::Positions => step,
            _ => BenchStep { time: Nanos(step.time.0 / 10 * tenths), ..step },
        };
        let total_cost = |tenths| steps_ahead.iter().map(|&step| self.cost(shorter(step, tenths))).sum::<u64>();
        let tenths = (TENTHS_MIN..10).rev().find(|&tenths| total_cost(tenths) <= remaining);
        if total_cost(10) <= remaining {
            return Some(step);
        }
        let step = shorter(step, tenths.unwrap_or(TENTHS_MIN));
        (is_required || self.cost(step) <= remaining).then_some(step)
    }

    /// The expected duration of a step, in ns, judged by the latency of an earlier step; its queue must be filled and
    /// emptied, too.
    fn cost(&self, step: BenchStep) -> u64 {
        let shallower = self.results.iter().rfind(|result| result.step.pattern == step.pattern);
        // For a pattern not measured yet, another pattern at the same depth or deeper is the best guide.
        let another = || self.results.iter().find(|result| result.step.depth >= step.depth);
        let Some(known) = shallower.or_else(another).filter(|known| known.requests > 0) else { return step.time.0 };
        let deeper = f64::from(step.depth) / f64::from(known.step.depth);
        let queue = Nanos::from_secs_f64(known.mean() * deeper.max(1.0)).0;
        let (filling, rounds) = match step.pattern {
            BenchPattern::Positions => (0, self.grid.zones * RUN_REQUESTS),
            _ => (queue.min(step.time.0), ROUNDS_MIN),
        };
        let measured = step.time.0.max(queue.saturating_mul(rounds));
        (filling.saturating_add(measured)).min(step.time.0.saturating_mul(STRETCH_MAX)).saturating_add(queue)
    }

    fn next_offset(&mut self, step: BenchStep) -> u64 {
        let run = self.current.as_mut().expect("a step is under way");
        match step.pattern {
            BenchPattern::Random => {
                let offset = self.places.at(self.places_used) * step.request;
                run.result.is_repeating |= self.places_used >= self.places.blocks();
                self.places_used += 1;
                offset
            }
            BenchPattern::Sequential => {
                if self.sequential_at + step.request > self.plan.bytes {
                    self.sequential_at = 0;
                    run.result.is_repeating = true;
                }
                let offset = self.sequential_at;
                self.sequential_at += step.request;
                offset
            }
            BenchPattern::Positions => {
                let tour = &mut run.tour;
                let zone = tour.order.at(tour.index);
                let offset = self.grid.run_start(zone, tour.round) + tour.request * step.request;
                tour.request += 1;
                if tour.request == RUN_REQUESTS.min(self.grid.run_bytes().0 / step.request) {
                    tour.request = 0;
                    tour.index += 1;
                    if tour.index == self.grid.zones {
                        (tour.index, tour.round) = (0, tour.round + 1);
                    }
                }
                offset
            }
        }
    }
}
