//! A figure as SVG: legend, axes and curves on a sheet.
//!
//! Written by hand, because kuva 0.6 has no style sheets (so no dark figures), lets labels of one series overlap those
//! of the next, writes `1e-2`, `0.020` and `1` on one axis, and supports bars only by category. plotters 0.3 fixes
//! colours in each element too, and the placing of labels, the legend and the powers of ten would still be ours.

use crate::axis::{AxisSpan, Number, Tick, position};
use crate::curve::{self, BarSlot, Frame};
use crate::figure::{Axis, AxisScale, CurvePoint, Figure, Series, Style};
use crate::label::{Area, LabelledSheet};
use crate::sheet::{LEADING, MARGIN, Paper, Sheet, TEXT};
use crate::text::{coordinate as px, cut, escape, width};
use crate::thin::Place;
use std::fmt::Write as _;

/// A drawn figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// The element.
    pub svg: String,
    /// The number of points that the axes cannot show: those that are not numbers and, on a logarithmic axis, zero and
    /// below.
    pub hidden: usize,
    /// Lines that another one covers: the name of the line, and of the one that covers it.
    pub covered: Vec<(String, String)>,
}

/// The end of an axis label whose unit is the second.
const SECONDS: &str = " (s)";

/// The distance from an axis to its numbers, in pixels.
const TICK: f64 = 5.0;

/// Draws a figure. Points that would not change the picture are left out.
pub fn draw(figure: &Figure, sheet: Sheet) -> Drawing {
    let mut paper = Paper::new(&figure.title, sheet);
    legend(&mut paper, &figure.series);
    paper.soft(&figure.y.label);
    let frame = frame(figure, &paper);
    paper.y = axes(&mut paper.svg, figure, &frame);
    let label = figure.x.label.strip_suffix(SECONDS).filter(|_| is_log_time(&figure.x));
    paper.soft_below(label.unwrap_or(&figure.x.label), frame.area.x + frame.area.width / 2.0);
    curves(&mut paper.svg, figure, &frame, paper.width);
    let points = figure.series.iter().flat_map(|series| &series.points);
    let hidden = points.filter(|point| frame.place(point).is_none()).count();
    let foot = paper.y + MARGIN;
    Drawing { svg: paper.end(foot), hidden, covered: covered(&figure.series, &frame) }
}

/// The pairs of lines of which the first cannot be seen, because the second, drawn later, lies on it.
fn covered(series: &[Series], frame: &Frame) -> Vec<(String, String)> {
    let lines = series.iter().filter(|line| matches!(line.style, Style::Line | Style::Dashed));
    let lines: Vec<(&str, Vec<Place>)> = lines
        .map(|line| (line.name.as_str(), line.points.iter().filter_map(|point| frame.place(point)).collect()))
        .collect();
    let pair = |(number, (name, places)): (usize, &(&str, Vec<Place>))| {
        let later = lines[number + 1..].iter().find(|(_, other_places)| lies_on(places, other_places));
        later.map(|(other, _)| ((*name).to_owned(), (*other).to_owned()))
    };
    lines.iter().enumerate().filter_map(pair).collect()
}

/// Whether a sample of up to 64 `places` all lie on `line`, within a pixel. A single place covers nothing.
fn lies_on(places: &[Place], line: &[Place]) -> bool {
    const SAMPLES: usize = 64;
    const NEAR: f64 = 1.0;
    let is_near = |&(x, y): &Place| {
        let mut parts = line.windows(2).filter(|part| part[0].0 <= x && x <= part[1].0);
        parts.any(|part| {
            let share = if part[1].0 > part[0].0 { (x - part[0].0) / (part[1].0 - part[0].0) } else { 0.0 };
            (part[0].1 + share * (part[1].1 - part[0].1) - y).abs() <= NEAR
        })
    };
    places.len() > 1 && places.iter().step_by(places.len().div_ceil(SAMPLES)).all(is_near)
}

/// Writes the names of the series in columns above the plot, where they cover nothing.
fn legend(paper: &mut Paper, series: &[Series]) {
    const SIGN: f64 = 30.0;
    const GAP: f64 = 18.0;
    let room = paper.room();
    let named: Vec<(usize, &Series)> =
        series.iter().enumerate().filter(|(_, series)| !series.name.is_empty()).collect();
    let widest = named.iter().map(|(_, series)| width(&series.name, TEXT)).fold(0.0, f64::max);
    let column = (SIGN + widest + GAP).min(room);
    let columns = ((room + GAP) / column).floor().max(1.0) as usize;
    let rows = named.len().div_ceil(columns);
    // No more columns than the rows need, so that the last row is not left with a single name.
    let columns = named.len().div_ceil(rows.max(1)).max(1);
    for (n, (number, series)) in named.into_iter().enumerate() {
        let (x, y) = (paper.left + (n % columns) as f64 * column, paper.y + LEADING * ((n / columns) as f64 + 0.5));
        curve::sign(&mut paper.svg, series.colour.unwrap_or(number), series, x, y);
        let name = escape(&cut(&series.name, TEXT, room - SIGN));
        let _ = writeln!(paper.svg, "<text x=\"{}\" y=\"{}\">{name}</text>", px(x + SIGN), px(y + 4.5));
    }
    paper.y += LEADING * rows as f64 + if rows > 0 { 8.0 } else { 0.0 };
}

