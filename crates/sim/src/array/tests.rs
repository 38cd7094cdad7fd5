//! Modelled arrays against known figures.

use super::map::ChunkMap;
use super::mechanics::{Arm, Mechanics, Seek};
use super::setup::{ArraySetup, Drive, MirrorRead, Odd, ParityWrite};
use super::*;
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};

const CHUNK: u64 = 32 << 10;

fn map(kind: LayoutKind, data: usize, parity: usize, disks: usize) -> ChunkMap {
    ChunkMap::Layout(Layout::new(kind, Shape { data, parity }, disks).expect("such an array"))
}

/// The mean makespan of ten batches of `count` random requests of 4 KiB, in milliseconds.
fn makespan_ms(array: &mut Array, kind: ProbeAccess, count: usize, seed: u64) -> f64 {
    let (mut rng, blocks) = (Rng::new(seed), array.device().bytes / 4096);
    let mut total = 0.0;
    for _ in 0..10 {
        let request = |rng: &mut Rng| ProbeRequest { kind, ..ProbeRequest::read(rng.below(blocks) * 4096, 4096) };
        let requests = (0..count).map(|_| request(&mut rng)).collect();
        total += array.run(&ProbeBatch { requests }).makespan().as_millis_f64();
    }
    total / 10.0
}

/// The paper's step 4: the time of random writes, divided by that of random reads.
fn ratio(setup: &ArraySetup) -> f64 {
    let (mut reads, mut writes) = (Array::new(setup.clone()), Array::new(setup.clone()));
    makespan_ms(&mut writes, ProbeAccess::Rewrite, 500, 3) / makespan_ms(&mut reads, ProbeAccess::Read, 500, 3)
}

#[test]
fn writes_cost_what_their_redundancy_costs() {
    // Denehy et al. 2004, figure 14: 1, 2, 4; five on Linux 2.4's RAID-5 of five disks. P+Q: three reads, three writes.
    let cases = [
        (map(LayoutKind::Raid0, 4, 0, 4), ParityWrite::ReadModify, 1.0),
        (map(LayoutKind::Raid1, 1, 1, 4), ParityWrite::ReadModify, 2.0),
        (map(LayoutKind::Chained, 1, 1, 4), ParityWrite::ReadModify, 2.0),
        (map(LayoutKind::Raid5Ls, 3, 1, 4), ParityWrite::ReadModify, 4.0),
        (map(LayoutKind::Raid5La, 4, 1, 5), ParityWrite::Reconstruct, 5.0),
        (map(LayoutKind::Raid6Pq, 4, 2, 6), ParityWrite::ReadModify, 6.0),
    ];
    for (map, parity_write, expected) in cases {
        let setup = ArraySetup { parity_write, ..ArraySetup::new(map, CHUNK) };
        let ratio = ratio(&setup);
        assert!((ratio / expected).ln().abs() < 0.2, "{:?}: {ratio} instead of {expected}", setup.map);
    }
}

#[test]
fn a_small_write_takes_its_reads_and_then_its_writes() {
    // By the book: with p parities, 1 + p are read and 1 + p written; or the D - 1 - p other data are read, which makes D.
    for disks in 3..9 {
        for (kind, parity) in [(LayoutKind::Raid5La, 1), (LayoutKind::Raid6Pq, 2)] {
            if disks < parity + 2 {
                continue;
            }
            let map = map(kind, disks - parity, parity, disks);
            for (parity_write, reads) in
                [(ParityWrite::ReadModify, 1 + parity), (ParityWrite::Reconstruct, disks - 1 - parity)]
            {
                let setup = ArraySetup { parity_write, ..ArraySetup::new(map.clone(), CHUNK) };
                let mut plan = ArrayPlan::of(
                    &setup,
                    &ProbeRequest { kind: ProbeAccess::Rewrite, ..ProbeRequest::read(8192, 4096) },
                );
                let phases = [plan.next_phase(), plan.next_phase(), plan.next_phase()];
                assert_eq!(
                    phases.each_ref().map(Vec::len),
                    [reads, 1 + parity, 0],
                    "{kind} of {disks}, {parity_write:?}"
                );
                assert!(phases[0].iter().all(|step| !step.is_write) && phases[1].iter().all(|step| step.is_write));
            }
        }
    }
}

