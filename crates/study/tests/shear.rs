//! Shear on modelled arrays: the figures of Denehy et al. 2004 as numbers that must come out.
//!
//! N and R are smaller than theirs (about 500, unknown) unless a test says otherwise: the assertions are on decisions
//! and ratios.

use scrubjay_core::layout::LayoutKind;
use scrubjay_core::probe::known::{ProbeFinding, RedundancyLevel};
use scrubjay_core::probe::library::canonical;
use scrubjay_core::probe::paper::level::LOG_SPREAD;
use scrubjay_core::probe::paper::{ScanPoint, StepCost, TrialParameters, WriteGrowth};
use scrubjay_sim::array::queue::Discipline;
use scrubjay_sim::array::setup::{ArraySetup, MirrorRead, Odd};
use scrubjay_study::shear::bounds::Scan;
use scrubjay_study::shear::rig::{KIB, all_steps, array, boundary_scan, map, matrix, pattern_bytes, pattern_scan};
use scrubjay_study::shear::{Effort, align, bounds, counts, layouts, patterns, verdicts, writes};

const SMALL: Effort = Effort { requests: 100, repeats: 4, seed: 7 };

fn at(samples: &[ScanPoint], kib: u64) -> f64 {
    samples.iter().find(|sample| sample.bytes == kib * KIB).expect("it was scanned").seconds
}

fn worst(samples: &[ScanPoint]) -> f64 {
    samples.iter().map(|sample| sample.seconds).fold(0.0, f64::max)
}

#[test]
fn figure_3_patterns_of_striped_arrays() {
    let scans = [4, 6, 8].map(|disks| pattern_scan(&array(LayoutKind::Raid0, disks, 16), SMALL, 256 * KIB));
    assert_eq!(scans.each_ref().map(|scan| patterns::found_kib(scan)), [64, 96, 128]);
    let [four, ..] = &scans;
    let least = four.iter().map(|sample| sample.seconds).fold(f64::INFINITY, f64::min);
    for kib in [8, 16, 24] {
        assert!(at(four, kib) < 1.25 * least, "{kib} KiB: all four disks");
    }
    assert!(at(four, 32) > 1.5 * at(four, 16) && at(four, 32) < 0.65 * at(four, 64), "two disks, and one");
    assert!((worst(four) / at(four, 64) - 1.0).abs() < 0.1);
}

#[test]
fn figure_5_boundaries_and_the_turns_of_zigzag() {
    for (disks, chunk) in [(4, 16), (8, 8), (16, 4)] {
        let setup = array(LayoutKind::Raid0, disks, chunk);
        assert_eq!(patterns::found_kib(&pattern_scan(&setup, SMALL, 144 * KIB)), 64);
        let scan = Scan::of(&setup, SMALL);
        let expected: Vec<u64> = (0..disks as u64).map(|index| index * chunk).collect();
        assert_eq!((scan.chunk_kib(), scan.places_kib()), (chunk, expected));
    }
    let zigzag = array(LayoutKind::ZigZag, 6, 8);
    assert_eq!(patterns::found_kib(&pattern_scan(&zigzag, SMALL, 208 * KIB)), 96, "twice the disks");
    let scan = Scan::of(&zigzag, SMALL);
    assert_eq!(scan.places_kib(), [8, 16, 24, 32, 40, 56, 64, 72, 80, 88], "none at 0 and 48");
    assert_eq!(scan.chunk_kib(), 8);
}

#[test]
fn figure_6_a_second_diagonal() {
    let zigzag = matrix(&array(LayoutKind::ZigZag, 6, 8), SMALL);
    let classes = zigzag.classes().value;
    for chunk in 0..12 {
        let same_class: Vec<usize> =
            (0..12).filter(|&other| other != chunk && classes[other] == classes[chunk]).collect();
        assert_eq!(same_class, [11 - chunk]);
    }
    assert_eq!(layouts::names(&zigzag), ["zigzag"]);
    let striped = matrix(&array(LayoutKind::Raid0, 6, 8), SMALL);
    assert_eq!(layouts::sizes(&striped), [1; 6]);
}

