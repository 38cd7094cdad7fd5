//! The verdict on a benchmark: are the figures normal, which depth is within the budget, and what casts doubt on the figures.

use super::class::{MediumClass, half_turn, nearest_rotating};
use super::intermediary::Intermediary;
use super::machine::{BenchRecord, BenchState, LATENCY_MAX, ZoneFigures};
use super::plan::BenchPattern;
use super::step_result::StepFigures;
use super::words;
use crate::units::Nanos;

/// The least share of the time at depth 1 that counted requests must fill; below it the disk stalled.
const OCCUPIED_MIN: f64 = 0.8;
/// The factor by which a mean may lie outside the expected range and still be normal: it rests on a few hundred
/// requests, and disks differ.
const TOLERANCE: f64 = 1.1;
/// The latency budget of disks that rotate: "an average latency somewhere between 10 to 20 ms is considered acceptable
/// (20 ms is the upper limit)" ("Understanding Storage Performance: IOPS and Latency", 2020).
pub const BUDGET_ROTATING: Nanos = Nanos::from_millis(20);
/// The latency budget of all other disks: "it should never reach higher than 1-3 ms" (the same source).
pub const BUDGET_FLASH: Nanos = Nanos::from_millis(3);
/// A mean latency above this, in seconds, shows that there is a moving head below, whatever the disk reports.
const ROTATES_FROM: f64 = 0.002;
/// Above this share of other programs in the disk's traffic there is no verdict.
const OTHERS_MAX: f64 = 0.10;
/// Above this share of other programs there is a warning.
const OTHERS_REPORTED: f64 = 0.01;
/// Above this share of holes, of zeroes, or of reads that no disk served, there is no verdict; of zeroes, a warning too.
const UNSERVED_MAX: f64 = 0.5;
/// Above this share of holes, or of reads that no disk served, there is a warning.
const UNSERVED_REPORTED: f64 = 0.05;
/// The least number of requests that figures can rest on.
const REQUESTS_MIN: u64 = 8;

/// Facts about a disk besides its figures.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchContext {
    /// Its class.
    pub class: MediumClass,
    /// The intermediary that answers in place of a medium, if there is one.
    pub intermediary: Option<Intermediary>,
    /// Does the kernel take it for one that rotates?
    pub is_rotational: bool,
    /// The share (0..=1) of the disk that is measured: less than 1 for a partition or a file.
    pub span_share: f64,
    /// For a file, the share (0..=1) that was never written.
    pub hole_share: Option<f64>,
    /// The share (0..=1) of the data read that the disk below served, as the kernel counts it.
    pub served_share: Option<f64>,
    /// The driver of a RAID controller with a cache of its own, if there is one.
    pub raid_driver: Option<String>,
    /// Does it take discards? Then it knows unwritten blocks and answers them without reading.
    pub is_thin: bool,
    /// The mean latency that may not be exceeded.
    pub budget: Nanos,
    /// The resolution of the clock.
    pub clock_step: Nanos,
    /// Was it being scrubbed when the benchmark began?
    pub is_scrubbed: bool,
}

/// The grade of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchGrade {
    /// Normal for the class.
    Normal,
    /// Slower than the class.
    Slow,
    /// Faster than the class, though not impossible.
    Fast,
    /// Too fast for the class: something else answers.
    Impossible,
    /// The class is not known; the disk performs like a known one.
    Alike,
    /// No verdict.
    Unknown,
}

impl BenchGrade {
    /// One word, for programs.
    pub const fn word(self) -> &'static str {
        match self {
            BenchGrade::Normal => "normal",
            BenchGrade::Slow => "slow",
            BenchGrade::Fast => "fast",
            BenchGrade::Impossible => "impossible",
            BenchGrade::Alike => "alike",
            BenchGrade::Unknown => "unknown",
        }
    }
}

/// A doubt about the figures, or something that the user should know with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchWarning {
    /// A code for programs.
    pub code: &'static str,
    /// A sentence for people, without its full stop.
    pub words: String,
}

/// The verdict on a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchVerdict {
    /// The grade.
    pub grade: BenchGrade,
    /// The verdict in a sentence or two.
    pub sentence: String,
    /// The random step with the largest depth within the budget, as an index into the results.
    pub inside: Option<usize>,
    /// Warnings for the user.
    pub warnings: Vec<BenchWarning>,
}

