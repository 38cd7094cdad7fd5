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
    /// The next request of the block device's that has this tag.
    Fetch(u16),
    /// What the driver of block devices was told has ended.
    DeviceNews,
    /// The stop flag wants to be looked at.
    Wake,
}
