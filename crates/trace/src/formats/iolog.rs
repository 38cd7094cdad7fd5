//! fio's iologs: versions 2 and 3 are read, version 3 is written (fio 3.31 and later replay it with its times).
//!
//! ```text
//! fio version 3 iolog                      fio version 2 iolog
//! 1 /dev/sda add                           /dev/sda add
//! 1 /dev/sda open                          /dev/sda open
//! 1 /dev/sda read 0 4096                   /dev/sda read 0 4096
//! 2500 /dev/sda write 8192 4096            /dev/sda wait 3 0
//! 2500 /dev/sda close                      /dev/sda write 8192 4096
//! ```
//!
//! Version 3 has times in us since the run began. Version 2 has no times except those of `wait`: fio's HOWTO says that
//! it waits that many us, but its `iolog.c` (`read_iolog_get`) waits until that many *ms* have passed since it began.
//! This reader follows fio's code: requests after `wait N` arrive N ms after the start, or with the previous requests
//! if those are later.
//!
//! Written times begin at 1 us: fio takes time stamp 0 for "none yet" (`delay_since_ttime`), and would not wait for the
//! next request.

use crate::fields::{number, range, words};
use crate::reader::{OutputStream, Reader, Stream, Writer};
use crate::record::{DeviceId, Record, RequestKind};
use crate::record_sink::Devices;
use crate::text::{TextFormat, TextLine, TextReader};
use crate::writing::{FormatWriter, Loss};
use scrubjay_core::units::{Bytes, Nanos};
use std::io::{self, Write};

const HEADER: &[u8] = b"fio version ";
const HEADER_2: &[u8] = b"fio version 2 iolog";
const HEADER_3: &[u8] = b"fio version 3 iolog";

/// The longest request written, in bytes; longer ones are split: fio reads lengths into 32 bits, and allocates a buffer
/// of the longest.
const LENGTH_MAX: u64 = 1 << 30;
/// The time of the first request, in us.
const START_MICROS: u64 = 1;

/// The writer of the format.
pub(super) const WRITER: FormatWriter = FormatWriter {
    begin: writer,
    endings: &["iolog", "log"],
    is_compressed: false,
    loses_in_words: "when the trace began; responses; times below 1 us; requests of no bytes but flushes; white space in names of devices; requests above 1 GiB become several",
    counted_losses: &[
        Loss {
            fate: "left out: without bytes, and no flush",
            is_left_out: true,
            concerns: |record| record.length.0 == 0 && record.kind != RequestKind::Flush,
        },
        Loss {
            fate: "without the response time that they had",
            is_left_out: false,
            concerns: |record| record.response.is_some(),
        },
        Loss {
            fate: "with a time rounded down to 1 us",
            is_left_out: false,
            concerns: |record| !record.arrival.0.is_multiple_of(1000),
        },
        Loss { fate: "above 1 GiB became several", is_left_out: false, concerns: |record| record.length.0 > 1 << 30 },
    ],
    keeps_name: |name| !name.is_empty() && !name.contains(char::is_whitespace),
};

/// Whether the first line is the header of a known version.
pub(super) fn looks_like(head: &[u8]) -> bool {
    version(head.split(|&byte| byte == b'\n').next().unwrap_or_default()).is_some()
}

/// A reader of both versions.
pub(super) fn open(source: Stream) -> Box<dyn Reader> {
    Box::new(TextReader::new(Iolog { version: None, waited: Nanos::ZERO }, source))
}

/// A writer of version 3.
pub(super) fn writer(sink: OutputStream) -> Box<dyn Writer> {
    Box::new(IologWriter { sink, first: None, micros: START_MICROS, opened: Vec::new() })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IologVersion {
    Two,
    Three,
}

fn version(line: &[u8]) -> Option<IologVersion> {
    match line.trim_ascii_end() {
        HEADER_2 => Some(IologVersion::Two),
        HEADER_3 => Some(IologVersion::Three),
        _ => None,
    }
}

struct Iolog {
    version: Option<IologVersion>,
    /// Version 2: the time of the latest `wait`.
    waited: Nanos,
}

impl Iolog {
    fn event(&mut self, line: &[u8], devices: &mut Devices) -> Result<TextLine, &'static str> {
        let mut words = words(line);
        let mut word = || words.next().unwrap_or_default();
        let arrival = match self.version.ok_or("the line of the version is missing")? {
            IologVersion::Two => self.waited,
            IologVersion::Three => Nanos(number(word()).and_then(|us| us.checked_mul(1_000)).ok_or("no time in us")?),
        };
        let (name, action) = (word(), word());
        let kind = match action {
            b"read" => RequestKind::Read,
            b"write" => RequestKind::Write,
            b"trim" => RequestKind::Discard,
            b"sync" | b"datasync" | b"sync_file_range" => RequestKind::Flush,
            b"wait" if self.version == Some(IologVersion::Two) => {
                let until = number(word()).and_then(|ms| ms.checked_mul(1_000_000)).ok_or("no time in ms")?;
                self.waited = self.waited.max(Nanos(until));
                return Ok(TextLine::Ignored);
            }
            // In version 3, fio ignores `wait` too.
            b"wait" | b"add" | b"open" | b"close" | b"unlink" => return Ok(TextLine::Ignored),
            _ => return Err("no action of an iolog"),
        };
        let offset = number(word()).ok_or("the offset is no number")?;
        let length = number(word()).ok_or("the length is no number")?;
        let (offset, length) = range(offset, length).ok_or("the range is too large")?;
        let device = devices.id(name).ok_or("too many devices")?;
        Ok(TextLine::Record(Record { arrival, response: None, offset, length, device, kind }))
    }
}