#[test]
fn figure_7_requests_by_formula_and_by_run() {
    // The run has a smaller N and R, which are factors of the formula.
    let effort = Effort { requests: 50, repeats: 3, seed: 1 };
    let ran: Vec<(u64, u64)> = counts::counted(effort, 150_000)
        .iter()
        .filter_map(|one| one.run.map(|(requests, _)| (requests, one.cost.total())))
        .collect();
    assert!(ran.len() >= 6, "{ran:?}");
    assert!(ran.iter().all(|(run, formula)| run == formula), "{ran:?}");
    let full = counts::counted(Effort::FULL, 0);
    let totals: Vec<f64> = full.iter().map(|one| (one.cost.total() as f64 / 1e4).round() / 1e2).collect();
    assert_eq!(totals, [0.74, 1.64, 3.92, 0.35, 0.74, 1.64, 2.7, 24.92, 327.6], "millions");
    assert!(full[..6].iter().all(|one| one.cost.total() < 4_000_000), "few millions without parity");
    let days = counts::layout_days(&array(LayoutKind::Raid5La, 16, 32), Effort { repeats: 2, ..Effort::FULL });
    assert!((5.0 * days / 8.2 - 1.0).abs() < 0.05, "a few days; eight with ten repeats: {days} with two");
    let StepCost { pattern, layout, .. } = full[8].cost;
    assert!(layout > 7 * pattern);
}

#[test]
fn figure_8_seconds_behind_an_elevator() {
    // The paper's N, to reproduce its seconds: 2.0. FCFS would take 4.8.
    let effort = Effort { repeats: 3, ..Effort::FULL };
    let setup = array(LayoutKind::Raid0, 6, 8);
    let scan = pattern_scan(&setup, effort, 144 * KIB);
    assert_eq!(patterns::found_kib(&scan), 48);
    assert!((worst(&scan) - 2.31).abs() < 0.05, "{}", worst(&scan));
    let bounds = Scan::of(&setup, SMALL);
    assert_eq!(bounds.chunk_kib(), 8);
    assert!((bounds.contrast() - 0.5).abs() < 0.08, "{}", bounds.contrast());
}

#[test]
fn figure_9_patterns_of_raid_5_and_their_apparent_noise() {
    let cases = [
        (LayoutKind::Raid5Ls, 48, 0.50),
        (LayoutKind::Raid5La, 240, 0.733),
        (LayoutKind::Raid5Rs, 240, 0.50),
        (LayoutKind::Raid5Ra, 240, 0.733),
    ];
    let effort = Effort { repeats: 24, ..SMALL }; // many places, as the levels depend on the place
    for (kind, kib, share) in cases {
        let scan = pattern_scan(&array(kind, 6, 8), effort, 512 * KIB);
        assert_eq!(patterns::found_kib(&scan), kib, "{kind}");
        // By the largest share of one disk; with fewer requests an elevator makes longer seeks (50 take 0.63 of the
        // time of 100).
        let level = patterns::confuser(&scan, kib) / at(&scan, kib);
        assert!((level / f64::powf(share, 0.68) - 1.0).abs() < 0.11, "{kind}: {level}");
    }
}

#[test]
fn the_apparent_noise_of_raid_5_patterns_follows_from_the_map() {
    let shares = |kind| [4, 6, 8, 16].map(|disks| (patterns::share_max(&map(kind, disks)) * 1000.0).round());
    assert_eq!(shares(LayoutKind::Raid5La), [667.0, 733.0, 714.0, 733.0]);
    assert_eq!(shares(LayoutKind::Raid5Ra), shares(LayoutKind::Raid5La));
    assert_eq!(shares(LayoutKind::Raid5Rs), [667.0, 500.0, 500.0, 500.0]);
    for kind in [LayoutKind::Raid0, LayoutKind::Raid5Ls, LayoutKind::ZigZag] {
        assert_eq!(shares(kind), [500.0; 4], "{kind}");
    }
}

#[test]
fn figure_10_six_classes_of_five() {
    use LayoutKind::{Raid5La, Raid5Ls, Raid5Ra, Raid5Rs};
    let matrices = [Raid5Ls, Raid5La, Raid5Rs, Raid5Ra].map(|kind| matrix(&array(kind, 6, 8), SMALL));
    assert_eq!(layouts::sizes(&matrices[0]), [1; 6]);
    for (kind, matrix) in [Raid5La, Raid5Rs, Raid5Ra].iter().zip(&matrices[1..]) {
        assert_eq!(layouts::sizes(matrix), [5; 6], "{kind}");
        assert_eq!(layouts::names(matrix), [kind.name()]);
    }
    let classes = matrices[1].classes().value;
    let with_0: Vec<usize> = (0..30).filter(|&chunk| classes[chunk] == classes[0]).collect();
    assert_eq!(with_0, [0, 5, 10, 15, 20], "and not 25, as the paper's text has it");
    assert_eq!(classes[25], classes[1], "which the map of its Figure 1 has on the next disk");
    let four = map(LayoutKind::Raid5La, 4).pattern();
    assert_eq!(four[9], four[1], "as chunk 9 of four disks");
    let all: Vec<Vec<usize>> = matrices.iter().map(|matrix| matrix.classes().value).collect();
    assert!((0..4).all(|one| (0..one).all(|other| all[one] != all[other])), "four distinct pictures");
}

