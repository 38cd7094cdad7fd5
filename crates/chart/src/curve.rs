//! Draws one series on the sheet: its line, marks, bars and labels, and its sign in the legend.

use crate::axis::AxisSpan;
use crate::figure::{CurvePoint, Series, Style};
use crate::label::{Area, LabelledSheet};
use crate::style::COLOURS;
use crate::text::{coordinate as px, escape, width};
use crate::thin::{self, Place};
use std::fmt::Write as _;

/// The area in which curves are drawn, and the ranges of its axes.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The rectangle between the axes.
    pub area: Area,
    /// The range of the horizontal axis.
    pub x: AxisSpan,
    /// The range of the vertical axis.
    pub y: AxisSpan,
}

/// Which of the bars that share one place are this series'.
#[derive(Clone, Copy, Debug)]
pub struct BarSlot {
    /// The width of one bar, in pixels.
    pub width: f64,
    /// The distance from the place to the middle of the bar, in pixels.
    pub shift: f64,
}

/// A label to be placed.
#[derive(Debug)]
pub struct WantedLabel<'a> {
    series: usize,
    rank: usize,
    at: Place,
    text: &'a str,
}

/// A line of at most this many points shows a mark at each of them.
const MARKS_MAX: usize = 16;

/// Above this number, points are drawn as dots in one stroke, without shapes and without notes for the pointer.
const SHAPES_MAX: usize = 300;

/// The side of a cell in which one point hides the others, in pixels: less than half of a dot.
const DOT_CELL: f64 = 1.5;

/// The number of labels that are tried, at most; a sheet never has room for as many.
const LABELS_MAX: usize = 400;

/// The font size and the line height of a label, in pixels.
const LABEL: (f64, f64) = (11.0, 13.0);

impl Frame {
    /// The place of a point on the sheet; `None` if an axis cannot show it.
    pub fn place(&self, point: &CurvePoint) -> Option<Place> {
        let (across, up) = (self.x.share(point.x)?, self.y.share(point.y)?);
        Some((self.area.x + across * self.area.width, self.area.y + (1.0 - up) * self.area.height))
    }

    /// The height at which bars stand: that of zero, or the foot of an axis that does not reach zero.
    fn base(&self) -> f64 {
        let up = self.y.share(0.0).unwrap_or(0.0).clamp(0.0, 1.0);
        self.area.y + (1.0 - up) * self.area.height
    }
}

/// Draws a series and returns the labels that it asks for.
pub fn draw<'a>(
    svg: &mut String,
    frame: &Frame,
    label_sheet: &mut LabelledSheet,
    number: usize,
    series: &'a Series,
    slot: BarSlot,
) -> Vec<WantedLabel<'a>> {
    let _ = writeln!(svg, "<g class=\"c{}\">", number % COLOURS);
    match series.style {
        Style::Bars => bars(svg, frame, label_sheet, series, slot),
        Style::Band => band(svg, frame, series),
        Style::Points => points(svg, frame, label_sheet, number, series, |_| true),
        Style::Line | Style::Dashed => {
            line(svg, frame, label_sheet, series);
            let few = series.points.len() <= MARKS_MAX;
            points(svg, frame, label_sheet, number, series, |point| few || !point.label.is_empty());
        }
    }
    svg.push_str("</g>\n");
    let shift = if series.style == Style::Bars { slot.shift } else { 0.0 };
    wanted(frame, number, series, shift)
}

