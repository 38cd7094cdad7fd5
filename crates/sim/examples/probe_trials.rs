//! How often the fast prober is right: `probe_trials [--trials N] [--seed N] [--only TEXT]` has it probe modelled arrays of
//! every kind, N fresh ones a line, and prints what it took and how often all of it was true. With `--only`, the lines whose
//! name has that text.
//!
//! What was wrong goes to standard error, beside the truth. A seed gives the places that are read, the partition's phase, and everything random in the array.

use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::plan::Shape;
use scrubjay_core::probe::fast::{Options, fast};
use scrubjay_core::probe::known::{Finding, Known, Regime};
use scrubjay_core::rng::Rng;
use scrubjay_sim::array::Array;
use scrubjay_sim::array::flash::Chips;
use scrubjay_sim::array::map::Map;
use scrubjay_sim::array::noise::Noise;
use scrubjay_sim::array::queue::Discipline;
use scrubjay_sim::array::setup::{Drive, MirrorRead, Odd, Setup};
use scrubjay_sim::array::truth::{Agreement, Truth};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Of each line.
const TRIALS: usize = 40;
/// The paper's chunk for its arrays of several sizes (Denehy et al. 2004, figure 7),
const CHUNK: u64 = 32 << 10;
/// and for its layouts (figures 8 to 13).
const SMALL_CHUNK: u64 = 8 << 10;

/// A line of the table.
struct Cell {
    name: String,
    trials: usize,
    setup: Box<dyn Fn(&mut Rng) -> Setup + Sync>,
    expected: Expected,
}

/// What is to be found beside pattern, chunk, phase, classes and layout.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    Nothing,
    Slow,
    Lost,
    Unequal,
    /// No layout, whatever else is found.
    NoLayout,
    /// No chunks, or the true ones: where reads cannot tell.
    NoChunks,
}

