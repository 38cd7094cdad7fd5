//! The arrays on which the fast prober is tried: `tests/probe.rs` tries each a few times, `examples/probe_trials.rs` many.

use super::Array;
use super::flash::Chips;
use super::map::ChunkMap;
use super::noise::Noise;
use super::queue::Discipline;
use super::setup::{ArraySetup, Drive, MirrorRead, Odd};
use super::truth::Truth;
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::probe::fast::{ProbeOptions, fast};
use scrubjay_core::probe::io::ProbeBudget;
use scrubjay_core::probe::known::{DeviceClass, KnownArray, ProbeFinding};
use scrubjay_core::rng::Rng;

/// The paper's chunk for its arrays of several sizes, in bytes (Denehy et al. 2004, figure 7).
const CHUNK: u64 = 32 << 10;
/// The paper's chunk for its layouts, in bytes (figures 8 to 13).
const SMALL_CHUNK: u64 = 8 << 10;
/// The least right factor of a slow member, as a share of the true one.
const FACTOR_MIN: f64 = 0.86;
/// The greatest right factor, as a share of the true one. (The costs of a request besides rotation and seeks do not grow.)
const FACTOR_MAX: f64 = 1.2;

/// A kind of array. A seed gives the places that are read, the partition's phase, and everything random in the array.
pub struct TrialCase {
    /// What it is.
    pub name: String,
    setup: Box<dyn Fn(&mut Rng) -> ArraySetup + Sync>,
    expected: Expected,
}

/// What must be found besides pattern, chunk, phase, classes and layout.
#[derive(Clone, Copy, PartialEq)]
enum Expected {
    Nothing,
    Slow,
    Lost,
    Unequal,
    /// No layout, whatever else is found.
    NoLayout,
    /// No chunks, or no number of disks, or the true ones: where reads cannot tell.
    NoChunks,
}

/// The result of probing one array.
#[derive(Clone, Debug)]
pub struct TrialOutcome {
    /// The array.
    pub setup: ArraySetup,
    /// The prober's knowledge of it.
    pub known: KnownArray,
    /// The requests and time that the probe used.
    pub spent: ProbeBudget,
    /// Is all of it right, and nothing missing?
    pub is_right: bool,
}

impl TrialCase {
    /// Probes an array of this kind.
    pub fn probe(&self, seed: u64) -> TrialOutcome {
        let mut rng = Rng::new(seed);
        let setup = ArraySetup { seed, ..(self.setup)(&mut rng) };
        let mut array = Array::new(setup.clone());
        let mut prober = fast(array.device(), ProbeOptions { seed: rng.bits(), ..ProbeOptions::default() });
        array.serve(&mut prober);
        let known = prober.known();
        TrialOutcome { is_right: self.expected.is_met(&known, &setup), known, spent: prober.spent(), setup }
    }
}

impl Expected {
    fn is_met(self, known: &KnownArray, setup: &ArraySetup) -> bool {
        let truth = Truth::of(setup);
        let found = truth.agreement(setup, known);
        let is_flash = matches!(setup.drive, Drive::Flash(_));
        let is_flash_reported =
            known.device_class.as_ref().is_some_and(|claim| matches!(claim.value, DeviceClass::Flash { .. }));
        // The prober does not look for copies on flash.
        let copies = is_flash || found.copies;
        // One disk is one disk, whatever layout is stated.
        let layout = found.layout || matches!(setup.map, ChunkMap::Layout(layout) if layout.disks() == 1);
        let is_map_right = found.pattern && found.chunk && found.classes && layout && found.disks && copies;
        let is_unreported = known.classes.is_none() && known.chunk_bytes.is_none() || known.disks.is_none();
        if self == Expected::NoChunks && is_unreported {
            return true;
        }
        is_map_right && is_flash == is_flash_reported && self.is_found(known, setup, &truth)
    }

    fn is_found(self, known: &KnownArray, setup: &ArraySetup, truth: &Truth) -> bool {
        let has =
            |is_wanted: &dyn Fn(&ProbeFinding) -> bool| known.findings.iter().any(|claim| is_wanted(&claim.value));
        match self {
            Expected::Nothing => known.findings.is_empty(),
            Expected::NoLayout | Expected::NoChunks => true,
            Expected::Unequal => has(&|finding| matches!(finding, ProbeFinding::Unequal { .. })),
            Expected::Slow => {
                let (wanted, times) = (truth.class_of(setup, setup.odd[0].disk), setup.odd[0].rotation);
                let is_slow_member = |finding: &ProbeFinding| {
                    matches!(finding, ProbeFinding::Slow { class, factor }
                        if Some(*class) == wanted && (FACTOR_MIN..FACTOR_MAX).contains(&(factor / times)))
                };
                known.findings.len() == 1 && has(&is_slow_member)
            }
            Expected::Lost => {
                let wanted = setup.lost.and_then(|disk| truth.class_of(setup, disk));
                has(&|finding| matches!(finding, ProbeFinding::Lost { class } if Some(*class) == wanted))
            }
        }
    }
}

