//! Slow places and slow disks on a few sets, so that `cargo test` is quick; docs/slow.md has the curves, of more seeds.

use scrubjay_core::surface::daily::SlowDisk;
use scrubjay_proof::slowness::{SlowTrial, SlowTrialOutcome, run};
use scrubjay_sim::siblings::{PlantedSlowness, SiblingHours, SiblingKind};

const DAY: f64 = 86_400.0;

fn trial(kind: SiblingKind, hours: SiblingHours, seed: u64) -> SlowTrial {
    let planted = PlantedSlowness::Nothing;
    SlowTrial { kind, hours, disks: 1, regions: 1000, pass_days: 30, months: 1, planted, seed }
}

#[test]
fn a_hundredth_that_takes_half_longer_is_found_in_one_pass() {
    let mut found = 0;
    for seed in 1..=40 {
        let first = 20 + seed * 37 % 950;
        let planted = PlantedSlowness::Place { disk: 0, first, count: 10, factor: 1.5, since: 0.0 };
        let outcome = run(SlowTrial { planted, ..trial(SiblingKind::Spinning, SiblingHours::All, seed) });
        let places = &outcome.found;
        found += usize::from(
            places
                .iter()
                .any(|(.., place)| place.sectors.start.0 / 16 <= first + 1 && place.sectors.end.0 / 16 > first + 1),
        );
        assert!(places.len() <= 1, "seed {seed}: {places:?}");
    }
    assert!(found >= 39, "{found} of 40");
}

#[test]
fn a_disk_that_is_slower_than_its_siblings_is_named_within_a_week_and_nothing_else_is() {
    for (kind, seed) in SiblingKind::ALL.into_iter().flat_map(|kind| [(kind, 1), (kind, 2), (kind, 3)]) {
        let slow = |planted: PlantedSlowness| -> SlowTrialOutcome {
            run(SlowTrial { disks: 4, regions: 500, months: 3, planted, ..trial(kind, SiblingHours::All, seed) })
        };
        let planted = PlantedSlowness::Disk { disk: 2, factor: 1.35, since: 65.0 * DAY };
        let named: Vec<_> = slow(planted).slow;
        assert!(
            matches!(named[..], [(2, 65..=72, SlowDisk::ThanSiblings { siblings: 3, .. })]),
            "{kind:?} {seed}: {named:?}"
        );
        assert_eq!(slow(PlantedSlowness::Nothing).slow, [], "{kind:?} {seed}");
        let bus = slow(PlantedSlowness::Bus { factor: 1.5, since: 65.0 * DAY }).slow;
        let is_of_way = bus.iter().all(|(.., what)| matches!(what, SlowDisk::WithItsWay { disks: 4, .. }));
        assert!(bus.len() == 4 && is_of_way, "{kind:?} {seed}: {bus:?}");
    }
}
