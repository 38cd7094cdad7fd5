//! Work that runs by itself, inside the budget: a program, or a checker that cannot be asked for a range.
//!
//! ```text
//! foreground events, requests of the work, frozen, thawed -> Work -> GoOn, Hold -> a pump -> the work
//!                                                             |
//!                                                             +-> WorkReport
//! ```
//!
//! A scrub sends requests, so it knows when each ends. Such work sends its own: all that can be had is that it is held, and goes on.
//! Holding takes time: what it has sent ends, and an arrival is seen only at the next look. That time is learnt ([`HoldTimes`]).
//!
//! The idle policies plan requests, so time is cut into *slices*, and a slice is a request to them. At the beginning of a run the disk has
//! to seek, so a hold takes longer then; the first slice takes that hold time and a later one, each further slice adds a later one. The
//! order to hold is given one later hold time before a slice ends, unless the policy would send the next at its end. An arrival ends a slice
//! at once; so it loses one hold time at the most, however long the slice is. That is what the policies already know of a step of md's check
//! ([`ServiceTimes`]).
//!
//! Some work takes seconds to hold, writes to the disk each time, and lets others pass meanwhile: ZFS's scrub. It runs for minutes and
//! is held for minutes ([`WorkHolding::Slowly`]), an arrival does not end that, and [`Spending`] decides.
//!
//! What a foreground request lost is computed from the requests of the work that were at the disk, as for those of a scrub.

mod hold_times;
mod order;
mod report;
mod spending;
#[cfg(test)]
mod tests;

pub use hold_times::HoldTimes;
pub use report::{WorkActivity, WorkReport};
pub use spending::Spending;

use order::{HoldUnderWay, Met, OwnAtDisk, Slice, WorkOrder};

use super::foreground::ForegroundTracker;
use super::idle::{AccessPattern, DiskView, IdlePolicy, Observed, ObservedWorkload, ServiceTimes, SliceTime};
use super::machine::Event;
use crate::units::Nanos;

/// How long work that was held for as long as it may be goes on, whatever the foreground does.
const RESPITE: Nanos = Nanos::from_millis(200);
/// The pump looks for arrivals this often while the work runs: one that is not seen is not spared.
const LOOK: Nanos = Nanos::from_millis(1);
/// Work that takes seconds to hold is looked at this often.
const LOOK_SLOWLY: Nanos = Nanos::from_millis(500);
/// A slice of such work that follows another takes so long, beside the hold time.
const STEP_SLOWLY: Nanos = Nanos::from_secs(10);
/// What a request is taken to lose beside such work before it was seen, and as how many requests that counts.
const LOSS_GUESS: (f64, f64) = (3e-3, 20.0);
/// The most that one request counts for there, in seconds.
const LOSS_MOST: f64 = 30e-3;
/// Until so many requests came beside such work it runs for [`TRIAL_SLOWLY`] at a time: what they lose is to be learnt before much is spent.
const TRIED: f64 = 100.0;
/// See [`TRIED`].
const TRIAL_SLOWLY: Nanos = Nanos::from_secs(10);
/// What has been frozen for so long has nothing at the disk any more, whatever was seen.
const UNSEEN: Nanos = Nanos::from_secs(5);
/// The same of work that takes seconds to hold.
const UNSEEN_SLOWLY: Nanos = Nanos::from_secs(30);
/// Work that others pass is charged for what they lost after so long, as soon as none of them is at the disk ...
const CUT: Nanos = Nanos::from_secs(1);
/// ... and after so long in any case.
const CUT_AT_LAST: Nanos = Nanos::from_secs(10);
/// What is held for so long without having run may be thought to take longer to hold than it does.
const FORGET: Nanos = Nanos::from_secs(2);
/// The pump looks at least this often while the order to hold is on its way.
const LOOK_HOLDING: Nanos = Nanos(200_000);

