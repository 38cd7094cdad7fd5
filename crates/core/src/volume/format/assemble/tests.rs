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
fn three() -> Vec<Given> {
    (0..3).map(|slot| given(fresh(LayoutKind::Rotating, 2, 1, 3, slot))).collect()
}

fn given(says: Superblock) -> Given {
    Given { label: LABELS[says.member.get()].to_owned(), bytes: MEMBER_BYTES, says: Ok(says) }
}

/// Changes a member's superblock.
fn change(given: &mut Given, how: impl FnOnce(&mut Superblock)) {
    how(given.says.as_mut().expect("a member"));
}

fn error(given: &[Given]) -> String {
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
            let here = |slot: usize| set >> (slot % disks) & 1 == 1;
            let members: Vec<Given> = (0..disks)
                .filter(|&slot| here(slot))
                .map(|slot| given(fresh(kind, data, parity, disks, slot)))
                .collect();
            let is_enough = match kind {
                LayoutKind::Raid1 => (here(0) || here(1)) && (here(2) || here(3)),
                LayoutKind::Chained => (0..disks).all(|slot| here(slot) || here(slot + 1)),
                _ => members.len() >= data,
            };
            match assemble(&members) {
                Ok(assembly) => {
                    assert!(is_enough && set != 0, "{kind} {set:b}");
                    (0..disks).for_each(|slot| assert_eq!(assembly.members[slot].given().is_some(), here(slot)));
                }
                Err(AssembleError::Nothing) => assert_eq!(set, 0),
                Err(AssembleError::TooFew { absent, .. }) => {
                    let slots: Vec<usize> = absent.iter().map(|(slot, _)| slot.get()).collect();
                    assert!(!is_enough && slots == (0..disks).filter(|&slot| !here(slot)).collect::<Vec<_>>());
                }
                Err(error) => panic!("{kind} {set:b}: {error}"),
            }
        }
    }
}

#[test]
fn what_is_no_member_is_named() {
    let mut members = three();
    for (says, what) in [
        (SuperblockError::Foreign, "b is no member of a volume"),
        (SuperblockError::Damaged, "b is a member of a volume, but all its superblocks are damaged: leave it out"),
        (SuperblockError::Version(7), "b is a member of a volume in format 7; this program knows format 2"),
    ] {
        members[1].says = Err(says);
        assert!(error(&members).starts_with(what), "{}", error(&members));
    }
    assert_eq!(error(&[]), "no member was given");
}

