//! The queues to and from the pump: operations, replies, and the buffers of both.

use crate::buffer::{Buffer, Pool};
use crate::units::Nanos;
use crate::volume::block::{BlockReply, RequestId};
use crate::volume::disk::PlacedDisk;
use crate::volume::durable::syncs::Syncs;
use crate::volume::member::MemberOp;
use crate::volume::tasks::ops::Groups;
use std::collections::VecDeque;

/// Time that one operation may take, in deadlines, while its disk ends other operations: a long queue is not a hanging disk.
const PATIENCE: u64 = 10;

/// Operations and replies under way.
#[derive(Default)]
pub struct Io {
    /// Operations that the pump has not taken yet, each with the disk it is for.
    pub out: VecDeque<(PlacedDisk, MemberOp)>,
    pub groups: Groups,
    pub syncs: Syncs,
    /// Time of the last check for overdue operations.
    pub checked_at: Nanos,
    pub replies: VecDeque<(RequestId, BlockReply)>,
    pub pool: Pool,
}

impl Io {
    /// Time of the next check for overdue operations: a quarter of `op_deadline` after the last one.
    pub fn next_check(&self, op_deadline: Nanos) -> Nanos {
        self.checked_at.saturating_add(Nanos(op_deadline.0 / 4))
    }

    /// Disks that have owed a result for longer than `op_deadline` and ended nothing of its kind meanwhile, or for `PATIENCE`
    /// times as long.
    pub fn overdue(&self, now: Nanos, op_deadline: Nanos) -> Vec<PlacedDisk> {
        let Some(before) = now.0.checked_sub(op_deadline.0) else { return Vec::new() };
        let long_before = now.0.checked_sub(PATIENCE * op_deadline.0).map(Nanos);
        self.groups.overdue(Nanos(before), long_before)
    }

    /// Takes back buffers, to be reused.
    pub fn recycle(&mut self, buffers: impl IntoIterator<Item = Buffer>) {
        buffers.into_iter().for_each(|buffer| self.pool.give(buffer));
    }
}
