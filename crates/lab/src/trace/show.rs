//! The figures of a trace for people: aligned, bounded, with units.

use super::date::date;
use scrubjay_cli::columns::{self, TextTable};
use scrubjay_cli::say::print_prose;
use scrubjay_core::quantity::show_count;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_trace::summary::{IdleFacts, TraceFacts};
use scrubjay_trace::{RequestKind, ServiceSource, Trace};
use std::io::{self, Write};

/// Devices that are listed, at most; `--json` has them all.
const DEVICES_SHOWN: usize = 10;
/// The column in which values begin.
const INDENT: usize = 13;
/// Columns of a terminal in which a table gets the room of the indent.
const NARROW: usize = 72;

/// Prints the figures. `files` are the inputs of the trace.
pub fn print(trace: &Trace, facts: &TraceFacts, out: &mut impl Write) -> io::Result<()> {
    let format = trace.format();
    line(out, "trace", &files(trace.input_names()))?;
    line(out, "format", &format!("{}: {}", format.name, format.about))?;
    if facts.requests == 0 {
        return line(out, "requests", "none");
    }
    if let Some(date) = date(facts.first) {
        line(out, "began", &date)?;
    }
    line(out, "span", &span(facts.span_seconds))?;
    let rate = significant(facts.rate);
    line(out, "requests", &format!("{}, {rate} a second (IOPS)", show_count(facts.requests)))?;
    print_kinds(facts, out)?;
    print_sizes(facts, out)?;
    let (sequential, adjacent) = (percent(facts.sequential_share), percent(facts.adjacent_share));
    line(out, "sequential", &format!("{sequential} begin where the last one of their device ended"))?;
    if facts.devices.len() > 1 {
        line(out, "", &format!("{adjacent} with no other device's request in between"))?;
    }
    print_durations(facts, out)?;
    print_idle(&facts.idle, out)?;
    print_devices(trace, facts, out)
}

fn print_kinds(facts: &TraceFacts, out: &mut impl Write) -> io::Result<()> {
    for kind in facts.kinds.iter().filter(|kind| kind.requests > 0) {
        let (name, share) = match kind.kind {
            RequestKind::Read => ("reads", Some(facts.read_share)),
            RequestKind::Write => ("writes", Some(1.0 - facts.read_share)),
            RequestKind::Discard => ("discards", None),
            RequestKind::Flush => ("flushes", None),
        };
        let share = share.map_or(String::new(), |share| format!(", {}", percent(share)));
        line(out, name, &format!("{}{share}, {}", show_count(kind.requests), kind.bytes))?;
    }
    Ok(())
}

fn print_sizes(facts: &TraceFacts, out: &mut impl Write) -> io::Result<()> {
    let sizes = &facts.sizes;
    let mean = Bytes(sizes.mean_bytes.round() as u64);
    let quantiles = format!("median {}, 90 % {}, 99 % {}, largest {}", sizes.p50, sizes.p90, sizes.p99, sizes.max);
    line(out, "sizes", &format!("mean {mean}, {quantiles}"))?;
    let most: Vec<String> =
        sizes.most_frequent.iter().map(|size| format!("{} {}", size.size, percent(size.share))).collect();
    for part in most.chunks(4) {
        line(out, "", &part.join(", "))?;
    }
    Ok(())
}

fn print_durations(facts: &TraceFacts, out: &mut impl Write) -> io::Result<()> {
    let mut rows = Vec::new();
    for (name, spread) in [("gaps", facts.gaps), ("responses", facts.responses), ("idle", facts.idle.lengths)] {
        if spread.count > 0 {
            let [mean, p1, p50] = [spread.mean, spread.p1, spread.p50].map(seconds);
            let [p90, p99, max] = [spread.p90, spread.p99, spread.max].map(seconds);
            rows.push(vec![format!("  {name}"), mean, format!("{:.2}", spread.variation), p1, p50, p90, p99, max]);
        }
    }
    let headings = ["durations", "mean", "CV", "1 %", "median", "90 %", "99 %", "longest"];
    let least_important = ["CV", "1 %", "90 %", "99 %"];
    let table = TextTable { headings: &headings, least_important: &least_important, figures: 1..8, indent: 0 };
    table.print(&rows, columns::width(), out)?;
    let known = facts.responses.count;
    if known > 0 && known < facts.requests {
        line(out, "", &format!("responses of {} requests are known", show_count(known)))?;
    }
    Ok(())
}

