//! The result as text: the sentence first, then the figures behind it, then warnings.

use crate::columns::{self, TextTable};
use crate::say::{print_line, print_prose};
use scrubjay_core::bench::plan::BenchPattern;
use scrubjay_core::bench::step_result::StepFigures;
use scrubjay_core::bench::verdict::BenchGrade;
use scrubjay_core::bench::words;
use scrubjay_core::units::Bytes;
use scrubjay_jobs::bench::BenchOutcome;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Rows of a text picture, at most.
const ROWS: usize = 8;
/// Characters of the longest bar, and of the longest one in a narrow terminal.
const BAR: usize = 30;
const BAR_NARROW: usize = 10;
/// Columns of a terminal in which bars are short.
const NARROW: usize = 60;
/// Faults that are listed one by one, at most.
const FAULTS_MAX: usize = 10;

/// Prints the whole result.
///
/// # Errors
/// An error of `out`.
pub fn print(outcome: &BenchOutcome, out: &mut impl Write) -> io::Result<()> {
    let width = columns::width();
    print_prose(out, "", &outcome.verdict.sentence, width)?;
    print_line(out, format_args!("{}", head(outcome)))?;
    random(outcome, out, width)?;
    sequential(outcome, out, width)?;
    positions(outcome, out, width)?;
    distribution(outcome, out, width)?;
    trace(outcome, out, width)?;
    faults(outcome, out)?;
    let warnings: Vec<_> = outcome.warnings().collect();
    if !warnings.is_empty() {
        writeln!(out)?;
    }
    for warning in warnings {
        print_prose(out, "note    ", &format!("{}.", warning.words), width)?;
    }
    compared(outcome, out, width)?;
    print_prose(out, "method  ", &method(outcome), width)
}

