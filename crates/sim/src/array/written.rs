//! Arrays whose level is found by writes: of every level, with every queue, some with a write cache, some with a lost member.
//!
//! `probe_trials --writes` plays them.

use super::Array;
use super::map::{ChunkMap, MapRedundancy, Raid10Kind};
use super::setup::{ArraySetup, MirrorRead};
use super::surprises::on_disks;
use scrubjay_core::layout::{Layout, LayoutKind, Shape};
use scrubjay_core::probe::fast::{ProbeOptions, fast};
use scrubjay_core::probe::io::ProbeBudget;
use scrubjay_core::probe::known::{KnownArray, LevelRefusal, ProbeFinding, RedundancyLevel, Unmeasurable};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;

/// What a probe may use: the budget of the surprises.
const BUDGET: ProbeBudget = ProbeBudget { requests: u64::MAX, time: Nanos::from_secs(540) };

/// A family of arrays that are written to.
pub struct WrittenFamily {
    /// What its arrays are.
    pub name: &'static str,
    setup: fn(&mut Rng) -> ArraySetup,
    /// The right refusal, if no level can be found.
    refusal: Option<LevelRefusal>,
}

/// The result of probing one array.
#[derive(Clone, Debug)]
pub struct WrittenOutcome {
    /// The array.
    pub setup: ArraySetup,
    /// The prober's knowledge of it.
    pub known: KnownArray,
    /// The level that it has.
    pub level: RedundancyLevel,
    /// Was that level stated, or, if none can be found, the true reason?
    pub is_right: bool,
    /// The confidence of a wrong level, if one was stated; if none can be found, any level is wrong.
    pub wrong: Option<f64>,
    /// The refusal that was stated instead of a level.
    pub refusal: Option<LevelRefusal>,
}

impl WrittenFamily {
    /// Probes an array of this family, drawn by a seed.
    pub fn probe(&self, seed: u64) -> WrittenOutcome {
        let mut rng = Rng::new(seed);
        let setup = ArraySetup { seed, ..(self.setup)(&mut rng) };
        let mut array = Array::new(setup.clone());
        let options = ProbeOptions { seed: rng.bits(), budget: BUDGET, allows_writes: true, ..ProbeOptions::default() };
        let mut prober = fast(array.device(), options);
        array.serve(&mut prober);
        let known = prober.known();
        let level = level_of(&setup);
        let refusal = known.findings.iter().find_map(|claim| match claim.value {
            ProbeFinding::NoLevel { why } => Some(why),
            _ => None,
        });
        let stated = known.level.as_ref();
        let is_degraded = matches!(known.unmeasurable, Some(Unmeasurable::Degraded { .. }));
        let is_right = match self.refusal {
            None => stated.is_some_and(|stated| stated.value == level),
            // Where no chunks are found, nothing is written either.
            Some(LevelRefusal::Degraded) if is_degraded => stated.is_none(),
            Some(_) => stated.is_none() && refusal == self.refusal,
        };
        let wrong = stated.filter(|_| !is_right).map(|stated| stated.confidence);
        WrittenOutcome { setup, level, is_right, wrong, refusal, known }
    }
}

fn level_of(setup: &ArraySetup) -> RedundancyLevel {
    match (&setup.map, setup.map.redundancy()) {
        (ChunkMap::Raid4 { .. }, _) => RedundancyLevel::Raid4,
        (_, MapRedundancy::None) => RedundancyLevel::Raid0,
        (_, MapRedundancy::Copies(copies)) => RedundancyLevel::Mirror(copies),
        (_, MapRedundancy::Parity(1)) => RedundancyLevel::Raid5,
        (_, MapRedundancy::Parity(_)) => RedundancyLevel::Raid6,
    }
}

