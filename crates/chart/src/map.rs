//! Maps as SVG: matrices drawn as squares of grey, side by side.
//!
//! The shades are data, so they are the same on a dark page. Each shade is one path; with one element per square, a
//! matrix of 30 rows would have 900.

use crate::figure::{Maps, Panel};
use crate::sheet::{LEADING, MARGIN, Paper, Sheet, TEXT};
use crate::text::{coordinate as px, cut, escape};
use std::fmt::Write as _;

/// The number of shades from black to white: more than a reader can tell apart.
const SHADES: usize = 48;

/// The darkest and the lightest shade, as a grey value from 0 to 255.
const DARK: f64 = 24.0;
const LIGHT: f64 = 246.0;

/// The space between two panels, in pixels.
const GAP: f64 = 22.0;

/// The largest side of a panel, in pixels.
const SIDE_MAX: f64 = 300.0;

/// Draws maps in rows, as many in a row as fit.
pub fn draw(maps: &Maps, sheet: Sheet) -> String {
    let mut paper = Paper::new(&maps.title, sheet);
    paper.soft(&description(maps));
    let columns = columns(maps.panels.len(), sheet);
    let side = ((paper.room() - GAP * (columns as f64 - 1.0)) / columns as f64).min(SIDE_MAX);
    for row in maps.panels.chunks(columns) {
        for (column, panel) in row.iter().enumerate() {
            let at = (paper.left + column as f64 * (side + GAP), paper.y);
            draw_panel(&mut paper.svg, panel, at, side);
        }
        paper.y += side + 2.0 * LEADING + 14.0;
    }
    let foot = paper.y + MARGIN / 2.0;
    paper.end(foot)
}

/// The number of panels in a row: at most five, or two on a phone.
fn columns(panels: usize, sheet: Sheet) -> usize {
    let most = if sheet == Sheet::Narrow { 2 } else { 5 };
    let rows = panels.div_ceil(most).max(1);
    panels.div_ceil(rows).max(1)
}

fn description(maps: &Maps) -> String {
    format!("Across and down: {}. The lighter, the larger: {}.", maps.axis, maps.value)
}

/// Draws one matrix below `at`, with its title above and its range below.
fn draw_panel(svg: &mut String, panel: &Panel, at: (f64, f64), side: f64) {
    let title = escape(&cut(&panel.title, TEXT, side));
    let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\">{title}</text>", px(at.0), px(at.1 + LEADING * 0.75));
    let top = at.1 + LEADING + 4.0;
    let count = panel.rows.iter().map(Vec::len).max().unwrap_or(0).max(panel.rows.len()).max(1);
    let values = || panel.rows.iter().flatten().copied().filter(|value| value.is_finite());
    let (least, most) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), value| (l.min(value), m.max(value)));
    let scale = side / count as f64;
    let _ = writeln!(
        svg,
        "<g transform=\"translate({} {}) scale({scale:.4})\" shape-rendering=\"crispEdges\">",
        px(at.0),
        px(top)
    );
    for (shade, path) in paths(panel, least, most).iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let grey = (DARK + (LIGHT - DARK) * shade as f64 / (SHADES - 1) as f64).round() as u8;
        let _ = writeln!(svg, "<path fill=\"#{grey:02x}{grey:02x}{grey:02x}\" d=\"{path}\"/>");
    }
    svg.push_str("</g>\n");
    // The frame: the darkest shade hardly differs from a dark page, the lightest from a white one.
    let (x, y, side_px) = (px(at.0), px(top), px(side));
    let _ = writeln!(svg, "<rect class=\"axis\" x=\"{x}\" y=\"{y}\" width=\"{side_px}\" height=\"{side_px}\"/>");
    let range = if least <= most { format!("{least:.2} to {most:.2}") } else { "no data".to_owned() };
    let foot = px(top + side + LEADING * 0.8);
    let _ = writeln!(svg, "<text class=\"soft\" x=\"{}\" y=\"{foot}\">{}</text>", px(at.0), escape(&range));
}

/// A path for each shade, with neighbours in a row merged; values that are not finite are left out.
fn paths(panel: &Panel, least: f64, most: f64) -> Vec<String> {
    let mut paths = vec![String::new(); SHADES];
    let width = if most > least { most - least } else { 1.0 };
    let shade =
        |value: &f64| value.is_finite().then(|| ((value - least) / width * (SHADES - 1) as f64).round() as usize);
    for (down, row) in panel.rows.iter().enumerate() {
        let mut across = 0;
        for run in row.chunk_by(|one, other| shade(one) == shade(other)) {
            if let Some(path) = shade(&run[0]).and_then(|shade| paths.get_mut(shade)) {
                let _ = write!(path, "M{across} {down}h{0}v1h-{0}z", run.len());
            }
            across += run.len();
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps(panels: usize, rows: Vec<Vec<f64>>) -> Maps {
        let panel = Panel { title: "a <b>".into(), rows };
        let (name, title, caption) = ("m".into(), "Maps".into(), String::new());
        Maps { name, title, caption, axis: "chunk".into(), value: "time (s)".into(), panels: vec![panel; panels] }
    }

    #[test]
    fn larger_values_are_lighter_and_equal_neighbours_are_merged() {
        let svg = draw(&maps(1, vec![vec![2.0, 2.0, 1.0], vec![f64::NAN, 1.5, 1.0]]), Sheet::Standalone);
        assert!(svg.contains("<path fill=\"#f6f6f6\" d=\"M0 0h2v1h-2z\"/>"), "{svg}");
        assert!(svg.contains("<path fill=\"#181818\" d=\"M2 0h1v1h-1zM2 1h1v1h-1z\"/>"), "{svg}");
        assert!(svg.contains("1.00 to 2.00") && svg.contains("a &lt;b&gt;"));
        assert!(svg.contains("<rect class=\"axis\" x=\"20\""), "an edge on dark paper: {svg}");
    }

    #[test]
    fn empty_and_even_matrices_are_drawn() {
        assert!(draw(&maps(1, vec![]), Sheet::Wide).contains("no data"));
        assert!(draw(&maps(2, vec![vec![3.0]]), Sheet::Narrow).contains("3.00 to 3.00"));
    }

    #[test]
    fn ten_panels_are_two_rows_of_five() {
        assert_eq!([1, 2, 4, 5, 6, 10].map(|panels| columns(panels, Sheet::Wide)), [1, 2, 4, 5, 3, 5]);
        assert_eq!([1, 4, 10].map(|panels| columns(panels, Sheet::Narrow)), [1, 2, 2]);
    }
}
