//! The idle policy `budget`: keeps the foreground's slowdown within a stated mean and maximum.
//!
//! It chooses the time and the size of each request from the live histogram of idle intervals, in four parts. [`ages`]
//! computes from their lengths how many intervals reach each age and how many end there. [`schedule`] turns that into a
//! plan: the size and age at which a request reads most for the delay it causes, both to the request that ends the
//! interval and to those queued behind it ([`super::Followers`]). [`phase`] finds when programs that run by the clock
//! end intervals. [`account`] keeps the books: every foreground request earns the goal, every delay spends. It sets how
//! much the plan may spend in a second of idle time.
//!
//! What may send a request beside the plan is in one list ([`offers`]): a trial of another size, the last resort of a slow disk, quiet
//! time, and the first tries.
//!
//! The account is also a fence: whatever the plan expects, no request is sent that is likely to cost more than the
//! budget left. So after some hundred requests the mean *so far* exceeds the goal by no more than the cost of one scrub
//! request. That can be much: a collision with the first request of an unprecedented burst can cost what the goal
//! allows in hours. The stat detector does not see completions, so requests queued behind are not counted there.
//! (Exceptions: the requests of the [`last_resort`] may cost more than is left, but none is sent in debt. And in *quiet* time, idle for twice
//! as long as the longest interval so far, nothing is held back for bursts that nothing announced; after an hour of it
//! requests are sent even without budget. Otherwise a load that stops would stop the scrub.)
//!
//! The budget is not spent for its own sake: as much is kept as chance may take, most of it at the beginning, and no
//! delay is bought that reads a small part of what a delay usually does.
//!
//! A request may take longer than it delays any arrival, such as a step of md's check, which lets others pass between
//! its parts. Then its service time determines which arrivals it meets, and its hold what each of them loses: fences,
//! prices and the max goal use the hold.
//!
//! Waiting (Amvrosiadis et al., DSN'12, V-C) is the special case of one size from one age on. The plan reads about as
//! much as the best such pair chosen in hindsight, and more where the age predicts the end well (docs/papers.md). The
//! paper's own attempts at growing sizes did not, because they grew by the count of requests and not by the hazard at
//! each age. Where intervals have no memory, all ages are alike, and the plan uses a share of the intervals (Mi et al.,
//! TOS 5(2): wait only if idle times vary).
//!
//! The goal for the 99th percentile is a price and a fence, too. One request that loses more costs the plan what a hundred earn, and
//! is charged as that; a mean beyond a tenth of it counts as a tenth. The fence: a request that takes longer than that goal is sent only if at most
//! one in a hundred foreground requests exceeds the goal even when all that are likely to meet it do. Otherwise a
//! shorter one is sent.
//!
//! The max goal is a price and a fence. Some requests of a size take longer than the max goal, because of the size or
//! by chance (a disk that retries); an arrival in the first moments of one of those exceeds the goal. The probability
//! of that at each age is known, and the penalty in the plan limits it to one foreground request in ten thousand. The
//! fence: no request is sent of a size of which more than one in sixteen recently took longer. Where even the smallest
//! usually does, one is sent now and then, to find out whether the disk has become faster ([`last_resort`]).

mod account;
mod ages;
mod calibration;
mod goal;
mod last_resort;
mod late;
mod moment;
mod offers;
mod phase;
mod price;
mod quiet;
mod schedule;
#[cfg(test)]
mod tests;

use super::service::{Overrun, SIZE_MIN, SIZES};
use super::{
    AccessPattern, Decision, DecisionHorizon, DiskView, IdlePolicy, Observed, Periodicity, PolicyState, WaitReason,
};
use crate::stats::DurationHistogram;
use crate::units::{Bytes, Nanos};
use account::Account;
use ages::Ages;
use calibration::Calibration;
pub use goal::{Goal, GoalForm};
use late::Late;
use phase::Phases;
use price::Price;
use schedule::{PlannedRequest, PriceLevel, Schedule};

