//! The configuration of one storm, all drawn from one seed: the array, its client, its disks, and the incidents.

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

/// The random streams of a seed: an additional draw in one of them changes nothing in the others.
#[derive(Clone, Copy, Debug)]
pub enum Stream {
    /// The configuration itself.
    Setting,
    /// The client's requests.
    Client,
    /// The faults.
    Faults,
    /// The times of operations.
    Disks,
    /// Everything else.
    World,
}

/// What happens to an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArrayIncident {
    /// The power fails, or the program is killed.
    Crash(CrashSurvival),
    /// The volume is stopped and started.
    Restart,
    /// A disk goes away.
    Lose,
    /// The administrator takes a member out.
    Fail,
    /// A disk goes away while the volume is down after a crash.
    LoseDown(CrashSurvival),
    /// A new disk takes the place of a member that is out.
    Exchange,
    /// Some blocks of a row become unreadable.
    Spoil,
    /// Junk is written over one row of every n-th stripe; the position changes from one to the next.
    Plague(u64),
    /// Bits of one row of every n-th stripe flip, in the content, in the appendix, or in both.
    Rot(u64),
    /// A disk begins to lose all writes to its rows; the one that did before stops.
    Forget,
    /// Metadata of a member, outside of its rows, is damaged.
    Blight,
    /// A disk begins operations and does not end them.
    Hang,
    /// The volume crashes, and a disk that went away is there again when it starts.
    Return(CrashSurvival),
    /// The volume crashes; some of its members are started without the others, and the others without these; all of
    /// them together must be refused.
    Fork(CrashSurvival),
    /// Some stripes are verified, from the first on.
    Verify,
    /// A client reads the whole volume, whatever state it is in.
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

/// An incident and its time: after a number of requests was sent, and then a number of disk operations ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduledIncident {
    /// Requests that the client has sent in all (count).
    pub requests: u64,
    /// Disk operations that ended since then (count).
    pub ops: u64,
    /// The incident.
    pub act: ArrayIncident,
}

/// Restrictions of a seed, to narrow down the cause of a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Narrowed {
    /// Requests, at most (count); `None`: as drawn.
    pub requests: Option<u64>,
    /// Leaves out faults of reads and writes, unreadable blocks, and other damage of the media.
    pub is_faultless: bool,
    /// Leaves out crashes and restarts.
    pub is_crashless: bool,
    /// Leaves out losses and exchanges of members.
    pub is_lossless: bool,
}

/// The configuration of a storm.
#[derive(Clone, Debug)]
pub struct StormConfig {
    /// The seed from which everything else is drawn.
    pub seed: u64,
    /// The array.
    pub geometry: Geometry,
    /// The behaviour of its client.
    pub habits: Habits,
    /// The probabilities of faults.
    pub chances: Chances,
    /// May there be more faults than the array must survive?
    pub is_over_budget: bool,
    /// The times of disk operations.
    pub latency: OpLatency,
    /// The incidents, in order of their requests.
    pub script: Vec<ScheduledIncident>,
    /// A further crash, when the volume first marks a lost chunk; `None`: there is none.
    pub crash_amid_marks: Option<CrashSurvival>,
    /// Write numbers that the volume reserves at once (count).
    pub write_numbers: u64,
    /// How long the volume keeps a region dirty after its last write.
    pub intent_idle: Nanos,
    /// Faults after which the volume calls a member unreliable (count).
    pub faults_max: usize,
    /// The volume's seeded bug, if one is switched on.
    pub planted: Option<SeededBug>,
}

/// The main properties, in one line.
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

/// Bounds the number of stripes beyond the first four, in bytes: a volume of a storm has a few hundred KiB.
const VOLUME_BYTES_MAX: u64 = 192 << 10;

impl StormConfig {
    /// The configuration of a seed.
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
        let crash_amid_marks = (rng.below(2) == 0).then(|| survival(&mut rng));
        let mut setting = StormConfig {
            seed,
            geometry,
            habits,
            chances,
            is_over_budget,
            latency,
            script,
            crash_amid_marks,
            write_numbers,
            intent_idle,
            faults_max,
            planted,
        };
        setting.narrow(narrowed);
        setting
    }

    /// The random generator of a stream.
    pub fn rng(&self, stream: Stream) -> Rng {
        Rng::stream(self.seed, stream as u64)
    }

    fn narrow(&mut self, narrowed: Narrowed) {
        let Narrowed { requests, is_faultless, is_crashless, is_lossless } = narrowed;
        self.habits.requests = self.habits.requests.min(requests.unwrap_or(u64::MAX)).max(1);
        if is_faultless {
            self.chances = Chances::default();
        }
        self.crash_amid_marks = self.crash_amid_marks.filter(|_| !is_crashless);
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
    // Under Hybrid-1 the fault budget allows lost writes in few shapes, in fewer still when a member is out (see
    // `FaultBudget`): most draws of other shapes are rejected.
    let allows_few_faults = |Shape { data, parity }| scheme == Scheme::Hybrid1 && (parity < 2 || data < parity + 2);
    let layout = loop {
        let layout = layout(rng);
        if !allows_few_faults(layout.shape()) || rng.below(8) == 0 {
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
    // In layouts without redundancy little can go wrong that is found: most draws of them are rejected.
    let kind = loop {
        let kind = pick(rng, &LayoutKind::ALL);
        if !matches!(kind, LayoutKind::Raid0 | LayoutKind::ZigZag) || rng.below(4) == 0 {
            break kind;
        }
    };
    loop {
        let shape = Shape { data: 1 + rng.below(6) as usize, parity: rng.below(4) as usize };
        let disks = pick(rng, &[shape.width(), 2, 3, 4, 6]);
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

/// Each kind of fault occurs in half of the storms, so that some storms have only one.
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
        metadata: chance(),
    }
}

fn latency(rng: &mut Rng) -> OpLatency {
    let least = Nanos(pick(rng, &[1_000, 50_000, 4_000_000]));
    OpLatency { least, spread: Nanos(least.0 * pick(rng, &[0, 1, 5])), slow: pick(rng, &[0.0, 0.0, 0.02]) }
}

fn survival(rng: &mut Rng) -> CrashSurvival {
    match rng.below(6) {
        0 => CrashSurvival::Blocks(0.0),
        1 | 2 => CrashSurvival::Blocks(0.5),
        3 => CrashSurvival::Blocks(0.9),
        4 => CrashSurvival::Writes(0.5),
        _ => CrashSurvival::Ended,
    }
}

fn script(rng: &mut Rng, requests: u64, geometry: &Geometry) -> Vec<ScheduledIncident> {
    let Shape { data, parity } = geometry.layout.shape();
    let mut acts = Vec::new();
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
    // Some crashes are followed by a second one, while what the first one left is not resynced.
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