/// How a trial went.
#[derive(Clone, Copy, Default)]
struct Outcome {
    requests: u64,
    seconds: f64,
    pattern: bool,
    chunk: bool,
    classes: bool,
    all: bool,
    wrong_layout: bool,
    confidence: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut trials, mut seed, mut only) = (TRIALS, 1u64, String::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or("usage: probe_trials [--trials N] [--seed N] [--only TEXT]")?;
        match name.as_str() {
            "--trials" => trials = value.parse()?,
            "--seed" => seed = value.parse()?,
            "--only" => only = value,
            _ => return Err(format!("there is no {name}").into()),
        }
    }
    // A line's seeds are the same whether others are left out or not.
    let cells = cells(trials);
    let jobs: Vec<(usize, usize)> = cells
        .iter()
        .enumerate()
        .filter(|(_, of)| of.name.contains(&only))
        .flat_map(|(cell, of)| (0..of.trials).map(move |trial| (cell, trial)))
        .collect();
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(&(cell, trial)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let trial_seed = seed.wrapping_mul(1_000_003) + (cell * 100_000 + trial) as u64;
                    let outcome = try_one(&cells[cell], trial_seed);
                    outcomes.lock().expect("nobody panics with it").insert((cell, trial), outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner()?;
    println!(
        "{:44} {:>8} {:>7} {:>7}  pattern chunk classes  all  of  wrong layouts",
        "array", "I/Os", "seconds", "sure"
    );
    for (index, cell) in cells.iter().enumerate() {
        let of: Vec<&Outcome> = outcomes.range((index, 0)..(index + 1, 0)).map(|(_, outcome)| outcome).collect();
        print_line(&cell.name, &of);
    }
    for noise in Noise::ALL {
        let of: Vec<&Outcome> = outcomes
            .iter()
            .filter(|((cell, _), _)| {
                let name = &cells[*cell].name;
                name.starts_with("sizes") && name.ends_with(noise.name())
            })
            .map(|(_, outcome)| outcome)
            .collect();
        print_line(&format!("all sizes, {noise}"), &of);
    }
    Ok(())
}

fn print_line(name: &str, of: &[&Outcome]) {
    if of.is_empty() {
        return;
    }
    let mean = |value: &dyn Fn(&Outcome) -> f64| of.iter().map(|outcome| value(outcome)).sum::<f64>() / of.len() as f64;
    let count = |is: &dyn Fn(&Outcome) -> bool| of.iter().filter(|outcome| is(outcome)).count();
    println!(
        "{name:44} {:8.0} {:7.1} {:7.4}  {:7} {:5} {:7} {:4} {:3} {:6}",
        mean(&|outcome| outcome.requests as f64),
        mean(&|outcome| outcome.seconds),
        mean(&|outcome| outcome.confidence),
        count(&|outcome| outcome.pattern),
        count(&|outcome| outcome.chunk),
        count(&|outcome| outcome.classes),
        count(&|outcome| outcome.all),
        of.len(),
        count(&|outcome| outcome.wrong_layout),
    );
}

fn try_one(cell: &Cell, seed: u64) -> Outcome {
    let mut rng = Rng::new(seed);
    let mut setup = (cell.setup)(&mut rng);
    setup.seed = seed;
    let mut array = Array::new(setup.clone());
    let mut prober = fast(array.device(), Options { seed: rng.bits(), ..Options::default() });
    array.serve(&mut prober);
    let known = prober.known();
    let mut outcome = judged(&known, &setup, cell.expected);
    outcome.requests = prober.spent().requests;
    outcome.seconds = prober.spent().time.as_secs_f64();
    if !outcome.all {
        eprintln!("{} seed {seed}: {known:?}\n  truth {:?}", cell.name, Truth::of(&setup));
    }
    outcome
}

fn judged(known: &Known, setup: &Setup, expected: Expected) -> Outcome {
    let truth = Truth::of(setup);
    let found = truth.agreement(setup, known);
    let is_flash = matches!(setup.drive, Drive::Flash(_));
    let is_flash_said = known.regime.as_ref().is_some_and(|claim| matches!(claim.value, Regime::Flash { .. }));
    // Copies on flash are not looked for.
    let copies = is_flash || found.copies;
    // One disk is one disk, whatever layout it is said to be.
    let layout = found.layout || matches!(setup.map, Map::Layout(layout) if layout.disks() == 1);
    let has = |is: &dyn Fn(&Finding) -> bool| known.findings.iter().any(|claim| is(&claim.value));
    let class_of = |disk: usize| {
        let list = setup.map.pattern();
        let first = setup.phase_bytes.div_ceil(setup.chunk_bytes) as usize;
        (0..list.len()).find(|i| list[(first + i) % list.len()] == disk).map(|i| truth.classes[i])
    };
    let finding = match expected {
        Expected::Nothing => known.findings.is_empty(),
        Expected::NoLayout | Expected::NoChunks => true,
        Expected::Unequal => has(&|finding| matches!(finding, Finding::Unequal { .. })),
        Expected::Slow => {
            let wanted = class_of(setup.odd[0].disk);
            let is_it = |finding: &Finding| matches!(finding, Finding::Slow { class, factor } if Some(*class) == wanted && (1.2..1.7).contains(factor));
            known.findings.len() == 1 && has(&is_it)
        }
        Expected::Lost => {
            let wanted = setup.lost.and_then(class_of);
            has(&|finding| matches!(finding, Finding::Lost { class } if Some(*class) == wanted))
        }
    };
    let Agreement { pattern, chunk, classes, disks, .. } = found;
    let is_map_right = pattern && chunk && classes && layout && disks && copies;
    Outcome {
        pattern,
        chunk,
        classes,
        all: expected == Expected::NoChunks && known.classes.is_none() && known.chunk_bytes.is_none()
            || is_map_right && finding && is_flash == is_flash_said,
        wrong_layout: found.is_layout_wrong,
        confidence: known.classes.as_ref().map_or(0.0, |claim| claim.confidence),
        ..Outcome::default()
    }
}

fn map(kind: LayoutKind, data: usize, parity: usize, disks: usize) -> Map {
    Map::Layout(Layout::new(kind, Shape { data, parity }, disks).expect("such an array"))
}

/// An array of which the partition begins anywhere.
fn somewhere(rng: &mut Rng, map: Map, chunk: u64) -> Setup {
    Setup { phase_bytes: rng.below(1 << 20) * 512, ..Setup::new(map, chunk) }
}

fn cells(trials: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for noise in Noise::ALL {
        for discipline in Discipline::ALL {
            for disks in [4usize, 8, 16] {
                for (name, map) in [
                    ("raid0", map(LayoutKind::Raid0, disks, 0, disks)),
                    ("raid1", map(LayoutKind::Raid1, 1, 1, disks)),
                    ("raid5-la", map(LayoutKind::Raid5La, disks - 1, 1, disks)),
                ] {
                    cells.push(Cell {
                        name: format!("sizes: {name} of {disks}, {discipline}, {noise}"),
                        trials,
                        setup: Box::new(move |rng| Setup { noise, discipline, ..somewhere(rng, map.clone(), CHUNK) }),
                        expected: Expected::Nothing,
                    });
                }
            }
        }
    }
    cells.extend(layouts(trials));
    cells.extend(misconfigured(trials));
    cells.extend(odd(trials));
    cells
}

/// The layouts of the paper and Linux' RAID-6, on six disks.
fn layouts(trials: usize) -> Vec<Cell> {
    let all = [
        map(LayoutKind::Raid0, 6, 0, 6),
        map(LayoutKind::Raid1, 1, 1, 6),
        map(LayoutKind::Chained, 1, 1, 6),
        map(LayoutKind::ZigZag, 6, 0, 6),
        map(LayoutKind::Raid5Ls, 5, 1, 6),
        map(LayoutKind::Raid5La, 5, 1, 6),
        map(LayoutKind::Raid5Rs, 5, 1, 6),
        map(LayoutKind::Raid5Ra, 5, 1, 6),
        map(LayoutKind::Raid6Pq, 4, 2, 6),
        map(LayoutKind::Raid6Md, 4, 2, 6),
    ];
    let each = |map: Map| {
        let name = match &map {
            Map::Layout(layout) => layout.kind().name(),
            Map::Free(_) => "free",
        };
        Discipline::ALL.map(|discipline| {
            let map = map.clone();
            Cell {
                name: format!("layouts: {name}, {discipline}"),
                trials,
                setup: Box::new(move |rng| Setup { discipline, ..somewhere(rng, map.clone(), SMALL_CHUNK) }),
                expected: Expected::Nothing,
            }
        })
    };
    all.into_iter().flat_map(each).collect()
}

/// Arrays that are none of the library's: 200 of which two members share a disk, and 40 without any order, at the usual
/// number of trials.
fn misconfigured(trials: usize) -> Vec<Cell> {
    let kinds = [
        (LayoutKind::Raid0, 0),
        (LayoutKind::Raid5Ls, 1),
        (LayoutKind::Raid5La, 1),
        (LayoutKind::Raid5Rs, 1),
        (LayoutKind::Raid5Ra, 1),
    ];
    let mut cells: Vec<Cell> = kinds
        .into_iter()
        .map(|(kind, parity)| Cell {
            name: format!("shared disk: {kind} of 4"),
            trials,
            setup: Box::new(move |rng| {
                let first = rng.below(4) as usize;
                let second = (first + 1 + rng.below(3) as usize) % 4;
                Setup { same: Some((first, second)), ..somewhere(rng, map(kind, 4 - parity, parity, 4), CHUNK) }
            }),
            expected: Expected::Unequal,
        })
        .collect();
    cells.push(Cell {
        name: "permuted: 24 chunks on 6 disks".into(),
        trials,
        setup: Box::new(|rng| {
            let mut list: Vec<usize> = (0..24).map(|chunk| chunk % 6).collect();
            for i in (1..list.len()).rev() {
                list.swap(i, rng.below(i as u64 + 1) as usize);
            }
            somewhere(rng, Map::Free(list), CHUNK)
        }),
        expected: Expected::NoLayout,
    });
    cells
}

/// Members that are slow or lost, sectors for chunks, and devices that are no arrays, or not of disks.
fn odd(trials: usize) -> Vec<Cell> {
    let cell = |name: &str, expected, setup: Box<dyn Fn(&mut Rng) -> Setup + Sync>| Cell {
        name: format!("odd: {name}"),
        trials,
        setup,
        expected,
    };
    let flash = |drive: Chips, disks: usize| {
        Box::new(move |rng: &mut Rng| {
            let map = map(LayoutKind::Raid0, disks, 0, disks);
            Setup { drive: Drive::Flash(drive), ..somewhere(rng, map, CHUNK) }
        })
    };
    vec![
        cell(
            "raid5-ls of 6, one 1.4 times as slow",
            Expected::Slow,
            Box::new(|rng| {
                let odd = vec![Odd { disk: rng.below(6) as usize, rotation: 1.4, seek: 1.4 }];
                Setup { odd, ..somewhere(rng, map(LayoutKind::Raid5Ls, 5, 1, 6), CHUNK) }
            }),
        ),
        cell(
            "raid0 of 4, one 1.4 times as slow",
            Expected::Slow,
            Box::new(|rng| {
                let odd = vec![Odd { disk: rng.below(4) as usize, rotation: 1.4, seek: 1.4 }];
                Setup { odd, ..somewhere(rng, map(LayoutKind::Raid0, 4, 0, 4), CHUNK) }
            }),
        ),
        cell(
            "raid5-ls of 10, one lost",
            Expected::Lost,
            Box::new(|rng| {
                let lost = Some(rng.below(10) as usize);
                Setup { lost, ..somewhere(rng, map(LayoutKind::Raid5Ls, 9, 1, 10), CHUNK) }
            }),
        ),
        cell(
            "raid5-la of 5, one lost",
            Expected::Lost,
            Box::new(|rng| {
                let lost = Some(rng.below(5) as usize);
                Setup { lost, ..somewhere(rng, map(LayoutKind::Raid5La, 4, 1, 5), CHUNK) }
            }),
        ),
        cell(
            "raid5-la of 4, chunks of a sector",
            Expected::Nothing,
            Box::new(|rng| somewhere(rng, map(LayoutKind::Raid5La, 3, 1, 4), 512)),
        ),
        cell(
            "raid0 of 7, chunks of 1 MiB",
            Expected::Nothing,
            Box::new(|rng| somewhere(rng, map(LayoutKind::Raid0, 7, 0, 7), 1 << 20)),
        ),
        cell(
            "raid5-rs of 5, chunks of 12 KiB",
            Expected::Nothing,
            Box::new(|rng| somewhere(rng, map(LayoutKind::Raid5Rs, 4, 1, 5), 12 << 10)),
        ),
        cell(
            "raid0 of 17",
            Expected::Nothing,
            Box::new(|rng| somewhere(rng, map(LayoutKind::Raid0, 17, 0, 17), CHUNK)),
        ),
        cell(
            "raid5-la of 18",
            Expected::Nothing,
            Box::new(|rng| somewhere(rng, map(LayoutKind::Raid5La, 17, 1, 18), CHUNK)),
        ),
        cell(
            "chained of 6, either copy by chance",
            Expected::NoChunks,
            Box::new(|rng| {
                let mirror_read = MirrorRead::Random;
                Setup { mirror_read, ..somewhere(rng, map(LayoutKind::Chained, 1, 1, 6), CHUNK) }
            }),
        ),
        cell(
            "raid1 of 8, either copy by chance",
            Expected::Nothing,
            Box::new(|rng| {
                let mirror_read = MirrorRead::Random;
                Setup { mirror_read, ..somewhere(rng, map(LayoutKind::Raid1, 1, 1, 8), CHUNK) }
            }),
        ),
        cell("one disk", Expected::Nothing, Box::new(|rng| somewhere(rng, map(LayoutKind::Raid0, 1, 0, 1), CHUNK))),
        cell(
            "a mirror of two disks",
            Expected::Nothing,
            Box::new(|rng| somewhere(rng, map(LayoutKind::Raid1, 1, 1, 2), CHUNK)),
        ),
        cell("one SATA flash drive", Expected::Nothing, flash(Chips::SATA, 1)),
        cell("one NVMe flash drive", Expected::Nothing, flash(Chips::NVME, 1)),
        cell("raid0 of 4 SATA flash drives", Expected::Nothing, flash(Chips::SATA, 4)),
        cell("raid0 of 4 NVMe flash drives", Expected::Nothing, flash(Chips::NVME, 4)),
    ]
}
