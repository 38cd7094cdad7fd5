//! Small drawings for pages that are watched daily: a ring, a strip of cells, a row of dots, a spark line, a timeline.
//!
//! They have no style of their own: each part has a class that names what it is, and the page's style sheet sets its
//! look. No meaning depends on colour alone: each part has its words, for pointers and screen readers.

use crate::text::{coordinate as px, escape};
use std::fmt::Write as _;

/// A part of a ring or strip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartCell {
    /// The CSS class: what kind of part it is.
    pub class: &'static str,
    /// What the part is, in words.
    pub words: String,
}

/// A dot in a row of dots.
#[derive(Clone, Debug, PartialEq)]
pub struct StripDot {
    /// The place, in the units of the strip.
    pub at: f64,
    /// Whether it is an outlier, so that its words are written beside it.
    pub is_outlier: bool,
    /// What the dot is, in words.
    pub words: String,
}

/// A row of a timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineRow {
    /// What the row shows.
    pub name: String,
    /// The CSS class of the row's marks.
    pub class: &'static str,
    /// The marks: the time as a share of the time shown (0 to 1), and what happened.
    pub marks: Vec<(f64, String)>,
}

fn begin(class: &str, (width, height): (f64, f64), label: &str) -> String {
    format!(
        "<svg class=\"{class}\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n",
        px(width),
        px(height),
        escape(label)
    )
}

/// Neighbouring cells with the same class and words, joined: the index of the first, and the cells.
fn runs(cells: &[ChartCell]) -> Vec<(usize, &[ChartCell])> {
    let mut first = 0;
    let mut runs = Vec::new();
    for run in cells.chunk_by(|one, other| one == other) {
        runs.push((first, run));
        first += run.len();
    }
    runs
}

/// A ring of equal parts, clockwise from the top, with two lines of text inside.
pub fn ring(cells: &[ChartCell], inside: (&str, &str), label: &str) -> String {
    const SIZE: f64 = 200.0;
    let (middle, outer, inner) = (SIZE / 2.0, 96.0, 66.0);
    let mut svg = begin("ring", (SIZE, SIZE), label);
    let count = cells.len().max(1) as f64;
    for (first, run) in runs(cells) {
        let angle = |part: f64| (part / count - 0.25) * std::f64::consts::TAU;
        // An arc whose ends coincide draws nothing: a full circle is drawn as an arc that nearly closes.
        let (from, to) = (angle(first as f64), angle((first + run.len()) as f64 - 0.001 * count.min(1.0)));
        let is_large = u8::from(run.len() as f64 * 2.0 > count);
        let at = |radius: f64, angle: f64| (px(middle + radius * angle.cos()), px(middle + radius * angle.sin()));
        let ((ax, ay), (bx, by)) = (at(outer, from), at(outer, to));
        let ((cx, cy), (dx, dy)) = (at(inner, to), at(inner, from));
        let _ = writeln!(
            svg,
            "<path class=\"{}\" d=\"M{ax} {ay}A{outer} {outer} 0 {is_large} 1 {bx} {by}L{cx} {cy}\
             A{inner} {inner} 0 {is_large} 0 {dx} {dy}z\"><title>{}</title></path>",
            run[0].class,
            escape(&run[0].words)
        );
    }
    let _ = write!(
        svg,
        "<text class=\"large\" x=\"100\" y=\"104\" text-anchor=\"middle\">{}</text>\
         <text class=\"soft\" x=\"100\" y=\"124\" text-anchor=\"middle\">{}</text>\n</svg>",
        escape(inside.0),
        escape(inside.1)
    );
    svg
}

/// A strip of equal cells in rows, left to right, top to bottom.
pub fn cells(cells: &[ChartCell], columns: usize, label: &str) -> String {
    const SIDE: f64 = 20.0;
    let columns = columns.max(1);
    let rows = cells.len().div_ceil(columns).max(1);
    let mut svg = begin("cells", (columns as f64 * SIDE, rows as f64 * SIDE), label);
    for (at, cell) in cells.iter().enumerate() {
        let (x, y) = ((at % columns) as f64 * SIDE, (at / columns) as f64 * SIDE);
        let _ = writeln!(
            svg,
            "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"18\" height=\"18\" rx=\"2\"><title>{}</title></rect>",
            cell.class,
            px(x + 1.0),
            px(y + 1.0),
            escape(&cell.words)
        );
    }
    svg.push_str("</svg>");
    svg
}

