//! The schedule: which size to send at which age of an idle interval, to read most at a price for delay.
//!
//! A request of b bytes that takes s and is sent at age x collides in every interval that ends before x + s, and delays
//! the request that ends it by the rest: over all intervals that costs the sum of `x + s - L` over their lengths L in
//! x..x+s. It reads b in each interval that reaches x, and the next request can be sent at x + s. So the plan with the
//! most bytes read less the cost is computed from the oldest age backwards: at each age the best of sending nothing, or
//! a size plus the value of the age at which it ends.
//!
//! A request pays for a seek if its access is random, as it is at the beginning of an interval. So there are two
//! plans: the one that begins with a random access continues with the other.
//!
//! A collision depends on the *end* of a request: where intervals end at 50 ms, a request of 10 ms must not be sent
//! from 40 ms on, though no interval ends at 40 ms.
//!
//! A wait, a size and the avoidance of ages at which intervals tend to end (a daemon that writes every 30 s) all result
//! from this; Waiting(t, b) is the best plan where the hazard only falls, in one step. There is a plan for each price
//! of a ladder, made when it is needed; intervals alternate between two neighbouring plans, so that any amount can be
//! spent.

mod choices;
mod price_plan;
#[cfg(test)]
mod tests;

pub(super) use choices::PlannedRequest;

use super::ages::{Ages, PARTS};
use super::late::LateIntervals;
use super::phase::BelievedPeriod;
use crate::scrub::idle::AccessPattern;
use crate::scrub::idle::service::SIZES;
use crate::units::Bytes;
use choices::{Hints, PLACES, PlanSide};
use price_plan::{CellTurn, PricePlan};

/// The lowest price of the ladder, in bytes per second of delay. The ladder reaches 2^`DOUBLINGS` times that, with
/// `STEPS` prices for each doubling; at the last rung nothing is sent.
const PRICE_MIN: f64 = 1e3;
const DOUBLINGS: usize = 50;
const STEPS: usize = 8;
const RUNGS: usize = DOUBLINGS * STEPS + 1;
/// The age, in seconds, from which the two plans alternate within an interval: requests are short relative to a part of a cell.
const LONG: f64 = 2.0;
/// The price level is kept while the budget and the least price change by at most this share.
const NEAR: f64 = 0.005;
/// The number of steps ahead, at most, in the search for a moment at which the clock allows a request.
const LOOKS: usize = 32;
/// The shortest span of ages at which decisions by the clock differ, in seconds.
const LOOK_MIN: f64 = 1e-3;
/// An interval's number times this, modulo 1, selects the plan that it takes: the golden ratio spreads any share evenly.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// What to do from an age on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AgeAction {
    /// The size of the requests to send, back to back if the access is sequential; `None`: send nothing.
    pub(super) size: Option<Bytes>,
    /// The age at which that ends, in seconds; it may be infinite.
    pub(super) until: f64,
}

/// Plans by age for each price, from the cheapest delays to the dearest.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    ages: Ages,
    /// The first part of the ages from [`LONG`] on.
    long_from: usize,
    requests: Vec<PlannedRequest>,
    /// The possible requests, by [`AccessPattern`].
    sides: [PlanSide; 2],
    /// Plans by rung of the ladder; made when they are needed.
    plans: Vec<Option<PricePlan>>,
    /// The price level at which the budget is spent.
    level: PriceLevel,
    /// For what `level` was found: the budget, the least price, and the number of late intervals.
    solved_for: Option<[f64; 3]>,
}

/// A place on the ladder of prices: intervals alternate between the plans of the two rungs next to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PriceLevel {
    rung: usize,
    /// The share of the intervals that take the next rung: 0..1.
    share: f64,
}

impl PriceLevel {
    fn of(level: f64) -> PriceLevel {
        PriceLevel { rung: level as usize, share: level - level.floor() }
    }

    /// The rungs in use, each with its share of the intervals.
    fn rungs(self) -> impl Iterator<Item = (usize, f64)> {
        let both = [(self.rung, 1.0 - self.share), (self.rung + 1, self.share)];
        both.into_iter().filter(|&(_, share)| share > 0.0)
    }

    /// The rung for the interval of this number.
    fn rung(self, interval: u64) -> usize {
        let turns = interval as f64 * GOLDEN;
        let turn = turns - (turns as u64) as f64;
        if turn < 1.0 - self.share { self.rung } else { self.rung + 1 }
    }
}

