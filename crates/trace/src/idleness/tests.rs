//! Tests on idle intervals of known distributions.

use super::*;
use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::disk_server::ForegroundRequest;

/// The study of these idle intervals, with a millisecond of work after each.
fn study(idle: impl IntoIterator<Item = f64>) -> Idleness {
    let (mut periods, mut counts) = (Periods::default(), MinuteCounts::default());
    let (mut at, service) = (Nanos(0), Nanos::from_millis(1));
    for seconds in std::iter::once(0.0).chain(idle) {
        at += Nanos((seconds * 1e9).round() as u64);
        periods.add(ForegroundRequest { at, service });
        counts.add(at);
        at += service;
    }
    Idleness::of(&periods, &counts)
}

#[test]
fn four_intervals_by_hand() {
    let found = study([1.0, 0.010, 4.0, 0.5]);
    assert_eq!((found.moments.count, found.moments.sum, found.moments.max), (4.0, 5.51, 4.0));
    assert!((found.span - 5.515).abs() < 1e-9);
    let longer = [0.0, 0.01, 0.5, 1.0, 2.0, 3.9].map(|after| found.after(after).unwrap().longer);
    assert_eq!(longer, [4, 3, 3, 1, 1, 1], "thresholds are tenths of a decade: 0.5 is read at 0.398");
    let at_one = found.after(1.0).unwrap();
    assert!((at_one.usable - 3.0 / 5.51).abs() < 1e-9 && at_one.survival == 0.25, "{at_one:?}");
    assert_eq!((at_one.residual_mean, at_one.residual_p1), (None, None), "of too few");
    assert!((found.held_by_longest(0.25) - 4.0 / 5.51).abs() < 1e-9);
    assert!((found.held_by_longest(0.15) - 0.6 * 4.0 / 5.51).abs() < 1e-9);
    assert_eq!((found.held_by_longest(0.0), found.held_by_longest(1.0)), (0.0, 1.0));
    assert_eq!((found.hazard.len(), found.autocorrelation.len()), (0, 3));
}

#[test]
fn a_trace_without_intervals_can_be_studied() {
    let found = study([]);
    assert_eq!((found.moments.count, found.waited.len(), found.hazard.len()), (0.0, 0, 0));
    assert_eq!((found.held_by_longest(0.15), found.after(0.1)), (0.0, None));
    assert!(found.autocorrelation.is_empty());
}

/// Exponential of mean m: the hazard is 1 / m, the mean residual m, its 1st percentile -m ln 0.99, for any wait.
#[test]
fn an_exponential_law_has_no_memory() {
    let (mut rng, mean) = (Rng::new(12), 2.0);
    let found = study((0..200_000).map(|_| rng.exponential(mean)));
    for bin in found.hazard.iter().filter(|bin| bin.ended >= 1000) {
        assert!((bin.rate * mean - 1.0).abs() < 0.1, "{bin:?}");
    }
    assert_eq!(found.hazard.iter().map(|bin| bin.ended).sum::<usize>(), 200_000);
    for waited in found.waited.iter().filter(|waited| waited.longer >= 20_000) {
        assert!((waited.residual_mean.unwrap() / mean - 1.0).abs() < 0.03, "{waited:?}");
        assert!((waited.residual_p1.unwrap() / (-mean * 0.99f64.ln()) - 1.0).abs() < 0.15, "{waited:?}");
        let survival = (-waited.threshold / mean).exp();
        assert!((waited.survival - survival).abs() < 0.005 && (waited.usable - survival).abs() < 0.005);
    }
    assert!(found.hazard_slope(0.0).unwrap().abs() < 0.03, "{:?}", found.hazard_slope(0.0));
    assert!(found.autocorrelation.iter().all(|lag| lag.abs() < 0.01));
    assert_eq!(found.autocorrelation.len(), LAG_MAX);
}

/// Pareto of shape a: the hazard is a / x, the mean residual x / (a - 1), and the longest y hold y^(1 - 1/a).
#[test]
fn a_pareto_law_has_a_longer_residual_the_longer_the_wait() {
    let (mut rng, shape) = (Rng::new(12), 2.5);
    let found = study((0..200_000).map(|_| rng.pareto(0.010, shape)));
    for bin in found.hazard.iter().filter(|bin| bin.from >= 0.010 && bin.ended >= 1000) {
        let middle = (bin.from * bin.to).sqrt();
        assert!((bin.rate * middle / shape - 1.0).abs() < 0.1, "{bin:?}");
    }
    assert!((found.hazard_slope(0.010).unwrap() + 1.0).abs() < 0.03, "{:?}", found.hazard_slope(0.010));
    let residual = |after| found.after(after).unwrap().residual_mean.unwrap();
    for after in [0.010, 0.020, 0.050, 0.100] {
        assert!(
            (residual(after) / (found.after(after).unwrap().threshold / (shape - 1.0)) - 1.0).abs() < 0.2,
            "{after}"
        );
    }
    assert!(residual(0.010) < residual(0.1) && residual(0.1) < residual(0.3));
    let held = 0.15f64.powf(1.0 - 1.0 / shape);
    assert!((found.held_by_longest(0.15) - held).abs() < 0.01, "{}", found.held_by_longest(0.15));
}

#[test]
fn long_intervals_after_long_ones_show_in_the_autocorrelation() {
    let mut rng = Rng::new(12);
    // Alternating runs of a hundred short and a hundred long intervals.
    let found = study((0..20_000).map(|i| rng.exponential(if i / 100 % 2 == 0 { 0.001 } else { 10.0 })));
    assert!(found.autocorrelation[0] > 0.8 && found.autocorrelation[49].abs() < 0.1);
    assert!(found.autocorrelation[99] < -0.7);
}
