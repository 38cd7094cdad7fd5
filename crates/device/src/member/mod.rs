//! Members of a volume: files and block devices that are opened to be written. Nowhere else are any.
//!
//! A member has one holder at a time. Who writes it holds it alone, and who reads what must not change meanwhile shares it
//! with readers only: a lock on a file (`flock`, which the kernel takes back from whoever dies), and on a block device the
//! kernel's own claim (`O_EXCL`), which mounts, swap, md, dm and loop devices respect, too. Of a loop device, the file behind
//! it is locked as well.

mod busy;
mod contents;
mod error;
mod make;
mod open;

pub use busy::MemberHolder;
pub(crate) use busy::found;
pub use contents::Contents;
pub use error::MemberError;
pub use make::{make, new_uuid};
pub use open::{Access, OpenMember};

#[cfg(test)]
mod tests;
