//! What the tests of the formats share: reading a source to its end, bad bytes, and other formats' text.

use crate::error::TraceError;
use crate::reader::{OutputStream, Reader, Stream, Writer};
use crate::record::Record;
use crate::record_sink::{Devices, RecordSink};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

/// All that `open` reads from these bytes.
pub(crate) fn read(open: fn(Stream) -> Box<dyn Reader>, bytes: impl Into<Vec<u8>>) -> Result<RecordSink, TraceError> {
    let mut reader = open(Box::new(Cursor::new(bytes.into())));
    let mut sink = RecordSink::default();
    while reader.read(&mut sink)? {}
    assert_eq!(sink.understood, sink.records.len() as u64);
    Ok(sink)
}

/// All that `writer` writes for these records.
pub(crate) fn written(writer: fn(OutputStream) -> Box<dyn Writer>, records: &[Record], devices: &Devices) -> String {
    let page = TrialPage::default();
    let mut writer = writer(Box::new(page.clone()));
    for records in records.chunks(3) {
        writer.write(records, devices).unwrap();
    }
    writer.finish().unwrap();
    String::from_utf8(page.0.lock().unwrap().clone()).unwrap()
}

#[derive(Clone, Default)]
struct TrialPage(Arc<Mutex<Vec<u8>>>);

impl Write for TrialPage {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Nothing panics: not on any bytes, and not on `sample` with some bytes changed or its end missing.
pub(crate) fn survives(open: fn(Stream) -> Box<dyn Reader>, looks_like: fn(&[u8]) -> bool, sample: &str) {
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
    // Digits and separators get further than bytes of any kind.
    let texts = "[-0-9xRWQCFDrw., \t+\n]{0,200}".prop_map(String::into_bytes);
    let bytes = prop_oneof![prop::collection::vec(any::<u8>(), 0..400), texts, mutated];
    let config = Config { failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&bytes, |bytes| {
            looks_like(&bytes);
            // An error is an answer.
            let _ = read(open, bytes);
            Ok(())
        })
        .unwrap();
}

/// Text of all formats here and elsewhere that are easily confused, by name.
pub(crate) const TEXTS: &[(&str, &str)] = &[
    ("spc", "0,303567,3584,w,0.000000\n0,303574,3584,w,0.026214\n"),
    ("msr", "128166372003061629,hm,0,Read,383496192,32768,413\n128166372016382155,hm,0,Write,2822144,4096,613\n"),
    ("alibaba", "3,W,1234567,4096,1577808000000046\n3,R,1234567,4096,1577808000000146\n"),
    ("tencent", "1538323200,12910952,128,0,1063\n1538323199,6338688,8,1,1627\n"),
    ("systor", "Timestamp,Response,IOType,LUN,Offset,Size\n1456099199.1,0.000385,W,0,139264,8192\n"),
    ("disksim", "0.000000 0 1000 8 1\n1.250000 1 2000 16 0\n"),
    ("mqsim", "48513000 0 15486 16 1\n58513000 0 15486 16 0\n"),
    ("etw", "BeginHeader\nDiskRead, TimeStamp\nEndHeader\n"),
    ("blkparse", "  8,0    1        1     0.000000000   100  Q   R 8 + 8 [fio]\n"),
    ("iolog", "fio version 3 iolog\n0 /dev/sda add\n1 /dev/sda read 0 4096\n"),
    ("fiu", "89966011 4892 syslogd 904265560 8 W 6 0 531e779ca3c3a8bb\n"),
    ("biotracer", "10 8 4096 1 1397498442.5 1397498442.6 1397498442.7 1397498442.8\n"),
    ("prose", "It is a truth universally acknowledged\n"),
    ("none", ""),
    ("lines", "\n\n\n"),
];

/// `name`'s judge takes its own text, and nobody else's.
pub(crate) fn foreign(name: &str, looks_like: fn(&[u8]) -> bool) {
    assert!(TEXTS.iter().any(|(other, _)| *other == name), "TEXTS has no text of {name}");
    for (other, text) in TEXTS {
        assert_eq!(looks_like(text.as_bytes()), *other == name, "{other}");
    }
}
