//! Which size at which age of an idle interval: what reads most at a price for each second of delay.
//!
//! A request of b bytes that takes s and is sent at age x is met by every interval that ends before x + s, and delays
//! whoever ends it by the rest: over all intervals that costs the sum of `x + s - L` over their lengths L in x..x+s. It
//! reads b in each interval that reaches x, and the next request can be sent at x + s. So the plan that reads most less what
//! it costs is found from the oldest age backwards: at each age the best of nothing, or of a size and what is best at the
//! age at which it ends.
//!
//! A request pays for a seek if the head is elsewhere, as it is at the beginning of an interval. So there are two plans: one for
//! a head that is away, which goes on with the other.
//!
//! It is the *end* of a request that meets an arrival: where intervals end at 50 ms, a request of 10 ms must not be sent
//! from 40 ms on, though nothing ever ends there.
//!
//! A wait, a size and an evasion of ages at which intervals tend to end (a daemon that writes every 30 s) all come out of
//! this; Waiting(t, b) is the plan that would be best if the hazard only fell, in one step. Plans for a ladder of prices are
//! made at once; between two of them intervals take turns, so that any amount can be spent.

mod choices;
mod price_plan;
#[cfg(test)]
mod tests;

pub(super) use choices::PlannedRequest;

use super::ages::{Ages, PARTS};
use super::phase::BelievedPeriod;
use crate::scrub::idle::DiskHead;
use crate::scrub::idle::service::SIZES;
use crate::units::Bytes;
use choices::{Hints, PLACES, PlanSide};
use price_plan::{CellTurn, PricePlan};

/// The ladder of prices: from so many bytes for a second of delay, to 2^50 times that, in so many steps for each doubling; at
/// the last one nothing is sent.
const PRICE_MIN: f64 = 1e3;
const DOUBLINGS: usize = 50;
const STEPS: usize = 8;
const RUNGS: usize = DOUBLINGS * STEPS + 1;
/// From this age on, in seconds, an interval takes turns within: its requests are short beside a part of a cell.
const LONG: f64 = 2.0;
/// What may be spent is spent anew when it has changed by this share.
const NEAR: f64 = 0.005;
/// So many times it is looked for when the clock will allow what it does not now.
const LOOKS: usize = 32;
/// Ages are told apart by no less, in seconds.
const LOOK_MIN: f64 = 1e-3;
/// Which of two plans an interval takes is told by its number times this, modulo 1: the golden ratio spreads any share
/// evenly.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// What to do from an age on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AgeAction {
    /// A request of this size, again and again where the head is there; or nothing.
    pub(super) size: Option<Bytes>,
    /// Until this age, in seconds; it may be infinite.
    pub(super) until: f64,
}

/// Plans by age, from the cheapest delays to the dearest.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    ages: Ages,
    /// The first part of the ages from [`LONG`] on.
    long: usize,
    requests: Vec<PlannedRequest>,
    /// By where the head is.
    sides: [PlanSide; 2],
    /// By rung of the ladder; made when they are needed.
    plans: Vec<Option<PricePlan>>,
    /// Where on the ladder what may be spent is spent.
    level: PriceLevel,
    /// What may be spent, and the least that a delay is to buy, when the level was found.
    asked: Option<[f64; 2]>,
}

/// A place on the ladder of prices: intervals take turns between the plans of the two rungs next to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PriceLevel {
    rung: usize,
    /// Of the intervals, so many take the next rung.
    share: f64,
}

impl PriceLevel {
    fn of(level: f64) -> PriceLevel {
        PriceLevel { rung: level as usize, share: level - level.floor() }
    }

    /// The rungs that are in use, and in which share of the intervals.
    fn rungs(self) -> impl Iterator<Item = (usize, f64)> {
        let both = [(self.rung, 1.0 - self.share), (self.rung + 1, self.share)];
        both.into_iter().filter(|&(_, share)| share > 0.0)
    }

    /// Which rung the interval of this number takes.
    fn rung(self, interval: u64) -> usize {
        let turns = interval as f64 * GOLDEN;
        let turn = turns - (turns as u64) as f64;
        if turn < 1.0 - self.share { self.rung } else { self.rung + 1 }
    }
}

impl Schedule {
    /// The plans that read most. Nothing is sent before [`Schedule::spend`] says how much.
    /// `behind` tells how many all together lose what the one loses who ends an interval of so many seconds by a request that
    /// takes so many.
    /// `each`: the penalty, in seconds, for one request that loses more than the max goal.
    /// Near `level` is where to look first for what to spend.
    pub(super) fn new(
        ages: Ages,
        requests: Vec<PlannedRequest>,
        each: f64,
        level: PriceLevel,
        behind: impl Fn(f64, f64) -> f64,
    ) -> Schedule {
        let sides = [DiskHead::Away, DiskHead::There].map(|head| PlanSide::new(&ages, &requests, each, head, &behind));
        let long = ages.part_of(LONG);
        let mut schedule = Schedule { ages, long, requests, sides, plans: vec![None; RUNGS], level, asked: None };
        schedule.plan(RUNGS - 1);
        schedule
    }

