//! The result as text: the sentence first, then the figures behind it, then warnings.

use crate::columns;
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
/// Characters of the longest bar.
const BAR: usize = 30;
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
    random(outcome, out)?;
    sequential(outcome, out)?;
    positions(outcome, out)?;
    distribution(outcome, out)?;
    trace(outcome, out)?;
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

/// Latencies of a row: mean, p50, p95, p99, max.
fn latencies(result: &StepFigures) -> String {
    let quantile = |share| words::latency(result.quantile(share).as_secs_f64());
    let max = words::latency(result.latency_max.as_secs_f64());
    [words::latency(result.mean()), quantile(0.5), quantile(0.95), quantile(0.99), max]
        .map(|text| format!("{text:>9}"))
        .concat()
}

fn request(results: &[&StepFigures]) -> String {
    results.first().map_or_else(String::new, |result| Bytes(result.step.request).to_string())
}

fn random(outcome: &BenchOutcome, out: &mut impl Write) -> io::Result<()> {
    let results: Vec<&StepFigures> = outcome.of(BenchPattern::Random).filter(|result| result.requests > 0).collect();
    if results.is_empty() {
        return Ok(());
    }
    let title = format!("{} random {}", request(&results), kind(outcome));
    writeln!(out, "\n{title}\n  depth{:>10}{:>9}{:>9}{:>9}{:>9}{:>9}", "IOPS", "mean", "p50", "p95", "p99", "max")?;
    let inside = outcome.inside().map(|result| result.step.depth);
    for result in results {
        let depth = result.step.depth;
        let mark =
            if inside == Some(depth) { format!("  <- inside {}", words::limit(outcome.budget)) } else { String::new() };
        let cut = if result.is_complete { "" } else { "  (stopped)" };
        let row = format!("  {depth:>5}{:>10}{}{mark}{cut}", words::rate(result.iops()), latencies(result));
        writeln!(out, "{row}")?;
    }
    Ok(())
}

fn sequential(outcome: &BenchOutcome, out: &mut impl Write) -> io::Result<()> {
    let results: Vec<&StepFigures> =
        outcome.of(BenchPattern::Sequential).filter(|result| result.requests > 0).collect();
    if results.is_empty() {
        return Ok(());
    }
    let title = format!("{} sequential {}, from the first byte on", request(&results), kind(outcome));
    writeln!(out, "\n{title}\n  depth{:>10}{:>9}{:>9}{:>9}{:>9}{:>9}", "MB/s", "mean", "p50", "p95", "p99", "max")?;
    for result in results {
        let mega = words::rate(result.bytes_per_second() / 1e6);
        let cut = if result.is_complete { "" } else { "  (stopped)" };
        writeln!(out, "  {:>5}{mega:>10}{}{cut}", result.step.depth, latencies(result))?;
    }
    Ok(())
}

/// Prints the zones, joined if there are many.
fn positions(outcome: &BenchOutcome, out: &mut impl Write) -> io::Result<()> {
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
    writeln!(out, "\nBy position: {} runs of large requests, latency of small ones at depth 1", zones.len())?;
    for (place, rate, latency) in rows {
        let bar = "#".repeat((rate / most * BAR as f64).round() as usize);
        let latency = latency.map_or_else(|| "-".to_owned(), words::latency);
        let rate = if rate > 0.0 { words::throughput(rate) } else { "-".to_owned() };
        writeln!(out, "  {:>4}{rate:>11}{latency:>9}  {bar}", words::share(place))?;
    }
    Ok(())
}

/// Prints the distribution of latencies at the first depth: a row for each doubling.
fn distribution(outcome: &BenchOutcome, out: &mut impl Write) -> io::Result<()> {
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
        let bar = "#".repeat((count / most * BAR as f64).round() as usize);
        let edge = words::latency(f64::from(row).exp2() / 1e6);
        let share = words::share(count / first.requests as f64);
        writeln!(out, "  <= {edge:>8}{share:>8}  {bar}")?;
    }
    Ok(())
}

/// Prints the rate during the first step, in ten pieces.
fn trace(outcome: &BenchOutcome, out: &mut impl Write) -> io::Result<()> {
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
    writeln!(out, "\nIn time, at depth {}: {} IOPS", first.step.depth, pieces.join(", "))
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
        Some(format!("scrubjay {}", env!("CARGO_PKG_VERSION"))),
        grade,
    ];
    format!("{}.", parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}
