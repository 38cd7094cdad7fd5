//! Arrays that the prober was not tuned on: families of every kind, with sizes, chunks, drives and disturbances from a seed.
//!
//! They are never used to choose a threshold; `probe_trials --surprises` plays them.

use super::Array;
use super::drives::{atlas_10k, cheetah_9lp};
use super::flash::Chips;
use super::map::{ChunkMap, Raid10Kind};
use super::mechanics::Mechanics;
use super::noise::Noise;
use super::queue::Discipline;
use super::setup::{ArraySetup, Drive, MirrorRead, Odd, QuickPart, RequestLimit};
use super::truth::{Statement, Truth};
use scrubjay_core::layout::{Layout, LayoutKind, Shape};
use scrubjay_core::probe::fast::{ProbeOptions, fast};
use scrubjay_core::probe::io::ProbeBudget;
use scrubjay_core::probe::known::{Claim, KnownArray, ProbeFinding, ProbeStage, Unmeasurable};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;

/// What a probe may use: disks of 1999 are three times as slow as today's, which get three minutes.
const BUDGET: ProbeBudget = ProbeBudget { requests: u64::MAX, time: Nanos::from_secs(540) };

/// An array is too small if this many patterns take more than one in that many bytes of it: there is no room to show
/// that a pattern is not a part of a larger one.
const TOO_SMALL: (u64, u64) = (16, 400);

/// A family of arrays.
pub struct SurpriseFamily {
    /// What its arrays are.
    pub name: &'static str,
    setup: fn(&mut Rng) -> ArraySetup,
    /// Does this reason name what the array is made of?
    is_reason: fn(&Unmeasurable) -> bool,
    /// Does this reason name several causes, of which one is what the array is made of?
    is_among: fn(&Unmeasurable) -> bool,
}

/// The reason given for an array about whose disks nothing is stated with a confidence of 90 % or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclineReason {
    /// What the array is made of.
    Own,
    /// Several causes, of which one is right; or that the findings are not confirmed, or show no known layout.
    Several,
    /// That the time was used up.
    Time,
    /// A wrong reason, or none.
    Wrong,
}

/// The result of probing one array.
#[derive(Clone, Debug)]
pub struct SurpriseOutcome {
    /// The array.
    pub setup: ArraySetup,
    /// The prober's knowledge of it.
    pub known: KnownArray,
    /// The requests and time that the probe used.
    pub spent: ProbeBudget,
    /// Each statement, and whether it is true.
    pub statements: Vec<Statement>,
    /// Was its whole map found?
    pub is_right: bool,
    /// The reason given if nothing was stated about its disks; `None`: something was.
    pub declined: Option<DeclineReason>,
}

impl SurpriseFamily {
    /// Probes an array of this family, drawn by a seed.
    pub fn probe(&self, seed: u64) -> SurpriseOutcome {
        let mut rng = Rng::new(seed);
        let setup = ArraySetup { seed, ..(self.setup)(&mut rng) };
        let mut array = Array::new(setup.clone());
        let mut prober =
            fast(array.device(), ProbeOptions { seed: rng.bits(), budget: BUDGET, ..ProbeOptions::default() });
        array.serve(&mut prober);
        let (known, spent) = (prober.known(), prober.spent());
        let truth = Truth::of(&setup);
        let found = truth.agreement(&setup, &known);
        let is_flash = matches!(setup.drive, Drive::Flash(_));
        let is_right = found.pattern
            && found.chunk
            && found.classes
            && found.disks
            && (is_flash || found.copies)
            && (found.layout || truth.classes.len() == 1);
        let is_declined = known.disks.as_ref().is_none_or(|claim| claim.confidence < 0.9);
        let is_small = truth.pattern_bytes * TOO_SMALL.0 > array.device().bytes / TOO_SMALL.1;
        let declined = (is_declined && !is_right).then(|| self.reason(&known, is_small));
        SurpriseOutcome { statements: truth.statements(&setup, &known), known, spent, is_right, declined, setup }
    }
}

