//! DiskSim's ASCII traces, and those of MQSim and SSDSim, which look alike.
//!
//! ```text
//! time dev block count flags        DiskSim: ms with decimals, 512-byte blocks, flags in hex, bit 0 = read
//! 0.125000 0 1000 8 1
//! time dev sector count type        MQSim, SSDSim: ns, 512-byte sectors, 1 = read, 0 = write
//! 48513000 0 15486 16 1
//! ```
//!
//! Sources: `iotrace_ascii_get_ioreq_event` in DiskSim 4.0's `disksim_iotrace.c`; `traces/README.md` of MQSim. Both
//! have only reads and writes. Lines of whole numbers with types 0 and 1 only are taken for MQSim's: DiskSim's times
//! have decimals whenever a program printed them.

use crate::fields::{MILLISECONDS, Numbered, hex, number, sectors, time, words};
use crate::reader::{Reader, Stream};
use crate::record::{Record, RequestKind};
use crate::record_sink::Devices;
use crate::text::{TextFormat, TextLine, TextReader, are_records};
use scrubjay_core::units::Nanos;

/// `DISKSIM_READ` in DiskSim's `disksim_global.h`.
const FLAG_READ: u64 = 1;

/// Whether the first lines are DiskSim's.
pub(super) fn looks_like_disksim(head: &[u8]) -> bool {
    are_records(disksim(), head) && !looks_like_mqsim(head)
}

/// Whether the first lines are MQSim's.
pub(super) fn looks_like_mqsim(head: &[u8]) -> bool {
    are_records(mqsim(), head)
}

/// A reader of DiskSim's format.
pub(super) fn open_disksim(source: Stream) -> Box<dyn Reader> {
    Box::new(TextReader::new(disksim(), source))
}

/// A reader of MQSim's format.
pub(super) fn open_mqsim(source: Stream) -> Box<dyn Reader> {
    Box::new(TextReader::new(mqsim(), source))
}

struct Simulator {
    time: fn(&[u8]) -> Option<Nanos>,
    kind: fn(&[u8]) -> Option<RequestKind>,
    devices: Numbered,
}

fn disksim() -> Simulator {
    let kind = |flags: &[u8]| Some(if hex(flags)? & FLAG_READ != 0 { RequestKind::Read } else { RequestKind::Write });
    Simulator { time: |text| time(text, MILLISECONDS), kind, devices: Numbered::new("") }
}

fn mqsim() -> Simulator {
    let kind = |kind: &[u8]| match kind {
        b"0" => Some(RequestKind::Write),
        b"1" => Some(RequestKind::Read),
        _ => None,
    };
    Simulator { time: |text| number(text).map(Nanos), kind, devices: Numbered::new("") }
}

impl Simulator {
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, &'static str> {
        let mut words = words(line);
        let mut word = || words.next().unwrap_or_default();
        let arrival = (self.time)(word()).ok_or("the first field is no time")?;
        let device = number(word()).ok_or("the device is no number")?;
        let block = number(word()).ok_or("the block is no number")?;
        let count = number(word()).ok_or("the count is no number")?;
        let kind = (self.kind)(word()).ok_or("the fifth field is neither read nor write")?;
        if words.next().is_some() {
            return Err("more than five fields");
        }
        let (offset, length) = sectors(block, count).ok_or("the range is too large")?;
        let device = self.devices.id(device, devices).ok_or("too many devices")?;
        Ok(Record { arrival, response: None, offset, length, device, kind })
    }
}

impl TextFormat for Simulator {
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
    use scrubjay_core::units::Bytes;

    const DISKSIM: &str = "0.125000 0 1000 8 1\n1.25\t12 2000 16 a\n   3 0 7 1 b\n";
    const MQSIM: &str = "48513000 0 15486 16 1\n58513001 3 8 8 0\n";

    #[test]
    fn disksim_counts_milliseconds() {
        let sink = read(open_disksim, DISKSIM).unwrap();
        assert_eq!(sink.devices.names(), ["0", "12"]);
        let [first, second, third] = sink.records[..] else { panic!("three rows") };
        assert_eq!((first.arrival, first.kind), (Nanos(125_000), RequestKind::Read));
        assert_eq!((first.offset, first.length), (Bytes(512_000), Bytes(4096)));
        assert_eq!((second.arrival, second.kind), (Nanos(1_250_000), RequestKind::Write));
        assert_eq!((third.arrival, third.kind, third.device), (Nanos::from_millis(3), RequestKind::Read, first.device));
    }

    #[test]
    fn mqsim_counts_nanoseconds() {
        let sink = read(open_mqsim, MQSIM).unwrap();
        assert_eq!(sink.devices.names(), ["0", "3"]);
        assert_eq!(sink.records.iter().map(|record| record.arrival.0).collect::<Vec<_>>(), [48_513_000, 58_513_001]);
        assert_eq!((sink.records[0].kind, sink.records[1].kind), (RequestKind::Read, RequestKind::Write));
    }

    #[test]
    fn lines_that_do_not_fit_are_malformed() {
        let is_malformed = |mut format: Simulator, line: &str| {
            matches!(format.line(line.as_bytes(), &mut Devices::default()), TextLine::Malformed(_))
        };
        for line in ["1.0 0 1 8", "1.0 0 1 8 1 9", "x 0 1 8 1", "1.0 0 36028797018963968 1 1", "18446744073710 0 1 8 1"]
        {
            assert!(is_malformed(disksim(), line), "{line}");
        }
        for line in ["1.0 0 1 8 1", "1 0 1 8 2", "18446744073709551616 0 1 8 1"] {
            assert!(is_malformed(mqsim(), line), "{line}");
        }
    }

    #[test]
    fn decimals_and_other_flags_are_of_disksim() {
        assert!(looks_like_disksim(DISKSIM.as_bytes()));
        assert!(looks_like_mqsim(MQSIM.as_bytes()));
        assert!(looks_like_disksim(b"1 0 1 8 1\n2.5 0 1 8 0\n"), "decimals anywhere");
        assert!(looks_like_disksim(b"1 0 1 8 1\n2 0 1 8 2\n"), "flags other than 0 and 1");
    }

    #[test]
    fn no_bytes_make_the_readers_panic() {
        assert_no_panic(open_disksim, looks_like_disksim, DISKSIM);
        assert_no_panic(open_mqsim, looks_like_mqsim, MQSIM);
    }
}
