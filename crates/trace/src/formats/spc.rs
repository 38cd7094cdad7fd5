//! The traces of the UMass repository (Financial, WebSearch): SPC Trace File Format Specification, revision 1.0.1.
//!
//! ```text
//! ASU,LBA,Size,Opcode,Timestamp[,optional...]
//! 0,303567,3584,w,0.000000
//! ```
//!
//! LBA counts blocks of the ASU, 512 bytes in all traces published; Size is in bytes, Timestamp in seconds since the
//! trace began. White space around a field is allowed. Each ASU (application storage unit) is an address space of its
//! own: a device here.

use crate::fields::{Numbered, SECONDS, number, range, time};
use crate::reader::{Reader, Stream};
use crate::record::{Record, RequestKind};
use crate::record_sink::Devices;
use crate::text::{TextFormat, TextLine, TextReader, are_records};
use scrubjay_core::units::SECTOR_BYTES;

/// Whether the first lines are in this format.
pub(super) fn looks_like(head: &[u8]) -> bool {
    are_records(Spc::new(), head)
}

/// A reader of the format.
pub(super) fn open(source: Stream) -> Box<dyn Reader> {
    Box::new(TextReader::new(Spc::new(), source))
}

struct Spc {
    asus: Numbered,
}

impl Spc {
    fn new() -> Spc {
        Spc { asus: Numbered::new("asu") }
    }

    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, &'static str> {
        let mut fields = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        let mut field = || fields.next().unwrap_or_default();
        let asu = number(field()).ok_or("the ASU is no number")?;
        let block = number(field()).ok_or("the LBA is no number")?;
        let size = number(field()).ok_or("the size is no number")?;
        let kind = match field() {
            b"r" | b"R" => RequestKind::Read,
            b"w" | b"W" => RequestKind::Write,
            _ => return Err("the opcode is neither r nor w"),
        };
        let arrival = time(field(), SECONDS).ok_or("the timestamp is no time")?;
        let offset = block.checked_mul(SECTOR_BYTES).ok_or("the LBA is too large")?;
        let (offset, length) = range(offset, size).ok_or("the range is too large")?;
        let device = self.asus.id(asu, devices).ok_or("too many devices")?;
        Ok(Record { arrival, response: None, offset, length, device, kind })
    }
}

impl TextFormat for Spc {
    fn line(&mut self, line: &[u8], devices: &mut Devices) -> TextLine {
        if line.trim_ascii().is_empty() {
            return TextLine::Ignored;
        }
        self.record(line, devices).map_or_else(TextLine::Malformed, TextLine::Record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_no_panic, read};
    use scrubjay_core::units::{Bytes, Nanos};

    const SAMPLE: &str = "0,303567,3584,w,0.000000\n1,55590,3072,r,0.26214\n 1 , 1 , 512 , R , 20.5 , more, of it\n";

    #[test]
    fn rows_are_read() {
        let sink = read(open, SAMPLE).unwrap();
        assert_eq!((sink.understood, sink.malformed.count), (3, 0));
        assert_eq!(sink.devices.names(), ["asu0", "asu1"]);
        let [first, second, third] = sink.records[..] else { panic!("three rows") };
        assert_eq!((first.offset, first.length, first.kind), (Bytes(303_567 * 512), Bytes(3584), RequestKind::Write));
        assert_eq!((second.arrival, second.response, second.kind), (Nanos(262_140_000), None, RequestKind::Read));
        assert_eq!((third.arrival, third.device), (Nanos(20_500_000_000), second.device));
    }

    #[test]
    fn lines_that_do_not_fit_are_malformed() {
        let wrong =
            ["0,1,2,x,0", "0,1,2,r", "0,1,2,r,-1", "-1,1,2,r,0", "0,36028797018963968,1,r,0", "0,1,2,r,18446744074"];
        for line in wrong {
            assert!(
                matches!(Spc::new().line(line.as_bytes(), &mut Devices::default()), TextLine::Malformed(_)),
                "{line}"
            );
        }
    }

    #[test]
    fn beginnings_are_recognised() {
        assert!(looks_like(SAMPLE.as_bytes()));
        assert!(looks_like(b"0,303567,3584,w,0.000000\n1,555"));
    }

    #[test]
    fn no_bytes_make_the_reader_panic() {
        assert_no_panic(open, looks_like, SAMPLE);
    }
}