impl SurpriseFamily {
    fn reason(&self, known: &KnownArray, is_small: bool) -> DeclineReason {
        match &known.unmeasurable {
            // The size decides about this reason, not the family.
            Some(Unmeasurable::TooSmall { .. }) if is_small => DeclineReason::Own,
            Some(Unmeasurable::TooSmall { .. }) => DeclineReason::Wrong,
            Some(why) if (self.is_reason)(why) => DeclineReason::Own,
            // That is true of everything that was not found.
            Some(Unmeasurable::Uneven) => DeclineReason::Several,
            Some(why) if (self.is_among)(why) => DeclineReason::Several,
            Some(_) => DeclineReason::Wrong,
            None if known.stage != ProbeStage::Done => DeclineReason::Time,
            None if known.findings.iter().any(is_unknown) => DeclineReason::Several,
            None => DeclineReason::Wrong,
        }
    }
}

fn is_unknown(finding: &Claim<ProbeFinding>) -> bool {
    finding.value == ProbeFinding::Unknown && finding.confidence >= 0.9
}

/// All families.
pub fn families() -> Vec<SurpriseFamily> {
    use Unmeasurable::{Degraded, Limited, Memory, NoChunks, NoPattern, PartlyMemory, TooNoisy, Uneven, Unfilled};
    let family = |name, setup, is_reason| SurpriseFamily { name, setup, is_reason, is_among: |_| false };
    let unseen = |name, setup, is_reason| SurpriseFamily {
        is_among: |why| matches!(why, NoPattern { .. } | NoChunks { .. }),
        ..family(name, setup, is_reason)
    };
    // (If there is room enough, the size is not among the causes.)
    let tiny = |name, setup, is_reason| SurpriseFamily {
        is_among: |why| matches!(why, NoChunks { bytes_min: Some(_) }),
        ..family(name, setup, is_reason)
    };
    vec![
        family("plain, any chunk and phase", plain, |_| false),
        family("disks one after the other", concatenated, |why| matches!(why, Uneven)),
        family("RAID-10 near", |rng| raid10(rng, 0), |why| matches!(why, TooNoisy | Uneven)),
        family("RAID-10 far and offset", |rng| raid10(rng, 1), |_| false),
        unseen("mirrors read as md does", nearest, |why| matches!(why, TooNoisy | NoChunks { .. } | Uneven)),
        family("chained, few disks", chained, |why| matches!(why, TooNoisy)),
        tiny("small", small, |why| matches!(why, NoPattern { .. } | TooNoisy | Uneven)),
        family("behind a limit", limited, |why| matches!(why, Limited)),
        family("any map", free, |why| matches!(why, NoPattern { .. })),
        unseen("mixed disks", mixed, |why| matches!(why, TooNoisy)),
        family("a part in a cache, or never written", quick, |why| {
            matches!(why, Memory { .. } | PartlyMemory { .. } | Unfilled { .. } | TooNoisy | Uneven)
        }),
        tiny("blocks of 4 KiB", four_k, |_| false),
        unseen("RAID-6 less two, mirrors less one", lost, |why| {
            matches!(why, Degraded { .. } | TooNoisy | NoPattern { .. } | Uneven)
        }),
        // No flash of this family is behind a limit: it does more at once than the prober can ask of it.
        family("flash", flash, |why| matches!(why, Unfilled { .. })),
        family("one disk", one_disk, |_| false),
        family("shared disks", shared, |_| false),
    ]
}

fn one_of<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize]
}

fn between(rng: &mut Rng, from: u64, to: u64) -> u64 {
    from + rng.below(to - from + 1)
}

fn layout(kind: LayoutKind, disks: usize) -> ChunkMap {
    let shape = match kind {
        LayoutKind::Raid0 | LayoutKind::ZigZag => Shape { data: disks, parity: 0 },
        LayoutKind::Raid1 | LayoutKind::Chained | LayoutKind::Near => Shape { data: 1, parity: 1 },
        LayoutKind::Raid6Md | LayoutKind::Raid6Pq => Shape { data: disks - 2, parity: 2 },
        _ => Shape { data: disks - 1, parity: 1 },
    };
    ChunkMap::Layout(Layout::new(kind, shape, disks).expect("such an array"))
}

/// Striping, parity or pairs, of 4 to 12 disks.
fn any_layout(rng: &mut Rng) -> ChunkMap {
    let kind = one_of(
        rng,
        &[
            LayoutKind::Raid0,
            LayoutKind::Raid1,
            LayoutKind::Raid5Ls,
            LayoutKind::Raid5La,
            LayoutKind::Raid5Rs,
            LayoutKind::Raid5Ra,
            LayoutKind::Raid6Md,
            LayoutKind::Raid6Pq,
        ],
    );
    let disks = between(rng, 4, 12) as usize;
    layout(kind, if kind == LayoutKind::Raid1 { disks / 2 * 2 } else { disks })
}

