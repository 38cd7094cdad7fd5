//! Why there is no geometry for given parameters, or why given numbers make none.

use super::limits::{CHUNK_BYTES_MAX, CHUNK_BYTES_MIN, STRIPES_MAX};
use scrubjay_code::CodeError;
use std::fmt;

/// Why there is no geometry for given parameters, or why given numbers make none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometryError {
    /// The chunk is not a power of two, too small or too large, or smaller than a block of the members.
    Chunk {
        /// Bytes of the chunk.
        chunk_bytes: u64,
        /// Bytes of a block.
        block_bytes: u64,
    },
    /// The logical block of a member, in bytes, is neither 512 nor 4096.
    Block(u64),
    /// There is no code of this shape.
    Code(CodeError),
    /// The members are too small for a single stripe.
    TooSmall {
        /// Bytes of the smallest sufficient member.
        least: u64,
    },
    /// The members hold less than the size asked for.
    TooLarge {
        /// Bytes of user data that they hold.
        most: u64,
    },
    /// The array would have more than [`STRIPES_MAX`] stripes.
    TooManyStripes {
        /// Bytes of the smallest sufficient chunk, if any is sufficient.
        chunk_bytes: Option<u64>,
    },
    /// The numbers contradict each other.
    Contradiction(&'static str),
}

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GeometryError::Chunk { chunk_bytes, block_bytes } => write!(
                f,
                "a chunk of {chunk_bytes} bytes: it must be a power of two, {} to {CHUNK_BYTES_MAX}",
                block_bytes.max(&CHUNK_BYTES_MIN)
            ),
            GeometryError::Block(bytes) => {
                write!(f, "a disk with blocks of {bytes} bytes: only 512 and 4096 are known")
            }
            GeometryError::Code(error) => error.fmt(f),
            GeometryError::TooSmall { least } => {
                write!(f, "the smallest member is too small for a single stripe: {least} bytes would do")
            }
            GeometryError::TooLarge { most } => write!(f, "the members hold a volume of {most} bytes at the most"),
            GeometryError::TooManyStripes { chunk_bytes: Some(chunk_bytes) } => {
                write!(f, "more than {STRIPES_MAX} stripes: take chunks of {chunk_bytes} bytes or more")
            }
            GeometryError::TooManyStripes { chunk_bytes: None } => {
                write!(f, "more than {STRIPES_MAX} stripes: the members are too large")
            }
            GeometryError::Contradiction(part) => write!(f, "the geometry contradicts itself: {part}"),
        }
    }
}

impl std::error::Error for GeometryError {}
