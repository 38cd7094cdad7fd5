//! A file in the form in which the `parquet` crate reads it.

use super::shapes::{FOOTER, PAGE};
use super::thrift::struct_bytes;
use crate::reader::Seekable;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex};

/// The magic at the end of a file, after the length of its footer.
const MAGIC: &[u8] = b"PAR1";
/// The number of bytes of the footer's length and the magic.
const TAIL_BYTES: usize = 8;
/// The numbers of bytes in which a page's header is looked for, first and second try: nearly all fit the first. Others
/// are longer because of the least and the greatest text of their page.
const HEADER_BYTES: [usize; 2] = [512, 64 << 10];

/// The largest page accepted, in bytes, so that six columns, each with a dictionary and a page, stay below 200 MiB.
/// Writers make pages of about 1 MiB; some make one per row group, which may then have two million rows.
pub(super) const PAGE_BYTES_MAX: usize = 16 << 20;

/// A file that is read in parts, a column's pages at a time.
pub(super) struct ParquetSource {
    file: Arc<Mutex<Seekable>>,
    length: u64,
}

impl ParquetSource {
    /// The source of a whole file.
    pub(super) fn new(mut file: Seekable) -> io::Result<ParquetSource> {
        let length = file.seek(SeekFrom::End(0))?;
        Ok(ParquetSource { file: Arc::new(Mutex::new(file)), length })
    }

    /// The footer, which describes tables and columns.
    ///
    /// # Errors
    /// If there is no footer that can be decoded.
    pub(super) fn footer(&self) -> Result<Bytes> {
        let bad = |what: &str| Err(ParquetError::General(what.to_owned()));
        let Some(end) = self.length.checked_sub(TAIL_BYTES as u64) else {
            return bad("too short for a table");
        };
        let tail = self.get_bytes(end, TAIL_BYTES)?;
        let (length, magic) = tail.split_at(TAIL_BYTES - MAGIC.len());
        if magic != MAGIC {
            return bad("it does not end in PAR1, as every table does");
        }
        let length = u32::from_le_bytes(length.try_into().expect("four bytes"));
        let Some(start) = end.checked_sub(length.into()) else {
            return bad("its footer is longer than the file");
        };
        let footer = self.get_bytes(start, length as usize)?;
        match struct_bytes(&footer, FOOTER) {
            Some(length) => Ok(footer.slice(..length)),
            None => bad("its footer cannot be decoded"),
        }
    }
}

impl Length for ParquetSource {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for ParquetSource {
    type T = PageHeader;

    /// The header of the page that begins at `start`; the crate reads nothing else this way.
    fn get_read(&self, start: u64) -> Result<PageHeader> {
        Ok(PageHeader { file: self.file.clone(), at: start, bytes: None })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if length > PAGE_BYTES_MAX {
            return Err(ParquetError::General(format!("a page of {length} bytes: more than 16 MiB")));
        }
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} of a file of {} bytes", self.length)));
        }
        let mut bytes = Vec::with_capacity(length);
        FilePart { file: self.file.clone(), at: start }.take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(format!("the file ends at {}", start + bytes.len() as u64)));
        }
        Ok(bytes.into())
    }
}

/// The header of a page. It is read when its first byte is asked for, because sometimes none is.
pub(super) struct PageHeader {
    file: Arc<Mutex<Seekable>>,
    at: u64,
    bytes: Option<Cursor<Vec<u8>>>,
}

impl PageHeader {
    fn load(&self) -> io::Result<Cursor<Vec<u8>>> {
        for header_max in HEADER_BYTES {
            let mut bytes = Vec::with_capacity(header_max);
            FilePart { file: self.file.clone(), at: self.at }.take(header_max as u64).read_to_end(&mut bytes)?;
            if let Some(length) = struct_bytes(&bytes, PAGE) {
                bytes.truncate(length);
                return Ok(Cursor::new(bytes));
            }
        }
        Err(io::Error::new(ErrorKind::InvalidData, "no page begins here"))
    }
}

impl Read for PageHeader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = match &mut self.bytes {
            Some(bytes) => bytes,
            None => self.bytes.insert(self.load()?),
        };
        match bytes.read(buffer)? {
            // The crate treats zero bytes like any other number and would continue.
            0 if !buffer.is_empty() => Err(io::Error::new(ErrorKind::UnexpectedEof, "the header of a page ends early")),
            read => Ok(read),
        }
    }
}

/// A file from some offset on.
pub(super) struct FilePart {
    file: Arc<Mutex<Seekable>>,
    at: u64,
}

impl Read for FilePart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().expect("no reader panics");
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}
