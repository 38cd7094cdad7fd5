//! Why there is no block device.

use std::io;

/// There is no block device.
#[derive(Debug, thiserror::Error)]
pub enum UblkError {
    /// The kernel has no driver for it.
    #[error(
        "/dev/ublk-control is not there: load the driver (modprobe ublk_drv; Linux 6.5 or later with CONFIG_BLK_DEV_UBLK), or listen for NBD instead"
    )]
    NoDriver,
    /// It has one that cannot do what is needed.
    #[error("this kernel's ublk driver is too old (before Linux 6.5): listen for NBD instead")]
    TooOld,
    /// The number is somebody else's.
    #[error("/dev/ublkb{0} is not a device of this volume: name another number, or none")]
    Stranger(u32),
    /// The volume has another one.
    #[error("this volume has a device already, /dev/ublkb{has}, which may be in use: name {has}, not {wanted}")]
    Elsewhere {
        /// It has this one.
        has: u32,
        /// This was asked for.
        wanted: u32,
    },
    /// Another process serves it.
    #[error("/dev/ublkb{number}: process {server} serves it: stop that first")]
    Served {
        /// The device.
        number: u32,
        /// The process.
        server: i32,
    },
    /// The volume is not what it was when the device was made.
    #[error("/dev/ublkb{0} was made for another size of this volume, or by another version: it cannot be taken over")]
    Changed(u32),
    /// The kernel does not let go of it.
    #[error("/dev/ublkb{0}: the kernel has not let go of it since its last server was killed: try again")]
    Held(u32),
    /// It cannot be recovered any more.
    #[error(
        "/dev/ublkb{0} cannot be recovered: its last server was killed while it took it over: unmount it, remove it (ublk del -n {0}), then try again"
    )]
    Unrecoverable(u32),
    /// The kernel says no.
    #[error("{what}: {source}")]
    Refused {
        /// To what.
        what: String,
        /// What it said.
        source: io::Error,
    },
}
