//! Table II, counted: the additional disk I/Os of every plan of many arrays, and the formula that fits them all.

use crate::say::count;
use scrubjay_chart::Table;
use scrubjay_core::layout::Shape;
use scrubjay_core::position_set::PositionSet;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::plan::{PlanMode, StripeState, Want, plan};

/// The largest stripe, in slots, and the most parities whose plans are counted.
const SLOTS_MAX: usize = 16;
const PARITY_MAX: usize = 4;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
struct Scenario {
    name: &'static str,
    mode: PlanMode,
    /// Whether all data chunks of the stripe are touched.
    is_full: bool,
    /// Whether the chunks read were not read since they were written; `None`: either.
    is_first: Option<bool>,
    /// The paper's cells: Pure, Hybrid-1, Hybrid-2.
    paper: [&'static str; 3],
}

const SCENARIOS: [Scenario; 8] = [
    scenario("read of some chunks, first", PlanMode::Read, false, Some(true), ["1", "1", "1"]),
    scenario("read of some chunks, later", PlanMode::Read, false, Some(false), ["1", "0", "0"]),
    scenario("write of some chunks, read-modify-write", PlanMode::ReadModifyWrite, false, None, ["1", "0", "2"]),
    scenario(
        "write of some chunks, reconstruct-write, first",
        PlanMode::ReconstructWrite,
        false,
        Some(true),
        ["2", "tau + 1", "2"],
    ),
    scenario(
        "write of some chunks, reconstruct-write, later",
        PlanMode::ReconstructWrite,
        false,
        Some(false),
        ["2", "tau", "1"],
    ),
    scenario("read of the full stripe, first", PlanMode::Read, true, Some(true), ["0", "1", "0"]),
    scenario("read of the full stripe, later", PlanMode::Read, true, Some(false), ["0", "0", "0"]),
    scenario("write of the full stripe", PlanMode::FullStripe, true, None, ["0", "k", "0"]),
];

const fn scenario(
    name: &'static str,
    mode: PlanMode,
    is_full: bool,
    is_first: Option<bool>,
    paper: [&'static str; 3],
) -> Scenario {
    Scenario { name, mode, is_full, is_first, paper }
}

/// The I/Os of the plans of one scenario under one scheme.
#[derive(Clone, Debug, Default)]
struct CountedPlans {
    /// For each plan: the chunks touched, and the I/Os beyond the bare array's in the same mode.
    plans: Vec<(usize, usize)>,
}

/// Table II, as counted.
pub fn table() -> Table {
    let mut plans = 0;
    let mut differs = Vec::new();
    let mut rows = Vec::new();
    for scenario in &SCENARIOS {
        let mut row = vec![scenario.name.to_owned()];
        for (at, scheme) in Scheme::ALL.into_iter().skip(1).enumerate() {
            let counted = CountedPlans::of(scheme, scenario);
            plans += counted.plans.len();
            let cell = counted.formula(scenario.is_full);
            if scenario.paper.get(at).is_some_and(|paper| *paper != cell) {
                differs.push(format!("{scheme}, {}: {cell}, not {}", scenario.name, scenario.paper[at]));
            }
            row.push(cell);
        }
        rows.push(row);
    }
    let agrees = match differs.is_empty() {
        true => "Every cell is the paper's.".to_owned(),
        false => format!("Not as in the paper: {}.", differs.join("; ")),
    };
    Table {
        name: "integrity-table2".into(),
        title: "Additional disk I/Os".into(),
        caption: format!(
            "By case, counted on {} plans of arrays of up to {SLOTS_MAX} disks and {PARITY_MAX} parities; tau is the \
             number of data chunks touched, k that of the stripe. {agrees} stamp is ours.",
            count(plans as f64)
        ),
        head: std::iter::once("case")
            .chain(Scheme::ALL[1..].iter().map(|scheme| scheme.name()))
            .map(String::from)
            .collect(),
        rows,
    }
}

impl CountedPlans {
    /// All plans of this scenario.
    fn of(scheme: Scheme, scenario: &Scenario) -> CountedPlans {
        let mut counted = CountedPlans::default();
        let shapes =
            (1..=PARITY_MAX).flat_map(|parity| (2..=SLOTS_MAX - parity).map(move |data| Shape { data, parity }));
        for shape in shapes {
            let touched = if scenario.is_full { shape.data..=shape.data } else { 1..=shape.data - 1 };
            for (touched, is_first) in touched.flat_map(|touched| [(touched, false), (touched, true)]) {
                if scenario.is_first.is_none_or(|wanted| wanted == is_first) {
                    counted.add(scheme, scenario.mode, shape, touched, is_first);
                }
            }
        }
        counted
    }

    fn add(&mut self, scheme: Scheme, mode: PlanMode, shape: Shape, touched: usize, is_first: bool) {
        let slots = PositionSet::range(0, touched);
        let want = match mode {
            PlanMode::Read => Want::Read(slots),
            _ => Want::Write { touched: slots, partial: PositionSet::NONE },
        };
        let is_read = if is_first { PositionSet::NONE } else { shape.data_set() };
        let plan =
            plan(scheme, shape, want, StripeState { is_read, ..StripeState::default() }).expect("nothing is missing");
        // A scheme may choose the other write mode, if that is cheaper for it.
        if plan.mode == mode {
            self.plans.push((touched, plan.ios() - bare(mode, shape, touched)));
        }
    }

    /// The formula that fits all plans; `?` if none does.
    fn formula(&self, is_full: bool) -> String {
        let Some(&(tau, more)) = self.plans.first() else { return "-".to_owned() };
        if self.plans.iter().all(|&(_, other)| other == more) {
            return more.to_string();
        }
        let name = if is_full { "k" } else { "tau" };
        match more.checked_sub(tau) {
            Some(rest) if self.plans.iter().all(|&(tau, more)| more == tau + rest) => match rest {
                0 => name.to_owned(),
                _ => format!("{name} + {rest}"),
            },
            _ => "?".to_owned(),
        }
    }
}

/// The disk I/Os of a bare array: section II-A, formula (1).
fn bare(mode: PlanMode, shape: Shape, touched: usize) -> usize {
    match mode {
        PlanMode::Read | PlanMode::Reconstruct => touched,
        PlanMode::ReadModifyWrite => 2 * (touched + shape.parity),
        PlanMode::ReconstructWrite | PlanMode::FullStripe => shape.width(),
    }
}
