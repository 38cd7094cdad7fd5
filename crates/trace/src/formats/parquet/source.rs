//! A file as the `parquet` crate wants to read it.

use crate::reader::Seekable;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex};

/// A page's header is read in steps of this many bytes; most fit into one.
const HEADER_BYTES: usize = 512;

/// Larger pages are refused, so that six columns, each with a dictionary and a page, stay below 200 MiB. Writers make pages
/// of about 1 MiB; some, one of each row group, which may then have two million rows.
pub(super) const PAGE_BYTES_MAX: usize = 16 << 20;

/// A file read in parts, a column's pages at a time.
pub(super) struct Source {
    file: Arc<Mutex<Seekable>>,
    length: u64,
}

impl Source {
    /// All of a file.
    pub(super) fn new(mut file: Seekable) -> io::Result<Source> {
        let length = file.seek(SeekFrom::End(0))?;
        Ok(Source { file: Arc::new(Mutex::new(file)), length })
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Source {
    type T = BufReader<Part>;

    fn get_read(&self, start: u64) -> Result<BufReader<Part>> {
        Ok(BufReader::with_capacity(HEADER_BYTES, Part { file: self.file.clone(), at: start }))
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
        Part { file: self.file.clone(), at: start }.take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() < length {
            return Err(ParquetError::EOF(format!("the file ends at {}", start + bytes.len() as u64)));
        }
        Ok(bytes.into())
    }
}

/// A file from some place on.
pub(super) struct Part {
    file: Arc<Mutex<Seekable>>,
    at: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().expect("no reader panics");
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}