#[test]
fn a_stranger_is_named_whoever_comes_first() {
    let mut members = three();
    change(&mut members[0], |says| (says.array, says.name) = (Uuid([0xbb; 16]), String::new()));
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
fn a_member_counts_once() {
    let mut members = three();
    members.push(Given { label: "copy".to_owned(), ..members[1].clone() });
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
    change(&mut members[0], |says| (says.generation, says.members[2].state) = (2, MemberState::Missing));
    assert!(assemble(&members).is_ok());
}

#[test]
fn an_active_member_may_be_generations_behind() {
    let mut members = three();
    change(&mut members[1], |says| (says.generation, says.is_clean, says.write_mark) = (9, false, 77));
    let assembly = assemble(&members).unwrap();
    assert_eq!(assembly.members, [SlotState::Active(0), SlotState::Active(1), SlotState::Active(2)]);
    assert_eq!((assembly.superblock.write_mark, assembly.superblock.is_clean), (77, false));
}

#[test]
fn who_was_taken_out_or_replaced_is_left_out_and_named() {
    let out = |how: fn(&mut Superblock)| {
        let mut members = three();
        for member in &mut members[..2] {
            change(member, |says| says.generation = 5);
            change(member, how);
        }
        let assembly = assemble(&members).unwrap();
        assert_eq!(assembly.stale.len(), 1);
        assert_eq!((assembly.stale[0].given, assembly.stale[0].member), (2, MemberIndex(2)));
        members.remove(0);
        (assembly.members[2], assembly.stale[0].state, error(&members))
    };
    let failed = MemberState::Failed(FailureReason::Refused);
    assert_eq!(
        out(|says| says.members[2].state = MemberState::Failed(FailureReason::Refused)),
        (
            SlotState::Out(failed),
            Some(failed),
            "too few members: a stripe can do without 1, and these slots are empty: 0 (missing), 2 (c is stale: \
             failed: it refused a write)"
                .to_owned()
        )
    );
    let (slot, state, text) = out(|says| (says.members[2].uuid, says.members[2].term) = (Uuid([7; 16]), 1));
    assert_eq!((slot, state), (SlotState::Absent, None));
    assert!(text.ends_with("0 (missing), 2 (c is stale: missing)"), "{text}");
}

#[test]
fn who_is_being_rebuilt_is_in_up_to_there() {
    let mut members = three();
    let state = MemberState::Rebuilding { stripes_done: 11 };
    change(&mut members[0], |says| (says.generation, says.members[1].state) = (2, state));
    assert_eq!(assemble(&members).unwrap().members[1], SlotState::Rebuilding { given: 1, stripes_done: 11 });
}

/// A joining member whose superblock was written before a crash; the others never heard of it, and go on without it.
#[test]
fn who_is_being_rebuilt_speaks_for_nobody_else() {
    let mut members = three();
    let joining = MemberRecord {
        uuid: Uuid([7; 16]),
        term: 1,
        state: MemberState::Rebuilding { stripes_done: 0 },
        faults: 0,
        left: 0,
    };
    change(&mut members[2], |says| (says.generation, says.members[2]) = (9, joining));
    for member in &mut members[..2] {
        change(member, |says| {
            (says.generation, says.write_mark, says.members[2].state) = (9, 77, MemberState::Missing)
        });
    }
    let assembly = assemble(&members).unwrap();
    assert_eq!((assembly.superblock.write_mark, assembly.members[2]), (77, SlotState::Out(MemberState::Missing)));
    assert_eq!(assembly.stale, [Stale { given: 2, member: MemberIndex(2), state: None }]);
}

#[test]
fn two_that_went_on_apart_are_not_put_together() {
    let pair = || [0, 1].map(|slot| given(fresh(LayoutKind::Raid1, 1, 1, 2, slot)));
    for (generation, other_generation) in [(5, 5), (5, 7), (7, 5)] {
        let mut members = pair();
        change(&mut members[0], |says| (says.generation, says.members[1].state) = (generation, MemberState::Missing));
        change(&mut members[1], |says| {
            (says.generation, says.members[0].state) = (other_generation, MemberState::Failed(FailureReason::Gone));
        });
        assert!(error(&members).contains("went on without each other"), "{}", error(&members));
        members
            .iter()
            .for_each(|member| assert!(assemble(std::slice::from_ref(member)).is_ok(), "each alone is an array"));
    }
}

#[test]
fn one_generation_says_one_thing() {
    let mut members = three();
    change(&mut members[1], |says| says.write_mark = 1);
    assert!(error(&members).contains("contradict each other"));
    let mut members = three();
    change(&mut members[1], |says| {
        (says.generation, says.geometry.region_stripes) = (2, says.geometry.region_stripes + 1)
    });
    assert!(error(&members).contains("contradict each other"));
}

/// A member that got ahead by crashes is out when the others went on without it, though its generation is the highest.
#[test]
fn who_got_ahead_by_crashes_does_not_speak_for_those_who_went_on() {
    let mut members = three();
    change(&mut members[0], |says| says.generation = 9);
    assert_eq!(assemble(&members).unwrap().members[0], SlotState::Active(0));
    for member in &mut members[1..] {
        change(member, |says| (says.generation, says.members[0].state) = (2, MemberState::Missing));
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
    behind: BTreeSet<usize>,
    next_uuid: u8,
}

/// An event of an array of which the members in the bit set `here` are given.
#[derive(Clone, Copy, Debug)]
struct Event {
    here: usize,
    what: What,
    /// Superblocks of a change that are written before the power is cut; all, if there are fewer.
    written: usize,
}

/// What happens while the array runs.
#[derive(Clone, Copy, Debug)]
enum What {
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
    /// Starts the array of the members in `here`, then lets the event happen. False if the array does not start.
    fn happen(&mut self, Event { here, what, written }: Event) -> bool {
        let order: Vec<usize> = (0..self.members.len()).filter(|member| here >> member & 1 == 1).collect();
        let members: Vec<Given> = order.iter().map(|&member| given(self.members[member].clone())).collect();
        let Ok(assembly) = assemble(&members) else { return false };
        let mut table = assembly.superblock.clone();
        let inside: Vec<usize> =
            assembly.members.iter().filter_map(|slot| slot.given().map(|given| order[given])).collect();
        for (slot, state) in assembly.members.iter().enumerate() {
            match *state {
                SlotState::Active(given) => assert!(!self.behind.contains(&order[given]), "{slot} is behind"),
                SlotState::Absent => table.members[slot].state = MemberState::Missing,
                SlotState::Rebuilding { .. } | SlotState::Out(_) => {}
            }
        }
        // Only when all have it is anything else written, and then absent members are behind.
        if !self.write(&mut table, &inside, written) {
            return true;
        }
        self.behind.extend((0..self.members.len()).filter(|member| !inside.contains(member)));
        match what {
            What::Nothing => {}
            What::Fails(member) => {
                if let Some(at) = inside.iter().position(|&other| other == member).filter(|_| inside.len() > 2) {
                    let mut others = inside;
                    others.remove(at);
                    table.members[member].state = MemberState::Failed(FailureReason::Gone);
                    if self.write(&mut table, &others, written) {
                        self.behind.insert(member);
                    }
                }
            }
            What::Joins { member, is_first } => self.join(table, inside, (member, is_first), written),
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
            table.members[member] = MemberRecord { uuid: Uuid([self.next_uuid; 16]), term, state, faults: 0, left: 0 };
            self.next_uuid += 1;
            inside.insert(if is_first { 0 } else { inside.len() }, member);
            if !self.write(&mut table, &inside, written) {
                return;
            }
        }
        self.behind.remove(&member);
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
        let said = |says: &Superblock| {
            [says.generation].into_iter().chain(says.members.iter().flat_map(record)).collect::<Vec<_>>()
        };
        let behind = self.behind.iter().map(|&member| member as u64);
        self.members.iter().flat_map(said).chain(behind).collect()
    }
}

/// All histories of five events of a 2+1 array: started with any members, with a member failing or joining, the power cut
/// after any number of superblocks. A member that is behind is never taken for active.
#[test]
fn no_history_takes_in_who_is_behind() {
    let whats = (0..3).flat_map(|member| {
        let joins = [true, false].map(|is_first| What::Joins { member, is_first });
        [What::Fails(member)].into_iter().chain(joins)
    });
    let whats = whats.chain([What::Nothing]);
    // At least two members: fewer do not start.
    let starts = [0b011, 0b101, 0b110, 0b111].into_iter().flat_map(|here| (1..4).map(move |written| (here, written)));
    let events = whats.flat_map(|what| starts.clone().map(move |(here, written)| Event { here, what, written }));
    let events: Vec<Event> = events.collect();
    let members = (0..3).map(|slot| fresh(LayoutKind::Rotating, 2, 1, 3, slot)).collect();
    let mut worlds = vec![World { members, behind: BTreeSet::new(), next_uuid: 100 }];
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
        let all: Vec<Given> = world.members.iter().cloned().map(given).collect();
        match assemble(&all) {
            Ok(_) | Err(AssembleError::SplitBrain { .. } | AssembleError::TooFew { .. }) => {}
            Err(error) => panic!("{error}: {:?}", world.members),
        }
    }
    assert!(known.len() > 1000, "{}", known.len());
}