/// A row of dots along a line from the least to the greatest; odd dots have their words above them. `show` formats the
/// ends, and `width` is in pixels: on a telephone a wide row would hide its far end, where odd dots lie.
pub fn dots(dots: &[StripDot], width: f64, show: impl Fn(f64) -> String, label: &str) -> String {
    const ENDS: f64 = 64.0;
    /// The number of dots whose words fit above the line.
    const NAMED_MAX: usize = 4;
    let finite = || dots.iter().map(|dot| dot.at).filter(|at| at.is_finite());
    let (least, most) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), at| (l.min(at), m.max(at)));
    let mut svg = begin("dots", (width, 44.0), label);
    if least > most {
        svg.push_str("</svg>");
        return svg;
    }
    let spread = if most > least { most - least } else { 1.0 };
    let place = |at: f64| ENDS + (width - 2.0 * ENDS) * (at - least) / spread;
    let _ = writeln!(
        svg,
        "<text class=\"soft\" x=\"{}\" y=\"34\" text-anchor=\"end\">{}</text><text class=\"soft\" x=\"{}\" y=\"34\">{}</text>\
         <path class=\"axis\" d=\"M{ENDS} 30H{}\"/>",
        px(ENDS - 12.0),
        escape(&show(least)),
        px(width - ENDS + 12.0),
        escape(&show(most)),
        px(width - ENDS)
    );
    let mut named: Vec<f64> = Vec::new();
    for dot in dots.iter().filter(|dot| dot.at.is_finite()) {
        let x = place(dot.at);
        let class = if dot.is_outlier { "odd" } else { "plain" };
        let words = escape(&dot.words);
        let _ = writeln!(
            svg,
            "<circle class=\"{class}\" cx=\"{}\" cy=\"30\" r=\"4\"><title>{words}</title></circle>",
            px(x)
        );
        // Words closer together than this would overlap.
        if dot.is_outlier && named.len() < NAMED_MAX && named.iter().all(|other| (other - x).abs() > 150.0) {
            let (anchor, at) = if x > width / 2.0 { ("end", x + 4.0) } else { ("start", x - 4.0) };
            let _ = writeln!(svg, "<text x=\"{}\" y=\"16\" text-anchor=\"{anchor}\">{words}</text>", px(at));
            named.push(x);
        }
    }
    svg.push_str("</svg>");
    svg
}

/// Values as bars, left to right; if all are zero, a line at the foot.
pub fn spark(values: &[u64], label: &str) -> String {
    const BAR: f64 = 7.0;
    const HEIGHT: f64 = 18.0;
    let most = values.iter().copied().max().unwrap_or(0);
    let class = if most == 0 { "spark none" } else { "spark" };
    let mut svg = begin(class, (values.len() as f64 * BAR, HEIGHT), label);
    for (at, &value) in values.iter().enumerate() {
        let share = if most == 0 { 0.0 } else { value as f64 / most as f64 };
        let height = if value == 0 { 1.5 } else { (share * (HEIGHT - 2.0)).max(4.0) };
        let class = if value == 0 { "zero" } else { "some" };
        let (x, y) = (px(at as f64 * BAR), px(HEIGHT - height));
        let _ = write!(svg, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"5\" height=\"{}\"/>", px(height));
    }
    svg.push_str("\n</svg>");
    svg
}

/// Rows of marks over one span of time; `ticks` are shares of it (0 to 1) with their names.
pub fn timeline(rows: &[TimelineRow], ticks: &[(f64, String)], label: &str) -> String {
    const WIDTH: f64 = 1040.0;
    const NAMES: f64 = 150.0;
    const ROW: f64 = 26.0;
    /// The number of distinct places in a row: of marks that fall on the same place, only the first is drawn.
    const PLACES: f64 = 880.0;
    let foot = rows.len() as f64 * ROW + 4.0;
    let mut svg = begin("timeline", (WIDTH, foot + 22.0), label);
    let place = |share: f64| NAMES + (WIDTH - NAMES - 10.0) * share.clamp(0.0, 1.0);
    for (share, name) in ticks {
        let x = px(place(*share));
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{x} 0V{}\"/><text class=\"soft\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            px(foot),
            px(foot + 16.0),
            escape(name)
        );
    }
    for (number, row) in rows.iter().enumerate() {
        let middle = (number as f64 + 0.5) * ROW;
        let _ = writeln!(
            svg,
            "<text x=\"0\" y=\"{}\">{}</text><path class=\"axis\" d=\"M{NAMES} {}H{}\"/>",
            px(middle + 4.5),
            escape(&row.name),
            px(middle),
            px(WIDTH - 10.0)
        );
        let mut seen = std::collections::HashSet::new();
        for (share, words) in &row.marks {
            if !seen.insert((share * PLACES) as i64) {
                continue;
            }
            let _ = writeln!(
                svg,
                "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"3\" height=\"14\" rx=\"1\"><title>{}</title></rect>",
                row.class,
                px(place(*share) - 1.5),
                px(middle - 7.0),
                escape(words)
            );
        }
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(class: &'static str) -> ChartCell {
        ChartCell { class, words: "<read>".into() }
    }

    #[test]
    fn a_ring_joins_equal_neighbours_and_closes() {
        let svg = ring(&[cell("a"), cell("a"), cell("b")], ("12 days", "at most"), "surface");
        assert_eq!(svg.matches("<path").count(), 2);
        assert!(svg.contains("&lt;read&gt;") && !svg.contains("<read>"));
        assert_eq!(ring(&vec![cell("a"); 64], ("", ""), "").matches("<path").count(), 1);
        assert!(!ring(&[], ("", ""), "").contains("NaN"));
    }

    #[test]
    fn small_drawings_have_no_style_and_no_raw_text() {
        let outlier = |at| StripDot { at, is_outlier: true, words: "sd\"a".into() };
        let row =
            TimelineRow { name: "<b>".into(), class: "pass", marks: vec![(0.5, "&".into()), (0.5001, "x".into())] };
        let drawings = [
            cells(&vec![cell("a"); 5], 2, "map"),
            dots(&[outlier(1.0), outlier(1.0), outlier(f64::NAN)], 390.0, |at| format!("{at}"), "heat"),
            dots(&[], 390.0, |_| String::new(), "none"),
            spark(&[0, 0, 3], "bad"),
            timeline(&[row], &[(0.0, "Jan".into())], "year"),
        ];
        for svg in drawings {
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>") && !svg.contains("style="), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("<b>") && !svg.contains("\"sd\"a\""), "{svg}");
        }
        assert_eq!(timeline(&[], &[], "").matches("<rect").count(), 0);
    }
}
