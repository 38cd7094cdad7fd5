//! Quiet and busy hours: how the hour shifts the lengths of the gaps that are dealt in it.
//!
//! An hour with few requests has long gaps. The effect of an hour on its gaps is a shift of the normal variable behind
//! them, calibrated so that gaps of mean length fill the hour; the rest is the latent series. Ranks are those in the
//! mixture of all hours, so that all hours together deal every card of the deck.
//!
//! Hours are counted in gaps: an hour ends when it has had its share of them. If hours ended by the clock, chance would
//! give too many of the long gaps to some, and the rest of the deck would be one great burst at the end. If the clock
//! and that count diverge, gap lengths are pulled towards agreement.

use super::curve::QuantileCurve;
use super::latent::Cumulative;

/// The largest share of the variance that hours may explain: some of it is always within the hour.
const EXPLAINED_MAX: f64 = 0.8;
/// The requests counted for an hour without any.
const COUNT_MIN: f64 = 0.5;
/// The least number of hours in a profile. In less than two days, a quiet hour is as likely to be chance as rhythm.
const HOURS_MIN: usize = 48;
const DAY_HOURS: usize = 24;
/// Rounds of calibration, each with the mixture of the previous one; after six nothing changes in the third digit.
const ROUNDS: usize = 6;
/// Halvings of the interval of shifts, -6..6.
const HALVINGS: usize = 24;
const SHIFT_MAX: f64 = 6.0;
/// The pull on gaps when the clock is an hour late or more, in standard deviations. Found by trial: with 1, the hourly
/// counts of a week of hplajw have a correlation above 0.8 for every seed; with 2 it is no better.
const PULL_MAX: f64 = 1.0;
/// The number of points of the normal on each side at which means are taken, a quarter of its deviation apart.
const PLACES: i32 = 16;

/// The hours, and the ranks of gaps in them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Profile {
    hours: Vec<Hour>,
    /// The standard deviation of the latent part within an hour.
    deviation: f64,
    ranks: Cumulative,
    /// The number of gaps until the profile repeats.
    gaps: f64,
    /// The share of the variance of the gaps' logarithms that lies between hours.
    explained: f64,
}

/// One hour.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Hour {
    /// Its share of the gaps.
    share: f64,
    /// The sum of the shares of all hours up to its end.
    cumulative_share: f64,
    shift: f64,
}

impl Profile {
    /// Makes a profile from the requests in each hour, the distribution of all gaps, and the mean number of gaps per
    /// hour.
    pub(super) fn new(hourly: &[f64], curve: &QuantileCurve, gaps_an_hour: f64) -> Profile {
        if hourly.len() < HOURS_MIN || hourly.iter().sum::<f64>() <= 0.0 {
            let hours = vec![Hour { share: 1.0, cumulative_share: 1.0, shift: 0.0 }];
            return Profile {
                hours,
                deviation: 1.0,
                ranks: Cumulative::normal(),
                gaps: gaps_an_hour.max(1.0),
                explained: 0.0,
            };
        }
        // The share of an hour in the gaps is its share in the requests.
        let counts: Vec<f64> = whole_days(hourly).into_iter().map(|count| count.max(COUNT_MIN)).collect();
        let total: f64 = counts.iter().sum();
        let mut cumulative_share = 0.0;
        let hour = |count: &f64| {
            cumulative_share += count / total;
            Hour { share: count / total, cumulative_share, shift: 0.0 }
        };
        let hours = counts.iter().map(hour).collect();
        let gaps = (gaps_an_hour * counts.len() as f64).max(1.0);
        let mut profile = Profile { hours, deviation: 1.0, ranks: Cumulative::normal(), gaps, explained: 0.0 };
        (0..ROUNDS).for_each(|_| profile.calibrate(curve));
        profile.explained = profile.between_hours(curve);
        profile
    }

    /// The number of hours until the profile repeats.
    pub(super) fn hours(&self) -> u64 {
        self.hours.len() as u64
    }

    /// The number of gaps before an hour.
    pub(super) fn gaps_before(&self, hour: u64) -> u64 {
        let hour = self.hours[(hour % self.hours()) as usize];
        ((hour.cumulative_share - hour.share).max(0.0) * self.gaps) as u64
    }

    /// The autocorrelation left to the latent series: the hours account for some of it.
    pub(super) fn remaining(&self, acf: [f64; 3]) -> [f64; 3] {
        let hours = self.explained;
        acf.map(|value| if value > 0.0 { ((value - hours) / (1.0 - hours)).max(0.0) } else { value })
    }

    /// The rank in 0..=1 of gap number `gaps`, from a standard normal `latent`. `seconds` is the time since the
    /// profile's beginning: gaps are longer if it has passed too slowly.
    pub(super) fn rank(&self, gaps: u64, seconds: f64, latent: f64) -> f64 {
        if self.hours.len() == 1 {
            return self.ranks.below(latent);
        }
        let rounds = gaps as f64 / self.gaps;
        let place = rounds.fract();
        let index = self.hours.partition_point(|hour| hour.cumulative_share <= place).min(self.hours.len() - 1);
        let hour = self.hours[index];
        let share_passed = (place - (hour.cumulative_share - hour.share)) / hour.share;
        let late = rounds.floor() * self.hours.len() as f64 + index as f64 + share_passed - seconds / 3600.0;
        let pull = PULL_MAX * late.clamp(-1.0, 1.0);
        self.ranks.below(hour.shift + pull + self.deviation * latent)
    }

