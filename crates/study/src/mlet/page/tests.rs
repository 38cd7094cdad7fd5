//! Tests of the page on a small sample, and on traces whose tour is known.

use super::super::SweepSetup;
use super::*;
use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::scrub::idle::{Goal, GoalForm};
use scrubjay_core::units::Nanos;
use scrubjay_trace::Periods;

const SETUP: SweepSetup = SweepSetup { disk: Bytes(1_000_000_000_000), disks: 300, seed: 5 };

/// A request of 4 ms every second for the first 12 hours of each day, and none in the other 12.
fn days(days: u64) -> Vec<ForegroundRequest> {
    let seconds = (0..days).flat_map(|day| (0..43_200).map(move |second| day * 86_400 + second));
    seconds.map(|second| ForegroundRequest { at: Nanos::from_secs(second), service: Nanos::from_millis(4) }).collect()
}

fn driven(requests: &[ForegroundRequest]) -> Option<Driven> {
    let periods: Periods = requests.iter().copied().collect();
    let goal = Goal::default().form(GoalForm::Average);
    Driven::of("days", requests, &periods, ServiceModel::ULTRASTAR_15K450, goal, SETUP)
}

fn captions(page: &Page) -> Vec<&str> {
    page.exhibits.iter().map(Exhibit::caption).collect()
}

#[test]
fn without_a_trace_the_page_is_in_tours() {
    let sweep = Sweep::of(SETUP);
    assert_eq!((sweep.orders.len(), sweep.regions.len(), sweep.segments.len()), (9, 20, 22));
    assert_eq!(sweep, Sweep::of(SETUP), "a seed says all");
    let page = page(&sweep, &[]);
    assert!(page.paragraphs[2].starts_with("300 disks of 1 TB with one cluster each"), "{}", page.paragraphs[1]);
    let names: Vec<_> = page.exhibits.iter().map(Exhibit::name).collect();
    assert_eq!(names, ["mlet-orders", "mlet-region", "mlet-segment", "mlet-published", "mlet-sizes"]);
    let captions = captions(&page);
    assert!(
        captions[0].starts_with("Order alone gains nothing: without escalation staggered takes 0."),
        "{captions:?}"
    );
    for exhibit in &page.exhibits {
        match exhibit {
            Exhibit::Table(table) => assert!(table.rows.iter().all(|row| row.len() == table.head.len()), "{table:?}"),
            Exhibit::Figure(figure) => assert_eq!(figure.series.len(), 5),
            Exhibit::Maps(maps) => panic!("{}", maps.name),
        }
    }
}

#[test]
fn on_a_trace_the_page_is_in_hours() {
    let run = driven(&days(2)).unwrap();
    let (sweep, tour) = (Sweep::of(SETUP), run.pace.period(1e12) / 3600.0);
    // Only the night between the two days is long enough: 12 of 36 hours, at 84 MB/s.
    assert!((9.0..11.0).contains(&tour), "{tour}");
    // An error of the day waits for 12 hours in the mean and then for half of 3.3 hours; one of the night for half of
    // 3.3 hours and, once in seven, for the day as well: 10.8 hours, where an even tour of the same period would take
    // 5.
    let sequential = find(&run.cases, OrderKind::SEQUENTIAL, EscalationScope::None).nearline;
    assert!((sequential.disk_mean - 10.8).abs() < 4.0 * sequential.standard_error, "{sequential:?}");
    let page = page(&sweep, &[run]);
    let captions = captions(&page);
    assert!(captions[0].starts_with("Within 1 ms of mean slowdown a tour over 1 TB takes "), "{}", captions[0]);
    assert!(captions[2].starts_with("One pass of the trace reads the disk 3."), "{}", captions[2]);
}

#[test]
fn a_disk_without_idle_time_has_no_hours() {
    let busy: Vec<ForegroundRequest> =
        (0..1000).map(|n| ForegroundRequest { at: Nanos::from_millis(n), service: Nanos::from_millis(2) }).collect();
    assert_eq!(driven(&busy), None);
}