fn print_idle(idle: &IdleFacts, out: &mut impl Write) -> io::Result<()> {
    let (count, share) = (show_count(idle.lengths.count), percent(idle.share));
    let longest = percent(idle.held_by_longest);
    line(
        out,
        "idle",
        &format!("{count} intervals, {share} of the time; the longest 15 % of them hold {longest} of it"),
    )?;
    let (source, disk) = (idle.service.name(), idle.service.model());
    let model = format!("{} + {} a MiB", seconds(disk.positioning.as_secs_f64()), seconds(disk.per_mib.as_secs_f64()));
    let source = match idle.service {
        ServiceSource::Recorded(_) => format!("{source} (response times; where there is none, the disk model {model})"),
        ServiceSource::Model(_) => format!("{source} ({model})"),
    };
    line(out, "", &format!("service times: {source}"))?;
    let headings = ["longer than", "intervals", "and last so much longer, in the mean"];
    let mut rows = Vec::new();
    for beyond in &idle.beyond {
        let threshold =
            if beyond.threshold == Nanos::ZERO { "0".to_owned() } else { seconds(beyond.threshold.as_secs_f64()) };
        let residual = if beyond.count > 0 { seconds(beyond.residual_mean()) } else { "-".to_owned() };
        rows.push(vec![threshold, show_count(beyond.count), residual]);
    }
    let width = columns::width();
    let indent = if width.is_some_and(|width| width < NARROW) { 2 } else { INDENT };
    TextTable { headings: &headings, least_important: &[], figures: 1..2, indent }.print(&rows, width, out)
}

fn print_devices(trace: &Trace, facts: &TraceFacts, out: &mut impl Write) -> io::Result<()> {
    let shown = &facts.devices[..facts.devices.len().min(DEVICES_SHOWN)];
    let width = shown.iter().map(|(id, _)| trace.devices().name(*id).chars().count()).max().unwrap_or(0);
    for (index, (id, requests)) in shown.iter().enumerate() {
        let name =
            if index == 0 { format!("devices {}", show_count(facts.devices.len() as u64)) } else { String::new() };
        let share = percent(*requests as f64 / facts.requests as f64);
        line(out, &name, &format!("{:width$}  {:>12}  {share:>7}", trace.devices().name(*id), show_count(*requests)))?;
    }
    if facts.devices.len() > shown.len() {
        let more = show_count((facts.devices.len() - shown.len()) as u64);
        line(out, "", &format!("... and {more} more (--json lists all)"))?;
    }
    Ok(())
}

fn line(out: &mut impl Write, name: &str, value: &str) -> io::Result<()> {
    print_prose(out, &format!("{name:<INDENT$}"), value, columns::width())
}

fn files(names: &[String]) -> String {
    match names {
        [name] => name.clone(),
        [first, ..] => format!("{first} and {} more", names.len() - 1),
        [] => String::new(),
    }
}

/// A span such as `167.5 h`, with the seconds if there are few.
fn span(span_seconds: f64) -> String {
    if span_seconds < 7200.0 { seconds(span_seconds) } else { format!("{:.1} h", span_seconds / 3600.0) }
}

/// A duration with four digits: `12.35 us`, `8.2 ms`, `23.63 s`, `12,034 s`.
fn seconds(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_owned(),
        _ if seconds < 0.999_95e-3 => format!("{} us", significant(seconds * 1e6)),
        _ if seconds < 0.999_95 => format!("{} ms", significant(seconds * 1e3)),
        _ => format!("{} s", significant(seconds)),
    }
}

/// A number with four digits, without trailing zeros, with thousands separators.
fn significant(value: f64) -> String {
    if value >= 999.95 {
        return show_count(value.round() as u64);
    }
    if value <= 0.0 {
        return "0".to_owned();
    }
    let decimals = (3.0 - value.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_four_digits() {
        for (value, shown) in [
            (0.0, "0 s"),
            (12.346e-6, "12.35 us"),
            (0.0082, "8.2 ms"),
            (0.01, "10 ms"),
            (23.6312, "23.63 s"),
            (12034.2, "12,034 s"),
        ] {
            assert_eq!(seconds(value), shown);
        }
        assert_eq!(
            (significant(0.07006), significant(1.0), significant(500.0)),
            ("0.07006".into(), "1".into(), "500".into())
        );
    }
}
