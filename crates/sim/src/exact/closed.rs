//! The closed form: the figures of Waiting from the lengths of the idle intervals alone.
//!
//! After Amvrosiadis et al. (DSN'12, V-C) by way of its figures, and what an online histogram can know: each of the N
//! intervals longer than the threshold t ends in one collision, on average in the middle of a scrub request, and the
//! parts of these intervals beyond t are read in requests of b bytes that take s(b) each.
//!
//! It has three assumptions. Busy periods of a single request: requests queued behind a delayed one are not counted, so for
//! bursts the slowdown is a lower bound, too low by about the number of requests in the busy period. Lengths unrelated to
//! multiples of s(b): on a beat of s(b), each collision may hit the beginning of a request, or each one the end. And
//! intervals much longer than s(b) beyond t: the request at the disk at the end of each is counted as half, and no delay
//! reaches the next interval. The tests state how close it is where these hold (within a tenth), and how far off where not.

use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_trace::Periods;

/// The computed figures of a scrub.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedForm {
    /// The mean slowdown of all foreground requests, in seconds: (N / M) s(b) / 2, with M requests.
    pub slowdown_mean_seconds: f64,
    /// Bytes read per second of the whole trace: b / s(b) times the sum of (L - t)+, over its span.
    pub bytes_per_second: f64,
}

/// Computes the figures of waiting for `wait`, then requests of `size` that take `service` each.
pub fn closed_form(periods: &Periods, wait: Nanos, size: Bytes, service: Nanos) -> ClosedForm {
    let longer = periods.intervals().iter().filter(|&&idle| idle > wait);
    let (count, beyond) =
        longer.fold((0u64, 0.0), |(count, sum), &idle| (count + 1, sum + (idle - wait).as_secs_f64()));
    let service = service.as_secs_f64().max(1e-9);
    ClosedForm {
        slowdown_mean_seconds: count as f64 / periods.requests_total().max(1) as f64 * service / 2.0,
        bytes_per_second: size.0 as f64 / service * beyond / periods.span().as_secs_f64().max(1e-9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::{Limit, ScrubFigures, waiting};
    use crate::workload::{Bursts, TimeSpan};
    use proptest::prelude::*;
    use scrubjay_core::rng::Rng;
    use scrubjay_core::scrub::disk_server::ServiceModel;

    const DISK: ServiceModel = ServiceModel::ULTRASTAR_15K450;
    const SERVICE: TimeSpan = TimeSpan::Fixed(Nanos::from_millis(4));

    /// Slowdown and throughput of the closed form, divided by the exact ones.
    fn ratios(periods: &Periods, wait: Nanos, size: Bytes) -> (f64, f64, ScrubFigures) {
        let service = DISK.service(size);
        let exact = waiting(periods, wait, size, service, Limit::None).unwrap();
        let closed = closed_form(periods, wait, size, service);
        let slowdown = closed.slowdown_mean_seconds / exact.slowdown_mean_seconds();
        (slowdown, closed.bytes_per_second / exact.bytes_per_second(), exact)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        /// Single requests at random times, on average at least a hundred scrub requests apart.
        #[test]
        fn the_closed_form_is_exact_to_a_tenth_where_its_assumptions_hold(
            seed: u64, step in 1u64..=64, gap_factor in 100u64..400, wait_pct in 0u64..100
        ) {
            let size = Bytes::kib(64 * step);
            let gap = Nanos(DISK.service(size).0 * gap_factor);
            let periods: Periods = Bursts::poisson(gap, SERVICE, Rng::new(seed)).take(6000).collect();
            let (slowdown, throughput, exact) = ratios(&periods, Nanos(gap.0 / 100 * wait_pct), size);
            prop_assert!((slowdown - 1.0).abs() < 0.10, "slowdown: {} with {} collisions", slowdown, exact.collisions);
            prop_assert!((throughput - 1.0).abs() < 0.10, "throughput: {}", throughput);
        }
    }

    /// Eight requests in each busy period: all of them are delayed, and the closed form counts one.
    #[test]
    fn requests_queued_behind_a_delayed_one_are_not_counted() {
        let think = TimeSpan::Exponential { mean: Nanos::from_secs(5) };
        let bursts = Bursts::new(8, TimeSpan::Fixed(Nanos::from_millis(2)), think, SERVICE, Rng::new(1));
        let periods: Periods = bursts.take(8 * 3000).collect();
        let (slowdown, throughput, _) = ratios(&periods, Nanos::from_millis(100), Bytes::mib(1));
        assert!((slowdown - 1.0 / 8.0).abs() < 0.01, "{slowdown}");
        assert!((throughput - 1.0).abs() < 0.05, "{throughput}");
    }

    /// Intervals of about one scrub request's time, and a wait as long: delays reach the next interval, and half a
    /// request in each interval matters.
    #[test]
    fn the_closed_form_counts_too_little_in_short_intervals() {
        let (size, wait) = (Bytes::mib(1), DISK.service(Bytes::mib(1)));
        let periods: Periods = Bursts::poisson(wait, SERVICE, Rng::new(2)).take(20_000).collect();
        let (slowdown, throughput, _) = ratios(&periods, wait, size);
        assert!((slowdown - 0.57).abs() < 0.03 && (throughput - 0.77).abs() < 0.03, "{slowdown} {throughput}");
    }

    /// A trace on the beat of the scrub requests: each ends just as the next foreground request arrives.
    #[test]
    fn the_closed_form_is_wrong_for_a_trace_on_the_beat_of_the_scrub_requests() {
        let size = Bytes::mib(1);
        let think = TimeSpan::Fixed(Nanos(DISK.service(size).0 * 10 + 4_000_000));
        let gap = TimeSpan::Fixed(Nanos::ZERO);
        let periods: Periods = Bursts::new(1, gap, think, SERVICE, Rng::new(3)).take(1000).collect();
        let service = DISK.service(size);
        let exact = waiting(&periods, Nanos::ZERO, size, service, Limit::None).unwrap();
        let closed = closed_form(&periods, Nanos::ZERO, size, service);
        assert_eq!(exact.slowdown_total, 0);
        assert!((closed.slowdown_mean_seconds - service.as_secs_f64() / 2.0).abs() < 1e-4);
    }
}
