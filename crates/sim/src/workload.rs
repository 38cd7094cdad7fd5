//! Open foreground streams, as iterators over requests.
//!
//! All streams are *open*: the time of an arrival does not depend on how slow the disk is, so the run with the scrub
//! and the run without it see the same arrivals, and the scrub alone causes their difference. (Clients that wait for
//! their answers: [`crate::source::Clients`].)

use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::disk_server::ForegroundRequest;
use scrubjay_core::units::Nanos;

/// A span of time, fixed or drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeSpan {
    /// Always the same.
    Fixed(Nanos),
    /// Uniform between the first and the second.
    Uniform(Nanos, Nanos),
    /// Exponential: memoryless, so waiting for idleness teaches nothing.
    Exponential {
        /// Its mean.
        mean: Nanos,
    },
    /// Pareto, the heavy tail of real idle times: the longer it has been idle, the longer it will be
    /// (Amvrosiadis et al., DSN'12, V-A: decreasing hazard rates).
    Pareto {
        /// The shortest span.
        minimum: Nanos,
        /// The exponent: the smaller, the heavier the tail; at 1 and below the mean is infinite.
        shape: f64,
        /// Longer draws are cut to this, or one of them would be the whole run.
        maximum: Nanos,
    },
}

impl TimeSpan {
    /// Draws one.
    pub fn draw(self, rng: &mut Rng) -> Nanos {
        match self {
            TimeSpan::Fixed(span) => span,
            TimeSpan::Uniform(low, high) => low + Nanos(rng.below(high.0 - low.0 + 1)),
            TimeSpan::Exponential { mean } => Nanos(rng.exponential(mean.0 as f64).round() as u64),
            TimeSpan::Pareto { minimum, shape, maximum } => {
                Nanos(rng.pareto(minimum.0 as f64, shape).round() as u64).min(maximum)
            }
        }
    }
}

/// Bursts of requests with short gaps, then a think time, without end. The first burst comes after a think time.
#[derive(Clone, Debug)]
pub struct Bursts {
    requests: u32,
    gap: TimeSpan,
    think: TimeSpan,
    service: TimeSpan,
    rng: Rng,
    last: Nanos,
    left: u32,
}

impl Bursts {
    /// Bursts of `requests` requests, `gap` apart from arrival to arrival; `think` from the last arrival of a burst
    /// to the first of the next.
    ///
    /// # Panics
    /// When a burst has no requests.
    pub fn new(requests: u32, gap: TimeSpan, think: TimeSpan, service: TimeSpan, rng: Rng) -> Bursts {
        assert!(requests > 0, "a burst has requests");
        Bursts { requests, gap, think, service, rng, last: Nanos::ZERO, left: 0 }
    }

    /// A Poisson stream: single requests, exponential gaps with the mean `gap`.
    pub fn poisson(gap: Nanos, service: TimeSpan, rng: Rng) -> Bursts {
        Bursts::new(1, TimeSpan::Fixed(Nanos::ZERO), TimeSpan::Exponential { mean: gap }, service, rng)
    }
}

/// It ends only when the time overflows.
impl Iterator for Bursts {
    type Item = ForegroundRequest;

    fn next(&mut self) -> Option<ForegroundRequest> {
        let span = if self.left > 0 { self.gap } else { self.think };
        self.left = self.left.checked_sub(1).unwrap_or(self.requests - 1);
        self.last = Nanos(self.last.0.checked_add(span.draw(&mut self.rng).0)?);
        Some(ForegroundRequest { at: self.last, service: self.service.draw(&mut self.rng) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_gaps_and_then_thought() {
        let (gap, think, service) = (TimeSpan::Fixed(Nanos(2)), TimeSpan::Fixed(Nanos(100)), TimeSpan::Fixed(Nanos(1)));
        let times: Vec<_> =
            Bursts::new(3, gap, think, service, Rng::new(0)).map(|request| request.at.0).take(7).collect();
        assert_eq!(times, [100, 102, 104, 204, 206, 208, 308]);
    }

    #[test]
    fn the_same_seed_gives_the_same_stream() {
        let stream = |seed| -> Vec<ForegroundRequest> {
            let think = TimeSpan::Pareto { minimum: Nanos::from_millis(1), shape: 0.9, maximum: Nanos::from_secs(60) };
            let gap = TimeSpan::Exponential { mean: Nanos::from_millis(1) };
            Bursts::new(8, gap, think, gap, Rng::new(seed)).take(1000).collect()
        };
        assert_eq!(stream(5), stream(5));
        assert_ne!(stream(5), stream(6));
        assert!(stream(5).is_sorted_by_key(|request| request.at));
    }

    #[test]
    fn a_poisson_stream_keeps_its_rate() {
        let stream = Bursts::poisson(Nanos::from_millis(10), TimeSpan::Fixed(Nanos(1)), Rng::new(3));
        let last = stream.take(100_000).last().expect("it has no end");
        assert!((last.at.as_secs_f64() / 1000.0 - 1.0).abs() < 0.01, "{last:?}");
    }

    #[test]
    fn a_pareto_span_stays_in_its_bounds() {
        let span = TimeSpan::Pareto { minimum: Nanos(1000), shape: 0.5, maximum: Nanos(50_000) };
        let mut rng = Rng::new(4);
        let drawn: Vec<_> = (0..1000).map(|_| span.draw(&mut rng).0).collect();
        assert!(drawn.iter().all(|span| (1000..=50_000).contains(span)));
        assert!(drawn.contains(&50_000));
    }
}
