//! The rhythm of requests: by hour, by hour of the day, and the period that explains most of it.

use super::counts::{MINUTE, MinuteCounts};
use scrubjay_core::stats::{Variance, variance_by_phase};
use scrubjay_core::units::Nanos;

/// Traces shorter than this are analysed by the minute.
const HOURLY_FROM: Nanos = Nanos::from_secs(2 * 86_400);
/// The longest candidate period in bins of an hour: two days.
const HOURS_MAX: usize = 48;
/// The longest candidate period in bins of a minute: an hour.
const MINUTES_MAX: usize = 60;
/// The best period counts as one if its probability by chance, multiplied by the number of candidates, is below this.
const CHANCE_MAX: f64 = 0.001;

/// The rhythm of a trace's requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Rhythm {
    /// Whether the trace's clock counts from 1970. If not, "hours of the day" count from the trace's beginning.
    pub absolute: bool,
    /// Requests in each hour of the clock; the first and the last hour are partial.
    pub hours: Vec<u64>,
    /// Mean requests per hour, by hour of the day (UTC); `None`: the trace has no complete hour of that kind.
    pub hours_of_day: [Option<f64>; 24],
    /// The bins in which requests are counted for `candidates`: an hour, or a minute for traces of less than two days.
    pub bin: Nanos,
    /// The periods tried, in ascending order.
    pub candidates: Vec<CandidatePeriod>,
}

/// A period that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CandidatePeriod {
    /// The period.
    pub period: Nanos,
    /// The analysis of variance of the requests per bin, grouped by phase within the period.
    pub variance: Variance,
}

impl Rhythm {
    /// The rhythm of requests counted by the minute.
    pub fn of(counts: &MinuteCounts) -> Rhythm {
        let hours = counts.hours();
        let hourly = counts.span() >= HOURLY_FROM;
        let (bin, period_max) = if hourly { (Nanos(60 * MINUTE.0), HOURS_MAX) } else { (MINUTE, MINUTES_MAX) };
        let bins: Vec<f64> = if hourly {
            whole_hours(counts, &hours).1.iter().map(|&count| count as f64).collect()
        } else {
            let minutes = counts.minutes();
            let inner = minutes.get(1..minutes.len().saturating_sub(1)).unwrap_or_default();
            inner.iter().map(|&count| f64::from(count)).collect()
        };
        let candidate = |period: usize| {
            let variance = variance_by_phase(&bins, period)?;
            Some(CandidatePeriod { period: Nanos(period as u64 * bin.0), variance })
        };
        Rhythm {
            absolute: counts.absolute(),
            hours_of_day: hours_of_day(counts, &hours),
            candidates: (2..=period_max).filter_map(candidate).collect(),
            hours,
            bin,
        }
    }

    /// The period that is least likely by chance, if its probability times the number of candidates is below one in a
    /// thousand. Of equally unlikely ones, that with the largest F; `None`: no period stands out.
    pub fn best(&self) -> Option<&CandidatePeriod> {
        let chance_max = (CHANCE_MAX / self.candidates.len() as f64).ln();
        let unlikely = self.candidates.iter().filter(|candidate| candidate.variance.log_chance < chance_max);
        unlikely.min_by(|a, b| {
            let (a, b) = (a.variance, b.variance);
            a.log_chance.total_cmp(&b.log_chance).then(b.f.total_cmp(&a.f))
        })
    }
}

/// The hours that the trace covers completely, and the index of the first of them.
fn whole_hours<'a>(counts: &MinuteCounts, hours: &'a [u64]) -> (usize, &'a [u64]) {
    let (first_whole, last_whole) = counts.has_whole_ends();
    let begin = usize::from(!first_whole);
    let end = hours.len().saturating_sub(usize::from(!last_whole));
    (begin, hours.get(begin..end).unwrap_or_default())
}

fn hours_of_day(counts: &MinuteCounts, hours: &[u64]) -> [Option<f64>; 24] {
    let (begin, whole) = whole_hours(counts, hours);
    let mut sums = [(0u64, 0u64); 24];
    for (place, &count) in whole.iter().enumerate() {
        let (sum, days) = &mut sums[(counts.first_hour() + begin + place) % 24];
        (*sum, *days) = (*sum + count, *days + 1);
    }
    sums.map(|(sum, days)| (days > 0).then(|| sum as f64 / days as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::rng::Rng;

    const HOUR: u64 = 60 * MINUTE.0;

    /// Poisson arrivals at the rate `per_hour(hour of the day)`, for `hours` hours from 06:00 of a day in 2007 on.
    fn arrivals(hours: u64, per_hour: impl Fn(u64) -> f64) -> MinuteCounts {
        let (mut rng, mut counts) = (Rng::new(24), MinuteCounts::default());
        let start = 13_500 * 24 * HOUR + 6 * HOUR;
        let mut at = 0.0;
        while at < hours as f64 {
            counts.add(Nanos(start + (at * HOUR as f64) as u64));
            at += rng.exponential(1.0 / per_hour((6 + at as u64) % 24));
        }
        counts
    }

    #[test]
    fn a_daily_period_is_found_with_the_means_of_its_hours() {
        let busy_at = |hour| if (9..17).contains(&hour) { 90.0 } else { 60.0 };
        let rhythm = Rhythm::of(&arrivals(7 * 24, busy_at));
        assert_eq!((rhythm.absolute, rhythm.bin, rhythm.hours.len()), (true, Nanos(HOUR), 168));
        assert_eq!(rhythm.best().map(|best| best.period), Some(Nanos(24 * HOUR)));
        for (hour, mean) in rhythm.hours_of_day.iter().enumerate() {
            let mean = mean.expect("every hour of the day was seen");
            assert!((mean - busy_at(hour as u64)).abs() < 15.0, "{hour}: {mean}");
        }
    }

    #[test]
    fn an_even_stream_has_no_period() {
        let rhythm = Rhythm::of(&arrivals(7 * 24, |_| 60.0));
        assert_eq!((rhythm.candidates.len(), rhythm.best()), (47, None));
        let mean_f = rhythm.candidates.iter().map(|candidate| candidate.variance.f).sum::<f64>() / 47.0;
        assert!((mean_f - 1.0).abs() < 0.3, "{mean_f}");
    }

    #[test]
    fn a_short_trace_is_analysed_by_the_minute() {
        let mut counts = MinuteCounts::default();
        let mut rng = Rng::new(1);
        for minute in 0..240u64 {
            let requests = if minute % 5 == 0 { 20 } else { 1 + rng.below(3) };
            (0..requests).for_each(|at| counts.add(Nanos(minute * MINUTE.0 + at)));
        }
        let rhythm = Rhythm::of(&counts);
        assert_eq!((rhythm.bin, rhythm.absolute), (MINUTE, false));
        assert_eq!(rhythm.best().map(|best| best.period), Some(Nanos(5 * MINUTE.0)));
        assert_eq!(rhythm.candidates.last().map(|last| last.period), Some(Nanos(60 * MINUTE.0)));
    }

    #[test]
    fn without_requests_there_is_no_rhythm() {
        let rhythm = Rhythm::of(&MinuteCounts::default());
        assert_eq!((rhythm.candidates.len(), rhythm.best(), rhythm.hours_of_day), (0, None, [None; 24]));
    }
}