impl Schedule {
    /// The best plans for these requests. Nothing is sent before [`Schedule::set_target`] sets the budget.
    /// `queue_factor` gives, for an interval length and a service time in seconds, the delay of all requests together as
    /// a multiple of the delay of the one that ends the interval.
    /// `penalties`: the penalty, in seconds, for one request that loses more than the max goal, and than the p99 goal.
    /// The search for the price begins near `level`.
    pub(super) fn new(
        ages: Ages,
        requests: Vec<PlannedRequest>,
        penalties: [f64; 2],
        level: PriceLevel,
        queue_factor: impl Fn(f64, f64) -> f64,
    ) -> Schedule {
        let sides = [AccessPattern::Random, AccessPattern::Sequential]
            .map(|access| PlanSide::new(&ages, &requests, penalties, access, &queue_factor));
        let long_from = ages.part_of(LONG);
        let mut schedule =
            Schedule { ages, long_from, requests, sides, plans: vec![None; RUNGS], level, solved_for: None };
        schedule.plan(RUNGS - 1);
        schedule
    }

    /// The idle intervals by age from which it was made.
    pub(super) fn ages(&self) -> &Ages {
        &self.ages
    }

    /// The price level in use.
    pub(super) fn level(&self) -> PriceLevel {
        self.level
    }

    /// Sets the price level so that the expected delay is `target` seconds over as much idle time as is known, if it goes on as it was
    /// of all time and as it was lately; less if there is less to buy. No delay is bought for fewer than `price_min` bytes a second.
    /// `late` is asked for only if the price must be found anew: if these changed, or `late_count`, the number of intervals of lately.
    pub(super) fn set_target(
        &mut self,
        target: f64,
        price_min: f64,
        late_count: f64,
        late: impl FnOnce() -> LateIntervals,
    ) {
        let is_near = |(before, after): (f64, f64)| (after - before).abs() <= NEAR * before.abs();
        let solved_for = [target, price_min, late_count];
        if self.solved_for.is_some_and(|before| before.into_iter().zip(solved_for).all(is_near)) {
            return;
        }
        self.solved_for = Some(solved_for);
        // What a plan costs, as a multiple of what may be spent.
        let late = late();
        let cost = |plan: &PricePlan| plan.spent * late.pace(&plan.expected_costs) / target;
        let level_min = (price_min / PRICE_MIN).max(1.0).log2() * STEPS as f64;
        let level_min = level_min.min((RUNGS - 1) as f64);
        // The higher the price, the less is spent, down to nothing. The search begins at the plan in use, to make as
        // few plans as possible.
        let (mut low, mut high) = (level_min as usize, RUNGS - 1);
        let (mut probe, mut step) = (self.level.rung.clamp(low, high), 1);
        while low < high {
            if cost(self.plan(probe)) > 1.0 {
                low = probe + 1;
                probe = (probe + step).min(high);
            } else {
                high = probe;
                probe = probe.saturating_sub(step).max(low);
            }
            step *= 2;
            if probe <= low || probe >= high {
                probe = usize::midpoint(low, high);
            }
        }
        let at_high = cost(self.plan(high));
        let level = match high.checked_sub(1).filter(|&rung_below| rung_below as f64 >= level_min) {
            Some(rung_below) => high as f64 - (1.0 - at_high) / (cost(self.plan(rung_below)) - at_high),
            None => high as f64,
        };
        self.level = PriceLevel::of(level.max(level_min));
        for (rung, _) in self.level.rungs() {
            self.plan(rung);
            let Schedule { ages, sides, plans, .. } = self;
            if let Some(plan) = plans[rung].as_mut().filter(|plan| plan.sides[0].turns.is_empty()) {
                let [first, next] =
                    [AccessPattern::Random, AccessPattern::Sequential].map(|access| plan.refined(ages, sides, access));
                [plan.sides[0].turns, plan.sides[1].turns] = [first, next];
            }
        }
    }

    fn plan(&mut self, rung: usize) -> &PricePlan {
        self.plans[rung].get_or_insert_with(|| {
            let is_last = rung + 1 == RUNGS;
            let price = if is_last { f64::INFINITY } else { PRICE_MIN * 2f64.powf(rung as f64 / STEPS as f64) };
            match is_last {
                false => PricePlan::new(&self.ages, &self.sides, price),
                true => PricePlan::nothing(self.ages.cells().len(), price),
            }
        })
    }

