//! Small arrays assembled in every way, and every short history of stops, starts, failures and joins.

use super::super::blank;
use super::super::geometry::{ArrayParameters, Geometry};
use super::super::superblock::{FailureReason, MemberRecord};
use super::*;
use crate::layout::Shape;
use crate::layout::{Layout, LayoutKind};
use crate::units::UnixSeconds;
use crate::volume::integrity::scheme::Scheme;
use std::collections::BTreeSet;

const MEMBER_BYTES: u64 = 64 << 20;
const LABELS: [&str; 4] = ["a", "b", "c", "d"];

/// The superblock of member `slot` of a new array.
fn fresh(kind: LayoutKind, data: usize, parity: usize, disks: usize, slot: usize) -> Superblock {
    let layout = Layout::new(kind, Shape { data, parity }, disks).unwrap();
    let parameters = ArrayParameters { layout, scheme: Scheme::Stamp, chunk_bytes: 65_536, block_bytes: 512 };
    let geometry = Geometry::fit(&parameters, MEMBER_BYTES, None).unwrap();
    let names: Vec<Uuid> = (0..disks).map(|slot| Uuid([slot as u8; 16])).collect();
    blank::superblock(geometry, Uuid([0xaa; 16]), "photos", UnixSeconds(1_763_700_000), &names)
        .of_member(MemberIndex(slot))
}

/// The three members of a 2+1 array.
fn three() -> Vec<GivenMember> {
    (0..3).map(|slot| given(fresh(LayoutKind::Rotating, 2, 1, 3, slot))).collect()
}

fn given(superblock: Superblock) -> GivenMember {
    GivenMember { label: LABELS[superblock.member.get()].to_owned(), bytes: MEMBER_BYTES, superblock: Ok(superblock) }
}

/// Changes a member's superblock.
fn change(given: &mut GivenMember, edit: impl FnOnce(&mut Superblock)) {
    edit(given.superblock.as_mut().expect("a member"));
}

fn error(given: &[GivenMember]) -> String {
    assemble(given).expect_err("no array").to_string()
}

#[test]
fn all_members_in_any_order_are_the_array() {
    let members = three();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let assembly = assemble(&order.map(|index| members[index].clone())).unwrap();
        for (slot, state) in assembly.members.iter().enumerate() {
            assert!(matches!(state, SlotState::Active(given) if order[*given] == slot), "{order:?}");
        }
        assert!(assembly.stale.is_empty());
    }
}

#[test]
fn every_subset_is_an_array_or_too_few() {
    for (kind, data, parity, disks) in [
        (LayoutKind::Rotating, 2, 1, 3),
        (LayoutKind::Rotating, 2, 2, 4),
        (LayoutKind::Raid0, 2, 0, 2),
        (LayoutKind::Raid1, 1, 1, 4),
        (LayoutKind::Chained, 1, 1, 4),
    ] {
        for set in 0..1u32 << disks {
            let is_present = |slot: usize| set >> (slot % disks) & 1 == 1;
            let members: Vec<GivenMember> = (0..disks)
                .filter(|&slot| is_present(slot))
                .map(|slot| given(fresh(kind, data, parity, disks, slot)))
                .collect();
            let is_enough = match kind {
                LayoutKind::Raid1 => (is_present(0) || is_present(1)) && (is_present(2) || is_present(3)),
                LayoutKind::Chained => (0..disks).all(|slot| is_present(slot) || is_present(slot + 1)),
                _ => members.len() >= data,
            };
            match assemble(&members) {
                Ok(assembly) => {
                    assert!(is_enough && set != 0, "{kind} {set:b}");
                    (0..disks).for_each(|slot| assert_eq!(assembly.members[slot].given().is_some(), is_present(slot)));
                }
                Err(AssembleError::Nothing) => assert_eq!(set, 0),
                Err(AssembleError::TooFew { absent, .. }) => {
                    let slots: Vec<usize> = absent.iter().map(|(slot, _)| slot.get()).collect();
                    assert!(!is_enough && slots == (0..disks).filter(|&slot| !is_present(slot)).collect::<Vec<_>>());
                }
                Err(error) => panic!("{kind} {set:b}: {error}"),
            }
        }
    }
}

