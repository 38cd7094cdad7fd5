//! Assembles an array from its members' superblocks: which are in, which are left out and why, or why there is none.
//!
//! The rules:
//! - A member is out if another one calls it failed, missing or replaced: a slot has terms, and a later one counts. (A member
//!   that is taken in again has another UUID, so earlier records of it do not count.)
//! - Of the others, the table of the newest generation decides. A member that it calls active holds everything it should,
//!   although its own superblock may be older: a crash may have come between the writing of one and the next.
//! - But one that is older than any crash can explain was put back from a copy, or lost writes: it is left out if enough
//!   members remain without all such members.
//! - A member that is left out is stale, which is no error while enough remain. But if it calls out one that is in, it has
//!   gone on without that one: such members are never assembled together.
//!
//! Why the newest generation alone is not enough: a member can get ahead of the others, by crashes that each come after its
//! superblock and before theirs. If the others then go on without it, they are right, and their generation is lower.

mod error;

pub use error::AssembleError;

use super::superblock::{MemberState, STARTS_MAX, Superblock, SuperblockError};
use super::uuid::Uuid;
use crate::index::{MemberIndex, StripeIndex, indexed};
use crate::position_set::MemberSet;

/// Generations by which the first superblocks of a start are newer than the last ones of the start before.
const START_GENERATIONS: u64 = 3;

/// What was read of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenMember {
    /// Its name for people: its path.
    pub label: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its superblock: [`super::superblock::newest`] of its copies.
    pub superblock: Result<Superblock, SuperblockError>,
}

/// An array that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// The superblock that speaks for the array; whose copy it is does not matter.
    pub superblock: Superblock,
    /// The state of each slot, by member.
    pub members: Vec<SlotState>,
    /// Members that were given, but are left out.
    pub stale: Vec<Stale>,
    /// The slots of members that are in, and that took part in the last start, or missed it by the crash that cut short its
    /// first superblocks. Other members were away, or are copies of another time.
    pub in_last_start: MemberSet,
}

/// Which member stands for a slot. Members are numbered in the order in which they were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// This member, which holds everything it should.
    Active(usize),
    /// This member, which is being rebuilt.
    Rebuilding {
        /// Its number among the members given.
        given: usize,
        /// It holds what it should of the stripes before this one.
        stripes_done: u64,
    },
    /// No member: the one that should was not given.
    Absent,
    /// No member: the one that did was taken out, and is not replaced.
    Out(MemberState),
}

/// A member that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale {
    /// Its number among the members given.
    pub given: usize,
    /// The slot that it had.
    pub member: MemberIndex,
    /// Its state in the array's table; `None`: another member has its slot. An active one is older than crashes explain.
    pub state: Option<MemberState>,
}

/// Assembles the members that were given, in any order.
///
/// # Errors
/// [`AssembleError`]; of several reasons the first in the order of its variants, but a split brain may precede a
/// contradiction.
pub fn assemble(given: &[GivenMember]) -> Result<Assembly, AssembleError> {
    let members = read(given)?;
    one_array(&members)?;
    no_duplicates(&members)?;
    let authority = authority(&members)?;
    let assembly = elect(&authority, &members);
    check_agreement(&authority, &members, &assembly)?;
    let assembly = assembly.without_old();
    for member in members.iter().filter(|member| assembly.has(member.index)) {
        let needed = authority.superblock.geometry.member_bytes;
        if member.bytes < needed {
            return Err(AssembleError::Shrunk { label: member.label(), bytes: member.bytes, needed });
        }
    }
    if assembly.is_readable() { Ok(assembly) } else { Err(too_few(&assembly, given)) }
}

impl Assembly {
    /// Whether the member with this number among those given is in.
    fn has(&self, given: usize) -> bool {
        self.members.iter().any(|member| member.given() == Some(given))
    }

    /// The slots of members that should hold everything, but are older than crashes explain.
    pub fn old(&self) -> MemberSet {
        let is_old = |&member: &MemberIndex| {
            matches!(self.members[member], SlotState::Active(_)) && !self.in_last_start.contains(member)
        };
        MemberIndex::first(self.members.len()).filter(is_old).collect()
    }

    /// Leaves the members of [`Assembly::old`] out, if the others hold everything.
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

