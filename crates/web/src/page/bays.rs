//! The disks of a large machine: a map of its bays, the deviating disks, and the spread of the others.

use super::view::PageView;
use super::{disks, tone};
use crate::http::request::encoded;
use maud::{Markup, PreEscaped, html};
use scrubjay_chart::small::{self, StripDot};
use scrubjay_control::DiskEntry;
use scrubjay_control::wording::disk_called;
use scrubjay_core::quantity::show_time;
use scrubjay_core::units::Nanos;
use scrubjay_watch::health::HealthState;
use std::collections::BTreeMap;

/// A value is odd if it is this many times as far from the median as half of all values are (about three standard
/// deviations of a normal distribution).
const OUTLIER_FACTOR: f64 = 4.5;

/// Draws the section.
pub fn section(view: &PageView<'_>) -> Markup {
    let mut all: Vec<&DiskEntry> = view.status.disks.iter().collect();
    all.sort_by_key(|disk| disks::order(disk));
    let mut deviant: Vec<&DiskEntry> = all.iter().copied().filter(|disk| disk.health != HealthState::Ok).collect();
    deviant.sort_by_key(|disk| tone::rank(disk.health));
    let (count, ok) = (all.len(), all.len() - deviant.len());
    html! {
        section aria-labelledby="disks" {
            h2 #disks { "Disks" }
            p.count {
                @match deviant.len() {
                    0 => { "All " (count) " are ok." }
                    1 => { "1 of " (count) " needs a look, " (ok) " are ok." }
                    few => { (few) " of " (count) " need a look, " (ok) " are ok." }
                }
            }
            label.filter hidden { "Filter " input #filter type="search" placeholder="bay, name, serial, model, state" autocomplete="off"; }
            div.bays role="list" aria-label="Bays" { @for disk in &all { (bay(view, disk)) } }
            @if !deviant.is_empty() { (disks::table(view, &deviant, "Disks that need a look")) }
            (models(&all))
            details.all {
                summary { "All " (count) " disks" }
                (disks::table(view, &all, "All disks"))
            }
        }
        (strips(view, &all))
    }
}

fn bay(view: &PageView<'_>, disk: &DiskEntry) -> Markup {
    let tone = tone::of_health(disk.health, view.time());
    let name = disk.name.as_deref().unwrap_or("gone");
    let words = format!("{}: {}", disk_called(disk), disk.health.word());
    html! {
        div role="listitem" data-find=(disks::search_text(disk)) {
            a class={ "item bay " (tone) } href={ "/d/" (encoded(&disk.key)) } title=(words) aria-label=(words) {
                b { (disk.bay.as_deref().unwrap_or(name)) }
                span { @if disk.health == HealthState::Ok { (name) } @else { (disk.health.word()) } }
            }
        }
    }
}

/// The number of disks of each model, by their states.
fn models(all: &[&DiskEntry]) -> Markup {
    let mut models: BTreeMap<&str, BTreeMap<(u8, &str), usize>> = BTreeMap::new();
    for disk in all {
        let states = models.entry(&disk.model).or_default();
        *states.entry((tone::rank(disk.health), disk.health.word())).or_default() += 1;
    }
    html! {
        table.models aria-label="Models" {
            thead { tr { th { "Model" } th.number { "Disks" } th { "State" } } }
            tbody {
                @for (model, states) in &models {
                    tr {
                        th scope="row" { @if model.is_empty() { "not reported" } @else { (model) } }
                        td.number { (states.values().sum::<usize>()) }
                        td { @for (number, ((_, word), count)) in states.iter().enumerate() {
                            @if number > 0 { ", " } (count) " " (word)
                        } }
                    }
                }
            }
        }
    }
}

/// A row of dots for each measured value.
fn strips(view: &PageView<'_>, all: &[&DiskEntry]) -> Markup {
    let past = |disk: &DiskEntry| view.past_from(&disk.key);
    let days =
        |disk: &DiskEntry| disk.reading.oldest_read.map(|read| view.status.time.saturating_sub(read) as f64 / 86_400.0);
    let strips = [
        ("Temperature", strip(all, |disk| Some(f64::from(past(disk)?.drive.celsius?)), |at| format!("{at:.0} °C"))),
        (
            "Time to read 1 MiB, when its last pass ended",
            strip(
                all,
                |disk| Some(past(disk)?.service_nanos as f64).filter(|nanos| *nanos > 0.0),
                |at| show_time(Nanos(at as u64)),
            ),
        ),
        (
            "Reads that went well only the second time",
            strip(all, |disk| Some(past(disk)?.retries as f64), |at| format!("{at:.0}")),
        ),
        ("Days since its oldest sector was read", strip(all, days, |at| format!("{at:.0} d"))),
    ];
    let drawn: Vec<(&str, [String; 2])> = strips.into_iter().filter_map(|(name, drawn)| Some((name, drawn?))).collect();
    html! {
        @if !drawn.is_empty() {
            section aria-labelledby="spread" {
                h2 #spread { "Spread" }
                p.soft { "A dot is a disk; what lies far from the others is named." }
                @for (name, drawn) in &drawn { div.strip { h3 { (name) } @for drawn in drawn { (PreEscaped(drawn)) } } }
            }
        }
    }
}

/// The widths in which a row is drawn, in pixels: for a wide window and for a narrow one. The style shows one of them.
const WIDTHS: [f64; 2] = [1040.0, 390.0];

/// `None`: the value is known of fewer than three disks, or is the same for all.
fn strip(
    all: &[&DiskEntry],
    value: impl Fn(&DiskEntry) -> Option<f64>,
    show: impl Fn(f64) -> String,
) -> Option<[String; 2]> {
    let known: Vec<(&DiskEntry, f64)> = all.iter().filter_map(|disk| Some((*disk, value(disk)?))).collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    if values.len() < 3 || values.iter().all(|value| *value == values[0]) {
        return None;
    }
    let (middle, deviation) = spread(&values);
    let dot = |(disk, at): &(&DiskEntry, f64)| StripDot {
        at: *at,
        is_outlier: (at - middle).abs() > OUTLIER_FACTOR * deviation && *at != middle,
        words: format!("{} {}", disk_called(disk), show(*at)),
    };
    let dots: Vec<StripDot> = known.iter().map(dot).collect();
    let named: Vec<&str> = dots.iter().filter(|dot| dot.is_outlier).map(|dot| dot.words.as_str()).collect();
    let label = match named.is_empty() {
        true => format!("{} disks, the middle one at {}, none far from it", dots.len(), show(middle)),
        false => format!("{} disks, the middle one at {}; far from it: {}", dots.len(), show(middle), named.join(", ")),
    };
    Some(WIDTHS.map(|width| small::dots(&dots, width, &show, &label)))
}

/// The median, and the median distance from it.
fn spread(values: &[f64]) -> (f64, f64) {
    let median = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let middle = median(values.to_vec());
    (middle, median(values.iter().map(|value| (value - middle).abs()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_is_found_and_the_other_disks_are_not() {
        let disks: Vec<DiskEntry> = (0..20)
            .map(|number| DiskEntry { name: Some(format!("sd{number}")), bytes: number, ..DiskEntry::default() })
            .collect();
        let all: Vec<&DiskEntry> = disks.iter().collect();
        let heat = |disk: &DiskEntry| Some(if disk.bytes == 7 { 55.0 } else { 30.0 + (disk.bytes % 5) as f64 });
        for svg in strip(&all, heat, |at| format!("{at}")).unwrap() {
            assert_eq!(svg.matches("class=\"odd\"").count(), 1);
            assert!(svg.contains("far from it: sd7 55"), "{svg}");
        }
        assert!(strip(&all, |_| Some(1.0), |at| format!("{at}")).is_none());
        assert!(strip(&all[..2], heat, |at| format!("{at}")).is_none());
    }
}