/// Any spinning drive and queue discipline, sometimes some noise; a partition that begins anywhere.
pub(super) fn on_disks(rng: &mut Rng, map: ChunkMap, chunk_bytes: u64) -> ArraySetup {
    let mechanics = one_of(rng, &[Mechanics::ultrastar_9lzx(), cheetah_9lp(), atlas_10k()]);
    ArraySetup {
        drive: Drive::Disk(mechanics),
        discipline: one_of(rng, &Discipline::ALL),
        noise: one_of(rng, &[Noise::Clean, Noise::Clean, Noise::Tail]),
        phase_bytes: rng.below(1 << 18) * 4096,
        ..ArraySetup::new(map, chunk_bytes)
    }
}

fn usual_chunk(rng: &mut Rng) -> u64 {
    one_of(rng, &[16, 32, 64, 128, 256, 512]) << 10
}

fn plain(rng: &mut Rng) -> ArraySetup {
    let map = any_layout(rng);
    let chunk = one_of(rng, &[8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 512]) << 10;
    on_disks(rng, map, chunk)
}

fn concatenated(rng: &mut Rng) -> ArraySetup {
    let disks = between(rng, 2, 5) as usize;
    let plain = on_disks(rng, ChunkMap::Concatenated { disks: 1, rows: 1 }, 64 << 10);
    // Some use only a part of each disk.
    let rows = plain.member_bytes() / plain.chunk_bytes / between(rng, 1, 8);
    ArraySetup { map: ChunkMap::Concatenated { disks, rows }, ..plain }
}

fn raid10(rng: &mut Rng, variant: usize) -> ArraySetup {
    let (copies, disks) = one_of(rng, &[(2, 3), (2, 4), (2, 5), (2, 6), (2, 7), (2, 9), (3, 3), (3, 6), (3, 5)]);
    let chunk = usual_chunk(rng);
    let plain = on_disks(rng, ChunkMap::Concatenated { disks: 1, rows: 1 }, chunk);
    let rows = plain.member_bytes() / chunk / copies as u64;
    let (kind, mirror_read) = match variant {
        0 => {
            (Raid10Kind::Near, one_of(rng, &[MirrorRead::ShortestQueue, MirrorRead::ShortestQueue, MirrorRead::First]))
        }
        // Linux reads the first copy of these: the one that lies outermost.
        _ => (one_of(rng, &[Raid10Kind::Far { rows }, Raid10Kind::Offset]), MirrorRead::First),
    };
    ArraySetup { map: ChunkMap::Raid10 { kind, copies, disks }, mirror_read, ..plain }
}

fn nearest(rng: &mut Rng) -> ArraySetup {
    let (copies, disks) = one_of(rng, &[(2, 2), (2, 3), (2, 4), (2, 5), (2, 6), (3, 3), (2, 8)]);
    let chunk = usual_chunk(rng);
    let map = ChunkMap::Raid10 { kind: Raid10Kind::Near, copies, disks };
    ArraySetup { mirror_read: MirrorRead::Nearest, ..on_disks(rng, map, chunk) }
}

fn chained(rng: &mut Rng) -> ArraySetup {
    let (disks, chunk) = (between(rng, 2, 5) as usize, usual_chunk(rng));
    on_disks(rng, layout(LayoutKind::Chained, disks), chunk)
}

fn small(rng: &mut Rng) -> ArraySetup {
    let (map, chunk) = (any_layout(rng), usual_chunk(rng));
    let bytes_max = (64 << 20) << rng.below(8);
    // Somewhere on the disks, as partitions are.
    ArraySetup { bytes_max, ..on_disks(rng, map, chunk) }
}

fn limited(rng: &mut Rng) -> ArraySetup {
    let limit = RequestLimit { iops: 100.0 * 2f64.powf(rng.uniform() * 6.0), burst: one_of(rng, &[1.0, 32.0, 300.0]) };
    let plain = if rng.below(2) == 0 { flash(rng) } else { plain(rng) };
    // The limit must be slower than what is behind it.
    let disks = plain.map.disks() as f64;
    let inner_iops = if matches!(plain.drive, Drive::Flash(_)) { 20_000.0 } else { 90.0 } * disks;
    ArraySetup { limit: Some(RequestLimit { iops: limit.iops.min(inner_iops / 2.0), ..limit }), ..plain }
}

