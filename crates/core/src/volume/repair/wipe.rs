//! Writes zeros over blocks that a crash cut short, before anything else is written there.
//!
//! A write of several sectors that a crash cut short may have left its first sectors on the medium, with the checksum of all
//! of them. If the next write of that place differs in a few bytes only, and a second crash cuts it short so that only its
//! last sectors arrive, old and new sectors together make a block with a valid checksum that was never written as a whole.

use crate::buffer::Buffer;
use crate::units::MemberOffset;
use crate::volume::format::geometry::SUPERBLOCK_BYTES;
use crate::volume::format::superblock::{Superblock, SuperblockError};
use crate::volume::member::{MemberIndex, OpKind};
use crate::volume::tasks::handle::{EndedOp, VolumeHandle};

/// Writes zeros over `len` bytes of a member, durably.
pub fn zeros((member, offset, len): (MemberIndex, MemberOffset, usize)) -> (MemberIndex, OpKind) {
    (member, OpKind::Write { offset, buffer: Buffer::zeroed(len), is_durable: true })
}

/// The writes that zero those copies of superblocks that are neither whole nor zeros.
pub async fn torn_superblocks(handle: &VolumeHandle) -> Vec<(MemberIndex, OpKind)> {
    let places: Vec<(MemberIndex, MemberOffset)> = handle.with(|state| {
        let copies = |member: MemberIndex| {
            let size = state.options.bytes_of(member).unwrap_or(state.geometry.member_bytes);
            let offsets = Superblock::offsets(size).expect("a member has room for its superblocks");
            offsets.map(|offset| (member, offset))
        };
        state.membership.attached().into_iter().flat_map(copies).collect()
    });
    let read = |&(member, offset): &(MemberIndex, MemberOffset)| {
        (member, OpKind::Read { offset, buffer: Buffer::zeroed(SUPERBLOCK_BYTES) })
    };
    let done = handle.ops(places.iter().map(read).collect()).await;
    let is_torn = |done: &EndedOp| {
        let copy = done.buffer.as_deref().filter(|_| done.result.is_ok());
        let is_torn = |copy: &[u8]| {
            let decoded = Superblock::decode(copy);
            matches!(decoded, Err(SuperblockError::Foreign | SuperblockError::Damaged))
                && copy.iter().any(|&byte| byte != 0)
        };
        copy.is_some_and(is_torn)
    };
    let torn = done.iter().zip(places).filter(|(done, _)| is_torn(done));
    torn.map(|(_, (member, offset))| zeros((member, offset, SUPERBLOCK_BYTES))).collect()
}