/// The default budget: by the disk's flag for rotation, or, where that means nothing, by its latency.
pub fn usual_budget(record: &BenchRecord, class: MediumClass, is_rotational: bool) -> Nanos {
    let first = record.results.iter().find(|result| result.step.pattern == BenchPattern::Random);
    let is_open = matches!(class, MediumClass::Virtual | MediumClass::Layered | MediumClass::Remote);
    let is_slow = first.is_some_and(|first| first.mean() > ROTATES_FROM);
    if if is_open { is_slow } else { is_rotational } { BUDGET_ROTATING } else { BUDGET_FLASH }
}

/// Judges a benchmark.
pub fn judge(bench: &BenchRecord, context: &BenchContext) -> BenchVerdict {
    let results = &bench.results;
    let mut warnings = Vec::new();
    let mut warn = |code, words| warnings.push(BenchWarning { code, words });
    let random: Vec<(usize, &StepFigures)> =
        results.iter().enumerate().filter(|(_, result)| result.step.pattern == BenchPattern::Random).collect();
    let first = random.first().map(|&(_, result)| result).filter(|result| result.requests >= REQUESTS_MIN);
    let inside = deepest_within(&random, context.budget);
    let Some(first) = first else {
        let why = match bench.state {
            BenchState::Gone => "the disk is gone",
            BenchState::Failing => "no request ended well",
            BenchState::Stopped => "it was stopped before there were enough requests",
            BenchState::Running | BenchState::Complete => "there were too few requests",
        };
        faults(results, &mut warn);
        let sentence = format!("No figures: {why}.");
        return BenchVerdict { grade: BenchGrade::Unknown, sentence, inside: None, warnings };
    };
    let (grade, judgement) = grade(bench, first, context);
    let (depth, iops, mean) = (first.step.depth, words::rate(first.iops()), words::latency(first.mean()));
    let kind = if bench.plan.is_write { " write" } else { "" };
    let budget = words::limit(context.budget);
    let budget_sentence = match inside.map(|index| &results[index]) {
        None => format!("Not even depth {depth} is inside a budget of {budget}."),
        Some(best) => {
            let (iops, mean) = (words::rate(best.iops()), words::latency(best.mean()));
            let is_last = random.last().is_some_and(|&(_, last)| last.step.depth == best.step.depth);
            let all_note = if is_last && random.len() > 1 { " (all that were measured)" } else { "" };
            format!("Inside a budget of {budget}: up to depth {}{all_note} = {iops} IOPS at {mean}.", best.step.depth)
        }
    };
    let sentence = format!("{iops}{kind} IOPS at {mean} (depth {depth}): {judgement}. {budget_sentence}");
    faults(results, &mut warn);
    disturbances(bench, first, context, &mut warn);
    caches(first, context, &mut warn);
    queue(&random, &mut warn);
    weak_zones(&bench.zones, &mut warn);
    BenchVerdict { grade, sentence, inside, warnings }
}

/// The step with the largest depth whose mean, like those of all shallower ones, is within the budget.
fn deepest_within(random: &[(usize, &StepFigures)], budget: Nanos) -> Option<usize> {
    let fits = |result: &StepFigures| result.requests > 0 && result.mean() <= budget.as_secs_f64();
    random.iter().take_while(|(_, result)| fits(result)).last().map(|&(index, _)| index)
}

