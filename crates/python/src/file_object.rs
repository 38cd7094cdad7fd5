//! A Python file object as a source of bytes.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use scrubjay_trace::TraceSource;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// The number of bytes read at a time: each call must take Python's lock.
const BLOCK_BYTES: usize = 1 << 20;

/// An object with `read`, opened for bytes.
struct FileObject(Py<PyAny>);

/// The bytes of a file object, as a source.
///
/// # Errors
/// If it has no `read`.
pub fn source(object: &Bound<'_, PyAny>) -> PyResult<TraceSource> {
    object.getattr("read")?;
    let is_seekable = object.call_method0("seekable").and_then(|answer| answer.extract()).unwrap_or(false);
    let file = FileObject(object.clone().unbind());
    Ok(match is_seekable {
        true => TraceSource::File(Box::new(BufReader::with_capacity(BLOCK_BYTES, file))),
        false => TraceSource::Pipe(Box::new(BufReader::with_capacity(BLOCK_BYTES, file))),
    })
}

impl Read for FileObject {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let data = self.0.bind(py).call_method1("read", (buffer.len(),)).map_err(io::Error::other)?;
            let data = data.cast::<PyBytes>().map_err(|_| {
                io::Error::new(io::ErrorKind::InvalidInput, "its read() gives no bytes: open it with mode \"rb\"")
            })?;
            let data = data.as_bytes();
            let place = buffer.get_mut(..data.len()).ok_or_else(|| io::Error::other("its read() gives too much"))?;
            place.copy_from_slice(data);
            Ok(data.len())
        })
    }
}

impl Seek for FileObject {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (offset, whence) = match to {
            SeekFrom::Start(offset) => (offset as i64, 0),
            SeekFrom::Current(offset) => (offset, 1),
            SeekFrom::End(offset) => (offset, 2),
        };
        Python::attach(|py| {
            let at = self.0.bind(py).call_method1("seek", (offset, whence)).map_err(io::Error::other)?;
            at.extract().map_err(io::Error::other)
        })
    }
}
