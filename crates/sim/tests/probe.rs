//! The fast prober on modelled arrays: a few seeds of each kind. `examples/probe_trials.rs` is the same with many.

use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::plan::Shape;
use scrubjay_core::probe::fast::{Options, fast};
use scrubjay_core::probe::known::{Claim, Finding, Known, Regime};
use scrubjay_core::probe::library::canonical;
use scrubjay_core::rng::Rng;
use scrubjay_sim::array::Array;
use scrubjay_sim::array::flash::Chips;
use scrubjay_sim::array::map::Map;
use scrubjay_sim::array::noise::Noise;
use scrubjay_sim::array::queue::Discipline;
use scrubjay_sim::array::setup::{Drive, Odd, Setup};

const CHUNK: u64 = 32 << 10;
/// A phase of odd sectors.
const PHASE: u64 = 12_345 * 512;
/// Half as many again as the mean of many trials.
const REQUESTS_MAX: u64 = 8_000;

fn layout(kind: LayoutKind, data: usize, parity: usize, disks: usize) -> Layout {
    Layout::new(kind, Shape { data, parity }, disks).expect("such an array")
}

fn setup(layout: Layout) -> Setup {
    Setup { phase_bytes: PHASE, ..Setup::new(Map::Layout(layout), CHUNK) }
}

fn probed(setup: &Setup, seed: u64) -> (Known, u64) {
    let mut array = Array::new(Setup { seed, ..setup.clone() });
    let mut prober = fast(array.device(), Options { seed: Rng::stream(seed, 7).bits(), ..Options::default() });
    array.serve(&mut prober);
    (prober.known(), prober.spent().requests)
}

fn value<T: Clone>(claim: &Option<Claim<T>>) -> Option<T> {
    claim.as_ref().map(|claim| claim.value.clone())
}

/// The class of each chunk, from the first one that begins on the device.
fn classes(setup: &Setup, disk: impl Fn(usize) -> usize) -> Vec<usize> {
    let list: Vec<usize> = setup.map.pattern().into_iter().map(disk).collect();
    let first = setup.phase_bytes.div_ceil(setup.chunk_bytes) as usize;
    canonical(&(0..list.len()).map(|i| list[(first + i) % list.len()]).collect::<Vec<_>>())
}

/// Pattern, chunk, phase and classes are true.
fn assert_map(known: &Known, setup: &Setup, disk: impl Fn(usize) -> usize, what: &str) {
    let (chunk, count) = (setup.chunk_bytes, setup.map.pattern().len() as u64);
    assert_eq!(value(&known.pattern_bytes), Some(count * chunk), "{what}: {known:?}");
    assert_eq!(value(&known.chunk_bytes), Some(chunk), "{what}");
    assert_eq!(
        value(&known.phase_bytes),
        Some(setup.phase_bytes.next_multiple_of(chunk) - setup.phase_bytes),
        "{what}"
    );
    assert_eq!(value(&known.classes), Some(classes(setup, disk)), "{what}");
}

/// All of it is true, of a layout that is in the library.
fn assert_known(known: &Known, setup: &Setup, layout: Layout, what: &str) {
    assert_map(known, setup, |disk| disk, what);
    let copies = if matches!(layout.kind(), LayoutKind::Raid1 | LayoutKind::Chained) { 2 } else { 1 };
    assert_eq!((value(&known.copies), value(&known.disks)), (Some(copies), Some(layout.disks())), "{what}");
    let fits = value(&known.fits).expect("fits");
    assert!(fits.iter().any(|fit| fit.layout == layout), "{what}: {fits:?}");
    assert_eq!(known.findings, [], "{what}");
}

#[test]
fn arrays_of_every_size_are_found_under_every_discipline_and_noise() {
    for disks in [4, 8, 16] {
        for layout in [
            layout(LayoutKind::Raid0, disks, 0, disks),
            layout(LayoutKind::Raid1, 1, 1, disks),
            layout(LayoutKind::Raid5La, disks - 1, 1, disks),
        ] {
            for (seed, (discipline, noise)) in Discipline::ALL
                .into_iter()
                .flat_map(|discipline| Noise::ALL.map(|noise| (discipline, noise)))
                .enumerate()
            {
                let setup = Setup { discipline, noise, ..setup(layout) };
                let (known, requests) = probed(&setup, seed as u64);
                let what = format!("{} of {disks}, {discipline}, {noise}", layout.kind());
                assert_known(&known, &setup, layout, &what);
                assert!(requests <= REQUESTS_MAX || noise == Noise::Heavy, "{what}: {requests}");
            }
        }
    }
}