/// The paper's arrays: three layouts on three numbers of disks, under every discipline and noise.
pub fn sizes() -> Vec<TrialCase> {
    let mut cases = Vec::new();
    for noise in Noise::ALL {
        for discipline in Discipline::ALL {
            for disks in [4usize, 8, 16] {
                for (name, map) in [
                    ("raid0", map(LayoutKind::Raid0, disks, 0, disks)),
                    ("raid1", map(LayoutKind::Raid1, 1, 1, disks)),
                    ("raid5-la", map(LayoutKind::Raid5La, disks - 1, 1, disks)),
                ] {
                    cases.push(TrialCase {
                        name: format!("sizes: {name} of {disks}, {discipline}, {noise}"),
                        setup: Box::new(move |rng| ArraySetup {
                            noise,
                            discipline,
                            ..with_random_phase(rng, map.clone(), CHUNK)
                        }),
                        expected: Expected::Nothing,
                    });
                }
            }
        }
    }
    cases
}

/// The layouts of the paper and Linux' RAID-6, on six disks.
pub fn layouts() -> Vec<TrialCase> {
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
    let each = |map: ChunkMap| {
        let name = match &map {
            ChunkMap::Layout(layout) => layout.kind().name(),
            _ => "free",
        };
        Discipline::ALL.map(|discipline| {
            let map = map.clone();
            TrialCase {
                name: format!("layouts: {name}, {discipline}"),
                setup: Box::new(move |rng| ArraySetup {
                    discipline,
                    ..with_random_phase(rng, map.clone(), SMALL_CHUNK)
                }),
                expected: Expected::Nothing,
            }
        })
    };
    all.into_iter().flat_map(each).collect()
}

/// Arrays that are not in the library, in quiet and under heavy noise: five kinds of which two members share a disk,
/// and one with a random map.
pub fn misconfigured() -> Vec<TrialCase> {
    let kinds = [
        (LayoutKind::Raid0, 0),
        (LayoutKind::Raid5Ls, 1),
        (LayoutKind::Raid5La, 1),
        (LayoutKind::Raid5Rs, 1),
        (LayoutKind::Raid5Ra, 1),
    ];
    let mut cases = Vec::new();
    for noise in [Noise::Clean, Noise::Heavy] {
        cases.extend(kinds.map(|(kind, parity)| TrialCase {
            name: format!("shared disk: {kind} of 4, {noise}"),
            setup: Box::new(move |rng| {
                let first = rng.below(4) as usize;
                let same = Some((first, (first + 1 + rng.below(3) as usize) % 4));
                ArraySetup { same, noise, ..with_random_phase(rng, map(kind, 4 - parity, parity, 4), CHUNK) }
            }),
            expected: Expected::Unequal,
        }));
        cases.push(TrialCase {
            name: format!("permuted: 24 chunks on 6 disks, {noise}"),
            setup: Box::new(move |rng| {
                let mut list: Vec<usize> = (0..24).map(|chunk| chunk % 6).collect();
                for i in (1..list.len()).rev() {
                    list.swap(i, rng.below(i as u64 + 1) as usize);
                }
                ArraySetup { noise, ..with_random_phase(rng, ChunkMap::Free(list), CHUNK) }
            }),
            expected: Expected::NoLayout,
        });
    }
    cases
}

