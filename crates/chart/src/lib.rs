//! Figures and tables as values, and their rendering to files: SVG, CSV, and one HTML page with everything in it.
//!
//! **Never:** I/O. [`files`] returns names and text; the caller writes them.
//!
//! ```
//! use scrubjay_chart::{Axis, Exhibit, Figure, Page, Series, Style};
//!
//! let curve = Series::new("Waiting", Style::Line, [(0.001, 0.2), (0.01, 0.5), (0.1, 0.9)]);
//! let figure = Figure {
//!     name: "trade-off".to_owned(),
//!     title: "What idle time costs".to_owned(),
//!     caption: "More of it is used where more collisions are accepted.".to_owned(),
//!     x: Axis::log("collisions per foreground request"),
//!     y: Axis::from_zero("share of the idle time used"),
//!     series: vec![curve],
//! };
//! let page = Page { title: "A study".to_owned(), exhibits: vec![Exhibit::Figure(figure)], ..Page::default() };
//! let files = scrubjay_chart::files(&page, &[("date", "2026-11-21".to_owned())])?;
//!
//! let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
//! assert_eq!(names, ["index.html", "trade-off.svg", "trade-off.csv"]);
//! assert!(files[2].text.starts_with("series,x,y,label\nWaiting,0.001,0.2,\n"));
//! # Ok::<(), scrubjay_chart::NameError>(())
//! ```

mod axis;
mod csv;
mod curve;
mod figure;
mod html;
mod label;
mod map;
mod sheet;
pub mod small;
mod style;
mod svg;
mod text;
mod thin;

#[cfg(test)]
mod tests;

pub use figure::{Axis, AxisScale, CurvePoint, Exhibit, Figure, Maps, Page, Panel, Series, Style, Table};
pub use html::is_written_by_scrubjay;
pub use style::FIGURE as FIGURE_STYLE;

use sheet::Sheet;
use std::collections::HashSet;
use thiserror::Error;

/// The name of the file that holds the whole page.
pub const INDEX: &str = "index.html";

/// A file of a page, not yet written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFile {
    /// The name within the page's folder.
    pub name: String,
    /// The complete text.
    pub text: String,
}

/// Why an exhibit's name cannot be that of its files.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// The name is empty or has characters other than lower case ASCII letters, digits and `-`.
    #[error("{0:?} cannot be the name of an exhibit's files")]
    Characters(String),
    /// Another exhibit of the page has the same name.
    #[error("two exhibits have the name {0:?}")]
    Repeated(String),
}

/// A figure for a page that has [`FIGURE_STYLE`], drawn for a screen or paper, then for a phone. The page shows one of
/// the two, selected by their classes `wide` and `narrow`.
pub fn in_page(figure: &Figure) -> [String; 2] {
    [Sheet::Wide, Sheet::Narrow].map(|sheet| svg::draw(figure, sheet).svg)
}

/// Renders the page: [`INDEX`] first, then an SVG and a CSV file for each figure and each row of maps, and a CSV file
/// for each table, in the order of the exhibits. `facts` (name and value: version, command line, date) stand at the end
/// of the page.
///
/// # Errors
///
/// If two exhibits share a name, or a name has characters other than lower case ASCII letters, digits and `-`.
pub fn files(page: &Page, facts: &[(&str, String)]) -> Result<Vec<PageFile>, NameError> {
    let mut names = HashSet::new();
    let mut files = vec![PageFile { name: INDEX.to_owned(), text: html::page(page, facts) }];
    for exhibit in &page.exhibits {
        let name = exhibit.name();
        let plain = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(NameError::Characters(name.to_owned()));
        }
        if !names.insert(name) {
            return Err(NameError::Repeated(name.to_owned()));
        }
        let (svg, csv) = match exhibit {
            Exhibit::Figure(figure) => (Some(svg::draw(figure, Sheet::Standalone).svg), csv::figure(figure)),
            Exhibit::Maps(maps) => (Some(map::draw(maps, Sheet::Standalone)), csv::maps(maps)),
            Exhibit::Table(table) => (None, csv::table(table)),
        };
        files.extend(svg.map(|text| PageFile { name: format!("{name}.svg"), text }));
        files.push(PageFile { name: format!("{name}.csv"), text: csv });
    }
    Ok(files)
}
