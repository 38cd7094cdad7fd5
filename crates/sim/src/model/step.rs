//! One step from a state to the next, and all legal steps: a member fails, a stray write hits a row, or an operation runs.

use super::disks::{Hit, ModelFault, WriteDamage, hit};
use super::operate::{ModelOp, OperationResult, operate};
use super::repair::OperationFailure;
use super::setup::ModelSetup;
use super::stripe::ModelStripe;
use scrubjay_core::index::StripePosition;
use scrubjay_core::position_set::PositionSet;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::plan::{PlanMode, StripePlan, StripeState, Want, plan};

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelStep {
    /// A member fails.
    Fail(StripePosition),
    /// A write that belongs to another stripe hits this position.
    Stray(StripePosition, Hit),
    /// An operation runs, with a fault or none.
    Operate(ModelOp, ModelFault),
}

/// The result of a step.
pub struct StepResult {
    /// The step.
    pub step: ModelStep,
    /// The state after it.
    pub stripe: ModelStripe,
    /// Whether the answer was right, or how it failed.
    pub answer: Result<(), OperationFailure>,
}

/// Visits all steps that the assumptions allow in a state (Li & Lee 2014, section II-C): at most one row is silently
/// corrupt at a time, and while one is, at most m - 1 others are missing; otherwise at most m.
pub fn steps(setup: &ModelSetup, stripe: &ModelStripe, mut visit: impl FnMut(StepResult)) {
    let (missing, wrong) = (stripe.missing(setup), stripe.wrong(setup));
    for position in (PositionSet::range(0, setup.shape.width()) - missing).iter() {
        let reserved = usize::from(!(wrong - PositionSet::one(position)).is_empty());
        if missing.count() + 1 + reserved <= setup.shape.parity {
            let mut after = *stripe;
            after.put(setup, position, None);
            if setup.shape.is_data(position) {
                after.chunks[position.get()].is_read = false;
            }
            visit(StepResult { step: ModelStep::Fail(position), stripe: after, answer: Ok(()) });
        }
        if is_within(setup, wrong, position, missing) {
            for kind in [Hit::Aligned, Hit::Head, Hit::Tail] {
                let mut after = *stripe;
                let row = stripe.row(setup, position).expect("it is there");
                after.put(setup, position, Some(hit(setup, row, position, kind)));
                visit(StepResult { step: ModelStep::Stray(position, kind), stripe: after, answer: Ok(()) });
            }
        }
    }
    for op in ops(setup, stripe, missing) {
        let done = operate(setup, *stripe, op, ModelFault::None);
        visit(StepResult { step: ModelStep::Operate(op, ModelFault::None), stripe: done.stripe, answer: done.answer });
        for fault in faults(setup, stripe, op, &done) {
            let OperationResult { stripe, answer, .. } = operate(setup, *stripe, op, fault);
            visit(StepResult { step: ModelStep::Operate(op, fault), stripe, answer });
        }
    }
}

/// May this position become wrong, given the rows that are wrong and missing already?
fn is_within(setup: &ModelSetup, wrong: PositionSet, position: StripePosition, missing: PositionSet) -> bool {
    wrong.is_subset(PositionSet::one(position)) && missing.count() < setup.shape.parity
}

/// All faults that may happen in an operation; `done` is its result without a fault.
fn faults(setup: &ModelSetup, before: &ModelStripe, op: ModelOp, done: &OperationResult) -> Vec<ModelFault> {
    let mut faults = Vec::new();
    let (missing, wrong) = (before.missing(setup), before.wrong(setup));
    let read = match op {
        ModelOp::Read { plan, .. } | ModelOp::Write { plan, .. } => plan.read_chunks | plan.read_appendices,
        ModelOp::Rebuild(_) | ModelOp::Scrub => PositionSet::range(0, setup.shape.width()),
    };
    for position in (read - missing).iter().filter(|&position| is_within(setup, wrong, position, missing)) {
        faults.push(ModelFault::Misread(position));
    }
    let (missing, wrong) = (done.stripe.missing(setup), done.stripe.wrong(setup));
    for (nth, written) in done.written.iter().enumerate() {
        let position = written.position;
        if is_within(setup, wrong, position, missing) {
            faults.push(ModelFault::Write { nth, position, damage: WriteDamage::Lost });
            // A sector is written or not, so an appendix alone cannot be torn. If rows check themselves, both ways of
            // tearing are equivalent.
            let damages =
                [WriteDamage::Torn, WriteDamage::TornAtAppendix].into_iter().take(match setup.scheme.checks_itself() {
                    _ if written.is_appendix => 0,
                    true => 1,
                    false => 2,
                });
            faults.extend(damages.map(|damage| ModelFault::Write { nth, position, damage }));
        }
    }
    faults
}

