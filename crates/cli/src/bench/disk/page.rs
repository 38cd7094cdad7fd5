//! The result as a page with pictures.

use crate::page;
use crate::page::StudyProvenance;
use anyhow::{Context, Result};
use scrubjay_chart::{Axis, CurvePoint, Exhibit, Figure, Page, Series, Style, Table};
use scrubjay_core::bench::plan::BenchPattern;
use scrubjay_core::bench::step_result::StepFigures;
use scrubjay_core::bench::words;
use scrubjay_jobs::bench::BenchOutcome;
use std::path::{Path, PathBuf};

/// Draws the page into a folder, and returns the files, the page first.
///
/// # Errors
/// Those of [`page::write`].
pub fn write(outcome: &BenchOutcome, method: &str, folder: &Path) -> Result<Vec<PathBuf>> {
    let facts = &outcome.facts;
    let name = [Some(outcome.target.clone()), facts.model.clone(), facts.serial.clone()];
    let mut paragraphs =
        vec![outcome.verdict.sentence.clone(), name.into_iter().flatten().collect::<Vec<_>>().join(", ")];
    paragraphs.extend(outcome.warnings().map(|warning| sentence(&warning.words)));
    let mut provenance = StudyProvenance::of_this_run();
    provenance.add("method", method.to_owned());
    let page = Page { title: "IOPS with latency".to_owned(), paragraphs, exhibits: exhibits(outcome) };
    page::write(&page, folder, provenance.all()).context("the page")
}

/// Words as a sentence: with a capital letter and a full stop.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map_or_else(String::new, |first| first.to_uppercase().to_string());
    format!("{first}{}.", letters.as_str())
}

/// The exhibits for which there are data.
fn exhibits(outcome: &BenchOutcome) -> Vec<Exhibit> {
    let known = |pattern| outcome.of(pattern).filter(|result| result.requests > 0).collect::<Vec<&StepFigures>>();
    let (random, sequential) = (known(BenchPattern::Random), known(BenchPattern::Sequential));
    let mut exhibits = Vec::new();
    if !random.is_empty() {
        exhibits.push(trade_off(outcome, &random));
        exhibits.push(table("random", "Small random requests", outcome, &random));
        exhibits.extend([rates(&random), latencies(outcome, &random), distribution(outcome, &random)]);
    }
    exhibits.extend(positions(outcome));
    if let Some(first) = random.first().filter(|first| first.trace.len() > 1) {
        exhibits.push(trace(first));
    }
    if !sequential.is_empty() {
        exhibits.push(table("sequential", "Large sequential requests", outcome, &sequential));
    }
    exhibits
}

fn millis(seconds: f64) -> f64 {
    seconds * 1e3
}

/// IOPS against latency in one picture: a point for each depth, and the budget.
fn trade_off(outcome: &BenchOutcome, random: &[&StepFigures]) -> Exhibit {
    let points = random.iter().map(|result| CurvePoint {
        x: result.iops(),
        y: millis(result.mean()),
        label: result.step.depth.to_string(),
    });
    let most = random.iter().map(|result| result.iops()).fold(0.0, f64::max);
    let budget = millis(outcome.budget.as_secs_f64());
    let caption = match outcome.inside() {
        Some(best) => format!(
            "A point a depth. The budget of {} is kept up to depth {}: {} IOPS. Where the curve turns upwards, deeper queues \
             gain little but latency.",
            words::limit(outcome.budget),
            best.step.depth,
            words::rate(best.iops())
        ),
        None => format!("A point a depth. No depth keeps the budget of {}.", words::limit(outcome.budget)),
    };
    Exhibit::Figure(Figure {
        name: "latency-by-iops".to_owned(),
        title: "What more requests a second cost".to_owned(),
        caption,
        x: Axis::from_zero("requests a second"),
        y: Axis::log("mean latency (ms)"),
        series: vec![
            Series { name: "by depth".to_owned(), style: Style::Line, colour: None, points: points.collect() },
            Series::new("budget", Style::Dashed, [(0.0, budget), (most, budget)]),
        ],
    })
}

fn rates(random: &[&StepFigures]) -> Exhibit {
    let points = random.iter().map(|result| (f64::from(result.step.depth), result.iops()));
    Exhibit::Figure(Figure {
        name: "iops-by-depth".to_owned(),
        title: "Requests a second by queue depth".to_owned(),
        caption: "Each step to the right doubles the queue.".to_owned(),
        x: Axis::octaves("queue depth"),
        y: Axis::from_zero("requests a second"),
        series: vec![Series::new("small random requests", Style::Bars, points)],
    })
}

fn latencies(outcome: &BenchOutcome, random: &[&StepFigures]) -> Exhibit {
    let depth = |result: &StepFigures| f64::from(result.step.depth);
    let curve = |name: &str, value: fn(&StepFigures) -> f64| {
        Series::new(name, Style::Line, random.iter().map(|result| (depth(result), millis(value(result)))))
    };
    let (first, last) = (depth(random[0]), depth(random[random.len() - 1]));
    let budget = millis(outcome.budget.as_secs_f64());
    Exhibit::Figure(Figure {
        name: "latency-by-depth".to_owned(),
        title: "Latency by queue depth".to_owned(),
        caption: "Mean, half of all, and the slowest of a hundred and of all.".to_owned(),
        x: Axis::octaves("queue depth"),
        y: Axis::log("latency (ms)"),
        series: vec![
            curve("mean", StepFigures::mean),
            curve("p50", |result| result.quantile(0.5).as_secs_f64()),
            curve("p99", |result| result.quantile(0.99).as_secs_f64()),
            curve("max", |result| result.latency_max.as_secs_f64()),
            Series::new("budget of the mean", Style::Dashed, [(first, budget), (last, budget)]),
        ],
    })
}