#[test]
fn figure_11_two_parities_look_like_striping() {
    let setup = array(LayoutKind::Raid6Pq, 6, 8);
    assert_eq!(patterns::found_kib(&pattern_scan(&setup, SMALL, 144 * KIB)), 48);
    assert_eq!(Scan::of(&setup, SMALL).chunk_kib(), 8);
}

#[test]
fn figure_12_mirrors_halve_time_and_pattern() {
    let effort = Effort { requests: 300, ..SMALL };
    let (mirrored, striped) = (array(LayoutKind::Raid1, 6, 8), array(LayoutKind::Raid0, 6, 8));
    let [half, whole] = [&mirrored, &striped].map(|setup| pattern_scan(setup, effort, 96 * KIB));
    assert_eq!(patterns::found_kib(&half), 24);
    let ratio = worst(&whole) / worst(&half);
    assert!((ratio - 1.9).abs() < 0.15, "an elevator has longer ways among fewer requests: {ratio}");
    let bounds = Scan::of(&mirrored, effort);
    assert_eq!(bounds.chunk_kib(), 8);
    assert!((bounds.contrast() - 0.5).abs() < 0.08, "{}", bounds.contrast());
    // Choosing copies at random makes no difference here, unlike with chained declustering.
    let bounds = Scan::of(&ArraySetup { mirror_read: MirrorRead::Random, ..mirrored }, effort);
    assert!((bounds.contrast() - 0.5).abs() < 0.08, "{}", bounds.contrast());
}

#[test]
fn figure_13_chained_declustering_has_three_levels() {
    let effort = Effort { requests: 300, ..SMALL };
    let setup = array(LayoutKind::Chained, 6, 8);
    assert_eq!(patterns::found_kib(&pattern_scan(&setup, effort, 144 * KIB)), 48);
    let bounds = Scan::of(&setup, effort);
    assert_eq!(bounds.chunk_kib(), 8);
    // In order of arrival it is 2:3; with fewer requests an elevator makes longer seeks.
    assert!((bounds.contrast() - 0.7).abs() < 0.05, "{}", bounds.contrast());
    let in_turn = ArraySetup { discipline: Discipline::Fcfs, ..setup.clone() };
    let bounds = Scan::of(&in_turn, effort);
    assert!((bounds.contrast() - 2.0 / 3.0).abs() < 0.03, "{}", bounds.contrast());
    let matrix = matrix(&setup, effort);
    let [same, neighbours, far] = layouts::levels(&matrix);
    assert!((neighbours / same - 0.72).abs() < 0.06 && (far / same - 0.55).abs() < 0.06, "{same} {neighbours} {far}");
    assert_eq!(layouts::names(&matrix), ["chained"]);
    let in_a_circle = |chunk: usize| matrix.rows[chunk][(chunk + 1) % 6] / same;
    assert!((0..6).all(|chunk| (in_a_circle(chunk) - 0.72).abs() < 0.08), "the first and the last are neighbours, too");
    // With random copies, the disk between two chunks has as much to do as one inside a chunk.
    let random = ArraySetup { mirror_read: MirrorRead::Random, ..setup };
    let scan = Scan::of(&random, effort);
    let inside = at(&scan.samples, 4);
    assert!(scan.samples.iter().all(|sample| (sample.seconds / inside - 1.0).abs() < 0.15), "no boundary: {scan:?}");
    assert_eq!(scan.chunk_kib(), 0);
}