/// Members that are slow or lost, chunks of one sector, single disks, and flash drives.
pub fn odd() -> Vec<TrialCase> {
    let case = |name: &str, expected, setup: Box<dyn Fn(&mut Rng) -> ArraySetup + Sync>| TrialCase {
        name: format!("odd: {name}"),
        setup,
        expected,
    };
    let flash = |drive: Chips, disks: usize| {
        Box::new(move |rng: &mut Rng| {
            let map = map(LayoutKind::Raid0, disks, 0, disks);
            ArraySetup { drive: Drive::Flash(drive), ..with_random_phase(rng, map, CHUNK) }
        })
    };
    vec![
        case("raid5-ls of 6, one 1.4 times as slow", Expected::Slow, slow(LayoutKind::Raid5Ls, 6, 1.4, Noise::Clean)),
        case("raid0 of 4, one 1.4 times as slow", Expected::Slow, slow(LayoutKind::Raid0, 4, 1.4, Noise::Clean)),
        case(
            "raid5-ls of 10, one lost",
            Expected::Lost,
            Box::new(|rng| {
                let lost = Some(rng.below(10) as usize);
                ArraySetup { lost, ..with_random_phase(rng, map(LayoutKind::Raid5Ls, 9, 1, 10), CHUNK) }
            }),
        ),
        case(
            "raid5-la of 5, one lost",
            Expected::Lost,
            Box::new(|rng| {
                let lost = Some(rng.below(5) as usize);
                ArraySetup { lost, ..with_random_phase(rng, map(LayoutKind::Raid5La, 4, 1, 5), CHUNK) }
            }),
        ),
        case(
            "raid5-la of 4, chunks of a sector",
            Expected::Nothing,
            Box::new(|rng| with_random_phase(rng, map(LayoutKind::Raid5La, 3, 1, 4), 512)),
        ),
        case(
            "raid0 of 4, chunks of a sector",
            Expected::Nothing,
            Box::new(|rng| with_random_phase(rng, map(LayoutKind::Raid0, 4, 0, 4), 512)),
        ),
        case(
            "rotating of 5, no parity: of no likely pattern",
            Expected::NoLayout,
            Box::new(|rng| with_random_phase(rng, map(LayoutKind::Rotating, 5, 0, 5), CHUNK)),
        ),
        case(
            "raid0 of 7, chunks of 1 MiB",
            Expected::Nothing,
            Box::new(|rng| with_random_phase(rng, map(LayoutKind::Raid0, 7, 0, 7), 1 << 20)),
        ),
        case(
            "raid5-rs of 5, chunks of 12 KiB",
            Expected::Nothing,
            Box::new(|rng| with_random_phase(rng, map(LayoutKind::Raid5Rs, 4, 1, 5), 12 << 10)),
        ),
        case(
            "raid0 of 17",
            Expected::Nothing,
            Box::new(|rng| with_random_phase(rng, map(LayoutKind::Raid0, 17, 0, 17), CHUNK)),
        ),
        case(
            "raid5-la of 18",
            Expected::Nothing,
            Box::new(|rng| with_random_phase(rng, map(LayoutKind::Raid5La, 17, 1, 18), CHUNK)),
        ),
        case(
            "chained of 6, either copy by chance",
            Expected::NoChunks,
            Box::new(|rng| {
                let mirror_read = MirrorRead::Random;
                ArraySetup { mirror_read, ..with_random_phase(rng, map(LayoutKind::Chained, 1, 1, 6), CHUNK) }
            }),
        ),
        case(
            "raid1 of 8, either copy by chance",
            Expected::Nothing,
            Box::new(|rng| {
                let mirror_read = MirrorRead::Random;
                ArraySetup { mirror_read, ..with_random_phase(rng, map(LayoutKind::Raid1, 1, 1, 8), CHUNK) }
            }),
        ),
        case(
            "one disk",
            Expected::Nothing,
            Box::new(|rng| with_random_phase(rng, map(LayoutKind::Raid0, 1, 0, 1), CHUNK)),
        ),
        case(
            "a mirror of two disks",
            Expected::Nothing,
            Box::new(|rng| with_random_phase(rng, map(LayoutKind::Raid1, 1, 1, 2), CHUNK)),
        ),
        case("one SATA flash drive", Expected::Nothing, flash(Chips::SATA, 1)),
        case("one NVMe flash drive", Expected::Nothing, flash(Chips::NVME, 1)),
        case("raid0 of 4 SATA flash drives", Expected::Nothing, flash(Chips::SATA, 4)),
        case("raid0 of 4 NVMe flash drives", Expected::Nothing, flash(Chips::NVME, 4)),
        case(
            "raid5-ls of 6, one 1.4 times as slow, heavy",
            Expected::Slow,
            slow(LayoutKind::Raid5Ls, 6, 1.4, Noise::Heavy),
        ),
        case("raid0 of 4, one 1.4 times as slow, heavy", Expected::Slow, slow(LayoutKind::Raid0, 4, 1.4, Noise::Heavy)),
        case("raid5-ls of 6, one 1.2 times as slow", Expected::Slow, slow(LayoutKind::Raid5Ls, 6, 1.2, Noise::Clean)),
        case(
            "raid5-ls of 6, one 1.2 times as slow, heavy",
            Expected::Slow,
            slow(LayoutKind::Raid5Ls, 6, 1.2, Noise::Heavy),
        ),
    ]
}

/// RAID-0 or RAID-5 with one random member that takes `times` as long.
fn slow(kind: LayoutKind, disks: usize, times: f64, noise: Noise) -> Box<dyn Fn(&mut Rng) -> ArraySetup + Sync> {
    let parity = usize::from(kind != LayoutKind::Raid0);
    Box::new(move |rng| {
        let odd = vec![Odd { disk: rng.below(disks as u64) as usize, rotation: times, seek: times }];
        ArraySetup { odd, noise, ..with_random_phase(rng, map(kind, disks - parity, parity, disks), CHUNK) }
    })
}

fn map(kind: LayoutKind, data: usize, parity: usize, disks: usize) -> ChunkMap {
    ChunkMap::Layout(Layout::new(kind, Shape { data, parity }, disks).expect("such an array"))
}

/// An array whose partition begins anywhere.
fn with_random_phase(rng: &mut Rng, map: ChunkMap, chunk: u64) -> ArraySetup {
    ArraySetup { phase_bytes: rng.below(1 << 20) * 512, ..ArraySetup::new(map, chunk) }
}
