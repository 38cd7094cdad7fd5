//! A scrub's outcome as JSON: schema 1. Fields are added, never renamed or taken away, within a schema.

use crate::outcome::TargetOutcome;
use crate::pool::PoolDocument;
use scrubjay_core::finding::{Finding, Resolution};
use scrubjay_core::scrub::idle::{Goal, Slowdown};
use scrubjay_core::scrub::{ForegroundLatency, ScrubState};
use scrubjay_core::stats::DurationHistogram;
use scrubjay_core::units::{Nanos, SectorRange};
use scrubjay_serve::volume::conditions::VolumeCondition;
use scrubjay_serve::volume::finding_words::FindingWords;
use serde::Serialize;

/// The JSON object of one run.
#[derive(Debug, Serialize)]
pub struct ScrubDocument {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    targets: Vec<TargetDocument>,
}

#[derive(Debug, Serialize)]
struct TargetDocument {
    target: String,
    id: String,
    bytes: u64,
    bytes_verified: u64,
    complete: bool,
    resumed: bool,
    verifier: &'static str,
    detector: String,
    order: &'static str,
    policy: &'static str,
    seconds: f64,
    unreadable: Vec<SectorRun>,
    slowdown: SlowdownDocument,
    /// Response times of foreground requests; null where completions are not seen.
    latency: Option<LatencyDocument>,
    wait_seconds: f64,
    request_bytes: u64,
    idle_seconds: f64,
    oldest_unread_seconds: Option<u64>,
    /// Scrub requests at the disk at the same time, at most.
    depth: usize,
    /// Bytes that this run requested from the disk, repeated reads included.
    bytes_requested: u64,
    /// Read last, by small requests, because requests there have stalled the drive.
    spared_bytes: u64,
    /// Requests that failed, though all their sectors could be read one by one.
    transient_errors: u64,
    transient_cause: Option<String>,
    /// Requests of this run that got no answer in time, or one that proves nothing, and were repeated.
    unanswered: u64,
    unanswered_cause: Option<String>,
    /// Sectors that md's repairs made agree, in this pass.
    sectors_made_to_agree: u64,
    /// md's repairs in this pass after which members still differed, or of which the end was not seen.
    repairs_in_vain: u64,
    /// For a volume: rows that were wrong and were repaired, in this pass. For a btrfs: blocks.
    rows_repaired: u64,
    /// For a volume: the rows repaired in this pass, as far as the server reported them.
    repaired: Vec<FindingWords>,
    /// For a volume: rows that were wrong or unreadable once in this pass, and right when they were read again.
    transient: Vec<FindingWords>,
    /// For a volume: rows still wrong on their members, each counted once: a disk did not take the repair, or the volume is
    /// read-only. Readers get the right contents, from the other members. For a btrfs: blocks.
    rows_unrepaired: u64,
    /// For a volume: the findings behind `rows_unrepaired`, in this pass.
    unrepaired: Vec<FindingWords>,
    /// For a volume: rows that could not be repaired, in this pass. The stripes they lie in are in `unreadable`.
    lost: Vec<FindingWords>,
    /// For an array that md checked: where its members do not agree, in this pass.
    mismatches: Vec<MismatchDocument>,
    /// For an array that md checked: where md was ordered to make its members agree, in this pass.
    made_to_agree: Vec<MismatchDocument>,
    /// Sectors that md rewrote in this pass because a member could not read them.
    sectors_repaired: u64,
    /// The same sectors by member.
    repaired_errors: Vec<RepairedDocument>,
    /// For a volume: its state at the end, as its server reports it.
    volume_state: Option<VolumeCondition>,
    /// For a btrfs: its own counts, and what was wrong.
    btrfs: Option<PoolDocument>,
    /// Why the scrub could not be completed, or its result could not be kept.
    error: Option<String>,
    notes: Vec<String>,
}

/// A run of unreadable sectors of 512 bytes.
#[derive(Debug, Serialize)]
struct SectorRun {
    start: u64,
    count: u64,
    cause: String,
}

