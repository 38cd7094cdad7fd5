//! The sheet that figures and maps are drawn on: its width, its margins, its title, and lines of text.

use crate::style;
use crate::text::{coordinate as px, escape, wrap};
use std::fmt::Write as _;

/// Where a drawing will be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sheet {
    /// In a file of its own, with its title and style.
    Standalone,
    /// In a page that has the style, on a screen or on paper.
    Wide,
    /// In a page that has the style, on a phone.
    Narrow,
}

/// Font size of text, font size of titles, and line height, in pixels.
pub const TEXT: f64 = 12.5;
const TITLE: f64 = 15.0;
pub const LEADING: f64 = 18.0;

/// The margin around everything, in pixels.
pub const MARGIN: f64 = 10.0;

/// A sheet that is drawn on from the top down.
#[derive(Debug)]
pub struct Paper<'a> {
    /// Where the drawing will be shown.
    pub sheet: Sheet,
    /// The SVG elements drawn so far.
    pub svg: String,
    /// The width of the sheet, in pixels.
    pub width: f64,
    /// The left edge of drawings, in pixels: small in a page, where the surrounding text is the margin.
    pub left: f64,
    /// The foot of what is drawn so far, in pixels.
    pub y: f64,
    title: &'a str,
}

impl<'a> Paper<'a> {
    /// A new sheet, with its title written if it stands alone.
    pub fn new(title: &'a str, sheet: Sheet) -> Paper<'a> {
        let width = if sheet == Sheet::Narrow { 380.0 } else { 720.0 };
        let (left, y) = if sheet == Sheet::Standalone { (2.0 * MARGIN, 1.5 * MARGIN) } else { (1.0, 2.0) };
        let mut paper = Paper { sheet, svg: String::new(), width, left, y, title };
        if sheet == Sheet::Standalone {
            paper.lines("title", &wrap(title, TITLE * 1.06, paper.room()), (left, "start"));
            paper.y += 6.0;
        }
        paper
    }

    /// The width between the margins.
    pub fn room(&self) -> f64 {
        self.width - 2.0 * self.left
    }

    /// Writes a note on the drawing below it.
    pub fn soft(&mut self, text: &str) {
        self.lines("soft", &wrap(text, TEXT, self.room()), (self.left, "start"));
        self.y += 8.0;
    }

    /// Writes a note on the drawing above it, centred at `middle`.
    pub fn soft_below(&mut self, text: &str, middle: f64) {
        self.lines("soft", &wrap(text, TEXT, self.room()), (middle, "middle"));
    }

    fn lines(&mut self, class: &str, lines: &[String], (x, anchor): (f64, &str)) {
        for line in lines {
            let (x, y, line) = (px(x), px(self.y + LEADING * 0.75), escape(line));
            let _ = writeln!(
                self.svg,
                "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{line}</text>"
            );
            self.y += LEADING;
        }
    }

    /// Closes the drawing at `height`, as one element; with style and background if it stands alone.
    pub fn end(self, height: f64) -> String {
        let Paper { sheet, svg: inside, width, .. } = self;
        let (height, title) = (height.ceil(), escape(self.title));
        let class = if sheet == Sheet::Narrow { "plot narrow" } else { "plot wide" };
        let size = format!("width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\"");
        if sheet != Sheet::Standalone {
            return format!("<svg class=\"{class}\" {size} aria-label=\"{title}\">\n{inside}</svg>\n");
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" {size} aria-label=\"{title}\">\n\
             <style>\n{}</style>\n<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{inside}</svg>\n",
            style::FIGURE
        )
    }
}