    /// Shifts each hour so that its gaps fill it, given the current mixture of all hours.
    fn calibrate(&mut self, curve: &QuantileCurve) {
        // An hour with one in n of the gaps has gaps n times as long as if it had all of them.
        let mean_of_all: f64 = curve.mean() / self.hours.len() as f64;
        let shifts: Vec<f64> = self.hours.iter().map(|hour| self.shift_for(curve, mean_of_all / hour.share)).collect();
        let mean: f64 = self.hours.iter().zip(&shifts).map(|(hour, shift)| hour.share * shift).sum();
        let squares = self.hours.iter().zip(&shifts).map(|(hour, shift)| hour.share * (shift - mean).powi(2));
        let explained: f64 = squares.sum();
        // The mixture keeps a variance of 1, so that the latent series has the same meaning in every round.
        let variance = (explained + self.deviation * self.deviation).max(explained / EXPLAINED_MAX);
        for (hour, shift) in self.hours.iter_mut().zip(shifts) {
            hour.shift = (shift - mean) / variance.sqrt();
        }
        self.deviation = (1.0 - explained / variance).sqrt();
        let parts: Vec<_> = self.hours.iter().map(|hour| (hour.share, hour.shift)).collect();
        self.ranks = Cumulative::new(&parts, self.deviation);
    }

    /// The shift for which gaps have this mean, or the nearest possible.
    fn shift_for(&self, curve: &QuantileCurve, mean: f64) -> f64 {
        let (mut low, mut high) = (-SHIFT_MAX, SHIFT_MAX);
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            if self.mean_at(|rank| curve.at(rank), middle) < mean { low = middle } else { high = middle }
        }
        (low + high) / 2.0
    }

    fn between_hours(&self, curve: &QuantileCurve) -> f64 {
        let mean_ln = |hour: &Hour| self.mean_at(|rank| curve.at(rank).ln(), hour.shift);
        let means: Vec<(f64, f64)> = self.hours.iter().map(|hour| (hour.share, mean_ln(hour))).collect();
        let mean: f64 = means.iter().map(|(share, ln)| share * ln).sum();
        let variance: f64 = means.iter().map(|(share, ln)| share * (ln - mean).powi(2)).sum();
        (variance / curve.ln_deviation().powi(2)).clamp(0.0, EXPLAINED_MAX)
    }

    /// The mean of a function of the rank, over the ranks of gaps with this shift.
    fn mean_at(&self, of: impl Fn(f64) -> f64, shift: f64) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for place in -PLACES..=PLACES {
            let x = f64::from(place) / 4.0;
            let weight = (-x * x / 2.0).exp();
            sum += weight * of(self.ranks.below(shift + self.deviation * x));
            weights += weight;
        }
        sum / weights
    }
}

/// The hours of whole days: hours beyond the last whole day are dropped or, if few are missing, completed with the mean
/// of the same hour of the other days.
fn whole_days(hourly: &[f64]) -> Vec<f64> {
    let hours = (hourly.len() + DAY_HOURS / 2) / DAY_HOURS * DAY_HOURS;
    let same_hour = |hour: usize| {
        let same_hours = hourly.iter().skip(hour % DAY_HOURS).step_by(DAY_HOURS);
        same_hours.clone().sum::<f64>() / same_hours.count() as f64
    };
    (0..hours).map(|hour| hourly.get(hour).copied().unwrap_or_else(|| same_hour(hour))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [(f64, f64); 4] = [(0.0, 0.1), (0.5, 2.0), (0.9, 40.0), (1.0, 900.0)];

    #[test]
    fn gaps_are_longer_in_quiet_hours() {
        let curve = QuantileCurve::new(&POINTS, 1000);
        let hourly: Vec<f64> = (0..71).map(|hour| if hour % 24 < 8 { 100.0 } else { 1000.0 }).collect();
        let profile = Profile::new(&hourly, &curve, 10.0);
        assert_eq!(
            (profile.hours(), profile.hours[71]),
            (72, Hour { cumulative_share: profile.hours[71].cumulative_share, ..profile.hours[23] })
        );
        let means = [3, 12].map(|hour: usize| profile.mean_at(|rank| curve.at(rank), profile.hours[hour].shift));
        assert!((means[0] / means[1] / 10.0 - 1.0).abs() < 0.1, "{means:?}");
        let gaps = |hour| profile.gaps_before(hour);
        assert!(gaps(0) == 0 && gaps(9) - gaps(8) >= 9 * (gaps(8) - gaps(7)));
        assert!(profile.rank(gaps(4), 4.0 * 3600.0, 0.0) > profile.rank(gaps(12), 12.0 * 3600.0, 0.0) + 0.2);
        let remaining = profile.remaining([0.6, 0.1, -0.1]);
        assert!(remaining[0] < 0.6 && remaining[2] == -0.1);
    }

    #[test]
    fn without_hours_ranks_are_those_of_the_normal() {
        let profile = Profile::new(&[5.0; 47], &QuantileCurve::new(&POINTS, 1000), 10.0);
        assert!((profile.rank(7, 0.0, 1.0) - 0.841_344_7).abs() < 1e-5);
        assert_eq!((profile.hours(), profile.remaining([0.5, 0.4, 0.3])), (1, [0.5, 0.4, 0.3]));
    }
}
