//! The scrubber: joins a tour (which range), an idle policy (when) and escalation (what out of turn) into one machine.
//!
//! ```text
//! foreground events, completions -> Scrub -> Verify{range} -> a pump -> a disk
//!                                     |
//!                                     +-> Report, Pass and Coverage to be saved
//! ```
//!
//! It accesses no disk and no clock, and it never writes. It declares a sector unreadable only after a request for that block
//! alone failed, and it does not stop at the first error.

pub mod coverage;
pub mod disk_server;
mod escalate;
mod failures;
mod forecast;
mod foreground;
pub mod idle;
pub mod imagined;
mod latency;
pub mod machine;
mod measured;
mod overlap;
mod pass;
pub mod recording;
mod report;
pub mod saved;
mod spared;
pub mod tour;
pub mod verdict;
pub mod work;

pub use forecast::Forecast;
pub use latency::ForegroundLatency;
pub use pass::{EndedPass, Pass, TRANSIENT, Tallies};
pub use report::{ScrubActivity, ScrubReport, ScrubState};

use crate::finding::Finding;
use crate::range_set::RangeSet;
use crate::scrub::coverage::Coverage;
use crate::scrub::idle::{AccessPattern, DiskView, IdlePolicy, Observed, PolicyState, SavedObservations, ServiceTimes};
use crate::scrub::machine::{Event, Machine, Op, OpId};
use crate::scrub::tour::{ScanOrder, SegmentPlace};
use crate::scrub::verdict::{Cause, Unreadable, VerifyOutcome};
use crate::surface::visit::Visit;
use crate::units::{Bytes, Nanos, SECTOR_BYTES, Sector, SectorRange, UnixSeconds};
use escalate::{Escalation, ROOTS_MAX, Root};
use failures::{FailureStep, Failures};
use foreground::ForegroundTracker;
use measured::{OwnTiming, VisitRecorder};
use spared::SparedPlaces;

/// The pause before a range whose verification was inconclusive is asked for again.
const RETRY_PAUSE: Nanos = Nanos::from_millis(500);

/// Checks for foreground arrivals per idle interval of mean length, while the scrub waits for its turn.
const LOOKS: f64 = 16.0;
/// The shortest time between two such checks: each of them wakes the processor.
const LOOK_MIN: Nanos = Nanos::from_millis(1);
/// The longest time between two such checks.
const LOOK_MAX: Nanos = Nanos::from_millis(50);

/// What to scrub and how. The idle policy and the scan order are separate machines, passed to [`Scrub::new`].
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The range to verify, inside the disk; a multiple of the granule at both ends.
    pub range: SectorRange,
    /// Sectors in the disk's smallest block, at which bisection ends.
    pub granule: u64,
    /// Scrub requests at the disk at the same time, at most: 1 or more; 1 on a rotating disk.
    pub depth: usize,
    /// The longest that one scrub request delays a foreground request, where the foreground is served in the midst of it.
    /// `None`: to the end of the scrub request, as at a disk.
    pub held_max: Option<Nanos>,
    /// The pump's time at which the date was `today`.
    pub started: Nanos,
    /// The date at `started`.
    pub today: UnixSeconds,
}

/// The scrubbing machine.
#[derive(Debug)]
pub struct Scrub {
    config: Config,
    order: Box<dyn ScanOrder>,
    policy: Box<dyn IdlePolicy>,
    coverage: Coverage,
    pass: Pass,
    /// Sectors done, at the disk, or waiting in the escalation: the tour must not hand them out.
    claimed: RangeSet,
    step: u64,
    escalation: Escalation,
    foreground: ForegroundTracker,
    seen: Observed,
    in_flight: Vec<OwnRequest>,
    next_id: u64,
    last: Option<(Nanos, Nanos)>,
    failures: Failures,
    retry_at: Nanos,
    state: ScrubState,
    requested: u64,
    verified: u64,
    /// The total time that scrub requests were at the disk, and the time up to which it is computed.
    reading: (Nanos, Nanos),
    /// Whether every range that is left is at the disk.
    is_handed_out: bool,
    /// The size that the policy allowed for the last request.
    size_allowed: Option<Bytes>,
    /// Where the last request ended.
    ends_at: Option<Sector>,
    /// Whether the tour's next range begins there.
    is_next_adjacent: bool,
    roots: Vec<Root>,
    measured: VisitRecorder,
    spared: SparedPlaces,
}

