//! The result of `bench disk`, as JSON (schema 1).
//!
//! Fields are added, never renamed or taken away, within a schema.

use scrubjay_core::bench::class::MediumClass;
use scrubjay_core::bench::compare::{BenchComparison, BenchSpan, PastBench, PastSetting};
use scrubjay_core::bench::machine::{BenchRecord, BenchState};
use scrubjay_core::bench::plan::BenchPattern;
use scrubjay_core::bench::step_result::StepFigures;
use scrubjay_core::bench::verdict::{BenchGrade, BenchVerdict, BenchWarning};
use scrubjay_core::units::{Nanos, UnixSeconds};
use scrubjay_device::bench::BenchedFacts;
use serde::Serialize;

/// A complete result of `bench disk`, to be shown or written.
#[derive(Clone, Debug)]
pub struct BenchOutcome {
    /// The target's name, as the user gave it.
    pub target: String,
    /// The key under which its results are filed.
    pub key: String,
    /// What sent the requests: `own`, or fio's version.
    pub engine: String,
    /// What is known of the disk.
    pub facts: BenchedFacts,
    /// Which part of the disk was measured.
    pub span: BenchSpan,
    /// The measurements.
    pub record: BenchRecord,
    /// Mean latency that may not be exceeded: the budget.
    pub budget: Nanos,
    /// The verdict on the measurements.
    pub verdict: BenchVerdict,
    /// The comparison with earlier results.
    pub comparison: BenchComparison,
    /// When the run was made.
    pub at: UnixSeconds,
}

impl BenchOutcome {
    /// The results of a pattern.
    pub fn of(&self, pattern: BenchPattern) -> impl Iterator<Item = &StepFigures> {
        self.record.results.iter().filter(move |result| result.step.pattern == pattern)
    }

    /// Warnings, from the figures themselves and from the comparison with earlier ones.
    pub fn warnings(&self) -> impl Iterator<Item = &BenchWarning> {
        self.verdict.warnings.iter().chain(&self.comparison.warnings)
    }

    /// The random step with the largest depth inside the budget.
    pub fn inside(&self) -> Option<&StepFigures> {
        self.verdict.inside.map(|index| &self.record.results[index])
    }

    /// How far the run came, in one word.
    pub fn state(&self) -> &'static str {
        match self.record.state {
            BenchState::Complete => "complete",
            BenchState::Running | BenchState::Stopped => "stopped",
            BenchState::Gone => "gone",
            BenchState::Failing => "failing",
        }
    }

    /// The part that is kept for comparisons: small random reads at depth 1, if they were measured to the end and are
    /// plausible.
    pub fn to_keep(&self) -> Option<PastBench> {
        let first = self.of(BenchPattern::Random).next()?;
        let is_sound = first.is_complete
            && first.step.depth == 1
            && !self.record.plan.is_write
            && !matches!(self.verdict.grade, BenchGrade::Unknown | BenchGrade::Impossible)
            && first.others_share().is_none_or(|share| share < 0.1);
        is_sound.then(|| PastBench {
            key: self.key.clone(),
            model: self.facts.model.clone().unwrap_or_default(),
            at: self.at,
            iops: first.iops(),
            mean: first.mean(),
            setting: Some(PastSetting {
                engine: self.engine.clone(),
                request: first.step.request,
                bytes: self.record.plan.bytes,
                span: self.span,
                depths: self.of(BenchPattern::Random).map(|result| result.step.depth).collect(),
            }),
        })
    }
}

