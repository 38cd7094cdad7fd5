//! Two players that know the future: the bounds to which the paper compares policies (Amvrosiadis et al., DSN'12, Fig. 14).

use super::{Interval, Player};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{Goal, GoalForm, IdlePattern, RequestGrowth, Slowdown};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_trace::Periods;

/// Uses the longest idle intervals, from their beginning. Their lengths without a scrub count.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// The stretches of the trace, in order.
    stretches: Vec<Stretch>,
    size: Bytes,
}

/// A stretch of successive intervals with one threshold.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The first interval after the stretch.
    until: usize,
    /// All longer intervals are used.
    idle_min: Nanos,
    /// How many intervals of exactly this length are used, too.
    ties: usize,
}

impl Oracle {
    /// Uses the longest of `intervals`, a `share` (0..=1) of their number.
    pub fn longest(share: f64, intervals: &[Nanos], size: Bytes) -> Oracle {
        let count = (share * intervals.len() as f64).round() as usize;
        let mut sorted = intervals.to_vec();
        let idle_min = match intervals.len().checked_sub(count) {
            Some(rank) if rank < intervals.len() => *sorted.select_nth_unstable(rank).1,
            _ => Nanos::MAX,
        };
        let longer = intervals.iter().filter(|&&idle| idle > idle_min).count();
        let stretch = Stretch { until: usize::MAX, idle_min, ties: count.saturating_sub(longer) };
        Oracle { stretches: vec![stretch], size }
    }

    /// Uses as many of the longest intervals as the mean goal allows, in its form.
    ///
    /// If the goal is for the mean so far, an interval may cost only what was earned until then, so the loss over the
    /// trace is at best the greatest convex curve below the earnings (a taut string): the threshold falls from stretch
    /// to stretch, each time all earnings are spent.
    pub fn within(goal: Goal, periods: &Periods, disk: ServiceModel, size: Bytes) -> Oracle {
        let (idle, service) = (periods.idle_before(), disk.service(size).max(Nanos(1)));
        let mut requests = 0;
        let earned = periods.requests_by_period().iter().map(|&count| {
            requests += u64::from(count);
            let counted = match goal.form {
                GoalForm::Strict => requests.max(Slowdown::JUDGED_FROM_REQUESTS),
                GoalForm::Average => periods.requests_total(),
            };
            u128::from(goal.mean.0) * u128::from(counted)
        });
        let earned: Vec<u128> = earned.collect();
        let mut thresholds: Vec<Nanos> = idle.iter().copied().chain([Nanos::MAX]).collect();
        thresholds.sort_unstable();
        thresholds.dedup();
        let (mut stretches, mut from, mut ledger) = (Vec::new(), 1, LossLedger::default());
        while from < idle.len() {
            let first_overspent = |idle_min: Nanos| {
                let mut ledger = ledger;
                (from..idle.len())
                    .find(|&interval| ledger.spend(periods, interval, idle_min, service) > earned[interval])
            };
            let place = thresholds.partition_point(|&idle_min| first_overspent(idle_min).is_some());
            // The thresholds of later stretches are not higher.
            thresholds.truncate(place + 1);
            let idle_min = thresholds.last().copied().unwrap_or(Nanos::MAX);
            let lower = place.checked_sub(1).and_then(|lower| first_overspent(thresholds[lower]));
            let until = lower.map_or(idle.len(), |spent_at| spent_at + 1);
            for interval in from..until {
                ledger.spend(periods, interval, idle_min, service);
            }
            stretches.push(Stretch { until, idle_min, ties: usize::MAX });
            from = until;
        }
        Oracle { stretches, size }
    }
}

/// The losses so far.
#[derive(Clone, Copy, Debug, Default)]
struct LossLedger {
    spent: u128,
    /// How late the foreground is.
    delay: Nanos,
}

impl LossLedger {
    /// Uses the next interval if it is at least `idle_min` long, as [`super::simulate`] does; returns the loss up to
    /// the end of the busy period after it, in nanoseconds.
    fn spend(&mut self, periods: &Periods, interval: usize, idle_min: Nanos, service: Nanos) -> u128 {
        let undelayed = periods.idle_before()[interval];
        self.delay = match undelayed > self.delay && undelayed >= idle_min {
            true => {
                let idle = undelayed - self.delay;
                Nanos(idle.0.next_multiple_of(service.0)) - idle
            }
            false => self.delay.since(undelayed),
        };
        self.spent += u128::from(self.delay.0) * u128::from(periods.requests_by_period()[interval]);
        self.spent
    }
}

impl Player for Oracle {
    fn pattern(&mut self, interval: Interval) -> IdlePattern {
        let stretch = self.stretches.partition_point(|stretch| stretch.until <= interval.number);
        let Some(stretch) = self.stretches.get_mut(stretch) else { return IdlePattern::NEVER };
        if interval.undelayed < stretch.idle_min || (interval.undelayed == stretch.idle_min && stretch.ties == 0) {
            return IdlePattern::NEVER;
        }
        stretch.ties -= usize::from(interval.undelayed == stretch.idle_min);
        IdlePattern { wait: Nanos::ZERO, first: self.size, growth: RequestGrowth::Fixed }
    }

    fn ended(&mut self, _: Nanos) {}
}

/// Waiting that gets the waited time back: uses the intervals longer than `wait`, from their beginning.
#[derive(Clone, Copy, Debug)]
pub struct Lossless {
    /// The threshold.
    pub wait: Nanos,
    /// The size of one request.
    pub size: Bytes,
}

impl Player for Lossless {
    fn pattern(&mut self, interval: Interval) -> IdlePattern {
        if interval.idle <= self.wait {
            return IdlePattern::NEVER;
        }
        IdlePattern { wait: Nanos::ZERO, first: self.size, growth: RequestGrowth::Fixed }
    }

    fn ended(&mut self, _: Nanos) {}
}