    /// Whether as many chunks of every stripe are there as it has data chunks. (A member being rebuilt counts fully: what it
    /// does not hold yet is lost if the others cannot make it good.)
    fn is_readable(&self) -> bool {
        self.are_enough(
            MemberIndex::first(self.members.len()).filter(|&member| self.members[member].given().is_some()).collect(),
        )
    }

    /// Whether these members have as many chunks of every stripe as it has data chunks.
    fn are_enough(&self, present: MemberSet) -> bool {
        let layout = &self.superblock.geometry.layout;
        let data = layout.shape().data;
        StripeIndex::first(layout.period()).all(|stripe| {
            let chunks = layout
                .shape()
                .positions()
                .filter(|&position| present.contains(self.superblock.geometry.place(stripe, position).member));
            chunks.count() >= data
        })
    }
}

indexed!(MemberIndex: SlotState);

impl SlotState {
    /// The number, among those given, of the member that stands for this slot, if one does.
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
    superblock: &'a Superblock,
}

impl FoundMember<'_> {
    fn uuid(&self) -> Uuid {
        self.superblock.own().uuid
    }

    fn label(&self) -> String {
        self.label.to_owned()
    }

    /// Its array's name for people.
    fn array(&self) -> String {
        let Superblock { name, array, .. } = self.superblock;
        if name.is_empty() { format!("volume {array}") } else { format!("volume {name} ({array})") }
    }

    /// The state of `other` in this one's table; `None` if the table does not know it.
    fn view_of(&self, other: &FoundMember<'_>) -> Option<MemberState> {
        let record = self.superblock.members.get(other.superblock.member.get())?;
        (record.uuid == other.uuid()).then_some(record.state)
    }

    /// Whether it knows that the other one was taken out, or that another disk took its slot.
    fn calls_out(&self, other: &FoundMember<'_>) -> bool {
        match self.view_of(other) {
            Some(state) => matches!(state, MemberState::Failed(_) | MemberState::Missing),
            None => self
                .superblock
                .members
                .get(other.superblock.member.get())
                .is_some_and(|record| record.term > other.superblock.own().term),
        }
    }
}

fn read(given: &[GivenMember]) -> Result<Vec<FoundMember<'_>>, AssembleError> {
    let mut members = Vec::new();
    for (index, GivenMember { label, bytes, superblock }) in given.iter().enumerate() {
        match superblock {
            Ok(superblock) => members.push(FoundMember { index, label, bytes: *bytes, superblock }),
            Err(error) => return Err(AssembleError::Unread { label: label.clone(), error: *error }),
        }
    }
    Ok(members)
}

/// Checks that all are members of one array: the one of most members; of two with equally many, the one named first.
fn one_array(members: &[FoundMember<'_>]) -> Result<(), AssembleError> {
    let count = |array: Uuid| members.iter().filter(|member| member.superblock.array == array).count();
    let majority =
        members.iter().rev().max_by_key(|member| count(member.superblock.array)).ok_or(AssembleError::Nothing)?;
    let other = members.iter().find(|other| other.superblock.array != majority.superblock.array);
    other.map_or(Ok(()), |other| {
        let (label, array, other_array) = (majority.label(), majority.array(), other.array());
        Err(AssembleError::Foreign { label, array, other: other.label(), other_array })
    })
}

fn no_duplicates(members: &[FoundMember<'_>]) -> Result<(), AssembleError> {
    for (index, member) in members.iter().enumerate() {
        if let Some(other) = members[index + 1..].iter().find(|other| other.uuid() == member.uuid()) {
            let (label, other) = (member.label(), other.label());
            return Err(AssembleError::Duplicate { label, other, member: member.superblock.member });
        }
    }
    Ok(())
}

/// The member that speaks for the array: the newest of those that no member calls out. One that is being rebuilt speaks only
/// if there is no other: a crash may have come after its superblock and before those of the others, which then left it out.
fn authority<'a>(members: &[FoundMember<'a>]) -> Result<FoundMember<'a>, AssembleError> {
    let is_called_out = |member: &&FoundMember<'_>| members.iter().any(|other| other.calls_out(member));
    let newest = |member: &&FoundMember<'_>| {
        (member.superblock.own().state == MemberState::Active, member.superblock.generation)
    };
    if let Some(authority) = members.iter().filter(|member| !is_called_out(member)).max_by_key(newest) {
        return Ok(*authority);
    }
    let member = members.iter().max_by_key(newest).ok_or(AssembleError::Nothing)?;
    let other = members.iter().find(|other| other.calls_out(member)).ok_or(AssembleError::Nothing)?;
    Err(split_brain(member, other))
}

