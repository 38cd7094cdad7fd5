//! What a block device is asked, and what it answers: the words between a server and a volume.

use crate::buffer::Buffer;
use crate::units::VolumeOffset;
use std::ops::Range;

/// Names one request, from its submission to its reply. The asker's choice; a number may be used again after its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Something a client wants done. Offsets and lengths are bytes, inside the device; of any alignment.
#[derive(Debug, PartialEq, Eq)]
pub enum BlockRequest {
    /// Read `len` bytes.
    Read {
        /// From here on.
        offset: VolumeOffset,
        /// At least 1.
        len: u64,
    },
    /// Write all of `data`.
    Write {
        /// From here on.
        offset: VolumeOffset,
        /// What to write, at least 1 byte.
        data: Buffer,
        /// Reply only once it would survive a loss of power.
        is_durable: bool,
    },
    /// Reply once everything that was replied to before would survive a loss of power.
    Flush,
    /// These bytes are no longer needed; they may read as zeros or as they were.
    Trim {
        /// From here on.
        offset: VolumeOffset,
        /// At least 1.
        len: u64,
    },
    /// These bytes read as zeros from now on.
    Zero {
        /// From here on.
        offset: VolumeOffset,
        /// At least 1.
        len: u64,
        /// Reply only once it would survive a loss of power.
        is_durable: bool,
    },
    /// Which of these bytes were written, and not trimmed since?
    Allocation {
        /// From here on.
        offset: VolumeOffset,
        /// At least 1.
        len: u64,
    },
}

/// The answer to one [`BlockRequest`].
#[derive(Debug, PartialEq, Eq)]
pub enum BlockReply {
    /// What was read: parts in order, without gaps, from the request's offset to its end.
    Read(Vec<ReadPart>),
    /// A write, flush, trim or zeroing was done.
    Done,
    /// Runs in order, without gaps, over the request's range (perhaps less of it than asked, at least one run).
    Allocation(Vec<AllocationRun>),
    /// It could not be done. Each sector of a failed write's range holds its old content or the new one; nothing that can still be proven changed.
    Failed(BlockFailure),
}

/// A piece of what was read.
#[derive(Debug, PartialEq, Eq)]
pub enum ReadPart {
    /// These bytes of a buffer, checked as far as the scheme can (scheme `none`: not at all).
    Data(Buffer, Range<usize>),
    /// So many zeros: never written, or trimmed.
    Zeros(u64),
    /// So many bytes that are lost: no right value can be proven.
    Lost(u64),
}

impl ReadPart {
    /// How many bytes of the request it answers.
    pub fn len(&self) -> u64 {
        match self {
            ReadPart::Data(_, range) => range.len() as u64,
            ReadPart::Zeros(len) | ReadPart::Lost(len) => *len,
        }
    }

    /// Does it answer nothing? No part of a reply does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A run of bytes that were all written, or all not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationRun {
    /// How many bytes.
    pub len: u64,
    /// Were they written, and not trimmed since? Else they read as zeros.
    pub is_written: bool,
}

/// Why a request was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockFailure {
    /// Bytes are lost, or members are: EIO.
    Io,
    /// The range is not inside the device: EINVAL for reads, ENOSPC for writes.
    OutOfRange,
    /// The device is open for reading only: EPERM.
    ReadOnly,
    /// The volume is stopping: ESHUTDOWN.
    Stopping,
}
