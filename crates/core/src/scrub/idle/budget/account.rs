//! The account: what the foreground may have lost so far, and what it lost.
//!
//! Every foreground request earns the goal, and every delay spends. The account yields two limits. The *rate* is how
//! much the plan may spend in a second of idle time: the income per second of idle time, and the savings spread over as
//! much idle time as has passed, a working day at most. So the earnings of a burst are used up evenly over what
//! follows, and not before they are earned (the causal form of the taut string: the greatest convex curve under the
//! earnings). The *fence*: whatever the plan expects, nothing is sent that could cost more than the budget left.
//!
//! The rate leaves room for chance, because a scrub at its fence must stand still in the best of times, too. The collisions of one spread
//! cost S seconds on average, and by chance about sqrt(S c) more or less, where c is the cost of a collision weighted by itself. The
//! plan may spend the S for which `S + CONFIDENCE * sqrt(S c)` is all that there is: little of a small account, most of a large one.
//! No more is left than the fence may ask for: bursts that cost more than a day's earnings would otherwise end the scrub.

use super::goal::{Goal, GoalForm};
use crate::scrub::idle::Slowdown;
use crate::units::Nanos;

/// So many standard deviations of what the collisions of one spread cost by chance are left to the account. Three of a normal sum are
/// exceeded one time in 700; the sum is not quite normal, but nothing worse happens then than that the fence holds.
const CONFIDENCE: f64 = 3.0;
/// One request in long quiet time may cost what is left, and this share of all earnings: the mean so far exceeds the goal by no more.
const QUIET_SHARE: f64 = 0.04;
/// Until this number of requests was seen, the account counts as many.
const WARM_UP_REQUESTS: f64 = Goal::WARM_UP_REQUESTS as f64;
/// Savings are spread over at least this much idle time, in seconds.
const SPREAD_MIN: f64 = 60.0;
/// Savings are spread over at most this much idle time, in seconds: a busy day after a quiet week must live on its own
/// income. With half of this bound 51 MB/s are read of hplajw at a goal of 0.5 ms, with twice as much 56; but the busy
/// day then reads half of what it might.
pub(super) const SPREAD_MAX: f64 = 28_800.0;
/// An overdraft is to be made up in this share of the idle time so far.
const MAKE_UP_SHARE: f64 = 0.25;
/// However large the overdraft, the plan may spend this share of the mean earnings per second: in the longest idle
/// intervals a delay is so unlikely that only the fence should forbid it, and not the plan.
const RATE_MIN: f64 = 0.1;
/// However large the savings, the plan spends at most this multiple of the mean income per second.
const RATE_MAX: f64 = 4.0;
/// The time in which half of a debt is forgiven, in seconds. One collision may begin a burst that loses more than the
/// budget left, and without forgiveness one such misfortune would end the scrub.
const HALF_LIFE: f64 = 86_400.0;
/// Under [`GoalForm::Average`] the losses may exceed the earnings by this share of the earnings so far.
const CREDIT_SHARE: f64 = 0.04;
/// The rates are recomputed whenever the idle time (counted up to [`SPREAD_MAX`]) has grown by this share.
const RATES_STEP: f64 = 0.002;
/// The number of blocks in which earnings are kept, at most.
const BLOCKS: usize = 64;
/// The idle time of the shortest block, in seconds.
const BLOCK_MIN: f64 = 1.0;

/// The account of one run; see the module's text. All amounts are seconds of delay.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// The earnings of one foreground request.
    goal: f64,
    form: GoalForm,
    earnings: Earnings,
    /// Foreground requests per second of idle time: over the whole of it, at most the last two [`SPREAD_MAX`], and over
    /// the later half of that.
    rates: [f64; 2],
    /// The idle time, in seconds, at which `rates` are recomputed.
    rates_until: f64,
    requests: u64,
    lost: f64,
    forgiven: f64,
    /// The time at which `forgiven` was computed.
    at: Nanos,
}