#[derive(Clone, Copy, Debug)]
struct OwnRequest {
    id: OpId,
    range: SectorRange,
    access: AccessPattern,
    issued: Nanos,
    /// The total idle time of the disk up to `issued`.
    idle: Nanos,
}

impl Scrub {
    /// Begins or continues a pass. The grid is the coverage map's.
    ///
    /// # Panics
    /// When the range is empty, not inside the disk, or not a multiple of the granule; or the depth is zero.
    pub fn new(
        config: Config,
        order: Box<dyn ScanOrder>,
        policy: Box<dyn IdlePolicy>,
        mut coverage: Coverage,
        mut pass: Pass,
    ) -> Scrub {
        let Config { range, granule, depth, .. } = config;
        assert!(!range.is_empty() && range.end <= coverage.grid().disk().end, "the range lies inside the disk");
        assert!(
            granule > 0 && range.start.0.is_multiple_of(granule) && range.end.0.is_multiple_of(granule),
            "whole blocks"
        );
        assert!(depth > 0, "one request at a time at least");
        if pass.begun.0 == 0 {
            pass.begun = config.today;
        }
        pass.keep_whole_blocks(granule);
        resume_coverage(&mut coverage, &pass, range);
        let state = if pass.done.covers(range) { ScrubState::Complete } else { ScrubState::Running };
        Scrub {
            claimed: pass.done.clone(),
            foreground: ForegroundTracker::new(config.started, config.held_max),
            config,
            order,
            policy,
            coverage,
            pass,
            step: 0,
            escalation: Escalation::default(),
            seen: Observed { service: ServiceTimes::held_up_to(config.held_max), ..Observed::default() },
            in_flight: Vec::new(),
            next_id: 0,
            last: None,
            failures: Failures::default(),
            retry_at: Nanos::ZERO,
            state,
            requested: 0,
            verified: 0,
            reading: (Nanos::ZERO, Nanos::ZERO),
            is_handed_out: false,
            size_allowed: None,
            ends_at: None,
            is_next_adjacent: false,
            roots: Vec::new(),
            measured: VisitRecorder::default(),
            spared: SparedPlaces::default(),
        }
    }

    /// The pass so far, to be saved.
    pub fn pass(&self) -> &Pass {
        &self.pass
    }

    /// The coverage map so far, to be saved.
    pub fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// What was measured in each segment since this was asked the last time; once the scrub has ended, or `is_last`, all of it.
    pub fn take_visits(&mut self, is_last: bool) -> Vec<(SegmentPlace, Visit)> {
        self.measured.take(is_last || self.state != ScrubState::Running)
    }

    /// The observations that the policy decides by.
    pub fn seen(&self) -> &Observed {
        &self.seen
    }

    /// The observations to be saved for the next run.
    pub fn learnt(&self, now: Nanos) -> SavedObservations {
        SavedObservations::of(&self.seen, self.policy.periodicity(), self.date(now))
    }

    /// Begins with the observations of an earlier run; to be called before any event is handled.
    pub fn recall(&mut self, learnt: &SavedObservations) {
        let Config { started, today, held_max, .. } = self.config;
        self.seen = learnt.recalled(started, today, held_max);
        if let Some(periodicity) = learnt.periodicity() {
            self.policy.recall(periodicity);
        }
        self.policy.learn(started, &self.seen);
    }

    /// Lets `policy` decide from now on. It receives the observations so far; the account of a latency budget starts again.
    pub fn change_policy(&mut self, now: Nanos, policy: Box<dyn IdlePolicy>) {
        self.policy = policy;
        self.policy.learn(now, &self.seen);
    }

