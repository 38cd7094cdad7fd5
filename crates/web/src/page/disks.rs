//! The disks of a small machine: a single one, or a table.

use super::view::PageView;
use super::{surface, tone};
use crate::feed::PictureTime;
use crate::http::request::encoded;
use maud::{Markup, PreEscaped, html};
use scrubjay_chart::small;
use scrubjay_control::DiskEntry;
use scrubjay_control::wording::{ago, disk_bad, disk_called, disk_now};
use scrubjay_core::units::Bytes;

/// The section of a machine with one disk and no array: all that matters at a glance.
pub fn single(view: &PageView<'_>, disk: &DiskEntry) -> Markup {
    let now = view.status.time;
    let (large, small) = match disk.reading.oldest_read {
        Some(read) => {
            let days = now.saturating_sub(read) / 86_400 + 1;
            (format!("{days} d"), "since its oldest read".to_owned())
        }
        None => {
            let share =
                disk.reading.pass_share.map_or("-".to_owned(), |share| format!("{:.0} %", (share * 100.0).floor()));
            (share, "of the first pass".to_owned())
        }
    };
    let sentence = match (disk.reading.oldest_read, disk.reading.unreadable) {
        (None, 0) => "Not all of this disk was read yet: nobody knows whether all of it can be.".to_owned(),
        (Some(read), 0) => {
            let days = now.saturating_sub(read) / 86_400 + 1;
            format!("Every sector of this disk was read within {days} days. No sector is unreadable.")
        }
        (_, 1) => "1 sector of this disk cannot be read.".to_owned(),
        (_, count) => format!("{count} sectors of this disk cannot be read."),
    };
    let cells = surface::ring_cells(view, disk);
    html! {
        section.alone aria-labelledby="disks" {
            h2 #disks { "The disk" }
            div.beside {
                div.drawn {
                    (PreEscaped(small::ring(&cells, (&large, &small), &format!("Surface of {}: {small} {large}", disk_called(disk)))))
                    (surface::legend())
                }
                div {
                    p.big { (sentence) }
                    p {
                        a.item href={ "/d/" (encoded(&disk.key)) } { (disk_called(disk)) }
                        " · " (disk.model) " · " (disk.serial.as_deref().unwrap_or(&disk.key)) " · " (Bytes(disk.bytes)) " · "
                        (badge(view, disk))
                    }
                    (reasons(disk))
                    p { "A single disk has no second copy: your backup is the only protection. Whether there is one is not known here." }
                }
            }
        }
    }
}

/// The word for a disk's state.
pub fn badge(view: &PageView<'_>, disk: &DiskEntry) -> Markup {
    let word = if view.time() == PictureTime::Old {
        format!("was {}", disk.health.word())
    } else {
        disk.health.word().to_owned()
    };
    html! { span class={ "badge " (tone::of_health(disk.health, view.time())) } { (word) } }
}

/// The reasons for it.
pub fn reasons(disk: &DiskEntry) -> Markup {
    html! {
        @if !disk.reasons.is_empty() {
            ul.reasons { @for reason in &disk.reasons { li { (reason) } } }
        }
    }
}

/// A table of all disks.
pub fn section(view: &PageView<'_>) -> Markup {
    html! {
        section aria-labelledby="disks" {
            h2 #disks { "Disks" }
            @let sorted = sorted(view);
            (table(view, &sorted, "Disks"))
        }
    }
}

/// The order of disks: by bay, then by name.
pub fn order(disk: &DiskEntry) -> (u64, usize, String) {
    (bay_number(disk), disk.last_name.len(), disk.last_name.clone())
}

fn sorted<'v>(view: &PageView<'v>) -> Vec<&'v DiskEntry> {
    let mut disks: Vec<&DiskEntry> = view.status.disks.iter().collect();
    disks.sort_by_key(|disk| order(disk));
    disks
}

/// A table of these disks. What is known of none of them has no column.
pub fn table(view: &PageView<'_>, disks: &[&DiskEntry], label: &str) -> Markup {
    let has_temperature =
        disks.iter().any(|disk| view.past_from(&disk.key).is_some_and(|past| past.drive.celsius.is_some()));
    let has_serial = disks.iter().any(|disk| disk.serial.is_some());
    html! {
        table.cards.sortable aria-label=(label) {
            thead { tr {
                th { "Disk" } th { "Model" } th { (if has_serial { "Serial" } else { "Identity" }) } th { "State" } th { "Last full read" }
                th.number { "Unreadable" } @if has_temperature { th.number { "°C" } } th { "12 months" } th { "Now" }
            } }
            tbody { @for disk in disks { (row(view, disk, has_temperature, has_serial)) } }
        }
    }
}

fn row(view: &PageView<'_>, disk: &DiskEntry, has_temperature: bool, has_serial: bool) -> Markup {
    let past = view.past_from(&disk.key);
    let now = view.status.time;
    let read = disk.reading.oldest_read.map_or(u64::MAX, |read| now.saturating_sub(read));
    html! {
        tr data-find=(search_text(disk)) {
            th scope="row" data-h="Disk" data-sort=(bay_number(disk)) {
                a.item href={ "/d/" (encoded(&disk.key)) } { (disk_called(disk)) }
            }
            td data-h="Model" { @if disk.model.is_empty() { "-" } @else { (disk.model) } }
            td.serial data-h=(if has_serial { "Serial" } else { "Identity" }) { (disk.serial.as_deref().unwrap_or(&disk.key)) }
            td data-h="State" data-sort=(tone::rank(disk.health)) {
                (badge(view, disk))
                @if let Some(reason) = disk.reasons.first() { " " span.why { (reason) } }
            }
            td data-h="Last full read" data-sort=(read) { (ago(now, disk.reading.oldest_read)) }
            td.number data-h="Unreadable" data-sort=(disk.reading.unreadable) {
                span class=(if disk.reading.unreadable > 0 { "act" } else { "plain" }) { (disk_bad(disk)) }
                @if let Some(past) = past.filter(|past| past.unreadable_new > 0) { " " span.act { "+" (past.unreadable_new) } }
            }
            @if has_temperature {
                td.number data-h="°C" { @match past.and_then(|past| past.drive.celsius) { Some(celsius) => (celsius), None => "-" } }
            }
            td data-h="12 months" {
                @if let Some(past) = past {
                    @let label = months_words(&past.unreadable_by_month);
                    (PreEscaped(small::spark(&past.unreadable_by_month, &label)))
                } @else { "-" }
            }
            td.now data-h="Now" { (disk_now(disk)) }
        }
    }
}

fn months_words(months: &[u64]) -> String {
    match months.iter().max() {
        None | Some(0) => "no unreadable sector in twelve months".to_owned(),
        _ => {
            let counts: Vec<String> = months.iter().map(u64::to_string).collect();
            format!("unreadable sectors, month by month: {}", counts.join(", "))
        }
    }
}

/// The text that the filter searches.
pub fn search_text(disk: &DiskEntry) -> String {
    let serial = disk.serial.as_deref().unwrap_or_default();
    format!("{} {} {} {serial} {}", disk_called(disk), disk.model, disk.key, disk.health.word()).to_lowercase()
}

/// The number of a disk's bay, by which disks are sorted.
pub fn bay_number(disk: &DiskEntry) -> u64 {
    let digits = |text: &str| {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    disk.bay.as_deref().and_then(digits).unwrap_or(u64::MAX)
}
