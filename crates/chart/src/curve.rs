//! One series on the sheet: its line, marks, bars, labels, and its sign in the legend.

use crate::axis::AxisSpan;
use crate::figure::{CurvePoint, Series, Style};
use crate::label::{Area, LabelledSheet};
use crate::style::COLOURS;
use crate::text::{coordinate as px, escape, width};
use crate::thin::{self, Place};
use std::fmt::Write as _;

/// Where the curves are drawn, and over which ranges.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The rectangle between the axes.
    pub area: Area,
    /// What the horizontal axis shows.
    pub x: AxisSpan,
    /// What the vertical axis shows.
    pub y: AxisSpan,
}

/// Which of the bars at one place these are.
#[derive(Clone, Copy, Debug)]
pub struct BarSlot {
    /// The width of one bar, in pixels.
    pub width: f64,
    /// From the place to the middle of the bar, in pixels.
    pub shift: f64,
}

/// A label that looks for room.
#[derive(Debug)]
pub struct WantedLabel<'a> {
    series: usize,
    rank: usize,
    at: Place,
    text: &'a str,
}

/// A line of so few points shows each of them.
const MARKS_MAX: usize = 16;

/// Above so many, points are drawn as dots in one stroke, without shapes and without a note for the pointer.
const SHAPES_MAX: usize = 300;

/// Points closer than this hide each other: less than half of a dot, in pixels.
const DOT_CELL: f64 = 1.5;

/// So many labels look for room at most; a sheet never holds as many.
const LABELS_MAX: usize = 400;

/// Size and height of the line of a label, in pixels.
const LABEL: (f64, f64) = (11.0, 13.0);

impl Frame {
    /// Where a point lies; `None` if an axis cannot show it.
    pub fn place(&self, point: &CurvePoint) -> Option<Place> {
        let (across, up) = (self.x.share(point.x)?, self.y.share(point.y)?);
        Some((self.area.x + across * self.area.width, self.area.y + (1.0 - up) * self.area.height))
    }

    /// The height at which bars stand: zero, or the foot of an axis without it.
    fn base(&self) -> f64 {
        let up = self.y.share(0.0).unwrap_or(0.0).clamp(0.0, 1.0);
        self.area.y + (1.0 - up) * self.area.height
    }
}

/// Draws a series and gives the labels it wants.
pub fn draw<'a>(
    svg: &mut String,
    frame: &Frame,
    ground: &mut LabelledSheet,
    number: usize,
    series: &'a Series,
    slot: BarSlot,
) -> Vec<WantedLabel<'a>> {
    let _ = writeln!(svg, "<g class=\"c{}\">", number % COLOURS);
    match series.style {
        Style::Bars => bars(svg, frame, ground, series, slot),
        Style::Points => points(svg, frame, ground, number, series, |_| true),
        Style::Line | Style::Dashed => {
            line(svg, frame, ground, series);
            let few = series.points.len() <= MARKS_MAX;
            points(svg, frame, ground, number, series, |point| few || !point.label.is_empty());
        }
    }
    svg.push_str("</g>\n");
    let shift = if series.style == Style::Bars { slot.shift } else { 0.0 };
    wanted(frame, number, series, shift)
}