fn free(rng: &mut Rng) -> ArraySetup {
    let (disks, chunk) = (between(rng, 2, 8), usual_chunk(rng));
    let chunks = between(rng, disks, 32);
    let mut list: Vec<usize> = (0..chunks).map(|_| rng.below(disks) as usize).collect();
    for (disk, place) in list.iter_mut().enumerate().take(disks as usize) {
        *place = disk;
    }
    on_disks(rng, ChunkMap::Free(list), chunk)
}

fn mixed(rng: &mut Rng) -> ArraySetup {
    let (map, chunk) = (any_layout(rng), usual_chunk(rng));
    let odd = (0..map.disks()).map(|disk| {
        let factor = 0.6 + 1.2 * rng.uniform();
        Odd { disk, rotation: factor, seek: factor }
    });
    let odd = odd.collect();
    ArraySetup { odd, ..on_disks(rng, map, chunk) }
}

fn quick(rng: &mut Rng) -> ArraySetup {
    let quick = QuickPart {
        share: one_of(rng, &[0.05, 0.3, 0.5, 0.8, 0.95, 1.0]),
        extent_bytes: one_of(rng, &[64 << 10, 1 << 20, 4 << 20]),
        time: Nanos(one_of(rng, &[20_000, 100_000, 400_000])),
    };
    ArraySetup { quick: Some(quick), ..plain(rng) }
}

fn four_k(rng: &mut Rng) -> ArraySetup {
    let (map, chunk) = (any_layout(rng), one_of(rng, &[12, 24, 32, 64, 96, 128, 512]) << 10);
    let bytes_max = (1u64 << 30) << rng.below(6);
    ArraySetup { block_bytes: 4096, bytes_max, ..on_disks(rng, map, chunk) }
}

fn lost(rng: &mut Rng) -> ArraySetup {
    let chunk = usual_chunk(rng);
    if rng.below(3) == 0 {
        let disks = one_of(rng, &[2, 4, 6]);
        let lost = Some(rng.below(disks as u64) as usize);
        return ArraySetup { lost, ..on_disks(rng, layout(LayoutKind::Raid1, disks), chunk) };
    }
    let disks = between(rng, 4, 10);
    let kind = one_of(rng, &[LayoutKind::Raid6Md, LayoutKind::Raid6Pq]);
    let first = rng.below(disks);
    let second_lost = Some(((first + 1 + rng.below(disks - 1)) % disks) as usize);
    ArraySetup { lost: Some(first as usize), second_lost, ..on_disks(rng, layout(kind, disks as usize), chunk) }
}

fn flash(rng: &mut Rng) -> ArraySetup {
    let chips = one_of(rng, &[Chips::SATA, Chips::NVME]);
    // A busy cloud or iSCSI: each answer takes a millisecond or more.
    let travel_time = one_of(rng, &[Nanos::ZERO, Nanos::ZERO, Nanos(1_500_000), Nanos(3_000_000)]);
    let disks = between(rng, 1, 4) as usize;
    let chunk = one_of(rng, &[32, 64, 128]) << 10;
    ArraySetup {
        drive: Drive::Flash(Chips { travel_time, ..chips }),
        phase_bytes: rng.below(1 << 18) * 4096,
        ..ArraySetup::new(layout(LayoutKind::Raid0, disks), chunk)
    }
}

fn one_disk(rng: &mut Rng) -> ArraySetup {
    let bytes_max = (1u64 << 30) << rng.below(4);
    ArraySetup { bytes_max, ..on_disks(rng, layout(LayoutKind::Raid0, 1), 64 << 10) }
}

fn shared(rng: &mut Rng) -> ArraySetup {
    let kind = one_of(rng, &[LayoutKind::Raid0, LayoutKind::Raid5Ls, LayoutKind::Raid5La]);
    let (disks, chunk) = (between(rng, 3, 8), usual_chunk(rng));
    let first = rng.below(disks);
    let second = (first + 1 + rng.below(disks - 1)) % disks;
    let same = Some((first as usize, second as usize));
    ArraySetup { same, ..on_disks(rng, layout(kind, disks as usize), chunk) }
}