    /// Leaves a place to the end of the pass, as far as it is not read yet: its requests are known to stall the drive. Whole regions.
    pub fn spare(&mut self, place: SectorRange) {
        let place = place.intersection(self.config.range);
        while let Some(gap) = self.claimed.first_gap(place) {
            self.claimed.insert(gap);
            self.spared.add(gap);
            self.escalation.put_off(gap);
        }
    }

    /// Whether the scrub is running, or why it has ended.
    pub fn state(&self) -> ScrubState {
        self.state
    }

    /// Counts `range` as verified: the pump is sure that another program has just read it from the medium without an error.
    pub fn credit(&mut self, now: Nanos, range: SectorRange) {
        let range = range.intersection(self.config.range);
        let mut start = range.start;
        while start < range.end {
            let region = self.coverage.grid().region(self.coverage.grid().region_of(start));
            let part = SectorRange { start, end: range.end }.intersection(region);
            self.claimed.insert(part);
            self.record_verdict(now, part);
            start = part.end;
        }
    }

    /// A snapshot of the scrub at `now`.
    pub fn report(&self, now: Nanos) -> ScrubReport {
        let setting = self.policy.state();
        // In its cautious beginning a policy has no fixed size: each request may have a different one.
        let size = self.size_allowed.filter(|_| setting.cautious).unwrap_or(setting.size);
        let setting = PolicyState { size, ..setting };
        let elapsed = now.since(self.config.started);
        let idle_now = self.foreground.idle_now(now);
        let bad: Vec<Unreadable> = self
            .pass
            .unreadable
            .iter()
            .map(|(&start, &(count, cause))| Unreadable { range: SectorRange::at(start, count), cause })
            .collect();
        let bad_sectors: u64 = bad.iter().map(|found| found.range.count()).sum();
        let (mismatched, unreadable): (Vec<_>, Vec<_>) =
            bad.into_iter().partition(|found| found.cause == Cause::Mismatch);
        let done = self.pass.done.count_in(self.config.range);
        let rest = Bytes((self.config.range.count() - done) * SECTOR_BYTES);
        let (unanswered, unanswered_cause) = self.failures.unanswered();
        let activity = match self.state {
            ScrubState::Running if self.in_flight.is_empty() => ScrubActivity::Waiting,
            ScrubState::Running => ScrubActivity::Reading,
            _ => ScrubActivity::Ended,
        };
        ScrubReport {
            state: self.state,
            activity,
            waits_for: (activity == ScrubActivity::Waiting).then(|| self.policy.waits_for(&self.view(now), &self.seen)),
            bytes: self.config.range.bytes(),
            bytes_verified: Bytes((done - bad_sectors.min(done)) * SECTOR_BYTES),
            bytes_requested: Bytes(self.requested * SECTOR_BYTES),
            reading: self.reading.0,
            unreadable,
            mismatched: mismatched.into_iter().map(|found| found.range).collect(),
            transient_errors: self.pass.transient_errors,
            transient_cause: self.pass.transient_cause,
            corrected: self.pass.corrected,
            found_only: self.pass.found_only,
            unrepaired: self.pass.findings.unrepaired(),
            transient: self.pass.findings.transient(),
            unanswered,
            unanswered_cause,
            spared: self.spared.bytes(),
            bytes_verified_now: Bytes(self.verified * SECTOR_BYTES),
            in_flight_for: self.in_flight.iter().map(|op| now.since(op.issued)).max().unwrap_or_default(),
            elapsed,
            foreground_requests: self.seen.workload.requests,
            slowdown: self.seen.slowdown.clone(),
            latency: self.foreground.latency(),
            idle: self.seen.workload.idle_total + idle_now,
            idle_longest: Nanos::from_secs_f64(self.seen.workload.idle.moments().max).max(idle_now),
            setting,
            forecast: {
                let model = forecast::forecast(rest, &self.seen, &setting, elapsed, idle_now);
                forecast::widened_by_progress(model, rest, Bytes(self.verified * SECTOR_BYTES), elapsed)
            },
            oldest_unread_seconds: self.coverage.oldest_unread_seconds(self.config.range, self.date(now)),
        }
    }