impl Account {
    /// An account with no earnings and no losses.
    pub(super) fn new(goal: Nanos, form: GoalForm) -> Account {
        let (earnings, goal) = (Earnings::default(), goal.as_secs_f64());
        Account {
            goal,
            form,
            earnings,
            rates: [0.0; 2],
            rates_until: 0.0,
            requests: 0,
            lost: 0.0,
            forgiven: 0.0,
            at: Nanos::ZERO,
        }
    }

    /// Records the totals so far: foreground requests, time in idle intervals that have ended, and delay caused.
    pub(super) fn update(&mut self, now: Nanos, requests: u64, idle: Nanos, lost: Nanos) {
        self.forgiven = self.forgiven_by(now);
        self.at = self.at.max(now);
        if idle.as_secs_f64() > self.earnings.idle {
            self.earnings.update(requests as f64, idle.as_secs_f64());
            if self.earnings.idle >= self.rates_until {
                self.rates = self.earnings.rates();
                self.rates_until = self.earnings.idle + RATES_STEP * self.earnings.idle.min(SPREAD_MAX);
            }
        }
        (self.requests, self.lost) = (requests, lost.as_secs_f64());
    }

    fn forgiven_by(&self, now: Nanos) -> f64 {
        let debt = self.lost - self.forgiven - self.earned();
        if debt <= 0.0 {
            return self.forgiven;
        }
        let faded = 1.0 - (-now.since(self.at).as_secs_f64() / HALF_LIFE).exp2();
        self.forgiven + debt * faded
    }

    /// The earnings of all requests so far, or of the warm-up if that is more, in seconds.
    pub(super) fn earned(&self) -> f64 {
        self.goal * (self.requests as f64).max(WARM_UP_REQUESTS)
    }

    /// The earnings that are credited before any request was seen, in seconds.
    pub(super) fn warm_up(&self) -> f64 {
        self.goal * WARM_UP_REQUESTS
    }

    /// Is there a debt that is being forgiven? Then time alone changes what may be sent.
    pub(super) fn is_fading(&self) -> bool {
        self.lost - self.forgiven > self.earned()
    }

    /// May a request be sent that can cost up to `cost` seconds?
    pub(super) fn allows(&self, now: Nanos, cost: f64) -> bool {
        self.lost + cost <= self.earned() + self.credit() + self.forgiven_by(now)
    }

    /// As [`Account::allows`], for a request in quiet time: before the mean so far is judged, all may be spent that will have been
    /// earned by then. And what one costs in long quiet time may exceed what is left by a small share of what was earned.
    pub(super) fn allows_in_quiet_time(&self, now: Nanos, cost: f64, is_long: bool) -> bool {
        let until_judged = self.goal * Slowdown::JUDGED_FROM_REQUESTS as f64;
        let in_advance = (until_judged - self.earned()).max(if is_long { QUIET_SHARE * self.earned() } else { 0.0 });
        self.allows(now, 0.0) && self.allows(now, cost - in_advance)
    }

    /// How far the losses may exceed the earnings, in seconds.
    fn credit(&self) -> f64 {
        match self.form {
            GoalForm::Strict => 0.0,
            GoalForm::Average => CREDIT_SHARE * self.goal * self.requests as f64,
        }
    }

    /// The delay that may be caused in a second of idle time. `weighted_cost`: the cost of a collision, weighted by itself;
    /// `reserve_max`: the most that is left to chance; `penalties`: what counts as spent beside the delays; all in seconds.
    pub(super) fn rate(&self, weighted_cost: f64, reserve_max: f64, penalties: f64) -> f64 {
        let time = self.earnings.idle;
        let [all, late] = self.rates.map(|rate| self.goal * rate);
        let spread = time.clamp(SPREAD_MIN, SPREAD_MAX);
        // A burst in the older half of the time counts as savings and no longer as income; the warm-up was credited in advance.
        let is_warm = self.requests as f64 > WARM_UP_REQUESTS;
        let income = if is_warm { all.min(late) } else { 0.0 };
        let saved = self.earned() + self.forgiven - self.lost - penalties;
        // Within the credit nothing needs to be made up, or the looser form would read less after a burst.
        let overdraft = (saved + self.credit()).min(0.0);
        let there_is = income * spread + if saved < 0.0 { overdraft / MAKE_UP_SHARE } else { saved };
        let least = RATE_MIN * self.goal * self.requests as f64 / time.max(1.0);
        let spent = spendable(there_is, weighted_cost).max(there_is - reserve_max);
        (spent / spread).min(RATE_MAX * all).max(least)
    }
}

