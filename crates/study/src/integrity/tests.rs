//! Tests of the page against the paper's own figures.

use super::*;
use scrubjay_chart::{Exhibit, Figure, Page, Table};
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_sim::integrity::table3::WORKLOADS;

fn cases() -> Vec<IntegrityCase> {
    let cases = WORKLOADS.into_iter().flat_map(|workload| CHUNKS.map(|chunk| (workload, chunk)));
    cases.map(|(workload, chunk)| IntegrityCase::count(workload, chunk, 50_000, 2014)).collect()
}

fn table<'a>(page: &'a Page, name: &str) -> &'a Table {
    let found = page.exhibits.iter().find_map(|exhibit| match exhibit {
        Exhibit::Table(table) if table.name == name => Some(table),
        _ => None,
    });
    found.expect("the page has it")
}

fn figure<'a>(page: &'a Page, name: &str) -> &'a Figure {
    let found = page.exhibits.iter().find_map(|exhibit| match exhibit {
        Exhibit::Figure(figure) if figure.name == name => Some(figure),
        _ => None,
    });
    found.expect("the page has it")
}

#[test]
fn table_2_is_the_papers() {
    let table = table2::table();
    let cells: Vec<String> = table.rows.iter().map(|row| row[1..].join(" | ")).collect();
    let expected = [
        "1 | 1 | 1 | 1",
        "1 | 0 | 0 | 0",
        "1 | 0 | 2 | 0",
        "2 | tau + 1 | 2 | 1",
        "2 | tau | 1 | 0",
        "0 | 1 | 0 | 1",
        "0 | 0 | 0 | 0",
        "0 | k | 0 | 0",
    ];
    assert_eq!(cells, expected);
    assert!(table.caption.contains("Every cell is the paper's."));
}

#[test]
fn figure_6_is_the_papers() {
    let figures = figure6::figures();
    let curve = |figure_name: &str, name: &str| -> String {
        let series = &figures.iter().find(|figure| figure.name == figure_name).expect("it is drawn").series;
        let curve = series
            .iter()
            .find(|series| series.name.split(" = ").any(|other| other == name))
            .expect("the figure has it");
        curve.points.iter().map(|point| format!("{:.1}", point.y)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(curve("integrity-writes-raid5", "pure"), "25.0 16.7 12.5 25.0 25.0 25.0 0.0");
    assert_eq!(curve("integrity-writes-raid5", "hybrid1"), "0.0 0.0 0.0 25.0 50.0 75.0 87.5");
    assert_eq!(curve("integrity-writes-raid5", "hybrid2, first"), "50.0 33.3 25.0 25.0 25.0 25.0 0.0");
    assert_eq!(curve("integrity-writes-raid5", "hybrid2, later"), "50.0 33.3 12.5 12.5 12.5 12.5 0.0");
    assert_eq!(curve("integrity-writes-raid6", "hybrid1, first"), "0.0 0.0 25.0 50.0 75.0 75.0");
    assert_eq!(curve("integrity-writes-raid6", "hybrid1, later"), "0.0 0.0 25.0 50.0 62.5 75.0");
    assert_eq!(curve("integrity-writes-raid6", "stamp, later"), "0.0 0.0 0.0 0.0 0.0 0.0");
    assert_eq!(curve("integrity-reads-raid6", "pure"), "100.0 50.0 33.3 25.0 20.0 0.0");
    assert_eq!(curve("integrity-reads-raid6", "hybrid1, first"), "100.0 50.0 33.3 25.0 20.0 16.7");
    assert_eq!(curve("integrity-reads-raid6", "hybrid2, later"), "0.0 0.0 0.0 0.0 0.0 0.0");
    let reads = &figures.iter().find(|figure| figure.name == "integrity-reads-raid6").expect("it is drawn");
    assert!(
        reads.caption.contains("Under hybrid1, hybrid2, stamp only the first read of a chunk"),
        "{}",
        reads.caption
    );
    for figure in &figures {
        let of_stamp = figure.series.iter().filter(|series| series.name.starts_with("stamp"));
        assert!(of_stamp.clone().all(|series| series.colour == Some(3)), "one colour for a scheme: {of_stamp:?}");
    }
}

/// Figure 8's greatest bars, as given in the paper's text, within 3 points; and where they are.
#[test]
fn figure_8_has_the_papers_maxima() {
    let cases = cases();
    let most = |scheme: Scheme| {
        let most = cases.iter().max_by(|one, two| one.increase(scheme).total_cmp(&two.increase(scheme))).unwrap();
        (100.0 * most.increase(scheme), format!("{} {}", most.workload.name, most.chunk.0 >> 10))
    };
    let expected =
        [(Scheme::Pure, 43.74, "TPC-E 8"), (Scheme::Hybrid1, 48.28, "DAP-PS 2"), (Scheme::Hybrid2, 27.70, "RAD-AS 8")];
    for (scheme, percent, place) in expected {
        let (most, at) = most(scheme);
        assert!((most - percent).abs() < 3.0 && at == place, "{scheme}: {most} % at {at}, not {percent} % at {place}");
    }
    // The better hybrid beats Pure, except for RAD-AS at 2 KiB, where it comes within a point.
    for case in &cases {
        let better = case.increase(case.by_count());
        assert!(better < case.increase(Scheme::Pure) + 0.01, "{case:?}");
        assert!(case.increase(Scheme::Stamp) <= case.increase(Scheme::Hybrid1) + 1e-9, "{case:?}");
    }
}

/// Section VII-C: the rule's choices for chunks of 2, 4 and 8 KiB, in the order of Table III; 36 decisions.
#[test]
fn the_rule_decides_as_in_the_paper() {
    let decided: Vec<String> = cases().iter().map(|case| case.by_rule.name().replace("hybrid", "")).collect();
    let expected = "211 211 222 211 221 222 211 222 221 222 211 211";
    assert_eq!(decided.chunks(3).map(|chunks| chunks.concat()).collect::<Vec<_>>().join(" "), expected);
}

/// The rule against the counts: right in 34 of 36 cases in the paper, on its traces.
#[test]
fn the_rule_is_right_but_for_near_ties() {
    let cases = cases();
    assert_eq!(cases.len(), 36);
    let wrong: Vec<&IntegrityCase> = cases.iter().filter(|case| case.by_rule != case.by_count()).collect();
    assert!(wrong.len() <= 4 && wrong.iter().all(|case| case.difference() < 0.03), "{wrong:#?}");
    let misjudged = cases.iter().filter(|case| case.by_histogram != case.by_count()).count();
    assert!(misjudged <= wrong.len(), "{misjudged}");
}

#[test]
fn the_page_is_whole() {
    let page = page(&cases(), Vec::new());
    let names: Vec<&str> = page.exhibits.iter().map(|exhibit| &exhibit.name()[10..]).collect();
    let expected = "table1 schemes volume table2 writes-raid5 reads-raid5 writes-raid6 reads-raid6 \
                    workloads-2k workloads-4k workloads-8k chooser \
                    states hole-list hole-version";
    assert_eq!(names.join(" "), expected);
    assert_eq!(table(&page, "integrity-chooser").rows.len(), 36);
    for kib in [2, 4, 8] {
        let figure = figure(&page, &format!("integrity-workloads-{kib}k"));
        assert!(figure.series.len() == 4 && figure.series.iter().all(|series| series.points.len() == 12));
    }
    for exhibit in &page.exhibits {
        if let Exhibit::Table(table) = exhibit {
            assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{}", table.name);
        }
    }
    assert!(page.paragraphs[0].contains("of 36 cases"));
}
