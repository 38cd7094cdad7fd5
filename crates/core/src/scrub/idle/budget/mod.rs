//! Budget: chooses when to send and how much at a time from the live histogram of idle intervals, so that the
//! foreground is slowed down by no more than a stated mean and maximum.
//!
//! Four parts. [`ages`] tells from the lengths of the idle intervals seen so far how many reach an age, and how many end
//! there. [`schedule`] turns that into a plan: which size at which age reads most for the delay it causes, to whoever ends an
//! interval and to those behind ([`super::Followers`]). [`phase`] tells when programs that work by the clock end them.
//! [`account`] keeps books: every request of the foreground earns the goal,
//! every delay spends. It says how much the plan may spend in a second of idleness, and is a fence besides: whatever the plan
//! believes, nothing is sent that is likely to cost more than is left. So from some hundred requests on the mean *so far* is
//! never above the goal by more than one request of ours has cost. That can be much: who is first in a burst the like of which
//! was not seen, and is met, can cost the goal of hours. And where completions are not seen (the stat detector), those who queue
//! behind are not counted. (Where nobody has come for twice as long as ever, requests that are short beside that time are sent
//! whatever is left, or a load that stops would stop the scrub.)
//!
//! What may be lost is not lost for nothing: at the beginning half of it is kept for what is not known yet, and where a delay
//! would buy a small part of what it usually does, it is not bought.
//!
//! Where a request is longer than it holds up anybody (a step of md's check, whose parts others pass between), its length says who
//! meets it, and its hold what each of them loses: fences, prices and the max goal go by the hold.
//!
//! Waiting (Amvrosiadis et al., DSN'12, V-C) is the special case of one size from one age on. The plan reads about as much
//! as the best such pair chosen in hindsight, and more where the age tells much (docs/papers.md); the paper's own attempts at
//! growing sizes did not, because they grew by the count of requests and not by what is likely at each age. Where intervals
//! have no memory there is nothing to tell ages apart, and what comes out is that a share of them is used (Mi et al., TOS
//! 5(2): wait only if idle times vary).
//!
//! The goal of the 99th percentile is a fence alone: a request that takes longer than that is sent only where, with all who
//! are likely to meet it, no more than one in a hundred will have lost so much. What is sent else is shorter.
//!
//! The max goal is a price and a fence. Of the requests of some size so many take longer than any of the foreground may lose,
//! be it by the size or by chance (a disk that tries again); whoever meets one of those in its first moments loses too much.
//! How likely that is at each age is known, and what it counts for in the plan makes it happen to one request in ten thousand.
//! The fence: no request is sent of a size of which more than one in sixteen has lately taken longer; where even the smallest
//! usually has, that one is tried seldom, for how else would it be known that it no longer does?

mod account;
mod ages;
mod calibration;
mod goal;
mod phase;
mod price;
mod schedule;
#[cfg(test)]
mod tests;

use super::service::{SIZE_MIN, SIZES, ServiceCase};
use super::{Beat, Decision, DiskHead, DiskView, IdlePolicy, Observed, PolicyState, Stay, WaitReason};
use crate::stats::DurationHistogram;
use crate::units::{Bytes, Nanos};
use account::Account;
use ages::Ages;
use calibration::Calibration;
pub use goal::{Goal, GoalForm};
use phase::Phases;
use price::Price;
use schedule::{AgeAction, PlannedRequest, PriceLevel, Schedule};