/// All operations that are possible in a state, with every plan for each.
fn ops(setup: &ModelSetup, stripe: &ModelStripe, missing: PositionSet) -> Vec<ModelOp> {
    let data = setup.shape.data_set();
    let is_read = stripe.is_read(setup);
    let parities_left = setup.shape.parity - (missing & setup.shape.parity_set()).count();
    let states = (0..parities_left.max(1)).map(|list_rotation| StripeState { is_read, missing, list_rotation });
    let mut ops: Vec<ModelOp> = missing.iter().map(ModelOp::Rebuild).collect();
    ops.push(ModelOp::Scrub);
    let mut insert = |op: ModelOp| {
        if !ops.contains(&op) {
            ops.push(op);
        }
    };
    for state in states {
        let singles = setup.shape.data_positions().map(PositionSet::one);
        for wanted in singles.chain([data]) {
            if let Some(plan) = plan(setup.scheme, setup.shape, Want::Read(wanted), state) {
                insert(ModelOp::Read { wanted, plan });
            }
        }
        if !setup.writes_degraded && !missing.is_empty() {
            continue;
        }
        for (touched, is_partial, plan) in writes(setup, state) {
            insert(ModelOp::Write { touched, is_partial, is_older: false, plan });
            // With versions it makes no difference whether a content was there before.
            let has_older = |index: StripePosition| stripe.older(setup, index.get()).is_some();
            if !setup.scheme.has_versions() && touched.iter().any(has_older) {
                insert(ModelOp::Write { touched, is_partial, is_older: true, plan });
            }
        }
    }
    ops
}

/// Every write of a stripe in this state: its chunks, whether they are written in part, and its plan.
pub fn writes(setup: &ModelSetup, state: StripeState) -> Vec<(PositionSet, bool, StripePlan)> {
    let mut writes = Vec::new();
    for (touched, is_partial) in subsets(setup.shape.data).flat_map(|touched| [(touched, false), (touched, true)]) {
        let partial = if is_partial { touched } else { PositionSet::NONE };
        let mut plans = vec![plan(setup.scheme, setup.shape, Want::Write { touched, partial }, state)];
        if setup.every_mode {
            plans.extend([modify(setup, touched, state), reconstruct(setup, touched, partial, state)]);
        }
        // A read-modify-write reads the old contents in any case.
        let plans = plans.into_iter().flatten().filter(|plan| !is_partial || plan.mode != PlanMode::ReadModifyWrite);
        for plan in plans {
            if !writes.contains(&(touched, is_partial, plan)) {
                writes.push((touched, is_partial, plan));
            }
        }
    }
    writes
}

/// Every nonempty set of data chunks.
fn subsets(data: usize) -> impl Iterator<Item = PositionSet> {
    (1..1usize << data)
        .map(move |bits| StripePosition::first(data).filter(|index| bits >> index.get() & 1 == 1).collect())
}

/// A read-modify-write, whether or not it is cheaper (Li & Lee 2014, sections II-A and V).
fn modify(setup: &ModelSetup, touched: PositionSet, state: StripeState) -> Option<StripePlan> {
    let parities = setup.shape.parity_set() - state.missing;
    let is_possible = (touched & state.missing).is_empty() && !parities.is_empty();
    let buddies = buddies(setup, touched) - state.missing;
    is_possible.then(|| StripePlan {
        mode: PlanMode::ReadModifyWrite,
        read_chunks: touched | parities,
        read_appendices: if setup.scheme == Scheme::Hybrid2 { buddies } else { PositionSet::NONE },
        write_chunks: touched | parities,
        write_appendices: buddies,
    })
}

/// A reconstruct-write, whether or not it is cheaper; `None`: a chunk that it needs is missing.
fn reconstruct(
    setup: &ModelSetup,
    touched: PositionSet,
    partial: PositionSet,
    state: StripeState,
) -> Option<StripePlan> {
    let parities = setup.shape.parity_set() - state.missing;
    let read_chunks = (setup.shape.data_set() - touched) | partial;
    if !((read_chunks | touched) & state.missing).is_empty() || parities.is_empty() {
        return None;
    }
    let needs_list = match setup.scheme {
        Scheme::None => false,
        Scheme::Pure => !read_chunks.is_empty(),
        _ => !read_chunks.is_subset(state.is_read),
    };
    let list = parities.iter().nth(state.list_rotation).filter(|_| needs_list);
    let old_versions = if setup.scheme == Scheme::Hybrid1 { touched - read_chunks } else { PositionSet::NONE };
    Some(StripePlan {
        mode: PlanMode::ReconstructWrite,
        read_chunks,
        read_appendices: list.into_iter().collect::<PositionSet>() | old_versions,
        write_chunks: touched | parities,
        write_appendices: buddies(setup, touched),
    })
}

/// The untouched chunks that follow touched ones in the ring.
fn buddies(setup: &ModelSetup, touched: PositionSet) -> PositionSet {
    let buddies = touched
        .iter()
        .map(|index| setup.shape.after(index))
        .filter(|&buddy| setup.has_buddies() && !touched.contains(buddy));
    buddies.collect()
}
