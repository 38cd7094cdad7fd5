//! The result of `probe` as a page with pictures: the findings, and the measurements behind them.

use super::facts::{KernelLimit, ProbeFact, confidence_cell, facts, limits, widths};
use super::kernel::Kernel;
use super::text;
use crate::page;
use crate::page::StudyProvenance;
use anyhow::Result;
use scrubjay_chart::{Axis, Exhibit, Figure, Maps, Page, Panel, Series, Style, Table};
use scrubjay_core::probe::io::ProbeBudget;
use scrubjay_core::probe::known::KnownArray;
use scrubjay_core::quantity::show_exact;
use std::path::{Path, PathBuf};

/// Draws the results into a folder, and returns the files, the page first. Nothing is written if there is nothing to draw.
///
/// # Errors
/// Those of [`page::write`].
pub fn write(
    known: &KnownArray,
    spent: ProbeBudget,
    allows_writes: bool,
    kernel: Option<&Kernel>,
    device: &str,
    folder: &Path,
) -> Result<Vec<PathBuf>> {
    let mut exhibits = exhibits(known);
    if exhibits.is_empty() {
        return Ok(Vec::new());
    }
    exhibits.insert(0, Exhibit::Table(table(known, allows_writes, kernel)));
    let headline = format!("{device}: {}.", text::headline(known));
    let paragraphs = [vec![headline], text::findings(known), text::remarks(known, spent)].concat();
    let page = Page { title: format!("How {device} is laid out"), paragraphs, exhibits };
    page::write(&page, folder, StudyProvenance::of_this_run().all())
}

/// The facts, and beside them what the kernel says.
fn table(known: &KnownArray, allows_writes: bool, kernel: Option<&Kernel>) -> Table {
    let mut facts = facts(known, allows_writes);
    let limits = kernel.map(|kernel| limits(known, kernel));
    // What the kernel says has a row, too, where it is about something else or nothing is known.
    for name in ["chunk", "phase", "stripe"].into_iter().filter(|_| limits.is_some()) {
        if facts.iter().all(|fact| fact.name != name) {
            let widths: Vec<String> = widths(known).into_iter().map(show_exact).collect();
            let value = if name == "stripe" && !widths.is_empty() { widths.join(" or ") } else { "-".to_owned() };
            facts.push(ProbeFact { name, value, confidence: None, remark: "" });
        }
    }
    let says = |name: &str| {
        let about = ["chunk", "stripe", "phase"].iter().position(|about| *about == name);
        let Some(KernelLimit { file, value, judgement }) = about.and_then(|about| Some(limits?[about])) else {
            return String::new();
        };
        format!("{file} {value} ({})", judgement.words())
    };
    let row = |fact: &ProbeFact| {
        let cells = [fact.name.to_owned(), fact.value.clone(), confidence_cell(fact.confidence)];
        cells.into_iter().chain(limits.map(|_| says(fact.name))).collect()
    };
    let remarks = facts.iter().filter(|fact| !fact.remark.is_empty());
    let remarks: String = remarks.map(|fact| format!(" Of the {}: {}.", fact.name, fact.remark)).collect();
    let head = ["fact", "found", "confidence"].into_iter().chain(limits.map(|_| "the kernel says"));
    Table {
        name: "facts".to_owned(),
        title: "What was found out".to_owned(),
        caption: format!("The confidence is the probability that it is so, as far as the tests show.{remarks}"),
        head: head.map(str::to_owned).collect(),
        rows: facts.iter().map(row).collect(),
    }
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
        x: Axis::whole("chunk of the pattern, from 0"),
        y: Axis::whole("class"),
        series: vec![Series::new("chunks", Style::Points, points)],
    })
}

fn times(times: &[f64]) -> Exhibit {
    let points = times.iter().enumerate().map(|(class, &time)| (class as f64, time));
    Exhibit::Figure(Figure {
        name: "times".to_owned(),
        title: "How long reads of each class take".to_owned(),
        caption: "In medians of all classes: 1 is as long as the others; a slow disk stands out above it.".to_owned(),
        x: Axis::whole("class"),
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

    #[test]
    fn the_table_sets_what_the_kernel_says_beside_the_facts() {
        let known = KnownArray {
            chunk_bytes: Some(Claim::new(65_536, 0.98)),
            disks: Some(Claim::new(4, 1.0)),
            ..KnownArray::default()
        };
        let kernel =
            Kernel { minimum_io_size: 65_536, optimal_io_size: 0, alignment_offset: 0, physical_block_size: 4096 };
        let shown = table(&known, false, Some(&kernel));
        assert_eq!(shown.head, ["fact", "found", "confidence", "the kernel says"]);
        assert_eq!(shown.rows[0][..3], ["chunk", "64 KiB", "98.0 %"]);
        assert!(shown.rows[0][3].starts_with("minimum_io_size 65536 ("), "{:?}", shown.rows);
        assert_eq!(shown.rows[1], ["disks", "4", "≥ 99.8 %", ""]);
        assert!(shown.rows.iter().any(|row| row[0] == "stripe" && row[3].starts_with("optimal_io_size 0 (")));
        let of_file = table(&known, false, None);
        assert_eq!((of_file.head.len(), of_file.rows.len()), (3, 2), "a file has no limits");
    }
}