/// The JSON object of one run.
#[derive(Debug, Serialize)]
pub struct BenchDiskDocument<'o> {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    target: &'o str,
    id: &'o str,
    /// Seconds since 1970.
    measured: u64,
    engine: &'o str,
    bytes: u64,
    /// `whole`, `part` or `file`.
    span: &'static str,
    is_write: bool,
    state: &'static str,
    /// The whole result in a sentence or two.
    sentence: &'o str,
    /// `normal`, `slow`, `fast`, `impossible`, `alike` or `unknown`.
    verdict: &'static str,
    budget_seconds: f64,
    /// The largest depth inside the budget.
    depth_inside: Option<u32>,
    warnings: Vec<WarningEntry<'o>>,
    first_request_seconds: Option<f64>,
    random: Vec<StepDocument>,
    sequential: Vec<StepDocument>,
    positions: Vec<ZoneEntry>,
    depths_left_out: Vec<u32>,
    comparison: ComparisonDocument,
    disk: DiskFactsDocument<'o>,
}

#[derive(Debug, Serialize)]
struct WarningEntry<'o> {
    code: &'static str,
    words: &'o str,
}

#[derive(Debug, Serialize)]
struct StepDocument {
    depth: u32,
    request_bytes: u64,
    seconds: f64,
    requests: u64,
    iops: f64,
    bytes_per_second: f64,
    mean_seconds: f64,
    deviation_seconds: f64,
    min_seconds: f64,
    p50_seconds: f64,
    p95_seconds: f64,
    p99_seconds: f64,
    max_seconds: f64,
    is_inside_budget: bool,
    is_complete: bool,
    is_repeating: bool,
    faults: u64,
    fault_places: Vec<FaultEntry>,
    /// The share of the disk's traffic in this step that was not the benchmark's.
    others_share: Option<f64>,
    /// Upper edge of a bucket in seconds, and requests in it: buckets 1.1 % wide, the empty ones left out.
    distribution: Vec<(f64, u64)>,
    trace_bin_seconds: f64,
    trace: Vec<TraceEntry>,
}

#[derive(Debug, Serialize)]
struct FaultEntry {
    offset: u64,
    bytes: u64,
    errno: i32,
}

#[derive(Debug, Serialize)]
struct TraceEntry {
    requests: u64,
    mean_seconds: f64,
    max_seconds: f64,
}

/// One of several parts of the disk, all of the same size, in their order.
#[derive(Debug, Serialize)]
struct ZoneEntry {
    bytes_per_second: Option<f64>,
    random_requests: u64,
    random_mean_seconds: Option<f64>,
}

#[derive(Debug, Serialize)]
struct ComparisonDocument {
    past_runs: usize,
    past_median_seconds: Option<f64>,
    siblings: usize,
    siblings_median_seconds: Option<f64>,
    /// Earlier results that are not compared with this one: of another part, size, request or engine.
    unlike: usize,
}

#[derive(Debug, Serialize)]
struct DiskFactsDocument<'o> {
    name: Option<&'o str>,
    model: Option<&'o str>,
    serial: Option<&'o str>,
    class: String,
    /// What answers in place of a medium, in a word: then there is no verdict.
    intermediary: Option<&'static str>,
    rpm: Option<u32>,
    is_rotational: bool,
    driver: Option<&'o str>,
    controller: Option<&'o str>,
    is_raid_controller: bool,
    is_usb: bool,
    scheduler: Option<&'o str>,
    write_cache: Option<&'o str>,
    queue_depth: Option<u64>,
    logical_block_bytes: u64,
    physical_block_bytes: Option<u64>,
    zoned: Option<&'o str>,
    below: &'o [String],
    kernel: &'o str,
}

