//! The plan at one price: at each age the best of nothing, or of a request and the plan for the age at which it ends.

use super::super::ages::{Ages, PARTS, Spot};
use super::choices::{AgePlace, Choice, Hints, PlanSide, middle, place};
use crate::scrub::idle::AccessPattern;

/// The act of sending nothing in a cell.
pub(super) const NOTHING: u8 = u8::MAX;

/// The plan at one price.
#[derive(Clone, Debug)]
pub(super) struct PricePlan {
    /// In bytes per second of delay.
    pub(super) price: f64,
    /// What to send, by [`AccessPattern`].
    pub(super) sides: [Acts; 2],
    /// By cell: the expected delay of all requests together, and the penalty for those beyond the p99 goal, in seconds, if an interval
    /// ends there.
    pub(super) expected_costs: Vec<f64>,
    /// The expected delay over all intervals, plus penalties, in seconds.
    pub(super) spent: f64,
    /// The part of `spent` that is the penalty for breaking the max goal.
    pub(super) broken: f64,
}

/// What to send at each age.
#[derive(Clone, Debug)]
pub(super) struct Acts {
    /// By cell, for a request that is sent anywhere in it: an index of the choices, or [`NOTHING`].
    pub(super) acts: Vec<u8>,
    /// By part of a cell, because arrivals at the same age in each interval are not spread over a cell. Made when the
    /// plan is used.
    pub(super) turns: Vec<CellTurn>,
    /// By cell, from its middle on: bytes read less the cost, in bytes. One more than there are cells.
    pub(super) values: Vec<f64>,
}

/// What to do in a part of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellTurn {
    pub(super) act: u8,
    /// The next part in which the act is another one.
    pub(super) until: u16,
}

impl Acts {
    pub(super) fn nothing(cells: usize) -> Acts {
        Acts { acts: vec![NOTHING; cells], turns: Vec::new(), values: vec![0.0; cells + 1] }
    }
}

impl PricePlan {
    pub(super) fn nothing(cells: usize, price: f64) -> PricePlan {
        let sides = [Acts::nothing(cells), Acts::nothing(cells)];
        PricePlan { price, sides, expected_costs: vec![0.0; cells], spent: 0.0, broken: 0.0 }
    }

    /// The best act for each part of a cell.
    pub(super) fn refined(&self, ages: &Ages, sides: &[PlanSide; 2], access: AccessPattern) -> Vec<CellTurn> {
        let (PlanSide { choices, .. }, acts) = (&sides[access as usize], &self.sides[access as usize].acts);
        let last = PARTS * (ages.cells().len() - 1);
        let longest = choices.iter().map(|choice| choice.service.mean).fold(0.0, f64::max);
        let mut hints = vec![Hints::default(); choices.len()];
        let mut turn = CellTurn { act: NOTHING, until: last as u16 + PARTS as u16 };
        let mut turns = vec![turn; usize::from(turn.until)];
        for part in (0..last).rev().filter(|_| self.price.is_finite()) {
            let (from, to) = (ages.part_start(part), ages.part_start(part + 1));
            // Where a request is short relative to a part, or neighbouring cells have the same act, each part has it too.
            let cell = part / PARTS;
            let cell_act = acts[cell];
            let is_alike = acts[cell.saturating_sub(1)..=cell + 1].iter().all(|&act| act == cell_act);
            let act = match is_alike || to - from > longest {
                true => cell_act,
                false => {
                    let at =
                        Spot { age: 0.5 * (from + to), cell, offset: 0.5 * (from + to) - ages.cells()[cell].start };
                    self.best(ages, choices, access, at, ages.cells()[cell + 1].start, |_| 1.0, &mut hints)
                }
            };
            if act != turn.act {
                turn = CellTurn { act, until: part as u16 + 1 };
            }
            turns[part] = turn;
        }
        turns
    }

    /// The best act at an age: an index of the choices, or [`NOTHING`] until the age of `until`. `multiplier` of a time
    /// in seconds: how many times likelier than by its age an interval is to end within it.
    #[expect(clippy::too_many_arguments)]
    pub(super) fn best(
        &self,
        ages: &Ages,
        choices: &[Choice],
        access: AccessPattern,
        at: Spot,
        until: f64,
        multiplier: impl Fn(f64) -> f64,
        hints: &mut [Hints],
    ) -> u8 {
        let [current, following] = [&self.sides[access as usize], &self.sides[AccessPattern::Sequential as usize]];
        let next = place(ages, ages.spot_near(until, &mut at.cell.clone()));
        let (reach, mut best) = (ages.reach_spot(at), (next.of(|cell| current.values[cell]), NOTHING));
        for ((index, choice), hints) in (0..).zip(choices).zip(hints) {
            let end = place(ages, ages.spot_near(at.age + choice.service.mean, &mut hints.next_age));
            let worth_max = choice.bytes * reach + end.of(|cell| following.values[cell]);
            if worth_max > best.0 {
                let cost = choice.lost(ages, at, &mut hints.ends[0]) * multiplier(choice.service.mean);
                let broken = choice.broken(ages, at).into_iter().zip(&choice.penalties);
                let broken: f64 = broken.map(|(broken, penalty)| broken * multiplier(penalty.window)).sum();
                let worth = worth_max - self.price * (cost + broken);
                if worth > best.0 {
                    best = (worth, index);
                }
            }
        }
        best.1
    }