/// When the disk is idle for longer than ever, a request lasts at most this share of the time that it has been idle. With
/// long-tailed idleness (hazard about 1/x at age x) that makes a collision about as unlikely. A guess.
const QUIET_SHARE: f64 = 0.02;
/// So much longer than the longest idle interval seen is longer than ever.
const QUIET_FACTOR: f64 = 2.0;
/// But not less than that, in seconds.
const QUIET_MIN: f64 = 60.0;
/// With debts it must be as long as that, too, in seconds.
const QUIET_INDEBTED: f64 = 3600.0;
/// At most this share of the foreground's requests may lose more than the max goal. The plan counts one that does as the goal for the
/// mean divided by this share, in seconds.
const BROKEN_SHARE: f64 = 1e-4;
/// Where no size is within the max goal, the smallest is sent for this share of the time.
const LAST_RESORT_SHARE: f64 = 0.002;
/// No delay is bought for less than this share of what was read for the usual one. What is saved may be worth more later, when
/// idle intervals are short or a burst has cost much.
const PRICE_SHARE: f64 = 0.1;
/// So much of what was earned is left for a burst like the worst of late,
const RESERVE_SHARE: f64 = 0.3;
/// and no less than so many requests earn: until then, all that such a burst can cost.
const RESERVE_REQUESTS: f64 = 1000.0;
/// What a burst can cost that nobody has seen the like of: this share of what may be lost from the beginning on, of the smallest size.
const IMAGINED_SHARE: f64 = 0.5;
/// Before anything is seen, so many foreground requests are imagined.
const REQUESTS_IMAGINED: f64 = 16.0;
/// Fewer requests than that make a cautious beginning.
const REQUESTS_MIN: u64 = 32;
/// Nothing can be planned before it is known how long a request takes. The first few are small ones, sent where the account
/// can pay for them,
const TRIES: u64 = 8;
/// when one holds others up for at most this share of the time that the disk has been idle.
const TRIES_SHARE: f64 = 0.1;
/// One request in so many may be of a size not tried of late.
const TRIAL_EVERY: u64 = 32;
/// One in so many where a request holds others up for less than it takes: then a larger one costs little more, and few are sent.
const TRIAL_EVERY_HELD: u64 = 4;
/// If some of that size took longer than any may, only where no more than this share of the intervals ends meanwhile.
const TRIAL_RISK: f64 = 0.01;
/// Where nothing is worth its price at any age, or nothing is left to spend, when to look again.
const LOOK_AGAIN: Nanos = Nanos::from_secs(1);
/// The plan is made anew whenever the intervals have grown by an eighth, or by so many.
const INTERVALS_STEP: u64 = 8000;
/// What may be spent is reckoned anew after each delay, and whenever the intervals have grown by such a part, or by so many.
const SPEND_STEP: u64 = 64;

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Budget {
    goal: Goal,
    setting: PolicyState,
    schedule: Schedule,
    /// The idle time that the schedule knows of, in seconds.
    idle: f64,
    /// When it was made: intervals, completions, strays.
    solved_at: [u64; 3],
    /// When so many intervals have ended, it is reckoned anew what may be spent.
    spend_at: u64,
    /// Idle intervals whose end was seen.
    intervals: u64,
    /// What had been lost when it was looked at last.
    lost: Nanos,
    /// And how many had lost more than all but one in a hundred may.
    late: u64,
    calibration: Calibration,
    phases: Phases,
    price: Price,
    account: Account,
}

impl Budget {
    /// Starts cautious.
    pub fn new(goal: Goal) -> Budget {
        let setting = PolicyState { in_idle_only: true, cautious: true, ..PolicyState::back_to_back(SIZE_MIN) };
        let schedule =
            Schedule::new(Ages::new(&DurationHistogram::default()), Vec::new(), 0.0, PriceLevel::default(), |_, _| 1.0);
        let (account, calibration) = (Account::new(goal.mean, goal.form), Calibration::default());
        let (solved_at, spend_at, lost, late, price) = ([0; 3], 0, Nanos::ZERO, 0, Price::default());
        let (idle, intervals) = (0.0, 0);
        let mut budget = Budget {
            goal,
            setting,
            schedule,
            idle,
            solved_at,
            spend_at,
            intervals,
            lost,
            late,
            calibration,
            phases: Phases::default(),
            price,
            account,
        };
        budget.solve(&Observed::default());
        budget
    }

