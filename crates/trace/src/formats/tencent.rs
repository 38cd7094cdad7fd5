//! Tencent's cloud block storage of 2018: ten days of some thousand volumes, with a clock of whole seconds. Read only.
//!
//! `Timestamp,Offset,Size,IOType,VolumeID`, no header: seconds since 1970, offset and size in sectors of 512 bytes,
//! type 0 (read) or 1 (write), no responses. (A copy that counts bytes is about, too: all its sizes are then multiples of 512
//! sectors, which raises doubt, and `--block 1` reads it right.) Zhang et al., *OSCA: An Online-Model Based Cache Allocation Scheme in
//! Cloud Block Storage Systems* (ATC 2020); columns as in the readme of SNIA IOTTA set 27917.

use crate::columns::columns;
use crate::fields::number;
use crate::reader::{Reader, Stream};
use crate::record::{DeviceId, Record, RequestKind};
use crate::record_sink::Devices;
use crate::text::{TextFormat, TextLine, TextReader, are_records};
use scrubjay_core::units::{Bytes, Nanos, SECTOR_BYTES};

/// The least time that the check of first lines accepts, in seconds: September 2001. Times have ten digits from then to
/// 2286.
const LOOKS_FROM_SECONDS: u64 = 1_000_000_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Whether the first lines are in this format.
pub fn looks_like(head: &[u8]) -> bool {
    are_records(Tencent { seconds_min: LOOKS_FROM_SECONDS }, head)
}

/// A reader of the format.
pub fn open(source: Stream) -> Box<dyn Reader> {
    Box::new(TextReader::new(Tencent { seconds_min: 0 }, source))
}

/// The format's reader.
struct Tencent {
    /// Requests before this time are malformed, in seconds since 1970.
    seconds_min: u64,
}

impl TextFormat for Tencent {
    fn line(&mut self, line: &[u8], devices: &mut Devices) -> TextLine {
        if line.is_empty() || line.starts_with(b"Timestamp,") {
            return TextLine::Ignored;
        }
        match row(line, self.seconds_min) {
            Ok((record, volume)) => match devices.id(volume) {
                Some(device) => TextLine::Record(Record { device, ..record }),
                None => TextLine::Malformed("more devices than can be told apart"),
            },
            Err(reason) => TextLine::Malformed(reason),
        }
    }
}

/// A record without its device, and the device's name.
fn row(line: &[u8], seconds_min: u64) -> Result<(Record, &[u8]), &'static str> {
    let [time, offset, size, kind, volume] = columns(line).ok_or("not five columns")?;
    let seconds = number(time).filter(|&seconds| seconds >= seconds_min).ok_or("the time is no number of seconds")?;
    let arrival = Nanos(seconds.checked_mul(NANOS_PER_SECOND).ok_or("the time is beyond 2554")?);
    let kind = match kind {
        b"0" => RequestKind::Read,
        b"1" => RequestKind::Write,
        _ => return Err("the type is neither 0 nor 1"),
    };
    number(volume).ok_or("the volume is no number")?;
    let offset = number(offset).ok_or("the offset is no number")?;
    let size = number(size).ok_or("the size is no number")?;
    let end = offset.checked_add(size).and_then(|end| end.checked_mul(SECTOR_BYTES));
    end.ok_or("the request ends beyond 16 EiB")?;
    let (offset, length) = (Bytes(offset * SECTOR_BYTES), Bytes(size * SECTOR_BYTES));
    Ok((Record { arrival, response: None, offset, length, device: DeviceId::default(), kind }, volume))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(text: &[u8], devices: &mut Devices) -> TextLine {
        Tencent { seconds_min: 0 }.line(text, devices)
    }

    #[test]
    fn a_row() {
        let mut devices = Devices::default();
        let record = Record {
            arrival: Nanos(1_538_323_200_000_000_000),
            response: None,
            offset: Bytes(12_910_952 * 512),
            length: Bytes(65_536),
            device: DeviceId(0),
            kind: RequestKind::Read,
        };
        assert_eq!(line(b"1538323200,12910952,128,0,1063", &mut devices), TextLine::Record(record));
        assert_eq!(devices.names(), ["1063"]);
        let write =
            Record { arrival: Nanos(0), offset: Bytes(0), length: Bytes(0), kind: RequestKind::Write, ..record };
        assert_eq!(line(b"0,0,0,1,1063", &mut devices), TextLine::Record(write));
        assert_eq!(line(b"Timestamp,Offset,Size,IOType,VolumeID", &mut devices), TextLine::Ignored);
    }

    #[test]
    fn malformed_rows_get_the_reason() {
        for (text, reason) in [
            ("1538323200,12910952,128,0", "not five columns"),
            ("1538323200,12910952,128,0,1063,1", "not five columns"),
            ("1538323200.5,12910952,128,0,1063", "the time is no number of seconds"),
            ("18446744074,12910952,128,0,1063", "the time is beyond 2554"),
            ("1538323200,12910952,128,2,1063", "the type is neither 0 nor 1"),
            ("1538323200,12910952,128,0,", "the volume is no number"),
            ("1538323200,x,128,0,1063", "the offset is no number"),
            ("1538323200,12910952,,0,1063", "the size is no number"),
            ("1538323200,36028797018963967,1,0,1063", "the request ends beyond 16 EiB"),
            ("1538323200,18446744073709551615,1,0,1063", "the request ends beyond 16 EiB"),
        ] {
            assert_eq!(line(text.as_bytes(), &mut Devices::default()), TextLine::Malformed(reason), "{text}");
        }
    }

    #[test]
    fn rows_of_other_formats_are_not_recognised() {
        assert!(looks_like(b"1538323200,12910952,128,0,1063\n1538323199,6338688,8,1,1360\r\n15383"));
        for other in [
            "",
            "0,303567,3584,w,0.000000\n",
            "3,W,1234567,4096,1577808000000046\n",
            "128166385295514663,hm,0,Write,9056014336,2048,2833\n",
            "1455592200.033279000,0.000385000,R,4,65536,4096\n",
            "12,0,303567,8,1\n",
        ] {
            assert!(!looks_like(other.as_bytes()), "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(
            text in prop::collection::vec(any::<u8>(), 0..80),
            row in "[0-9]{0,21},[0-9]{0,21},[0-9]{0,21},[012],[0-9]{0,5}",
        ) {
            line(&text, &mut Devices::default());
            line(row.as_bytes(), &mut Devices::default());
        }
    }
}
