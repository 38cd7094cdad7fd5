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
                assert_eq!(figure.series.iter().map(|series| series.name.as_str()).collect::<Vec<_>>(), names);
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
    assert_eq!(page.exhibits.len(), 11);
    assert!(captions(&page)[10].starts_with("The trace is too short"), "{:?}", captions(&page));
}
