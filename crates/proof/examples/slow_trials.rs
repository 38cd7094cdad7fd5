//! The two curves of docs/slow.md: what is found of slow places and slow disks, and what is called slow that is not.
//!
//! ```text
//! cargo run --release -p scrubjay-proof --example slow_trials -- places|disks|alarms [SEEDS [FIRST]]
//! ```

use scrubjay_core::surface::daily::SlowDisk;
use scrubjay_proof::slowness::{SlowTrial, run};
use scrubjay_sim::siblings::{PlantedSlowness, SiblingHours, SiblingKind};

const HOURS: [SiblingHours; 2] = [SiblingHours::All, SiblingHours::Nights];

fn trial(kind: SiblingKind, hours: SiblingHours, pass_days: u64, seed: u64) -> SlowTrial {
    let planted = PlantedSlowness::Nothing;
    SlowTrial { kind, hours, disks: 4, regions: 1000, pass_days, months: 2, planted, seed }
}

/// One disk of each siblings has a hundredth that is slower, from the beginning.
fn places(seeds: u64, first: u64) {
    println!("kind       hours   days  factor  found after one pass, told after four (of {seeds})");
    for kind in SiblingKind::ALL {
        for hours in HOURS {
            for pass_days in [7, 30] {
                for factor in [1.2, 1.3, 1.4, 1.5, 2.0] {
                    let mut counts = [0; 2];
                    for seed in first..first + seeds {
                        let at = 37 + seed * 131 % 950;
                        let planted = PlantedSlowness::Place { disk: 0, first: at, count: 10, factor, since: 0.0 };
                        let setup = SlowTrial { disks: 1, months: 4, planted, ..trial(kind, hours, pass_days, seed) };
                        let outcome = run(setup);
                        let (from, end) = (at * 16, (at + 10) * 16);
                        let is_it = |list: &[(usize, u64, scrubjay_core::surface::slow::SlowPlace)], month: u64| {
                            let inside =
                                list.iter().filter(|(_, in_month, _)| *in_month == month).map(|(.., place)| {
                                    place.sectors.end.0.min(end).saturating_sub(place.sectors.start.0.max(from))
                                });
                            inside.sum::<u64>() * 2 >= end - from
                        };
                        counts[0] += u64::from(is_it(&outcome.found, 0));
                        counts[1] += u64::from(is_it(&outcome.told, 3));
                    }
                    println!("{kind:<10?} {hours:<7?} {pass_days:>4} {factor:>7}  {} {}", counts[0], counts[1]);
                }
            }
        }
    }
}

/// One disk of four becomes slower on day 65.
fn disks(seeds: u64, first: u64) {
    println!("kind       hours   factor  called slow within 4, 5, 6, 7, 14 days; its siblings, ever (of {seeds})");
    for kind in SiblingKind::ALL {
        for hours in HOURS {
            for factor in [1.1, 1.2, 1.3, 1.5, 2.0] {
                let (mut within, mut others) = ([0u64; 5], 0);
                for seed in first..first + seeds {
                    let planted = PlantedSlowness::Disk { disk: 1, factor, since: 65.0 * 86_400.0 };
                    let setup = SlowTrial { regions: 500, months: 3, planted, ..trial(kind, hours, 30, seed) };
                    let outcome = run(setup);
                    let is_after = |day: u64| day >= 65;
                    let day = outcome
                        .slow
                        .iter()
                        .find(|(disk, day, _)| *disk == 1 && is_after(*day))
                        .map(|(_, day, _)| day - 65);
                    for (count, limit) in within.iter_mut().zip([4, 5, 6, 7, 14]) {
                        *count += u64::from(day.is_some_and(|day| day <= limit));
                    }
                    others += u64::from(outcome.slow.iter().any(|(disk, ..)| *disk != 1));
                }
                println!("{kind:<10?} {hours:<7?} {factor:>6}  {within:?} {others}");
            }
        }
    }
}

/// Nothing is slow: whatever is said is wrong.
fn alarms(seeds: u64, first: u64) {
    println!("kind       hours   disks days  disk years: slow places found, told; disks called slow");
    for kind in SiblingKind::ALL {
        for hours in HOURS {
            for disks in [1, 2, 4] {
                for pass_days in [2, 7, 16, 30] {
                    let (mut found, mut told, mut slow) = (0, 0, Vec::<SlowDisk>::new());
                    for seed in first..first + seeds {
                        let setup = SlowTrial { disks, months: 12, ..trial(kind, hours, pass_days, seed) };
                        let outcome = run(setup);
                        (found, told) = (found + outcome.found.len(), told + outcome.told.len());
                        slow.extend(outcome.slow.iter().map(|(.., what)| *what));
                    }
                    let years = seeds as f64 * disks as f64 * 12.0 * 30.0 / 365.0;
                    let siblings = slow.iter().filter(|what| matches!(what, SlowDisk::ThanSiblings { .. })).count();
                    let shared = slow.iter().filter(|what| matches!(what, SlowDisk::WithItsWay { .. })).count();
                    println!(
                        "{kind:<10?} {hours:<7?} {disks:>5} {pass_days:>4}  {years:>6.0}: {found:>4} {told:>3}; {} (of siblings {siblings}, of a way {shared})",
                        slow.len()
                    );
                }
            }
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, or: u64| arguments.get(at).map_or(or, |text| text.parse().expect("a number"));
    let (seeds, first) = (number(1, 100), number(2, 1));
    match arguments.first().map(String::as_str) {
        Some("places") => places(seeds, first),
        Some("disks") => disks(seeds, first),
        Some("alarms") => alarms(seeds, first),
        _ => eprintln!("places, disks or alarms"),
    }
}
