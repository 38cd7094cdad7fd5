//! Reads a column with few different texts, as numbers: each text is looked up once per dictionary, not once per row.

use super::hybrid::Hybrid;
use bytes::{Buf, Bytes};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result};

/// Stands for a missing text.
pub(super) const NULL: u32 = u32::MAX;

/// One column of one row group.
pub(super) struct Texts {
    pages: Box<dyn PageReader>,
    is_optional: bool,
    /// The numbers of the dictionary's texts.
    dictionary: Vec<u32>,
    page: Option<Body>,
    /// The number of rows of the page not yet read.
    rows_left: usize,
    levels: Vec<u32>,
    values: Vec<u32>,
}

/// The unread part of a page.
struct Body {
    /// The rows that have a text; `None`: all.
    levels: Option<Hybrid>,
    values: Values,
}

/// The texts of a page.
enum Values {
    /// Indices into the dictionary.
    Indices(Hybrid),
    /// The texts themselves, each after its length.
    Plain(Bytes),
}

impl Texts {
    /// The texts in `pages`.
    pub(super) fn new(pages: Box<dyn PageReader>, is_optional: bool) -> Texts {
        let (dictionary, levels, values) = (Vec::new(), Vec::new(), Vec::new());
        Texts { pages, is_optional, dictionary, page: None, rows_left: 0, levels, values }
    }

    /// Replaces the contents of `out` by the next `rows` rows: for each text the number that `number_of` returns, or
    /// [`NULL`].
    pub(super) fn read(
        &mut self,
        rows: usize,
        out: &mut Vec<u32>,
        mut number_of: impl FnMut(&[u8]) -> Result<u32>,
    ) -> Result<()> {
        out.clear();
        while out.len() < rows {
            if self.rows_left == 0 {
                self.next_page(&mut number_of)?;
                continue;
            }
            let count = self.rows_left.min(rows - out.len());
            self.part(count, out, &mut number_of)?;
            self.rows_left -= count;
        }
        Ok(())
    }

    /// Appends `count` rows of the current page to `out`.
    fn part(
        &mut self,
        count: usize,
        out: &mut Vec<u32>,
        number_of: &mut impl FnMut(&[u8]) -> Result<u32>,
    ) -> Result<()> {
        let Some(page) = &mut self.page else { return Err(short()) };
        self.levels.clear();
        let mut present = count;
        if let Some(levels) = &mut page.levels {
            levels.read(count, &mut self.levels).ok_or_else(short)?;
            present = self.levels.iter().filter(|&&level| level == 1).count();
        }
        let first = out.len();
        match &mut page.values {
            Values::Indices(indices) => {
                self.values.clear();
                indices.read(present, &mut self.values).ok_or_else(short)?;
                let dictionary = &self.dictionary[..];
                let mut is_known = true;
                out.extend(self.values.iter().map(|&index| {
                    let number = dictionary.get(index as usize).copied();
                    is_known &= number.is_some();
                    number.unwrap_or(NULL)
                }));
                if !is_known {
                    return Err(bad("an index beyond the dictionary"));
                }
            }
            Values::Plain(data) => {
                for _ in 0..present {
                    out.push(number_of(&plain(data)?)?);
                }
            }
        }
        if present < count {
            spread(out, first, &self.levels);
        }
        Ok(())
    }

    /// Reads the next page.
    fn next_page(&mut self, number_of: &mut impl FnMut(&[u8]) -> Result<u32>) -> Result<()> {
        match self.pages.get_next_page()?.ok_or_else(short)? {
            Page::DictionaryPage { mut buf, num_values, .. } => {
                self.dictionary.clear();
                for _ in 0..num_values {
                    self.dictionary.push(number_of(&plain(&mut buf)?)?);
                }
            }
            Page::DataPage { mut buf, num_values, encoding, def_level_encoding, .. } => {
                let mut levels = None;
                if self.is_optional {
                    if def_level_encoding != Encoding::RLE {
                        return Err(bad("levels in an encoding of the past"));
                    }
                    levels = Hybrid::new(plain(&mut buf)?, 1);
                }
                self.begin(num_values, levels, buf, encoding)?;
            }
            Page::DataPageV2 { mut buf, num_values, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let bytes = def_levels_byte_len as usize;
                if buf.len() < bytes || rep_levels_byte_len != 0 {
                    return Err(bad("levels longer than their page"));
                }
                let levels = buf.split_to(bytes);
                let levels = if self.is_optional { Hybrid::new(levels, 1) } else { None };
                self.begin(num_values, levels, buf, encoding)?;
            }
        }
        Ok(())
    }

    /// Starts a page of `rows` rows whose values are in `data`.
    fn begin(&mut self, rows: u32, levels: Option<Hybrid>, mut data: Bytes, encoding: Encoding) -> Result<()> {
        let values = match encoding {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                // A page with only nulls may have no data at all.
                let width = data.try_get_u8().unwrap_or(0);
                Values::Indices(Hybrid::new(data, width).ok_or_else(|| bad("indices of more than 32 bits"))?)
            }
            Encoding::PLAIN => Values::Plain(data),
            other => return Err(ParquetError::NYI(format!("texts in encoding {other}; write them with a dictionary"))),
        };
        self.page = Some(Body { levels, values });
        self.rows_left = rows as usize;
        Ok(())
    }
}

/// Moves the values from `first` on to the rows that have one, by their levels; the others become [`NULL`].
fn spread(out: &mut Vec<u32>, first: usize, levels: &[u32]) {
    let mut value = out.len();
    out.resize(first + levels.len(), NULL);
    for row in (0..levels.len()).rev() {
        out[first + row] = if levels[row] == 1 {
            value -= 1;
            out[value]
        } else {
            NULL
        };
    }
}

/// Takes a text, or other bytes, stored after its length of four bytes.
fn plain(data: &mut Bytes) -> Result<Bytes> {
    let length = data.try_get_u32_le().map_err(|_| short())? as usize;
    if data.len() < length {
        return Err(short());
    }
    Ok(data.split_to(length))
}

fn short() -> ParquetError {
    bad("texts end early")
}

fn bad(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}
