//! One seed, and all that follows from it: the array, its client, its disks, and what befalls them.

use crate::client::Habits;
use crate::disk_set::OpLatency;
use crate::faults::Chances;
use scrubjay_core::index::RowIndex;
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::SeededBug;
use scrubjay_core::volume::format::geometry::{ArrayParameters, Geometry};
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_sim::member_disk::CrashSurvival;
use std::fmt;

/// The streams of a seed: a draw more in one of them changes nothing in the others.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// The setting itself.
    Setting,
    /// What the client does.
    Client,
    /// What goes wrong.
    Faults,
    /// How long operations take.
    Disks,
    /// Everything else.
    World,
}

/// What befalls an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArrayIncident {
    /// The power fails, or the program is killed.
    Crash(CrashSurvival),
    /// The volume is stopped and started.
    Restart,
    /// A disk goes away.
    Lose,
    /// Somebody takes a member out.
    Fail,
    /// A disk goes away while the volume is down after a crash.
    LoseDown(CrashSurvival),
    /// A new disk takes the place of a member that is out.
    Exchange,
    /// Some blocks of a row become unreadable.
    Spoil,
    /// Something writes junk over one row of every so many stripes, the victims turning over all members.
    Plague(u64),
    /// Bits of one row of every so many stripes flip, in the content, in the appendix, or in both.
    Rot(u64),
    /// A disk begins to lose all that is written to its rows; the one that did before stops.
    Forget,
    /// What lies beside the rows of a member is damaged.
    Blight,
    /// A disk begins operations and does not end them.
    Hang,
    /// The volume crashes, and a disk that went away is there again when it starts.
    Return(CrashSurvival),
    /// The volume crashes; some of its members are started without the others, and the others without these; all of them
    /// together must not start.
    Fork(CrashSurvival),
    /// All or some stripes are checked.
    Verify,
    /// Somebody copies the whole volume, whatever state it is in.
    ReadAll,
}

impl ArrayIncident {
    /// Does the volume crash?
    pub fn is_crash(self) -> bool {
        matches!(
            self,
            ArrayIncident::Crash(_) | ArrayIncident::LoseDown(_) | ArrayIncident::Return(_) | ArrayIncident::Fork(_)
        )
    }
}

/// When something befalls the array: after so many requests were sent, and then so many operations of disks ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduledIncident {
    /// Requests.
    pub requests: u64,
    /// Ends of operations.
    pub ops: u64,
    /// What.
    pub act: ArrayIncident,
}

/// What narrows a seed down, for whoever looks for a cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Narrowed {
    /// No more requests than these.
    pub requests: Option<u64>,
    /// No faults of reads and writes, and no unreadable blocks.
    pub is_faultless: bool,
    /// No crashes and no restarts.
    pub is_crashless: bool,
    /// No member is lost.
    pub is_lossless: bool,
}

/// A world that can be run.
#[derive(Clone, Debug)]
pub struct StormConfig {
    /// What it all follows from.
    pub seed: u64,
    /// The array.
    pub geometry: Geometry,
    /// Its client.
    pub habits: Habits,
    /// The faults of its disks,
    pub chances: Chances,
    /// whether they may be too many,
    pub is_over_budget: bool,
    /// and how long they take.
    pub latency: OpLatency,
    /// What befalls it, in order.
    pub script: Vec<ScheduledIncident>,
    /// How many write numbers it reserves at once.
    pub write_numbers: u64,
    /// How long the volume calls a region dirty after its last write.
    pub intent_idle: Nanos,
    /// So many faults, and the volume calls a member unreliable.
    pub faults_max: usize,
    /// A fault of the volume's own.
    pub planted: Option<SeededBug>,
}

/// What tells most, in one line.
impl fmt::Display for StormConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Geometry { layout, scheme, chunk_bytes, block_bytes, stripes, region_stripes, .. } = self.geometry;
        let (kind, shape, disks) = (layout.kind(), layout.shape(), layout.disks());
        let budget = if self.is_over_budget { "over" } else { "inside" };
        write!(
            f,
            "seed {}: {scheme} on {kind}, {}+{}, {disks} disks, chunk {chunk_bytes}, block {block_bytes}, {stripes} \
             stripes, {region_stripes} a region; {} requests, {} at once; {budget} the budget; script {:?}",
            self.seed, shape.data, shape.parity, self.habits.requests, self.habits.depth, self.script
        )
    }
}

/// No volume of a world is larger: what is written and read is a few hundred KiB.
const VOLUME_BYTES_MAX: u64 = 192 << 10;

