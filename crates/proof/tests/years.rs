//! A few modelled years of the watch, so that `cargo test` is quick. `cargo xtask years` runs more.

use scrubjay_proof::years;
use scrubjay_proof::years::oracle::YearOutcome;
use scrubjay_sim::host::setup::HostSetup;

/// A year cut to 60 days with four times the trouble, so that tests without optimization end soon.
fn short(seed: u64) -> YearOutcome {
    let mut setup = HostSetup::storm(seed);
    setup.days = 60;
    setup.trouble *= 4.0;
    years::run(setup)
}

#[test]
fn a_few_short_years() {
    let mut sums = [0; 4];
    for seed in (1000..1030).filter(|&seed| HostSetup::storm(seed).disks.len() <= 12) {
        let outcome = short(seed);
        assert_eq!(outcome.faults, [""; 0], "seed {seed}");
        let counts = [outcome.passes, outcome.summary.messages, outcome.summary.starts, 1];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    // Years in which nothing happens prove nothing.
    assert!(sums.iter().zip([100, 300, 60, 10]).all(|(sum, least)| *sum >= least), "{sums:?}");
}

/// Hosts whose arrays are pools of ZFS, which others scrub or forget to: 1,000 weeks and more.
#[test]
fn weeks_with_pools() {
    let (mut pools, mut weeks) = (0, 0);
    for seed in 3000..3025 {
        let setup = HostSetup::pools(seed);
        (pools, weeks) = (pools + setup.arrays.len(), weeks + setup.days / 7);
        assert_eq!(years::run(setup).faults, [""; 0], "seed {seed}");
    }
    assert!(pools > 50 && weeks > 1000, "{pools} pools, {weeks} weeks");
}

#[test]
fn the_same_seed_is_the_same_year() {
    let seed = (1000..).find(|&seed| HostSetup::storm(seed).disks.len() <= 6).unwrap();
    assert_eq!(short(seed), short(seed));
}
