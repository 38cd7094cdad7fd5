//! Discovery: which disks and arrays this machine has, where they are, and which other programs read them through.
//! Its sources are the text files of `/sys`, `/run` and `/etc`, below a folder that stands for `/`.
//!
//! ```text
//! root: files and links --> identity, place, bays --> disks --+
//!                       --> below --> md, btrfs --------------+--> survey --> HostSurvey --> changes --> events of the watch
//!                       --> power, others --------------------+
//! offline: which disks count as absent, for disks and for below
//! uevent: when to look again    checks, volumes, zfs: whose own checkers can be driven, our own volumes, pools of ZFS
//! ```
//!
//! **Never:** opening a device (except for labels of ZFS, in [`zfs`]), writing (except in [`bays::locate`]), policy.

pub mod bays;
mod behind;
mod below;
mod btrfs;
pub mod changes;
pub mod checks;
mod disks;
#[cfg(test)]
pub(crate) mod fixture;
mod identity;
mod md;
mod md_shape;
mod mounted;
mod offline;
pub mod others;
mod place;
mod power;
pub mod root;
pub mod seen;
pub mod survey;
pub mod uevent;
pub mod volumes;
pub mod zfs;

pub use bays::locate;
pub use behind::behind;
pub use changes::changes;
pub use root::SystemRoot;
pub use seen::{CheckWay, HostSurvey, OtherScrubber, SeenDisk};
pub use survey::survey;
pub use uevent::UeventSocket;
