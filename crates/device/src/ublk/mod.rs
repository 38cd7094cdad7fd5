//! A block device whose requests this process answers, by Linux's ublk driver: `/dev/ublkbN`.
//!
//! ```text
//! UblkPlan::new      which device: a new one, or the one of this purpose that lost its server      (nothing is changed)
//!     carry_out      it is made, or its recovery begins; its queue is open -> UblkDevice
//! UblkQueue::fetch   each tag's first request is asked for, by the ring of whoever serves (IoRing)
//! deed::start        on a thread: the block device appears, or goes on. The kernel reads its partitions, so it is served by now
//! UblkQueue::request, receive, send, commit      one request after the other
//! deed::stop         on a thread: it goes, unless somebody has it open
//! UblkDevice::delete
//! ```
//!
//! Data are copied by `pread` and `pwrite` at the character device (`UBLK_F_USER_COPY`), so that no memory of ours is with the
//! kernel while nothing is asked of it. When the server dies the device stays, and what it was asked for waits; the next
//! server gets all of it again (`UBLK_F_USER_RECOVERY_REISSUE`). To whom a device belongs the kernel keeps with it
//! (`ublksrv_flags`): that is gone when it is.

mod abi;
mod control;
pub mod deed;
mod error;
mod holders;
mod plan;
mod queue;

pub use abi::{UblkRequest, UblkVerb};
pub use control::UblkControl;
pub use error::UblkError;
pub use plan::{DEPTH, UblkDevice, UblkPlan, UblkPurpose};
pub use queue::UblkQueue;

/// From now on this thread gets memory without waiting for writes to disks: those may be to a device whose requests it answers.
///
/// # Errors
/// Without CAP_SYS_RESOURCE.
pub fn never_wait_for_writes() -> std::io::Result<()> {
    Ok(rustix::process::configure_io_flusher_behavior(true)?)
}
