//! Steps in words.

use super::disks::{Damage, Fault, Hit};
use super::operate::Op;
use super::repair::Failure;
use super::setup::Setup;
use super::step::Step;
use super::stripe::Order;
use scrubjay_core::plan::{Mode, Plan};
use scrubjay_core::slots::Slots;

/// One step and what came of it, in a line; `names` says how each chunk was called at first.
pub fn tell(setup: &Setup, names: &Order, step: Step, answer: Result<(), Failure>) -> String {
    let teller = Teller { setup, names };
    let came = match answer {
        Ok(()) => String::new(),
        Err(Failure::Wrong(index)) => format!(": WRONG CONTENT of {}", teller.slot(index)),
        Err(Failure::Error) => ": ERROR".into(),
        Err(Failure::Unplanned) => ": the plan does not give what is needed".into(),
    };
    teller.step(step) + &came
}

/// A write and how it is done.
pub fn told_write(setup: &Setup, touched: Slots, plan: Plan) -> String {
    let names = std::array::from_fn(|index| index as u8);
    Teller { setup, names: &names }.op(Op::Write { touched, is_partial: false, is_older: false, plan })
}

struct Teller<'a> {
    setup: &'a Setup,
    names: &'a Order,
}

impl Teller<'_> {
    fn slot(&self, slot: usize) -> String {
        match slot.checked_sub(self.setup.shape.data) {
            None => format!("D{}", self.names[slot]),
            Some(parity) => format!("P{parity}"),
        }
    }

    fn slots(&self, slots: Slots) -> String {
        let mut names: Vec<String> = slots.iter().map(|slot| self.slot(slot)).collect();
        names.sort();
        names.join(" ")
    }

    fn step(&self, step: Step) -> String {
        match step {
            Step::Fail(slot) => format!("the member of {} fails", self.slot(slot)),
            Step::Stray(slot, Hit::Aligned) => format!("a stray write replaces {}", self.slot(slot)),
            Step::Stray(slot, Hit::Head) => format!("a stray write goes over the beginning of {}", self.slot(slot)),
            Step::Stray(slot, Hit::Tail) => format!("a stray write goes over the end of {}", self.slot(slot)),
            Step::Operate(op, fault) => self.op(op) + &self.fault(fault),
        }
    }

    fn op(&self, op: Op) -> String {
        match op {
            Op::Read { wanted, plan } => format!("read {}{}", self.slots(wanted), self.plan(plan)),
            Op::Write { touched, is_partial, is_older, plan } => {
                let partly = if is_partial { " in part" } else { "" };
                let older = if is_older { " with what it was before" } else { "" };
                format!("write {}{partly}{older}{}", self.slots(touched), self.plan(plan))
            }
            Op::Rebuild(slot) => format!("rebuild {} on a new member", self.slot(slot)),
            Op::Scrub => "scrub".into(),
        }
    }

    fn plan(&self, plan: Plan) -> String {
        let mode = match plan.mode {
            Mode::Read => "",
            Mode::Reconstruct => "reconstruct, ",
            Mode::FullStripe => "full stripe, ",
            Mode::ReadModifyWrite => "read-modify-write, ",
            Mode::ReconstructWrite => "reconstruct-write, ",
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

    fn fault(&self, fault: Fault) -> String {
        match fault {
            Fault::None => String::new(),
            Fault::Misread(slot) => format!("; {} is read from elsewhere", self.slot(slot)),
            Fault::Write { slot, damage: Damage::Lost, .. } => format!("; the write of {} is lost", self.slot(slot)),
            Fault::Write { slot, damage: Damage::Torn, .. } => format!("; the write of {} is torn", self.slot(slot)),
            Fault::Write { slot, .. } => format!("; the write of {} is torn at its appendix", self.slot(slot)),
        }
    }
}