/// The share of the foreground requests that may lose more than the max goal. The plan's penalty for one that does is
/// the goal for the mean divided by this share, in seconds, and more once some have.
const BROKEN_SHARE: f64 = 1e-4;
/// No delay is bought that reads fewer bytes a second of delay than this share of the usual number. The savings may be
/// worth more later, when idle intervals are short or a burst has cost much.
const PRICE_SHARE: f64 = 0.1;
/// The share of all earnings that is held in reserve, at most, for a burst like the worst recent one.
const RESERVE_SHARE: f64 = 0.3;
/// The bound of the reserve is at least what this many requests earn: until then, all that such a burst can cost.
const RESERVE_REQUESTS: f64 = 1000.0;
/// The assumed cost of a burst never seen before, at most, for the smallest size only: this share of the warm-up budget.
const IMAGINED_SHARE: f64 = 0.5;
/// The earnings of this many imagined foreground requests are added to the plan's budget, so that it is not zero at the start.
const REQUESTS_IMAGINED: f64 = 16.0;
/// Below this number of foreground requests the policy reports itself as cautious.
const REQUESTS_MIN: u64 = 32;
/// A trial of a size that recently exceeded the max goal is sent only where at most this share of the intervals of that
/// age end meanwhile.
const TRIAL_RISK: f64 = 0.01;
/// How soon to decide again where nothing is worth its price at any age, or no budget is left.
const LOOK_AGAIN: Nanos = Nanos::from_secs(1);
/// A new plan is made whenever the number of intervals has grown by an eighth, or by this number.
const INTERVALS_STEP: u64 = 8000;
/// The budget is recomputed after each delay, and whenever the number of intervals has grown by one in this many, or by
/// this number.
const SPEND_STEP: u64 = 64;

/// The idle policy `budget`; see the module's text.
#[derive(Clone, Debug)]
pub struct Budget {
    goal: Goal,
    setting: PolicyState,
    schedule: Schedule,
    /// The sum of the idle intervals that the schedule was made from, in seconds.
    idle: f64,
    /// The counts when the schedule was made: intervals, completions, strays.
    solved_at: [u64; 3],
    /// The number of intervals at which the budget is recomputed.
    spend_at: u64,
    /// Idle intervals whose end was seen.
    intervals: u64,
    /// The total delay caused, at the last update.
    lost: Nanos,
    /// The number of foreground requests that had lost more than the p99 goal, at the last delay.
    over_p99: u64,
    /// The time of the first call of `learn`: about when the run began.
    began: Option<Nanos>,
    /// Whether any size was within the max goal when the schedule was made.
    has_sizes: bool,
    /// The number of completions at the end of the last time in which no size was: the schedule is made anew as often as at first.
    completions_from: u64,
    calibration: Calibration,
    phases: Phases,
    price: Price,
    account: Account,
    late: Late,
}