/// The distribution of latencies at the first depth, and at the largest inside the budget.
fn distribution(outcome: &BenchOutcome, random: &[&StepFigures]) -> Exhibit {
    let mut shown = vec![random[0]];
    shown.extend(outcome.inside().filter(|best| best.step.depth != random[0].step.depth));
    let curve = |result: &&StepFigures| {
        let mut below = 0.0;
        let points = result.latency.buckets().map(|(edge, count)| {
            below += count;
            (millis(edge), 100.0 * below / result.requests.max(1) as f64)
        });
        Series::new(format!("depth {}", result.step.depth), Style::Line, points.collect::<Vec<_>>())
    };
    Exhibit::Figure(Figure {
        name: "distribution".to_owned(),
        title: "How latencies are distributed".to_owned(),
        caption:
            "The share of requests that took no longer. A step far to the left is a cache; a long tail to the right is \
                  retries, or other requests."
                .to_owned(),
        x: Axis::log("latency (ms)"),
        y: Axis::from_zero("share of requests (%)"),
        series: shown.iter().map(curve).collect(),
    })
}

fn positions(outcome: &BenchOutcome) -> Vec<Exhibit> {
    let zones = &outcome.record.zones;
    let place = |index: usize| 100.0 * (index as f64 + 0.5) / zones.len() as f64;
    let rate: Vec<(f64, f64)> = zones
        .iter()
        .enumerate()
        .filter(|(_, zone)| zone.bytes > 0)
        .map(|(index, zone)| (place(index), zone.bytes as f64 / zone.time.as_secs_f64().max(1e-9) / 1e6))
        .collect();
    let latency: Vec<(f64, f64)> = zones
        .iter()
        .enumerate()
        .filter(|(_, zone)| zone.random.count > 0.0)
        .map(|(index, zone)| (place(index), millis(zone.random.mean())))
        .collect();
    let figure = |name: &str, title: &str, caption: &str, y: &str, points: Vec<(f64, f64)>| {
        (!points.is_empty()).then(|| {
            Exhibit::Figure(Figure {
                name: name.to_owned(),
                title: title.to_owned(),
                caption: caption.to_owned(),
                x: Axis::from_zero("position on the disk (%)"),
                y: Axis::from_zero(y),
                series: vec![Series::new("by position", Style::Line, points)],
            })
        })
    };
    let throughput = "Runs of large requests in all parts, the way there not counted. Disks that rotate are about half as fast at \
                      the end.";
    let small = "Mean of the small random requests of the first depth that fell there.";
    [
        figure("throughput-by-position", "Throughput by position", throughput, "MB/s", rate),
        figure("latency-by-position", "Latency by position", small, "mean latency (ms)", latency),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn trace(first: &StepFigures) -> Exhibit {
    let seconds = first.bin.as_secs_f64();
    let points = first
        .trace
        .iter()
        .enumerate()
        .map(|(index, bin)| ((index as f64 + 0.5) * seconds, bin.requests as f64 / seconds));
    Exhibit::Figure(Figure {
        name: "rate-over-time".to_owned(),
        title: "In the course of the first depth".to_owned(),
        caption: "A rate that falls is a cache that is full, a credit that is used up, or another program.".to_owned(),
        x: Axis::from_zero("time (s)"),
        y: Axis::from_zero("requests a second"),
        series: vec![Series::new("rate", Style::Line, points.collect::<Vec<_>>())],
    })
}

fn table(name: &str, title: &str, outcome: &BenchOutcome, results: &[&StepFigures]) -> Exhibit {
    let has_budget = results.first().is_some_and(|result| result.step.pattern == BenchPattern::Random);
    let quantile = |result: &StepFigures, share| words::latency(result.quantile(share).as_secs_f64());
    let row = |result: &&StepFigures| {
        let mut cells = vec![
            result.step.depth.to_string(),
            words::rate(result.iops()),
            words::throughput(result.bytes_per_second()),
            words::latency(result.mean()),
            quantile(result, 0.5),
            quantile(result, 0.95),
            quantile(result, 0.99),
            words::latency(result.latency_max.as_secs_f64()),
        ];
        let inside = if result.mean() <= outcome.budget.as_secs_f64() { "yes" } else { "no" };
        cells.extend(has_budget.then(|| inside.to_owned()));
        cells
    };
    let mut head = vec!["depth", "IOPS", "throughput", "mean", "p50", "p95", "p99", "max"];
    head.extend(has_budget.then_some("mean inside the budget"));
    let caption = match has_budget {
        true => format!("The budget is {}.", words::limit(outcome.budget)),
        false => "What copies and backups ask for: here the throughput counts, and no budget.".to_owned(),
    };
    Exhibit::Table(Table {
        name: name.to_owned(),
        title: title.to_owned(),
        caption,
        head: head.into_iter().map(str::to_owned).collect(),
        rows: results.iter().map(row).collect(),
    })
}
