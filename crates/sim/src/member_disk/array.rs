//! An array on disks in memory: formats new disks, and reads their superblocks.

use super::{MemberDisk, WriteFate};
use scrubjay_core::index::MemberIndex;
use scrubjay_core::units::{MemberOffset, UnixSeconds};
use scrubjay_core::volume::format::assemble::GivenMember;
use scrubjay_core::volume::format::blank;
use scrubjay_core::volume::format::geometry::{Geometry, SUPERBLOCK_BYTES};
use scrubjay_core::volume::format::superblock::{self, Superblock};
use scrubjay_core::volume::format::uuid::Uuid;

/// The UUID of every array here.
pub const ARRAY: Uuid = Uuid([0xa7; 16]);

/// Formats the disks, in the order of their members, as new members of an array of this geometry.
pub fn create(geometry: Geometry, disks: &mut [MemberDisk]) {
    let names: Vec<Uuid> = (0..disks.len()).map(|slot| Uuid::of_random([slot as u8; 16])).collect();
    let superblock = blank::superblock(geometry, ARRAY, "storm", UnixSeconds(1), &names);
    for (slot, disk) in disks.iter_mut().enumerate() {
        for (offset, block) in blank::member(&superblock, MemberIndex(slot), disk.bytes()) {
            disk.write(offset.get(), &block, true, WriteFate::HONEST);
        }
    }
}

/// The newest superblock on a disk; `None`: it is gone, or has none.
pub fn superblock(disk: &MemberDisk) -> Option<Superblock> {
    let offsets = Superblock::offsets(disk.bytes())?;
    let copy = |offset: MemberOffset| {
        let mut block = vec![0; SUPERBLOCK_BYTES];
        disk.read(offset.get(), &mut block).is_ok().then_some(block)
    };
    let copies: Vec<Vec<u8>> = if disk.is_gone { Vec::new() } else { offsets.into_iter().filter_map(copy).collect() };
    superblock::newest(copies.iter().map(|copy| &copy[..])).ok()
}

/// The superblocks of all disks that have one: the input of [`assemble`](scrubjay_core::volume::format::assemble::assemble).
pub fn given(disks: &[MemberDisk]) -> Vec<GivenMember> {
    let superblock_of = |slot: usize| superblock(&disks[slot]).map(|superblock| (slot, superblock));
    let given = |(slot, superblock): (usize, Superblock)| GivenMember {
        label: format!("disk {slot}"),
        bytes: disks[slot].bytes(),
        superblock: Ok(superblock),
    };
    (0..disks.len()).filter_map(superblock_of).map(given).collect()
}
