//! Forecasts of when a pass ends: from the idle share of each hour of the week, and the errors of earlier forecasts.

use crate::calendar::{HOUR, WEEK_HOURS};
use crate::facts::{MediaKind, SubjectKey};
use scrubjay_core::units::UnixSeconds;
use std::collections::{BTreeMap, VecDeque};

/// The idle share before anything was measured: a disk on a quiet machine is free for half of the time (a judgement;
/// after a week it has no weight).
const SHARE_PRIOR: f32 = 0.5;
/// The weight of a new week; the past has the rest: after a month of another load the old one is forgotten.
const SHARE_WEIGHT: f32 = 0.3;

/// The share of each hour of the week in which a disk can be read within its budget, and its rate while it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleWeek {
    /// Shares from 0 to 1, from Monday midnight on.
    pub share: [f32; WEEK_HOURS],
    /// In how many weeks each hour was measured.
    pub weeks: [u16; WEEK_HOURS],
    /// The rate while it is read, in bytes a second.
    pub bytes_per_second: u64,
}

impl IdleWeek {
    /// Nothing was measured yet. Present disks read 150 MB/s on average over their tracks, flash on SATA 400.
    pub fn new(media: MediaKind) -> IdleWeek {
        let bytes_per_second = match media {
            MediaKind::Spinning => 150_000_000,
            MediaKind::Flash => 400_000_000,
        };
        IdleWeek { share: [SHARE_PRIOR; WEEK_HOURS], weeks: [0; WEEK_HOURS], bytes_per_second }
    }

    /// Adds the measured share of an hour.
    pub fn observe(&mut self, hour: usize, share: f32) {
        let (Some(known), Some(weeks)) = (self.share.get_mut(hour), self.weeks.get_mut(hour)) else { return };
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { return };
        let weight = SHARE_WEIGHT.max(1.0 / (f32::from(*weeks) + 1.0));
        *known += (share - *known) * weight;
        *weeks = weeks.saturating_add(1);
    }

    /// Adds a measured rate. The mean moves slowly, because inner tracks are slower.
    pub fn measure(&mut self, bytes_per_second: u64) {
        if bytes_per_second > 0 {
            self.bytes_per_second = (self.bytes_per_second * 15 + bytes_per_second) / 16;
        }
    }

    /// The share of each hour; for hours that were never measured, the mean of the others.
    fn shares(&self) -> [f32; WEEK_HOURS] {
        let measured = || self.share.iter().zip(&self.weeks).filter(|(_, weeks)| **weeks > 0).map(|(share, _)| *share);
        let count = measured().count();
        let mean = if count == 0 { SHARE_PRIOR } else { measured().sum::<f32>() / count as f32 };
        std::array::from_fn(|hour| if self.weeks[hour] > 0 { self.share[hour] } else { mean })
    }

    /// Hours a week in which it can be read, if the schedule allows the share `open` of each hour of the week.
    pub fn hours_a_week(&self, open: &[f32; WEEK_HOURS]) -> f64 {
        self.shares().iter().zip(open).map(|(share, open)| f64::from(share * open)).sum()
    }

    /// The most likely time to read `bytes` from an hour of the week on, in seconds. `None`: more than a year.
    pub fn seconds_for(&self, bytes: f64, from_hour: usize, open: &[f32; WEEK_HOURS]) -> Option<u64> {
        let shares = self.shares();
        let hourly = self.bytes_per_second as f64 * HOUR as f64;
        let week = self.hours_a_week(open) * hourly;
        let weeks = (bytes / week).floor();
        if !(week > 0.0 && weeks <= 53.0) {
            return None;
        }
        let mut rest = bytes - weeks * week;
        let mut seconds = weeks * (WEEK_HOURS as u64 * HOUR) as f64;
        for step in 0..=WEEK_HOURS {
            let hour = (from_hour + step) % WEEK_HOURS;
            let hour_bytes = f64::from(shares[hour] * open[hour]) * hourly;
            if hour_bytes >= rest {
                return Some((seconds + rest / hour_bytes.max(1e-9) * HOUR as f64) as u64);
            }
            (rest, seconds) = (rest - hour_bytes, seconds + HOUR as f64);
        }
        Some(seconds as u64)
    }
}

/// Ratios that are kept, at most.
const RATIOS_MAX: usize = 96;
/// Assumed ratios before there are any: the time that passes took over the forecast one, in a year of modelled hosts.
const RATIOS_PRIOR: [f32; 8] = [0.78, 0.9, 0.95, 0.98, 1.02, 1.07, 1.15, 1.5];

/// Errors of the forecasts of this machine: the time that a pass took as a multiple of the forecast when it began. The
/// range of the next forecast is taken from these, so it holds as often as stated, whatever the load is like (conformal
/// prediction: Vovk, Gammerman & Shafer, "Algorithmic Learning in a Random World", 2005).
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ForecastErrors {
    /// The latest ratios, the oldest first.
    #[cfg_attr(feature = "serde", serde(with = "crate::float_bits"))]
    pub ratios: VecDeque<f32>,
}

impl ForecastErrors {
    /// Adds the ratio of a finished pass: its time over the forecast one.
    pub fn add(&mut self, ratio: f32) {
        if ratio.is_finite() && ratio > 0.0 {
            self.ratios.push_back(ratio);
            if self.ratios.len() > RATIOS_MAX {
                self.ratios.pop_front();
            }
        }
    }

