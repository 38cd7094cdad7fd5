//! Shared by the tests of the formats: reading a source to its end, corrupt bytes, and texts of other formats.

use crate::error::TraceError;
use crate::reader::{OutputStream, Reader, Stream, Writer};
use crate::record::Record;
use crate::record_sink::{Devices, RecordSink};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::fs;
use std::io::{self, Cursor, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Everything that `open` reads from these bytes.
pub(crate) fn read(open: fn(Stream) -> Box<dyn Reader>, bytes: impl Into<Vec<u8>>) -> Result<RecordSink, TraceError> {
    let mut reader = open(Box::new(Cursor::new(bytes.into())));
    let mut sink = RecordSink::default();
    while reader.read(&mut sink)? {}
    assert_eq!(sink.understood, sink.records.len() as u64);
    Ok(sink)
}

/// Everything that `writer` writes for these records.
pub(crate) fn written(writer: fn(OutputStream) -> Box<dyn Writer>, records: &[Record], devices: &Devices) -> String {
    let page = SharedBuffer::default();
    let mut writer = writer(Box::new(page.clone()));
    for records in records.chunks(3) {
        writer.write(records, devices).unwrap();
    }
    writer.finish().unwrap();
    String::from_utf8(page.0.lock().unwrap().clone()).unwrap()
}

#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Checks that nothing panics, neither on random bytes nor on `sample` with some bytes changed or its end missing.
pub(crate) fn assert_no_panic(open: fn(Stream) -> Box<dyn Reader>, looks_like: fn(&[u8]) -> bool, sample: &str) {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    let mutated = (changes, any::<prop::sample::Index>()).prop_map(|(changes, end)| {
        let mut bytes = sample.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - end.index(bytes.len()) / 8);
        bytes
    });
    // Digits and separators get further than random bytes.
    let texts = "[-0-9xRWQCFDrw., \t+\n]{0,200}".prop_map(String::into_bytes);
    let bytes = prop_oneof![prop::collection::vec(any::<u8>(), 0..400), texts, mutated];
    let config = Config { failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&bytes, |bytes| {
            looks_like(&bytes);
            // Errors are fine here, panics are not.
            let _ = read(open, bytes);
            Ok(())
        })
        .unwrap();
}

/// Texts that are no trace, or are in a format without a reader.
pub(crate) const FOREIGN_TEXTS: &[&str] = &[
    // A line of the traces of Florida International University: time, process, name, sector, size, kind, major, minor,
    // MD5.
    "89966011 4892 syslogd 904265560 8 W 6 0 531e779ca3c3a8bb\n",
    "It is a truth universally acknowledged\n",
    "",
    "\n\n\n",
];

/// Beginnings of traces of a format: the fuzzer's seeds, all files of `fuzz/seeds/NAME/`.
pub(crate) fn samples(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}
