//! The page of one disk: its state and why, its surface, its drive's data, its history, and a text for a warranty claim.

use super::actions::BackTo;
use super::view::PageView;
use super::{actions, bench, disks, frame, speed, surface, timeline, tone, trends};
use crate::feed::PictureTime;
use maud::{Markup, html};
use scrubjay_control::DiskEntry;
use scrubjay_control::past::{
    CounterEntry, DiskDetail, DiskPast, FindingEntry, HistoryEventKind, PassEntry, PastEvent,
};
use scrubjay_control::wording::{ago, date, disk_bad, disk_called, disk_now, moment, span};
use scrubjay_core::quantity::{show_count, show_time};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_watch::facts::MediaKind;
use scrubjay_watch::health::{BaseRate, HealthState};
use scrubjay_words::{base_rate, typed};
use std::fmt::Write as _;

/// Passes and events that are listed, at most.
const PASSES: usize = 12;
const EVENTS: usize = 20;

/// Draws the page; `past` has the details, if the history can be read.
pub fn page(view: &PageView<'_>, disk: &DiskEntry, past: Option<&DiskPast>) -> Markup {
    let status = view.status;
    let detail = past.and_then(|past| past.detail.as_ref());
    let incidents: Vec<_> = status.incidents.iter().filter(|incident| incident.subject == disk.key).collect();
    // For a message the time of its delivery is enough.
    let events = detail.map(|detail| {
        detail.events.iter().filter(|event| event.kind != HistoryEventKind::MessageWritten).cloned().collect()
    });
    let events: Vec<PastEvent> = events.unwrap_or_default();
    let body = html! {
        nav.up { a href="/" { "All disks" } }
        section.safe {
            h1 { (disk_called(disk)) " " (disks::badge(view, disk)) }
            p.facts {
                (disk.model) " · serial " (disk.serial.as_deref().unwrap_or("not reported")) " · " (Bytes(disk.bytes)) " · "
                (if disk.media == MediaKind::Spinning { "hard disk" } else { "flash" }) " · identity " (disk.key)
            }
            (disks::reasons(disk))
            @for incident in &incidents {
                p {
                    strong { (incident.headline) } " since " (date(incident.since))
                    @if incident.is_accepted { " (accepted)" }
                }
                @if !incident.is_accepted { (actions::accept(view, &incident.subject, &incident.headline, BackTo::Disk)) }
            }
        }
        (reading(view, disk))
        section aria-labelledby="surface" {
            h2 #surface { "Surface" }
            @match detail.map(|detail| detail.surface.as_slice()) {
                Some(parts) if !parts.is_empty() => (surface::map(parts, status.time)),
                _ if disk.reading.oldest_read.is_none() => { p { "No map of it is known, and not all of it has been read." } }
                _ => { p { "No map of it is known: its oldest sector was read " (ago(status.time, disk.reading.oldest_read)) "." } }
            }
            @if let Some(detail) = detail { (findings(disk.name.as_deref().unwrap_or(&disk.last_name), &detail.findings)) }
        }
        (speed::section(disk, detail))
        (smart(view, disk, past))
        @if let Some(detail) = detail {
            section aria-labelledby="trends" { h2 #trends { "Trends" } (trends::of(detail, status.time)) }
            (passes(&detail.passes))
        } @else {
            p.stale { (view.no_history()) }
        }
        section aria-labelledby="bench" {
            h2 #bench { "How fast it is" }
            @if let Some(detail) = detail { (bench::past(&detail.bench)) }
            @if let Some(nanos) = past.map(|past| past.service_nanos).filter(|nanos| *nanos > 0) {
                p { "Reading 1 MiB took a scrub " (show_time(Nanos(nanos))) " on average, when its last pass ended." }
            }
            @if let Some(name) = &disk.name {
                p { "Requests a second with their latency, by queue depth and position, now: " code { "sudo scrubjay bench disk " (typed(name)) } " (reads only)." }
            }
        }
        @if detail.is_some() {
            section aria-labelledby="events" {
                h2 #events { "What happened to it" }
                @if events.is_empty() { p { "Nothing yet." } } @else { (timeline::list(view, &events, EVENTS)) }
            }
        }
        section aria-labelledby="claim" {
            h2 #claim { "For a warranty claim" }
            p.soft { "What is known of it, to be copied. Nothing in it is older than what is shown here." }
            pre.claim #claim-text tabindex="0" role="region" aria-label="Text for a warranty claim" { (claim(view, disk, past)) }
            button.copy hidden data-copy="claim-text" { "Copy" }
        }
    };
    let prefix = if view.time() == PictureTime::Old { "not known now; was " } else { "" };
    frame::page(view, &format!("{}: {prefix}{}", disk_called(disk), disk.health.word()), &body)
}

fn reading(view: &PageView<'_>, disk: &DiskEntry) -> Markup {
    let (now, reading) = (view.status.time, &disk.reading);
    html! {
        dl.key {
            dt { "Last full read" } dd { (ago(now, reading.oldest_read)) }
            dt { "Unreadable sectors" } dd { (disk_bad(disk)) }
            dt { "Due" } dd {
                @if reading.due <= now { span.act { "overdue since " (date(reading.due)) } } @else { (date(reading.due)) }
                @match reading.lateness {
                    Some(0) => {}
                    Some(late) => { ", most likely " (span(late)) " late" }
                    None => { ", and no end is in sight" }
                }
            }
            dt { "Now" } dd { (disk_now(disk)) }
            dt { "Slowdown allowed" } dd { (show_time(Nanos(reading.budget_nanos))) " a request, on average" }
        }
        @if disk.name.is_some() && disk.scrubbed_by.is_none() {
            (actions::scrub_now(view, reading, &disk.key, &disk_called(disk), BackTo::Disk))
        }
    }
}

/// Findings that are shown without unfolding, at most.
const FINDINGS: usize = 8;

fn findings(name: &str, findings: &[FindingEntry]) -> Markup {
    let (first, rest) = findings.split_at(findings.len().min(FINDINGS));
    html! {
        @if !findings.is_empty() {
            (findings_table(first))
            @if !rest.is_empty() {
                details { summary { "and " (rest.len()) " more places" } (findings_table(rest)) }
            }
            p { "Which file lies there: " code { "sudo scrubjay explain " (typed(name)) " " (findings[0].start) } }
        }
    }
}

fn findings_table(findings: &[FindingEntry]) -> Markup {
    html! {
        table.cards.narrow-table aria-label="Unreadable sectors" {
            thead { tr { th.number { "First sector" } th.number { "Sectors" } th { "Found" } th { "Readable again" } } }
            tbody {
                @for finding in findings {
                    tr {
                        td.number data-h="First sector" { (finding.start) }
                        td.number data-h="Sectors" { (finding.count) }
                        td data-h="Found" { (moment(finding.found)) }
                        td data-h="Readable again" { @match finding.gone { Some(gone) => (moment(gone)), None => { "no" } } }
                    }
                }
            }
        }
    }
}

fn verdict(passed: Option<bool>) -> &'static str {
    match passed {
        Some(true) => "PASSED",
        Some(false) => "FAILING",
        None => "gives none",
    }
}

