//! The machine that measures a disk: which request next, when a step is over, what counts.
//!
//! A step is measured in steady state: requests that fill the queue do not count, nor those that empty it. So the figures obey
//! Little's law (requests at a time = rate x mean latency), which a test holds them to.

use super::permutation::BlockPermutation;
use super::plan::{BenchPattern, BenchPlan, BenchStep, RUN_REQUESTS, ZoneGrid};
use super::step_result::{BenchFault, OthersTraffic, StepFigures};
use crate::stats::Moments;
use crate::units::Nanos;

/// Deeper queues are left out once a request takes this long on average: nobody wants to know, and emptying them takes minutes.
pub const LATENCY_ENOUGH: f64 = 1.0;
/// So often is each place in the queue measured, however short the time.
const ROUNDS_MIN: u64 = 2;
/// A step may take so many times its time until it is that.
const LONG: u64 = 3;
/// Where time is short, steps become shorter by tenths, but no shorter than this many.
const TENTHS_MIN: u64 = 2;
/// So many requests in a row that fail, and none before them that did not: there is nothing to be measured.
pub const FAULTS_ENOUGH: u64 = 64;

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchOp {
    /// Send this.
    Request(BenchRequest),
    /// Wait for a request to end, but no longer than until then.
    Wait(Nanos),
    /// Nothing is at the disk now: look at the kernel's counters, and say so by [`DiskBench::end_step`].
    EndStep,
    /// All is measured that will be.
    Done,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchRequest {
    /// Its first byte.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Are its data to be looked at?
    pub is_looked_at: bool,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchEnd {
    /// Which.
    pub request: BenchRequest,
    /// When it was given to the kernel.
    pub issued: Nanos,
    /// When its end was seen.
    pub done: Nanos,
    /// How it ended: an errno if it failed.
    pub result: Result<(), i32>,
    /// Were its data zeroes? Only of those that are looked at.
    pub is_zero: bool,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchState {
    /// Measuring.
    Running,
    /// All was measured.
    Complete,
    /// Somebody wished it to stop.
    Stopped,
    /// The disk is gone.
    Gone,
    /// No request ends well.
    Failing,
}

/// The throughput of one part of the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ZoneFigures {
    /// Bytes that tell it: all but the first request of each run.
    pub bytes: u64,
    /// The time that they took.
    pub time: Nanos,
    /// Latencies of random requests at the first depth.
    pub random: Moments,
}

/// All that was measured, whoever measured it.
#[derive(Clone, Debug)]
pub struct BenchRecord {
    /// What was to be done.
    pub plan: BenchPlan,
    /// How far it came.
    pub state: BenchState,
    /// Steps that are over, in their order.
    pub results: Vec<StepFigures>,
    /// Depths that were not measured, because shallower ones took so long.
    pub left_out: Vec<BenchStep>,
    /// By part of the disk.
    pub zones: Vec<ZoneFigures>,
    /// How long the very first request took.
    pub first: Option<Nanos>,
}

/// Measures a disk.
#[derive(Debug)]
pub struct DiskBench {
    plan: BenchPlan,
    /// Places of random requests, in their order.
    places: BlockPermutation,
    places_used: u64,
    sequential_at: u64,
    grid: ZoneGrid,
    zones: Vec<ZoneFigures>,
    /// Steps that are over.
    results: Vec<StepFigures>,
    current: Option<StepRun>,
    left_out: Vec<BenchStep>,
    state: BenchState,
    /// The very first request, which may have woken the disk.
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
    /// When the queue was full.
    window: Option<Nanos>,
    /// Ends until then.
    filling: u32,
    in_flight: u32,
    is_over: bool,
    /// When the last request that counts was done.
    last_counted: Nanos,
    tour: RunTour,
}

/// Where the runs of a step by position are.
#[derive(Debug)]
struct RunTour {
    order: BlockPermutation,
    round: u64,
    /// Within the round.
    index: u64,
    /// Of the run.
    request: u64,
    last_end: Nanos,
}

impl DiskBench {
    /// The same seed, the same places.
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

    /// What is to be done next.
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
            // A queue that is not through in time is measured as it is. (A disk that has not answered at all may be waking up.)
            run.window = Some(now);
            return self.poll_op(now);
        }
        let is_time_over = run.window.is_some() && now >= deadline;
        let is_long_over = now >= begun.saturating_add(Nanos(step.time.0.saturating_mul(LONG)));
        // A step by position sees each part of the disk once; any other, each place in the queue twice: of fewer, only the
        // soonest would be counted.
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
            // Ends that come later than that do not count.
            return BenchOp::Wait(if must_go_on || is_silent { Nanos::MAX } else { deadline });
        }
        run.in_flight += 1;
        run.result.sent += 1;
        let offset = self.next_offset(step);
        let is_looked_at = step.pattern == BenchPattern::Random && step.depth == 1 && !self.plan.is_write;
        BenchOp::Request(BenchRequest { offset, len: step.request, is_looked_at })
    }

    /// A request has ended.
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
            if !self.has_succeeded && self.faults_in_a_row >= FAULTS_ENOUGH && self.state == BenchState::Running {
                self.state = BenchState::Failing;
            }
        } else {
            self.has_succeeded = true;
        }
        if request.is_looked_at && result.is_ok() {
            run.result.looked_at += 1;
            run.result.zeroes += u64::from(is_zero);
        }
        let step = run.result.step;
        if step.pattern == BenchPattern::Positions {
            let zone = &mut self.zones[self.grid.zone_of(request.offset)];
            // What follows within a run tells the throughput; a request that failed tells nothing.
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

    /// The step is over, and the kernel's counters say so much of others meanwhile.
    ///
    /// # Panics
    /// When [`BenchOp::EndStep`] was not asked for.
    pub fn end_step(&mut self, others: Option<OthersTraffic>) {
        let mut run = self.current.take().filter(|run| run.is_over && run.in_flight == 0).expect("a step that is over");
        run.result.others = others;
        self.results.push(run.result);
    }

    /// Requests at the disk are not waited for: the step is over without them, and nothing more is measured. The kernel's
    /// counters say so much of others meanwhile.
    pub fn abandon(&mut self, others: Option<OthersTraffic>) {
        self.stop();
        if let Some(mut run) = self.current.take() {
            run.result.is_complete = false;
            run.result.others = others;
            self.results.push(run.result);
        }
    }

    /// No more requests; what is known is kept.
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

    /// What is known by now.
    pub fn into_record(self) -> BenchRecord {
        let DiskBench { plan, state, results, left_out, zones, first, .. } = self;
        BenchRecord { plan, state, results, left_out, zones, first }
    }

    /// How far it is.
    pub fn state(&self) -> BenchState {
        self.state
    }

    /// What is being done.
    pub fn plan(&self) -> &BenchPlan {
        &self.plan
    }

    /// Steps that are over, in their order.
    pub fn results(&self) -> &[StepFigures] {
        &self.results
    }

    /// The step that is under way, as far as it is known; its window is still open.
    pub fn under_way(&self, now: Nanos) -> Option<(StepFigures, Nanos)> {
        let run = self.current.as_ref()?;
        let mut result = run.result.clone();
        if !run.is_over {
            result.window = run.window.map_or(Nanos::ZERO, |window| now.since(window));
        }
        Some((result, now.since(run.begun)))
    }

    /// Depths that were not measured, because shallower ones took so long.
    pub fn left_out(&self) -> &[BenchStep] {
        &self.left_out
    }

    /// By part of the disk.
    pub fn zones(&self) -> &[ZoneFigures] {
        &self.zones
    }

    /// Where the parts lie.
    pub fn grid(&self) -> ZoneGrid {
        self.grid
    }

    /// How long the very first request took.
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
            let is_too_slow =
                shallower.is_some_and(|last| last.step.depth < step.depth && last.mean() > LATENCY_ENOUGH);
            // Each pattern is measured at one depth at least, however late it is.
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

    /// A step, as long as there is time for it and for all that follows; nothing if there is none.
    fn fitted(&mut self, step: BenchStep, now: Nanos, must_be: bool) -> Option<BenchStep> {
        let gone = now.since(*self.begun.get_or_insert(now));
        let left = self.plan.limit().0.saturating_sub(gone.0);
        let ahead = &self.plan.steps[self.results.len() + self.left_out.len()..];
        // That by position sees each part of the disk, or says nothing of some.
        let shorter = |step: BenchStep, tenths: u64| match step.pattern {
            BenchPattern::Positions => step,
            _ => BenchStep { time: Nanos(step.time.0 / 10 * tenths), ..step },
        };
        let all = |tenths| ahead.iter().map(|&step| self.cost(shorter(step, tenths))).sum::<u64>();
        let tenths = (TENTHS_MIN..10).rev().find(|&tenths| all(tenths) <= left);
        if all(10) <= left {
            return Some(step);
        }
        let step = shorter(step, tenths.unwrap_or(TENTHS_MIN));
        (must_be || self.cost(step) <= left).then_some(step)
    }

    /// How long a step will take, in ns: by what the one before it has shown, its queue must be filled and emptied, too.
    fn cost(&self, step: BenchStep) -> u64 {
        let shallower = self.results.iter().rfind(|result| result.step.pattern == step.pattern);
        // Of a pattern that was not measured yet, another one of the same depth tells the most.
        let another = || self.results.iter().find(|result| result.step.depth >= step.depth);
        let Some(known) = shallower.or_else(another).filter(|known| known.requests > 0) else { return step.time.0 };
        let deeper = f64::from(step.depth) / f64::from(known.step.depth);
        let queue = Nanos::from_secs_f64(known.mean() * deeper.max(1.0)).0;
        let (filling, rounds) = match step.pattern {
            BenchPattern::Positions => (0, self.grid.zones * RUN_REQUESTS),
            _ => (queue.min(step.time.0), ROUNDS_MIN),
        };
        let measured = step.time.0.max(queue.saturating_mul(rounds));
        (filling.saturating_add(measured)).min(step.time.0.saturating_mul(LONG)).saturating_add(queue)
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
