//! The idle intervals of lately: of the later half of the idle time, or about the last eight hours of it.

use super::account::SPREAD_MAX;
use crate::stats::DurationHistogram;

/// So many intervals like the mean of all are added to those of lately, because one short one after a restart tells next to nothing:
/// with this many it makes the pace two at most.
const IMAGINED: f64 = 1.0;

/// Two earlier states of the histogram of all idle intervals. Those that ended since the older one are late: between once and twice
/// half of the idle time, or [`SPREAD_MAX`] of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Late {
    earlier: [DurationHistogram; 2],
    /// The number of intervals in the histogram at the last update.
    count: f64,
}

/// What came lately, beside all that came.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LateIntervals {
    /// By cell of the ages, without the empty ones: how many ended there, of all and lately.
    pub(super) ends: Vec<(usize, [f64; 2])>,
    /// How long they were together, of all and lately, in seconds.
    pub(super) idle: [f64; 2],
}

impl LateIntervals {
    /// How many times as much as over all idle time a plan spends in a second of it lately, 1 or more. `expected_costs`: by cell, what it
    /// spends if an interval ends there.
    pub(super) fn pace(&self, expected_costs: &[f64]) -> f64 {
        let add = |[all, late, count]: [f64; 3], &(cell, [of_all, of_late]): &(usize, [f64; 2])| {
            [all + of_all * expected_costs[cell], late + of_late * expected_costs[cell], count + of_all]
        };
        let [all, late, count] = self.ends.iter().fold([0.0; 3], add);
        let imagined = IMAGINED / count;
        let pace = (late / all + imagined) / (self.idle[1] / self.idle[0] + imagined);
        if pace.is_finite() { pace.max(1.0) } else { 1.0 }
    }
}

impl Late {
    /// Follows the histogram of all intervals; called after each. `is_recalled`: none has ended in this run yet. What an earlier run
    /// saw is not late.
    pub(super) fn update(&mut self, all: &DurationHistogram, is_recalled: bool) {
        let (count, idle) = (all.moments().count, all.moments().sum);
        if is_recalled {
            if count > self.count {
                self.earlier = [all.clone(), all.clone()];
            }
        } else if count < self.count {
            // When the histogram has become large, all that was in it counts half.
            self.earlier.iter_mut().for_each(|earlier| earlier.fade(0.5));
        }
        self.count = count;
        if idle - self.earlier[1].moments().sum > (0.5 * idle).min(SPREAD_MAX) {
            self.earlier.swap(0, 1);
            self.earlier[1].clone_from(all);
        }
    }

    /// How many intervals came lately.
    pub(super) fn count(&self) -> f64 {
        (self.count - self.earlier[0].moments().count).max(0.0)
    }

    /// What came lately, beside `all` that came.
    pub(super) fn intervals(&self, all: &DurationHistogram) -> LateIntervals {
        let [older, _] = &self.earlier;
        let ends = all.cells().zip(older.cells()).map(|(now, then)| [now.count, (now.count - then.count).max(0.0)]);
        LateIntervals {
            ends: ends.enumerate().filter(|&(_, [all, _])| all > 0.0).collect(),
            idle: [all.moments().sum, (all.moments().sum - older.moments().sum).max(0.0)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanos;

    /// The number of late intervals, and these, after so many of each of these lengths, one after the other.
    fn after(lengths: &[(u32, Nanos)]) -> (f64, LateIntervals) {
        let (mut late, mut all) = (Late::default(), DurationHistogram::default());
        for &(count, length) in lengths {
            for _ in 0..count {
                all.add(length);
                late.update(&all, false);
            }
        }
        (late.count(), late.intervals(&all))
    }

    #[test]
    fn the_later_half_is_late_and_no_more_than_hours() {
        let second = Nanos::from_secs(1);
        assert!((500.0..=1000.0).contains(&after(&[(1000, second)]).0));
        let (count, week) = after(&[(604_800, second)]);
        assert!(
            (SPREAD_MAX..=2.0 * SPREAD_MAX).contains(&count) && (count - week.idle[1]).abs() < 1.0,
            "{count}: {week:?}"
        );
    }

    #[test]
    fn what_an_earlier_run_saw_is_not_late() {
        let (mut late, mut all) = (Late::default(), DurationHistogram::default());
        (0..200).for_each(|_| all.add(Nanos::from_millis(500)));
        late.update(&all, true);
        assert_eq!((late.count(), late.intervals(&all).idle), (0.0, [100.0, 0.0]));
        let pace = |late: &Late, all: &DurationHistogram| late.intervals(all).pace(&vec![1.0; all.cells().len()]);
        all.add(Nanos::from_millis(1));
        late.update(&all, false);
        assert!(pace(&late, &all) < 2.1, "one interval tells little: {}", pace(&late, &all));
        (0..100).for_each(|_| {
            all.add(Nanos::from_millis(40));
            late.update(&all, false);
        });
        assert_eq!(late.count(), 101.0);
        assert!(pace(&late, &all) > 5.0, "a hundred tell: {}", pace(&late, &all));
    }

    #[test]
    fn a_busy_hour_after_a_quiet_week_is_seen() {
        let (count, late) = after(&[(1008, Nanos::from_secs(600)), (36_000, Nanos::from_millis(100))]);
        assert!((36_000.0..36_100.0).contains(&count) && late.ends.len() == 2, "{late:?}");
        let [short, long] = [0, 1].map(|end| {
            let (cell, _) = late.ends[end];
            late.pace(&(0..=late.ends[1].0).map(|at| f64::from(u8::from(at == cell))).collect::<Vec<_>>())
        });
        assert!(short > 10.0 && (1.0..2.0).contains(&long), "{short} and {long} times as much as over all time");
    }
}