    /// What it was made of.
    pub(super) fn ages(&self) -> &Ages {
        &self.ages
    }

    /// Where on the ladder it is.
    pub(super) fn level(&self) -> PriceLevel {
        self.level
    }

    /// From now on those who end all the intervals known would wait for `target` seconds together, or for as much less as there
    /// is to be had.
    /// But no delay is bought for fewer bytes a second than `price_min`.
    pub(super) fn spend(&mut self, target: f64, price_min: f64) {
        let is_near = |(was, now): (f64, f64)| (now - was).abs() <= NEAR * was.abs();
        if self.asked.is_some_and(|asked| asked.into_iter().zip([target, price_min]).all(is_near)) {
            return;
        }
        self.asked = Some([target, price_min]);
        let level_min = (price_min / PRICE_MIN).max(1.0).log2() * STEPS as f64;
        let level_min = level_min.min((RUNGS - 1) as f64);
        // The dearer delays are, the less is spent, and at last nothing. Plans are made near the one in use, as few as can be.
        let (mut low, mut high) = (level_min as usize, RUNGS - 1);
        let (mut probe, mut step) = (self.level.rung.clamp(low, high), 1);
        while low < high {
            if self.plan(probe).spent > target {
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
        let under = self.plan(high).spent;
        let level = match high.checked_sub(1).filter(|&over| over as f64 >= level_min) {
            Some(over) => high as f64 - (target - under) / (self.plan(over).spent - under),
            None => high as f64,
        };
        self.level = PriceLevel::of(level.max(level_min));
        for (rung, _) in self.level.rungs() {
            self.plan(rung);
            let Schedule { ages, sides, plans, .. } = self;
            if let Some(plan) = plans[rung].as_mut().filter(|plan| plan.sides[0].turns.is_empty()) {
                let [first, next] = [DiskHead::Away, DiskHead::There].map(|head| plan.refined(ages, sides, head));
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

    /// The plan of the interval of this number in a part of a cell. Long intervals are few: they take turns within.
    fn plan_of(&self, interval: u64, part: usize) -> Option<&PricePlan> {
        let turn = interval + part.saturating_sub(self.long) as u64;
        self.plans.get(self.level.rung(turn))?.as_ref()
    }

    /// What to do at an age of the interval of this number.
    pub(super) fn at(&self, age: f64, interval: u64, head: DiskHead) -> AgeAction {
        let never = AgeAction { size: None, until: f64::INFINITY };
        let part = self.ages.part_of(age);
        let plan = self.plan_of(interval, part).map(|plan| &plan.sides[head as usize]);
        let Some(plan) = plan.filter(|plan| !plan.turns.is_empty()) else { return never };
        let CellTurn { act, until } = plan.turns[part];
        let is_shared = part >= self.long && self.level.share > 0.0;
        let until = if is_shared { until.min(part as u16 + 1) } else { until.min(self.long.max(part + 1) as u16) };
        let last = usize::from(until) >= plan.turns.len();
        let until = if last { f64::INFINITY } else { self.ages.part_start(usize::from(until)) };
        let choice = self.sides[head as usize].choices.get(usize::from(act));
        AgeAction { size: choice.map(|choice| self.requests[usize::from(choice.index)].size), until }
    }

    /// The same when the clock tells more than the age: what to send now, or when to look again.
    pub(super) fn at_clock(&self, age: f64, interval: u64, head: DiskHead, clock: BelievedPeriod) -> AgeAction {
        // Most intervals of a busy disk end before the first look.
        if age < LOOK_MIN && self.at(age, interval, head).size.is_none() {
            return AgeAction { size: None, until: LOOK_MIN };
        }
        let mut from = age;
        for _ in 0..LOOKS {
            let then = clock.after(from - age);
            let Some((act, until)) = self.look(from, interval, head, then.width(), |time| then.multiplier(time)) else {
                return AgeAction { size: None, until: f64::INFINITY };
            };
            let size = self.sides[head as usize].choices.get(usize::from(act));
            let size = size.map(|choice| self.requests[usize::from(choice.index)].size);
            match size {
                Some(_) if from > age => return AgeAction { size: None, until: from },
                Some(_) => return AgeAction { size, until },
                // A nanosecond more: then it is the next part.
                None => from = until.min(from + then.until()) + 1e-9,
            }
        }
        AgeAction { size: None, until: from }
    }

    /// Up to this age requests of `size` are sent again: whatever the clock says, or while all that could be sent would end in the
    /// same part of its period.
    pub(super) fn until_clock(
        &self,
        age: f64,
        interval: u64,
        head: DiskHead,
        size: Bytes,
        clock: BelievedPeriod,
    ) -> f64 {
        let [_, part_ends] = self.around(age);
        let choices = &self.sides[head as usize].choices;
        let longest = choices.iter().map(|choice| choice.service.mean).fold(0.0, f64::max);
        let sent = (0..).zip(choices).find(|(_, choice)| self.requests[usize::from(choice.index)].size == size);
        // Were it the worst moment for this size, and the best for all others.
        let is_sure = sent.is_some_and(|(act, choice)| {
            let [least, most] = clock.range();
            let times = [choice.service.mean, choice.over.service];
            let multiplier = |time: f64| if times.contains(&time) { most } else { least };
            self.look(age, interval, head, clock.width(), multiplier).is_some_and(|(best, _)| best == act)
        });
        if is_sure { part_ends } else { part_ends.min(age + (clock.until() - longest).max(0.0)) }
    }

    /// The best act at about `age`, and the age up to which that is one; `None`: never send again. `multiplier` of a time in seconds:
    /// how many times likelier than the age says an interval is to end within it. `step`: for how many seconds sending nothing holds.
    fn look(
        &self,
        age: f64,
        interval: u64,
        head: DiskHead,
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
        let choices = &self.sides[head as usize].choices;
        let mut hints = [Hints::default(); SIZES.len()];
        for (hints, choice) in hints.iter_mut().zip(choices) {
            let cell = |service: f64| self.ages.cell_of(at.age + service);
            *hints = Hints {
                then: cell(choice.service.mean),
                ends: [choice.service.cases.map(|case| cell(case.service)); PLACES.len()],
            };
        }
        let act = plan.best(&self.ages, choices, head, at, at.age + step.min(to - from), multiplier, &mut hints);
        Some((act, to))
    }

    /// The ages that are taken to be one: a part, or where those are short some.
    fn around(&self, age: f64) -> [f64; 2] {
        let part = self.ages.part_of(age);
        let [from, to] = [part, part + 1].map(|part| self.ages.part_start(part));
        let slot = (age / LOOK_MIN).floor();
        if to - from < LOOK_MIN { [slot * LOOK_MIN, (slot + 1.0) * LOOK_MIN] } else { [from, to] }
    }

    /// Of the intervals that are as old as `age`, what share ends in the next `time` seconds.
    pub(super) fn ending(&self, age: f64, time: f64) -> f64 {
        let [now, then] = [age, age + time].map(|age| self.ages.reach(age));
        if now > 0.0 { 1.0 - then / now } else { 1.0 }
    }

    /// How long those who come at `age` of the interval of this number are expected to wait together, in seconds.
    pub(super) fn rest(&self, age: f64, interval: u64) -> f64 {
        let part = self.ages.part_of(age);
        self.plan_of(interval, part).map_or(0.0, |plan| plan.rests[part / PARTS])
    }

    /// Of the total cost of delays at the price in use, the share that is the penalty for breaking the max goal: 0..=1; 0 where nothing is
    /// ever sent.
    pub(super) fn broken_share(&self) -> f64 {
        let plans = self.level.rungs().filter_map(|(rung, share)| Some((self.plans.get(rung)?.as_ref()?, share)));
        let [spent, broken] = plans.fold([0.0; 2], |[spent, broken], (plan, share)| {
            [spent + share * plan.spent, broken + share * plan.broken]
        });
        if spent > 0.0 { (broken / spent).min(1.0) } else { 0.0 }
    }

    /// The first age at which something may be sent, the size that is sent for most of the time, and in which share of it
    /// anything is, if anything ever is.
    pub(super) fn summary(&self) -> Option<(f64, Bytes, f64)> {
        let mut times = vec![0.0; self.requests.len()];
        let (mut first, mut time) = (None, 0.0);
        for (index, cell) in self.ages.cells().iter().enumerate() {
            let mut is_used = false;
            for (rung, share) in self.level.rungs() {
                let plan = self.plans.get(rung)?.as_ref()?;
                let of = |side: usize| self.sides[side].choices.get(usize::from(plan.sides[side].acts[index]));
                if of(DiskHead::Away as usize).is_some() {
                    first.get_or_insert(cell.start);
                }
                // What follows, if anything does.
                let choice = of(DiskHead::There as usize).or(of(DiskHead::Away as usize));
                if let Some(choice) = choice.filter(|_| first.is_some()) {
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
        Some((first?, self.requests[most].size, share))
    }
}
