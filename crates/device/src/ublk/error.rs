//! Why a volume gets no block device.

use std::io;

/// Why a volume gets no block device.
#[derive(Debug, thiserror::Error)]
pub enum UblkError {
    /// The kernel's driver is not loaded.
    #[error(
        "/dev/ublk-control is not there: load the driver (modprobe ublk_drv; Linux 6.5 or later with CONFIG_BLK_DEV_UBLK), or listen for NBD instead"
    )]
    NoDriver,
    /// The kernel's driver lacks required features.
    #[error("this kernel's ublk driver is too old (before Linux 6.5): listen for NBD instead")]
    TooOld,
    /// The device with this number does not belong to the volume.
    #[error("/dev/ublkb{0} is not a device of this volume: name another number, or none")]
    Stranger(u32),
    /// The volume has a device with another number.
    #[error("this volume has a device already, /dev/ublkb{has}, which may be in use: name {has}, not {wanted}")]
    Elsewhere {
        /// The number of its device.
        has: u32,
        /// The number that was requested.
        wanted: u32,
    },
    /// Another process serves it.
    #[error("/dev/ublkb{number}: process {server} serves it: stop that first")]
    Served {
        /// Number of the device.
        number: u32,
        /// Process ID of the server.
        server: i32,
    },
    /// The device was made with other properties than the volume has now.
    #[error("/dev/ublkb{0} was made for another size of this volume, or by another version: it cannot be taken over")]
    Changed(u32),
    /// The kernel has not released it.
    #[error("/dev/ublkb{0}: the kernel has not let go of it since its last server was killed: try again")]
    Held(u32),
    /// It cannot be recovered any more.
    #[error(
        "/dev/ublkb{0} cannot be recovered: its last server was killed while it took it over: unmount it, remove it (ublk del -n {0}), then try again"
    )]
    Unrecoverable(u32),
    /// The kernel refused a call.
    #[error("{what}: {source}")]
    Refused {
        /// The call, or the device.
        what: String,
        /// The kernel's error.
        source: io::Error,
    },
}
