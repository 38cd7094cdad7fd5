//! The operations of an array on one stripe, by their plans: read, write, rebuild, scrub.

use super::disks::{Disks, ModelFault, RowWrite, foreign};
use super::repair::{KnownStripe, OperationFailure, learn, repair_stripe, rows_of_stripe};
use super::setup::{Increment, Lists, ModelSetup};
use super::stripe::{
    AppendixOwner, DataRow, FOREIGN, ListMark, ModelRow, ModelStripe, NONSENSE, ParityHead, ParityRow, listed,
};
use scrubjay_core::index::StripePosition;
use scrubjay_core::position_set::PositionSet;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::plan::{PlanMode, StripePlan};

/// An operation on the stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelOp {
    /// Reads chunks.
    Read {
        /// The positions that are wanted.
        wanted: PositionSet,
        /// Its plan.
        plan: StripePlan,
    },
    /// Writes new contents to chunks.
    Write {
        /// The positions that are touched.
        touched: PositionSet,
        /// Does a part of each touched chunk stay as it is?
        is_partial: bool,
        /// Does it write older contents again, where any are remembered? (Else new ones.)
        is_older: bool,
        /// Its plan.
        plan: StripePlan,
    },
    /// Rebuilds a missing member onto a new disk.
    Rebuild(StripePosition),
    /// Reads and checks all rows.
    Scrub,
}

/// The result of an operation.
pub struct OperationResult {
    /// The stripe afterwards.
    pub stripe: ModelStripe,
    /// Whether everything that was answered was right.
    pub answer: Result<(), OperationFailure>,
    /// The writes that were done.
    pub written: Vec<RowWrite>,
}

/// Performs an operation, with a fault or none.
pub fn operate(setup: &ModelSetup, stripe: ModelStripe, op: ModelOp, fault: ModelFault) -> OperationResult {
    let mut disks = Disks::new(setup, stripe, fault);
    let answer = match op {
        ModelOp::Read { wanted, plan } => read(&mut disks, wanted, plan),
        ModelOp::Write { touched, is_partial, is_older, plan } => {
            let write = ModelWrite { touched, is_partial, is_older, plan };
            write.perform(&mut disks)
        }
        ModelOp::Rebuild(position) => rebuild(&mut disks, position),
        ModelOp::Scrub => scrub(&mut disks),
    };
    OperationResult { stripe: disks.stripe, answer, written: disks.written }
}

fn read(disks: &mut Disks, wanted: PositionSet, plan: StripePlan) -> Result<(), OperationFailure> {
    let known = learn(disks, plan.read_chunks, compared_lists(disks.setup, plan), wanted)?;
    mark_read(disks, &known, plan);
    let is_wrong =
        |&index: &StripePosition| known.contents[index.get()] != Some(disks.stripe.chunks[index.get()].truth.content);
    match wanted.iter().find(is_wrong) {
        Some(index) => Err(OperationFailure::Wrong(index)),
        None => Ok(()),
    }
}

fn rebuild(disks: &mut Disks, position: StripePosition) -> Result<(), OperationFailure> {
    let blank = foreign(disks.setup, position, AppendixOwner::Nowhere);
    disks.stripe.put(disks.setup, position, Some(blank));
    let seen = rows_of_stripe(disks, false);
    repair_stripe(disks, seen, PositionSet::one(position)).map(|_| ())
}

fn scrub(disks: &mut Disks) -> Result<(), OperationFailure> {
    let seen = rows_of_stripe(disks, false);
    match seen.trusted(disks.setup) {
        Some(_) => Ok(()),
        None => repair_stripe(disks, rows_of_stripe(disks, true), PositionSet::NONE).map(|_| ()),
    }
}

/// The lists that a plan compares: none besides that of the parity used, where one list alone is used for rebuilding.
fn compared_lists(setup: &ModelSetup, plan: StripePlan) -> PositionSet {
    let parities = setup.shape.parity_set();
    let is_rebuilding = plan.mode != PlanMode::ReadModifyWrite && !(plan.read_chunks & parities).is_empty();
    let left_out = if setup.lists == Lists::One && is_rebuilding { parities } else { PositionSet::NONE };
    plan.read_appendices - left_out
}

/// Sets the read-status bits of chunks that were read and found to agree with a copy.
fn mark_read(disks: &mut Disks, known: &KnownStripe, plan: StripePlan) {
    for index in (known.compared & plan.read_chunks).iter() {
        disks.stripe.chunks[index.get()].is_read = true;
    }
}

struct ModelWrite {
    touched: PositionSet,
    is_partial: bool,
    is_older: bool,
    plan: StripePlan,
}

impl ModelWrite {
    fn perform(&self, disks: &mut Disks) -> Result<(), OperationFailure> {
        let (setup, data) = (disks.setup, disks.setup.shape.data);
        let lists = match setup.increment {
            Increment::Found => PositionSet::NONE,
            Increment::Greatest => setup.shape.parity_set() - disks.stripe.missing(setup) - self.plan.read_chunks,
        };
        let appendices = compared_lists(setup, self.plan) | lists;
        let known = learn(disks, self.plan.read_chunks, appendices, self.needed(setup))?;
        mark_read(disks, &known, self.plan);
        let (mut marks, mut truths) = (Vec::new(), Vec::new());
        for index in 0..data {
            let (mark, truth) = self.mark(disks, &known, index)?;
            marks.push(mark);
            truths.push(truth);
        }
        for index in self.touched.iter() {
            disks.stripe.chunks[index.get()].truth = truths[index.get()].expect("it is written");
            disks.stripe.chunks[index.get()].is_read = false;
        }
        self.write_rows(disks, &known, &marks)
    }

