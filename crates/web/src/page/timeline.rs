//! The last twelve months: passes, findings, disks that came and went, problems and messages.

use super::view::PageView;
use maud::{Markup, PreEscaped, html};
use scrubjay_chart::small::{self, TimelineRow};
use scrubjay_control::past::HistoryEventKind::{self, *};
use scrubjay_control::past::PastEvent;
use scrubjay_control::wording::{date, moment};

/// The length of the time that is drawn, in seconds.
const SPAN: u64 = 365 * 86_400;
/// Events that are listed, at most.
const LISTED: usize = 40;
/// Characters of a UUID.
const UUID_LENGTH: usize = 36;

/// Rows: their name, the class of their marks, and their kinds of events.
const ROWS: [(&str, &str, &[HistoryEventKind]); 5] = [
    ("Passes finished", "pass", &[PassFinished, CheckFinished]),
    ("Found unreadable", "bad", &[UnreadableFound]),
    ("Disks in and out", "disk", &[DiskGone, DiskBack, DiskReplaced, DiskSeen, DiskForgotten]),
    ("Problems", "act", &[IncidentOpened, IncidentGrown]),
    ("Messages", "told", &[MessageDelivered]),
];

/// Draws the section.
pub fn year(view: &PageView<'_>) -> Markup {
    let now = view.status.time;
    let Some(past) = view.past else {
        return html! { section { h2 { "Twelve months" } p.stale { (view.no_history()) } } };
    };
    let from = now.saturating_sub(SPAN);
    html! {
        section aria-labelledby="year" {
            h2 #year { "Twelve months" }
            @if past.events.is_empty() { p { "Nothing has happened yet." } } @else {
                div.scroll.late tabindex="0" role="group" aria-label="Timeline" {
                    (PreEscaped(small::timeline(&rows(view, &past.events, from, now), &ticks(from, now), &label(&past.events, from))))
                }
                // A phone first shows the newest end, where the names of the rows are out of view.
                p.soft.rows aria-hidden="true" { "From top to bottom: " (names()) "." }
                details {
                    summary { "What happened last" }
                    (list(view, &past.events, LISTED))
                }
            }
        }
    }
}

fn rows(view: &PageView<'_>, events: &[PastEvent], from: u64, now: u64) -> Vec<TimelineRow> {
    let share = |at: u64| (at - from) as f64 / (now - from).max(1) as f64;
    let row = |(name, class, kinds): &(&str, &'static str, &[HistoryEventKind])| {
        let of_row = events.iter().filter(|event| kinds.contains(&event.kind) && (from..=now).contains(&event.at));
        let marks = of_row.map(|event| {
            let words = format!("{}  {} {}: {}", date(event.at), subject(view, event), kind(event), event.words);
            (share(event.at), words.trim_end_matches([':', ' ']).to_owned())
        });
        TimelineRow { name: (*name).to_owned(), class, marks: marks.collect() }
    };
    ROWS.iter().map(row).collect()
}

/// The beginnings of months, precise enough for a drawing: by the dates as they are shown.
fn ticks(from: u64, now: u64) -> Vec<(f64, String)> {
    let month = |at: u64| date(at).split_whitespace().nth(1).unwrap_or_default().to_owned();
    let days = (from / 86_400 + 1..now / 86_400).map(|day| day * 86_400);
    days.filter(|day| month(*day) != month(day - 86_400))
        .map(|day| ((day - from) as f64 / (now - from).max(1) as f64, month(day)))
        .filter(|(share, _)| (0.02..0.98).contains(share))
        .collect()
}

fn names() -> String {
    let names: Vec<String> = ROWS.iter().map(|(name, ..)| name.to_lowercase()).collect();
    names.join(", ")
}

fn label(events: &[PastEvent], from: u64) -> String {
    let count = |kinds: &[HistoryEventKind]| {
        events.iter().filter(|event| event.at >= from && kinds.contains(&event.kind)).count()
    };
    let counts: Vec<String> =
        ROWS.iter().map(|(name, _, kinds)| format!("{}: {}", name.to_lowercase(), count(kinds))).collect();
    format!("Twelve months. {}", counts.join(", "))
}

fn kind(event: &PastEvent) -> String {
    event.kind.word().replace('-', " ")
}

/// The subject of an event: an array by its name, or by the beginning of its UUID; others as in the history.
fn subject(view: &PageView<'_>, event: &PastEvent) -> String {
    let array = view.status.arrays.iter().find(|array| array.key == event.subject);
    match array {
        Some(array) => array.name.clone(),
        None if event.subject.len() == UUID_LENGTH && event.subject.is_ascii() => event.subject[..8].to_owned(),
        None => event.subject.clone(),
    }
}

/// The newest events as a table.
pub fn list(view: &PageView<'_>, events: &[PastEvent], most: usize) -> Markup {
    html! {
        table.cards.events aria-label="Events" {
            thead { tr { th { "When" } th { "Event" } th { "Of" } th { "What" } } }
            tbody {
                @for event in events.iter().take(most) {
                    tr {
                        td data-h="When" { (moment(event.at)) }
                        td data-h="Event" { (kind(event)) }
                        td data-h="Of" { (subject(view, event)) }
                        td data-h="What" { (event.words) }
                    }
                }
            }
        }
        @if events.len() > most { p.soft { "and " (events.len() - most) " more before: " code { "sudo scrubjay history" } } }
    }
}
