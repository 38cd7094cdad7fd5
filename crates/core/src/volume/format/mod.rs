//! The format of a volume's members: encodes and decodes everything that is neither data nor appendix.
//!
//! ```text
//! Parameters, sizes of members -> geometry::Geometry::fit   where everything lies
//! Geometry, names              -> blank::member             what lies on the members of a new array
//! bytes of a member            -> superblock::newest        what the member says of its array and of itself
//! superblocks of all members   -> assemble::assemble        which members are in, which are left out and why
//! a member that was out        -> returns::ReturnRefusal         whether it may come back as it left
//! pages of all members         -> intent::Union             which regions may be half written
//!                              -> written::WrittenMap       which stripes were ever written
//! ```
//!
//! `docs/format.md` draws the bytes. Nothing here does I/O: the callers read and write the blocks.

pub mod assemble;
pub mod bits;
pub mod blank;
mod fields;
pub mod geometry;
pub mod intent;
pub mod losses;
pub(super) mod page;
pub mod returns;
pub mod superblock;
pub mod uuid;
pub mod written;

pub use page::PageError;

#[cfg(test)]
mod tests {
    //! Helpers that the tests of the submodules share.

    use super::geometry::{ArrayParameters, Geometry};
    use crate::layout::Shape;
    use crate::layout::{Layout, LayoutKind};
    use crate::volume::integrity::scheme::Scheme;

    /// A geometry of `stripes` stripes, each a region of its own, even if those are more regions than a real array has.
    pub fn geometry(stripes: u64) -> Geometry {
        let layout = Layout::new(LayoutKind::Rotating, Shape { data: 2, parity: 1 }, 3).expect("any shape");
        let parameters = ArrayParameters { layout, scheme: Scheme::Stamp, chunk_bytes: 4 << 20, block_bytes: 512 };
        let geometry = Geometry::fit(&parameters, 1 << 40, Some(stripes * (8 << 20))).expect("room for them");
        Geometry { region_stripes: 1, intent_pages: stripes.div_ceil(geometry.regions_per_page()), ..geometry }
    }
}
