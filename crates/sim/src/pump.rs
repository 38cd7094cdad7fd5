//! The virtual-time pump: runs a machine against a modelled disk and its foreground, and measures the exact slowdown.
//!
//! It is the same loop as the real one: report what happened to the machine, a tick last; take operations until it has
//! none; go to the next moment that matters. The disk has one queue, first come, first served: a verification that has
//! begun is finished, and foreground requests that arrive meanwhile wait for it and for each other.
//!
//! In parallel to the disk runs its *shadow*: the same server with the same foreground and no scrub. A request's
//! slowdown is its response time at the disk minus that at the shadow, exact to the nanosecond; requests queued behind
//! a delayed one are included.

mod op;
mod report;

pub use report::{ForegroundFigures, RunEnd, RunReport, Scrubbed};

use crate::disk::SimulatedDisk;
use crate::source::{OpenLoop, RequestSource};
use op::OpAtDisk;
use scrubjay_core::scrub::disk_server::{DiskServer, ForegroundRequest, Served};
use scrubjay_core::scrub::imagined::ImaginedDisk;
use scrubjay_core::scrub::machine::{Event, Machine, Op};
use scrubjay_core::scrub::recording::{Recording, RecordingEntry};
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::units::{Nanos, Sector};
use std::collections::VecDeque;

/// Operations that a machine may have at the disk, at most: with more the machine is broken, not busy.
const OPS_MAX: usize = 1024;
/// Rounds in a row without time passing or an operation being given, at most: with more the machine spins.
const IDLE_ROUNDS_MAX: u32 = 1000;

/// When the machine learns of foreground events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForegroundSight {
    /// At once: every arrival and completion wakes it. A scrubber inside the kernel could do that.
    Live,
    /// Just before its next decision, and once in `period` while there are events: as the real pump does it.
    Drained {
        /// The time between two looks, greater than zero.
        period: Nanos,
    },
}

impl Default for ForegroundSight {
    /// As the real pump has it: looks every 100 ms at least.
    fn default() -> ForegroundSight {
        ForegroundSight::Drained { period: Nanos::from_millis(100) }
    }
}

/// A disk and its foreground, ready for a machine.
#[derive(Debug)]
pub struct SimulatedPump<S: RequestSource> {
    disk: SimulatedDisk,
    foreground: S,
    sight: ForegroundSight,
    /// How long every request takes to the disk, and its answer back.
    path: [Nanos; 2],
    until: Nanos,
    recording: Option<Recording>,
    shadow: DiskServer,
    /// When each foreground request at the disk will complete, ascending.
    completions: VecDeque<Nanos>,
    /// Operations at the disk, in the order of their end.
    ops: VecDeque<OpAtDisk>,
    report: RunReport,
    slowdowns: Vec<Nanos>,
    /// What all foreground requests have lost so far by the scrub request that was met last.
    lost_by_last: Nanos,
    /// Was the last request at the disk one of the scrub?
    was_scrub_last: bool,
    /// Where the last scrub request ended.
    ends_at: Sector,
    /// What serves scrub requests in place of the disk, where they are only imagined.
    imagined: Option<ImaginedDisk>,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct PumpRun {
    /// The figures of the scrub and of the foreground.
    pub report: RunReport,
    /// All events that the machine received and operations that it gave; empty unless the run was [`SimulatedPump::recorded`].
    pub recording: Recording,
    /// The slowdown of each foreground request, in the order of arrival; empty unless the run was recorded.
    pub slowdowns: Vec<Nanos>,
}

impl<I: Iterator<Item = ForegroundRequest>> SimulatedPump<OpenLoop<I>> {
    /// A run that ends when the machine is done, with the sight of the real pump, not recorded. A machine that is never
    /// done in an endless foreground needs [`SimulatedPump::until`].
    pub fn new(disk: SimulatedDisk, foreground: impl IntoIterator<IntoIter = I>) -> SimulatedPump<OpenLoop<I>> {
        SimulatedPump::with_source(disk, OpenLoop::new(foreground))
    }
}

impl<S: RequestSource> SimulatedPump<S> {
    /// A run like that of [`SimulatedPump::new`], with any source of foreground requests.
    pub fn with_source(disk: SimulatedDisk, foreground: S) -> SimulatedPump<S> {
        SimulatedPump {
            disk,
            foreground,
            sight: ForegroundSight::default(),
            path: [Nanos::ZERO; 2],
            until: Nanos::MAX,
            recording: None,
            shadow: DiskServer::default(),
            completions: VecDeque::new(),
            ops: VecDeque::new(),
            report: RunReport::default(),
            slowdowns: Vec::new(),
            lost_by_last: Nanos::ZERO,
            was_scrub_last: false,
            ends_at: Sector(0),
            imagined: None,
        }
    }