/// Checks that what never changes is the same everywhere, that members that are in agree about one generation, that no member
/// calls them out, and that the authority knows the last start in which each took part: otherwise they went on without each
/// other.
fn check_agreement(
    authority: &FoundMember<'_>,
    members: &[FoundMember<'_>],
    assembly: &Assembly,
) -> Result<(), AssembleError> {
    for member in members {
        let is_in = assembly.has(member.index);
        if let Some(other) = members.iter().find(|other| is_in && other.calls_out(member)) {
            return Err(split_brain(member, other));
        }
        let last = *member.superblock.starts.last().expect("an array of starts");
        if is_in && last != 0 && !authority.superblock.starts.contains(&last) {
            return Err(split_brain(member, authority));
        }
        let is_one_array = authority.superblock.geometry == member.superblock.geometry
            && authority.superblock.created == member.superblock.created;
        let is_one_generation = !is_in
            || authority.superblock.generation != member.superblock.generation
            || authority.superblock.of_member(member.superblock.member) == *member.superblock;
        if !is_one_array || !is_one_generation {
            return Err(AssembleError::Contradiction { label: authority.label(), other: member.label() });
        }
    }
    Ok(())
}

fn split_brain(member: &FoundMember<'_>, other: &FoundMember<'_>) -> AssembleError {
    AssembleError::SplitBrain {
        label: member.label(),
        generation: member.superblock.generation,
        other: other.label(),
        other_generation: other.superblock.generation,
    }
}

/// The authority's table, with the given members put into it.
fn elect(authority: &FoundMember<'_>, members: &[FoundMember<'_>]) -> Assembly {
    let mut stale = Vec::new();
    let mut elected: Vec<SlotState> =
        authority.superblock.members.iter().map(|record| SlotState::empty(record.state)).collect();
    for found in members {
        let (given, member) = (found.index, found.superblock.member);
        match authority.view_of(found) {
            Some(MemberState::Active) => elected[member] = SlotState::Active(given),
            Some(MemberState::Rebuilding { stripes_done }) => {
                elected[member] = SlotState::Rebuilding { given, stripes_done };
            }
            state => stale.push(Stale { given, member, state }),
        }
    }
    let is_in_last_start = |member: &&FoundMember<'_>| {
        // A member of another table may have a slot that this one does not have: `check_agreement` reports that.
        let is_in = elected.get(member.superblock.member.get()).is_some_and(|slot| slot.given() == Some(member.index));
        // All have one generation before the next one is written. But crashes may have cut these starts short, each in its
        // first round, and one more before it got its number. After a stop in order, the last start was not cut short.
        let starts =
            if authority.superblock.is_clean { 0 } else { starts_since(authority.superblock, member.superblock) };
        let lag_max = (starts + 1) * START_GENERATIONS + 1;
        let was_started = authority.superblock.starts[STARTS_MAX - 1] != 0;
        is_in && (!was_started || member.superblock.generation + lag_max >= authority.superblock.generation)
    };
    let in_last_start = members.iter().filter(is_in_last_start).map(|member| member.superblock.member).collect();
    Assembly { superblock: authority.superblock.clone(), members: elected, stale, in_last_start }
}

/// Number of starts that `newer` knows since the last one in which `older` took part.
fn starts_since(newer: &Superblock, older: &Superblock) -> u64 {
    let last = older.starts[STARTS_MAX - 1];
    newer.starts.iter().rev().take_while(|&&start| start != 0 && start != last).count() as u64
}

impl SlotState {
    /// The state of a slot whose member was not given.
    fn empty(state: MemberState) -> SlotState {
        match state {
            MemberState::Active | MemberState::Rebuilding { .. } => SlotState::Absent,
            MemberState::Failed(_) | MemberState::Missing => SlotState::Out(state),
        }
    }
}

fn too_few(assembly: &Assembly, given: &[GivenMember]) -> AssembleError {
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