/// What to pace, and how.
#[derive(Clone, Copy, Debug)]
pub struct WorkConfig {
    /// The pump's time at the start.
    pub started: Nanos,
    /// The times that a hold is taken to need before some were seen, at the beginning of a run and later in it.
    pub hold_guess: [Nanos; 2],
    /// The longest that it is held without a respite; `None`: as long as it takes.
    pub longest: Option<Nanos>,
    /// How it can be held.
    pub holding: WorkHolding,
}

/// How work can be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkHolding {
    /// Within milliseconds: an arrival ends a slice.
    AtOnce,
    /// Within seconds, and at a price.
    Slowly {
        /// The shortest run.
        run: Nanos,
        /// The shortest rest.
        rest: Nanos,
    },
}

/// An event that the pump reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkEvent {
    /// Of the foreground; [`Event::Completed`] and [`Event::Tick`] mean nothing here.
    Foreground(Event),
    /// `count` requests of the work reached the disk.
    OwnArrived {
        /// When.
        at: Nanos,
        /// How many.
        count: u32,
    },
    /// `count` requests of the work were completed.
    OwnCompleted {
        /// When.
        at: Nanos,
        /// How many.
        count: u32,
    },
    /// No request of the work is at the disk, whatever the counts are.
    OwnDrained {
        /// When the last was completed, as far as is known.
        at: Nanos,
    },
    /// It is held: it sends nothing further.
    Frozen {
        /// Since when.
        at: Nanos,
    },
    /// The order to go on or to hold could not be carried out: it runs free.
    Free {
        /// Since when.
        at: Nanos,
    },
    /// Somebody waits for what the work keeps, such as a lock; or no longer does.
    Wanted(bool),
}

/// What the machine wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkOp {
    /// Let it run. It is taken to run from now on.
    GoOn,
    /// Hold it, and report [`WorkEvent::Frozen`].
    Hold,
}

/// The machine that lets work go on, and holds it.
#[derive(Debug)]
pub struct Work {
    config: WorkConfig,
    policy: Box<dyn IdlePolicy>,
    foreground: ForegroundTracker,
    seen: Observed,
    order: WorkOrder,
    own: OwnAtDisk,
    /// The foreground's first arrival since the disk was idle, while the work runs or is being held.
    met: Option<Met>,
    /// Hold times at the beginning of a run, and later in it.
    holds: [HoldTimes; 2],
    is_wanted: bool,
    /// When the last slice was to end, and how long it was.
    last: (Nanos, Nanos),
    /// The time it ran and the time it was held, up to `counted_to`.
    times: [Nanos; 2],
    counted_to: Nanos,
    held_longest: Nanos,
    respites: u64,
    /// Of work that is held slowly: the requests that came while it ran, and what they lost, in seconds; older ones count less.
    beside: [f64; 2],
    /// The number of requests and what was lost when that was counted.
    beside_counted: (u64, Nanos),
    /// When hold times were last forgotten.
    forgot_at: Nanos,
}

/// Requests beside which such losses are learnt count half after so many.
const BESIDE_MAX: f64 = 2000.0;

impl Work {
    /// The work is held.
    pub fn new(config: WorkConfig, policy: Box<dyn IdlePolicy>) -> Work {
        let holds = config.hold_guess.map(HoldTimes::new);
        let hold_times = holds.each_ref().map(HoldTimes::high);
        let service = ServiceTimes::of_slices(slices(config.holding, hold_times, LOSS_GUESS.0));
        let seen = Observed { service, ..Observed::default() };
        Work {
            foreground: ForegroundTracker::new(config.started, None),
            policy,
            seen,
            order: WorkOrder::Held { since: config.started },
            own: OwnAtDisk::default(),
            met: None,
            holds,
            is_wanted: false,
            last: (Nanos::ZERO, Nanos::ZERO),
            times: [Nanos::ZERO; 2],
            counted_to: config.started,
            held_longest: Nanos::ZERO,
            respites: 0,
            beside: [LOSS_GUESS.1, LOSS_GUESS.0 * LOSS_GUESS.1],
            beside_counted: (0, Nanos::ZERO),
            forgot_at: config.started,
            config,
        }
        .with_slices()
    }