    /// Sends no scrub request to the disk, as a watch does that only observes: an imagined disk answers.
    pub fn observing(self, is_rotational: bool) -> SimulatedPump<S> {
        SimulatedPump { imagined: Some(ImaginedDisk::new(is_rotational)), ..self }
    }

    /// Ends the run at `until` if the machine is not done by then.
    pub fn until(self, until: Nanos) -> SimulatedPump<S> {
        SimulatedPump { until, ..self }
    }

    /// Sets the [`ForegroundSight`].
    ///
    /// # Panics
    /// When the period between two looks is zero.
    pub fn sight(self, sight: ForegroundSight) -> SimulatedPump<S> {
        assert!(sight != ForegroundSight::Drained { period: Nanos::ZERO }, "time must pass between two looks");
        SimulatedPump { sight, ..self }
    }

    /// Gives every request, scrub or foreground, a time to travel `to_disk` and `from_disk`, during which the disk serves
    /// others.
    pub fn with_travel_time(self, to_disk: Nanos, from_disk: Nanos) -> SimulatedPump<S> {
        SimulatedPump { path: [to_disk, from_disk], ..self }
    }

    /// Records the run. The recording grows with every event: use it for runs that are bounded otherwise.
    pub fn recorded(self) -> SimulatedPump<S> {
        SimulatedPump { recording: Some(Recording::new()), ..self }
    }

    /// Runs the machine, from time zero to the end.
    ///
    /// # Panics
    /// When the foreground's arrivals run backwards, or the machine breaks its contract: it asks for sectors that are
    /// not there, for more than 1024 operations at once, or to be woken again and again without time passing.
    pub fn run(mut self, machine: &mut impl Machine) -> PumpRun {
        let (mut now, mut idle_rounds) = (Nanos::ZERO, 0);
        let end = loop {
            self.deliver_all(machine, now);
            let given = self.take(machine, now);
            if machine.is_done() && self.ops.is_empty() {
                break RunEnd::Done;
            }
            let Some(wake) = self.wake(machine, now) else { break RunEnd::Stuck };
            if wake >= self.until {
                now = self.until;
                break RunEnd::TimeUp;
            }
            idle_rounds = if wake > now || given > 0 { 0 } else { idle_rounds + 1 };
            assert!(idle_rounds <= IDLE_ROUNDS_MAX, "the machine spins at {} ns", now.0);
            now = wake;
        };
        self.drain(now);
        self.report.end = end;
        self.report.elapsed = now;
        PumpRun { report: self.report, recording: self.recording.unwrap_or_default(), slowdowns: self.slowdowns }
    }

    /// Reports all that happened up to `now`: the foreground, then the scrub's own completions, then a tick.
    fn deliver_all(&mut self, machine: &mut impl Machine, now: Nanos) {
        while let Some(at) = self.foreground_next().filter(|&at| at <= now) {
            // If both happen at once, the disk is free before it is busy again.
            let event = if self.completions.front() == Some(&at) {
                self.completions.pop_front();
                Event::ForegroundCompleted { at, count: 1 }
            } else {
                self.admit();
                Event::ForegroundArrived { at, count: 1 }
            };
            self.deliver(machine, now, event);
        }
        while let Some(op) = self.ops.front().copied().filter(|op| op.finished <= now) {
            self.ops.pop_front();
            self.report.scrub.add(&op);
            let OpAtDisk { id, outcome, started, finished, .. } = op;
            self.deliver(machine, now, Event::Completed { id, outcome, started, finished });
        }
        self.deliver(machine, now, Event::Tick);
    }

    fn deliver(&mut self, machine: &mut impl Machine, now: Nanos, event: Event) {
        if let Some(recording) = &mut self.recording {
            recording.push(RecordingEntry::Handled { now, event });
        }
        machine.handle(now, event);
    }