#[test]
fn a_member_without_a_valid_superblock_is_named_in_the_error() {
    let mut members = three();
    for (cause, message) in [
        (SuperblockError::Foreign, "b is no member of a volume"),
        (SuperblockError::Damaged, "b is a member of a volume, but all its superblocks are damaged: leave it out"),
        (SuperblockError::Version(7), "b is a member of a volume in format 7; this program knows format 2"),
    ] {
        members[1].superblock = Err(cause);
        assert!(error(&members).starts_with(message), "{}", error(&members));
    }
    assert_eq!(error(&[]), "no member was given");
}

#[test]
fn the_member_of_another_array_is_named_whichever_comes_first() {
    let mut members = three();
    change(&mut members[0], |block| (block.array, block.name) = (Uuid([0xbb; 16]), String::new()));
    let stranger = "a is a member of volume bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb, not of volume photos \
                    (aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa) as";
    assert_eq!(error(&members), format!("{stranger} b is"));
    members.swap(0, 2);
    assert_eq!(error(&members), format!("{stranger} c is"));
    members.truncate(1);
    members.push(three().remove(1));
    assert!(assemble(&members).is_ok());
}

#[test]
fn a_member_given_twice_is_refused() {
    let mut members = three();
    members.push(GivenMember { label: "copy".to_owned(), ..members[1].clone() });
    assert_eq!(error(&members), "b and copy are the same member (1), or one is a copy of the other");
}

#[test]
fn a_member_that_shrank_is_refused_and_one_that_grew_is_not() {
    let mut members = three();
    members[0].bytes = 1 << 40;
    assert!(assemble(&members).is_ok());
    members[2].bytes = MEMBER_BYTES - 4096;
    assert_eq!(error(&members), "c has 67104768 bytes: it has shrunk, it had 67108864 at least");
    // A member that is left out may have any size.
    change(&mut members[0], |block| (block.generation, block.members[2].state) = (2, MemberState::Missing));
    assert!(assemble(&members).is_ok());
}

#[test]
fn an_active_member_may_be_generations_behind() {
    let mut members = three();
    change(&mut members[1], |block| (block.generation, block.is_clean, block.write_mark) = (9, false, 77));
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.members, [SlotState::Active(0), SlotState::Active(1), SlotState::Active(2)]);
    assert_eq!((assembly.superblock.write_mark, assembly.superblock.is_clean), (77, false));
}

#[test]
fn a_member_taken_out_or_replaced_is_left_out_and_named() {
    let out = |edit: fn(&mut Superblock)| {
        let mut members = three();
        for member in &mut members[..2] {
            change(member, |block| block.generation = 5);
            change(member, edit);
        }
        let assembly = assemble(&members).unwrap();
        assert_eq!(assembly.stale.len(), 1);
        assert_eq!((assembly.stale[0].given, assembly.stale[0].member), (2, MemberIndex(2)));
        members.remove(0);
        (assembly.members[2], assembly.stale[0].state, error(&members))
    };
    let failed = MemberState::Failed(FailureReason::Refused);
    assert_eq!(
        out(|block| block.members[2].state = MemberState::Failed(FailureReason::Refused)),
        (
            SlotState::Out(failed),
            Some(failed),
            "too few members: a stripe can do without 1, and these slots are empty: 0 (missing), 2 (c is stale: \
             failed: it refused a write or a flush, or did not keep what was written)"
                .to_owned()
        )
    );
    let (slot, state, text) = out(|block| (block.members[2].uuid, block.members[2].term) = (Uuid([7; 16]), 1));
    assert_eq!((slot, state), (SlotState::Absent, None));
    assert!(text.ends_with("0 (missing), 2 (c is stale: missing)"), "{text}");
}

#[test]
fn a_member_being_rebuilt_is_in_up_to_its_recorded_progress() {
    let mut members = three();
    let state = MemberState::Rebuilding { stripes_done: 11 };
    change(&mut members[0], |block| (block.generation, block.members[1].state) = (2, state));
    assert_eq!(assemble(&members).unwrap().members[1], SlotState::Rebuilding { given: 1, stripes_done: 11 });
}