    /// The sizes whose requests hold nobody up for longer than any may lose, by all that is known.
    fn sizes<'a>(&self, head: DiskHead, seen: &'a Observed) -> impl DoubleEndedIterator<Item = Bytes> + use<'a> {
        let goal = self.goal;
        SIZES.into_iter().filter(move |&size| goal.allows_size(size, &seen.service.of(size, head)))
    }

    /// From this age on, in seconds, nobody has come for longer than ever; with debts, that takes an hour.
    fn quiet_from(&self, now: Nanos, seen: &Observed) -> f64 {
        let longest = QUIET_FACTOR * seen.workload.idle.moments().max;
        let least = if self.account.allows(now, 0.0) { QUIET_MIN } else { QUIET_INDEBTED };
        longest.max(least).max(seen.service.high(SIZE_MIN, DiskHead::Away) / QUIET_SHARE)
    }

    /// When nobody has come for longer than ever, or at all: the largest size that is short beside that time; with debts, the
    /// smallest, after an hour. It is not asked whether that could be paid for, or a load that stops would stop the scrub;
    /// nor can it happen often that somebody comes then, for each time must be twice as long as the last one.
    fn quiet(&self, view: &DiskView, idle_for: f64, seen: &Observed) -> Option<Bytes> {
        let is_short = |size: &Bytes| seen.service.high(*size, view.head) <= idle_for * QUIET_SHARE;
        let largest = self.sizes(view.head, seen).rfind(is_short)?;
        Some(if self.account.allows(view.now, 0.0) { largest } else { SIZE_MIN })
    }

    /// What a request can cost all together that is met at an age, in seconds: as much as usual at this age, or as the most who
    /// came together of late; but once many requests have come that shall not take more than a share of what was earned, or one
    /// burst would end the scrub.
    fn cost(&self, size: Bytes, head: DiskHead, age: f64, seen: &Observed) -> f64 {
        let estimate = seen.service.of(size, head);
        let (service, held) = (estimate.high, estimate.held(estimate.high));
        let all = |behind: f64| held * (self.calibration.factor() * behind).max(1.0);
        let followers = &seen.workload.followers;
        let few = RESERVE_REQUESTS * self.goal.mean.as_secs_f64();
        let reserve = (RESERVE_SHARE * self.account.earned()).max(few);
        let mut worst = all(followers.worst(service)).min(reserve);
        if size == SIZE_MIN {
            // What is only imagined does not keep the smallest from being sent as long as half of what is there from the beginning is
            // left: else nobody would see who comes on a disk that takes its time.
            let imagined = IMAGINED_SHARE * self.account.warm_up();
            worst = worst.min(all(followers.worst_seen(service)).max(imagined));
        }
        all(followers.behind(age, service)).max(worst)
    }

    /// Would at most one foreground request in a hundred exceed the p99 goal after a request that costs up to `cost` seconds in all? If the
    /// size usually takes longer than that goal, all who meet it count; else the share of its requests that do.
    fn keeps_p99(&self, size: Bytes, head: DiskHead, cost: f64, seen: &Observed) -> bool {
        let Some(p99) = self.goal.p99.map(Nanos::as_secs_f64) else { return true };
        let service = seen.service.of(size, head);
        let held = service.held(service.high);
        let long = if held > p99 { 1.0 } else { over(size, head, p99, seen).share };
        let requests = seen.workload.requests.max(Goal::WARM_UP_REQUESTS) as f64;
        self.late as f64 + long * cost / held <= Goal::P99_SHARE * requests
    }

    /// The largest size up to `size` that the account can pay for.
    fn affordable(&self, size: Bytes, view: &DiskView, age: f64, seen: &Observed) -> Option<Bytes> {
        let smaller = SIZES.into_iter().rev().filter(|&one| one <= size);
        smaller.into_iter().find(|&one| {
            let cost = self.cost(one, view.head, age, seen);
            self.account.allows(view.now, cost) && self.keeps_p99(one, view.head, cost, seen)
        })
    }

    /// This disk cannot keep the max goal at any size. The smallest must be tried now and then, or it would never be known
    /// that the disk has become faster again.
    fn last_resort(&self, view: &DiskView, seen: &Observed) -> Decision {
        let wait = seen.service.high(SIZE_MIN, view.head).min(self.goal.max.as_secs_f64()) / LAST_RESORT_SHARE;
        let wait = Nanos::from_secs_f64(wait);
        Decision { not_before: view.ready_after(wait).max(view.own_finished.saturating_add(wait)), size: SIZE_MIN }
    }

    /// What the plan says, and the clock.
    fn act(&self, view: &DiskView, idle_for: f64, seen: &Observed) -> AgeAction {
        // While somebody is at the disk the plan will do: it is asked again when he leaves.
        match self.phases.clock(view.now, idle_for).filter(|_| view.outstanding == 0) {
            Some(clock) => self.schedule.at_clock(idle_for, seen.workload.intervals, view.head, clock),
            None => self.schedule.at(idle_for, seen.workload.intervals, view.head),
        }
    }

    /// What the plan says now.
    fn planned(&self, view: &DiskView, idle_for: f64, seen: &Observed) -> Decision {
        let AgeAction { size, until } = self.act(view, idle_for, seen);
        if let Some(size) = size {
            return Decision { not_before: view.ready_after(Nanos::ZERO).max(view.own_finished), size };
        }
        // A nanosecond more: at that moment the age must be in the next part.
        let until = until.min(idle_for + LOOK_AGAIN.as_secs_f64());
        let wait = Nanos::from_secs_f64(until).saturating_add(Nanos(1));
        Decision { not_before: view.ready_after(wait), size: SIZE_MIN }
    }

    /// The age, in seconds, from which on one of the first few requests may be sent whatever the plan says.
    fn tries_from(&self, now: Nanos, seen: &Observed) -> Option<f64> {
        if seen.service.completions() >= TRIES {
            return None;
        }
        let service = seen.service.of(SIZE_MIN, DiskHead::Away);
        let held = service.held(service.high);
        let age = held / TRIES_SHARE;
        let is_try = held <= self.goal.max.as_secs_f64();
        (is_try && self.account.allows(now, self.cost(SIZE_MIN, DiskHead::Away, age, seen))).then_some(age)
    }

    /// Now and then the next size up, if it is not known: by a cautious guess it never looks worth it. Or if some of late took
    /// longer than any may, for that may be over; but only where hardly anybody comes.
    fn trial(&self, size: Bytes, head: DiskHead, age: f64, seen: &Observed) -> Option<Bytes> {
        if !seen.service.completions().is_multiple_of(trial_every(seen)) {
            return None;
        }
        let max = self.goal.max.as_secs_f64();
        let above = seen.service.unknown_above(size, head, max)?;
        let service = seen.service.of(above, head);
        let is_safe = !seen.service.is_known(above, head) || self.schedule.ending(age, service.high) <= TRIAL_RISK;
        (service.held(service.mean) <= max && is_safe).then_some(above)
    }

    /// Makes a new plan of what has been seen.
    fn solve(&mut self, seen: &Observed) {
        let heads = [DiskHead::Away, DiskHead::There];
        let service =
            |size, head| Some(seen.service.of(size, head)).filter(|service| self.goal.allows_size(size, service));
        let requests = SIZES.map(|size| PlannedRequest {
            size,
            services: heads.map(|head| service(size, head)),
            over: heads.map(|head| over(size, head, self.goal.max.as_secs_f64(), seen)),
        });
        self.idle = seen.workload.idle.moments().sum;
        let behind = |age, service| seen.workload.followers.behind(age, service);
        // The dearer, the more have lost so much already.
        let broken = seen.slowdown.met_longer_than(self.goal.max) as f64;
        let broken = broken / (1.0 + BROKEN_SHARE * seen.workload.requests as f64);
        let each = self.goal.mean.as_secs_f64() / BROKEN_SHARE * (1.0 + broken);
        let ages = Ages::new(&seen.workload.idle);
        self.schedule = Schedule::new(ages, requests.to_vec(), each, self.schedule.level(), behind);
        self.spend(seen);
        let cautious = seen.workload.requests < REQUESTS_MIN;
        self.setting = PolicyState { in_idle_only: true, cautious, ..self.setting };
        if let Some((wait, size, duty)) = self.schedule.summary() {
            self.setting = PolicyState { wait: Nanos::from_secs_f64(wait), size, duty, ..self.setting };
            // What is to be left depends on the size.
            self.spend(seen);
        }
        self.setting.for_max = self.schedule.broken_share();
    }

    /// Plans for what may be spent now.
    fn spend(&mut self, seen: &Observed) {
        self.spend_at = self.intervals + (self.intervals / SPEND_STEP).clamp(1, SPEND_STEP);
        let (size, age) = (self.setting.size, self.setting.wait.as_secs_f64());
        let reserve = self.cost(size, DiskHead::Away, age, seen).min(RESERVE_SHARE * self.account.earned());
        let rate = self.account.rate(reserve);
        let imagined = self.goal.mean.as_secs_f64() * REQUESTS_IMAGINED;
        let factor = self.calibration.factor();
        let target = (rate * self.idle + imagined) / factor;
        let price = self.price.usual(self.goal.mean.as_secs_f64());
        self.schedule.spend(target, PRICE_SHARE * price * factor);
    }
}

