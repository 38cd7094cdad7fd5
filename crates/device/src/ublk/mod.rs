//! A block device whose requests this process serves, by Linux's ublk driver: `/dev/ublkbN`.
//!
//! ```text
//! UblkPlan::new      which device: a new one, or the one for this purpose that lost its server      (changes nothing)
//!     carry_out      makes it, or begins its recovery; opens its queue -> UblkDevice
//! UblkQueue::fetch   fetches each tag's first request, by the server's ring (IoRing)
//! lifecycle::start        on a thread: the block device appears, or continues. The kernel reads its partitions, so it is served by now
//! UblkQueue::request, receive, send, commit      one request after the other
//! lifecycle::stop         on a thread: the device stops, unless it is in use
//! UblkDevice::delete
//! ```
//!
//! Data are copied by `pread` and `pwrite` at the character device (`UBLK_F_USER_COPY`), so that the kernel uses no memory of
//! this process between these calls. When the server dies the device stays, and its requests wait; the next
//! server gets all of them again (`UBLK_F_USER_RECOVERY_REISSUE`). The kernel keeps a mark of the device's owner with it
//! (`ublksrv_flags`), as long as the device exists.

mod abi;
mod control;
mod error;
mod holders;
pub mod lifecycle;
mod plan;
mod queue;

pub use abi::{UblkRequest, UblkVerb};
pub use control::UblkControl;
pub use error::UblkError;
pub use plan::{DEPTH, UblkDevice, UblkPlan, UblkPurpose};
pub use queue::UblkQueue;

/// Lets this thread allocate memory without waiting for writes to disks: those may be to a device whose requests it serves.
///
/// # Errors
/// Without CAP_SYS_RESOURCE.
pub fn never_wait_for_writes() -> std::io::Result<()> {
    Ok(rustix::process::configure_io_flusher_behavior(true)?)
}