    /// When to check for foreground arrivals: soon enough, relative to the mean idle interval, to notice the end of this one.
    fn next_look(&self, now: Nanos) -> Nanos {
        if !self.policy.state().in_idle_only || self.seen.workload.intervals == 0 {
            return Nanos::MAX;
        }
        let span = Nanos::from_secs_f64(self.seen.workload.idle.moments().mean() / LOOKS);
        now.saturating_add(span.clamp(LOOK_MIN, LOOK_MAX))
    }

    fn date(&self, now: Nanos) -> UnixSeconds {
        UnixSeconds(self.config.today.0 + now.since(self.config.started).0 / 1_000_000_000)
    }

    fn view(&self, now: Nanos) -> DiskView {
        let (own_finished, own_service) = self.last.unwrap_or_default();
        let (outstanding, idle_since) = (self.foreground.outstanding(), self.foreground.idle_since());
        let is_of_interval = self.last.is_some() && own_finished.since(own_service) >= idle_since;
        let own_size = self.size_allowed.filter(|_| is_of_interval);
        let is_head_there = outstanding == 0 && own_size.is_some() && self.is_next_adjacent;
        let access = if is_head_there { AccessPattern::Sequential } else { AccessPattern::Random };
        DiskView { now, outstanding, idle_since, own_finished, own_service, own_size, access }
    }

    /// The next range to verify, at most `sectors_max` long: of suspects, escalated regions, the tour, ranges put off, in this order.
    fn next_range(&mut self, sectors_max: u64) -> Option<SectorRange> {
        if let Some(suspect) = self.escalation.next_suspect(self.config.granule, sectors_max) {
            return Some(suspect);
        }
        let (grid, claimed, scrub_range) = (*self.coverage.grid(), &self.claimed, self.config.range);
        let escalated =
            self.escalation.next_region(|region| claimed.first_gap(grid.region(region).intersection(scrub_range)));
        if let Some(gap) = escalated.or_else(|| self.next_of_tour()) {
            let range = SectorRange::at(gap.start.0, gap.count().min(sectors_max));
            self.claimed.insert(range);
            return Some(range);
        }
        let next = self.escalation.first_put_off()?;
        self.escalation.next_put_off(self.spared.limit(next, sectors_max, self.config.granule), &grid)
    }

    /// What is read next, if it is a suspect, or what was put off.
    fn put_off_next(&mut self) -> Option<SectorRange> {
        if let Some(suspect) = self.escalation.first_suspect() {
            return Some(suspect);
        }
        let next = self.escalation.first_put_off()?;
        let (grid, claimed, range) = (*self.coverage.grid(), &self.claimed, self.config.range);
        let gap = |region| claimed.first_gap(grid.region(region).intersection(range));
        (self.escalation.next_region(gap).is_none() && self.next_of_tour().is_none()).then_some(next)
    }

    fn next_of_tour(&mut self) -> Option<SectorRange> {
        let grid = *self.coverage.grid();
        while self.step < grid.step_count() {
            let segment = grid.segment(self.order.place_at(&grid, self.step)).intersection(self.config.range);
            if let Some(gap) = self.claimed.first_gap(segment) {
                return Some(gap);
            }
            self.step += 1;
        }
        None
    }