/// Of the requests of `size`, which hold up whom they meet for longer than `max` seconds, and who is met by those. Where others pass
/// them by, that is not told by how long they take: it is known of those who were met.
fn over(size: Bytes, head: DiskHead, max: f64, seen: &Observed) -> ServiceCase {
    let service = seen.service.of(size, head);
    if service.passed(service.mean) <= 0.0 {
        return seen.service.over(size, head, max);
    }
    let longer = seen.slowdown.met_longer_than(Nanos::from_secs_f64(max)) as f64;
    ServiceCase { service: service.mean, share: longer / (seen.slowdown.collisions.max(1)) as f64 }
}

/// One request in so many may be of a size not tried of late.
fn trial_every(seen: &Observed) -> u64 {
    let service = seen.service.of(SIZE_MIN, DiskHead::There);
    if service.passed(service.mean) > 0.0 { TRIAL_EVERY_HELD } else { TRIAL_EVERY }
}

/// What is so many now makes a new plan when it is so many.
fn grown(now: u64, step_max: u64) -> u64 {
    now + (now / 8).clamp(1, step_max)
}

impl IdlePolicy for Budget {
    fn decide(&self, view: &DiskView, seen: &Observed) -> Decision {
        let Some(largest) = self.sizes(view.head, seen).next_back() else { return self.last_resort(view, seen) };
        let idle_for = if view.outstanding == 0 { view.now.since(view.idle_since).as_secs_f64() } else { 0.0 };
        let planned = self.planned(view, idle_for, seen);
        // What was chosen may have become too long since.
        let size = planned.size.min(largest);
        let size = self.trial(size, view.head, idle_for, seen).unwrap_or(size);
        let turn = match self.affordable(size, view, idle_for, seen) {
            Some(size) => Decision { size, ..planned },
            None => Decision { not_before: planned.not_before.max(view.now.saturating_add(LOOK_AGAIN)), size },
        };
        let (quiet, tries) = (self.quiet_from(view.now, seen), self.tries_from(view.now, seen));
        let is_more = |size: &Bytes| turn.not_before > view.now || *size > turn.size;
        if idle_for > quiet
            && let Some(size) = self.quiet(view, idle_for, seen).filter(is_more)
        {
            return Decision { not_before: view.now, size };
        }
        if turn.not_before > view.now && tries.is_some_and(|from| idle_for > from) {
            return Decision { not_before: view.now, size: SIZE_MIN };
        }
        if view.outstanding > 0 {
            return turn;
        }
        // A nanosecond more: at that moment it must be longer than ever.
        let exceptions = [Some(quiet), tries];
        let exceptions = exceptions.into_iter().flatten().filter(|&from| idle_for <= from);
        let at = |from| view.idle_since.saturating_add(Nanos::from_secs_f64(from)).saturating_add(Nanos(1));
        let sooner = exceptions.map(|from| at(from).max(view.own_finished)).fold(turn.not_before, Nanos::min);
        Decision { not_before: sooner, ..turn }
    }