    /// The contents without which the write cannot be done.
    fn needed(&self, setup: &ModelSetup) -> PositionSet {
        let partial = if self.is_partial { self.touched } else { PositionSet::NONE };
        let is_encoded = !(self.plan.write_chunks & setup.shape.parity_set()).is_empty();
        match self.plan.mode {
            PlanMode::ReadModifyWrite => self.touched,
            _ if is_encoded => (setup.shape.data_set() - self.touched) | partial,
            _ => partial,
        }
    }

    /// The chunk's mark after the write, as far as the array knows it, and, if it is touched, the right one.
    fn mark(
        &self,
        disks: &Disks,
        known: &KnownStripe,
        index: usize,
    ) -> Result<(Option<ListMark>, Option<ListMark>), OperationFailure> {
        let (setup, chunk) = (disks.setup, &disks.stripe.chunks[index]);
        if !self.touched.contains(StripePosition(index)) {
            let mark = known.contents[index].zip(known.versions[index]);
            return Ok((mark.map(|(content, version)| ListMark { version, content }), None));
        }
        let older = disks.stripe.older(setup, index).filter(|_| self.is_older);
        let content = older.unwrap_or_else(|| disks.stripe.fresh(setup, index));
        let version = match setup.scheme {
            Scheme::Stamp => newest(&disks.stripe) + 1,
            Scheme::Hybrid1 => known.versions[index].unwrap_or_default() + 1,
            _ => 0,
        };
        let truth = ListMark { version, content };
        let is_spoilt = self.is_partial && known.contents[index] != Some(chunk.truth.content);
        let mark = ListMark { content: if is_spoilt { FOREIGN } else { content }, ..truth };
        Ok((Some(mark), Some(truth)))
    }

    fn write_rows(
        &self,
        disks: &mut Disks,
        known: &KnownStripe,
        marks: &[Option<ListMark>],
    ) -> Result<(), OperationFailure> {
        let (setup, data) = (disks.setup, disks.setup.shape.data);
        for position in (self.plan.write_chunks & setup.shape.data_set()).iter() {
            let ListMark { version, content } =
                marks[position.get()].filter(|_| self.touched.contains(position)).ok_or(OperationFailure::Unplanned)?;
            let before = setup.shape.before(position);
            let copy = marks[before.get()].map(|mark| mark.content).or(known.neighbours[position.get()]);
            let neighbour = if setup.has_buddies() { copy.ok_or(OperationFailure::Unplanned)? } else { 0 };
            disks.write(
                position,
                ModelRow::Data(DataRow { content, sealed: content, version, neighbour, place: AppendixOwner::Here }),
            );
        }
        for position in self.plan.write_appendices.iter() {
            let copy = marks[setup.shape.before(position).get()].ok_or(OperationFailure::Unplanned)?.content;
            let sealed = known.sealed[position.get()].filter(|_| setup.scheme.checks_itself());
            if setup.scheme.checks_itself() && sealed.is_none() {
                return Err(OperationFailure::Unplanned);
            }
            disks.write_appendix(position, sealed, copy);
        }
        for position in (self.plan.write_chunks & setup.shape.parity_set()).iter() {
            let row = match self.plan.mode {
                PlanMode::ReadModifyWrite => self.modified(setup, known, marks, known.parities[position.get() - data]),
                _ => encoded(setup, marks),
            };
            disks.write(position, ModelRow::Parity(row.ok_or(OperationFailure::Unplanned)?));
        }
        Ok(())
    }

    /// A parity to which the difference of old and new contents was applied. It is right only if it encodes the old ones.
    fn modified(
        &self,
        setup: &ModelSetup,
        known: &KnownStripe,
        marks: &[Option<ListMark>],
        old: Option<ParityRow>,
    ) -> Option<ParityRow> {
        let mut row = old?;
        for index in self.touched.iter() {
            let (mark, old) = (marks[index.get()]?, known.contents[index.get()]?);
            row.columns[index.get()] = if row.columns[index.get()] == old { mark.content } else { NONSENSE };
            row.list[index.get()] = listed(setup, mark);
        }
        Some(row)
    }
}

/// A parity computed from all contents.
fn encoded(setup: &ModelSetup, marks: &[Option<ListMark>]) -> Option<ParityRow> {
    let mut row = ParityRow { head: ParityHead::default(), ..ParityRow::default() };
    for (index, mark) in marks.iter().enumerate() {
        row.columns[index] = (*mark)?.content;
        row.list[index] = listed(setup, (*mark)?);
    }
    Some(row)
}

/// The array's last write number, as far as this stripe records it.
fn newest(stripe: &ModelStripe) -> u8 {
    let versions = stripe.chunks.iter().flat_map(|chunk| {
        let row = chunk.row.map(|row| row.version);
        row.into_iter().chain(chunk.lists.map(|mark| mark.version)).chain([chunk.truth.version])
    });
    versions.max().unwrap_or_default()
}