fn smart(view: &PageView<'_>, disk: &DiskEntry, past: Option<&DiskPast>) -> Markup {
    let drive = past.map(|past| &past.drive).filter(|drive| drive.read > 0);
    let (rate, source) = base_rate(BaseRate::NoSign);
    html! {
        section aria-labelledby="smart" {
            h2 #smart { "What the drive reports" }
            @match drive {
                None => { p { "Nothing is known: its SMART data were never read." } }
                Some(drive) => {
                    dl.key {
                        dt { "Our verdict" } dd { (disks::badge(view, disk)) }
                        dt { "The drive's own" } dd { (verdict(drive.passed)) }
                        dt { "Why" } dd {
                            (reasons(disk))
                            @if disk.health == HealthState::Ok && disk.media == MediaKind::Spinning { ". " span.soft { (*rate) " (" (*source) ")" } }
                        }
                        dt { "Read" } dd { (moment(drive.read)) }
                        @if let Some(celsius) = drive.celsius { dt { "Temperature" } dd { (celsius) " °C" } }
                        @if let Some(used) = drive.used_percent { dt { "Endurance used" } dd { (used) " %" } }
                    }
                    @if !drive.counters.is_empty() { (counters(&drive.counters)) }
                }
            }
        }
    }
}

fn counters(counters: &[CounterEntry]) -> Markup {
    html! {
        table.cards.narrow-table aria-label="Counters" {
            thead { tr { th { "Counter" } th.number { "Value" } th { "Recently" } th { "Concerns" } } }
            tbody {
                @for counter in counters {
                    tr {
                        th scope="row" data-h="Counter" { (counter.name) }
                        td.number data-h="Value" { span class=(if tone::is_raised(counter) { "act" } else { "plain" }) { (show_count(counter.value)) } }
                        td data-h="Recently" { @if counter.growth > 0 { "+" (show_count(counter.growth)) " since " (date(counter.since)) } @else { "no growth" } }
                        td data-h="Concerns" { (if counter.is_of_medium { "the medium" } else { "cable and time-outs" }) }
                    }
                }
            }
        }
    }
}

