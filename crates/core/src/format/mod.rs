//! What lies on the members of a volume: every byte that is neither data nor its appendix, there and back.
//!
//! ```text
//! Parameters, sizes of members -> geometry::Geometry::fit   where everything lies
//! bytes of a member            -> superblock::newest        what the member says of its array and of itself
//! what all members say         -> assemble::assemble        who is in, who is left out and why
//! pages of all members         -> intent::merge             which regions may be half written
//!                              -> written::merge            which stripes were ever written
//! ```
//!
//! The bytes in boxes are in `docs/format.md`. Whoever reads and writes them is somebody else: nothing here does I/O.

pub mod assemble;
pub mod bits;
mod fields;
pub mod geometry;
pub mod intent;
mod page;
pub mod superblock;
pub mod uuid;
pub mod written;

pub use page::PageError;