    /// The ratios below which one in ten lies, and above which one in ten lies.
    pub fn range(&self) -> (f64, f64) {
        let prior = RATIOS_PRIOR.len().saturating_sub(self.ratios.len() / 4);
        // The rest of the prior stays balanced: the innermost ratios go first.
        let kept = RATIOS_PRIOR[..prior - prior / 2].iter().chain(&RATIOS_PRIOR[RATIOS_PRIOR.len() - prior / 2..]);
        let mut all: Vec<f32> = self.ratios.iter().chain(kept).copied().collect();
        all.sort_by(f32::total_cmp);
        let at = |share: f64| {
            let place = (share * (all.len() as f64 + 1.0) - 1.0).clamp(0.0, (all.len() - 1) as f64);
            let (low, part) = (place as usize, place.fract());
            let high = (low + 1).min(all.len() - 1);
            f64::from(all[low]) * (1.0 - part) + f64::from(all[high]) * part
        };
        (at(0.1), at(0.9))
    }
}

/// When a pass ends: with a probability of 80 % between `low` and `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PassForecast {
    /// The pass ends before this time with a probability of 10 %.
    pub low: UnixSeconds,
    /// The time if the load stays as it was.
    pub likely: UnixSeconds,
    /// The pass ends after this time with a probability of 10 %.
    pub high: UnixSeconds,
}

impl PassForecast {
    /// The forecast of a pass that is read from `from` on and most likely takes `seconds`.
    pub fn new(from: UnixSeconds, seconds: u64, errors: &ForecastErrors) -> PassForecast {
        let (low, high) = errors.range();
        let at = |factor: f64| UnixSeconds(from.0 + (seconds as f64 * factor) as u64);
        PassForecast { low: at(low.min(1.0)), likely: at(1.0), high: at(high.max(1.0)) }
    }
}

/// The expected course of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForeseenPass {
    /// When it begins or continues.
    pub starts: UnixSeconds,
    /// The most likely seconds that the rest of it takes from then on; `None`: more than a year, or it does not begin
    /// within one.
    pub rest: Option<u64>,
    /// When it ends; `None`: not within a year.
    pub ends: Option<PassForecast>,
}

/// The expected course of the passes of all subjects.
pub(crate) type AllForeseen = BTreeMap<SubjectKey, ForeseenPass>;

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::rng::Rng;

    const OPEN: [f32; WEEK_HOURS] = [1.0; WEEK_HOURS];

    #[test]
    fn a_pass_takes_as_many_hours_as_the_week_has_idle_ones() {
        let mut week = IdleWeek::new(MediaKind::Spinning);
        week.bytes_per_second = 100_000_000;
        // Idle at night only, from 0 to 6.
        (0..WEEK_HOURS).for_each(|hour| week.observe(hour, if hour % 24 < 6 { 1.0 } else { 0.0 }));
        let hour = 100e6 * HOUR as f64;
        assert_eq!(week.seconds_for(3.0 * hour, 0, &OPEN), Some(3 * HOUR));
        assert_eq!(week.seconds_for(3.0 * hour, 12, &OPEN), Some(15 * HOUR), "twelve hours until midnight");
        assert_eq!(week.seconds_for(42.0 * hour + 1.0, 0, &OPEN), Some(7 * 24 * HOUR), "a week, and a little");
        assert_eq!(week.hours_a_week(&OPEN), 42.0);
        let never = [0.0; WEEK_HOURS];
        assert_eq!(week.seconds_for(hour, 0, &never), None, "a window that never opens");
    }

    #[test]
    fn unmeasured_hours_take_the_mean_of_the_measured_ones() {
        let mut week = IdleWeek::new(MediaKind::Flash);
        assert_eq!(week.hours_a_week(&OPEN), 84.0, "half of the time, before anything is known");
        week.observe(5, 0.1);
        assert!((week.hours_a_week(&OPEN) - 16.8).abs() < 1e-3);
        week.observe(500, 1.0);
        week.observe(6, f32::NAN);
        assert!((week.hours_a_week(&OPEN) - 16.8).abs() < 1e-3, "no such hour, no such share");
    }

    #[test]
    fn ranges_hold_as_often_as_stated_once_there_were_forecasts() {
        let (mut rng, mut errors, mut inside) = (Rng::new(1), ForecastErrors::default(), 0);
        for trial in 0..1200 {
            let ratio = (0.8 + 0.1 * rng.exponential(4.0)) as f32;
            let (low, high) = errors.range();
            if trial >= 200 {
                inside += u32::from((low..=high).contains(&f64::from(ratio)));
            }
            errors.add(ratio);
        }
        assert!((740..=860).contains(&inside), "{inside} of 1000");
        assert_eq!(errors.ratios.len(), RATIOS_MAX);
    }

    #[test]
    fn invalid_ratios_are_ignored() {
        let mut errors = ForecastErrors::default();
        [f32::NAN, 0.0, -1.0, f32::INFINITY].into_iter().for_each(|ratio| errors.add(ratio));
        assert!(errors.ratios.is_empty());
        let (low, high) = errors.range();
        assert!(low > 0.7 && low < 1.0 && high > 1.0 && high < 1.6, "{low} {high}");
    }
}
