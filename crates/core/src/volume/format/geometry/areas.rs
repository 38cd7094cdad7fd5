//! The areas of metadata in front of a member's rows: their names, and the places of an area's pages.

use crate::units::MemberOffset;
use std::ops::Range;

/// An area of metadata between a member's first superblocks and its rows. All members have the same pages in it.
///
/// A new area is a variant here, its pages in [`super::Geometry::area`], its first content in `format::blank`, its number of pages in
/// the superblock; `recover` reads it, `rebuild` writes it to a member that joins, and `metadata` judges its pages. What a new volume
/// holds, whether areas overlap, how findings call a page, and which pages storms damage all follow from the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetadataArea {
    /// Which regions may be half written (`format::intent`).
    Intents,
    /// Which regions were written while a member was out (`format::intent`).
    WhileOut,
    /// Which stripes were ever written (`format::written`).
    WrittenMap,
}

impl MetadataArea {
    /// All areas, in the order in which they lie on a member.
    pub const ALL: [MetadataArea; 3] = [MetadataArea::Intents, MetadataArea::WhileOut, MetadataArea::WrittenMap];

    /// The area as one word, for findings.
    pub const fn name(self) -> &'static str {
        match self {
            MetadataArea::Intents => "intents",
            MetadataArea::WhileOut => "while-out",
            MetadataArea::WrittenMap => "map",
        }
    }
}

/// The pages of an area on each member. The places of one page lie side by side; its generations use them in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AreaPages {
    /// Offset of the first page, in bytes.
    pub offset: u64,
    /// Pages (count).
    pub pages: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Places of each page: 1 if it is rewritten in place, otherwise 2.
    pub places: u64,
}

/// A place of a page on each member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PagePlace {
    /// The page's number in its area.
    pub page: u64,
    /// 0: the place of even generations; 1: of odd ones. Of an area with one place a page: 0.
    pub turn: u64,
    /// Its offset.
    pub offset: MemberOffset,
    /// Its length in bytes.
    pub len: usize,
}

impl AreaPages {
    /// All places of these pages, in the order in which they lie on a member.
    pub fn page_places(self, pages: Range<u64>) -> impl Iterator<Item = PagePlace> {
        pages.flat_map(move |page| {
            let place = move |turn| (turn, self.page_offset(page, turn));
            let len = self.page_bytes as usize;
            (0..self.places).map(place).map(move |(turn, offset)| PagePlace { page, turn, offset, len })
        })
    }

    /// Offset of this generation of a page.
    pub const fn page_offset(&self, page: u64, generation: u64) -> MemberOffset {
        MemberOffset(self.offset + (page * self.places + generation % self.places) * self.page_bytes)
    }

    /// Offset of the first byte behind the area.
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.pages.saturating_mul(self.places * self.page_bytes))
    }
}