/// A mismatch, in 512-byte sectors of each member's data or, in a RAID-10, of the array.
#[derive(Debug, Serialize)]
struct MismatchDocument {
    start: u64,
    count: u64,
    /// The kernel's name of the one member that is wrong, where that is known.
    member: Option<String>,
    /// What is known of it, in words; null for what an earlier run of this pass found.
    words: Option<String>,
    /// What md was made to do about it in this pass: `not run`, `agree`, `still differ`, `unchecked`; null as above.
    repair: Option<&'static str>,
}

/// Sectors of one member that md repaired.
#[derive(Debug, Serialize)]
struct RepairedDocument {
    member: String,
    sectors: u64,
    /// Where it could not be read, as far as the kernel's log shows: first sector and count; a count of 1 is the
    /// request's first sector.
    places: Vec<[u64; 2]>,
}

/// What foreground requests lost.
#[derive(Debug, Serialize)]
pub struct SlowdownDocument {
    goal_mean_seconds: Option<f64>,
    goal_p99_seconds: Option<f64>,
    goal_max_seconds: Option<f64>,
    /// Was the foreground seen by counters only? Then the figures are approximate.
    is_estimate: bool,
    mean_seconds: f64,
    worst_mean_so_far_seconds: f64,
    max_seconds: f64,
    /// Foreground requests that lost more than `goal_p99_seconds`.
    above_goal_p99: Option<u64>,
    foreground_requests: u64,
    collisions: u64,
    /// Was less read because of `goal_max_seconds`, as some scrub requests take longer, while `goal_mean_seconds` was
    /// not used up?
    held_back_by_max: bool,
}

/// Response times of foreground requests.
#[derive(Debug, Serialize)]
pub struct LatencyDocument {
    /// With the scrub, as measured.
    with_scrub: Times,
    /// Without the scrub: the measured times less what was lost by waiting for it. Computed, not measured.
    without_scrub: Times,
}

#[derive(Debug, Serialize)]
struct Times {
    mean_seconds: f64,
    p50_seconds: f64,
    p99_seconds: f64,
    max_seconds: f64,
}

impl Times {
    fn of(times: &DurationHistogram) -> Times {
        let (mean_seconds, max_seconds) = (times.moments().mean(), times.moments().max);
        Times { mean_seconds, p50_seconds: times.quantile(0.5), p99_seconds: times.quantile(0.99), max_seconds }
    }
}

impl SlowdownDocument {
    /// What this many requests lost.
    pub fn of(slowdown: &Slowdown, goal: Option<Goal>, requests: u64) -> SlowdownDocument {
        let p99 = goal.and_then(|goal| goal.p99);
        SlowdownDocument {
            goal_mean_seconds: goal.map(|goal| goal.mean.as_secs_f64()),
            goal_p99_seconds: p99.map(Nanos::as_secs_f64),
            goal_max_seconds: goal.map(|goal| goal.max.as_secs_f64()),
            is_estimate: slowdown.is_estimate,
            mean_seconds: slowdown.mean_seconds(requests),
            worst_mean_so_far_seconds: slowdown.mean_worst.as_secs_f64(),
            max_seconds: slowdown.max.as_secs_f64(),
            above_goal_p99: p99.map(|p99| slowdown.longer_than(p99)),
            foreground_requests: requests,
            collisions: slowdown.collisions,
            held_back_by_max: false,
        }
    }
}

impl SlowdownDocument {
    /// There is no limit for one request.
    pub fn without_max(&mut self) {
        self.goal_max_seconds = None;
    }
}

impl LatencyDocument {
    /// With the scrub, and without.
    pub fn of(latency: &ForegroundLatency) -> LatencyDocument {
        LatencyDocument { with_scrub: Times::of(&latency.with_scrub), without_scrub: Times::of(&latency.without_scrub) }
    }
}

