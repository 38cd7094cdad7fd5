//! Event Tracing for Windows as text: Microsoft's production servers (MSPS), TPC-C, TPC-E and Exchange at SNIA.
//!
//! ```text
//! BeginHeader
//!   DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, ...
//! EndHeader
//!   DiskRead,  1000123,  store.exe (2332),  2784, 0xfffffa80, 0x0005d0a000, 0x00002000,  8011,  2, 0x060043, 7991, ...
//! ```
//!
//! Only `DiskRead` and `DiskWrite` events are kept. TimeStamp and ElapsedTime are in us since the trace began,
//! ByteOffset and IOSize in bytes, hexadecimal. Windows logs both events when the request is completed, so a request
//! arrived ElapsedTime before its TimeStamp. (The readme does not say so; ETW works that way. The UChicago replayer's
//! script takes TimeStamp for the arrival.)

use crate::fields::{MICROSECONDS, Numbered, hex, number, range, time};
use crate::reader::{Reader, Stream};
use crate::record::{Record, RequestKind};
use crate::record_sink::Devices;
use crate::text::{TextFormat, TextLine, TextReader, are_records};

/// The number of columns of both events; the last one, a file name, may contain commas.
const COLUMNS: usize = 15;

const HEADER_BEGIN: &[u8] = b"BeginHeader";
const HEADER_END: &[u8] = b"EndHeader";

/// Whether `head` begins with the header, or with rows.
pub(super) fn looks_like(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(HEADER_BEGIN) || are_records(Etw::new(), head)
}

/// A reader of the format.
pub(super) fn open(source: Stream) -> Box<dyn Reader> {
    Box::new(TextReader::new(Etw::new(), source))
}

struct Etw {
    is_in_header: bool,
    disks: Numbered,
}

impl Etw {
    fn new() -> Etw {
        Etw { is_in_header: false, disks: Numbered::new("disk") }
    }

    /// The record of a row of `kind`; `row` yields the columns after the event's name.
    fn record<'a>(
        &mut self,
        kind: RequestKind,
        mut row: impl Iterator<Item = &'a [u8]>,
        devices: &mut Devices,
    ) -> Result<Record, &'static str> {
        // `nth` counts from the column after the last one taken.
        let mut column = |skipped: usize| row.nth(skipped).unwrap_or_default();
        let logged = time(column(0), MICROSECONDS).ok_or("TimeStamp is no time")?;
        let offset = hex(column(3)).ok_or("ByteOffset is no hexadecimal number")?;
        let length = hex(column(0)).ok_or("IOSize is no hexadecimal number")?;
        let elapsed = time(column(0), MICROSECONDS).ok_or("ElapsedTime is no time")?;
        let disk = number(column(0)).ok_or("DiskNum is no number")?;
        let (offset, length) = range(offset, length).ok_or("the range is too large")?;
        let device = self.disks.id(disk, devices).ok_or("too many devices")?;
        // A request from before the trace began arrives at its beginning.
        Ok(Record { arrival: logged.since(elapsed), response: Some(elapsed), offset, length, device, kind })
    }
}

impl TextFormat for Etw {
    fn line(&mut self, line: &[u8], devices: &mut Devices) -> TextLine {
        let mut row = line.splitn(COLUMNS, |&byte| byte == b',').map(<[u8]>::trim_ascii);
        let kind = match row.next().unwrap_or_default() {
            HEADER_BEGIN => {
                self.is_in_header = true;
                return TextLine::Ignored;
            }
            HEADER_END => {
                self.is_in_header = false;
                return TextLine::Ignored;
            }
            b"DiskRead" if !self.is_in_header => RequestKind::Read,
            b"DiskWrite" if !self.is_in_header => RequestKind::Write,
            _ => return TextLine::Ignored,
        };
        self.record(kind, row, devices).map_or_else(TextLine::Malformed, TextLine::Record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_no_panic, read};
    use scrubjay_core::units::{Bytes, Nanos};

    const SAMPLE: &str = "BeginHeader\r
                DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,   IrpPtr, ByteOffset, IOSize\r
EndHeader\r
OS Version: 6.0.6001, Trace Start: 2008-02-21, Machine: any\r
            DiskReadInit,    1000100,   store.exe (2332),  2784, 0xfffffa80\r
                DiskRead,    1008111,   store.exe (2332),  2784, 0xfffffa80, 0x00005d0a000, 0x00002000,  8011,  2, 0x060043,  7991,  0,  0, 0x0, \"a,b\"\r
               DiskWrite,         10,   System (   4),       64, 0xfffffa81, 0x200, 0x1000,  11,  0, 0x060043,  11,  0,  0, 0x0, \"c\"\r
";

    #[test]
    fn disk_events_are_read() {
        let sink = read(open, SAMPLE).unwrap();
        assert_eq!((sink.understood, sink.malformed.count), (2, 0));
        assert_eq!(sink.devices.names(), ["disk2", "disk0"]);
        let [first, second] = sink.records[..] else { panic!("two events") };
        assert_eq!((first.arrival, first.response), (Nanos(1_000_100_000), Some(Nanos(8_011_000))));
        assert_eq!((first.offset, first.length, first.kind), (Bytes(0x5d0a000), Bytes(0x2000), RequestKind::Read));
        assert_eq!((second.arrival, second.response), (Nanos::ZERO, Some(Nanos(11_000))), "before the trace began");
        assert_eq!(second.kind, RequestKind::Write);
    }

    #[test]
    fn lines_that_do_not_fit_are_malformed() {
        for line in [
            "DiskRead, 1",
            "DiskRead, 1, p, 2, 0x0, 0xffffffffffffffff, 0x1, 1, 0, 0x0",
            "DiskRead, 1, p, 2, 0x0, 0x10000000000000000, 0x1, 1, 0, 0x0",
            "DiskRead, 18446744073709552, p, 2, 0x0, 0x0, 0x1, 1, 0, 0x0",
            "DiskWrite, 1, p, 2, 0x0, 0x0, 0x1, 1, -1, 0x0",
        ] {
            assert!(
                matches!(Etw::new().line(line.as_bytes(), &mut Devices::default()), TextLine::Malformed(_)),
                "{line}"
            );
        }
    }

    #[test]
    fn headers_and_events_without_one_are_recognised() {
        assert!(looks_like(SAMPLE.as_bytes()));
        assert!(looks_like(b"DiskRead, 1, p, 2, 0x0, 0x0, 0x1, 1, 0, 0x0\n"));
    }

    #[test]
    fn no_bytes_make_the_reader_panic() {
        assert_no_panic(open, looks_like, SAMPLE);
    }
}
