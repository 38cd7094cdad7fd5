//! Systor'17: six LUNs under virtual desktops, with responses. Read only.
//!
//! A header, then `Timestamp,Response,IOType,LUN,Offset,Size`: seconds since 1970 and of response, with nine decimals
//! (good to a microsecond), type `R` or `W`, offset and size in bytes. Rows are not in the order of arrival. Lee et
//! al., *Understanding Storage Traffic Characteristics on Enterprise Virtual Desktop Infrastructure* (SYSTOR 2017);
//! columns as in the traces' readme.

use crate::columns::columns;
use crate::fields::{number, strict_seconds};
use crate::reader::{Reader, Stream};
use crate::record::{DeviceId, Record, RequestKind};
use crate::record_sink::Devices;
use crate::text::{TextFormat, TextLine, TextReader, are_records};
use scrubjay_core::units::Bytes;

/// Whether the first lines are in this format.
pub fn looks_like(head: &[u8]) -> bool {
    are_records(Systor, head)
}

/// A reader of the format. The device of LUN 4 is named `LUN4`.
pub fn open(source: Stream) -> Box<dyn Reader> {
    Box::new(TextReader::new(Systor, source))
}

/// The format's reader.
struct Systor;

impl TextFormat for Systor {
    fn line(&mut self, line: &[u8], devices: &mut Devices) -> TextLine {
        if line.is_empty() || line.starts_with(b"Timestamp,") {
            return TextLine::Ignored;
        }
        match row(line) {
            Ok(Some((record, lun))) => match devices.id(&[b"LUN", lun].concat()) {
                Some(device) => TextLine::Record(Record { device, ..record }),
                None => TextLine::Malformed("more devices than can be told apart"),
            },
            Ok(None) => TextLine::Ignored,
            Err(reason) => TextLine::Malformed(reason),
        }
    }
}

/// A record without its device, and the LUN. `None`: its kind is unknown, because no response to it was traced.
fn row(line: &[u8]) -> Result<Option<(Record, &[u8])>, &'static str> {
    let [time, response, kind, lun, offset, size] = columns(line).ok_or("not six columns")?;
    let arrival = strict_seconds(time).ok_or("the time is no number of seconds")?;
    let response = match response {
        b"" => None,
        response => Some(strict_seconds(response).ok_or("the response is no number of seconds")?),
    };
    number(lun).ok_or("the LUN is no number")?;
    let offset = number(offset).ok_or("the offset is no number")?;
    let length = number(size).ok_or("the size is no number")?;
    offset.checked_add(length).ok_or("the request ends beyond 16 EiB")?;
    let kind = match kind {
        b"R" => RequestKind::Read,
        b"W" => RequestKind::Write,
        b"" => return Ok(None),
        _ => return Err("the type is neither R nor W"),
    };
    let (offset, length) = (Bytes(offset), Bytes(length));
    Ok(Some((Record { arrival, response, offset, length, device: DeviceId::default(), kind }, lun)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use scrubjay_core::units::Nanos;

    const HEADER: &str = "Timestamp,Response,IOType,LUN,Offset,Size\n";

    fn line(text: &[u8], devices: &mut Devices) -> TextLine {
        Systor.line(text, devices)
    }

    #[test]
    fn rows() {
        let mut devices = Devices::default();
        let record = Record {
            arrival: Nanos(1_455_592_200_033_279_001),
            response: Some(Nanos(385_000)),
            offset: Bytes(100_003_840),
            length: Bytes(4096),
            device: DeviceId(0),
            kind: RequestKind::Read,
        };
        let read = line(b"1455592200.033279001,0.000385000,R,4,100003840,4096", &mut devices);
        assert_eq!((read, devices.name(DeviceId(0))), (TextLine::Record(record), "LUN4"));
        let lost = line(b"1455592200.033279001,,W,4,100003840,4096", &mut devices);
        assert_eq!(lost, TextLine::Record(Record { response: None, kind: RequestKind::Write, ..record }));
        assert_eq!(line(b"1455592200.033279001,,,4,100003840,4096", &mut devices), TextLine::Ignored);
        assert_eq!(line(HEADER.trim_end().as_bytes(), &mut devices), TextLine::Ignored);
    }

    #[test]
    fn malformed_rows_get_the_reason() {
        for (text, reason) in [
            ("1455592200.0,0.000385,R,4,0", "not six columns"),
            ("1455592200.0,0.000385,R,4,0,512,", "not six columns"),
            ("18446744073.709551616,0.000385,R,4,0,512", "the time is no number of seconds"),
            ("-1.0,0.000385,R,4,0,512", "the time is no number of seconds"),
            ("1455592200.0,-0.000385,R,4,0,512", "the response is no number of seconds"),
            ("1455592200.0,0.000385,X,4,0,512", "the type is neither R nor W"),
            ("1455592200.0,0.000385,R,,0,512", "the LUN is no number"),
            ("1455592200.0,0.000385,R,4,,512", "the offset is no number"),
            ("1455592200.0,0.000385,R,4,0,", "the size is no number"),
            ("1455592200.0,0.000385,R,4,18446744073709551615,1", "the request ends beyond 16 EiB"),
        ] {
            assert_eq!(line(text.as_bytes(), &mut Devices::default()), TextLine::Malformed(reason), "{text}");
        }
    }

    #[test]
    fn rows_of_other_formats_are_not_recognised() {
        let row = "1455592200.033279000,0.000385000,R,4,65536,4096\n1455592200.1,,,4,0,0\n";
        assert!(looks_like(row.as_bytes()));
        assert!(looks_like(format!("{HEADER}{row}14").as_bytes()));
        for other in [
            "",
            "0,303567,3584,w,0.000000\n",
            "0,303567,3584,W,0.000000,1\n",
            "3,W,1234567,4096,1577808000000046\n",
            "1538323200,12910952,128,0,1063\n",
            "128166385295514663,hm,0,Write,9056014336,2048,2833\n",
            HEADER,
        ] {
            assert!(!looks_like(other.as_bytes()), "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(
            text in prop::collection::vec(any::<u8>(), 0..80),
            row in "[0-9.]{0,21},[0-9.]{0,21},[RWx]?,[0-9]{0,2},[0-9]{0,21},[0-9]{0,21}",
        ) {
            line(&text, &mut Devices::default());
            line(row.as_bytes(), &mut Devices::default());
        }
    }
}
