//! A few hundred storms of the volume, so that `cargo test` is quick. `cargo xtask seeds` runs more.
//!
//! To save time, the paper's schemes run without faults and crashes here.

use scrubjay_core::volume::Volume;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_proof::config::{Narrowed, StormConfig};
use scrubjay_proof::simulation;
use scrubjay_proof::trace::StormLog;

#[test]
fn a_few_hundred_storms() {
    let mut sums = [0; 4];
    for seed in 0..600 {
        let mut setting = StormConfig::new(seed, Narrowed::default());
        if setting.geometry.scheme != Scheme::Stamp {
            setting =
                StormConfig::new(seed, Narrowed { is_faultless: true, is_crashless: true, ..Narrowed::default() });
        }
        let outcome = simulation::run::<Volume>(&setting, StormLog::default());
        let counts = [outcome.client.replies, outcome.disk_set.faults, outcome.records, outcome.runs];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    // Storms in which nothing happens prove nothing.
    assert!(sums.iter().zip([10_000, 500, 300, 600]).all(|(sum, least)| *sum >= least), "{sums:?}");
}

#[test]
fn the_same_seed_is_the_same_storm() {
    for seed in 0..100 {
        let setting =
            StormConfig::new(seed, Narrowed { is_crashless: true, is_faultless: seed % 2 == 0, ..Narrowed::default() });
        if setting.geometry.scheme != Scheme::Stamp {
            continue;
        }
        let outcomes = [(); 2].map(|()| simulation::run::<Volume>(&setting, StormLog::default()));
        assert_eq!(outcomes[0], outcomes[1], "seed {seed}");
    }
}
