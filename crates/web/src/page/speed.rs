//! How fast each part of a disk answers: the curve of its zones, the pass before, and the places that are slow.

use maud::{Markup, PreEscaped, html};
use scrubjay_chart::{Axis, Figure, Series, Style, in_page};
use scrubjay_control::DiskEntry;
use scrubjay_control::past::{DiskDetail, SlowEntry, SurfaceSpeed};
use scrubjay_control::surface::{in_words, place_in_words, since_in_words};
use scrubjay_control::wording::date;
use scrubjay_words::typed;

/// Slow places that are shown without unfolding, at most.
const PLACES: usize = 5;

/// The section of a disk's page; nothing where nothing is measured yet.
pub fn section(disk: &DiskEntry, detail: Option<&DiskDetail>) -> Markup {
    let name = disk.name.as_deref().unwrap_or(&disk.last_name);
    html! {
        @if let Some(speed) = detail.map(|detail| &detail.speed).filter(|speed| !speed.parts.is_empty()) {
            section aria-labelledby="speed" {
                h2 #speed { "Speed by place" }
                (curve(speed))
                @for line in in_words(speed, name, date).iter().filter(|_| speed.slow.is_empty()) { p { (line) } }
                @if !speed.slow.is_empty() { (places(speed, name)) }
                p.soft {
                    "Measured by the scrub's own reads that had the disk for themselves. A hard disk is slower towards its end; a place that is slow in one pass only may be one that the drive was rewriting."
                }
            }
        }
    }
}

fn curve(speed: &SurfaceSpeed) -> Markup {
    let count = speed.parts.len() as f64;
    let points = |values: &mut dyn Iterator<Item = u64>| -> Vec<(f64, f64)> {
        let known = values.enumerate().filter(|(_, value)| *value > 0);
        known.map(|(part, value)| (100.0 * (part as f64 + 0.5) / count, value as f64 / 1e6)).collect()
    };
    let mut series = vec![Series::new(
        format!("pass of {}", date(speed.begun)),
        Style::Line,
        points(&mut speed.parts.iter().map(|part| part.typical)),
    )];
    if !speed.before.is_empty() {
        let before = points(&mut speed.before.iter().copied());
        series.push(Series::new(format!("pass of {}", date(speed.before_begun)), Style::Dashed, before));
    }
    let is_behind = |typical: u64, slowest: u64| slowest * 5 < typical * 4;
    let slow =
        points(&mut speed.parts.iter().map(|part| if is_behind(part.around, part.slowest) { part.slowest } else { 0 }));
    if !slow.is_empty() {
        series.push(Series::new("slowest 128 MiB, where it is far behind", Style::Points, slow));
    }
    let figure = Figure {
        name: "speed-by-place".to_owned(),
        title: "Speed by place".to_owned(),
        caption: String::new(),
        x: Axis::linear("place on the disk, percent"),
        y: Axis::from_zero("MB/s"),
        series,
    };
    let [wide, narrow] = in_page(&figure);
    html! { figure { (PreEscaped(wide)) (PreEscaped(narrow)) } }
}

fn places(speed: &SurfaceSpeed, name: &str) -> Markup {
    let row = |place: &SlowEntry| html! { li { (place_in_words(place)) ", " (since_in_words(place)) } };
    let (first, rest) = speed.slow.split_at(speed.slow.len().min(PLACES));
    let more = speed.slow_places.saturating_sub(first.len() as u64);
    html! {
        ul { @for place in first { (row(place)) } }
        @if !rest.is_empty() {
            details { summary { "and " (more) " more places" } ul { @for place in rest { (row(place)) } } }
        }
        p { "Which file lies there: " code { "sudo scrubjay explain " (typed(name)) " " (first[0].start) } }
    }
}