impl TextFormat for Iolog {
    fn line(&mut self, line: &[u8], devices: &mut Devices) -> TextLine {
        if line.starts_with(HEADER) {
            *self = Iolog { version: version(line), waited: Nanos::ZERO };
            return if self.version.is_some() { TextLine::Ignored } else { TextLine::Malformed("not version 2 or 3") };
        }
        if line.trim_ascii().is_empty() {
            return TextLine::Ignored;
        }
        self.event(line, devices).unwrap_or_else(TextLine::Malformed)
    }
}

struct IologWriter {
    sink: OutputStream,
    /// The arrival of the first record; `None`: nothing is written yet.
    first: Option<Nanos>,
    /// The time of the last line.
    micros: u64,
    /// The file names of the devices that have their `add` and `open`, by id.
    opened: Vec<Option<String>>,
}

impl IologWriter {
    fn record(&mut self, record: &Record, devices: &Devices) -> io::Result<()> {
        let action = match record.kind {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
            RequestKind::Discard => "trim",
            RequestKind::Flush => "sync",
        };
        if record.length == Bytes(0) && record.kind != RequestKind::Flush {
            return Ok(());
        }
        let first = self.begin(record.arrival)?;
        self.micros = self.micros.max(record.arrival.since(first).0 / 1_000 + START_MICROS);
        self.open(record.device, devices)?;
        let name = self.opened[record.device.0 as usize].as_deref().expect("it is open");
        let (mut offset, mut rest) = (record.offset.0, record.length.0);
        loop {
            let length = rest.min(LENGTH_MAX);
            writeln!(self.sink, "{} {name} {action} {offset} {length}", self.micros)?;
            rest -= length;
            if rest == 0 {
                return Ok(());
            }
            offset = offset.saturating_add(length);
        }
    }

    /// The arrival of the first record, which is this one if nothing is written yet.
    fn begin(&mut self, arrival: Nanos) -> io::Result<Nanos> {
        if self.first.is_none() {
            self.sink.write_all(HEADER_3)?;
            self.sink.write_all(b"\n")?;
        }
        Ok(*self.first.get_or_insert(arrival))
    }

    fn open(&mut self, device: DeviceId, devices: &Devices) -> io::Result<()> {
        let at = device.0 as usize;
        if self.opened.len() <= at {
            self.opened.resize(at + 1, None);
        }
        if self.opened[at].is_none() {
            let name = file_name(devices.name(device));
            writeln!(self.sink, "{0} {name} add\n{0} {name} open", self.micros)?;
            self.opened[at] = Some(name);
        }
        Ok(())
    }
}

impl Writer for IologWriter {
    fn write(&mut self, records: &[Record], devices: &Devices) -> io::Result<()> {
        records.iter().try_for_each(|record| self.record(record, devices))
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.begin(Nanos::ZERO)?;
        for name in self.opened.iter().flatten() {
            writeln!(self.sink, "{} {name} close", self.micros)?;
        }
        self.sink.flush()
    }
}

