//! How a server's run ended: whether acknowledged writes are durable, and what failed.

use scrubjay_core::volume::block::{BlockFailure, BlockReply, ReadPart};

/// How the flush at the end went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flushed {
    /// Everything that was acknowledged is durable.
    Done,
    /// The volume could not flush.
    Failed,
    /// The flush had not ended at the deadline.
    #[default]
    Late,
}

/// How a server's run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerEnded {
    /// How the flush at the end went.
    pub flush: Flushed,
    /// Did the volume complete what it had begun, and leave itself in order, before the deadline?
    pub is_stopped: bool,
    /// Requests of clients and of the block device that had not ended at the deadline (count).
    pub unended: usize,
    /// Reads and allocation queries that failed, in full or in part, in the whole run (count).
    pub reads_failed: u64,
    /// Other requests (writes, flushes, trims, zeroing) that failed, in the whole run (count).
    pub writes_failed: u64,
    /// Could its block device not be started, stopped or removed?
    pub is_device_wrong: bool,
}

impl ServerEnded {
    /// Counts `reply` if it reports an I/O failure. Requests that were invalid, or not allowed, do not count.
    pub(crate) fn count(&mut self, reply: &BlockReply, is_read: bool) {
        let is_failure = match reply {
            BlockReply::Failed(failure) => *failure == BlockFailure::Io,
            BlockReply::Read(parts) => parts.iter().any(|part| matches!(part, ReadPart::Lost(_))),
            _ => false,
        };
        let failed = if is_read { &mut self.reads_failed } else { &mut self.writes_failed };
        *failed += u64::from(is_failure);
    }
}