/// Writes the labels, ends of curves first, each where there is room; one without room stays in the note for the
/// pointer and in the CSV.
pub fn labels(svg: &mut String, ground: &mut LabelledSheet, mut wanted: Vec<WantedLabel<'_>>) {
    wanted.sort_by_key(|label| (label.rank, label.series));
    wanted.truncate(LABELS_MAX);
    for label in wanted {
        let (size, height) = LABEL;
        let Some(area) = ground.place(label.at, width(label.text, size), height) else { continue };
        let near = (label.at.0.clamp(area.x, area.x + area.width), label.at.1.clamp(area.y, area.y + area.height));
        let _ = write!(svg, "<g class=\"t{}\">", label.series % COLOURS);
        if (near.0 - label.at.0).hypot(near.1 - label.at.1) > 10.0 {
            let _ = write!(
                svg,
                "<path class=\"tie\" d=\"M{} {}L{} {}\"/>",
                px(label.at.0),
                px(label.at.1),
                px(near.0),
                px(near.1)
            );
        }
        // The middle of the room, because its width is a guess.
        let (x, anchor) = match label.at.0 {
            at if at <= area.x => (area.x, "start"),
            at if at >= area.x + area.width => (area.x + area.width, "end"),
            _ => (area.x + area.width / 2.0, "middle"),
        };
        let y = px(area.y + height - 3.0);
        let _ = writeln!(
            svg,
            "<text class=\"note\" x=\"{}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text></g>",
            px(x),
            escape(label.text)
        );
    }
}

/// The sign of a series in the legend, 24 pixels wide, around the height `y`.
pub fn sign(svg: &mut String, number: usize, series: &Series, x: f64, y: f64) {
    let _ = write!(svg, "<g class=\"c{}\">", number % COLOURS);
    match series.style {
        Style::Bars => {
            let _ = write!(
                svg,
                "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"14\" height=\"10\"/>",
                px(x + 5.0),
                px(y - 5.0)
            );
        }
        Style::Points => {}
        Style::Line | Style::Dashed => {
            let dash = dash(series.style);
            let _ = write!(svg, "<path class=\"line{dash}\" d=\"M{} {}h24\"/>", px(x), px(y));
        }
    }
    let shown = series.points.len() <= MARKS_MAX || series.points.iter().any(|point| !point.label.is_empty());
    if series.style == Style::Points || series.style != Style::Bars && shown {
        mark(svg, number, (x + 12.0, y), "");
    }
    svg.push_str("</g>");
}

/// The stroke of a line. A point that cannot be shown breaks it: nothing is claimed about what lies there.
fn line(svg: &mut String, frame: &Frame, ground: &mut LabelledSheet, series: &Series) {
    let mut path = String::new();
    let places: Vec<Option<Place>> = series.points.iter().map(|point| frame.place(point)).collect();
    for run in places.split(Option::is_none) {
        let run: Vec<Place> = run.iter().flatten().copied().collect();
        let kept = thin::line(&run);
        for (n, place) in kept.iter().enumerate() {
            let _ = write!(path, "{}{} {}", if n == 0 { "M" } else { "L" }, px(place.0), px(place.1));
        }
        if let [_] = kept.as_slice() {
            path.push_str("h0");
        }
        for pair in kept.windows(2) {
            ground.line(pair[0], pair[1]);
        }
    }
    let dash = dash(series.style);
    let _ = writeln!(svg, "<path class=\"line{dash}\" d=\"{path}\"/>");
}

fn dash(style: Style) -> &'static str {
    if style == Style::Dashed { " dash" } else { "" }
}

/// Marks at those points that are asked for; as dots if there are very many.
fn points(
    svg: &mut String,
    frame: &Frame,
    ground: &mut LabelledSheet,
    number: usize,
    series: &Series,
    asked: impl Fn(&CurvePoint) -> bool,
) {
    let placed = |point| frame.place(point).map(|place| (point, place));
    let asked: Vec<(&CurvePoint, Place)> =
        series.points.iter().filter(|point| asked(point)).filter_map(placed).collect();
    let places: Vec<Place> = asked.iter().map(|(_, place)| *place).collect();
    let kept = thin::points(&places, DOT_CELL, |index| !asked[index].0.label.is_empty());
    let shapes = kept.len() <= SHAPES_MAX;
    let mut dots = String::new();
    for index in kept {
        let (point, place) = asked[index];
        ground.mark(place);
        if shapes {
            mark(svg, number, place, &note(series, point));
        } else {
            let _ = write!(dots, "M{} {}h0", px(place.0), px(place.1));
        }
    }
    if !shapes {
        let _ = writeln!(svg, "<path class=\"dots\" d=\"{dots}\"/>");
    }
}