impl ScrubDocument {
    /// Makes the document of these outcomes.
    pub fn new(outcomes: &[TargetOutcome]) -> ScrubDocument {
        ScrubDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            targets: outcomes.iter().map(TargetDocument::new).collect(),
        }
    }
}

fn mismatch(outcome: &TargetOutcome, range: SectorRange, found: Option<&Finding>) -> MismatchDocument {
    MismatchDocument {
        start: range.start.0,
        count: range.count(),
        member: found.and_then(|found| found.member_name().map(str::to_owned)),
        words: found.map(|found| outcome.disagreement(Some(found)).into()),
        repair: found.map(|found| match found.resolution {
            Resolution::MadeToAgree => "agree",
            Resolution::StillDiffers | Resolution::DiffersAgain => "still differ",
            Resolution::Unchecked => "unchecked",
            _ => "not run",
        }),
    }
}

impl TargetDocument {
    fn new(outcome: &TargetOutcome) -> TargetDocument {
        let TargetOutcome { facts, ended, .. } = outcome;
        let report = &ended.report;
        let runs = report.unreadable.iter().map(|found| SectorRun {
            start: found.range.start.0,
            count: found.range.count(),
            cause: found.cause.to_string(),
        });
        TargetDocument {
            target: facts.path.display().to_string(),
            id: facts.id.clone(),
            bytes: report.bytes.0,
            bytes_verified: report.bytes_verified.0,
            complete: report.state == ScrubState::Complete,
            resumed: facts.resumed,
            verifier: facts.verifier,
            detector: facts.detector_kind.to_string(),
            order: facts.order,
            policy: facts.policy,
            seconds: report.elapsed.as_secs_f64(),
            unreadable: runs.collect(),
            slowdown: SlowdownDocument {
                held_back_by_max: outcome.is_held_back_by_max(),
                ..SlowdownDocument::of(&report.slowdown, facts.goal, report.foreground_requests)
            },
            latency: report.latency.as_ref().map(LatencyDocument::of),
            wait_seconds: report.setting.wait.as_secs_f64(),
            request_bytes: report.setting.size.0,
            idle_seconds: report.idle.as_secs_f64(),
            oldest_unread_seconds: report.oldest_unread_seconds,
            depth: facts.depth,
            bytes_requested: report.bytes_requested.0,
            spared_bytes: report.spared.0,
            transient_errors: report.transient_errors,
            transient_cause: report.transient_cause.map(|cause| cause.to_string()),
            unanswered: report.unanswered,
            unanswered_cause: report.unanswered_cause.map(|cause| cause.to_string()),
            sectors_made_to_agree: outcome.overwritten().sectors,
            repairs_in_vain: outcome.overwritten().in_vain,
            rows_repaired: outcome.rows_repaired(),
            repaired: outcome.rows(Resolution::Repaired).map(FindingWords::from).collect(),
            transient: outcome.rows(Resolution::Transient).map(FindingWords::from).collect(),
            rows_unrepaired: outcome.rows_unrepaired(),
            unrepaired: outcome.rows(Resolution::Reconstructed).map(FindingWords::from).collect(),
            lost: outcome.rows(Resolution::Lost).map(FindingWords::from).collect(),
            mismatches: outcome
                .mismatches()
                .into_iter()
                .map(|(range, found)| mismatch(outcome, range, found))
                .collect(),
            made_to_agree: outcome.agreed().map(|found| mismatch(outcome, found.place, Some(found))).collect(),
            sectors_repaired: outcome.sectors_repaired(),
            repaired_errors: outcome
                .rewritten()
                .into_iter()
                .map(|(member, sectors)| RepairedDocument {
                    member: member.to_owned(),
                    sectors,
                    places: outcome.errors_of(member).map(|range| [range.start.0, range.count()]).collect(),
                })
                .collect(),
            volume_state: outcome.volume().map(|volume| volume.state),
            btrfs: outcome.pool().as_ref().map(PoolDocument::new),
            error: outcome.error(),
            notes: outcome.notes(),
        }
    }
}