#[test]
fn more_disks_do_more_at_a_time() {
    let time = |disks| {
        makespan_ms(
            &mut Array::new(ArraySetup::new(map(LayoutKind::Raid0, disks, 0, disks), CHUNK)),
            ProbeAccess::Read,
            400,
            1,
        )
    };
    let (one, four) = (time(1), time(4));
    // 400 random reads on one disk; if four share them, the one that got most decides.
    assert!((one / four - 3.7).abs() < 0.4, "{}", one / four);
    // 400 in turn, one by one: the closed form of the mechanics.
    assert!((one / 400.0 - 9.55).abs() < 0.2, "{one}");
}

#[test]
fn an_elevator_is_faster_and_serves_them_all() {
    let time = |discipline| {
        let setup = ArraySetup { discipline, ..ArraySetup::new(map(LayoutKind::Raid0, 1, 0, 1), CHUNK) };
        makespan_ms(&mut Array::new(setup), ProbeAccess::Read, 500, 2)
    };
    use queue::Discipline::{CLook, Fcfs, Sstf};
    let [fcfs, clook, sstf] = [Fcfs, CLook, Sstf].map(time);
    // 500 reads of the whole disk: 4.8 s in turn, 2.3 s with an elevator.
    assert!((fcfs / 4780.0 - 1.0).abs() < 0.05, "{fcfs}");
    assert!((clook / 2310.0 - 1.0).abs() < 0.1, "{clook}");
    assert!(sstf < clook * 1.05, "{sstf}");
    // The base of figure 8's seconds: 200 in turn take nearly as long as 500 behind an elevator.
    let two_hundred = |discipline| {
        let setup = ArraySetup { discipline, ..ArraySetup::new(map(LayoutKind::Raid0, 1, 0, 1), CHUNK) };
        makespan_ms(&mut Array::new(setup), ProbeAccess::Read, 200, 2)
    };
    let [fcfs, clook] = [Fcfs, CLook].map(two_hundred);
    assert!((fcfs / 1920.0 - 1.0).abs() < 0.05 && (clook / 1050.0 - 1.0).abs() < 0.1, "{fcfs} and {clook}");
}

#[test]
fn a_read_of_a_lost_member_reads_all_other_members() {
    let whole = ArraySetup::new(map(LayoutKind::Raid5Ls, 4, 1, 5), CHUNK);
    let lost = ArraySetup { lost: Some(2), ..whole.clone() };
    for setup in [&whole, &lost] {
        for disk in 0..5 {
            let chunk = (0..20).find(|&chunk| Layout::data_disk(&layout_of(setup), chunk) == disk).expect("some chunk");
            let mut plan = ArrayPlan::of(setup, &ProbeRequest::read(chunk * CHUNK, 4096));
            let is_lost = setup.lost == Some(disk);
            assert_eq!(
                (plan.is_rebuilt, plan.next_phase().len()),
                (is_lost, if is_lost { 4 } else { 1 }),
                "disk {disk}"
            );
        }
    }
}

fn layout_of(setup: &ArraySetup) -> Layout {
    match setup.map {
        ChunkMap::Layout(layout) => layout,
        _ => panic!("a named layout"),
    }
}

#[test]
fn mirrors_share_reads_unless_only_the_first_copy_is_read() {
    let time = |mirror_read| {
        let setup = ArraySetup { mirror_read, ..ArraySetup::new(map(LayoutKind::Raid1, 1, 1, 2), CHUNK) };
        makespan_ms(&mut Array::new(setup), ProbeAccess::Read, 400, 5)
    };
    let [shared, random, first] = [MirrorRead::ShortestQueue, MirrorRead::Random, MirrorRead::First].map(time);
    assert!((first / shared - 2.0).abs() < 0.15, "{}", first / shared);
    // At random, one of the two gets somewhat more than half.
    assert!((1.01..1.12).contains(&(random / shared)), "{}", random / shared);
}

