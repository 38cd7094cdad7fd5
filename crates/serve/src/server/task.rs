//! The names of the operations of the server's ring.

use scrubjay_core::volume::member::MemberOpId;

/// One operation of the ring.
#[derive(Clone, Copy, Debug)]
pub(super) enum RingTask {
    /// An operation of the volume on a member's disk.
    Disk(MemberOpId),
    /// Accepting a client on a listener, by its index.
    Accept(usize),
    /// Receiving on a connection, by its index.
    Receive(usize),
    /// Sending on a connection, by its index.
    Send(usize),
    /// Fetching the block device's next request with this tag.
    Fetch(u16),
    /// Waiting for the end of the block device driver's command.
    DeviceEvent,
    /// Waiting for a change of the stop flag.
    Wake,
}
