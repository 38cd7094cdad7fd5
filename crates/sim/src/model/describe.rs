//! Describes steps in words.

use super::disks::{Hit, ModelFault, WriteDamage};
use super::operate::ModelOp;
use super::repair::OperationFailure;
use super::setup::ModelSetup;
use super::step::ModelStep;
use super::stripe::Order;
use scrubjay_core::index::StripePosition;
use scrubjay_core::position_set::PositionSet;
use scrubjay_core::volume::plan::{PlanMode, StripePlan};
use std::fmt;

/// A step in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoryStep {
    /// What happens: `write D0`.
    pub event: String,
    /// What is read for it, of an operation with a plan.
    pub plan: Option<StoryPlan>,
    /// What goes wrong: `; the write of P0 is lost`. Empty: nothing.
    pub wrong: String,
}

/// What an operation reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoryPlan {
    /// The kind of plan; empty for a read of what is wanted.
    pub mode: &'static str,
    /// The chunks that are read: `D1`, or `nothing`.
    pub chunks: String,
    /// The appendices that are read; empty: none.
    pub appendices: String,
}

/// In one line: `write D0 (reconstruct-write, reads D1 and appendices of P0); the write of P0 is lost`.
impl fmt::Display for StoryStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.event)?;
        if let Some(StoryPlan { mode, chunks, appendices }) = &self.plan {
            let comma = if mode.is_empty() { "" } else { ", " };
            let and = if appendices.is_empty() { "" } else { " and appendices of " };
            write!(f, " ({mode}{comma}reads {chunks}{and}{appendices})")?;
        }
        f.write_str(&self.wrong)
    }
}

/// Describes one step and its failure; `names` gives each chunk's name in the first state.
pub fn describe(setup: &ModelSetup, names: &Order, step: ModelStep, answer: Result<(), OperationFailure>) -> StoryStep {
    let describer = StepDescriber { setup, names };
    let failure = match answer {
        Ok(()) => String::new(),
        Err(OperationFailure::Wrong(index)) => format!(": WRONG CONTENT of {}", describer.slot(index)),
        Err(OperationFailure::Error) => ": ERROR".into(),
        Err(OperationFailure::Unplanned) => ": the plan does not give what is needed".into(),
    };
    let described = describer.step(step);
    StoryStep { wrong: described.wrong + &failure, ..described }
}

/// Describes a write and its plan.
pub fn describe_write(setup: &ModelSetup, touched: PositionSet, plan: StripePlan) -> StoryStep {
    let names = std::array::from_fn(|index| index as u8);
    StepDescriber { setup, names: &names }.op(ModelOp::Write { touched, is_partial: false, is_older: false, plan })
}

struct StepDescriber<'a> {
    setup: &'a ModelSetup,
    names: &'a Order,
}

impl StepDescriber<'_> {
    fn slot(&self, position: StripePosition) -> String {
        match self.setup.shape.parity_index(position) {
            None => format!("D{}", self.names[position.get()]),
            Some(parity) => format!("P{parity}"),
        }
    }

    fn slots(&self, slots: PositionSet) -> String {
        let mut names: Vec<String> = slots.iter().map(|position| self.slot(position)).collect();
        names.sort();
        names.join(" ")
    }

    fn step(&self, step: ModelStep) -> StoryStep {
        let event = match step {
            ModelStep::Fail(position) => format!("the member of {} fails", self.slot(position)),
            ModelStep::Stray(position, Hit::Aligned) => format!("a stray write replaces {}", self.slot(position)),
            ModelStep::Stray(position, Hit::Head) => {
                format!("a stray write goes over the beginning of {}", self.slot(position))
            }
            ModelStep::Stray(position, Hit::Tail) => {
                format!("a stray write goes over the end of {}", self.slot(position))
            }
            ModelStep::Operate(op, fault) => return StoryStep { wrong: self.fault(fault), ..self.op(op) },
        };
        StoryStep { event, ..StoryStep::default() }
    }

    fn op(&self, op: ModelOp) -> StoryStep {
        let (event, plan) = match op {
            ModelOp::Read { wanted, plan } => (format!("read {}", self.slots(wanted)), Some(plan)),
            ModelOp::Write { touched, is_partial, is_older, plan } => {
                let partly = if is_partial { " in part" } else { "" };
                let older = if is_older { " with what it was before" } else { "" };
                (format!("write {}{partly}{older}", self.slots(touched)), Some(plan))
            }
            ModelOp::Rebuild(position) => (format!("rebuild {} on a new member", self.slot(position)), None),
            ModelOp::Scrub => ("scrub".into(), None),
        };
        StoryStep { event, plan: plan.map(|plan| self.plan(plan)), wrong: String::new() }
    }

    fn plan(&self, plan: StripePlan) -> StoryPlan {
        let mode = match plan.mode {
            PlanMode::Read => "",
            PlanMode::Reconstruct => "reconstruct",
            PlanMode::FullStripe => "full stripe",
            PlanMode::ReadModifyWrite => "read-modify-write",
            PlanMode::ReconstructWrite => "reconstruct-write",
        };
        let chunks = match plan.read_chunks.is_empty() {
            true => "nothing".into(),
            false => self.slots(plan.read_chunks),
        };
        StoryPlan { mode, chunks, appendices: self.slots(plan.read_appendices) }
    }

    fn fault(&self, fault: ModelFault) -> String {
        match fault {
            ModelFault::None => String::new(),
            ModelFault::Misread(position) => format!("; {} is read from elsewhere", self.slot(position)),
            ModelFault::Write { position, damage: WriteDamage::Lost, .. } => {
                format!("; the write of {} is lost", self.slot(position))
            }
            ModelFault::Write { position, damage: WriteDamage::Torn, .. } => {
                format!("; the write of {} is torn", self.slot(position))
            }
            ModelFault::Write { position, .. } => {
                format!("; the write of {} is torn at its appendix", self.slot(position))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_one_line() {
        let plan = StoryPlan { mode: "reconstruct-write", chunks: "D1 D2".into(), appendices: "D0 P0".into() };
        let step = StoryStep { event: "write D0".into(), plan: Some(plan), wrong: "; the write of D0 is lost".into() };
        let line = "write D0 (reconstruct-write, reads D1 D2 and appendices of D0 P0); the write of D0 is lost";
        assert_eq!(step.to_string(), line);
        let plan = StoryPlan { chunks: "D0".into(), ..StoryPlan::default() };
        let step = StoryStep { event: "read D0".into(), plan: Some(plan), wrong: ": ERROR".into() };
        assert_eq!(step.to_string(), "read D0 (reads D0): ERROR");
    }
}
