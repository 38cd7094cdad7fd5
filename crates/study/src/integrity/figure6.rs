//! Figure 6: the additional disk I/Os of a read or a write, by the number of data chunks it touches.

use scrubjay_chart::{Axis, Figure, Series, Style};
use scrubjay_core::layout::Shape;
use scrubjay_core::position_set::PositionSet;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::plan::{StripeState, Want, plan};

/// The paper's n: disks of a stripe.
const SLOTS: usize = 8;

/// The figures of writes and reads, for RAID-5 and RAID-6.
pub(super) fn figures() -> Vec<Figure> {
    [1, 2].into_iter().flat_map(|parity| [figure(parity, true), figure(parity, false)]).collect()
}

fn figure(parity: usize, is_write: bool) -> Figure {
    let shape = Shape { data: SLOTS - parity, parity };
    let (raid, kind) = (parity + 4, if is_write { "write" } else { "read" });
    let mut series: Vec<Series> = Vec::new();
    for (colour, scheme) in Scheme::ALL.into_iter().skip(1).enumerate() {
        let add = |series: &mut Vec<Series>, curve: Series| add(series, curve.coloured(colour));
        let [first, later] = [true, false].map(|is_first| curve(scheme, shape, is_write, is_first));
        if first == later {
            add(&mut series, Series::new(scheme.name(), Style::Line, first));
        } else {
            add(&mut series, Series::new(format!("{scheme}, first"), Style::Dashed, first));
            add(&mut series, Series::new(format!("{scheme}, later"), Style::Line, later));
        }
    }
    Figure {
        name: format!("integrity-{kind}s-raid{raid}"),
        title: format!("What a {kind} takes more, RAID-{raid} of {SLOTS} disks"),
        caption: caption(shape, is_write),
        x: Axis::whole(format!("data chunks touched by a {kind}, of {}", shape.data)),
        y: Axis::linear("more disk I/Os than a bare array (%)"),
        series,
    }
}

/// Adds a curve; one that coincides with another only adds its name to it.
fn add(series: &mut Vec<Series>, curve: Series) {
    match series.iter_mut().find(|other| other.points == curve.points) {
        Some(other) => other.name = format!("{} = {}", other.name, curve.name),
        None => series.push(curve),
    }
}

/// Formulas (2) to (4), computed from the plans.
pub(super) fn curve(scheme: Scheme, shape: Shape, is_write: bool, is_first: bool) -> Vec<(f64, f64)> {
    let is_read = if is_first { PositionSet::NONE } else { shape.data_set() };
    let percent = |touched: usize| {
        let slots = PositionSet::range(0, touched);
        let want =
            if is_write { Want::Write { touched: slots, partial: PositionSet::NONE } } else { Want::Read(slots) };
        let state = StripeState { is_read, ..StripeState::default() };
        let [bare, ios] =
            [Scheme::None, scheme].map(|scheme| plan(scheme, shape, want, state).expect("nothing is missing").ios());
        (touched as f64, 100.0 * (ios as f64 / bare as f64 - 1.0))
    };
    (1..=shape.data).map(percent).collect()
}

/// The caption: the worst case of each scheme.
fn caption(shape: Shape, is_write: bool) -> String {
    let most = |scheme| {
        let all = [true, false].into_iter().flat_map(|is_first| curve(scheme, shape, is_write, is_first));
        all.map(|(_, percent)| percent).fold(0.0, f64::max)
    };
    // Where a read that nothing precedes is the worst case, what it takes more is a parity.
    let parity = if is_write { String::new() } else { parity_text(shape) };
    let worst: Vec<String> = Scheme::ALL[1..].iter().map(|&scheme| format!("{scheme} {:.1} %", most(scheme))).collect();
    let first = if is_write {
        "the chunks that stay had not been read since they were written"
    } else {
        "a chunk had not been read since it was written"
    };
    format!("At most: {}. {parity}\"First\" (dashed): {first}.", worst.join(", "))
}

/// Why a read of one chunk takes twice as many disk I/Os, and under which schemes it does only once.
fn parity_text(shape: Shape) -> String {
    let doubles = |scheme: Scheme, is_first| curve(scheme, shape, false, is_first)[0].1 >= 100.0;
    let once = Scheme::ALL[1..].iter().filter(|&&scheme| doubles(scheme, true) && !doubles(scheme, false));
    let once: Vec<&str> = once.map(|scheme| scheme.name()).collect();
    format!(
        "100 % is a read of one chunk, for which a parity chunk is read, too, as it has what proves the chunk: two disk I/Os in \
         place of one. Under {} only the first read of a chunk after a write takes that. ",
        once.join(", ")
    )
}