#[test]
fn odd_and_shared_disks_are_slow() {
    let setup = ArraySetup::new(map(LayoutKind::Raid0, 4, 0, 4), CHUNK);
    // Only chunks of disk 1.
    let time = |setup: ArraySetup| {
        let mut array = Array::new(setup);
        let (mut rng, stripes) = (Rng::new(1), array.device().bytes / (4 * CHUNK));
        let requests = (0..200).map(|_| ProbeRequest::read((rng.below(stripes) * 4 + 1) * CHUNK, 4096)).collect();
        array.run(&ProbeBatch { requests }).makespan().as_millis_f64()
    };
    let plain = time(setup.clone());
    let slow = time(ArraySetup { odd: vec![Odd { disk: 1, rotation: 1.4, seek: 1.4 }], ..setup.clone() });
    assert!((slow / plain - 1.4).abs() < 0.05, "{}", slow / plain);
    let elsewhere = time(ArraySetup { odd: vec![Odd { disk: 2, rotation: 1.4, seek: 1.4 }], ..setup.clone() });
    assert_eq!(elsewhere, plain);
    // Members 0 and 1 on one disk: both at the same time take twice as long.
    let pair = |same| {
        let mut array = Array::new(ArraySetup { same, ..setup.clone() });
        let (mut rng, stripes) = (Rng::new(1), array.device().bytes / (4 * CHUNK));
        let requests =
            (0..200).map(|i| ProbeRequest::read((rng.below(stripes / 2) * 4 + i % 2) * CHUNK, 4096)).collect();
        array.run(&ProbeBatch { requests }).makespan().as_millis_f64()
    };
    let doubled = pair(Some((0, 1))) / pair(None);
    assert!((doubled - 2.0).abs() < 0.3, "{doubled}");
}

#[test]
fn a_write_cache_answers_at_once_until_it_is_full() {
    let setup =
        ArraySetup { write_cache_bytes: Some(1 << 20), ..ArraySetup::new(map(LayoutKind::Raid5La, 3, 1, 4), CHUNK) };
    let mut array = Array::new(setup);
    let few = makespan_ms(&mut array, ProbeAccess::Rewrite, 16, 1);
    assert!(few < 1.0, "16 x 10 of 256 fit: {few}");
    let mut array = Array::new(ArraySetup { write_cache_bytes: Some(1 << 20), ..array.setup().clone() });
    let many = makespan_ms(&mut array, ProbeAccess::Rewrite, 2000, 1);
    let without = makespan_ms(
        &mut Array::new(ArraySetup { write_cache_bytes: None, ..array.setup().clone() }),
        ProbeAccess::Rewrite,
        2000,
        1,
    );
    assert!((many / without - 1.0).abs() < 0.2, "steady state: {many} and {without}");
}

#[test]
fn whole_stripes_are_written_without_reading() {
    let setup = ArraySetup::new(map(LayoutKind::Raid5Ls, 3, 1, 4), CHUNK);
    let rewrite = |offset, len| ProbeRequest { kind: ProbeAccess::Rewrite, ..ProbeRequest::read(offset, len) };
    let phases = |request| {
        let mut plan = ArrayPlan::of(&setup, &request);
        [plan.next_phase().len(), plan.next_phase().len(), plan.next_phase().len()]
    };
    assert_eq!(phases(rewrite(0, 3 * CHUNK)), [4, 0, 0]);
    assert_eq!(phases(rewrite(0, 4096)), [2, 2, 0]);
    assert_eq!(phases(rewrite(CHUNK - 4096, 8192)), [3, 3, 0]);
    assert_eq!(phases(rewrite(3 * CHUNK - 4096, 8192)), [4, 4, 0], "two stripes");
}

#[test]
fn flash_is_fast_and_many_requests_are_faster() {
    let setup = ArraySetup {
        drive: Drive::Flash(flash::Chips::SATA),
        ..ArraySetup::new(map(LayoutKind::Raid0, 1, 0, 1), CHUNK)
    };
    let mut array = Array::new(setup);
    let (one, many) =
        (makespan_ms(&mut array, ProbeAccess::Read, 1, 1), makespan_ms(&mut array, ProbeAccess::Read, 256, 1));
    assert!((0.05..0.1).contains(&one) && many < 256.0 * one / 8.0, "{one} and {many}");
}

#[test]
fn a_seed_determines_the_whole_run() {
    let run = |seed| {
        let setup =
            ArraySetup { seed, noise: noise::Noise::Heavy, ..ArraySetup::new(map(LayoutKind::Raid1, 1, 1, 4), CHUNK) };
        makespan_ms(&mut Array::new(setup), ProbeAccess::Read, 100, 1)
    };
    assert_eq!(run(7).to_bits(), run(7).to_bits());
    assert_ne!(run(7).to_bits(), run(8).to_bits());
}

