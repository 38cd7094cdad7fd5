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

/// Describes one step and its failure in a line; `names` gives each chunk's name in the first state.
pub fn describe(setup: &ModelSetup, names: &Order, step: ModelStep, answer: Result<(), OperationFailure>) -> String {
    let describer = StepDescriber { setup, names };
    let failure = match answer {
        Ok(()) => String::new(),
        Err(OperationFailure::Wrong(index)) => format!(": WRONG CONTENT of {}", describer.slot(index)),
        Err(OperationFailure::Error) => ": ERROR".into(),
        Err(OperationFailure::Unplanned) => ": the plan does not give what is needed".into(),
    };
    describer.step(step) + &failure
}

/// Describes a write and its plan.
pub fn describe_write(setup: &ModelSetup, touched: PositionSet, plan: StripePlan) -> String {
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

    fn step(&self, step: ModelStep) -> String {
        match step {
            ModelStep::Fail(position) => format!("the member of {} fails", self.slot(position)),
            ModelStep::Stray(position, Hit::Aligned) => format!("a stray write replaces {}", self.slot(position)),
            ModelStep::Stray(position, Hit::Head) => {
                format!("a stray write goes over the beginning of {}", self.slot(position))
            }
            ModelStep::Stray(position, Hit::Tail) => {
                format!("a stray write goes over the end of {}", self.slot(position))
            }
            ModelStep::Operate(op, fault) => self.op(op) + &self.fault(fault),
        }
    }

    fn op(&self, op: ModelOp) -> String {
        match op {
            ModelOp::Read { wanted, plan } => format!("read {}{}", self.slots(wanted), self.plan(plan)),
            ModelOp::Write { touched, is_partial, is_older, plan } => {
                let partly = if is_partial { " in part" } else { "" };
                let older = if is_older { " with what it was before" } else { "" };
                format!("write {}{partly}{older}{}", self.slots(touched), self.plan(plan))
            }
            ModelOp::Rebuild(position) => format!("rebuild {} on a new member", self.slot(position)),
            ModelOp::Scrub => "scrub".into(),
        }
    }

    fn plan(&self, plan: StripePlan) -> String {
        let mode = match plan.mode {
            PlanMode::Read => "",
            PlanMode::Reconstruct => "reconstruct, ",
            PlanMode::FullStripe => "full stripe, ",
            PlanMode::ReadModifyWrite => "read-modify-write, ",
            PlanMode::ReconstructWrite => "reconstruct-write, ",
        };
        let chunks = match plan.read_chunks.is_empty() {
            true => "nothing".into(),
            false => self.slots(plan.read_chunks),
        };
        let appendices = match plan.read_appendices.is_empty() {
            true => String::new(),
            false => format!(" and appendices of {}", self.slots(plan.read_appendices)),
        };
        format!(" ({mode}reads {chunks}{appendices})")
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
