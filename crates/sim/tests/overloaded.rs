//! The budget on disks that are busy nearly all the time: a request that meets one delays all that come until the disk has caught up, which
//! may be never.

use super::budget::ms;
use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::scrub::idle::{Budget, Goal};
use scrubjay_core::units::Nanos;
use scrubjay_sim::exact;
use scrubjay_sim::workload::{Bursts, TimeSpan};

/// What comes in a second takes `load` seconds to serve.
fn overloaded(load: f64, seed: u64) -> impl Iterator<Item = ForegroundRequest> {
    let gap = TimeSpan::Exponential { mean: Nanos::from_secs_f64(5e-3 / load) };
    Bursts::new(1, gap, gap, TimeSpan::Exponential { mean: ms(5) }, Rng::new(seed)).take(40_000)
}

/// The mean is above its limit at few, and by little: nothing announces a busy time that does not end.
#[test]
fn an_overloaded_disk_is_left_alone() {
    let mut above = 0;
    for (load, seed) in [0.95, 1.0, 1.05, 1.3].into_iter().flat_map(|load| (10..20).map(move |seed| (load, seed))) {
        let mut budget = Budget::new(Goal::new(ms(1), ms(50)));
        let periods = overloaded(load, seed).collect();
        let learned = exact::learner(&periods, ServiceModel::ULTRASTAR_15K450, &mut budget);
        let mean = learned.outcome.slowdown_mean_seconds() / 1e-3;
        assert!(mean <= 4.0, "load {load}, seed {seed}: {mean} times the limit");
        above += u32::from(mean > 1.0);
    }
    assert!(above <= 4, "{above} of 40 are above it");
}
