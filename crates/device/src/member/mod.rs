//! Members of a volume: files and block devices that are opened to be written. No other module opens them for writing.
//!
//! A member has one holder at a time. A writer holds it alone, and a reader whose data must not change shares it with
//! readers only: by a lock on a file (`flock`, which the kernel releases when a process dies), and on a block device by the
//! kernel's own claim (`O_EXCL`), which mounts, swap, md, dm and loop devices respect, too. For a loop device, the file behind
//! it is locked as well.

mod busy;
mod contents;
mod error;
mod make;
mod open;

pub use busy::MemberHolder;
pub(crate) use busy::find_holder;
pub use contents::Contents;
pub use error::MemberError;
pub use make::{make, new_uuid};
pub use open::{Access, OpenMember};

#[cfg(test)]
mod tests;