/// A device's name with white space, which would end a field, replaced; everything else is kept.
fn file_name(name: &str) -> String {
    if name.is_empty() { "_".into() } else { name.replace(char::is_whitespace, "_") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_no_panic, read, written};
    use proptest::prelude::*;

    const THREE: &str = "fio version 3 iolog\n1 /dev/sda add\n1 /dev/sda open\n1 /dev/sda read 0 4096\n\
        2500 /dev/sda write 8192 512\n2600 /dev/sda wait 7 0\n2700 b trim 5 6\n2800 b sync 0 0\n2800 /dev/sda close\n";
    const TWO: &str = "fio version 2 iolog\na add\na open\na read 0 4096\na wait 3 0\na write 8192 4096\na wait 2 0\n\
        a datasync 0 0\na close\n";

    fn arrivals(text: &str) -> Vec<u64> {
        read(open, text).unwrap().records.iter().map(|record| record.arrival.0).collect()
    }

    #[test]
    fn version_3_is_read() {
        let record_sink = read(open, THREE).unwrap();
        assert_eq!((record_sink.understood, record_sink.malformed.count), (4, 0));
        assert_eq!(record_sink.devices.names(), ["/dev/sda", "b"]);
        let kinds: Vec<_> = record_sink.records.iter().map(|record| record.kind).collect();
        assert_eq!(kinds, [RequestKind::Read, RequestKind::Write, RequestKind::Discard, RequestKind::Flush]);
        assert_eq!((record_sink.records[1].offset, record_sink.records[1].length), (Bytes(8192), Bytes(512)));
        assert_eq!(arrivals(THREE), [1_000, 2_500_000, 2_700_000, 2_800_000]);
    }

    #[test]
    fn version_2_has_the_times_of_its_waits() {
        assert_eq!(arrivals(TWO), [0, 3_000_000, 3_000_000]);
    }

    #[test]
    fn lines_that_do_not_fit_are_malformed() {
        for line in ["1 a read 0", "1 a sing 0 1", "x a read 0 1", "1 a read 18446744073709551615 1", "1"] {
            let mut format = Iolog { version: Some(IologVersion::Three), waited: Nanos::ZERO };
            assert!(matches!(format.line(line.as_bytes(), &mut Devices::default()), TextLine::Malformed(_)), "{line}");
        }
        assert!(read(open, "1 a read 0 1\n").is_err(), "no version");
        assert!(read(open, "fio version 4 iolog\n1 a read 0 1\n").is_err());
    }

    #[test]
    fn records_are_written_as_fio_reads_them() {
        let mut devices = Devices::default();
        let device = devices.id(b"disk 0").unwrap();
        let at = |micros: u64, kind, offset, length| Record {
            arrival: Nanos(5_000_000 + micros * 1_000),
            response: Some(Nanos(1)),
            offset: Bytes(offset),
            length: Bytes(length),
            device,
            kind,
        };
        let records = [
            at(0, RequestKind::Write, 512, 1024),
            at(7, RequestKind::Read, 0, 0),
            at(7, RequestKind::Flush, 0, 0),
            at(9, RequestKind::Discard, 4096, LENGTH_MAX + 512),
        ];
        assert_eq!(
            written(writer, &records, &devices),
            "fio version 3 iolog\n1 disk_0 add\n1 disk_0 open\n1 disk_0 write 512 1024\n8 disk_0 sync 0 0\n\
             10 disk_0 trim 4096 1073741824\n10 disk_0 trim 1073745920 512\n10 disk_0 close\n"
        );
        assert_eq!(written(writer, &[], &devices), "fio version 3 iolog\n");
    }

    #[test]
    fn a_trace_is_recognised_by_its_version() {
        assert!(looks_like(TWO.as_bytes()));
        assert!(looks_like(b"fio version 2 iolog\r\n"));
        assert!(!looks_like(b"fio version 20 iolog\n"));
    }

    #[test]
    fn no_bytes_make_the_reader_panic() {
        assert_no_panic(open, looks_like, THREE);
        assert_no_panic(open, looks_like, TWO);
    }

    fn records() -> impl Strategy<Value = Vec<Record>> {
        let kind = prop_oneof![
            Just(RequestKind::Read),
            Just(RequestKind::Write),
            Just(RequestKind::Discard),
            Just(RequestKind::Flush)
        ];
        let record = (0..5_000_000u64, 0..u64::MAX / 2, 1..=LENGTH_MAX, 0..3u32, kind);
        prop::collection::vec(record, 0..30).prop_map(|records| {
            let mut arrival = Nanos(1_000_000_000);
            let record = |(gap, offset, length, device, kind)| {
                arrival += Nanos(gap);
                let (offset, length, device) = (Bytes(offset), Bytes(length), DeviceId(device));
                Record { arrival, response: None, offset, length, device, kind }
            };
            records.into_iter().map(record).collect()
        })
    }

    proptest! {
        #[test]
        fn written_records_are_read_back(records in records()) {
            let mut devices = Devices::default();
            for name in ["8,0", "/dev/sdb", "disk2"] {
                devices.id(name.as_bytes()).unwrap();
            }
            let record_sink = read(open, written(writer, &records, &devices)).unwrap();
            prop_assert_eq!(record_sink.malformed.count, 0);
            prop_assert_eq!(record_sink.records.len(), records.len());
            for (read, record) in record_sink.records.iter().zip(&records) {
                let micros = record.arrival.since(records[0].arrival).0 / 1_000 + START_MICROS;
                let device = devices.find(record_sink.devices.name(read.device)).unwrap();
                prop_assert_eq!(Record { device, ..*read }, Record { arrival: Nanos(micros * 1_000), ..*record });
            }
        }
    }
}
