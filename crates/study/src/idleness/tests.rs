//! Tests of the pages of traces whose distributions are known.

use super::*;
use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::disk_server::ForegroundRequest;
use scrubjay_trace::Periods;
use scrubjay_trace::idleness::MinuteCounts;

fn study(name: &str, count: u32, draw: impl Fn(&mut Rng) -> f64) -> IdleStudy {
    let (mut periods, mut counts, mut rng) = (Periods::default(), MinuteCounts::default(), Rng::new(8));
    let (mut at, service) = (Nanos(0), Nanos::from_millis(1));
    for _ in 0..count {
        periods.add(ForegroundRequest { at, service });
        counts.add(at);
        at += service;
        at += Nanos::from_secs_f64(draw(&mut rng));
    }
    IdleStudy { name: name.into(), idleness: Idleness::of(&periods, &counts) }
}

fn captions(page: &Page) -> Vec<&str> {
    page.exhibits.iter().map(Exhibit::caption).collect()
}

#[test]
fn the_page_of_an_exponential_trace_states_that_it_has_no_memory() {
    let page = page(&[study("even", 50_000, |rng| rng.exponential(0.5))]);
    let captions = captions(&page);
    assert!(captions[0].contains("by chance alone (CV 1), so having waited tells little"), "{captions:?}");
    assert!(captions[2].starts_with("From 1 ms on the hazard is flat (slope "), "{}", captions[2]);
    assert!(captions[3].starts_with("The mean rest of an interval stays about the same"), "{}", captions[3]);
    assert!(captions[6].starts_with("The longest 15 % of the intervals hold 43."), "{}", captions[6]);
    assert!(captions[10].starts_with("No period stands out of chance"), "{}", captions[10]);
}

#[test]
fn the_page_of_a_heavy_tail_states_that_waiting_predicts_more_idleness() {
    let page = page(&[study("bursty", 50_000, |rng| rng.pareto(0.005, 1.2).min(3600.0))]);
    let captions = captions(&page);
    assert!(captions[0].contains("so having waited tells something"), "{captions:?}");
    assert!(captions[2].starts_with("From 1 ms on the hazard falls (slope -"), "{}", captions[2]);
    assert!(captions[3].starts_with("The mean rest of an interval grows with the wait: "), "{}", captions[3]);
}

#[test]
fn several_traces_are_several_curves() {
    let names = ["a", "b", "c", "d", "e"];
    let studies = names.map(|name| study(name, 2_000, |rng| rng.exponential(0.5)));
    let page = page(&studies);
    assert_eq!(page.exhibits.len(), 11);
    for exhibit in &page.exhibits {
        match exhibit {
            Exhibit::Figure(figure) => {
                let curves = figure.series.iter().filter(|series| series.style != Style::Band);
                assert_eq!(curves.map(|series| series.name.as_str()).collect::<Vec<_>>(), names);
                assert_eq!(
                    figure.caption.lines().count(),
                    5,
                    "one line each of four, and of the rest: {}",
                    figure.caption
                );
                assert!(figure.caption.starts_with("a: ") && figure.caption.ends_with("(1 more are shown.)"));
                let points = figure.series.iter().flat_map(|series| &series.points);
                assert!(points.clone().count() > 0 || figure.name == "requests-by-hour-of-day", "{}", figure.name);
                assert!(points.clone().all(|point| point.x.is_finite() && point.y.is_finite()), "{}", figure.name);
            }
            Exhibit::Maps(maps) => panic!("{}", maps.name),
            Exhibit::Table(table) => assert!(table.rows.iter().all(|row| row.len() == table.head.len())),
        }
    }
}

#[test]
fn a_trace_of_nothing_has_a_page() {
    let page = page(&[study("empty", 0, |_| 0.0)]);
    let names: Vec<&str> = page.exhibits.iter().map(Exhibit::name).collect();
    assert!(!names[1..].iter().any(|name| name.starts_with("idle-")), "no figure of nothing: {names:?}");
    assert_eq!(captions(&page)[0], "There are no idle intervals to say how they vary.");
    let Exhibit::Table(table) = &page.exhibits[0] else { panic!("a table") };
    assert_eq!((table.rows[0][4].as_str(), table.rows[0][8].as_str()), ("-", "-"), "neither CV nor share");
}

#[test]
fn few_intervals_prove_nothing() {
    let text_of = |count: u32| captions(&page(&[study("few", count, |rng| rng.exponential(0.5))])).join("\n");
    let few = text_of(60);
    assert!(few.contains("59 idle intervals are too few to say how they vary"), "{few}");
    assert!(!few.contains("from one interval to the next") && !few.contains("CV") && !few.contains("15 %"), "{few}");
    // 59 are enough for a bin or a wait, and for no conclusion.
    let conclusions =
        ["falls", "rises", "is flat", "grows", "shrinks", "stays about", "still has", "are longer than", "is left"];
    assert_eq!(
        conclusions.iter().filter(|words| few.contains(**words)).collect::<Vec<_>>(),
        <Vec<&&str>>::new(),
        "{few}"
    );
    let enough = text_of(200);
    assert!(enough.contains("CV") && enough.contains("15 %") && !enough.contains("too few to"), "{enough}");
}

#[test]
fn the_lags_above_chance_are_told_apart_from_chance() {
    let correlation = |page: &Page| match &page.exhibits[7] {
        Exhibit::Figure(figure) => figure.clone(),
        other => panic!("{}", other.name()),
    };
    // Long and short intervals take turns of a thousand each.
    let turns = std::cell::Cell::new(0u32);
    let draw = |rng: &mut Rng| {
        turns.set(turns.get() + 1);
        rng.exponential(if (turns.get() / 1000).is_multiple_of(2) { 0.01 } else { 10.0 })
    };
    let figure = correlation(&page(&[study("turns", 50_000, draw)]));
    assert!(
        figure.caption.ends_with("all 100 lags lie above the band of chance, which ends at 0.009."),
        "{}",
        figure.caption
    );
    let band = figure.series.last().unwrap();
    assert_eq!((band.style, band.points.len()), (Style::Band, 4));
    assert!((band.points[0].y - 1.96 / f64::sqrt(49_999.0)).abs() < 1e-9 && band.points[2].y == -band.points[0].y);
    let even = correlation(&page(&[study("even", 50_000, |rng| rng.exponential(0.5))]));
    assert!(even.caption.contains(" of 100 lags lie") && !even.caption.contains("all 100"), "{}", even.caption);
}
