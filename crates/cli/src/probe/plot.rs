//! The result of `probe` as a page with pictures: the findings, and the measurements behind them.

use super::text;
use crate::page;
use crate::page::StudyProvenance;
use anyhow::{Context, Result};
use scrubjay_chart::{Axis, Exhibit, Figure, Maps, Page, Panel, Series, Style};
use scrubjay_core::probe::io::ProbeBudget;
use scrubjay_core::probe::known::KnownArray;
use std::path::{Path, PathBuf};

/// Draws the results into a folder, and returns the files, the page first. Nothing is written if there is nothing to draw.
///
/// # Errors
/// Those of [`page::write`].
pub fn write(known: &KnownArray, spent: ProbeBudget, device: &str, folder: &Path) -> Result<Vec<PathBuf>> {
    let exhibits = exhibits(known);
    if exhibits.is_empty() {
        return Ok(Vec::new());
    }
    let mut summary = Vec::new();
    text::print(known, spent, None, device, None, &mut summary).context("the result as text")?;
    let summary = String::from_utf8_lossy(&summary);
    let page = Page {
        title: format!("How {device} is laid out"),
        paragraphs: summary.lines().map(|line| line.trim().to_owned()).collect(),
        exhibits,
    };
    page::write(&page, folder, StudyProvenance::new().all())
}

/// The exhibits for which there are data.
fn exhibits(known: &KnownArray) -> Vec<Exhibit> {
    let scans = &known.scans;
    let mut exhibits = Vec::new();
    if let Some(classes) =
        known.classes.as_ref().filter(|classes| classes.value.iter().any(|&class| class != classes.value[0]))
    {
        exhibits.push(layout(&classes.value));
    }
    if !known.class_times.is_empty() {
        exhibits.push(times(&known.class_times));
    }
    let scan = |name: &str, title: &str, caption: &str, x: &str, points: &[(u64, f64)]| {
        let points = points.iter().map(|&(bytes, seconds)| (bytes as f64 / 1024.0, seconds));
        Exhibit::Figure(Figure {
            name: name.to_owned(),
            title: title.to_owned(),
            caption: caption.to_owned(),
            x: Axis::linear(x),
            y: Axis::from_zero("mean time of a trial (s)"),
            series: vec![Series::new("trials", Style::Line, points)],
        })
    };
    if !scans.patterns.is_empty() {
        let caption = "Reads at one place of many segments of a size: slow where the size is a multiple of the pattern, \
                       because all of them meet on one disk.";
        exhibits.push(scan("patterns", "Assumed patterns", caption, "assumed pattern (KiB)", &scans.patterns));
    }
    if !scans.boundaries.is_empty() {
        let caption = "Reads of a block, and of the one before it, in many patterns: fast where a chunk begins, because \
                       they share the work of two disks.";
        let x = "assumed boundary in the pattern (KiB)";
        exhibits.push(scan("boundaries", "Assumed boundaries", caption, x, &scans.boundaries));
    }
    if !scans.pairs.is_empty() {
        exhibits.push(Exhibit::Maps(Maps {
            name: "pairs".to_owned(),
            title: "Chunks against chunks".to_owned(),
            caption: "Light pairs take long: both chunks lie on one disk.".to_owned(),
            axis: "chunk of the pattern, from 0".to_owned(),
            value: "mean time of a trial (s)".to_owned(),
            panels: vec![Panel { title: "pairs".to_owned(), rows: scans.pairs.clone() }],
        }));
    }
    exhibits
}

fn layout(classes: &[usize]) -> Exhibit {
    let points = classes.iter().enumerate().map(|(chunk, &class)| (chunk as f64, class as f64));
    Exhibit::Figure(Figure {
        name: "classes".to_owned(),
        title: "Where each chunk lies".to_owned(),
        caption:
            "Chunks of the pattern, from the first byte at which one begins; those of one class lie on one disk (of \
                  mirrors: on the same disks). Classes are numbered in the order of their first chunks."
                .to_owned(),
        x: Axis::linear("chunk of the pattern, from 0"),
        y: Axis::from_zero("class"),
        series: vec![Series::new("chunks", Style::Points, points)],
    })
}

fn times(times: &[f64]) -> Exhibit {
    let points = times.iter().enumerate().map(|(class, &time)| (class as f64, time));
    Exhibit::Figure(Figure {
        name: "times".to_owned(),
        title: "How long reads of each class take".to_owned(),
        caption: "In medians of all classes: 1 is as long as the others; a slow disk stands out above it.".to_owned(),
        x: Axis::linear("class"),
        y: Axis::from_zero("time of a read (medians of all)"),
        series: vec![Series::new("classes", Style::Bars, points)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::probe::known::{Claim, Scans};

    fn names(known: &KnownArray) -> Vec<String> {
        exhibits(known).iter().map(|exhibit| exhibit.name().to_owned()).collect()
    }

    #[test]
    fn only_known_results_are_drawn() {
        assert!(names(&KnownArray::default()).is_empty());
        let known = KnownArray {
            classes: Some(Claim::new(vec![0, 1, 0, 2], 1.0)),
            class_times: vec![1.0, 1.4, 0.9],
            scans: Scans { patterns: vec![(4096, 0.5)], boundaries: vec![(0, 0.5)], pairs: vec![vec![1.0]] },
            ..KnownArray::default()
        };
        assert_eq!(names(&known), ["classes", "times", "patterns", "boundaries", "pairs"]);
        let Exhibit::Figure(figure) = &exhibits(&known)[0] else { panic!("a figure") };
        let points: Vec<(f64, f64)> = figure.series[0].points.iter().map(|point| (point.x, point.y)).collect();
        assert_eq!(points, [(0.0, 0.0), (1.0, 1.0), (2.0, 0.0), (3.0, 2.0)]);
    }
}