impl Budget {
    /// A budget that has seen nothing; it starts cautious.
    pub fn new(goal: Goal) -> Budget {
        let goal = Goal { mean: goal.mean_to_keep(), ..goal };
        let setting = PolicyState { in_idle_only: true, cautious: true, ..PolicyState::back_to_back(SIZE_MIN) };
        let schedule = Schedule::new(
            Ages::new(&DurationHistogram::default()),
            Vec::new(),
            [0.0; 2],
            PriceLevel::default(),
            |_, _| 1.0,
        );
        let (account, calibration) = (Account::new(goal.mean, goal.form), Calibration::default());
        let (solved_at, spend_at, lost, over_p99, price) = ([0; 3], 0, Nanos::ZERO, 0, Price::default());
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
            over_p99,
            began: None,
            has_sizes: false,
            completions_from: 0,
            calibration,
            phases: Phases::default(),
            price,
            account,
            late: Late::default(),
        };
        budget.solve(&Observed::default());
        budget
    }

    /// Do requests of this size, by all that is known, not delay arrivals beyond the max goal?
    fn allows_size(&self, size: Bytes, access: AccessPattern, seen: &Observed) -> bool {
        self.goal.allows_size(size, &seen.service.of(size, access))
    }

    /// The sizes that [`Budget::allows_size`] allows, ascending.
    fn sizes(&self, access: AccessPattern, seen: &Observed) -> impl DoubleEndedIterator<Item = Bytes> {
        SIZES.into_iter().filter(move |&size| self.allows_size(size, access, seen))
    }

    /// The largest size that may be sent; `None` also where no interval can begin with any size.
    fn largest(&self, access: AccessPattern, seen: &Observed) -> Option<Bytes> {
        self.sizes(access, seen).next_back().filter(|_| access == AccessPattern::Random || self.is_any_size(seen))
    }

    /// The cost of a request that collides at an age, in seconds of delay, if as many requests wait for it as `queue_factor` says.
    fn cost_of(&self, size: Bytes, access: AccessPattern, queue_factor: impl Fn(f64) -> f64, seen: &Observed) -> f64 {
        let estimate = seen.service.of(size, access);
        let service = estimate.high;
        estimate.held(service) * (self.calibration.factor() * queue_factor(service)).max(1.0)
    }

    /// The highest likely cost of a request that collides at an age, in seconds of delay, requests queued behind
    /// included: the usual cost at this age, or that of the worst recent burst. Once many requests have come, the
    /// latter is limited to a share of the earnings, because otherwise one burst would end the scrub.
    fn cost(&self, size: Bytes, access: AccessPattern, age: f64, seen: &Observed) -> f64 {
        self.cost_up_to(self.reserve_max(), size, access, age, seen)
    }

    /// As [`Budget::cost`], with that limit of the cost of the worst recent burst.
    fn cost_up_to(&self, reserve_max: f64, size: Bytes, access: AccessPattern, age: f64, seen: &Observed) -> f64 {
        let followers = &seen.workload.followers;
        let worst = self.cost_of(size, access, |service| followers.worst_or_imagined(service), seen);
        let mut worst = worst.min(reserve_max);
        if size == SIZE_MIN {
            // An imagined burst does not hold back the smallest size while half of the warm-up budget is left:
            // otherwise the followers on a slow disk would never be observed.
            let imagined = IMAGINED_SHARE * self.account.warm_up();
            worst = worst.min(self.cost_of(size, access, |service| followers.worst(service), seen).max(imagined));
        }
        // While bursts are not over, as many may wait for this request as have come in them: there is no limit to that.
        let usual = |service| followers.queue_factor(age, service).max(followers.going_on(age, service));
        self.cost_of(size, access, usual, seen).max(worst)
    }

    /// The most that is held in reserve for a burst, in seconds of delay.
    fn reserve_max(&self) -> f64 {
        (RESERVE_SHARE * self.account.earned()).max(RESERVE_REQUESTS * self.goal.mean.as_secs_f64())
    }

    /// Would at most one foreground request in a hundred exceed the p99 goal after a request sent at this age? Those count that the usual
    /// burst at this age brings, or the worst of late, which is limited as in [`Budget::cost`].
    fn keeps_p99(&self, size: Bytes, access: AccessPattern, age: f64, seen: &Observed) -> bool {
        if self.goal.p99.is_none() {
            return true;
        }
        let service = seen.service.of(size, access);
        let requests = (RESERVE_SHARE * seen.workload.requests as f64).max(RESERVE_REQUESTS);
        let reserve_max = Goal::P99_SHARE * requests * service.held(service.high);
        self.keeps_p99_after(size, access, self.cost_up_to(reserve_max, size, access, age, seen), seen)
    }

    /// As [`Budget::keeps_p99`], after a request that costs up to `cost` seconds in all. If the size usually takes longer than that goal,
    /// all arrivals that meet it count; otherwise the share of its requests that do.
    fn keeps_p99_after(&self, size: Bytes, access: AccessPattern, cost: f64, seen: &Observed) -> bool {
        let Some(p99) = self.goal.p99.map(Nanos::as_secs_f64) else { return true };
        let service = seen.service.of(size, access);
        let held = service.held(service.high);
        let over_share = if held > p99 { 1.0 } else { overrun(size, access, p99, seen).share };
        let requests = seen.workload.requests.max(Goal::WARM_UP_REQUESTS) as f64;
        self.over_p99 as f64 + over_share * cost / held <= Goal::P99_SHARE * requests
    }

    /// The penalty in the plan, in seconds, for one request that loses more than the p99 goal: as many may as the goal for the mean
    /// pays for.
    fn p99_penalty(&self) -> f64 {
        if self.goal.p99.is_some() { self.goal.mean.as_secs_f64() / Goal::P99_SHARE } else { 0.0 }
    }

    /// The share of a request that delays arrivals by `held` seconds, at the most, in which they lose more than the p99 goal.
    fn over_p99_share(&self, held: f64) -> f64 {
        self.goal.p99.map_or(0.0, |p99| (1.0 - p99.as_secs_f64() / held).max(0.0))
    }

    /// Makes a new plan from the observations.
    fn solve(&mut self, seen: &Observed) {
        let accesses = [AccessPattern::Random, AccessPattern::Sequential];
        self.has_sizes = self.is_any_size(seen);
        let service =
            |size, access| Some(seen.service.of(size, access)).filter(|service| self.goal.allows_size(size, service));
        let requests = SIZES.map(|size| PlannedRequest {
            size,
            services: accesses.map(|access| service(size, access)),
            overruns: accesses.map(|access| {
                let p99 = self.goal.p99.map(|p99| overrun(size, access, p99.as_secs_f64(), seen)).unwrap_or_default();
                [overrun(size, access, self.goal.max.as_secs_f64(), seen), p99]
            }),
        });
        self.idle = seen.workload.idle.moments().sum;
        let queue_factor = |age, service| seen.workload.followers.queue_factor(age, service);
        // The penalty rises with the number of requests that have already lost more than the max goal.
        let broken = seen.slowdown.collisions_longer_than(self.goal.max) as f64;
        let broken = broken / (1.0 + BROKEN_SHARE * seen.workload.requests as f64);
        let of_max = self.goal.mean.as_secs_f64() / BROKEN_SHARE * (1.0 + broken);
        let of_p99 = self.p99_penalty();
        let ages = Ages::new(&seen.workload.idle);
        self.schedule = Schedule::new(ages, requests.to_vec(), [of_max, of_p99], self.schedule.level(), queue_factor);
        self.set_target(seen);
        let cautious = seen.workload.requests < REQUESTS_MIN;
        self.setting = PolicyState { in_idle_only: true, cautious, ..self.setting };
        if let Some((wait, size, duty)) = self.schedule.summary() {
            self.setting = PolicyState { wait: Nanos::from_secs_f64(wait), size, duty, ..self.setting };
            // What chance may take depends on the size.
            self.set_target(seen);
        }
        self.setting.for_max = self.schedule.broken_share();
    }

    /// The number of completions at which a new plan is made.
    fn completions_due(&self) -> u64 {
        self.completions_from + next_due(self.solved_at[1].saturating_sub(self.completions_from), u64::MAX)
    }

    /// Sets how much the current plan may spend.
    fn set_target(&mut self, seen: &Observed) {
        self.spend_at = self.intervals + (self.intervals / SPEND_STEP).clamp(1, SPEND_STEP);
        let service = seen.service.of(self.setting.size, AccessPattern::Random);
        let factor = self.calibration.factor();
        // The rest of a request is as likely any part of it: the mean of its square is a third, that of itself a half.
        let together = factor * seen.workload.followers.weighted_by_delay(service.mean);
        let held = service.held(service.mean);
        let weighted_cost = (2.0 / 3.0 * held + self.over_p99_share(held) * self.p99_penalty()) * together;
        let imagined = self.goal.mean.as_secs_f64() * REQUESTS_IMAGINED;
        let penalties = self.over_p99 as f64 * self.p99_penalty();
        let rate = self.account.rate(weighted_cost, self.reserve_max(), penalties);
        let target = (rate * self.idle + imagined) / factor;
        let price = self.price.usual(self.goal.mean.as_secs_f64());
        let late = || self.late.intervals(&seen.workload.idle);
        self.schedule.set_target(target, PRICE_SHARE * price * factor, self.late.count(), late);
    }
}