    /// The foreground is that of other disks from now on: what was learnt of it counts no more, what it lost does. `policy` knows
    /// nothing yet.
    pub fn learn_anew(&mut self, policy: Box<dyn IdlePolicy>) {
        let ObservedWorkload { requests, idle_total, idle_last, idle_ended, .. } = self.seen.workload;
        self.seen.workload =
            ObservedWorkload { requests, idle_total, idle_last, idle_ended, ..ObservedWorkload::default() };
        self.policy = policy;
    }

    fn with_slices(mut self) -> Work {
        if self.config.holding != WorkHolding::AtOnce {
            self.set_slices();
        }
        self
    }

    /// Handles `event`, reported at `now`.
    pub fn handle(&mut self, now: Nanos, event: WorkEvent) {
        match event {
            WorkEvent::Foreground(event) => self.on_foreground(event),
            WorkEvent::OwnArrived { at, count } => {
                if self.own.outstanding == 0 {
                    self.own.since = at;
                }
                self.own.outstanding += u64::from(count);
                self.own.total += u64::from(count);
                return;
            }
            WorkEvent::OwnCompleted { at, count } => {
                self.own.completed = true;
                let before = self.own.outstanding;
                self.own.outstanding = before.saturating_sub(u64::from(count));
                if let Some(met) = self.met.as_mut().filter(|met| met.before > 0) {
                    *met = Met { before: met.before.saturating_sub(u64::from(count)), passed: at, ..*met };
                }
                if before > 0 && self.own.outstanding == 0 {
                    self.on_own_ended(now, at);
                }
            }
            WorkEvent::OwnDrained { at } => {
                if self.own.outstanding > 0 {
                    self.own.outstanding = 0;
                    self.on_own_ended(now, at);
                }
            }
            WorkEvent::Frozen { at } => {
                if let WorkOrder::Holding(hold) = self.order {
                    self.order = WorkOrder::Holding(HoldUnderWay { frozen: hold.frozen.or(Some(at)), ..hold });
                    self.settle(now, at);
                }
            }
            WorkEvent::Free { at } => self.go_on(at, Nanos::ZERO),
            WorkEvent::Wanted(is_wanted) => self.is_wanted = is_wanted,
        }
        self.cut_own_time(now);
        self.forget_holds(now);
        if self.own.outstanding == 0 {
            self.foreground.account_rest(&mut self.seen.slowdown);
        }
        self.seen.slowdown.note_mean(self.seen.workload.requests);
        self.learn_losses();
        self.policy.learn(now, &self.seen);
    }

    /// Ends the time in which requests of the work are at the disk where nothing else does: what sends nothing any more has none there
    /// (their completions were not seen); and of work that others pass, losses are to be known while it runs.
    fn cut_own_time(&mut self, now: Nanos) {
        if self.own.outstanding == 0 {
            return;
        }
        let is_slow = self.config.holding != WorkHolding::AtOnce;
        if let WorkOrder::Holding(HoldUnderWay { frozen: Some(at), .. }) = self.order {
            if now.since(at) >= if is_slow { UNSEEN_SLOWLY } else { UNSEEN } {
                self.own.outstanding = 0;
                self.on_own_ended(now, at.max(self.own.since));
            }
            return;
        }
        let time = now.since(self.own.since);
        let is_between = self.foreground.outstanding() == 0 && time >= CUT;
        if is_slow && (is_between || time >= CUT_AT_LAST) {
            self.foreground.account(self.own.since, now, &mut self.seen.slowdown);
            self.own.since = now;
        }
    }

