//! Alibaba's block traces of 2020: a month of a thousand cloud volumes in one file. Read only.
//!
//! `device_id,opcode,offset,length,timestamp`, no header: opcode `R` or `W`, offset and length in bytes, time in
//! microseconds since 1970, no responses. Li et al., *An In-Depth Analysis of Cloud Block Storage Workloads in
//! Large-Scale Production* (IISWC 2020); columns as in the readme of `alibaba/block-traces`.

use crate::columns::columns;
use crate::fields::number;
use crate::reader::{Reader, Stream};
use crate::record::{DeviceId, Record, RequestKind};
use crate::record_sink::Devices;
use crate::text::{TextFormat, TextLine, TextReader, are_records};
use scrubjay_core::units::{Bytes, Nanos};

/// The least time that the check of first lines accepts, in microseconds: September 2001. The traces are of 2020; the
/// last columns of other formats are smaller.
const LOOKS_FROM_MICROS: u64 = 1_000_000_000_000_000;

/// Whether the first lines are in this format.
pub fn looks_like(head: &[u8]) -> bool {
    are_records(Alibaba { micros_min: LOOKS_FROM_MICROS }, head)
}

/// A reader of the format.
pub fn open(source: Stream) -> Box<dyn Reader> {
    Box::new(TextReader::new(Alibaba { micros_min: 0 }, source))
}

/// The format's reader.
struct Alibaba {
    /// Requests before this time are malformed, in microseconds since 1970.
    micros_min: u64,
}

impl TextFormat for Alibaba {
    fn line(&mut self, line: &[u8], devices: &mut Devices) -> TextLine {
        if line.is_empty() || line.starts_with(b"device_id,") {
            return TextLine::Ignored;
        }
        match row(line, self.micros_min) {
            Ok((record, volume)) => match devices.id(volume) {
                Some(device) => TextLine::Record(Record { device, ..record }),
                None => TextLine::Malformed("more devices than can be told apart"),
            },
            Err(reason) => TextLine::Malformed(reason),
        }
    }
}

/// A record without its device, and the device's name.
fn row(line: &[u8], micros_min: u64) -> Result<(Record, &[u8]), &'static str> {
    let [volume, kind, offset, length, time] = columns(line).ok_or("not five columns")?;
    number(volume).ok_or("the device is no number")?;
    let kind = match kind {
        b"R" => RequestKind::Read,
        b"W" => RequestKind::Write,
        _ => return Err("the opcode is neither R nor W"),
    };
    let offset = number(offset).ok_or("the offset is no number")?;
    let length = number(length).ok_or("the length is no number")?;
    offset.checked_add(length).ok_or("the request ends beyond 16 EiB")?;
    let micros = number(time).filter(|&micros| micros >= micros_min).ok_or("the time is no number of microseconds")?;
    let arrival = Nanos(micros.checked_mul(1000).ok_or("the time is beyond 2554")?);
    let (offset, length) = (Bytes(offset), Bytes(length));
    Ok((Record { arrival, response: None, offset, length, device: DeviceId::default(), kind }, volume))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(text: &[u8], devices: &mut Devices) -> TextLine {
        Alibaba { micros_min: 0 }.line(text, devices)
    }

    #[test]
    fn a_row() {
        let mut devices = Devices::default();
        let record = Record {
            arrival: Nanos(1_577_808_000_000_046_000),
            response: None,
            offset: Bytes(1_234_567),
            length: Bytes(4096),
            device: DeviceId(0),
            kind: RequestKind::Write,
        };
        assert_eq!(line(b"419,W,1234567,4096,1577808000000046", &mut devices), TextLine::Record(record));
        assert_eq!(devices.names(), ["419"]);
        assert!(matches!(line(b"3,R,18446744073709551615,0,0", &mut devices), TextLine::Record(_)));
        assert_eq!(line(b"device_id,opcode,offset,length,timestamp", &mut devices), TextLine::Ignored);
    }

    #[test]
    fn malformed_rows_get_the_reason() {
        for (text, reason) in [
            ("3,W,0,4096", "not five columns"),
            ("3,W,0,4096,1577808000000046,", "not five columns"),
            ("sda,W,0,4096,1577808000000046", "the device is no number"),
            ("3,w,0,4096,1577808000000046", "the opcode is neither R nor W"),
            ("3,W,-1,4096,1577808000000046", "the offset is no number"),
            ("3,W,0,18446744073709551616,1577808000000046", "the length is no number"),
            ("3,W,18446744073709551615,1,1577808000000046", "the request ends beyond 16 EiB"),
            ("3,W,0,4096,1577808000.000046", "the time is no number of microseconds"),
            ("3,W,0,4096,18446744073709552", "the time is beyond 2554"),
        ] {
            assert_eq!(line(text.as_bytes(), &mut Devices::default()), TextLine::Malformed(reason), "{text}");
        }
    }

    #[test]
    fn rows_of_other_formats_are_not_recognised() {
        assert!(looks_like(b"3,W,1234567,4096,1577808000000046\n0,R,0,512,1577808000000047\n3,W,"));
        for other in [
            "",
            "0,303567,3584,w,0.000000\n",
            "1538323200,12910952,128,0,1063\n",
            "128166385295514663,hm,0,Write,9056014336,2048,2833\n",
            "1455592200.033279000,0.000385000,R,4,65536,4096\n",
            "3,W,1234567,4096,46\n",
            "3,W,1234567,4096,1577808000000046\nand a line of another kind\n",
        ] {
            assert!(!looks_like(other.as_bytes()), "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(
            text in prop::collection::vec(any::<u8>(), 0..80),
            row in "[0-9]{0,3},[RWx],[0-9]{0,21},[0-9]{0,21},[0-9]{0,21}",
        ) {
            line(&text, &mut Devices::default());
            line(row.as_bytes(), &mut Devices::default());
        }
    }
}
