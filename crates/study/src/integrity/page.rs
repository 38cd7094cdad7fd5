//! The results as a page.

use super::cases::{CHUNKS, IntegrityCase};
use super::{figure6, holes, table2, volume_table};
use scrubjay_chart::{Axis, Exhibit, Figure, Page, Series, Style, Table};
use scrubjay_core::volume::integrity::scheme::Scheme;

/// The page of these cases, all of [`CHUNKS`] for each workload; `speeds` is Figure 7, or empty if it was not measured.
pub fn page(cases: &[IntegrityCase], speeds: Vec<Figure>) -> Page {
    let mut exhibits =
        Vec::from([holes::primitives(), holes::schemes(), volume_table::table(), table2::table()].map(Exhibit::Table));
    exhibits.extend(figure6::figures().into_iter().chain(speeds).map(Exhibit::Figure));
    exhibits.extend(CHUNKS.iter().map(|chunk| {
        let cases: Vec<&IntegrityCase> = cases.iter().filter(|case| case.chunk == *chunk).collect();
        Exhibit::Figure(workloads(&cases))
    }));
    exhibits.extend([chooser(cases), holes::states(), holes::one_list(), holes::versions()].map(Exhibit::Table));
    let found = "Three schemes of Li & Lee (MSST 2014) and one of ours, stamp, against a bare array: what each finds of \
                 silent corruption, on rows and on the volume itself; what that costs in disk I/Os and in time; which of \
                 them to choose; and two ways to a wrong answer that the paper leaves open.";
    let workloads = "The workloads are made up from the paper's Table III: shares of reads and mean sizes, requests at \
                     8-KiB pages behind a partition table of 63 sectors, spread evenly over 64 MiB. How often a chunk is \
                     read again is not in the table; in the paper's traces it is more often.";
    Page {
        title: "What finding silent corruption costs".into(),
        paragraphs: vec![stamp_text(cases), found.to_owned(), workloads.to_owned()],
        exhibits,
    }
}

/// Figure 8 for one chunk size.
fn workloads(cases: &[&IntegrityCase]) -> Figure {
    let kib = cases.first().map_or(0, |case| case.chunk.0 >> 10);
    let bars = |scheme: Scheme| {
        let points = cases.iter().enumerate().map(|(at, case)| (at as f64 + 1.0, 100.0 * case.increase(scheme)));
        Series::new(scheme.name(), Style::Bars, points)
    };
    let names: Vec<String> =
        cases.iter().enumerate().map(|(at, case)| format!("{}\u{a0}{}", at + 1, case.workload.name)).collect();
    Figure {
        name: format!("integrity-workloads-{kib}k"),
        title: format!("Twelve workloads, chunks of {kib} KiB, RAID-6 of 8 disks"),
        caption: format!("At most: {}. Workloads: {}.", most(cases.iter().copied()), names.join(", ")),
        x: Axis::whole("workload, by its share of reads"),
        y: Axis::linear("more disk I/Os than a bare array (%)"),
        series: Scheme::ALL[1..].iter().map(|&scheme| bars(scheme)).collect(),
    }
}

/// The worst case of each scheme: `pure 45.0 % (TPC-E), ...`
fn most<'a>(cases: impl Iterator<Item = &'a IntegrityCase> + Clone) -> String {
    let worst = |&scheme: &Scheme| {
        let worst = cases.clone().max_by(|one, two| one.increase(scheme).total_cmp(&two.increase(scheme)))?;
        Some(format!("{scheme} {:.1} % ({})", 100.0 * worst.increase(scheme), worst.workload.name))
    };
    Scheme::ALL[1..].iter().filter_map(worst).collect::<Vec<_>>().join(", ")
}

/// Section VII-C: the rule's choices against the counts.
fn chooser(cases: &[IntegrityCase]) -> Table {
    let head = [
        "workload",
        "chunk (KiB)",
        "pure (%)",
        "hybrid1 (%)",
        "hybrid2 (%)",
        "stamp (%)",
        "first reads (%)",
        "by mean",
        "by tau",
        "by count",
    ];
    let percent = |share: f64| format!("{:.2}", 100.0 * share);
    let row = |case: &IntegrityCase| {
        let increases = case.increases[1..].iter().copied().map(percent);
        let choices = [case.by_rule, case.by_histogram, case.by_count()].map(|scheme| scheme.name().to_owned());
        let names = [case.workload.name.to_owned(), (case.chunk.0 >> 10).to_string()];
        names.into_iter().chain(increases).chain([format!("{:.1}", 100.0 * case.first_reads)]).chain(choices).collect()
    };
    Table {
        name: "integrity-chooser".into(),
        title: "Which hybrid to choose".into(),
        caption: chooser_text(cases),
        head: head.map(String::from).to_vec(),
        rows: cases.iter().map(row).collect(),
    }
}

fn chooser_text(cases: &[IntegrityCase]) -> String {
    let choice_text = |name: &str, choice: fn(&IntegrityCase) -> Scheme| {
        let wrong: Vec<&IntegrityCase> = cases.iter().filter(|case| choice(case) != case.by_count()).collect();
        let (right, all) = (cases.len() - wrong.len(), cases.len());
        if wrong.is_empty() {
            return format!("{name} chooses right in {right} of {all} cases.");
        }
        let names: Vec<String> =
            wrong.iter().map(|case| format!("{} at {} KiB", case.workload.name, case.chunk.0 >> 10)).collect();
        let lost = wrong.iter().map(|case| case.difference()).fold(0.0, f64::max);
        format!(
            "{name} chooses right in {right} of {all} cases; not for {}, which loses {:.2} % at most.",
            names.join(", "),
            100.0 * lost
        )
    };
    let rule = choice_text("The paper's rule, by the mean size of a write,", |case| case.by_rule);
    let histogram = choice_text("A histogram of tau, the chunks touched,", |case| case.by_histogram);
    format!("{rule} {histogram} (In the paper, on the traces themselves, the rule is right in 34 of 36.)")
}

/// The result for the scheme `stamp`.
fn stamp_text(cases: &[IntegrityCase]) -> String {
    let most = |schemes: &[Scheme]| {
        let least =
            |case: &IntegrityCase| schemes.iter().map(|&scheme| case.increase(scheme)).fold(f64::INFINITY, f64::min);
        100.0 * cases.iter().map(least).fold(0.0, f64::max)
    };
    let wins = cases.iter().filter(|case| {
        let others = Scheme::ALL[1..].iter().filter(|&&scheme| scheme != Scheme::Stamp);
        others.into_iter().all(|&other| case.increase(Scheme::Stamp) <= case.increase(other))
    });
    format!(
        "Choose the scheme stamp, the default of \"scrubjay volume create\". The better of the two hybrids takes up to {:.1} % more than a bare array, stamp up to {:.1} %; it takes the least of \
         all schemes in {} of {} cases.",
        most(&[Scheme::Hybrid1, Scheme::Hybrid2]),
        most(&[Scheme::Stamp]),
        wins.count(),
        cases.len()
    )
}