fn grade(bench: &BenchRecord, first: &StepFigures, context: &BenchContext) -> (BenchGrade, String) {
    let unknown = |why: String| (BenchGrade::Unknown, why);
    let mean = first.mean();
    if let Some(share) = first.others_share().filter(|&share| share > OTHERS_MAX) {
        return unknown(format!(
            "no verdict, because others used the disk ({} of all that it did)",
            words::share(share)
        ));
    }
    if let Some(share) = context.hole_share.filter(|&share| share > UNSERVED_MAX) {
        return unknown(format!("no verdict, because {} of the file were never written", words::share(share)));
    }
    if let Some(share) = context.served_share.filter(|&share| share < 1.0 - UNSERVED_MAX) {
        return unknown(format!(
            "no verdict, because the disk served only {} of what was read: the rest came from memory, or is not there",
            words::share(share)
        ));
    }
    // A device as slow as a head has read the medium, even if it found zeroes.
    let is_quick = mean < ROTATES_FROM && !matches!(context.class, MediumClass::Rotating { .. });
    if let Some(share) = first.zero_share().filter(|&share| share > UNSERVED_MAX && is_quick) {
        return unknown(format!(
            "no verdict, because {} of what was read is zeroes, which many devices answer without a look at the medium",
            words::share(share)
        ));
    }
    if first.step.depth != 1 {
        return unknown("no verdict, which rests on depth 1".to_owned());
    }
    // At depth 1 a request is at the disk all the time. If there are gaps, a request outlasted the step, or the machine
    // stood still.
    let occupied = first.iops() * mean;
    if first.fault_count == 0 && first.requests > 0 && occupied < OCCUPIED_MIN {
        return unknown(format!(
            "no verdict, because what was counted fills only {} of the time: it stalled",
            words::share(occupied)
        ));
    }
    if bench.plan.is_write {
        return unknown("no verdict: what writes should take depends on caches".to_owned());
    }
    let supposed_kind = if context.is_rotational { "a disk that rotates" } else { "any disk" };
    if mean < context.class.least() {
        return (BenchGrade::Impossible, format!("too fast for {}: a cache answers", impossible(context)));
    }
    let Some(expected) = context.class.expected() else {
        let (grade, judgement) = alike(mean, context, supposed_kind);
        return match &context.intermediary {
            Some(answers) => (grade, format!("{judgement}; no verdict, because the disk is {answers}")),
            None => (grade, judgement),
        };
    };
    let limit = |seconds: f64| words::limit(Nanos::from_secs_f64(seconds));
    let band = format!(
        "{}-{} IOPS at {} to {}",
        words::rate(expected.iops.0),
        words::rate(expected.iops.1),
        limit(expected.latency.0),
        limit(expected.latency.1)
    );
    let name = &expected.name;
    if mean > expected.latency.1 * TOLERANCE {
        return (BenchGrade::Slow, format!("slow for {name} ({band} would be normal)"));
    }
    if mean >= expected.latency.0 / TOLERANCE {
        return (BenchGrade::Normal, format!("normal for {name}"));
    }
    if matches!(context.class, MediumClass::Rotating { .. }) && context.span_share < 0.9 {
        return (
            BenchGrade::Normal,
            format!("normal for {name}, whose arm moves over {} of the disk only", words::share(context.span_share)),
        );
    }
    (BenchGrade::Fast, format!("faster than {name} ({band} would be normal)"))
}

fn impossible(context: &BenchContext) -> String {
    match context.class {
        MediumClass::Rotating { rpm: Some(rpm) } => {
            format!("{rpm} rpm (half a turn alone takes {})", words::latency(half_turn(rpm)))
        }
        class => class.expected().map_or_else(|| class.to_string(), |expected| expected.name),
    }
}

/// The class that a disk of unknown class performs like.
fn alike(mean: f64, context: &BenchContext, supposed_kind: &str) -> (BenchGrade, String) {
    let alike_to = |class_name: &str| (BenchGrade::Alike, format!("as {class_name} would"));
    // A layered device inherits the flag for rotation, and a virtual disk sets it whatever lies below: the flag alone
    // proves nothing.
    if mean > 0.0045 || context.is_rotational && mean > ROTATES_FROM {
        let nearest = nearest_rotating(mean);
        if mean > nearest.latency.1 * 1.4 {
            return match context.intermediary {
                Some(_) => (BenchGrade::Alike, "slower than a single disk would be".to_owned()),
                None => (BenchGrade::Slow, format!("slow for {supposed_kind}")),
            };
        }
        return alike_to(&format!("a disk of {}", nearest.name));
    }
    match mean {
        _ if mean < 8e-6 => alike_to("memory"),
        _ if mean < 120e-6 => alike_to("an NVMe SSD"),
        _ if mean < 350e-6 => alike_to("a SATA SSD"),
        _ => alike_to("a disk behind a network, or a slow card,"),
    }
}