    /// Takes operations until the machine has none, and puts them into the disk's queue. Returns their number.
    fn take(&mut self, machine: &mut impl Machine, now: Nanos) -> usize {
        let before = self.ops.len();
        while let Some(op) = machine.poll_op(now) {
            if let Some(recording) = &mut self.recording {
                recording.push(RecordingEntry::Issued { now, op });
            }
            let Op::Verify { id, range } = op;
            if let Some(imagined) = &mut self.imagined {
                let Served { started, finished } = imagined.serve(now, range);
                let outcome = VerifyOutcome::Clean;
                self.ops.push_back(OpAtDisk { id, range, outcome, started, finished, hit: false });
                continue;
            }
            let outcome = self.disk.verify(range);
            let must_seek = !self.was_scrub_last || range.start != self.ends_at;
            let service = self.disk.work(now, range.bytes(), must_seek);
            self.ends_at = range.end;
            self.was_scrub_last = true;
            let [to_disk, from_disk] = self.path;
            let served = self.disk.server().serve(now + to_disk, service);
            let (started, finished) = (served.started - to_disk, served.finished + from_disk);
            self.ops.push_back(OpAtDisk { id, range, outcome, started, finished, hit: false });
            assert!(self.ops.len() <= OPS_MAX, "the machine floods the disk");
        }
        self.ops.len() - before
    }

    /// The next moment at which the machine must be notified or polled; `None`: never.
    fn wake(&mut self, machine: &impl Machine, now: Nanos) -> Option<Nanos> {
        let completion = self.ops.front().map(|op| op.finished);
        let timeout = machine.poll_timeout(now).filter(|&at| at < Nanos::MAX).map(|at| at.max(now));
        let next_look = self.foreground_next().map(|at| match self.sight {
            ForegroundSight::Live => at,
            // Looks that would see nothing are left out.
            ForegroundSight::Drained { period } => {
                let looks = at.since(now).0.div_ceil(period.0).max(1);
                now.saturating_add(Nanos(period.0.saturating_mul(looks)))
            }
        });
        [completion, timeout, next_look].into_iter().flatten().min()
    }

    /// The time of the foreground's next arrival or completion.
    fn foreground_next(&mut self) -> Option<Nanos> {
        let arrival = self.foreground.next_at();
        arrival.into_iter().chain(self.completions.front().copied()).min()
    }

    /// Puts the next foreground request into the queues of the disk and of its shadow.
    fn admit(&mut self) {
        let Some(request) = self.foreground.take() else { return };
        let at = request.at;
        let idle = at.since(self.shadow.free());
        let [to_disk, from_disk] = self.path;
        let undelayed = self.shadow.serve(at + to_disk, request.service).finished + from_disk;
        let served = self.disk.server().serve(at + to_disk, request.service).finished + from_disk;
        self.completions.push_back(served);
        self.foreground.answered(served);
        self.was_scrub_last = false;
        if let Some(next) = self.foreground.next_at() {
            assert!(at <= next, "the foreground's arrivals run backwards at {} ns", next.0);
        }

        let mut hit = self.ops.iter_mut().filter(|op| op.started <= at && at < op.finished);
        let was_hit = hit.next().map(|op| std::mem::replace(&mut op.hit, true));
        let slowdown = served - undelayed;
        self.lost_by_last = if was_hit == Some(false) { slowdown } else { self.lost_by_last + slowdown };
        self.report.foreground.add(idle, undelayed - at, slowdown, was_hit.is_some());
        self.report.foreground.slowdown_by_one_request =
            self.report.foreground.slowdown_by_one_request.max(self.lost_by_last);
        if self.recording.is_some() {
            self.slowdowns.push(slowdown);
        }
    }

    /// After the end, takes foreground requests until none is delayed by the scrub any more, or, if the foreground
    /// never leaves the disk idle, for as long as the run was.
    fn drain(&mut self, end: Nanos) {
        while let Some(at) = self.foreground.next_at() {
            let delayed = at < self.disk.server().free() && self.shadow.free() < self.disk.server().free();
            if at >= end && (!delayed || at >= end + end) {
                break;
            }
            self.admit();
        }
    }
}

#[cfg(test)]
mod tests;