/// Reads that were timed on a Cheetah 9LP: the sector below the head, the target sector, the number read, microseconds.
/// These are the far jumps (over 100 000 sectors) among the first 340 requests of DiskSim 4.0's validation trace of that
/// drive (Bucy, Schindler, Schlosser & Ganger 2008), which a real disk answered one by one, tens of milliseconds apart.
const MEASURED: &str = include_str!("measured.txt");

/// The time of a read without any rotation, in milliseconds: four sectors from the disk's cache, in the same trace.
const OVERHEAD_MS: f64 = 0.487;

/// The demerit figure of Ruemmler & Wilkes 1994: the root mean square of the horizontal distance between two
/// distributions of response times.
fn demerit(times: &mut [f64], other_times: &mut [f64]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    other_times.sort_unstable_by(f64::total_cmp);
    let steps = times.len().max(other_times.len());
    let at = |values: &[f64], step: usize| values[(step * 2 + 1) * values.len() / (2 * steps)];
    let squares: f64 = (0..steps).map(|step| (at(times, step) - at(other_times, step)).powi(2)).sum();
    (squares / steps as f64).sqrt()
}

/// The times of the same reads on a modelled disk, each at forty random turns of the platter, in milliseconds.
fn modelled(mechanics: Mechanics, reads: &[[u64; 4]]) -> Vec<f64> {
    let mut rng = Rng::new(9);
    let mut time = |&[from, to, count, _]: &[u64; 4]| {
        let mut arm = Arm::new(mechanics);
        let arrived = arm.work(Nanos::ZERO, from, 1, false);
        let now = arrived.saturating_add(Nanos::from_millis(20)).saturating_add(Nanos((rng.uniform() * 6e6) as u64));
        arm.work(now, to, count, false).since(now).as_millis_f64() + OVERHEAD_MS
    };
    reads.iter().flat_map(|read| [read; 40]).map(&mut time).collect()
}

fn measured() -> Vec<[u64; 4]> {
    let number = |text: &str| text.parse().expect("a number");
    let row = |line: &str| line.split(' ').map(number).collect::<Vec<u64>>().try_into().expect("four numbers");
    MEASURED.lines().map(row).collect()
}

#[test]
fn a_real_disk_takes_as_long_as_its_model() {
    let reads = measured();
    let mut real: Vec<f64> = reads.iter().map(|read| read[3] as f64 / 1000.0).collect();
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let mut model = modelled(drives::cheetah_9lp(), &reads);
    assert!((mean(&model) / mean(&real) - 1.0).abs() < 0.05, "{} and {} ms", mean(&model), mean(&real));
    let demerit_ms = demerit(&mut real, &mut model);
    // DiskSim itself, which knows where the platter was: 0.107 ms. A hundred reads at random turns vary by 0.2 to 0.3.
    assert!(demerit_ms < 0.45, "{demerit_ms} ms");
    // The paper's disk is another one, of the same size and speed: farther off, but a disk of that kind.
    let other_demerit_ms = demerit(&mut real, &mut modelled(Mechanics::ultrastar_9lzx(), &reads));
    assert!(other_demerit_ms > demerit_ms && other_demerit_ms < 1.5, "{other_demerit_ms} ms");
}

#[test]
fn two_functions_are_nearly_as_good_as_a_table() {
    // The same disks with the paper's kind of curve, put through three points of their tables.
    for (mechanics, middle_ms, longest) in [(drives::cheetah_9lp(), 3.05, 6961), (drives::atlas_10k(), 3.15, 10_041)] {
        let [one_ms, longest_ms] = [1, longest].map(|distance| mechanics.seek.millis(distance));
        let curved = Mechanics { seek: Seek::through(one_ms, 400, middle_ms, longest, longest_ms), ..mechanics };
        let (mut rng, sectors) = (Rng::new(4), mechanics.sectors() - 8);
        let reads: Vec<[u64; 4]> = (0..2000).map(|_| [rng.below(sectors), rng.below(sectors), 8, 0]).collect();
        let demerit_ms = demerit(&mut modelled(mechanics, &reads), &mut modelled(curved, &reads));
        assert!(demerit_ms < 0.4, "{demerit_ms} ms: {mechanics:?}");
    }
}