impl StormConfig {
    /// All that follows from a seed.
    pub fn new(seed: u64, narrowed: Narrowed) -> StormConfig {
        let mut rng = Rng::stream(seed, Stream::Setting as u64);
        let geometry = geometry(&mut rng);
        let habits = habits(&mut rng, &geometry);
        let is_over_budget = rng.below(8) == 0;
        let chances = chances(&mut rng);
        let latency = latency(&mut rng);
        let script = script(&mut rng, habits.requests, &geometry);
        let intent_idle = Nanos(pick(&mut rng, &[1_000, 10_000_000, 5_000_000_000]));
        let write_numbers = pick(&mut rng, &[1, 3, 20, 1 << 20]);
        let (faults_max, planted) = (pick(&mut rng, &[1, 2, 64]), None);
        let mut setting = StormConfig {
            seed,
            geometry,
            habits,
            chances,
            is_over_budget,
            latency,
            script,
            write_numbers,
            intent_idle,
            faults_max,
            planted,
        };
        setting.narrow(narrowed);
        setting
    }

    /// A generator for a part of the world.
    pub fn rng(&self, stream: Stream) -> Rng {
        Rng::stream(self.seed, stream as u64)
    }

    fn narrow(&mut self, narrowed: Narrowed) {
        let Narrowed { requests, is_faultless, is_crashless, is_lossless } = narrowed;
        self.habits.requests = self.habits.requests.min(requests.unwrap_or(u64::MAX)).max(1);
        if is_faultless {
            self.chances = Chances::default();
        }
        let most = self.habits.requests;
        self.script.retain(|cue| {
            let is_left_out = match cue.act {
                ArrayIncident::Crash(_) | ArrayIncident::Restart => is_crashless,
                ArrayIncident::LoseDown(_) | ArrayIncident::Return(_) => is_crashless || is_lossless,
                ArrayIncident::Fork(_) => is_crashless,
                ArrayIncident::Lose | ArrayIncident::Fail | ArrayIncident::Hang | ArrayIncident::Exchange => {
                    is_lossless
                }
                ArrayIncident::Spoil
                | ArrayIncident::Plague(_)
                | ArrayIncident::Rot(_)
                | ArrayIncident::Forget
                | ArrayIncident::Blight => is_faultless,
                ArrayIncident::Verify | ArrayIncident::ReadAll => false,
            };
            !is_left_out && cue.requests <= most
        });
    }
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize]
}

fn geometry(rng: &mut Rng) -> Geometry {
    let scheme = pick(
        rng,
        &[
            Scheme::Stamp,
            Scheme::Stamp,
            Scheme::Stamp,
            Scheme::Hybrid2,
            Scheme::Hybrid2,
            Scheme::Hybrid1,
            Scheme::Pure,
            Scheme::None,
        ],
    );
    // Of few shapes may Hybrid-1 be asked about lost writes, and of fewer when a member is out: see `FaultBudget`.
    let tells_little = |Shape { data, parity }| scheme == Scheme::Hybrid1 && (parity < 2 || data < parity + 2);
    let layout = loop {
        let layout = layout(rng);
        if !tells_little(layout.shape()) || rng.below(8) == 0 {
            break layout;
        }
    };
    let block_bytes = pick(rng, &[512, 512, 512, 4096]);
    let chunk_bytes = pick(rng, &[512, 512, 1024, 1024, 2048, 4096, 8192]).max(block_bytes);
    let stripe_bytes = chunk_bytes * layout.shape().data as u64;
    let stripes = 4 + rng.below((VOLUME_BYTES_MAX / stripe_bytes).clamp(4, 200));
    let parameters = ArrayParameters { layout, scheme, chunk_bytes, block_bytes };
    let fit = |member_bytes| Geometry::fit(&parameters, member_bytes, Some(stripes * stripe_bytes));
    let roomy = fit(1 << 30).expect("a GiB is room enough");
    let member_bytes = roomy.chunk_offset(RowIndex(roomy.rows)) + scrubjay_core::volume::format::geometry::TAIL_BYTES;
    fit(member_bytes.get().next_multiple_of(4096)).expect("it just fits")
}

fn layout(rng: &mut Rng) -> Layout {
    // Arrays without redundancy have little to go wrong that can be told.
    let kind = loop {
        let kind = pick(rng, &LayoutKind::ALL);
        if !matches!(kind, LayoutKind::Raid0 | LayoutKind::ZigZag) || rng.below(4) == 0 {
            break kind;
        }
    };
    loop {
        let shape = Shape { data: 1 + rng.below(6) as usize, parity: rng.below(4) as usize };
        let disks = pick(rng, &[shape.slots(), 2, 3, 4, 6]);
        if let Ok(layout) = Layout::new(kind, shape, disks) {
            return layout;
        }
    }
}