/// The S for which `S + CONFIDENCE * sqrt(S * weighted_cost)` is all that there is, in seconds.
fn spendable(there_is: f64, weighted_cost: f64) -> f64 {
    let half = 0.5 * CONFIDENCE * weighted_cost.sqrt();
    ((there_is.max(0.0) + half * half).sqrt() - half).powi(2)
}

/// Foreground requests by idle time, in blocks that become longer as time goes on.
#[derive(Clone, Debug)]
struct Earnings {
    /// All blocks, the oldest first; the last one is being filled.
    blocks: Vec<Block>,
    /// The idle time at which a block is full, in seconds.
    length: f64,
    requests: f64,
    idle: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Block {
    requests: f64,
    idle: f64,
}

impl Default for Earnings {
    fn default() -> Earnings {
        Earnings { blocks: vec![Block::default()], length: BLOCK_MIN, requests: 0.0, idle: 0.0 }
    }
}

impl Earnings {
    /// Adds what has come since the last call; both arguments are totals.
    fn update(&mut self, requests: f64, idle: f64) {
        let last = self.blocks.last_mut().expect("one is being filled");
        last.requests += requests - self.requests;
        last.idle += idle - self.idle;
        (self.requests, self.idle) = (requests, idle);
        if last.idle < self.length {
            return;
        }
        if self.blocks.len() == BLOCKS && self.length * (BLOCKS / 2) as f64 > 2.0 * SPREAD_MAX {
            self.blocks.remove(0);
        } else if self.blocks.len() == BLOCKS {
            let join = |pair: &[Block]| Block {
                requests: pair.iter().map(|block| block.requests).sum(),
                idle: pair.iter().map(|block| block.idle).sum(),
            };
            self.blocks = self.blocks.chunks(2).map(join).collect();
            self.length *= 2.0;
        }
        self.blocks.push(Block::default());
    }

    /// Foreground requests per second of idle time, as [`Account::rates`] has them.
    fn rates(&self) -> [f64; 2] {
        let late = (0.5 * self.idle).min(SPREAD_MAX);
        [self.rate_of_last(2.0 * late), self.rate_of_last(late)]
    }