    /// The plan that the interval of this number uses in a part of a cell. Long intervals are few, so they alternate within.
    fn plan_of(&self, interval: u64, part: usize) -> Option<&PricePlan> {
        let turn = interval + part.saturating_sub(self.long_from) as u64;
        self.plans.get(self.level.rung(turn))?.as_ref()
    }

    /// What to do at an age of the interval of this number.
    pub(super) fn at(&self, age: f64, interval: u64, access: AccessPattern) -> AgeAction {
        let never = AgeAction { size: None, until: f64::INFINITY };
        let part = self.ages.part_of(age);
        let plan = self.plan_of(interval, part).map(|plan| &plan.sides[access as usize]);
        let Some(plan) = plan.filter(|plan| !plan.turns.is_empty()) else { return never };
        let CellTurn { act, until } = plan.turns[part];
        let is_shared = part >= self.long_from && self.level.share > 0.0;
        let until = if is_shared { until.min(part as u16 + 1) } else { until.min(self.long_from.max(part + 1) as u16) };
        let last = usize::from(until) >= plan.turns.len();
        let until = if last { f64::INFINITY } else { self.ages.part_start(usize::from(until)) };
        let choice = self.sides[access as usize].choices.get(usize::from(act));
        AgeAction { size: choice.map(|choice| self.requests[usize::from(choice.index)].size), until }
    }

    /// What to do at an age if a believed period corrects the hazard: the size to send now, or the age at which to look again.
    pub(super) fn at_clock(&self, age: f64, interval: u64, access: AccessPattern, clock: BelievedPeriod) -> AgeAction {
        // Most intervals of a busy disk end before the first look.
        if age < LOOK_MIN && self.at(age, interval, access).size.is_none() {
            return AgeAction { size: None, until: LOOK_MIN };
        }
        let mut from = age;
        for _ in 0..LOOKS {
            let later = clock.after(from - age);
            let Some((act, until)) =
                self.best_act(from, interval, access, later.width(), |time| later.multiplier(time))
            else {
                return AgeAction { size: None, until: f64::INFINITY };
            };
            let size = self.sides[access as usize].choices.get(usize::from(act));
            let size = size.map(|choice| self.requests[usize::from(choice.index)].size);
            match size {
                Some(_) if from > age => return AgeAction { size: None, until: from },
                Some(_) => return AgeAction { size, until },
                // One nanosecond later, so that the age then lies in the next part.
                None => from = until.min(from + later.until()) + 1e-9,
            }
        }
        AgeAction { size: None, until: from }
    }

    /// The age up to which requests of `size` may be sent again: the end of the part of ages if the clock cannot change
    /// the choice, otherwise the last age at which every request would end in the same part of the period.
    pub(super) fn until_clock(
        &self,
        age: f64,
        interval: u64,
        access: AccessPattern,
        size: Bytes,
        clock: BelievedPeriod,
    ) -> f64 {
        let [_, part_ends] = self.around(age);
        let choices = &self.sides[access as usize].choices;
        let longest = choices.iter().map(|choice| choice.service.mean).fold(0.0, f64::max);
        let sent = (0..).zip(choices).find(|(_, choice)| self.requests[usize::from(choice.index)].size == size);
        // Assumes the worst moment for this size, and the best for all others.
        let is_certain = sent.is_some_and(|(act, choice)| {
            let [least, most] = clock.range();
            let times = [choice.service.mean, choice.penalties[0].window, choice.penalties[1].window];
            let multiplier = |time: f64| if times.contains(&time) { most } else { least };
            self.best_act(age, interval, access, clock.width(), multiplier).is_some_and(|(best, _)| best == act)
        });
        if is_certain { part_ends } else { part_ends.min(age + (clock.until() - longest).max(0.0)) }
    }

