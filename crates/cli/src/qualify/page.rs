//! The result as a page.

use super::document::{QualifyDocument, row, summary};
use super::round::QualifiedRound;
use crate::page;
use crate::page::StudyProvenance;
use anyhow::{Context, Result};
use scrubjay_chart::{Axis, Exhibit, Figure, Page, Series, Style, Table};
use std::path::{Path, PathBuf};

/// Draws the page into a folder, and returns the files, the page first.
///
/// # Errors
/// Those of [`page::write`].
pub fn write(document: &QualifyDocument, target: &str, folder: &Path) -> Result<Vec<PathBuf>> {
    let disk = &document.disk;
    let name = [Some(target.to_owned()), disk.model.clone(), Some(disk.class.clone())];
    let paragraphs = vec![summary(document), name.into_iter().flatten().collect::<Vec<_>>().join(", ")];
    let page =
        Page { title: "What a client feels of a scrub".to_owned(), paragraphs, exhibits: exhibits(&document.rounds) };
    let mut provenance = StudyProvenance::of_this_run();
    provenance.add("kernel", document.kernel.clone());
    page::write(&page, folder, provenance.all()).context("the page")
}

fn exhibits(rounds: &[QualifiedRound]) -> Vec<Exhibit> {
    if rounds.is_empty() {
        return Vec::new();
    }
    let head = [
        "load",
        "goal",
        "alone",
        "beside a scrub",
        "felt",
        "the scrub says",
        "the scrub read",
        "requests seen",
        "verdict",
    ];
    let table = Table {
        name: "rounds".to_owned(),
        title: "Each round".to_owned(),
        caption: "The client's mean latency alone (before and after) and beside a scrub; how much it lost, with the error of that; \
                  what the scrub said that others lost."
            .to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: rounds.iter().map(row).collect(),
    };
    let millis = |seconds: f64| 1e3 * seconds;
    let most = rounds.iter().map(|round| millis(round.goal_seconds)).fold(0.0, f64::max);
    let felt = rounds.iter().map(|round| (millis(round.goal_seconds), millis(round.felt_mean_seconds).max(0.0)));
    let said = rounds
        .iter()
        .filter_map(|round| Some((millis(round.goal_seconds), millis(round.scrub.mean_slowdown_seconds?))));
    let figure = Figure {
        name: "felt-by-goal".to_owned(),
        title: "What was lost, by goal".to_owned(),
        caption: "A dot a round. Below the line the goal is kept.".to_owned(),
        x: Axis::from_zero("goal for the mean (ms)"),
        y: Axis::from_zero("mean slowdown (ms)"),
        series: vec![
            Series::new("the client felt", Style::Points, felt.collect::<Vec<_>>()),
            Series::new("the scrub says", Style::Points, said.collect::<Vec<_>>()),
            Series::new("goal", Style::Dashed, [(0.0, 0.0), (most, most)]),
        ],
    };
    vec![Exhibit::Figure(figure), Exhibit::Table(table)]
}