    fn waits_for(&self, view: &DiskView, seen: &Observed) -> WaitReason {
        if view.outstanding > 0 {
            return WaitReason::InUse;
        }
        if self.sizes(view.head, seen).next().is_none() {
            return WaitReason::TooSlow;
        }
        // Without a plan the start earns what it spends: idleness is all that it waits for.
        let idle_for = view.now.since(view.idle_since).as_secs_f64();
        match self.affordable(SIZE_MIN, view, idle_for, seen) {
            None => WaitReason::Budget,
            Some(_) => {
                let state = self.state();
                WaitReason::Idleness(Some(state.wait).filter(|wait| !state.cautious && *wait > Nanos::ZERO))
            }
        }
    }

    fn stays(&self, decision: Decision, view: &DiskView, seen: &Observed) -> Stay {
        let Some(largest) = self.sizes(view.head, seen).next_back() else {
            return Stay { until: Nanos::MAX, requests: 1 };
        };
        let idle_for = view.now.since(view.idle_since).as_secs_f64();
        let intervals = seen.workload.intervals;
        // The age at which the plan, or what is sent when nobody has come for longer than ever, may be another.
        let (size, until) = match self.phases.clock(view.now, idle_for) {
            None => {
                let AgeAction { size, until } = self.schedule.at(idle_for, intervals, view.head);
                (size, until)
            }
            Some(clock) => {
                let until = self.schedule.until_clock(idle_for, intervals, view.head, decision.size, clock);
                (Some(decision.size), until)
            }
        };
        let quiet = self.quiet_from(view.now, seen);
        let until = match until > quiet {
            true if idle_for <= quiet => quiet,
            true => {
                let sizes = SIZES.into_iter().map(|size| seen.service.high(size, view.head) / QUIET_SHARE);
                sizes.filter(|&age| age > idle_for).fold(until, f64::min)
            }
            false => until,
        };
        let until = view.idle_since.saturating_add(Nanos::from_secs_f64(until));
        let completions = seen.service.completions();
        let (every, size) = (trial_every(seen), size.map_or(SIZE_MIN, |size| size.min(largest)));
        let trial = match seen.service.unknown_above(size, DiskHead::There, self.goal.max.as_secs_f64()) {
            Some(_) => every - completions % every,
            None => u64::MAX,
        };
        let is_trial = trial == every;
        let solved = grown(self.solved_at[1], u64::MAX).saturating_sub(completions);
        let is_learning =
            is_trial || self.account.is_fading() || !seen.service.is_known(decision.size, DiskHead::There);
        let is_learning = is_learning || view.head == DiskHead::Away;
        let requests = if is_learning { 1 } else { trial.min(solved).max(1) };
        Stay { until: until.min(seen.service.fresh_until()), requests }
    }