/// A member that was taken in, whose superblock was written before a crash; the others never heard of it, and go on without it.
#[test]
fn a_member_being_rebuilt_does_not_decide_for_the_others() {
    let mut members = three();
    let rebuilt = MemberRecord {
        uuid: Uuid([7; 16]),
        term: 1,
        state: MemberState::Rebuilding { stripes_done: 0 },
        faults: 0,
        departure_generation: 0,
    };
    change(&mut members[2], |block| (block.generation, block.members[2]) = (9, rebuilt));
    for member in &mut members[..2] {
        change(member, |block| {
            (block.generation, block.write_mark, block.members[2].state) = (9, 77, MemberState::Missing)
        });
    }
    let assembly = assemble(&members).unwrap();
    assert_eq!((assembly.superblock.write_mark, assembly.members[2]), (77, SlotState::Out(MemberState::Missing)));
    assert_eq!(assembly.stale, [Stale { given: 2, member: MemberIndex(2), state: None }]);
}

#[test]
fn two_members_that_went_on_apart_are_not_assembled_together() {
    let pair = || [0, 1].map(|slot| given(fresh(LayoutKind::Raid1, 1, 1, 2, slot)));
    for (generation, other_generation) in [(5, 5), (5, 7), (7, 5)] {
        let mut members = pair();
        change(&mut members[0], |block| {
            (block.generation, block.members[1].state) = (generation, MemberState::Missing)
        });
        change(&mut members[1], |block| {
            (block.generation, block.members[0].state) = (other_generation, MemberState::Failed(FailureReason::Gone));
        });
        assert!(error(&members).contains("went on without each other"), "{}", error(&members));
        members
            .iter()
            .for_each(|member| assert!(assemble(std::slice::from_ref(member)).is_ok(), "each alone is an array"));
    }
}

#[test]
fn members_that_differ_in_one_generation_or_in_geometry_are_refused() {
    let mut members = three();
    change(&mut members[1], |block| block.write_mark = 1);
    assert!(error(&members).contains("contradict each other"));
    let mut members = three();
    change(&mut members[1], |block| {
        (block.generation, block.geometry.region_stripes) = (2, block.geometry.region_stripes + 1)
    });
    assert!(error(&members).contains("contradict each other"));
}

/// A member that got ahead by crashes is out when the others went on without it, though its generation is the highest.
#[test]
fn a_member_ahead_by_crashes_does_not_decide_for_those_that_went_on() {
    let mut members = three();
    change(&mut members[0], |block| block.generation = 9);
    assert_eq!(assemble(&members).unwrap().members[0], SlotState::Active(0));
    for member in &mut members[1..] {
        change(member, |block| (block.generation, block.members[0].state) = (2, MemberState::Missing));
    }
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.members[0], SlotState::Out(MemberState::Missing));
    assert_eq!((assembly.superblock.generation, assembly.stale[0].given), (2, 0));
}

/// The members of a history, and which of them are behind.
#[derive(Clone)]
struct World {
    members: Vec<Superblock>,
    /// Members that lack something that was written: they must never be taken for active.
    outdated: BTreeSet<usize>,
    next_uuid: u8,
}

/// An event of an array of which the members in the bit set `present` are given.
#[derive(Clone, Copy, Debug)]
struct Event {
    present: usize,
    action: HistoryAction,
    /// Superblocks of a change that are written before the power is cut; all, if there are fewer.
    written: usize,
}

/// What happens while the array runs.
#[derive(Clone, Copy, Debug)]
enum HistoryAction {
    Nothing,
    /// This member fails.
    Fails(usize),
    /// This member takes its place again, and is rebuilt.
    Joins {
        member: usize,
        /// Whether it gets its superblock before the others get theirs.
        is_first: bool,
    },
}

impl World {
    /// Starts the array of the members in `present`, then lets the event happen. False if the array does not start.
    fn happen(&mut self, Event { present, action, written }: Event) -> bool {
        let order: Vec<usize> = (0..self.members.len()).filter(|member| present >> member & 1 == 1).collect();
        let members: Vec<GivenMember> = order.iter().map(|&member| given(self.members[member].clone())).collect();
        let Ok(assembly) = assemble(&members) else { return false };
        let mut table = assembly.superblock.clone();
        let inside: Vec<usize> =
            assembly.members.iter().filter_map(|slot| slot.given().map(|given| order[given])).collect();
        for (slot, state) in assembly.members.iter().enumerate() {
            match *state {
                SlotState::Active(given) => assert!(!self.outdated.contains(&order[given]), "{slot} is behind"),
                SlotState::Absent => table.members[slot].state = MemberState::Missing,
                SlotState::Rebuilding { .. } | SlotState::Out(_) => {}
            }
        }
        // Only when all have it is anything else written, and then absent members are behind.
        if !self.write(&mut table, &inside, written) {
            return true;
        }
        self.outdated.extend((0..self.members.len()).filter(|member| !inside.contains(member)));
        match action {
            HistoryAction::Nothing => {}
            HistoryAction::Fails(member) => {
                if let Some(at) = inside.iter().position(|&other| other == member).filter(|_| inside.len() > 2) {
                    let mut remaining = inside;
                    remaining.remove(at);
                    table.members[member].state = MemberState::Failed(FailureReason::Gone);
                    if self.write(&mut table, &remaining, written) {
                        self.outdated.insert(member);
                    }
                }
            }
            HistoryAction::Joins { member, is_first } => self.join(table, inside, (member, is_first), written),
        }
        true
    }