fn passes(passes: &[PassEntry]) -> Markup {
    html! {
        section aria-labelledby="passes" {
            h2 #passes { "Passes" }
            @if passes.is_empty() { p { "Not one is over yet." } } @else {
                table.cards.narrow-table aria-label="Finished passes" {
                    thead { tr { th { "Began" } th { "Took" } th.number { "Unreadable" } th.number { "Read twice" } th.number { "While read" } } }
                    tbody {
                        @for pass in passes.iter().take(PASSES) {
                            tr {
                                td data-h="Began" { (moment(pass.begun)) }
                                td data-h="Took" { (span(pass.ended.saturating_sub(pass.begun))) }
                                td.number data-h="Unreadable" { span class=(if pass.unreadable > 0 { "act" } else { "plain" }) { (show_count(pass.unreadable)) } }
                                td.number data-h="Read twice" { (show_count(pass.retries)) }
                                td.number data-h="While read" { @if pass.bytes_per_second > 0 { (format!("{:.0} MB/s", pass.bytes_per_second as f64 / 1e6)) } @else { "-" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A text for the seller of the disk: only facts, with dates.
fn claim(view: &PageView<'_>, disk: &DiskEntry, past: Option<&DiskPast>) -> String {
    let mut text = String::new();
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{arguments}");
    };
    line(format_args!("Model          {}", disk.model));
    line(format_args!("Serial number  {}", disk.serial.as_deref().unwrap_or("not reported by the drive")));
    line(format_args!("Size           {} ({} bytes)", Bytes(disk.bytes), disk.bytes));
    if view.time() == PictureTime::Recorded {
        line(format_args!("A RECORDING of a machine that may never have been: no claim can rest on it."));
    }
    line(format_args!(
        "Observed       {}, host {}, Scrubjay {}",
        moment(view.status.time),
        view.status.host,
        view.status.version
    ));
    line(format_args!("State          {}: {}", disk.health.word(), reasons(disk)));
    if let Some(drive) = past.map(|past| &past.drive).filter(|drive| drive.read > 0) {
        line(format_args!("SMART          own verdict {}, read {}", verdict(drive.passed), moment(drive.read)));
        for counter in drive.counters.iter().filter(|counter| tone::is_raised(counter)) {
            let grown = if counter.growth > 0 {
                format!(", +{} since {}", counter.growth, date(counter.since))
            } else {
                String::new()
            };
            line(format_args!("               {} {}{grown}", counter.name, counter.value));
        }
    }
    let detail: Option<&DiskDetail> = past.and_then(|past| past.detail.as_ref());
    let findings = detail.map(|detail| detail.findings.as_slice()).unwrap_or_default();
    for finding in findings.iter().filter(|finding| finding.gone.is_none()).take(20) {
        let sectors = if finding.count == 1 { "sector" } else { "sectors" };
        line(format_args!(
            "Unreadable     {} {sectors} from {} on, found {}",
            finding.count,
            finding.start,
            moment(finding.found)
        ));
    }
    line(format_args!(
        "Read whole     {}",
        disk.reading.oldest_read.map_or("not yet".to_owned(), |read| format!("since {}", moment(read)))
    ));
    text
}

/// The reasons for a disk's state. Of an unknown disk nothing good is stated.
fn reasons(disk: &DiskEntry) -> String {
    match (disk.reasons.is_empty(), disk.health == HealthState::Ok) {
        (false, _) => disk.reasons.iter().map(|reason| reason.as_str()).collect::<Vec<_>>().join("; "),
        (true, true) => "nothing speaks against it".to_owned(),
        (true, false) => "nothing else is known of it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_in_an_unknown_state_gets_no_good_reason() {
        let disk = |health: HealthState, reasons: &[&str]| {
            let reasons = reasons.iter().map(|&reason| reason.into()).collect();
            super::reasons(&DiskEntry { health, reasons, ..DiskEntry::default() })
        };
        assert_eq!(disk(HealthState::Ok, &[]), "nothing speaks against it");
        for health in [HealthState::Unknown, HealthState::Missing, HealthState::Asleep] {
            assert_eq!(disk(health, &[]), "nothing else is known of it", "{health:?}");
        }
        assert_eq!(disk(HealthState::Replace, &["8 unreadable sectors", "pending"]), "8 unreadable sectors; pending");
    }
}