#[test]
fn figure_14_costs_of_writes() {
    let effort = Effort { requests: 500, ..SMALL };
    let mut squares = Vec::new();
    for case in writes::cases() {
        for discipline in [Discipline::CLook, Discipline::Fcfs] {
            let setup = ArraySetup { discipline, ..case.setup.clone() };
            let ratio = writes::measured(&setup, effort, WriteGrowth::Doubling).ratio();
            let log_error: f64 = (ratio / case.expected).ln();
            assert!(log_error.abs() < 0.25, "{}, {discipline}: {ratio} instead of {}", case.name, case.expected);
            squares.push(log_error * log_error);
        }
    }
    // The ratio is not four for all arrays: one disk more adds a quarter.
    let soft = |name: &str, discipline: Discipline| {
        let case = writes::cases().into_iter().find(|case| case.name == name).expect("it is drawn");
        writes::ratio_mean(&ArraySetup { discipline, ..case.setup }, Effort { repeats: 8, ..effort })
    };
    for discipline in [Discipline::CLook, Discipline::Fcfs] {
        let [four, five] = ["software RAID-5 of 4", "software RAID-5 of 5"].map(|name| soft(name, discipline));
        assert!((five / four / 1.25 - 1.0).abs() < 0.07, "{discipline}: {four} and {five}");
    }
    let five = soft("software RAID-5 of 5", Discipline::Fcfs);
    assert!((4.4..5.3).contains(&five), "{five}");
    // The confidence of a level depends on this spread.
    let spread = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
    assert!((0.8 * LOG_SPREAD..1.2 * LOG_SPREAD).contains(&spread), "{spread}");
    let bars =
        |name: &str| writes::cases().into_iter().find(|case| case.name.contains(name)).expect("it is drawn").expected;
    assert_eq!(
        (bars("software RAID-5 of 5"), bars("software RAID-5 of 4"), bars("hardware RAID-5 of 4")),
        (5.0, 4.0, 4.0)
    );
    assert_eq!(bars("software RAID-5 of 2"), bars("software RAID-1 of 2"), "nobody can tell the two");
}

#[test]
fn figure_15_small_regions_and_slow_settling() {
    let effort = Effort { requests: 500, ..SMALL };
    let [(_, ibm), (_, quantum)] = writes::disks();
    for region in [64 << 20, 1 << 30, 4 << 30] {
        assert!((writes::ratio_in(&ibm, effort, region) - 1.0).abs() < 0.1, "{region}");
    }
    let [small, gigabytes] = [64 << 20, 4 << 30].map(|region| writes::ratio_in(&quantum, effort, region));
    assert!((small - 1.0).abs() < 0.2 && (1.6..2.2).contains(&gigabytes), "{small} and {gigabytes}");
}

#[test]
fn figure_16_writes_fill_the_cache() {
    let setup = writes::cached();
    let rates = [256, 1024, 4096, 16_384].map(|count| writes::bandwidth(&setup, SMALL, count));
    assert!(rates[0] > 10.0 && rates[1] > 10.0, "a copy each: {rates:?}");
    assert!(rates[2] < rates[1] / 10.0 && rates[3] < rates[2], "{rates:?}");
    for growth in [WriteGrowth::Doubling, WriteGrowth::Fixed(500)] {
        let found = writes::measured(&setup, Effort { requests: 500, ..SMALL }, growth);
        assert!(found.writes.len() > 2 && found.ratio() > 0.7, "{growth:?}: {found:?}");
    }
}

#[test]
fn figure_17_misconfigured_arrays_are_like_nothing_known() {
    for kind in layouts::FIVE {
        let [right, wrong] = [false, true].map(|is_wrong| matrix(&layouts::four(kind, is_wrong), SMALL));
        assert!(layouts::names(&right).contains(&kind.name()), "{kind}");
        assert_eq!(layouts::names(&wrong), [""; 0], "{kind}");
        let mut sizes = layouts::sizes(&wrong);
        sizes.sort_unstable();
        assert_eq!((sizes.len(), sizes[2]), (3, 2 * sizes[0]), "{kind}: two members are one class");
    }
}

#[test]
fn figure_18_odd_disks_are_seen_and_the_pattern_is_found() {
    for (name, setup) in layouts::heterogeneous() {
        let matrix = matrix(&setup, SMALL);
        let odd_ratio = matrix.rows[layouts::ODD_DISK][layouts::ODD_DISK] / matrix.rows[0][0];
        let is_fast = name.starts_with("fast");
        assert!(if is_fast { odd_ratio < 0.95 } else { odd_ratio > 1.05 }, "{name}: {odd_ratio}");
        assert_eq!(patterns::found_kib(&pattern_scan(&setup, SMALL, 144 * KIB)), 48, "{name}");
        let scan = Scan::of(&setup, SMALL);
        let (odd, others) = layouts::plateaus(&scan);
        assert_eq!((scan.chunk_kib(), odd < 0.97 * others, odd > 1.03 * others), (8, is_fast, !is_fast), "{name}");
    }
}