/// The share of the requests of `size` that delay arrivals by more than `max` seconds, and for how many seconds from
/// its start such a request does. Where the foreground passes a request, its service time does not show that: there the
/// share of the collisions so far is used.
fn overrun(size: Bytes, access: AccessPattern, max: f64, seen: &Observed) -> Overrun {
    let service = seen.service.of(size, access);
    if service.full_hold_time(service.mean) <= 0.0 {
        return seen.service.overrun(size, access, max);
    }
    let longer = seen.slowdown.collisions_longer_than(Nanos::from_secs_f64(max)) as f64;
    Overrun { window: service.mean, share: longer / (seen.slowdown.collisions.max(1)) as f64 }
}

/// The count at which a plan made at `count` is replaced: an eighth more, and 1 to `step_max` more.
fn next_due(count: u64, step_max: u64) -> u64 {
    count + (count / 8).clamp(1, step_max)
}

impl IdlePolicy for Budget {
    fn decide(&self, view: &DiskView, seen: &Observed) -> Decision {
        self.best_offer(view, seen).decision
    }

    fn waits_for(&self, view: &DiskView, seen: &Observed) -> WaitReason {
        if view.outstanding > 0 { WaitReason::InUse } else { self.best_offer(view, seen).waits_for }
    }

    fn horizon(&self, decision: Decision, view: &DiskView, seen: &Observed) -> DecisionHorizon {
        let horizon = self.shortest_horizon(view, seen, decision);
        DecisionHorizon { until: horizon.until.min(seen.service.fresh_until()), ..horizon }
    }