/// Writes the labels where there is room, the ends of curves first. The text of a label without room is still in the
/// pointer's note and in the CSV.
pub fn labels(svg: &mut String, label_sheet: &mut LabelledSheet, mut wanted: Vec<WantedLabel<'_>>) {
    wanted.sort_by_key(|label| (label.rank, label.series));
    wanted.truncate(LABELS_MAX);
    for label in wanted {
        let (size, height) = LABEL;
        let Some(area) = label_sheet.place(label.at, width(label.text, size), height) else { continue };
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
        // Centred in the area, because the width of the text is a guess.
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
        Style::Band => {
            let _ = write!(svg, "<path class=\"band\" d=\"M{} {}h24v10h-24z\"/>", px(x), px(y - 5.0));
        }
        Style::Points => {}
        Style::Line | Style::Dashed => {
            let dash = dash(series.style);
            let _ = write!(svg, "<path class=\"line{dash}\" d=\"M{} {}h24\"/>", px(x), px(y));
        }
    }
    let shown = series.points.len() <= MARKS_MAX || series.points.iter().any(|point| !point.label.is_empty());
    if series.style == Style::Points || matches!(series.style, Style::Line | Style::Dashed) && shown {
        mark(svg, number, (x + 12.0, y), "");
    }
    svg.push_str("</g>");
}

/// Strokes a line. A point that cannot be shown breaks it, so that nothing is claimed about its place.
fn line(svg: &mut String, frame: &Frame, label_sheet: &mut LabelledSheet, series: &Series) {
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
            label_sheet.line(pair[0], pair[1]);
        }
    }
    let dash = dash(series.style);
    let _ = writeln!(svg, "<path class=\"line{dash}\" d=\"{path}\"/>");
}

/// Shades the area that the points enclose.
fn band(svg: &mut String, frame: &Frame, series: &Series) {
    let places = series.points.iter().filter_map(|point| frame.place(point));
    let corners: Vec<String> = places.map(|(x, y)| format!("{} {}", px(x), px(y))).collect();
    if !corners.is_empty() {
        let _ = writeln!(svg, "<path class=\"band\" d=\"M{}z\"/>", corners.join("L"));
    }
}

fn dash(style: Style) -> &'static str {
    if style == Style::Dashed { " dash" } else { "" }
}

/// Marks the points that `is_selected` selects; as dots if they are very many.
fn points(
    svg: &mut String,
    frame: &Frame,
    label_sheet: &mut LabelledSheet,
    number: usize,
    series: &Series,
    is_selected: impl Fn(&CurvePoint) -> bool,
) {
    let placed = |point| frame.place(point).map(|place| (point, place));
    let selected: Vec<(&CurvePoint, Place)> =
        series.points.iter().filter(|point| is_selected(point)).filter_map(placed).collect();
    let places: Vec<Place> = selected.iter().map(|(_, place)| *place).collect();
    let kept = thin::points(&places, DOT_CELL, |index| !selected[index].0.label.is_empty());
    let shapes = kept.len() <= SHAPES_MAX;
    let mut dots = String::new();
    for index in kept {
        let (point, place) = selected[index];
        label_sheet.mark(place);
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

/// Draws one mark. Its shape, filled or open, tells series apart where colours do not.
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
    // A ninth series has the colour of the first, so it gets another shape.
    let shape = (number + number / COLOURS) % SHAPES.len();
    let open = if OPEN[shape] { " open" } else { "" };
    let _ = write!(svg, "<path class=\"mark{open}\" d=\"M{} {}{}\"", px(at.0), px(at.1), SHAPES[shape]);
    end(svg, "path", note);
}

/// Draws the bars of a series, next to those of other series at the same places.
fn bars(svg: &mut String, frame: &Frame, label_sheet: &mut LabelledSheet, series: &Series, slot: BarSlot) {
    let placed = |point| frame.place(point).map(|place: Place| (point, (place.0 + slot.shift, place.1)));
    let placed: Vec<(&CurvePoint, Place)> = series.points.iter().filter_map(placed).collect();
    let ends: Vec<Place> = placed.iter().map(|(_, place)| *place).collect();
    let base = frame.base();
    for index in thin::bars(&ends, base) {
        let (x, y) = ends[index];
        let area = Area { x: x - slot.width / 2.0, y: y.min(base), width: slot.width, height: (y - base).abs() };
        label_sheet.fill(area);
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

/// Ends an element, with a note that the browser shows under the pointer.
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

/// The number with four significant digits, for readers.
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

/// The labels of a series by rank: the last, then the others from the first on. Of neighbours with the same text, the
/// last stays.
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