    /// The best act at about `age`, and the age up to which it stays the best; `None`: never send again. `multiplier`
    /// of a time in seconds: how many times likelier than by its age an interval is to end within it. `step`: how long
    /// the act of sending nothing lasts, in seconds.
    fn best_act(
        &self,
        age: f64,
        interval: u64,
        access: AccessPattern,
        step: f64,
        multiplier: impl Fn(f64) -> f64,
    ) -> Option<(u8, f64)> {
        let part = self.ages.part_of(age);
        let plan = self.plan_of(interval, part).filter(|plan| plan.price.is_finite())?;
        let [from, to] = self.around(age);
        let at = self.ages.spot(0.5 * (from + to));
        if at.cell + 1 >= self.ages.cells().len() {
            return None;
        }
        let choices = &self.sides[access as usize].choices;
        let mut hints = [Hints::default(); SIZES.len()];
        for (hints, choice) in hints.iter_mut().zip(choices) {
            let cell = |service: f64| self.ages.cell_of(at.age + service);
            *hints = Hints {
                next_age: cell(choice.service.mean),
                ends: [choice.service.cases.map(|case| cell(case.service)); PLACES.len()],
            };
        }
        let act = plan.best(&self.ages, choices, access, at, at.age + step.min(to - from), multiplier, &mut hints);
        Some((act, to))
    }

    /// The span of ages that are treated as one: a part of a cell, or [`LOOK_MIN`] where parts are shorter.
    fn around(&self, age: f64) -> [f64; 2] {
        let part = self.ages.part_of(age);
        let [from, to] = [part, part + 1].map(|part| self.ages.part_start(part));
        let slot = (age / LOOK_MIN).floor();
        if to - from < LOOK_MIN { [slot * LOOK_MIN, (slot + 1.0) * LOOK_MIN] } else { [from, to] }
    }

    /// The share of the intervals of age `age` that ends in the next `time` seconds.
    pub(super) fn ending(&self, age: f64, time: f64) -> f64 {
        let [reach_now, reach_then] = [age, age + time].map(|age| self.ages.reach(age));
        if reach_now > 0.0 { 1.0 - reach_then / reach_now } else { 1.0 }
    }

    /// The expected delay of all requests together, and the penalty for those beyond the p99 goal, in seconds, if the interval of this
    /// number ends at `age`.
    pub(super) fn expected_cost(&self, age: f64, interval: u64) -> f64 {
        let part = self.ages.part_of(age);
        self.plan_of(interval, part).map_or(0.0, |plan| plan.expected_costs[part / PARTS])
    }

    /// The share of the total cost of delays, at the price in use, that is the penalty for breaking the max goal:
    /// 0..=1; 0 where nothing is ever sent.
    pub(super) fn broken_share(&self) -> f64 {
        let plans = self.level.rungs().filter_map(|(rung, share)| Some((self.plans.get(rung)?.as_ref()?, share)));
        let [spent, broken] = plans.fold([0.0; 2], |[spent, broken], (plan, share)| {
            [spent + share * plan.spent, broken + share * plan.broken]
        });
        if spent > 0.0 { (broken / spent).min(1.0) } else { 0.0 }
    }

    /// The first age at which something may be sent, in seconds; `None`: nothing is ever sent.
    pub(super) fn sends_from(&self) -> Option<f64> {
        let side = AccessPattern::Random as usize;
        let plans = self.level.rungs().filter_map(|(rung, _)| self.plans.get(rung)?.as_ref());
        let firsts = plans.filter_map(|plan| plan.sides[side].acts.iter().position(|&act| act != price_plan::NOTHING));
        firsts.min().map(|cell| self.ages.cells()[cell].start)
    }

    /// The first age at which something may be sent, in seconds, the size that is sent for most of the time, and the
    /// share of that time in which requests are sent; `None`: nothing is ever sent.
    pub(super) fn summary(&self) -> Option<(f64, Bytes, f64)> {
        let mut times = vec![0.0; self.requests.len()];
        let (first, mut time) = (self.sends_from()?, 0.0);
        for (index, cell) in self.ages.cells().iter().enumerate() {
            let mut is_used = false;
            for (rung, share) in self.level.rungs() {
                let plan = self.plans.get(rung)?.as_ref()?;
                let of = |side: usize| self.sides[side].choices.get(usize::from(plan.sides[side].acts[index]));
                // Most accesses are sequential; where nothing follows, the first request counts.
                let choice = of(AccessPattern::Sequential as usize).or(of(AccessPattern::Random as usize));
                if let Some(choice) = choice.filter(|_| cell.start >= first) {
                    times[usize::from(choice.index)] += cell.time_seen * share;
                    is_used = true;
                }
            }
            if is_used {
                time += cell.time_seen;
            }
        }
        let most = (0..times.len()).max_by(|&one, &two| times[one].total_cmp(&times[two]))?;
        let share = if time > 0.0 { times.iter().sum::<f64>() / time } else { 1.0 };
        Some((first, self.requests[most].size, share))
    }
}