    fn learn(&mut self, at: Nanos, seen: &Observed) {
        self.began.get_or_insert(at);
        let Observed { workload, slowdown, .. } = seen;
        self.account.update(at, workload.requests, workload.idle_total, slowdown.lost());
        self.late.update(&workload.idle, workload.intervals == 0);
        let is_lost = slowdown.lost() > self.lost;
        self.lost = slowdown.lost();
        if let Some(p99) = self.goal.p99.filter(|_| is_lost) {
            self.over_p99 = slowdown.longer_than(p99);
        }
        if seen.workload.intervals > self.intervals {
            // An interval is numbered by the count of those before it.
            let predicted = self.schedule.expected_cost(workload.idle_last.as_secs_f64(), self.intervals);
            let ended = workload.intervals - self.intervals;
            let service = seen.service.of(self.setting.size, AccessPattern::Random);
            let queue_factor = workload.followers.queue_factor(self.setting.wait.as_secs_f64(), service.mean);
            let held = service.held(service.mean);
            let usual = (0.5 * held + self.over_p99_share(held) * self.p99_penalty()) * queue_factor;
            let cost = slowdown.lost().as_secs_f64() + self.over_p99 as f64 * self.p99_penalty();
            let is_last_resort = self.is_slow(AccessPattern::Random, seen) && self.is_seldom_planned();
            if self.is_any_size(seen) && !is_last_resort {
                self.calibration.update(ended as f64 * predicted, cost, usual);
            } else {
                self.calibration.leave_out(cost);
            }
            self.phases.update(
                self.schedule.ages(),
                workload.idle_ended,
                self.setting.wait.as_secs_f64(),
                workload.idle_last.as_secs_f64(),
            );
            self.price.update(ended, seen.service.bytes().0, workload.requests);
            self.intervals = workload.intervals;
        }
        let current = [self.intervals, seen.service.completions(), seen.service.strays()];
        let is_again = !self.has_sizes && self.is_any_size(seen);
        if is_again {
            self.completions_from = seen.service.completions();
        }
        let due = [
            next_due(self.solved_at[0], INTERVALS_STEP),
            self.completions_due(),
            next_due(self.solved_at[2], u64::MAX),
        ];
        if is_again || current.into_iter().zip(due).any(|(current, due)| current >= due) {
            self.solved_at = current;
            self.solve(seen);
        } else if is_lost || self.intervals >= self.spend_at {
            self.set_target(seen);
        }
    }

    fn state(&self) -> PolicyState {
        self.setting
    }

    fn size_max(&self) -> Bytes {
        SIZES[SIZES.len() - 1]
    }

    fn periodicity(&self) -> Option<Periodicity> {
        self.phases.kept()
    }

    fn recall(&mut self, periodicity: &Periodicity) {
        self.phases.recall(periodicity);
    }
}