    /// Forgets hold times that keep the work held.
    fn forget_holds(&mut self, now: Nanos) {
        let WorkOrder::Held { since } = self.order else { return };
        if now.since(since.max(self.forgot_at)) < FORGET || self.config.holding != WorkHolding::AtOnce {
            return;
        }
        self.forgot_at = now;
        let [first, later] = &mut self.holds;
        if first.forget_longer_half() | later.forget_longer_half() {
            self.set_slices();
        }
    }

    /// Learns what a request loses beside work that runs, where arrivals do not end that.
    fn learn_losses(&mut self) {
        if self.config.holding == WorkHolding::AtOnce {
            return;
        }
        let (requests, lost) = (self.seen.workload.requests, self.seen.slowdown.lost());
        let (requests_before, lost_before) = std::mem::replace(&mut self.beside_counted, (requests, lost));
        let (came, lost) = (requests - requests_before, lost.since(lost_before));
        if (came, lost) == (0, Nanos::ZERO) || matches!(self.order, WorkOrder::Held { .. }) {
            return;
        }
        self.beside[0] += came as f64;
        // One that hung says little of the others; what it lost counts in full against the savings.
        self.beside[1] += lost.as_secs_f64().min(LOSS_MOST * came.max(1) as f64);
        if self.beside[0] > BESIDE_MAX {
            self.beside = self.beside.map(|sum| 0.5 * sum);
        }
        self.set_slices();
    }

    fn set_slices(&mut self) {
        let loss = self.beside[1] / self.beside[0];
        self.seen.service.set_slices(slices(self.holding(), self.hold_times(), loss));
    }

    /// How it can be held; the shortest run is a trial until enough is known.
    fn holding(&self) -> WorkHolding {
        match self.config.holding {
            WorkHolding::Slowly { run, rest } if self.beside[0] < LOSS_GUESS.1 + TRIED => {
                WorkHolding::Slowly { run: run.min(TRIAL_SLOWLY), rest }
            }
            holding => holding,
        }
    }

    fn on_foreground(&mut self, event: Event) {
        match event {
            Event::ForegroundArrived { at, count } => {
                let was_idle = self.foreground.outstanding() == 0;
                self.foreground.arrived(at, count, &mut self.seen);
                if was_idle && !matches!(self.order, WorkOrder::Held { .. }) {
                    let (before, is_later) = (self.own.outstanding, self.own.completed);
                    self.met = Some(Met { arrived: at, before, passed: at, is_later });
                }
            }
            Event::ForegroundCompleted { at, count } => self.foreground.completed(at, count),
            Event::ForegroundDrained { at } => self.foreground.drained(at),
            Event::ForegroundCounted { .. } => {
                self.foreground.counted();
                self.seen.slowdown.is_estimate = true;
            }
            Event::Completed { .. } | Event::Tick => {}
        }
    }

    /// No request of the work is at the disk any more.
    fn on_own_ended(&mut self, now: Nanos, at: Nanos) {
        self.own.ended = at;
        self.foreground.account(self.own.since, at, &mut self.seen.slowdown);
        self.settle(now, at);
    }

    /// The hold is over once the work is frozen and nothing of it is at the disk.
    fn settle(&mut self, now: Nanos, at: Nanos) {
        let WorkOrder::Holding(HoldUnderWay { ordered, is_later, frozen: Some(_) }) = self.order else { return };
        if self.own.outstanding > 0 {
            return;
        }
        // What was sent after the arrival is served behind it.
        let took = match self.met.take() {
            Some(met) => met.passed.since(met.arrived.min(ordered)),
            None if self.own.ended > ordered => self.own.ended.since(ordered),
            None => at.min(now).since(ordered),
        };
        self.holds[usize::from(is_later)].add(took);
        self.set_slices();
        self.count(now);
        self.order = WorkOrder::Held { since: ordered };
    }

    /// The hold times that the plan reckons with.
    fn hold_times(&self) -> [Nanos; 2] {
        self.holds.each_ref().map(HoldTimes::high)
    }

