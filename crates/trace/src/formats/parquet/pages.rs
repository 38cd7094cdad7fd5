//! Decompresses the pages of a column here and not in the `parquet` crate, to limit memory.
//!
//! The crate allocates as many bytes as a page claims to have, up to 2 GiB, before it checks whether they are there.

use super::source::{PAGE_BYTES_MAX, ParquetSource};
use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

/// The least size of a value in a dictionary, in bytes: a text's length. A number takes twice as much.
const VALUE_BYTES_MIN: u64 = 4;

/// The pages of one column of one row group.
pub(super) struct Pages {
    /// The pages as stored: the crate is told that they are not compressed.
    packed: SerializedPageReader<ParquetSource>,
    codec: Codec,
}

/// How pages are compressed.
enum Codec {
    Plain,
    Snappy,
    Zstd(zstd::bulk::Decompressor<'static>),
}

impl Pages {
    /// The pages of `column`, which has `rows` rows.
    ///
    /// # Errors
    /// If they are outside the file, or compressed with an unknown codec.
    pub(super) fn new(source: &Arc<ParquetSource>, column: &ColumnChunkMetaData, rows: usize) -> Result<Pages> {
        let codec = Codec::new(column.compression())?;
        let column = column.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
        Ok(Pages { packed: SerializedPageReader::new(source.clone(), &column, rows, None)?, codec })
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let Some(mut page) = self.packed.get_next_page()? else { return Ok(None) };
        match &mut page {
            Page::DictionaryPage { buf, num_values, .. } => {
                *buf = self.codec.unpacked(buf, 0)?;
                check_dictionary(*num_values, buf.len())?;
            }
            Page::DataPage { buf, .. } => *buf = self.codec.unpacked(buf, 0)?,
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, is_compressed, .. } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                let codec = if *is_compressed { &mut self.codec } else { &mut Codec::Plain };
                *buf = codec.unpacked(buf, usize::try_from(levels)?)?;
            }
        }
        Ok(Some(page))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.packed.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.packed.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.packed.at_record_boundary()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl Codec {
    fn new(compression: Compression) -> Result<Codec> {
        match compression {
            Compression::UNCOMPRESSED => Ok(Codec::Plain),
            Compression::SNAPPY => Ok(Codec::Snappy),
            Compression::ZSTD(_) => Ok(Codec::Zstd(zstd::bulk::Decompressor::new()?)),
            other => Err(ParquetError::NYI(format!("pages compressed with {other}; write them with ZSTD or SNAPPY"))),
        }
    }

    /// A page decompressed; its first `levels` bytes are not compressed.
    fn unpacked(&mut self, page: &Bytes, levels: usize) -> Result<Bytes> {
        let (levels, packed) = page.split_at_checked(levels).ok_or_else(|| bad("levels longer than their page"))?;
        // If there are no values, there may be no compressed data either.
        if packed.is_empty() {
            return Ok(page.clone());
        }
        let values = match self {
            Codec::Plain => return Ok(page.clone()),
            Codec::Snappy if snap::raw::decompress_len(packed).is_ok_and(|length| length > PAGE_BYTES_MAX) => {
                return Err(bad("a page of more than 16 MiB"));
            }
            Codec::Snappy => {
                snap::raw::Decoder::new().decompress_vec(packed).map_err(|error| bad(&error.to_string()))?
            }
            Codec::Zstd(decoder) => decoder
                .decompress(packed, PAGE_BYTES_MAX)
                .map_err(|error| bad(&format!("a page of more than 16 MiB, or no page: {error}")))?,
        };
        Ok(if levels.is_empty() { values.into() } else { [levels, &values].concat().into() })
    }
}

/// Checks the number of values that a dictionary claims, for which the crate allocates memory. Each value takes at
/// least 4 bytes.
fn check_dictionary(values: u32, bytes: usize) -> Result<()> {
    if u64::from(values) * VALUE_BYTES_MIN > bytes as u64 {
        return Err(bad(&format!("a dictionary of {values} values in {bytes} bytes")));
    }
    Ok(())
}

fn bad(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_unpacked_and_their_levels_are_not() {
        let text = b"the same, the same, the same, the same".to_vec();
        let zstd = zstd::bulk::compress(&text, 1).unwrap();
        let snappy = snap::raw::Encoder::new().compress_vec(&text).unwrap();
        let level = Default::default();
        for (compression, packed) in
            [(Compression::UNCOMPRESSED, text.clone()), (Compression::SNAPPY, snappy), (Compression::ZSTD(level), zstd)]
        {
            let mut codec = Codec::new(compression).unwrap();
            let page: Bytes = [b"lev".to_vec(), packed].concat().into();
            assert_eq!(codec.unpacked(&page, 3).unwrap(), [b"lev".to_vec(), text.clone()].concat());
            assert_eq!(codec.unpacked(&page.slice(..3), 3).unwrap(), &b"lev"[..]);
            assert_eq!(codec.unpacked(&page.slice(3..), 0).unwrap(), text);
            assert!(codec.unpacked(&page, page.len() + 1).is_err());
        }
        assert!(Codec::new(Compression::LZ4).is_err());
    }

    #[test]
    fn a_page_that_claims_to_be_huge_is_refused() {
        let zeros = vec![0; PAGE_BYTES_MAX + 1];
        let zstd = zstd::bulk::compress(&zeros, 1).unwrap();
        // Snappy's data begin with the length: here 1 GiB, followed by nothing.
        let snappy = vec![0x80, 0x80, 0x80, 0x80, 0x04, 0x00];
        for (compression, page) in [(Compression::SNAPPY, snappy), (Compression::ZSTD(Default::default()), zstd)] {
            let error = Codec::new(compression).unwrap().unpacked(&page.into(), 0).unwrap_err().to_string();
            assert!(error.contains("a page of more than 16 MiB"), "{error}");
        }
    }
}