/// One mark: its shape, filled or open, tells series apart where colours fail.
fn mark(svg: &mut String, number: usize, at: Place, note: &str) {
    const SHAPES: [&str; 8] = [
        "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
        "m-3.2-3.2h6.4v6.4h-6.4z",
        "m0-4.4l4.2 7.2h-8.4z",
        "m0-4.6l4.6 4.6l-4.6 4.6l-4.6-4.6z",
        "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z",
        "m-2.9-2.9h5.8v5.8h-5.8z",
        "m0 4.4l4.2-7.2h-8.4z",
        "m0-4.2l4.2 4.2l-4.2 4.2l-4.2-4.2z",
    ];
    const OPEN: [bool; 8] = [false, false, false, false, true, true, false, true];
    // A ninth series has the colour of the first: it gets another shape.
    let shape = (number + number / COLOURS) % SHAPES.len();
    let open = if OPEN[shape] { " open" } else { "" };
    let _ = write!(svg, "<path class=\"mark{open}\" d=\"M{} {}{}\"", px(at.0), px(at.1), SHAPES[shape]);
    end(svg, "path", note);
}

/// The bars of a series beside those of the others.
fn bars(svg: &mut String, frame: &Frame, ground: &mut LabelledSheet, series: &Series, slot: BarSlot) {
    let placed = |point| frame.place(point).map(|place: Place| (point, (place.0 + slot.shift, place.1)));
    let placed: Vec<(&CurvePoint, Place)> = series.points.iter().filter_map(placed).collect();
    let ends: Vec<Place> = placed.iter().map(|(_, place)| *place).collect();
    let base = frame.base();
    for index in thin::bars(&ends, base) {
        let (x, y) = ends[index];
        let area = Area { x: x - slot.width / 2.0, y: y.min(base), width: slot.width, height: (y - base).abs() };
        ground.fill(area);
        let _ = write!(
            svg,
            "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
            px(area.x),
            px(area.y),
            px(area.width),
            px(area.height)
        );
        end(svg, "rect", &note(series, placed[index].0));
    }
}

/// Ends an element, with a note that a browser shows under the pointer.
fn end(svg: &mut String, element: &str, note: &str) {
    if note.is_empty() {
        svg.push_str("/>\n");
    } else {
        let _ = writeln!(svg, "><title>{}</title></{element}>", escape(note));
    }
}

fn note(series: &Series, point: &CurvePoint) -> String {
    let label = if point.label.is_empty() { String::new() } else { format!(", {}", point.label) };
    format!("{}{label}: {}, {}", series.name, short(point.x), short(point.y))
}

/// Four digits, for people.
fn short(value: f64) -> String {
    let digits = 4;
    if value == 0.0 || !(1e-4..1e7).contains(&value.abs()) {
        let text = format!("{value:.3e}");
        return if value == 0.0 { "0".to_owned() } else { text };
    }
    let decimals = (f64::from(digits) - 1.0 - value.abs().log10().floor()).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The labels of a series: the last point, the first, then those between. Of neighbours that say the same, the last.
fn wanted<'a>(frame: &Frame, number: usize, series: &'a Series, shift: f64) -> Vec<WantedLabel<'a>> {
    let mut wanted: Vec<WantedLabel<'a>> = Vec::new();
    for point in series.points.iter().filter(|point| !point.label.is_empty()) {
        if let Some((x, y)) = frame.place(point) {
            wanted.pop_if(|before| before.text == point.label);
            wanted.push(WantedLabel { series: number, rank: 0, at: (x + shift, y), text: &point.label });
        }
    }
    let last = wanted.len().saturating_sub(1);
    for (n, label) in wanted.iter_mut().enumerate() {
        label.rank = if n == last { 0 } else { n + 1 };
    }
    wanted
}
