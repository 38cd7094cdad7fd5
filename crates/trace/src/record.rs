//! The record, into which every format is converted.

use scrubjay_core::units::{Bytes, Nanos};

/// Names one device of one trace: an index into [`crate::Devices`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub u32);

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// Declares that the range is no longer used (trim, unmap).
    Discard,
    /// Asks for earlier writes to be made durable; usually without a range.
    Flush,
}

/// One request to one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was issued: since 1970 if the trace's clock is absolute, else since the trace began.
    pub arrival: Nanos,
    /// The time from arrival to completion, if the trace has it.
    pub response: Option<Nanos>,
    /// The offset of the first byte.
    pub offset: Bytes,
    /// The length in bytes.
    pub length: Bytes,
    /// The device.
    pub device: DeviceId,
    /// What the request does.
    pub kind: RequestKind,
}
