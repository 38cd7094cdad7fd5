//! The fast prober on modelled arrays, one or a few of each kind. `examples/probe_trials.rs` is the same with many.

use scrubjay_sim::array::noise::Noise;
use scrubjay_sim::array::trials::{TrialCase, TrialOutcome, layouts, misconfigured, odd, sizes};

/// Half as many again as the mean of many trials, in quiet and of likely arrays.
const REQUESTS_MAX: u64 = 8_000;

/// Everything is found, in no more requests than it may take.
fn assert_right(cases: &[TrialCase], seeds: u64, requests_max: u64) {
    for case in cases {
        for seed in 0..seeds {
            let TrialOutcome { setup, known, spent, is_right } = case.probe(seed);
            assert!(is_right, "{}, seed {seed}: {known:?}", case.name);
            let is_cheap = spent.requests <= requests_max || setup.noise == Noise::Heavy;
            assert!(is_cheap, "{}, seed {seed}: {} requests", case.name, spent.requests);
        }
    }
}

#[test]
fn arrays_of_every_size_are_found_under_every_discipline_and_noise() {
    assert_right(&sizes(), 1, REQUESTS_MAX);
}

#[test]
fn every_layout_is_found_or_one_that_reads_cannot_tell_from_it() {
    assert_right(&layouts(), 1, REQUESTS_MAX);
}

#[test]
fn arrays_without_a_known_layout_are_printed_as_they_are() {
    assert_right(&misconfigured(), 3, REQUESTS_MAX);
}

#[test]
fn members_that_are_slow_lost_or_no_disks_are_named() {
    assert_right(&odd(), 1, u64::MAX);
}
