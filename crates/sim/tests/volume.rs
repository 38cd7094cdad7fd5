//! The volume in simulated storms: a few hundred seeds, so that `cargo test` tells at once. `cargo xtask seeds` runs more.

use scrubjay_core::volume::Volume;
use scrubjay_sim::volume::setting::{Narrowed, Setting};
use scrubjay_sim::volume::trace::Trace;
use scrubjay_sim::volume::world;

#[test]
fn a_few_hundred_storms() {
    let mut sums = [0; 4];
    for seed in 0..400 {
        let setting = Setting::new(seed, Narrowed::default());
        let outcome = world::run::<Volume>(&setting, Trace::default());
        let counts = [outcome.client.replies, outcome.shelf.faults, outcome.records, outcome.runs];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    // Storms in which nothing happens prove nothing.
    assert!(sums.iter().zip([10_000, 500, 300, 600]).all(|(sum, least)| *sum >= least), "{sums:?}");
}

#[test]
fn the_same_seed_is_the_same_storm() {
    for seed in 0..40 {
        let setting = Setting::new(seed, Narrowed::default());
        let outcomes = [(); 2].map(|()| world::run::<Volume>(&setting, Trace::default()));
        assert_eq!(outcomes[0], outcomes[1], "seed {seed}");
    }
}