    /// Counts the time up to `now` as run or as held.
    fn count(&mut self, now: Nanos) {
        let is_held = !matches!(self.order, WorkOrder::Going(_));
        self.times[usize::from(is_held)] += now.since(self.counted_to);
        self.counted_to = self.counted_to.max(now);
        if let WorkOrder::Held { since } = self.order {
            self.held_longest = self.held_longest.max(now.since(since));
        }
    }

    /// The operation to carry out now, if any.
    pub fn poll_op(&mut self, now: Nanos) -> Option<WorkOp> {
        match self.order {
            // A hold that takes too long is none: what hangs must not keep the rest frozen.
            WorkOrder::Holding(HoldUnderWay { ordered, .. }) => {
                let is_long = self.config.longest.is_some_and(|longest| now.since(ordered) >= longest);
                if !is_long && !self.is_wanted {
                    return None;
                }
                self.respites += u64::from(is_long);
                self.go_on(now, if is_long { RESPITE } else { Nanos::ZERO });
                Some(WorkOp::GoOn)
            }
            WorkOrder::Held { since } => {
                let is_long = self.config.longest.is_some_and(|longest| now.since(since) >= longest);
                let is_resting = match self.config.holding {
                    WorkHolding::Slowly { rest, .. } => now.since(since) < rest,
                    WorkHolding::AtOnce => false,
                };
                if is_resting
                    || !is_long && !self.is_wanted && self.policy.decide(&self.view(now), &self.seen).not_before > now
                {
                    return None;
                }
                self.respites += u64::from(is_long);
                self.go_on(now, if is_long { RESPITE } else { Nanos::ZERO });
                Some(WorkOp::GoOn)
            }
            WorkOrder::Going(slice) => {
                let is_left_alone = self.is_wanted || now < slice.respite_until;
                let [_, later] = self.hold_times();
                // A slice that was begun is used, unless others came since.
                let are_others_here = self.foreground.outstanding() > 0 || slice.started < self.foreground.idle_since();
                let goes_on = !are_others_here || self.goes_on_at(now);
                if is_left_alone || (goes_on && now + later < slice.ends) {
                    return None;
                }
                // The foreground may have come and gone since the last look: then it is a first slice again.
                if now + later >= slice.ends && self.goes_on_at(slice.ends.max(now)) {
                    self.next_slice(now, slice);
                    return None;
                }
                self.count(now);
                let is_later = self.met.map_or(self.own.completed, |met| met.is_later);
                self.last = (now, now.since(slice.started));
                self.order = WorkOrder::Holding(HoldUnderWay { ordered: now, is_later, frozen: None });
                Some(WorkOp::Hold)
            }
        }
    }

    /// Would the policy send a request at `at`, by all that is known now?
    fn goes_on_at(&self, at: Nanos) -> bool {
        self.policy.decide(&self.view(at), &self.seen).not_before <= at
    }

    /// The order to go on was not carried out: it is held since `now`.
    pub fn rest(&mut self, now: Nanos) {
        self.count(now);
        self.order = WorkOrder::Held { since: now };
    }

    fn go_on(&mut self, now: Nanos, respite: Nanos) {
        self.count(now);
        let [first, later] = self.hold_times();
        (self.met, self.own.completed) = (None, false);
        let (ends, runs) = match self.holding() {
            WorkHolding::AtOnce => (now + first + later, respite),
            WorkHolding::Slowly { run, .. } => (now + run + later, respite.max(run)),
        };
        self.order = WorkOrder::Going(Slice { started: now, ends, respite_until: now + runs });
        self.seen.service.add_slice(now);
    }

    fn next_slice(&mut self, now: Nanos, slice: Slice) {
        self.last = (slice.ends, slice.ends.since(slice.started));
        let [_, later] = slices(self.holding(), self.hold_times(), 0.0);
        let ends = slice.ends.max(now) + later.takes;
        self.order = WorkOrder::Going(Slice { started: slice.ends.min(now), ends, ..slice });
        self.seen.service.add_slice(now);
        self.policy.learn(now, &self.seen);
    }

