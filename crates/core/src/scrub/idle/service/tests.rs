//! Tests of service times.

use super::*;

fn seen(completions: &[(Bytes, u64)]) -> ServiceTimes {
    let mut times = ServiceTimes::default();
    completions
        .iter()
        .for_each(|&(size, micros)| times.add(size, AccessPattern::Sequential, Nanos(micros * 1000), Nanos::ZERO));
    times
}

#[test]
fn two_sizes_give_the_line() {
    let micros = |size| (PRIOR.at(size) * 1e6) as u64;
    let (small, large) = ((Bytes::kib(64), micros(Bytes::kib(64))), (Bytes::mib(1), micros(Bytes::mib(1))));
    let times = seen(&[small, small, large, large]);
    assert!((times.mean(Bytes::mib(4)) - PRIOR.at(Bytes::mib(4))).abs() < 1e-4);
    assert!(times.high(Bytes::mib(4), AccessPattern::Sequential) > times.mean(Bytes::mib(4)));
}

#[test]
fn one_size_gives_a_drive_like_the_authors() {
    let times = seen(&[(Bytes::kib(256), 2 * (PRIOR.at(Bytes::kib(256)) * 1e6) as u64); 2]);
    for size in SIZES {
        assert!((times.mean(size) / PRIOR.at(size) / 2.0 - 1.0).abs() < 1e-3, "twice as slow at {size}");
    }
    assert!(times.high(Bytes::mib(1), AccessPattern::Sequential) > 1.2 * times.mean(Bytes::mib(1)), "a guess");
}

#[test]
fn a_single_service_time_with_a_spin_up_does_not_count() {
    let mut times = seen(&[(Bytes::kib(64), 8_000_000)]);
    assert!(times.high(Bytes::kib(64), AccessPattern::Sequential) < 0.01, "one completion says nothing");
    times.add(Bytes::kib(64), AccessPattern::Sequential, Nanos::from_millis(5), Nanos::ZERO);
    assert!((times.high(Bytes::kib(64), AccessPattern::Sequential) - 0.005).abs() < 1e-9);
}

#[test]
fn the_cautious_upper_value_includes_rare_long_service_times() {
    let mut times = ServiceTimes::default();
    (0..1000).for_each(|i| {
        times.add(
            Bytes::mib(1),
            AccessPattern::Sequential,
            Nanos::from_millis(if i % 35 == 0 { 20 } else { 12 }),
            Nanos::ZERO,
        )
    });
    assert!((times.high(Bytes::mib(1), AccessPattern::Sequential) - 0.020).abs() < 1e-9, "one in 35");
    (0..200).for_each(|_| times.add(Bytes::mib(1), AccessPattern::Sequential, Nanos::from_millis(12), Nanos::ZERO));
    assert!((times.high(Bytes::mib(1), AccessPattern::Sequential) - 0.012).abs() < 1e-9, "until it is long ago");
}

#[test]
fn a_size_that_was_slow_long_ago_is_given_another_chance() {
    let mut times =
        seen(&[(Bytes::kib(64), 4000), (Bytes::kib(64), 4000), (Bytes::mib(4), 900_000), (Bytes::mib(4), 900_000)]);
    assert!(times.high(Bytes::mib(4), AccessPattern::Sequential) > 0.8);
    times.add(Bytes::kib(64), AccessPattern::Sequential, Nanos::from_millis(4), Nanos::from_secs(601));
    times.add(Bytes::kib(64), AccessPattern::Sequential, Nanos::from_millis(4), Nanos::from_secs(602));
    assert!(
        times.high(Bytes::mib(4), AccessPattern::Sequential) < 0.4,
        "by the line: 64 times as long as 64 KiB, and a quarter more"
    );
}

#[test]
fn a_request_with_the_head_away_pays_for_the_same_seek_at_any_size() {
    let mut times =
        seen(&[(Bytes::kib(64), 1000), (Bytes::kib(64), 1000), (Bytes::mib(4), 40_000), (Bytes::mib(4), 40_000)]);
    (0..2).for_each(|_| times.add(Bytes::kib(64), AccessPattern::Random, Nanos::from_millis(9), Nanos::ZERO));
    assert!(
        (times.of(Bytes::mib(4), AccessPattern::Random).mean - 0.048).abs() < 1e-6
            && (times.mean(Bytes::mib(4)) - 0.040).abs() < 1e-9
    );
    assert!((times.high(Bytes::mib(4), AccessPattern::Random) - 0.048).abs() < 1e-6);
}

#[test]
fn stray_long_times_keep_their_weight() {
    let mut times = ServiceTimes::default();
    (0..128).for_each(|i| {
        times.add(SIZE_MIN, AccessPattern::Sequential, Nanos::from_millis(if i == 64 { 100 } else { 5 }), Nanos::ZERO)
    });
    let ServiceEstimate { mean, cases, .. } = times.of(SIZE_MIN, AccessPattern::Sequential);
    let moment = |power: i32| cases.iter().map(|case| case.share * case.service.powi(power)).sum::<f64>();
    assert!((mean - 0.005).abs() < 1e-9, "what most take");
    assert!((moment(1) - (127.0 * 0.005 + 0.1) / 128.0).abs() < 1e-9);
    assert!((moment(2) - (127.0 * 0.005f64.powi(2) + 0.1f64.powi(2)) / 128.0).abs() < 1e-9);
}

#[test]
fn one_slow_request_after_a_long_time_is_as_slow_as_those_before() {
    let mut times = ServiceTimes::default();
    let mut add = |millis, minutes: u64| {
        let (access, at) = (AccessPattern::Random, Nanos::from_secs(60 * minutes));
        times.add(SIZE_MIN, access, Nanos::from_millis(millis), at);
        times.of(SIZE_MIN, access).mean
    };
    add(434, 0);
    assert_eq!(add(434, 0), 0.434);
    assert_eq!(add(440, 11), 0.434);
    assert_eq!(add(4, 22), 0.004, "and one that is fast shows that this is over");
    assert_eq!(add(440, 33), 0.004, "one that is slow may be an outlier");
}