    fn learn(&mut self, at: Nanos, seen: &Observed) {
        let Observed { workload, slowdown, .. } = seen;
        self.account.update(at, workload.requests, workload.idle_total, slowdown.lost());
        let is_lost = slowdown.lost() > self.lost;
        self.lost = slowdown.lost();
        if let Some(p99) = self.goal.p99.filter(|_| is_lost) {
            self.late = slowdown.longer_than(p99);
        }
        if seen.workload.intervals > self.intervals {
            // The one that ended has the number of those before it.
            let foreseen = self.schedule.rest(workload.idle_last.as_secs_f64(), self.intervals);
            let ended = workload.intervals - self.intervals;
            let service = seen.service.of(self.setting.size, DiskHead::Away);
            let behind = workload.followers.behind(self.setting.wait.as_secs_f64(), service.mean);
            let usual = 0.5 * service.held(service.mean) * behind;
            self.calibration.update(ended as f64 * foreseen, slowdown.lost().as_secs_f64(), usual);
            self.phases.update(
                self.schedule.ages(),
                at,
                self.setting.wait.as_secs_f64(),
                workload.idle_last.as_secs_f64(),
            );
            self.price.update(ended, seen.service.bytes().0, workload.requests);
            self.intervals = workload.intervals;
        }
        let now = [self.intervals, seen.service.completions(), seen.service.strays()];
        let steps = [INTERVALS_STEP, u64::MAX, u64::MAX];
        let mut counts = now.into_iter().zip(self.solved_at).zip(steps);
        if counts.any(|((now, then), step)| now >= grown(then, step)) {
            self.solved_at = now;
            self.solve(seen);
        } else if is_lost || self.intervals >= self.spend_at {
            self.spend(seen);
        }
    }

    fn state(&self) -> PolicyState {
        self.setting
    }

    fn size_max(&self) -> Bytes {
        SIZES[SIZES.len() - 1]
    }

    fn beat(&self) -> Option<Beat> {
        self.phases.kept()
    }

    fn recall(&mut self, beat: &Beat) {
        self.phases.recall(beat);
    }
}
