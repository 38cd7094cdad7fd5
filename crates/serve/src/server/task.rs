//! What the server's ring is at, by name.

use scrubjay_core::volume::member::MemberOpId;

/// One operation of the ring.
#[derive(Clone, Copy, Debug)]
pub(super) enum RingTask {
    /// An operation of the volume on a member's disk.
    Disk(MemberOpId),
    /// A client on a listener, by its index.
    Accept(usize),
    /// Bytes of a connection, by its index.
    Receive(usize),
    /// Bytes to a connection.
    Send(usize),
    /// The stop flag wants to be looked at.
    Wake,
}