    fn on_completed(&mut self, now: Nanos, id: OpId, outcome: VerifyOutcome, started: Nanos, finished: Nanos) {
        let at = self.in_flight.iter().position(|op| op.id == id).expect("only operations that were given complete");
        let OwnRequest { range, access, idle, issued, .. } = self.in_flight.swap_remove(at);
        let idle = self.foreground.idle_by(finished, &self.seen).since(idle);
        let service = self.foreground.own_service(finished.since(started), idle);
        self.foreground.account(started, finished, &mut self.seen.slowdown);
        let (reading, until) = self.reading;
        self.reading = (reading + finished.since(started.max(until)), until.max(finished));
        self.last = Some((finished, finished.since(started)));
        match outcome {
            VerifyOutcome::Clean => {
                self.seen.service.add(range.bytes(), access, service, finished);
                if self.config.depth == 1 && idle >= finished.since(issued) {
                    self.measure(now, range, access, finished.since(started));
                }
                self.on_verified(now, range);
            }
            // The service times of these say nothing about the next request's.
            VerifyOutcome::Unwritten => self.on_verified(now, range),
            VerifyOutcome::Corrected(rows) => {
                self.pass.corrected += u64::from(rows);
                self.on_verified(now, range);
            }
            VerifyOutcome::Unreadable(cause) => {
                self.failures.on_answered(range);
                self.on_unreadable(now, range, cause);
            }
            VerifyOutcome::Inconclusive(cause) => match self.failures.on_failed(range, cause) {
                FailureStep::Again => {
                    self.escalation.retry(range);
                    self.retry_at = now + RETRY_PAUSE;
                }
                FailureStep::LeaveOut if self.next_of_tour().is_some() => self.put_off_segment(range),
                FailureStep::LeaveOut => self.failures.leave_out(range),
                FailureStep::GiveUp => self.state = ScrubState::Failed(cause),
            },
            VerifyOutcome::Gone => self.state = ScrubState::Gone,
        }
    }

    /// Notes how long a request took that had the disk for itself.
    fn measure(&mut self, now: Nanos, range: SectorRange, access: AccessPattern, time: Nanos) {
        let place = self.coverage.grid().place_of(range.start);
        let hour = self.date(now).0.saturating_sub(self.pass.begun.0) / 3600;
        let is_next = access == AccessPattern::Sequential;
        self.measured.add(OwnTiming { place, bytes: range.bytes(), time, is_next, hour });
    }

    fn on_verified(&mut self, now: Nanos, range: SectorRange) {
        self.failures.on_answered(range);
        self.escalation.on_clean(range);
        self.verified += range.count();
        self.record_verdict(now, range);
    }

    fn on_unreadable(&mut self, now: Nanos, range: SectorRange, cause: Cause) {
        if range.count() <= self.config.granule {
            self.pass.add_unreadable(range, cause);
            self.escalation.on_unreadable_block(range, self.coverage.grid());
            self.roots.iter_mut().filter(|root| root.range.contains(range.start)).for_each(|root| root.found = true);
            self.record_verdict(now, range);
            return;
        }
        if !self.roots.iter().any(|root| root.range.contains(range.start)) && self.roots.len() < ROOTS_MAX {
            self.roots.push(Root { range, cause, found: false });
        }
        if self.escalation.is_area_dead() && self.next_of_tour().is_some() {
            self.put_off_segment(range);
        } else {
            self.escalation.bisect(range, self.config.granule);
        }
    }

    /// Puts off `range`, and the part of its segment that is not yet claimed, to the end of the pass.
    fn put_off_segment(&mut self, range: SectorRange) {
        let grid = *self.coverage.grid();
        self.escalation.put_off(range);
        let segment = grid.segment(grid.place_of(range.start)).intersection(self.config.range);
        while let Some(gap) = self.claimed.first_gap(segment) {
            self.claimed.insert(gap);
            self.escalation.put_off(gap);
        }
    }

    /// Records that every sector of `range`, which lies in one region, has a verdict.
    fn record_verdict(&mut self, now: Nanos, range: SectorRange) {
        let today = self.date(now);
        let grid = *self.coverage.grid();
        let index = grid.region_of(range.start);
        let region = grid.region(index);
        assert!(range.end <= region.end, "requests lie inside one region");
        let region = region.intersection(self.config.range);
        self.pass.done.insert(range);
        self.coverage.touch(index, today);
        if self.pass.done.covers(region) {
            let unreadable = self.pass.unreadable_in(region);
            self.coverage.complete(index, today, unreadable as u32);
        }
        let pass = &mut self.pass;
        self.roots.retain(|root| {
            let is_settled = pass.done.covers(root.range);
            if is_settled && !root.found {
                pass.transient_errors += 1;
                pass.transient_cause.get_or_insert(root.cause);
            }
            !is_settled
        });
        if self.pass.done.covers(self.config.range) {
            self.state = ScrubState::Complete;
        }
    }
}