    fn rate_of_last(&self, idle: f64) -> f64 {
        let mut remaining = idle;
        let mut requests = 0.0;
        for block in self.blocks.iter().rev() {
            if block.idle >= remaining {
                requests += if block.idle > 0.0 { block.requests * remaining / block.idle } else { 0.0 };
                break;
            }
            requests += block.requests;
            remaining -= block.idle;
        }
        if idle > 0.0 { requests / idle } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOAL: Nanos = Nanos::from_millis(1);

    /// Plays loads of (requests, idle seconds before them), spending at the rate; returns the account and, after each
    /// load, the share of the earnings that was lost.
    fn played(loads: impl IntoIterator<Item = (u64, f64)>) -> (Account, Vec<f64>) {
        let mut account = Account::new(GOAL, GoalForm::Strict);
        let (mut requests, mut idle, mut lost, mut shares) = (0, 0.0, 0.0, Vec::new());
        for (count, seconds) in loads {
            lost += account.rate(0.01, f64::INFINITY, 0.0) * seconds;
            requests += count;
            idle += seconds;
            let [idle, spent] = [idle, lost].map(Nanos::from_secs_f64);
            account.update(idle, requests, idle, spent);
            shares.push(lost / account.earned());
        }
        (account, shares)
    }

    #[test]
    fn a_steady_income_is_spent() {
        let (_, shares) = played((0..20_000).map(|_| (1, 0.05)));
        assert!(shares.iter().all(|&share| share <= 1.0), "{:?}", shares.iter().copied().reduce(f64::max));
        assert!((0.95..=0.98).contains(shares.last().unwrap()), "{:?}", shares.last());
    }

    #[test]
    fn one_burst_is_spread_over_what_follows_and_never_overspent() {
        let quiet = || (0..3000).map(|_| (1, 1.0));
        let (account, shares) = played(quiet().chain((0..100).map(|_| (70, 0.001))).chain((0..7000).map(|_| (1, 1.0))));
        assert!(shares.iter().all(|&share| share <= 1.0), "{:?}", shares.iter().copied().reduce(f64::max));
        assert!(*shares.last().unwrap() > 0.6, "{:?}", shares.last());
        assert!(
            account.rate(0.01, f64::INFINITY, 0.0) < 3.0 * account.goal * 1.7,
            "not more than three times the mean at its end"
        );
        let at_once = shares[3100..3200].iter().copied().fold(0.0, f64::max);
        assert!(at_once < 0.5, "{at_once}");
    }

    #[test]
    fn nothing_is_allowed_that_costs_more_than_is_left() {
        let mut account = Account::new(GOAL, GoalForm::Strict);
        let at = Nanos::from_secs(10);
        assert!(account.allows(at, 0.1) && !account.allows(at, 0.101), "a hundred requests are imagined");
        account.update(at, 1000, at, Nanos::from_millis(990));
        assert!(account.allows(at, 0.010) && !account.allows(at, 0.011));
        account.update(at, 1000, at, Nanos::from_secs(3));
        assert!(
            !account.allows(at, 0.0) && account.rate(0.01, f64::INFINITY, 0.0) <= 0.101 * account.goal * 100.0,
            "{}",
            account.rate(0.01, f64::INFINITY, 0.0)
        );
    }

    #[test]
    fn half_of_a_debt_is_forgiven_in_a_day() {
        let mut account = Account::new(GOAL, GoalForm::Strict);
        let day = |days: u64| Nanos::from_secs(86_400 * days);
        account.update(day(0), 1000, day(0), Nanos::from_secs(3));
        let debt = |account: &Account, now: Nanos| 3.0 - account.earned() - account.forgiven_by(now);
        assert!((debt(&account, day(1)) - 1.0).abs() < 1e-6, "{}", debt(&account, day(1)));
        for hour in 0..48 {
            account.update(Nanos::from_secs(3600 * hour), 1000, day(0), Nanos::from_secs(3));
        }
        assert!((debt(&account, day(2)) - 0.5).abs() < 1e-3, "told or not: {}", debt(&account, day(2)));
        account.update(day(2), 1500, day(0), Nanos::from_secs(3));
        assert!(account.allows(day(2), 0.0) && !account.allows(day(2), 0.01), "and the rest was earned");
    }

    #[test]
    fn earnings_take_a_bounded_number_of_blocks() {
        let mut earnings = Earnings::default();
        (1..100_000).for_each(|second| earnings.update(f64::from(second) * 2.0, f64::from(second)));
        assert!(earnings.blocks.len() <= BLOCKS);
        assert!(earnings.rates().iter().all(|rate| (rate - 2.0).abs() < 0.01), "{:?}", earnings.rates());
        earnings.update(300_000.0, 100_000.0);
        (100_001..130_000).for_each(|second| earnings.update(300_000.0, f64::from(second)));
        assert!(earnings.rates()[0] > 1.1 && earnings.rates()[1] < 0.1, "{:?}", earnings.rates());
        (130_000..200_000).for_each(|second| earnings.update(300_000.0, f64::from(second)));
        assert!(earnings.rates()[0] < 0.1 && earnings.blocks.len() <= BLOCKS, "{:?}", earnings.rates());
    }
}