/// What was measured, in one line.
fn head(outcome: &BenchOutcome) -> String {
    let facts = &outcome.facts;
    let bytes = outcome.record.plan.bytes;
    let size = format!("{} ({bytes} bytes)", Bytes(bytes));
    let words = [
        Some(outcome.target.clone()),
        facts.model.clone(),
        facts.serial.clone(),
        Some(size),
        Some(facts.class.to_string()),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

fn kind(outcome: &BenchOutcome) -> &'static str {
    if outcome.record.plan.is_write { "writes" } else { "reads" }
}

/// A row: depth, rate, latencies (mean, p50, p95, p99, max) and a remark.
fn row(result: &StepFigures, rate: String, remark: &str) -> Vec<String> {
    let quantile = |share| words::latency(result.quantile(share).as_secs_f64());
    let max = words::latency(result.latency_max.as_secs_f64());
    let latencies = [words::latency(result.mean()), quantile(0.5), quantile(0.95), quantile(0.99), max];
    let cut = if result.is_complete { "" } else { "(stopped)" };
    let remarks: Vec<&str> = [remark, cut].into_iter().filter(|remark| !remark.is_empty()).collect();
    [result.step.depth.to_string(), rate].into_iter().chain(latencies).chain([remarks.join("  ")]).collect()
}

/// Prints rows by depth; a narrow terminal has fewer quantiles.
fn by_depth(rate: &str, rows: &[Vec<String>], out: &mut impl Write, width: Option<usize>) -> io::Result<()> {
    let headings = ["depth", rate, "mean", "p50", "p95", "p99", "max", ""];
    let least_important = ["p95", "p50", "max", "p99"];
    TextTable { headings: &headings, least_important: &least_important, figures: 0..7, indent: 2 }
        .print(rows, width, out)
}

/// Characters of the longest bar.
fn bar_max(width: Option<usize>) -> usize {
    if width.is_some_and(|width| width < NARROW) { BAR_NARROW } else { BAR }
}

fn request(results: &[&StepFigures]) -> String {
    results.first().map_or_else(String::new, |result| Bytes(result.step.request).to_string())
}

fn random(outcome: &BenchOutcome, out: &mut impl Write, width: Option<usize>) -> io::Result<()> {
    let results: Vec<&StepFigures> = outcome.of(BenchPattern::Random).filter(|result| result.requests > 0).collect();
    if results.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{} random {}", request(&results), kind(outcome))?;
    let inside = outcome.inside().map(|result| result.step.depth);
    let limit = format!("<- inside {}", words::limit(outcome.budget));
    let row = |result: &&StepFigures| {
        let mark = if inside == Some(result.step.depth) { limit.as_str() } else { "" };
        row(result, words::rate(result.iops()), mark)
    };
    let rows: Vec<Vec<String>> = results.iter().map(row).collect();
    by_depth("IOPS", &rows, out, width)
}

fn sequential(outcome: &BenchOutcome, out: &mut impl Write, width: Option<usize>) -> io::Result<()> {
    let results: Vec<&StepFigures> =
        outcome.of(BenchPattern::Sequential).filter(|result| result.requests > 0).collect();
    if results.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let title = format!("{} sequential {}, from the first byte on", request(&results), kind(outcome));
    print_prose(out, "", &title, width)?;
    let row = |result: &&StepFigures| row(result, words::rate(result.bytes_per_second() / 1e6), "");
    let rows: Vec<Vec<String>> = results.iter().map(row).collect();
    by_depth("MB/s", &rows, out, width)
}

/// Prints the zones, joined if there are many.
fn positions(outcome: &BenchOutcome, out: &mut impl Write, width: Option<usize>) -> io::Result<()> {
    let zones = &outcome.record.zones;
    if zones.iter().all(|zone| zone.bytes == 0 && zone.random.count == 0.0) {
        return Ok(());
    }
    let zones_per_row = zones.len().div_ceil(ROWS).max(1);
    let rows: Vec<(f64, f64, Option<f64>)> = zones
        .chunks(zones_per_row)
        .enumerate()
        .map(|(row, zones)| {
            let bytes: u64 = zones.iter().map(|zone| zone.bytes).sum();
            let seconds: f64 = zones.iter().map(|zone| zone.time.as_secs_f64()).sum();
            let count: f64 = zones.iter().map(|zone| zone.random.count).sum();
            let sum: f64 = zones.iter().map(|zone| zone.random.sum).sum();
            let place = (row * zones_per_row) as f64 / outcome.record.zones.len() as f64;
            (place, if bytes > 0 { bytes as f64 / seconds.max(1e-9) } else { 0.0 }, (count > 0.0).then(|| sum / count))
        })
        .collect();
    let most = rows.iter().map(|row| row.1).fold(1e-9, f64::max);
    writeln!(out)?;
    let title = format!("By position: {} runs of large requests, latency of small ones at depth 1", zones.len());
    print_prose(out, "", &title, width)?;
    let row = |(place, rate, latency): (f64, f64, Option<f64>)| {
        let bar = "#".repeat((rate / most * bar_max(width) as f64).round() as usize);
        let latency = latency.map_or_else(|| "-".to_owned(), words::latency);
        let rate = if rate > 0.0 { words::throughput(rate) } else { "-".to_owned() };
        vec![words::share(place), rate, latency, bar]
    };
    let rows: Vec<Vec<String>> = rows.into_iter().map(row).collect();
    TextTable { headings: &[""; 4], least_important: &[], figures: 0..3, indent: 2 }.print(&rows, width, out)
}

/// Prints the distribution of latencies at the first depth: a row for each doubling.
fn distribution(outcome: &BenchOutcome, out: &mut impl Write, width: Option<usize>) -> io::Result<()> {
    let Some(first) = outcome.of(BenchPattern::Random).next().filter(|result| result.requests > 0) else {
        return Ok(());
    };
    let octave = |seconds: f64| (seconds * 1e6).max(1.0).log2().ceil() as i32;
    let mut rows: Vec<(i32, f64)> = Vec::new();
    for (edge, count) in first.latency.buckets() {
        match rows.last_mut() {
            Some((row, sum)) if *row == octave(edge) => *sum += count,
            _ => rows.push((octave(edge), count)),
        }
    }
    let most = rows.iter().map(|row| row.1).fold(1.0, f64::max);
    writeln!(out, "\nLatencies at depth {}", first.step.depth)?;
    for (row, count) in rows {
        let bar = "#".repeat((count / most * bar_max(width) as f64).round() as usize);
        let edge = words::latency(f64::from(row).exp2() / 1e6);
        let share = words::share(count / first.requests as f64);
        writeln!(out, "  <= {edge:>8}{share:>8}  {bar}")?;
    }
    Ok(())
}

/// Prints the rate during the first step, in ten pieces.
fn trace(outcome: &BenchOutcome, out: &mut impl Write, width: Option<usize>) -> io::Result<()> {
    let Some(first) = outcome.of(BenchPattern::Random).next().filter(|result| result.trace.len() >= 10) else {
        return Ok(());
    };
    let pieces: Vec<String> = first
        .trace
        .chunks(first.trace.len().div_ceil(10))
        .map(|bins| {
            let requests: u64 = bins.iter().map(|bin| bin.requests).sum();
            words::rate(requests as f64 / (first.bin.as_secs_f64() * bins.len() as f64))
        })
        .collect();
    writeln!(out)?;
    print_prose(out, "", &format!("In time, at depth {}: {} IOPS", first.step.depth, pieces.join(", ")), width)
}

fn faults(outcome: &BenchOutcome, out: &mut impl Write) -> io::Result<()> {
    let count: u64 = outcome.record.results.iter().map(|result| result.fault_count).sum();
    if count == 0 {
        return Ok(());
    }
    let mut places: BTreeMap<(u64, u64, i32), u64> = BTreeMap::new();
    for fault in outcome.record.results.iter().flat_map(|result| &result.faults) {
        *places.entry((fault.offset / 512, fault.len.div_ceil(512), fault.errno)).or_default() += 1;
    }
    writeln!(out, "\nFailed, in sectors of 512 bytes")?;
    let listed: u64 = places.values().take(FAULTS_MAX).sum();
    for ((sector, sectors, errno), times) in places.into_iter().take(FAULTS_MAX) {
        let (error, times) =
            (io::Error::from_raw_os_error(errno), if times > 1 { format!(", {times} times") } else { String::new() });
        print_line(out, format_args!("  {sector}+{sectors}: {error}{times}"))?;
    }
    let more = count.saturating_sub(listed);
    if more > 0 { writeln!(out, "  and {more} more requests") } else { Ok(()) }
}

fn compared(outcome: &BenchOutcome, out: &mut impl Write, width: Option<usize>) -> io::Result<()> {
    let comparison = &outcome.comparison;
    let mut parts = Vec::new();
    if let Some((runs, median)) = comparison.past {
        let runs = if runs == 1 { "last time".to_owned() } else { format!("median of the last {runs} times") };
        parts.push(format!("{runs} {} at depth 1", words::latency(median)));
    }
    if let Some((count, median)) = comparison.siblings {
        let disks = if count == 1 { "1 other whole disk".to_owned() } else { format!("{count} other whole disks") };
        parts.push(format!("{disks} of its model: median {}", words::latency(median)));
    }
    let unlike = match comparison.unlike {
        0 => String::new(),
        1 => "one earlier result is of another part, size, request or engine, and not held against this one".to_owned(),
        n => format!("{n} earlier results are of another part, size, request or engine, and not held against this one"),
    };
    parts.extend((!unlike.is_empty()).then_some(unlike));
    if parts.is_empty() {
        return Ok(());
    }
    print_prose(out, "before  ", &format!("{}.", parts.join("; ")), width)
}

/// The setting of the measurement, so that it can be repeated.
pub fn method(outcome: &BenchOutcome) -> String {
    let facts = &outcome.facts;
    let scheduler = facts.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}"));
    let cache = facts.write_cache.as_ref().map(|cache| format!("write cache: {cache}"));
    let usb = if facts.is_usb { ", by USB" } else { "" };
    let driver = facts.driver.as_ref().map(|driver| {
        let controller = facts.controller.as_ref().map_or_else(String::new, |controller| format!(" at {controller}"));
        format!("driver {driver}{controller}{usb}")
    });
    let (logical, physical) = facts.blocks;
    let blocks = match physical {
        Some(physical) => format!("blocks {logical}/{physical} bytes"),
        None => format!("blocks {logical} bytes"),
    };
    let composition = (!facts.below.is_empty()).then(|| format!("made of {}", facts.below.join(", ")));
    let zoned = facts.zoned.as_ref().map(|zoned| format!("zoned ({zoned}, SMR)"));
    let queue = facts.queue_depth.map(|depth| format!("queue depth of the device {depth}"));
    let grade = matches!(outcome.verdict.grade, BenchGrade::Unknown).then(|| "no verdict".to_owned());
    let parts = [
        Some(format!("engine {}, past the page cache", outcome.engine)),
        outcome.record.plan.is_write.then(|| "random bytes are written, others each time".to_owned()),
        facts.disk.as_ref().map(|disk| format!("disk {disk}")),
        driver,
        scheduler,
        cache,
        queue,
        Some(blocks),
        zoned,
        composition,
        Some(format!("Linux {}", facts.kernel)),
        Some(format!("scrubjay {}", scrubjay_control::version::version())),
        grade,
    ];
    format!("{}.", parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_has_fewer_quantiles_and_no_wider_lines() {
        let rows = [["1", "118", "8.47 ms", "8.20 ms", "14.0 ms", "17.1 ms", "19.0 ms", "<- inside 20 ms"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        for (width, quantiles) in [(80, ["p50", "p95", "p99"].as_slice()), (50, &["p99"]), (40, &[])] {
            let mut out = Vec::new();
            by_depth("IOPS", &rows, &mut out, Some(width)).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            let printed: Vec<_> = text.split_whitespace().filter(|word| word.starts_with('p')).collect();
            assert_eq!(
                (printed.as_slice(), text.lines().count(), text.contains("inside 20 ms")),
                (quantiles, 2, true),
                "{text}"
            );
        }
    }
}