/// The rectangle between the axes, below everything drawn so far, and the ranges of the axes.
fn frame(figure: &Figure, paper: &Paper) -> Frame {
    let height = if paper.sheet == Sheet::Narrow { 260.0 } else { 340.0 };
    let values = |of: fn(&CurvePoint) -> f64| figure.series.iter().flat_map(|series| &series.points).map(of);
    let y = AxisSpan::of(figure.y.scale, values(|point| point.y));
    let y = if has_bars(figure) || figure.y.is_from_zero { y.zeroed() } else { y.zeroed_within_half() }
        .snapped(y_ticks(height));
    let width = paper.width;
    let left = paper.left + widest(&y.ticks(y_ticks(height))) + TICK + 3.0;
    let x = AxisSpan::of(figure.x.scale, values(|point| point.x));
    let x = match bar_gap(figure) {
        Some(gap) => x.padded(gap / 2.0),
        None => x.zeroed_within_tenth().snapped(x_ticks(width - left)),
    };
    // Half of the last number hangs over the end of the axis.
    let right = (widest(&x.ticks(x_ticks(width - left))) / 2.0 + 2.0).max(MARGIN);
    Frame { area: Area { x: left, y: paper.y, width: width - left - right, height }, x, y }
}

/// The number of tick labels that fit along the height.
fn y_ticks(height: f64) -> usize {
    (height / 52.0) as usize
}

fn x_ticks(width: f64) -> usize {
    (width / 68.0) as usize
}

fn has_bars(figure: &Figure) -> bool {
    figure.series.iter().any(|series| series.style == Style::Bars)
}

/// The least distance between the places of two bars, in positions; 1 if there is only one place, `None` without bars.
fn bar_gap(figure: &Figure) -> Option<f64> {
    let bars = figure.series.iter().filter(|series| series.style == Style::Bars);
    let mut places: Vec<f64> =
        bars.flat_map(|series| &series.points).filter_map(|point| position(figure.x.scale, point.x)).collect();
    places.sort_unstable_by(f64::total_cmp);
    let gaps = places.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0);
    has_bars(figure).then(|| gaps.fold(f64::INFINITY, f64::min)).map(|gap| if gap.is_finite() { gap } else { 1.0 })
}

/// The ticks of the horizontal axis; bars at few whole numbers (hours, days) have ticks at whole numbers.
fn ticks_across(figure: &Figure, frame: &Frame) -> Vec<Tick> {
    let count = x_ticks(frame.area.width);
    let bars = figure.series.iter().filter(|series| series.style == Style::Bars);
    let whole = bars.flat_map(|series| &series.points).all(|point| point.x.fract() == 0.0);
    if has_bars(figure)
        && matches!(figure.x.scale, AxisScale::Linear | AxisScale::Whole)
        && whole
        && frame.x.length() <= 32.0
    {
        let fits = |step: &f64| frame.area.width / frame.x.length() * step >= 24.0;
        return frame.x.ticks_every([1.0, 2.0, 3.0, 4.0, 6.0].into_iter().find(fits).unwrap_or(8.0));
    }
    let ticks = frame.x.ticks(count);
    if is_log_time(&figure.x) { ticks.into_iter().map(with_unit).collect() } else { ticks }
}

/// Whether the axis shows times on a logarithmic scale: those are labelled in units (us to s), not in powers of ten.
fn is_log_time(axis: &Axis) -> bool {
    axis.scale == AxisScale::Log && axis.label.ends_with(SECONDS)
}

fn with_unit(tick: Tick) -> Tick {
    let text = |value: f64| {
        let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];
        let (unit, name) = units.into_iter().find(|(unit, _)| value >= 0.999 * unit).unwrap_or((1e-9, "ns"));
        format!("{} {name}", (value / unit * 1e3).round() / 1e3)
    };
    Tick { label: tick.label.map(|_| Number { text: text(tick.value), exponent: None }), ..tick }
}