fn faults(results: &[StepFigures], warn: &mut impl FnMut(&'static str, String)) {
    let count: u64 = results.iter().map(|result| result.fault_count).sum();
    if count > 0 {
        let requests = if count == 1 { "request" } else { "requests" };
        warn(
            "faults",
            format!(
                "{count} {requests} failed (places below); they count as no request, but the time that they took is in the \
                 IOPS. Scrub this disk: scrubjay scrub"
            ),
        );
    }
}

fn disturbances(
    bench: &BenchRecord,
    first: &StepFigures,
    context: &BenchContext,
    warn: &mut impl FnMut(&'static str, String),
) {
    let results = &bench.results;
    let disturbed: Vec<(&StepFigures, f64)> = results
        .iter()
        .filter_map(|result| Some((result, result.others_share().filter(|&share| share > OTHERS_REPORTED)?)))
        .collect();
    if let Some(&(worst, share)) = disturbed.iter().max_by(|one, two| one.1.total_cmp(&two.1)) {
        warn(
            "others",
            format!(
                "others used the disk meanwhile, in {} of {} steps; most in {} depth {}: {} of all that it did",
                disturbed.len(),
                results.len(),
                worst.step.pattern,
                worst.step.depth,
                words::share(share)
            ),
        );
    }
    if results.iter().all(|result| result.others.is_none()) {
        warn("others-unseen", "whether others used the disk cannot be seen here".to_owned());
    }
    if context.is_scrubbed {
        warn("scrub", "a scrub of this disk is under way; it waits while we measure, as it should".to_owned());
    }
    if let Some(slept) = bench.first.filter(|first_of_all| {
        let usual = first.quantile(0.99).as_secs_f64();
        first_of_all.as_secs_f64() > (20.0 * usual).max(if context.is_rotational { 1.0 } else { 0.005 })
    }) {
        let slept = words::latency(slept.as_secs_f64());
        warn("slept", format!("the first request took {slept}: the disk slept; it is not counted"));
    }
    if let Some((drift, step)) = results.iter().find_map(|result| Some((result.drift()?, result.step))) {
        let (from, to) = (words::rate(drift.first), words::rate(drift.last));
        let (pattern, depth) = (step.pattern, step.depth);
        if drift.last < 0.7 * drift.first {
            warn(
                "falls",
                format!(
                    "the rate fell from {from} to {to} requests a second within {pattern} depth {depth}: a cache that is full, or a \
                     volume that is throttled once its credit is used up; what it can do for long is the last figure at best"
                ),
            );
        } else if drift.last > 1.4 * drift.first {
            warn(
                "rises",
                format!(
                    "the rate rose from {from} to {to} requests a second within {pattern} depth {depth}: it was woken, or \
                     what was read comes from a cache by now"
                ),
            );
        }
    }
    repeating(results, warn);
    let error = first.deviation() / (first.requests as f64).sqrt() / first.mean().max(1e-12);
    if error > 0.025 {
        warn(
            "few",
            format!(
                "the mean at depth 1 is known to {} only (95 %): measure longer, with --seconds",
                words::share(2.0 * error)
            ),
        );
    }
    if context.clock_step.as_secs_f64() * 20.0 > first.mean() {
        let step = words::latency(context.clock_step.as_secs_f64());
        warn("clock", format!("the clock goes in steps of {step}: too coarse for these latencies"));
    }
    if let Some(step) = bench.left_out.first() {
        let shallower = results.iter().rfind(|result| result.step.pattern == step.pattern);
        let why = match shallower.is_some_and(|last| last.mean() > LATENCY_MAX) {
            true => "requests take more than a second".to_owned(),
            false => {
                format!("so slow a disk would not be through within {} s", bench.plan.limit().as_secs_f64().round())
            }
        };
        warn("left-out", format!("{} depth {} and more are left out: {why}", step.pattern, step.depth));
    }
}

/// Warns of places that were read again, and so may come from a cache.
fn repeating(results: &[StepFigures], warn: &mut impl FnMut(&'static str, String)) {
    let again: Vec<&StepFigures> = results.iter().filter(|result| result.is_repeating).collect();
    let Some(first) = again.first() else { return };
    let (pattern, depth, count) = (first.step.pattern, first.step.depth, again.len());
    let further_steps = match count {
        1 => String::new(),
        2 => " and one more step".to_owned(),
        more => format!(" and {} more steps", more - 1),
    };
    let cause = match pattern {
        BenchPattern::Random => "it has fewer places than there were requests",
        _ => "it was read to its end, and from its first byte again",
    };
    warn(
        "repeating",
        format!("{cause}: in {pattern} depth {depth}{further_steps} places came again, which a cache may have kept"),
    );
}

fn caches(first: &StepFigures, context: &BenchContext, warn: &mut impl FnMut(&'static str, String)) {
    if let Some(driver) = &context.raid_driver {
        warn(
            "raid-controller",
            format!(
                "it is behind a RAID controller ({driver}), whose cache and firmware answer, too: figures of the disk itself need \
                 an HBA or the controller's pass-through mode"
            ),
        );
    }
    let (percent, is_reported) = (words::share, |share: f64| share > UNSERVED_REPORTED);
    if let Some(holes) = context.hole_share.filter(|&share| is_reported(share)) {
        warn(
            "holes",
            format!("{} of the file were never written: reads of holes take no time and touch no disk", percent(holes)),
        );
    }
    if let Some(served) = context.served_share.filter(|&share| is_reported(1.0 - share)) {
        warn(
            "memory",
            format!(
                "the disk below served {} of what was read: the file system answered the rest from memory, from holes, or from less \
                 (compression)",
                percent(served)
            ),
        );
    }
    if let Some(zeroes) = first.zero_share().filter(|&share| share > UNSERVED_MAX) {
        let thin = if context.is_thin { " (it takes discards, so it knows what was never written)" } else { "" };
        warn(
            "zeroes",
            format!(
                "{} of what was read is zeroes{thin}: thin, compressed or trimmed devices answer these without a look at the medium",
                percent(zeroes)
            ),
        );
    }
    if let MediumClass::Rotating { rpm } = context.class {
        // A fifth of half a turn: no head gets there so fast so often.
        let early_limit = half_turn(rpm.unwrap_or(15_000)) / 5.0;
        let early: f64 = first.latency.buckets().filter(|(edge, _)| *edge < early_limit).map(|(_, count)| count).sum();
        let share = early / (first.requests as f64).max(1.0);
        // A tenth of all places come round within that time even without a cache, if the arm is there already.
        if share > 0.15 {
            warn(
                "cache",
                format!(
                    "{} of the requests were answered within {}, sooner than a disk that rotates finds its places: a cache \
                         answers them",
                    percent(share),
                    words::latency(early_limit)
                ),
            );
        }
    }
}

fn queue(random: &[(usize, &StepFigures)], warn: &mut impl FnMut(&'static str, String)) {
    let (Some((_, first)), Some((_, last))) = (random.first(), random.last()) else { return };
    let best = random.iter().map(|(_, result)| result.iops()).fold(0.0, f64::max);
    let is_measured = first.step.depth == 1 && last.step.depth >= 8 && last.requests >= REQUESTS_MIN;
    if is_measured && best < 1.1 * first.iops() {
        let why =
            if first.mean() > ROTATES_FROM { ": it serves them in the order of their arrival (no NCQ)" } else { "" };
        warn("no-gain", format!("deeper queues gain nothing but latency{why}"));
    }
}

/// Warns of zones that are less than 0.4 times as fast as their neighbours.
fn weak_zones(zones: &[ZoneFigures], warn: &mut impl FnMut(&'static str, String)) {
    let rate = |zone: &ZoneFigures| (zone.bytes > 0).then(|| zone.bytes as f64 / zone.time.as_secs_f64().max(1e-9));
    for (index, zone) in zones.iter().enumerate() {
        let Some(zone_rate) = rate(zone) else { continue };
        let around = &zones[index.saturating_sub(2)..(index + 3).min(zones.len())];
        let mut rates_around: Vec<f64> = around.iter().filter_map(rate).collect();
        rates_around.sort_by(f64::total_cmp);
        let usual = rates_around[rates_around.len() / 2];
        // One measurement may be slow by chance; a scrub, which reads the whole zone, shows more.
        if rates_around.len() >= 4 && zone_rate < 0.4 * usual {
            let place = words::share((index as f64 + 0.5) / zones.len() as f64);
            warn(
                "weak-zone",
                format!(
                    "at {place} of the disk it gave {} where its neighbours give {}: retries there, or requests of others",
                    words::throughput(zone_rate),
                    words::throughput(usual)
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests;
