//! Which size at which age of an idle interval: what reads most at a price for each second of delay.
//!
//! At age x with hazard h(x), requests of b bytes that take s(b) read b/s(b) bytes a second and cost others
//! `n h(x) s(b)/2` seconds a second: each interval that ends meets one of them, on average in its middle, and n is how
//! many times that delay all lose who queue behind. What is spent at one age does not change what happens at another, so
//! the best plan is the one that takes at each age the size with the greatest `b/s(b) - price * n h(x) s(b)/2`, and
//! nothing where none is worth its price. One price makes the whole plan cost what may be spent.
//!
//! A wait, a size and an evasion of ages at which intervals tend to end (a daemon that writes every 30 s) all come out of
//! this; Waiting(t, b) is the plan that would be best if the hazard only fell, in one step.

use super::ages::Ages;
use crate::units::Bytes;

/// The range of prices, in bytes for a second of delay; and bisections of it, to one part in a million.
const PRICE_MIN: f64 = 1e3;
const PRICE_MAX: f64 = 1e18;
const BISECTIONS: usize = 26;
/// No pace is slower than this share of the time.
const DUTY_MIN: f64 = 0.01;

/// One request that could be sent at some age.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Request {
    /// Its size.
    pub(super) size: Bytes,
    /// How long it takes, in seconds.
    pub(super) service: f64,
}

/// A plan by age.
#[derive(Clone, Debug, Default)]
pub(super) struct Schedule {
    ages: Ages,
    requests: Vec<Request>,
    /// By cell and request: what a second of such requests costs others, in seconds.
    costs: Vec<f64>,
    /// By cell: below this price something is sent.
    worth: Vec<f64>,
    /// The price at which the plan costs too much, and the one next to it at which it does not.
    prices: [f64; 2],
    /// The share of the time for what is worth the lower price only. Where all ages are alike (idle intervals without
    /// memory), that is all there is.
    duty: f64,
}

impl Schedule {
    /// The plan that reads most while all intervals known would have cost `target` seconds together, when each second of
    /// delay of the one who ends an interval costs `followers` seconds in all.
    pub(super) fn new(ages: Ages, requests: Vec<Request>, target: f64, followers: f64) -> Schedule {
        let cells = 0..ages.cells().len();
        let cost = |cell, one: &Request| followers * ages.hazard(cell, one.service) * one.service / 2.0;
        let costs: Vec<f64> = cells.flat_map(|cell| requests.iter().map(move |one| cost(cell, one))).collect();
        let worth = |(one, cost): (&Request, &f64)| one.size.0 as f64 / one.service / cost;
        let dearest = |costs: &[f64]| requests.iter().zip(costs).map(worth).fold(0.0, f64::max);
        let worth = costs.chunks(requests.len().max(1)).map(dearest).collect();
        let mut schedule = Schedule { ages, requests, costs, worth, prices: [PRICE_MIN; 2], duty: 1.0 };
        schedule.settle(target);
        schedule
    }

    /// Finds the price.
    fn settle(&mut self, target: f64) {
        if self.spent(PRICE_MIN) <= target {
            return;
        }
        let (mut low, mut high) = (PRICE_MIN.ln(), PRICE_MAX.ln());
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            if self.spent(middle.exp()) > target { low = middle } else { high = middle }
        }
        self.prices = [low.exp(), high.exp()];
        let (over, under) = (self.spent(low.exp()), self.spent(high.exp()));
        self.duty = if over > under { ((target - under) / (over - under)).clamp(DUTY_MIN, 1.0) } else { 1.0 };
    }

    /// What all intervals together cost others at a price, in seconds.
    fn spent(&self, price: f64) -> f64 {
        let cells = self.ages.cells().iter().enumerate();
        let cost = |(index, cell): (usize, &super::ages::Age)| {
            self.choose(index, price).map_or(0.0, |chosen| cell.time * self.costs[index * self.requests.len() + chosen])
        };
        cells.map(cost).sum()
    }

    /// The request worth most in a cell at a price, if any is worth it.
    fn choose(&self, cell: usize, price: f64) -> Option<usize> {
        let costs = &self.costs[cell * self.requests.len()..][..self.requests.len()];
        let (mut best, mut best_value) = (None, 0.0);
        for (index, (one, cost)) in self.requests.iter().zip(costs).enumerate() {
            let value = one.size.0 as f64 / one.service - price * cost;
            if value > best_value {
                (best, best_value) = (Some(index), value);
            }
        }
        best
    }

    /// What may be sent at an age, and for which share of the time, when delays are `dear` times as dear as planned.
    pub(super) fn at(&self, age: f64, dear: f64) -> Option<(Request, f64)> {
        self.in_cell(self.ages.cell_of(age), dear)
    }

    fn in_cell(&self, cell: usize, dear: f64) -> Option<(Request, f64)> {
        let [low, high] = self.prices.map(|price| price * dear);
        let sure = self.choose(cell, high).map(|index| (self.requests[index], 1.0));
        sure.or_else(|| self.choose(cell, low).map(|index| (self.requests[index], self.duty)))
    }

    /// The next age after the cell of `age` at which something may be sent.
    pub(super) fn next(&self, age: f64, dear: f64) -> Option<f64> {
        let later = self.ages.cell_of(age) + 1;
        let price = self.prices[0] * dear;
        let next = later + self.worth.get(later..)?.iter().position(|&worth| worth > price)?;
        Some(self.ages.cells()[next].start)
    }

    /// The first age at which something may be sent, and what is sent for most of the time, if anything ever is.
    pub(super) fn summary(&self) -> Option<(f64, Request, f64)> {
        let cells = self.ages.cells();
        let mut times = vec![(0.0, 0.0); self.requests.len()];
        let mut first = None;
        for (index, cell) in cells.iter().enumerate() {
            let Some((request, duty)) = self.in_cell(index, 1.0) else { continue };
            first.get_or_insert(cell.start);
            let place = self.requests.iter().position(|one| *one == request)?;
            times[place].0 += cell.time_seen * duty;
            times[place].1 += cell.time_seen;
        }
        let (place, (paced, time)) = times.into_iter().enumerate().max_by(|one, two| one.1.0.total_cmp(&two.1.0))?;
        Some((first?, self.requests[place], if time > 0.0 { paced / time } else { 1.0 }))
    }
}