fn habits(rng: &mut Rng, geometry: &Geometry) -> Habits {
    Habits {
        requests: pick(rng, &[10, 20, 40, 40, 80, 160]),
        depth: pick(rng, &[1, 2, 4, 8, 16]),
        reads: pick(rng, &[10, 30, 50]),
        flushes: pick(rng, &[0, 3, 10]),
        trims: pick(rng, &[0, 0, 5]),
        zeroings: pick(rng, &[0, 0, 5]),
        durable: pick(rng, &[0, 10, 50]),
        hot: pick(rng, &[0, 50, 90]),
        odd: pick(rng, &[0, 20, 50]),
        pause: Nanos(pick(rng, &[0, 1_000, 200_000, 20_000_000])),
        chunk_bytes: geometry.chunk_bytes,
        stripe_bytes: geometry.stripe_bytes(),
    }
}

/// Each kind of fault is there in half of the worlds, so that some worlds have but one.
fn chances(rng: &mut Rng) -> Chances {
    let scale = pick(rng, &[0.0, 0.005, 0.02, 0.1]);
    let mut chance = || if rng.below(2) == 0 { 0.0 } else { scale };
    Chances {
        lost: chance(),
        torn: chance(),
        misdirected: chance(),
        misdirected_unaligned: chance(),
        latent: 0.5,
        wrong_disk: 0.25,
        misread: chance() / 2.0,
        misread_unaligned: chance() / 2.0,
        refused: chance() / 8.0,
        beside: chance(),
    }
}

fn latency(rng: &mut Rng) -> OpLatency {
    let least = Nanos(pick(rng, &[1_000, 50_000, 4_000_000]));
    OpLatency { least, spread: Nanos(least.0 * pick(rng, &[0, 1, 5])), slow: pick(rng, &[0.0, 0.0, 0.02]) }
}

fn script(rng: &mut Rng, requests: u64, geometry: &Geometry) -> Vec<ScheduledIncident> {
    let Shape { data, parity } = geometry.layout.shape();
    let mut acts = Vec::new();
    let survival = |rng: &mut Rng| match rng.below(6) {
        0 => CrashSurvival::Blocks(0.0),
        1 | 2 => CrashSurvival::Blocks(0.5),
        3 => CrashSurvival::Blocks(0.9),
        4 => CrashSurvival::Writes(0.5),
        _ => CrashSurvival::Ended,
    };
    for _ in 0..pick(rng, &[0, 0, 1, 2, 4]) {
        acts.push(ArrayIncident::Crash(survival(rng)));
    }
    for _ in 0..pick(rng, &[0, 0, 0, 1]) {
        acts.push(ArrayIncident::Restart);
    }
    for _ in 0..pick(rng, &[0, 0, 2, 6]) {
        acts.push(ArrayIncident::Spoil);
    }
    for _ in 0..pick(rng, &[0, 0, 1]) {
        acts.push(ArrayIncident::Verify);
    }
    for _ in 0..pick(rng, &[0, 0, 0, 1, 2]) {
        acts.push(ArrayIncident::Plague(pick(rng, &[1, 1, 2, 5])));
    }
    for _ in 0..pick(rng, &[0, 0, 0, 1, 3]) {
        acts.push(ArrayIncident::Rot(pick(rng, &[1, 2, 5])));
    }
    for _ in 0..pick(rng, &[0, 0, 0, 1, 3]) {
        acts.push(ArrayIncident::Forget);
    }
    for _ in 0..pick(rng, &[0, 0, 0, 2, 6]) {
        acts.push(ArrayIncident::Blight);
    }
    if parity >= data && rng.below(3) == 0 {
        acts.push(ArrayIncident::Fork(survival(rng)));
    }
    for _ in 0..pick(rng, &[0, 0, 1, 2]) {
        acts.push(ArrayIncident::ReadAll);
    }
    if parity > 0 {
        for _ in 0..rng.below(parity as u64 + 2) {
            acts.push(
                [ArrayIncident::Lose, ArrayIncident::Fail, ArrayIncident::LoseDown(survival(rng)), ArrayIncident::Hang]
                    [rng.below(4) as usize],
            );
            if rng.below(4) == 0 {
                acts.push(ArrayIncident::Return(survival(rng)));
            }
            acts.extend([ArrayIncident::Exchange, ArrayIncident::Exchange].into_iter().take(rng.below(3) as usize));
        }
    }
    let cue = |act| ScheduledIncident { requests: rng.below(requests + 1), ops: rng.below(40), act };
    let mut script: Vec<ScheduledIncident> = acts.into_iter().map(cue).collect();
    // And again, while what the first crash left is not resynced.
    let is_crash = |cue: &&ScheduledIncident| matches!(cue.act, ArrayIncident::Crash(_));
    let crashes: Vec<ScheduledIncident> = script.iter().filter(is_crash).copied().collect();
    for first in crashes {
        if rng.below(3) == 0 {
            let act = ArrayIncident::Crash(survival(rng));
            let more = pick(rng, &[1, 2, 8]);
            script.push(ScheduledIncident { requests: (first.requests + more).min(requests), ops: rng.below(60), act });
        }
    }
    script.sort_by_key(|cue| cue.requests);
    script
}
