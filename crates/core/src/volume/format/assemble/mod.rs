//! From what members say of themselves to an array: who is in, who is left out and why, or why there is none.
//!
//! The rules:
//! - Nobody is in whom another one calls failed or missing, or replaced: a slot has terms, and a later one counts. (A
//!   member that is taken in again has another UUID, so nothing that was said of it before counts.)
//! - Of the others, the table of the newest generation decides. A member that it calls active holds all that it should,
//!   although its own superblock is older: a crash may have come between the writing of one and the next.
//! - But one that is older than any crash can explain was put back from a copy, or lost what it was given: it is left out
//!   if enough remain without all of its kind.
//! - Who is left out is stale, and no error while enough remain. But who is left out and calls out one that is in has gone
//!   on without it: those are never put together.
//!
//! Why the newest generation alone does not do: a member can get ahead of the others, by crashes that each come after its
//! superblock and before theirs. If they go on without it then, they are right, and their generation is lower.

mod error;

pub use error::AssembleError;

use super::superblock::{MemberState, STARTS_MAX, Superblock, SuperblockError};
use super::uuid::Uuid;
use crate::index::{MemberIndex, StripeIndex, indexed};
use crate::position_set::MemberSet;

/// By so many generations the first superblocks of a start are newer than the last ones of the start before.
const START_GENERATIONS: u64 = 3;

/// What was read of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// What people call it: its path.
    pub label: String,
    /// Its size.
    pub bytes: u64,
    /// What it says: [`super::superblock::newest`] of its copies.
    pub says: Result<Superblock, SuperblockError>,
}

/// An array that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// The superblock that speaks for the array; as whose slot is of no concern.
    pub superblock: Superblock,
    /// Who is in, by member.
    pub members: Vec<SlotState>,
    /// Who was given, but is left out.
    pub stale: Vec<Stale>,
    /// The slots of those who are in, and who took part in the last start, or missed it by the crash that cut short its first
    /// superblocks. Others were away, or are copies of another time.
    pub up_to_date: MemberSet,
}

/// Who stands for a slot. Members are numbered as they were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// This member, and it holds all that it should.
    Active(usize),
    /// This member, and it is being rebuilt.
    Rebuilding {
        /// The number that was given.
        given: usize,
        /// It holds what it should of the stripes before this one.
        stripes_done: u64,
    },
    /// Nobody: the member that should is not here.
    Absent,
    /// Nobody: the member that did was taken out, and is not replaced.
    Out(MemberState),
}

/// A member that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The number that was given.
    pub given: usize,
    /// The slot that it had.
    pub member: MemberIndex,
    /// How it is, as the array has it; nothing: another one has its place. One that is active is of an earlier time.
    pub state: Option<MemberState>,
}

/// Puts together the members that were given, in any order.
///
/// # Errors
/// [`AssembleError`]; of several reasons the first in the order of its list.
pub fn assemble(given: &[Given]) -> Result<Assembly, AssembleError> {
    let members = read(given)?;
    one_array(&members)?;
    no_duplicates(&members)?;
    let speaker = speaker(&members)?;
    let assembly = elect(&speaker, &members);
    check_agreement(&speaker, &members, &assembly)?;
    let assembly = assembly.without_old();
    for member in members.iter().filter(|member| assembly.has(member.index)) {
        let needed = speaker.says.geometry.member_bytes;
        if member.bytes < needed {
            return Err(AssembleError::Shrunk { label: member.label(), bytes: member.bytes, needed });
        }
    }
    if assembly.is_readable() { Ok(assembly) } else { Err(too_few(&assembly, given)) }
}

impl Assembly {
    /// Is this one of the given in?
    fn has(&self, given: usize) -> bool {
        self.members.iter().any(|member| member.given() == Some(given))
    }

    /// The slots of members that should hold all, and are of an earlier time than the others.
    pub fn old(&self) -> MemberSet {
        let is_old = |&member: &MemberIndex| {
            matches!(self.members[member], SlotState::Active(_)) && !self.up_to_date.contains(member)
        };
        MemberIndex::first(self.members.len()).filter(is_old).collect()
    }

    /// The same without those, if the others hold everything.
    fn without_old(self) -> Assembly {
        let old = self.old();
        let is_sure =
            |&member: &MemberIndex| matches!(self.members[member], SlotState::Active(_)) && !old.contains(member);
        if old.is_empty() || !self.are_enough(MemberIndex::first(self.members.len()).filter(is_sure).collect()) {
            return self;
        }
        let mut rest = self;
        for member in old.iter() {
            let given = std::mem::replace(&mut rest.members[member], SlotState::Absent).given().expect("it was active");
            rest.stale.push(Stale { given, member, state: Some(MemberState::Active) });
        }
        rest
    }