/// All families.
pub fn written_families() -> Vec<WrittenFamily> {
    let family = |name, setup| WrittenFamily { name, setup, refusal: None };
    vec![
        family("raid0", |rng| layout(rng, &[LayoutKind::Raid0], 2, 12)),
        family("raid1, pairs", |rng| layout(rng, &[LayoutKind::Raid1], 2, 12)),
        family("three copies", three_copies),
        family("raid4", |rng| {
            let disks = between(rng, 4, 11);
            with_random_chunk(rng, ChunkMap::Raid4 { disks })
        }),
        family("raid5", |rng| {
            let kinds = [LayoutKind::Raid5Ls, LayoutKind::Raid5La, LayoutKind::Raid5Rs, LayoutKind::Raid5Ra];
            layout(rng, &kinds, 4, 12)
        }),
        family("raid6", |rng| layout(rng, &[LayoutKind::Raid6Md, LayoutKind::Raid6Pq], 5, 12)),
        family("RAID-10 far and offset", far),
        family("one disk", |rng| layout(rng, &[LayoutKind::Raid0], 1, 1)),
        WrittenFamily { refusal: Some(LevelRefusal::WriteCache), ..family("behind a write cache", cached) },
        WrittenFamily { refusal: Some(LevelRefusal::Degraded), ..family("less one member", lost) },
    ]
}

fn between(rng: &mut Rng, from: usize, to: usize) -> usize {
    from + rng.below((to - from + 1) as u64) as usize
}

fn one_of<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize]
}

fn layout(rng: &mut Rng, kinds: &[LayoutKind], from: usize, to: usize) -> ArraySetup {
    let (kind, disks) = (one_of(rng, kinds), between(rng, from, to));
    let (shape, disks) = match kind {
        LayoutKind::Raid0 => (Shape { data: disks, parity: 0 }, disks),
        LayoutKind::Raid1 => (Shape { data: 1, parity: 1 }, disks / 2 * 2),
        LayoutKind::Raid6Md | LayoutKind::Raid6Pq => (Shape { data: disks - 2, parity: 2 }, disks),
        _ => (Shape { data: disks - 1, parity: 1 }, disks),
    };
    with_random_chunk(rng, ChunkMap::Layout(Layout::new(kind, shape, disks).expect("such an array")))
}

fn with_random_chunk(rng: &mut Rng, map: ChunkMap) -> ArraySetup {
    let chunk_bytes = one_of(rng, &[16, 32, 64, 128, 256]) << 10;
    on_disks(rng, map, chunk_bytes)
}

fn three_copies(rng: &mut Rng) -> ArraySetup {
    let disks = one_of(rng, &[3, 6, 9]);
    with_random_chunk(rng, ChunkMap::Raid10 { kind: Raid10Kind::Near, copies: 3, disks })
}

fn far(rng: &mut Rng) -> ArraySetup {
    let disks = between(rng, 3, 8);
    let plain = with_random_chunk(rng, ChunkMap::Concatenated { disks: 1, rows: 1 });
    let rows = plain.member_bytes() / plain.chunk_bytes / 2;
    let kind = one_of(rng, &[Raid10Kind::Far { rows }, Raid10Kind::Offset]);
    ArraySetup { map: ChunkMap::Raid10 { kind, copies: 2, disks }, mirror_read: MirrorRead::First, ..plain }
}

/// A random array that a cache may hide.
fn any(rng: &mut Rng) -> ArraySetup {
    let kinds = [LayoutKind::Raid0, LayoutKind::Raid1, LayoutKind::Raid5Ls, LayoutKind::Raid6Md];
    layout(rng, &kinds, 5, 10)
}

fn cached(rng: &mut Rng) -> ArraySetup {
    let bytes = one_of(rng, &[1u64, 4, 16, 256]) << 20;
    ArraySetup { write_cache_bytes: Some(bytes), ..any(rng) }
}

fn lost(rng: &mut Rng) -> ArraySetup {
    let setup = layout(rng, &[LayoutKind::Raid5Ls, LayoutKind::Raid5La, LayoutKind::Raid6Md], 5, 10);
    ArraySetup { lost: Some(rng.below(setup.map.disks() as u64) as usize), ..setup }
}