    /// The plan with the most bytes read less the cost at this price.
    pub(super) fn new(ages: &Ages, sides: &[PlanSide; 2], price: f64) -> PricePlan {
        let inner = ages.cells().len().saturating_sub(1);
        let mut plan = PricePlan::nothing(inner + 1, price);
        // The expected cost from each cell's middle on, by [`AccessPattern`].
        let mut spent = [vec![0.0; inner + 2], vec![0.0; inner + 2]];
        for cell in (0..inner).rev() {
            // After a random access the next is sequential, perhaps in the same cell, so that side is computed first.
            for side in [AccessPattern::Sequential as usize, AccessPattern::Random as usize] {
                let mut best = (plan.sides[side].values[cell + 1], spent[side][cell + 1], NOTHING);
                let values_there = &plan.sides[AccessPattern::Sequential as usize].values;
                for (index, outcome) in (0..).zip(sides[side].outcomes(cell)) {
                    let value = outcome.gain - price * outcome.cost + outcome.next_age.of(|cell| values_there[cell]);
                    if value > best.0 {
                        let lost =
                            outcome.cost + outcome.next_age.of(|cell| spent[AccessPattern::Sequential as usize][cell]);
                        best = (value, lost, index);
                    }
                }
                (plan.sides[side].values[cell], spent[side][cell], plan.sides[side].acts[cell]) = best;
            }
        }
        plan.spent = spent[AccessPattern::Random as usize][0];
        plan.predict_costs(ages, sides);
        plan
    }

    /// Computes `expected_costs` and `broken`: follows, from age 0 on, the share of the intervals that decides in each cell.
    pub(super) fn predict_costs(&mut self, ages: &Ages, sides: &[PlanSide; 2]) {
        let inner = ages.cells().len().saturating_sub(1);
        // The share of the intervals of that age in which the plan decides in the middle of a cell, by [`AccessPattern`].
        let mut shares = [vec![0.0; inner + 2], vec![0.0; inner + 2]];
        shares[AccessPattern::Random as usize][0] = 1.0;
        for cell in 0..inner {
            for access in [AccessPattern::Random, AccessPattern::Sequential] {
                let share = shares[access as usize][cell];
                let act = self.sides[access as usize].acts[cell];
                let Some((choice, outcome)) = sides[access as usize].outcome(cell, act) else {
                    shares[access as usize][cell + 1] += share;
                    continue;
                };
                let AgePlace { cell: next_cell, share: far_share } = outcome.next_age;
                shares[AccessPattern::Sequential as usize][next_cell] += share * (1.0 - far_share);
                shares[AccessPattern::Sequential as usize][next_cell + 1] += share * far_share;
                self.broken += share * outcome.broken;
                self.predict_choice(ages, cell, share, choice, access);
            }
        }
    }

    /// Adds to `expected_costs` what a choice that is made in a cell, in a share of the intervals, costs those that end
    /// during it.
    pub(super) fn predict_choice(
        &mut self,
        ages: &Ages,
        cell: usize,
        share: f64,
        choice: &Choice,
        access: AccessPattern,
    ) {
        let (cells, inner) = (ages.cells(), ages.cells().len() - 1);
        let service = choice.service.mean;
        let [_, p99] = choice.penalties;
        let width = cells[cell + 1].start - cells[cell].start;
        if service < width {
            let each = choice.mean_delay() + p99.cost * p99.window / service;
            // If the access is random, only the few arrivals in these seconds meet it.
            let met = if access == AccessPattern::Sequential { 1.0 } else { service / width };
            self.expected_costs[cell] += share * choice.ends.weight(cell) * each * met;
            return;
        }
        let end = middle(ages, cell) + service;
        let over_until = end - service + p99.window;
        // Intervals that end in the first half of the cell end before the request.
        // The whole rest, also where others pass the request sooner: see docs/decisions.md, *What a step is predicted to cost*.
        self.expected_costs[cell] += 0.5 * share * choice.ends.weight(cell) * (service + p99.cost);
        let later_cells =
            (cell + 1..=inner).map(|cell| (cell, middle(ages, cell))).take_while(|&(_, middle)| middle < end);
        later_cells.for_each(|(cell, middle)| {
            let over = if middle < over_until { p99.cost } else { 0.0 };
            self.expected_costs[cell] += share * choice.ends.weight(cell) * (end - middle + over);
        });
    }
}