    /// Is a chunk of every stripe for each of its data chunks there? (Of a member being rebuilt, all: what is not there
    /// yet is lost if the others do not make up for it.)
    fn is_readable(&self) -> bool {
        self.are_enough(
            MemberIndex::first(self.members.len()).filter(|&member| self.members[member].given().is_some()).collect(),
        )
    }

    /// The same, of these members.
    fn are_enough(&self, here: MemberSet) -> bool {
        let layout = &self.superblock.geometry.layout;
        let data = layout.shape().data;
        StripeIndex::first(layout.period()).all(|stripe| {
            let chunks = layout
                .shape()
                .positions()
                .filter(|&position| here.contains(self.superblock.geometry.place(stripe, position).member));
            chunks.count() >= data
        })
    }
}

indexed!(MemberIndex: SlotState);

impl SlotState {
    /// The member that stands for it, if one does.
    pub fn given(&self) -> Option<usize> {
        match *self {
            SlotState::Active(given) | SlotState::Rebuilding { given, .. } => Some(given),
            SlotState::Absent | SlotState::Out(_) => None,
        }
    }
}

/// A member whose superblock could be read.
#[derive(Clone, Copy)]
struct FoundMember<'a> {
    index: usize,
    label: &'a str,
    bytes: u64,
    says: &'a Superblock,
}

impl FoundMember<'_> {
    fn uuid(&self) -> Uuid {
        self.says.own().uuid
    }

    fn label(&self) -> String {
        self.label.to_owned()
    }

    /// Its array, as people know it.
    fn array(&self) -> String {
        let Superblock { name, array, .. } = self.says;
        if name.is_empty() { format!("volume {array}") } else { format!("volume {name} ({array})") }
    }

    /// How `other` is, as this one's table has it; nothing when it does not know it.
    fn view_of(&self, other: &FoundMember<'_>) -> Option<MemberState> {
        let record = self.says.members.get(other.says.member.get())?;
        (record.uuid == other.uuid()).then_some(record.state)
    }

    /// Does it know that the other one was taken out, or that somebody took its slot?
    fn calls_out(&self, other: &FoundMember<'_>) -> bool {
        match self.view_of(other) {
            Some(state) => matches!(state, MemberState::Failed(_) | MemberState::Missing),
            None => {
                self.says.members.get(other.says.member.get()).is_some_and(|record| record.term > other.says.own().term)
            }
        }
    }
}

fn read(given: &[Given]) -> Result<Vec<FoundMember<'_>>, AssembleError> {
    let mut members = Vec::new();
    for (index, Given { label, bytes, says }) in given.iter().enumerate() {
        match says {
            Ok(says) => members.push(FoundMember { index, label, bytes: *bytes, says }),
            Err(error) => return Err(AssembleError::Unread { label: label.clone(), error: *error }),
        }
    }
    Ok(members)
}

/// The array that most are of is meant; of two alike, the one that was named first.
fn one_array(members: &[FoundMember<'_>]) -> Result<(), AssembleError> {
    let count = |array: Uuid| members.iter().filter(|member| member.says.array == array).count();
    let meant = members.iter().rev().max_by_key(|member| count(member.says.array)).ok_or(AssembleError::Nothing)?;
    let other = members.iter().find(|other| other.says.array != meant.says.array);
    other.map_or(Ok(()), |other| {
        let (label, array, other_array) = (meant.label(), meant.array(), other.array());
        Err(AssembleError::Foreign { label, array, other: other.label(), other_array })
    })
}

fn no_duplicates(members: &[FoundMember<'_>]) -> Result<(), AssembleError> {
    for (index, member) in members.iter().enumerate() {
        if let Some(other) = members[index + 1..].iter().find(|other| other.uuid() == member.uuid()) {
            let (label, other) = (member.label(), other.label());
            return Err(AssembleError::Duplicate { label, other, member: member.says.member });
        }
    }
    Ok(())
}

/// Who speaks for the array: the newest of those whom nobody calls out. One that is being rebuilt does so only if there is
/// no other: it may have been taken in by a crash, and left out by the others before they ever heard of it.
fn speaker<'a>(members: &[FoundMember<'a>]) -> Result<FoundMember<'a>, AssembleError> {
    let is_called_out = |member: &&FoundMember<'_>| members.iter().any(|other| other.calls_out(member));
    let newest = |member: &&FoundMember<'_>| (member.says.own().state == MemberState::Active, member.says.generation);
    if let Some(speaker) = members.iter().filter(|member| !is_called_out(member)).max_by_key(newest) {
        return Ok(*speaker);
    }
    let member = members.iter().max_by_key(newest).ok_or(AssembleError::Nothing)?;
    let other = members.iter().find(|other| other.calls_out(member)).ok_or(AssembleError::Nothing)?;
    Err(split_brain(member, other))
}