/// Draws the grid, axes, ticks and their numbers; returns the height of the foot of the numbers.
fn axes(svg: &mut String, figure: &Figure, frame: &Frame) -> f64 {
    let Area { x: left, y: top, width, height } = frame.area;
    let foot = top + height;
    let (mut grid, mut axis, mut numbers) = (String::new(), String::new(), String::new());
    for tick in frame.y.ticks(y_ticks(height)) {
        let y = (foot - frame.y.share(tick.value).unwrap_or(0.0) * height).round() + 0.5;
        let length = if tick.label.is_some() { TICK } else { TICK - 2.0 };
        let _ = write!(axis, "M{} {y}h-{length}", px(left));
        if let Some(number) = &tick.label {
            let _ = write!(grid, "M{} {y}h{}", px(left), px(width));
            set(&mut numbers, number, (left - TICK - 3.0, y + 4.0), "end");
        }
    }
    for tick in ticks_across(figure, frame) {
        let x = (left + frame.x.share(tick.value).unwrap_or(0.0) * width).round() + 0.5;
        let length = if tick.label.is_some() { TICK } else { TICK - 2.0 };
        let _ = write!(axis, "M{x} {}v{length}", px(foot));
        if let Some(number) = &tick.label {
            if !has_bars(figure) {
                let _ = write!(grid, "M{x} {}v{}", px(top), px(height));
            }
            set(&mut numbers, number, (x, foot + TICK + 13.0), "middle");
        }
    }
    let zero = frame.y.share(0.0).filter(|up| (0.0..1.0).contains(up)).unwrap_or(0.0);
    let base = (foot - zero * height).round() + 0.5;
    let _ = write!(axis, "M{} {}v{}M{} {base}h{}", px(left), px(top), px(height), px(left), px(width));
    let _ = writeln!(svg, "<path class=\"grid\" d=\"{grid}\"/>\n<path class=\"axis\" d=\"{axis}\"/>");
    let _ = writeln!(svg, "<g class=\"soft\">\n{numbers}</g>");
    foot + TICK + LEADING + 4.0
}

/// The width of the widest number of an axis, in pixels.
fn widest(ticks: &[Tick]) -> f64 {
    let raised = |number: &Number| number.exponent.map_or(0.0, |exponent| width(&raised(exponent), 9.0));
    let numbers = ticks.iter().filter_map(|tick| tick.label.as_ref());
    numbers.map(|number| width(&number.text, TEXT) + raised(number)).fold(0.0, f64::max)
}

/// Writes a number.
fn set(svg: &mut String, number: &Number, at: (f64, f64), anchor: &str) {
    let text = escape(&number.text);
    let _ = write!(svg, "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{text}", px(at.0), px(at.1));
    if let Some(exponent) = number.exponent {
        let _ = write!(svg, "<tspan class=\"raised\" dy=\"-5\">{}</tspan>", raised(exponent));
    }
    svg.push_str("</text>\n");
}

/// An exponent with a true minus sign.
fn raised(exponent: i32) -> String {
    exponent.to_string().replace('-', "−")
}

/// Draws all series, then all labels on top of them.
fn curves(svg: &mut String, figure: &Figure, frame: &Frame, width: f64) {
    let Area { x, y, height, .. } = frame.area;
    let mut label_sheet =
        LabelledSheet::new(Area { x: x + 2.0, y: y - 8.0, width: width - x - 4.0, height: height + 6.0 });
    let rows = figure.series.iter().filter(|series| series.style == Style::Bars).count().max(1) as f64;
    let gap = bar_gap(figure).unwrap_or(1.0) / frame.x.length() * frame.area.width;
    // Bars take four fifths of their gap, but not so much that they look like areas.
    let bar = (gap * 0.8 / rows).clamp(1.0, 48.0);
    let (mut wanted, mut bars) = (Vec::new(), 0.0);
    // Bands and bars first: lines and points are drawn over them.
    let mut order: Vec<(usize, &Series)> = figure.series.iter().enumerate().collect();
    order.sort_by_key(|(_, series)| match series.style {
        Style::Band => 0,
        Style::Bars => 1,
        Style::Line | Style::Dashed | Style::Points => 2,
    });
    for (number, series) in order {
        let slot = BarSlot { width: bar, shift: (bars - (rows - 1.0) / 2.0) * bar };
        if series.style == Style::Bars {
            bars += 1.0;
        }
        wanted.extend(curve::draw(svg, frame, &mut label_sheet, series.colour.unwrap_or(number), series, slot));
    }
    curve::labels(svg, &mut label_sheet, wanted);
    if figure.series.iter().flat_map(|series| &series.points).all(|point| frame.place(point).is_none()) {
        let (x, y) = (px(x + frame.area.width / 2.0), px(y + height / 2.0));
        let _ = writeln!(svg, "<text class=\"soft\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">no data</text>");
    }
}