    fn join(
        &mut self,
        mut table: Superblock,
        mut inside: Vec<usize>,
        (member, is_first): (usize, bool),
        written: usize,
    ) {
        if !inside.contains(&member) {
            let state = MemberState::Rebuilding { stripes_done: 0 };
            let term = table.members[member].term + 1;
            table.members[member] =
                MemberRecord { uuid: Uuid([self.next_uuid; 16]), term, state, faults: 0, departure_generation: 0 };
            self.next_uuid += 1;
            inside.insert(if is_first { 0 } else { inside.len() }, member);
            if !self.write(&mut table, &inside, written) {
                return;
            }
        }
        self.outdated.remove(&member);
        table.members[member].state = MemberState::Active;
        inside.sort_unstable();
        self.write(&mut table, &inside, written);
    }

    /// Writes a new generation to the first `written` members; true if those are all.
    fn write(&mut self, table: &mut Superblock, order: &[usize], written: usize) -> bool {
        table.generation += 1;
        order.iter().take(written).for_each(|&member| self.members[member] = table.of_member(MemberIndex(member)));
        written >= order.len()
    }

    /// Everything that distinguishes one world from another.
    fn key(&self) -> Vec<u64> {
        let state = |state| match state {
            MemberState::Active => 0,
            MemberState::Missing => 1,
            MemberState::Failed(_) => 2,
            MemberState::Rebuilding { .. } => 3,
        };
        let record = |record: &MemberRecord| [u64::from(record.uuid.0[0]), u64::from(record.term), state(record.state)];
        let key_of = |superblock: &Superblock| {
            [superblock.generation].into_iter().chain(superblock.members.iter().flat_map(record)).collect::<Vec<_>>()
        };
        let outdated = self.outdated.iter().map(|&member| member as u64);
        self.members.iter().flat_map(key_of).chain(outdated).collect()
    }
}

/// All histories of five events of a 2+1 array: started with any members, with a member failing or joining, the power cut
/// after any number of superblocks. A member that is behind is never taken for active.
#[test]
fn no_history_takes_an_outdated_member_for_active() {
    let actions = (0..3).flat_map(|member| {
        let joins = [true, false].map(|is_first| HistoryAction::Joins { member, is_first });
        [HistoryAction::Fails(member)].into_iter().chain(joins)
    });
    let actions = actions.chain([HistoryAction::Nothing]);
    // At least two members: fewer do not start.
    let starts =
        [0b011, 0b101, 0b110, 0b111].into_iter().flat_map(|present| (1..4).map(move |written| (present, written)));
    let events =
        actions.flat_map(|action| starts.clone().map(move |(present, written)| Event { present, action, written }));
    let events: Vec<Event> = events.collect();
    let members = (0..3).map(|slot| fresh(LayoutKind::Rotating, 2, 1, 3, slot)).collect();
    let mut worlds = vec![World { members, outdated: BTreeSet::new(), next_uuid: 100 }];
    let mut known = BTreeSet::new();
    for _ in 0..5 {
        let mut next = Vec::new();
        for (world, &event) in worlds.iter().flat_map(|world| events.iter().map(move |event| (world, event))) {
            let mut world = world.clone();
            if world.happen(event) && known.insert(world.key()) {
                next.push(world);
            }
        }
        worlds = next;
    }
    for world in &worlds {
        let all: Vec<GivenMember> = world.members.iter().cloned().map(given).collect();
        match assemble(&all) {
            Ok(_) | Err(AssembleError::SplitBrain { .. } | AssembleError::TooFew { .. }) => {}
            Err(error) => panic!("{error}: {:?}", world.members),
        }
    }
    assert!(known.len() > 1000, "{}", known.len());
}