/// What never changes is the same everywhere, those who are in say the same of one generation, nobody calls them out, and
/// the last start that each took part in is one that the speaker knows: else they went on without each other.
fn check_agreement(
    speaker: &FoundMember<'_>,
    members: &[FoundMember<'_>],
    assembly: &Assembly,
) -> Result<(), AssembleError> {
    for member in members {
        let is_in = assembly.has(member.index);
        if let Some(other) = members.iter().find(|other| is_in && other.calls_out(member)) {
            return Err(split_brain(member, other));
        }
        let last = *member.says.starts.last().expect("an array of starts");
        if is_in && last != 0 && !speaker.says.starts.contains(&last) {
            return Err(split_brain(member, speaker));
        }
        let is_one_array = speaker.says.geometry == member.says.geometry && speaker.says.created == member.says.created;
        let is_one_generation = !is_in
            || speaker.says.generation != member.says.generation
            || speaker.says.of_member(member.says.member) == *member.says;
        if !is_one_array || !is_one_generation {
            return Err(AssembleError::Contradiction { label: speaker.label(), other: member.label() });
        }
    }
    Ok(())
}

fn split_brain(member: &FoundMember<'_>, other: &FoundMember<'_>) -> AssembleError {
    AssembleError::SplitBrain {
        label: member.label(),
        generation: member.says.generation,
        other: other.label(),
        other_generation: other.says.generation,
    }
}

/// The speaker's table, with those in it that were given.
fn elect(speaker: &FoundMember<'_>, members: &[FoundMember<'_>]) -> Assembly {
    let mut stale = Vec::new();
    let mut elected: Vec<SlotState> =
        speaker.says.members.iter().map(|record| SlotState::empty(record.state)).collect();
    for found in members {
        let (given, member) = (found.index, found.says.member);
        match speaker.view_of(found) {
            Some(MemberState::Active) => elected[member] = SlotState::Active(given),
            Some(MemberState::Rebuilding { stripes_done }) => {
                elected[member] = SlotState::Rebuilding { given, stripes_done };
            }
            state => stale.push(Stale { given, member, state }),
        }
    }
    let is_up_to_date = |member: &&FoundMember<'_>| {
        // A member of another table may have a place that this one does not have: `check_agreement` says so.
        let is_in = elected.get(member.says.member.get()).is_some_and(|slot| slot.given() == Some(member.index));
        // All have one generation before the next one is written; but crashes may have cut these starts short, each at its
        // first round, and one more before it got its number. Not the last one, of those who stopped in order.
        let starts = if speaker.says.is_clean { 0 } else { starts_since(speaker.says, member.says) };
        let behind = (starts + 1) * START_GENERATIONS + 1;
        let was_started = speaker.says.starts[STARTS_MAX - 1] != 0;
        is_in && (!was_started || member.says.generation + behind >= speaker.says.generation)
    };
    let up_to_date = members.iter().filter(is_up_to_date).map(|member| member.says.member).collect();
    Assembly { superblock: speaker.says.clone(), members: elected, stale, up_to_date }
}

/// How many starts `newer` knows since the last one that `older` took part in.
fn starts_since(newer: &Superblock, older: &Superblock) -> u64 {
    let last = older.starts[STARTS_MAX - 1];
    newer.starts.iter().rev().take_while(|&&start| start != 0 && start != last).count() as u64
}

impl SlotState {
    /// Of a slot whose member was not given.
    fn empty(state: MemberState) -> SlotState {
        match state {
            MemberState::Active | MemberState::Rebuilding { .. } => SlotState::Absent,
            MemberState::Failed(_) | MemberState::Missing => SlotState::Out(state),
        }
    }
}

fn too_few(assembly: &Assembly, given: &[Given]) -> AssembleError {
    let absent = assembly.members.iter().enumerate().map(|(member, state)| (MemberIndex(member), state)).filter_map(
        |(member, state)| match state {
            SlotState::Absent => Some((member, MemberState::Missing)),
            SlotState::Out(state) => Some((member, *state)),
            SlotState::Active(_) | SlotState::Rebuilding { .. } => None,
        },
    );
    let stale = assembly.stale.iter().map(|stale| (stale.member, given[stale.given].label.clone()));
    let parity = assembly.superblock.geometry.layout.shape().parity;
    AssembleError::TooFew { absent: absent.collect(), parity, stale: stale.collect() }
}

#[cfg(test)]
mod tests;