#[test]
fn every_layout_is_found_or_one_that_reads_cannot_tell_from_it() {
    for layout in [
        layout(LayoutKind::Chained, 1, 1, 6),
        layout(LayoutKind::ZigZag, 6, 0, 6),
        layout(LayoutKind::Raid5Ls, 5, 1, 6),
        layout(LayoutKind::Raid5Rs, 5, 1, 6),
        layout(LayoutKind::Raid5Ra, 5, 1, 6),
        layout(LayoutKind::Raid6Pq, 4, 2, 6),
        layout(LayoutKind::Raid6Md, 4, 2, 6),
    ] {
        for seed in 0..3 {
            let setup = Setup { chunk_bytes: 8 << 10, ..setup(layout) };
            assert_known(&probed(&setup, seed).0, &setup, layout, &format!("{}, seed {seed}", layout.kind()));
        }
    }
}

#[test]
fn chunks_of_one_sector_cost_no_more() {
    let layout = layout(LayoutKind::Raid5La, 3, 1, 4);
    let setup = Setup { chunk_bytes: 512, ..setup(layout) };
    let (known, requests) = probed(&setup, 1);
    assert_known(&known, &setup, layout, "sectors");
    assert!(requests <= REQUESTS_MAX, "{requests}");
}

#[test]
fn two_members_on_one_disk_are_no_known_layout() {
    for (seed, same) in [(0, 1), (1, 3), (2, 3)].into_iter().enumerate() {
        for kind in [LayoutKind::Raid5La, LayoutKind::Raid5Rs] {
            let setup = Setup { same: Some(same), ..setup(layout(kind, 3, 1, 4)) };
            let (known, _) = probed(&setup, seed as u64);
            assert_map(&known, &setup, |disk| if disk == same.1 { same.0 } else { disk }, "two on one");
            assert_eq!(value(&known.fits), Some(vec![]), "no layout is accepted");
            assert!(known.findings.iter().any(|claim| matches!(claim.value, Finding::Unequal { .. })), "{known:?}");
        }
    }
}

#[test]
fn a_map_without_order_is_printed_as_it_is() {
    for seed in 0..3 {
        let mut list: Vec<usize> = (0..24).map(|chunk| chunk % 6).collect();
        let mut rng = Rng::new(seed);
        for i in (1..list.len()).rev() {
            list.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let setup = Setup { phase_bytes: PHASE, ..Setup::new(Map::Free(list), CHUNK) };
        let (known, _) = probed(&setup, seed);
        assert_map(&known, &setup, |disk| disk, "no order");
        assert_eq!(value(&known.fits), Some(vec![]), "no layout is accepted");
    }
}

#[test]
fn slow_and_lost_members_are_named() {
    for disk in 0..3 {
        let odd = vec![Odd { disk, rotation: 1.4, seek: 1.4 }];
        let slow = Setup { odd, ..setup(layout(LayoutKind::Raid5Ls, 5, 1, 6)) };
        let (known, _) = probed(&slow, disk as u64);
        assert_map(&known, &slow, |disk| disk, "slow");
        let [Claim { value: Finding::Slow { class, factor }, .. }] = known.findings[..] else {
            panic!("one is slow: {:?}", known.findings)
        };
        assert!((1.2..1.7).contains(&factor), "{factor}");
        assert_eq!(class, class_of(&slow, disk));

        let lost = Setup { lost: Some(disk), ..setup(layout(LayoutKind::Raid5Ls, 9, 1, 10)) };
        let (known, _) = probed(&lost, disk as u64);
        assert_map(&known, &lost, |disk| disk, "lost");
        let class = class_of(&lost, disk);
        assert!(known.findings.iter().any(|claim| claim.value == Finding::Lost { class }), "{:?}", known.findings);
    }
}

fn class_of(setup: &Setup, disk: usize) -> usize {
    let list = setup.map.pattern();
    let first = setup.phase_bytes.div_ceil(setup.chunk_bytes) as usize;
    let place = (0..list.len()).find(|i| list[(first + i) % list.len()] == disk).expect("it holds chunks");
    classes(setup, |disk| disk)[place]
}

#[test]
fn what_is_no_array_is_not_made_one() {
    let one = layout(LayoutKind::Raid0, 1, 0, 1);
    for (drive, is_flash) in [
        (Setup::new(Map::Layout(one), CHUNK).drive, false),
        (Drive::Flash(Chips::SATA), true),
        (Drive::Flash(Chips::NVME), true),
    ] {
        let (known, _) = probed(&Setup { drive, ..setup(one) }, 1);
        assert_eq!(known.regime.as_ref().map(|claim| matches!(claim.value, Regime::Flash { .. })), Some(is_flash));
        assert_eq!((value(&known.disks), value(&known.classes)), (Some(1), Some(vec![0])));
        assert_eq!((known.chunk_bytes, known.phase_bytes, known.findings), (None, None, vec![]));
    }
}

#[test]
fn flash_drives_are_told_apart() {
    let four = layout(LayoutKind::Raid0, 4, 0, 4);
    for chips in [Chips::SATA, Chips::NVME] {
        let setup = Setup { drive: Drive::Flash(chips), ..setup(four) };
        let (known, _) = probed(&setup, 2);
        assert_map(&known, &setup, |disk| disk, "flash");
        assert_eq!(value(&known.disks), Some(4));
    }
}
