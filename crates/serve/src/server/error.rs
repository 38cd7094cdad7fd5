//! Why a server cannot go on.

use scrubjay_device::ublk::UblkError;
use std::io;

/// The server cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No ring.
    #[error("io_uring is refused ({0}): a container's rules, kernel.io_uring_disabled, or a kernel before 5.11")]
    NoRing(#[source] io::Error),
    /// The ring ended.
    #[error("io_uring failed: {0}")]
    Ring(#[source] io::Error),
    /// No block device.
    #[error(transparent)]
    Device(#[from] UblkError),
}
