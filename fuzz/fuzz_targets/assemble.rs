//! Fuzzes the assembly of members with arbitrary superblocks: no superblock states that a member which is in is out.

#![no_main]

use scrubjay_core::index::MemberIndex;
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::units::UnixSeconds;
use scrubjay_core::volume::format::assemble::{Assembly, GivenMember, assemble};
use scrubjay_core::volume::format::geometry::{ArrayParameters, Geometry};
use scrubjay_core::volume::format::losses::LossRegister;
use scrubjay_core::volume::format::superblock::{
    FailureReason, Features, MemberRecord, MemberState, Superblock, SuperblockError,
};
use scrubjay_core::volume::format::uuid::Uuid;
use scrubjay_core::volume::integrity::scheme::Scheme;

const MEMBER_BYTES: u64 = 64 << 20;
const MEMBERS_MAX: usize = 12;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut from = data.iter().copied();
    let mut byte = || from.next().unwrap_or(0);
    let count = usize::from(byte()) % MEMBERS_MAX;
    let given: Vec<GivenMember> = (0..count).map(|index| member(index, &mut byte)).collect();
    match assemble(&given) {
        Ok(assembly) => check(&given, &assembly),
        Err(error) => assert!(!error.to_string().is_empty() && !error.to_string().contains('\n')),
    }
});

/// A member with a superblock made of the bytes; zeros make it one of a new 2+1 volume.
fn member(index: usize, byte: &mut impl FnMut() -> u8) -> GivenMember {
    let (kind, data, parity, disks) = match byte() % 8 {
        6 => (LayoutKind::Raid1, 1, 1, 4),
        7 => (LayoutKind::Rotating, 3, 2, 5),
        _ => (LayoutKind::Rotating, 2, 1, 3),
    };
    let layout = Layout::new(kind, Shape { data, parity }, disks).expect("it takes them");
    let parameters = ArrayParameters { layout, scheme: Scheme::Stamp, chunk_bytes: 65_536, block_bytes: 512 };
    let record = |slot: usize, byte: &mut dyn FnMut() -> u8| MemberRecord {
        uuid: Uuid([slot as u8 + 8 * (byte() % 2); 16]),
        term: u16::from(byte() % 3),
        state: match byte() % 6 {
            3 => MemberState::Missing,
            4 => MemberState::Failed(FailureReason::Gone),
            5 => MemberState::Rebuilding { stripes_done: 5 },
            _ => MemberState::Active,
        },
        faults: 0,
        departure_generation: u64::from(byte() % 4),
    };
    let members: Vec<MemberRecord> = (0..disks).map(|slot| record(slot, byte)).collect();
    let superblock = Superblock {
        array: Uuid([byte() / 200; 16]),
        name: String::new(),
        created: UnixSeconds(u64::from(byte() / 250)),
        last_started: UnixSeconds(0),
        generation: 1 + u64::from(byte()),
        write_mark: 0,
        is_clean: true,
        geometry: Geometry::fit(&parameters, MEMBER_BYTES, None).expect("room for it"),
        features: Features::default(),
        losses: LossRegister::default(),
        starts: std::array::from_fn(|place| if place < 6 { 0 } else { u64::from(byte() / 100) }),
        map_sum: 0,
        member: MemberIndex((index + usize::from(byte())) % disks),
        members,
    };
    let superblock = match byte() {
        253 => Err(SuperblockError::Foreign),
        254 => Err(SuperblockError::Damaged),
        255 => Err(SuperblockError::Version(9)),
        _ => Ok(superblock),
    };
    GivenMember { label: format!("m{index}"), bytes: MEMBER_BYTES - 4096 * u64::from(byte() / 250), superblock }
}

fn check(given: &[GivenMember], assembly: &Assembly) {
    let superblock = |index: usize| given[index].superblock.as_ref().expect("all can be read, or there is no volume");
    let inside: Vec<usize> = assembly.members.iter().filter_map(|slot| slot.given()).collect();
    let mut all: Vec<usize> = inside.iter().copied().chain(assembly.stale.iter().map(|stale| stale.given)).collect();
    all.sort_unstable();
    assert_eq!(all, (0..given.len()).collect::<Vec<_>>(), "each is in or left out, once");
    for (slot, state) in assembly.members.iter().enumerate() {
        let Some(member) = state.given() else { continue };
        let own = superblock(member).own();
        assert_eq!(
            (superblock(member).member.get(), superblock(member).geometry),
            (slot, assembly.superblock.geometry)
        );
        assert_eq!(assembly.superblock.members[slot].uuid, own.uuid);
        assert!(given[member].bytes >= assembly.superblock.geometry.member_bytes);
        for other in (0..given.len()).map(superblock) {
            let record = &other.members[slot];
            let is_out = matches!(record.state, MemberState::Missing | MemberState::Failed(_));
            assert!(record.uuid != own.uuid || !is_out, "somebody knows that it is out");
            assert!(record.uuid == own.uuid || record.term <= own.term, "somebody knows that it was replaced");
        }
    }
    let shape = assembly.superblock.geometry.layout.shape();
    assert!(inside.len() >= shape.data);
}
