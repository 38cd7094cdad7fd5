//! Why a server cannot start or go on.

use scrubjay_device::ublk::UblkError;
use std::io;

/// Why a server cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There is no io_uring.
    #[error("io_uring is refused ({0}): a container's rules, kernel.io_uring_disabled, or a kernel before 5.11")]
    NoRing(#[source] io::Error),
    /// The ring failed.
    #[error("io_uring failed: {0}")]
    Ring(#[source] io::Error),
    /// The block device cannot be created.
    #[error(transparent)]
    Device(#[from] UblkError),
}
