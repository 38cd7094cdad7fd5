//! The requests that a block device takes, and its replies: the interface between a server and a volume.

use crate::buffer::Buffer;
use crate::units::VolumeOffset;
use std::ops::Range;

/// Names one request from its submission to its reply. The caller chooses it; a number may be reused after its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// A request of a client. Offsets and lengths are in bytes, inside the device, of any alignment.
#[derive(Debug, PartialEq, Eq)]
pub enum BlockRequest {
    /// Read `len` bytes.
    Read {
        /// First byte to read.
        offset: VolumeOffset,
        /// Bytes to read, at least 1.
        len: u64,
    },
    /// Write all of `data`.
    Write {
        /// First byte to write.
        offset: VolumeOffset,
        /// The content, at least 1 byte.
        data: Buffer,
        /// Reply only once the write would survive a loss of power.
        is_durable: bool,
    },
    /// Reply once everything that was replied to before would survive a loss of power.
    Flush,
    /// These bytes are no longer needed: afterwards they read as zeros or as they were.
    Trim {
        /// First byte to trim.
        offset: VolumeOffset,
        /// Bytes to trim, at least 1.
        len: u64,
    },
    /// Make these bytes read as zeros from now on.
    Zero {
        /// First byte to zero.
        offset: VolumeOffset,
        /// Bytes to zero, at least 1.
        len: u64,
        /// Reply only once the zeros would survive a loss of power.
        is_durable: bool,
    },
    /// Report which of these bytes were written and not trimmed since.
    Allocation {
        /// First byte of the range.
        offset: VolumeOffset,
        /// Bytes of the range, at least 1.
        len: u64,
    },
}

/// The reply to one [`BlockRequest`].
#[derive(Debug, PartialEq, Eq)]
pub enum BlockReply {
    /// The content read: parts in order, without gaps, from the request's offset to its end.
    Read(Vec<ReadPart>),
    /// A write, flush, trim or zeroing is done.
    Done,
    /// Runs in order, without gaps, from the request's offset on: at least one, perhaps not up to the range's end.
    Allocation(Vec<AllocationRun>),
    /// The request failed. Each sector of a failed write's range holds its old content or the new one; all other content that
    /// can still be proven is unchanged.
    Failed(BlockFailure),
}

/// A part of the content read.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadPart {
    /// These bytes of a buffer, verified as far as the scheme can (scheme `none`: not at all).
    Data(Buffer, Range<usize>),
    /// This many zero bytes: never written, or trimmed.
    Zeros(u64),
    /// This many lost bytes: no right content can be proven.
    Lost(u64),
}

impl ReadPart {
    /// Bytes of the request that this part covers.
    pub fn len(&self) -> u64 {
        match self {
            ReadPart::Data(_, range) => range.len() as u64,
            ReadPart::Zeros(len) | ReadPart::Lost(len) => *len,
        }
    }

    /// Whether the part covers no bytes; no part of a reply is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A run of bytes that are all written or all unwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationRun {
    /// Bytes of the run.
    pub len: u64,
    /// Whether the bytes were written and not trimmed since; otherwise they read as zeros.
    pub is_written: bool,
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockFailure {
    /// Bytes are lost, or more members are out than the volume can do without: EIO.
    Io,
    /// The range is not inside the device: EINVAL for reads, ENOSPC for writes.
    OutOfRange,
    /// The device is open for reading only: EPERM.
    ReadOnly,
    /// The volume is stopping: ESHUTDOWN.
    Stopping,
}