impl<'o> BenchDiskDocument<'o> {
    /// Makes the document of a result.
    pub fn new(outcome: &'o BenchOutcome) -> BenchDiskDocument<'o> {
        let BenchOutcome { facts, record, budget, verdict, comparison, .. } = outcome;
        let steps = |pattern| outcome.of(pattern).map(|result| step(result, *budget)).collect();
        let zone = |zone: &scrubjay_core::bench::machine::ZoneFigures| ZoneEntry {
            bytes_per_second: (zone.bytes > 0).then(|| zone.bytes as f64 / zone.time.as_secs_f64().max(1e-9)),
            random_requests: zone.random.count as u64,
            random_mean_seconds: (zone.random.count > 0.0).then(|| zone.random.mean()),
        };
        BenchDiskDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            target: &outcome.target,
            id: &outcome.key,
            measured: outcome.at.0,
            engine: &outcome.engine,
            bytes: record.plan.bytes,
            span: outcome.span.word(),
            is_write: record.plan.is_write,
            state: outcome.state(),
            sentence: &verdict.sentence,
            verdict: verdict.grade.word(),
            budget_seconds: budget.as_secs_f64(),
            depth_inside: outcome.inside().map(|result| result.step.depth),
            warnings: outcome.warnings().map(|w| WarningEntry { code: w.code, words: &w.words }).collect(),
            first_request_seconds: record.first.map(Nanos::as_secs_f64),
            random: steps(BenchPattern::Random),
            sequential: steps(BenchPattern::Sequential),
            positions: record.zones.iter().map(zone).collect(),
            depths_left_out: record.left_out.iter().map(|step| step.depth).collect(),
            comparison: ComparisonDocument {
                past_runs: comparison.past.map_or(0, |past| past.0),
                past_median_seconds: comparison.past.map(|past| past.1),
                siblings: comparison.siblings.map_or(0, |siblings| siblings.0),
                siblings_median_seconds: comparison.siblings.map(|siblings| siblings.1),
                unlike: comparison.unlike,
            },
            disk: DiskFactsDocument {
                name: facts.disk.as_deref(),
                model: facts.model.as_deref(),
                serial: facts.serial.as_deref(),
                class: facts.class.to_string(),
                intermediary: facts.intermediary.as_ref().map(|answers| answers.code()),
                rpm: match facts.class {
                    MediumClass::Rotating { rpm } => rpm,
                    _ => None,
                },
                is_rotational: facts.is_rotational,
                driver: facts.driver.as_deref(),
                controller: facts.controller.as_deref(),
                is_raid_controller: facts.is_raid_controller,
                is_usb: facts.is_usb,
                scheduler: facts.scheduler.as_deref(),
                write_cache: facts.write_cache.as_deref(),
                queue_depth: facts.queue_depth,
                logical_block_bytes: facts.blocks.0,
                physical_block_bytes: facts.blocks.1,
                zoned: facts.zoned.as_deref(),
                below: &facts.below,
                kernel: &facts.kernel,
            },
        }
    }
}

fn step(result: &StepFigures, budget: Nanos) -> StepDocument {
    let quantile = |share| result.quantile(share).as_secs_f64();
    let is_known = result.requests > 0;
    StepDocument {
        depth: result.step.depth,
        request_bytes: result.step.request,
        seconds: result.window.as_secs_f64(),
        requests: result.requests,
        iops: result.iops(),
        bytes_per_second: result.bytes_per_second(),
        mean_seconds: result.mean(),
        deviation_seconds: result.deviation(),
        min_seconds: if is_known { result.latency_min.as_secs_f64() } else { 0.0 },
        p50_seconds: quantile(0.5),
        p95_seconds: quantile(0.95),
        p99_seconds: quantile(0.99),
        max_seconds: result.latency_max.as_secs_f64(),
        is_inside_budget: is_known && result.mean() <= budget.as_secs_f64(),
        is_complete: result.is_complete,
        is_repeating: result.is_repeating,
        faults: result.fault_count,
        fault_places: result
            .faults
            .iter()
            .map(|fault| FaultEntry { offset: fault.offset, bytes: fault.len, errno: fault.errno })
            .collect(),
        others_share: result.others_share(),
        distribution: result.latency.buckets().map(|(edge, count)| (edge, count as u64)).collect(),
        trace_bin_seconds: result.bin.as_secs_f64(),
        trace: result
            .trace
            .iter()
            .map(|bin| TraceEntry {
                requests: bin.requests,
                mean_seconds: bin.latency_sum / (bin.requests.max(1)) as f64,
                max_seconds: bin.latency_max.as_secs_f64(),
            })
            .collect(),
    }
}
