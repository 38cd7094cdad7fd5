//! What goes to and from the pump: operations, replies, and the buffers of both.

use super::disk::PlacedDisk;
use super::ops::Groups;
use super::syncs::Syncs;
use crate::buffer::{Buffer, Pool};
use crate::units::Nanos;
use crate::volume::block::{BlockReply, RequestId};
use crate::volume::member::MemberOp;
use std::collections::VecDeque;

/// So many deadlines long one operation may take while the same disk ends others: a long queue is no disk that hangs.
const PATIENCE: u64 = 10;

/// Operations and replies under way.
#[derive(Default)]
pub(super) struct Io {
    /// Operations that the pump has not taken yet, each with the disk that it is meant for.
    pub out: VecDeque<(PlacedDisk, MemberOp)>,
    pub groups: Groups,
    pub syncs: Syncs,
    /// When it was last looked whether an operation takes too long.
    pub looked_at: Nanos,
    pub replies: VecDeque<(RequestId, BlockReply)>,
    pub pool: Pool,
}

impl Io {
    /// When to look again whether an operation takes too long: longer than `op_deadline`.
    pub fn next_look(&self, op_deadline: Nanos) -> Nanos {
        self.looked_at.saturating_add(Nanos(op_deadline.0 / 4))
    }

    /// Disks that owe an answer for longer than they may, and gave none to anything of its kind meanwhile.
    pub fn overdue(&self, now: Nanos, op_deadline: Nanos) -> Vec<PlacedDisk> {
        let Some(before) = now.0.checked_sub(op_deadline.0) else { return Vec::new() };
        let long_before = now.0.checked_sub(PATIENCE * op_deadline.0).map(Nanos);
        self.groups.overdue(Nanos(before), long_before)
    }

    /// Takes buffers back, to be used again.
    pub fn recycle(&mut self, buffers: impl IntoIterator<Item = Buffer>) {
        buffers.into_iter().for_each(|buffer| self.pool.give(buffer));
    }
}
