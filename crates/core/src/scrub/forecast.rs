//! The forecast of when a scrub will be done: from the idle intervals seen, with a range that shows how certain it is.

use crate::scrub::idle::{Observed, PolicyState};
use crate::units::{Bytes, Nanos};

/// How long the rest of the scrub will take: the most likely value and a 90 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// The lower end: not sooner than this, with 95 % probability.
    pub low: Nanos,
    /// The most likely value.
    pub likely: Nanos,
    /// The upper end: not later than this, with 95 % probability.
    pub high: Nanos,
}

/// The 95 % quantile of the standard normal distribution.
const Z_95: f64 = 1.645;
/// The smallest relative error of a forecast: disks are slower on inner tracks, by half from end to end.
const ERROR_MIN: f64 = 0.10;
/// How long a run must have lasted before its progress so far counts.
const PROGRESS_MIN: Nanos = Nanos::from_secs(5);
/// The largest relative error upwards: the upper end is at most 1 + this times the likely value.
const ERROR_MAX: f64 = 9.0;

/// How long `rest` bytes will take on a disk that was watched for `watched` and has now been idle for `idle_now`.
///
/// In each idle interval of length L the scrub can use (L - wait)+. Let m and d be mean and deviation of that over the
/// n intervals seen. Work that needs k intervals then takes k cycles, with a relative error of d/m * sqrt(1/k + 1/n):
/// from the chance in the intervals to come, and from the chance in those seen.
pub(super) fn forecast(
    rest: Bytes,
    seen: &Observed,
    setting: &PolicyState,
    watched: Nanos,
    idle_now: Nanos,
) -> Option<Forecast> {
    if seen.service.completions() < 4 {
        return None;
    }
    let turn_seconds = seen.service.mean(setting.size).max(1e-6) + setting.pause.as_secs_f64();
    let busy_seconds = rest.0 as f64 / (setting.size.0 as f64 / turn_seconds * setting.duty);
    if !setting.in_idle_only {
        return Some(Forecast::new(busy_seconds, ERROR_MIN));
    }
    let wait = setting.wait.as_secs_f64();

    let (mut count, mut useful, mut squares) = (0.0, 0.0, 0.0);
    let current = idle_now.as_secs_f64();
    for (length, times) in seen.workload.idle.buckets().chain([(current, 1.0)]) {
        let usable = (length - wait).max(0.0);
        count += times;
        useful += times * usable;
        squares += times * usable * usable;
    }
    if useful <= 0.0 {
        return None;
    }
    let mean = useful / count;
    let variation = (squares / count - mean * mean).max(0.0).sqrt() / mean;
    let share = (useful / watched.as_secs_f64().max(1e-9)).min(1.0);
    let likely = busy_seconds / share;
    let intervals_needed = busy_seconds / mean;
    let error = (Z_95 * variation * (1.0 / intervals_needed.max(1.0) + 1.0 / count).sqrt()).max(ERROR_MIN);
    Some(Forecast::new(likely, error))
}

/// Widens the range of a forecast to include what the pace so far would give: read errors, and users who change their
/// habits, are in no model.
pub(super) fn widened_by_progress(
    model: Option<Forecast>,
    rest: Bytes,
    done: Bytes,
    elapsed: Nanos,
) -> Option<Forecast> {
    if elapsed < PROGRESS_MIN || done.0 == 0 {
        return model;
    }
    let seconds = elapsed.as_secs_f64() * rest.0 as f64 / done.0 as f64;
    let by_progress = Nanos::from_secs_f64(seconds);
    let Some(Forecast { low, likely, high }) = model else { return Some(Forecast::new(seconds, 1.0)) };
    Some(Forecast { low: low.min(by_progress), likely, high: high.max(by_progress) })
}

impl Forecast {
    /// A forecast of `seconds` with the relative error `error`: a factor of 1 + `error` either way.
    fn new(seconds: f64, error: f64) -> Forecast {
        Forecast {
            low: Nanos::from_secs_f64(seconds / (1.0 + error)),
            likely: Nanos::from_secs_f64(seconds),
            high: Nanos::from_secs_f64(seconds * (1.0 + error.min(ERROR_MAX))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::idle::{AccessPattern, FixedDelay, IdlePolicy, IntervalAdapter, Waiting};

    fn setting() -> PolicyState {
        IntervalAdapter::new(Waiting { wait: Nanos::from_millis(100), size: Bytes::mib(1) }).state()
    }

    fn seen(idle_seconds: &[f64]) -> Observed {
        let mut seen = Observed::default();
        (0..8).for_each(|_| {
            seen.service.add(Bytes::mib(1), AccessPattern::Sequential, Nanos::from_millis(10), Nanos::ZERO)
        });
        idle_seconds.iter().for_each(|&s| seen.workload.add_idle(Nanos::ZERO, Nanos::from_secs_f64(s)));
        seen
    }

    #[test]
    fn an_idle_disk_is_read_at_its_own_rate() {
        let hour = Nanos::from_secs(3600);
        let forecast = forecast(Bytes::mib(1000), &seen(&[]), &setting(), hour, hour).unwrap();
        assert!((forecast.likely.as_secs_f64() - 10.0).abs() < 0.1, "{forecast:?}");
        assert!(forecast.low < forecast.likely && forecast.likely < forecast.high);
    }

    #[test]
    fn a_half_idle_disk_takes_a_bit_more_than_twice_as_long() {
        // 100 idle intervals of 1.1 s in 220 s: 100 s can be used.
        let forecast =
            forecast(Bytes::mib(5000), &seen(&[1.1; 100]), &setting(), Nanos::from_secs(220), Nanos::ZERO).unwrap();
        assert!((100.0..125.0).contains(&forecast.likely.as_secs_f64()), "{forecast:?}");
    }

    #[test]
    fn a_fixed_delay_counts_and_idleness_does_not() {
        let setting = FixedDelay { pause: Nanos::from_millis(30), size: Bytes::mib(1) }.state();
        let forecast =
            forecast(Bytes::mib(100), &seen(&[0.01; 50]), &setting, Nanos::from_secs(9), Nanos::ZERO).unwrap();
        assert!((forecast.likely.as_secs_f64() - 4.0).abs() < 0.01, "{forecast:?}");
    }

    #[test]
    fn the_pace_so_far_is_inside_the_range() {
        let model = Forecast::new(10.0, 0.1);
        let by_progress =
            |done| widened_by_progress(Some(model), Bytes::mib(100), Bytes::mib(done), Nanos::from_secs(20)).unwrap();
        assert_eq!(by_progress(10).high, Nanos::from_secs(200));
        assert_eq!(by_progress(1000).low, Nanos::from_secs(2));
        assert_eq!(by_progress(10).likely, model.likely);
        assert_eq!(widened_by_progress(None, Bytes::mib(100), Bytes::mib(1), Nanos::from_secs(1)), None, "too early");
    }

    #[test]
    fn a_disk_that_is_never_idle_gets_no_forecast() {
        assert_eq!(forecast(Bytes::mib(5), &seen(&[0.01; 50]), &setting(), Nanos::from_secs(9), Nanos::ZERO), None);
    }
}
