//! A page of bits: the form that the intents and the written map share.

use super::fields::{FieldReader, FieldWriter};
use super::geometry::PAGE_HEAD_BYTES;
use crate::buffer::Buffer;
use crate::volume::integrity::tag::NUMBER_END;
use scrubjay_code::{crc32c, crc32c_extend};
use std::fmt;

/// Offset of the checksum, which covers all bytes before and behind it.
const SUM_AT: usize = 8;

/// The head of a page: what precedes its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHead {
    /// The kind of page.
    pub magic: [u8; 8],
    /// The array: [`super::uuid::Uuid::id`] of its UUID.
    pub array: u64,
    /// Index of the page among those of its kind, from 0.
    pub index: u32,
    /// Version of the page; zero for intents.
    pub generation: u64,
    /// Of the written map, else zero: a lower bound for versions. In a stripe that the page calls unwritten, a row with a
    /// smaller version is the remains of a trim; any other is a first write that the map has not recorded yet.
    pub trim_horizon: u64,
}

/// Why a block is not the page that should be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageError {
    /// It does not begin like a page of this kind.
    Foreign,
    /// The checksum does not match.
    Damaged,
    /// It is a page of another array.
    Array,
    /// It is another page.
    Index,
    /// Its generation or trim horizon is higher than any volume gets ([`NUMBER_END`]).
    Number,
}

impl PageHead {
    /// Encodes a page: this head, and the bits that `fill` writes.
    pub fn encode(&self, page_bytes: u64, fill: impl FnOnce(&mut [u8])) -> Buffer {
        let mut page = Buffer::zeroed(page_bytes as usize);
        let mut to = FieldWriter::new(&mut page);
        to.bytes(&self.magic);
        to.u32(0); // the checksum, below
        to.u32(self.index);
        to.u64(self.array);
        to.u64(self.generation);
        to.u64(self.trim_horizon);
        fill(&mut page[PAGE_HEAD_BYTES as usize..]);
        let sum = checksum(&page);
        page[SUM_AT..SUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
        page
    }

    /// Decodes a page that should have this magic, array and index. Returns its generation, its [`PageHead::trim_horizon`] and its
    /// bits.
    pub fn decode<'a>(&self, page: &'a [u8]) -> Result<(u64, u64, &'a [u8]), PageError> {
        if page.len() <= PAGE_HEAD_BYTES as usize || !page.starts_with(&self.magic) {
            return Err(PageError::Foreign);
        }
        let (head, bits) = page.split_at(PAGE_HEAD_BYTES as usize);
        let mut from = FieldReader::new(&head[self.magic.len()..]);
        let (sum, index, array, generation, trim_horizon) =
            (from.u32(), from.u32(), from.u64(), from.u64(), from.u64());
        match () {
            () if sum != checksum(page) => Err(PageError::Damaged),
            () if array != self.array => Err(PageError::Array),
            () if index != self.index => Err(PageError::Index),
            () if generation.max(trim_horizon) >= NUMBER_END => Err(PageError::Number),
            () => Ok((generation, trim_horizon, bits)),
        }
    }
}

/// The CRC-32C of all bytes except the four that hold it.
fn checksum(page: &[u8]) -> u32 {
    crc32c_extend(crc32c(&page[..SUM_AT]), &page[SUM_AT + 4..])
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PageError::Foreign => "there is no page",
            PageError::Damaged => "the page is damaged",
            PageError::Array => "the page is another array's",
            PageError::Index => "another page lies there",
            PageError::Number => "no volume comes to such a number",
        })
    }
}

impl std::error::Error for PageError {}