#[test]
fn figure_19_dips_of_a_lost_disk_vanish() {
    let effort = Effort { requests: 300, repeats: 2, seed: 3 };
    let whole = Scan::of(&bounds::ten(None, Default::default()), effort);
    assert_eq!(whole.places_kib(), (0..10).map(|chunk| chunk * 16).collect::<Vec<_>>(), "a dip at each chunk before");
    let scan = |rebuild_time| boundary_scan(&bounds::ten(Some(bounds::PULLED), rebuild_time), effort);
    let equal = bounds::Plateaus::of(&scan(Default::default()));
    let higher = bounds::Plateaus::of(&scan(bounds::REBUILD_TIME));
    for found in [equal, higher] {
        assert!(
            found.edges.0 > 0.8 * found.other_chunks && found.edges.1 > 0.8 * found.other_chunks,
            "no dips: {found:?}"
        );
        assert!((found.dips / found.other_chunks - 0.5).abs() < 0.1, "the others': {found:?}");
    }
    assert!((equal.lost / equal.other_chunks - 1.0).abs() < 0.1, "by mechanics alone: {equal:?}");
    assert!(higher.lost > 1.2 * higher.other_chunks, "{higher:?}");
}

#[test]
fn a_lost_disk_is_identified_by_the_pairs_of_its_chunks() {
    let effort = Effort { requests: 100, repeats: 4, seed: 5 };
    let kinds = [LayoutKind::Raid5Ls, LayoutKind::Raid5La];
    for (kind, rebuild_time) in kinds.iter().flat_map(|kind| [(kind, Default::default()), (kind, bounds::REBUILD_TIME)])
    {
        let setup = ArraySetup { lost: Some(1), rebuild_time, ..array(*kind, 5, 8) };
        let found = matrix(&setup, effort);
        let disks = setup.map.pattern();
        let class = found.classes().value[disks.iter().position(|&disk| disk == 1).expect("it holds data")];
        assert_eq!(found.lost(), Some(class), "{kind}, {rebuild_time:?}");
        assert!(layouts::names(&found).contains(&kind.name()), "what is left is known: {kind}, {rebuild_time:?}");
        assert_eq!(found.classes().value, canonical(&disks), "{kind}");
        assert_eq!(matrix(&ArraySetup { lost: None, ..setup }, effort).lost(), None, "{kind}");
    }
    let ten = bounds::ten(Some(bounds::PULLED), bounds::REBUILD_TIME);
    let (known, ..) =
        all_steps(&ten, TrialParameters { pattern_bytes_max: 176 * KIB, writes: None, ..effort.parameters() });
    let class = known.classes.expect("classes").value
        [ten.map.pattern().iter().position(|&d| d == bounds::PULLED).expect("data")];
    let findings: Vec<ProbeFinding> = known.findings.into_iter().map(|claim| claim.value).collect();
    assert_eq!(findings, [ProbeFinding::Lost { class }], "and no slow one");
    // A disk slow enough to be slow together with any other is not lost.
    let slow = ArraySetup { odd: vec![Odd { disk: 1, rotation: 2.0, seek: 2.0 }], ..array(LayoutKind::Raid5Ls, 5, 8) };
    assert_eq!(matrix(&slow, effort).lost(), None);
}

#[test]
fn figure_20_whole_stripes_are_twice_as_fast() {
    let gain = |bytes: u64| {
        align::bandwidth(bytes, align::RequestSplit::ByStripe, 1)
            / align::bandwidth(bytes, align::RequestSplit::AsLargeAsPossible, 1)
    };
    let [small, large, larger] = [4 * KIB, 1 << 20, 4 << 20].map(gain);
    assert!((small - 1.0).abs() < 0.15, "{small}");
    assert!(large > 1.5 && larger > 2.0 && larger < 3.6, "{large}, {larger}");
}

#[test]
fn all_steps_identify_every_array() {
    let effort = Effort { requests: 400, repeats: 16, seed: 11 };
    for kind in verdicts::KINDS {
        let setup = array(kind, 6, 8);
        // Only up to twice the pattern, or this would take long.
        let pattern_bytes_max = 2 * pattern_bytes(&setup) + 16 * KIB;
        let (known, ..) = all_steps(&setup, TrialParameters { pattern_bytes_max, ..effort.parameters() });
        assert!(verdicts::is_right(&setup, &known), "{kind}: {known:?}");
        let confidence = known.pattern_bytes.map_or(0.0, |claim| claim.confidence);
        assert!(confidence > 0.8, "{kind}: {confidence}");
        let expected = match kind {
            LayoutKind::Raid0 | LayoutKind::ZigZag => RedundancyLevel::Raid0,
            LayoutKind::Raid1 | LayoutKind::Chained => RedundancyLevel::Mirror(2),
            LayoutKind::Raid6Md | LayoutKind::Raid6Pq => RedundancyLevel::Raid6,
            _ => RedundancyLevel::Raid5,
        };
        assert_eq!(known.level.map(|claim| claim.value), Some(expected), "{kind}");
    }
}