/// Brings a coverage map in line with the pass that is continued: the map may be new, or have another grid.
///
/// A region that is done in part was begun with the pass at the latest; a region that is all done was verified at that time. Both
/// dates are the earliest possible.
fn resume_coverage(coverage: &mut Coverage, pass: &Pass, range: SectorRange) {
    let grid = *coverage.grid();
    for region in 0..grid.region_count() {
        let part = grid.region(region).intersection(range);
        let done = pass.done.count_in(part);
        let is_complete = done > 0 && done == part.count();
        if is_complete && coverage.region(region).verified >= pass.begun {
            continue;
        }
        if done > 0 {
            coverage.touch(region, pass.begun);
        }
        if is_complete {
            coverage.complete(region, pass.begun, pass.unreadable_in(part) as u32);
        }
    }
}

impl Machine for Scrub {
    fn handle(&mut self, now: Nanos, event: Event) {
        match event {
            Event::ForegroundArrived { at, count } => {
                self.foreground.arrived(at, count, &mut self.seen);
            }
            Event::ForegroundCompleted { at, count } => self.foreground.completed(at, count),
            Event::ForegroundDrained { at } => self.foreground.drained(at),
            Event::ForegroundCounted { .. } => {
                self.foreground.counted();
                self.seen.slowdown.is_estimate = true;
            }
            Event::Completed { id, outcome, started, finished } => {
                self.is_handed_out = false;
                self.on_completed(now, id, outcome, started, finished);
            }
            Event::Tick => return,
        }
        if self.in_flight.is_empty() {
            self.foreground.account_rest(&mut self.seen.slowdown);
        }
        self.seen.slowdown.note_mean(self.seen.workload.requests);
        self.policy.learn(now, &self.seen);
    }

    fn found(&mut self, now: Nanos, finding: Finding) {
        let since = self.date(now);
        self.pass.findings.add(Finding { since, ..finding });
    }

    fn poll_op(&mut self, now: Nanos) -> Option<Op> {
        if self.state != ScrubState::Running || self.in_flight.len() >= self.config.depth || now < self.retry_at {
            return None;
        }
        let view = self.view(now);
        let decision = self.policy.decide(&view, &self.seen);
        if decision.not_before > now {
            return None;
        }
        if let Some(next) = self.put_off_next()
            && self.spared.has_to_wait(now, next, self.foreground.idle_now(now))
        {
            return None;
        }
        self.size_allowed = Some(decision.size);
        let blocks = decision.size.0 / SECTOR_BYTES / self.config.granule;
        let Some(range) = self.next_range(blocks.max(1) * self.config.granule) else {
            self.is_handed_out = true;
            if let (true, Some(cause)) = (self.in_flight.is_empty(), self.failures.cause()) {
                self.state = ScrubState::Failed(cause); // every sector has a verdict, except in the ranges left out
            }
            return None;
        };
        let id = OpId(self.next_id);
        self.next_id += 1;
        self.requested += range.count();
        let is_head_there = view.access == AccessPattern::Sequential && self.ends_at == Some(range.start);
        let access = if is_head_there { AccessPattern::Sequential } else { AccessPattern::Random };
        let idle = self.foreground.idle_by(now, &self.seen);
        self.in_flight.push(OwnRequest { id, range, access, issued: now, idle });
        // Suspects and ranges put off lie elsewhere, but they are few.
        self.ends_at = Some(range.end);
        self.is_next_adjacent = self.next_of_tour().is_some_and(|gap| gap.start == range.end);
        Some(Op::Verify { id, range })
    }

    fn poll_timeout(&self, now: Nanos) -> Option<Nanos> {
        let is_full = self.in_flight.len() >= self.config.depth || self.is_handed_out;
        if self.state != ScrubState::Running || is_full {
            return None;
        }
        let decision = self.policy.decide(&self.view(now), &self.seen);
        let again = self.retry_at.max(self.spared.waits_until());
        Some(decision.not_before.min(self.next_look(now)).max(again).max(now))
    }

    fn is_done(&self) -> bool {
        self.state != ScrubState::Running && self.in_flight.is_empty()
    }
}

#[cfg(test)]
mod tests;
