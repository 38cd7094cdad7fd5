//! One record: what every format comes down to.

use scrubjay_core::units::{Bytes, Nanos};

/// Names one device of one trace: an index into [`crate::Devices`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub u32);

/// What a request did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// It read.
    Read,
    /// It wrote.
    Write,
    /// It told the device that the range is no longer used (trim, unmap).
    Discard,
    /// It asked for what was written to be made durable; usually without a range.
    Flush,
}

/// One request to one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was issued: since 1970 where the trace's clock is absolute, else since the trace began.
    pub arrival: Nanos,
    /// How long until it was completed, where the trace tells.
    pub response: Option<Nanos>,
    /// The first byte.
    pub offset: Bytes,
    /// How many bytes.
    pub length: Bytes,
    /// The device.
    pub device: DeviceId,
    /// What it did.
    pub kind: RequestKind,
}