    /// When to come back although nothing has happened.
    pub fn poll_timeout(&self, now: Nanos) -> Nanos {
        match self.order {
            WorkOrder::Going(_) if self.config.holding != WorkHolding::AtOnce => now + LOOK_SLOWLY,
            WorkOrder::Going(_) => now + LOOK,
            WorkOrder::Holding(HoldUnderWay { ordered, .. }) if now.since(ordered) > Nanos::from_secs(1) => {
                now + LOOK_SLOWLY
            }
            WorkOrder::Holding(_) => now + LOOK_HOLDING,
            WorkOrder::Held { since } => {
                let decision = self.policy.decide(&self.view(now), &self.seen);
                let longest = self.config.longest.map_or(Nanos::MAX, |longest| since.saturating_add(longest));
                decision.not_before.min(longest).max(now)
            }
        }
    }

    fn view(&self, now: Nanos) -> DiskView {
        let (outstanding, idle_since) = (self.foreground.outstanding(), self.foreground.idle_since());
        let going = match self.order {
            WorkOrder::Going(slice)
                if !self.policy.state().in_idle_only || outstanding == 0 && slice.started >= idle_since =>
            {
                Some(slice)
            }
            _ => None,
        };
        let access = if going.is_some() { AccessPattern::Sequential } else { AccessPattern::Random };
        let own_size = going.map(|_| ServiceTimes::SLICE);
        let (own_finished, own_service) = match self.order {
            WorkOrder::Going(slice) => (now.min(slice.ends), now.since(slice.started)),
            _ => self.last,
        };
        DiskView { now, outstanding, idle_since, own_finished, own_service, own_size, access }
    }

    /// What the work does at the moment.
    pub fn activity(&self) -> WorkActivity {
        match self.order {
            WorkOrder::Held { .. } => WorkActivity::Held,
            WorkOrder::Going(_) => WorkActivity::Going,
            WorkOrder::Holding(_) => WorkActivity::Holding,
        }
    }

    /// A snapshot at `now`.
    pub fn report(&self, now: Nanos) -> WorkReport {
        let activity = self.activity();
        let held_now = match self.order {
            WorkOrder::Held { since } => now.since(since),
            _ => Nanos::ZERO,
        };
        let is_held = activity == WorkActivity::Held;
        let runs = activity == WorkActivity::Going;
        let more = |counts: bool| if counts { now.since(self.counted_to) } else { Nanos::ZERO };
        WorkReport {
            activity,
            waits_for: is_held.then(|| self.policy.waits_for(&self.view(now), &self.seen)),
            elapsed: now.since(self.config.started),
            ran: self.times[0] + more(runs),
            held: self.times[1] + more(!runs),
            held_longest: self.held_longest.max(held_now),
            holds: self.holds.iter().map(HoldTimes::count).sum(),
            hold_times: self.hold_times(),
            hold_median: HoldTimes::median_of(&self.holds),
            respites: self.respites,
            requests: self.own.total,
            foreground_requests: self.seen.workload.requests,
            slowdown: self.seen.slowdown.clone(),
            latency: self.foreground.latency(),
            idle: self.seen.workload.idle_total + self.foreground.idle_now(now),
            setting: self.policy.state(),
        }
    }
}

/// The slices of work that can be held so, with these hold times, by which a request loses so many seconds if arrivals do not end it.
fn slices(holding: WorkHolding, [first, later]: [Nanos; 2], loss: f64) -> [SliceTime; 2] {
    match holding {
        WorkHolding::AtOnce => {
            [SliceTime { takes: first + later, holds: first.max(later) }, SliceTime { takes: later, holds: later }]
        }
        WorkHolding::Slowly { run, .. } => {
            let holds = Nanos::from_secs_f64(loss);
            [SliceTime { takes: run + later, holds }, SliceTime { takes: STEP_SLOWLY + later, holds }]
        }
    }
}
