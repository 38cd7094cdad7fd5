//! How a server's run ended: what was kept of what clients were promised.

use scrubjay_core::volume::block::{BlockFailure, BlockReply, ReadPart};

/// What became of the flush at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flushed {
    /// Everything that was acknowledged is durable.
    Done,
    /// The volume could not.
    Failed,
    /// It had not ended when no more was waited for.
    #[default]
    Late,
}

/// How a server's run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerEnded {
    /// The flush at the end.
    pub flush: Flushed,
    /// Did the volume end what it had begun, and leave itself in order, before no more was waited for?
    pub is_stopped: bool,
    /// Requests of clients that had not ended when no more was waited for.
    pub unended: usize,
    /// Reads that could not be answered, or not in full, in the whole run.
    pub reads_failed: u64,
    /// Writes, and flushes, that could not be done, in the whole run.
    pub writes_failed: u64,
    /// Could its block device not be had, or not be removed?
    pub is_device_wrong: bool,
}

impl ServerEnded {
    /// Counts a reply that says that something was not done that could have been. (What makes no sense, or is not allowed,
    /// could not.)
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
