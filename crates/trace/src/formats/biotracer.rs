//! BIOtracer's traces of a telephone (Nexus 5): eight numbers a line. Read only.
//!
//! ```text
//! lba sectors bytes flags arrival t2 t3 completion
//! 19136520 8 4096 1 1397498441.163527 1397498441.163612 1397498441.163744 1397498441.164851
//! ```
//!
//! Sectors of 512 bytes; flags: bit 0 is a write, bit 2 a synchronous request; times in seconds since 1970. Zhou et
//! al., *I/O Characteristics of Smartphone Applications and Their Implications for eMMC Design* (IISWC 2015); the
//! meaning of the columns is inferred from files. The first rows after a boot have times since that boot, and are
//! malformed here.

use crate::fields::{Numbered, SECONDS, number, sectors, time, words};
use crate::reader::{Reader, Stream};
use crate::record::{Record, RequestKind};
use crate::record_sink::Devices;
use crate::text::{TextFormat, TextLine, TextReader, are_records};
use scrubjay_core::units::{Nanos, SECTOR_BYTES};

/// The least time of a valid row: September 2001.
const TIME_MIN: Nanos = Nanos::from_secs(1_000_000_000);
/// The bit of the flags that marks a write.
const FLAG_WRITE: u64 = 1;

/// Whether the first lines are in this format.
pub(super) fn looks_like(head: &[u8]) -> bool {
    are_records(BioTracer::default(), head)
}

/// A reader of the format.
pub(super) fn open(source: Stream) -> Box<dyn Reader> {
    Box::new(TextReader::new(BioTracer::default(), source))
}

struct BioTracer {
    device: Numbered,
}

impl Default for BioTracer {
    fn default() -> BioTracer {
        BioTracer { device: Numbered::new("") }
    }
}

impl BioTracer {
    fn record(&mut self, line: &[u8], devices: &mut Devices) -> Result<Record, &'static str> {
        let mut words = words(line);
        let mut word = || words.next().unwrap_or_default();
        let [lba, count, bytes, flags] = [word(), word(), word(), word()].map(number);
        let [arrival, _, _, completion] = [word(), word(), word(), word()].map(|text| time(text, SECONDS));
        if words.next().is_some() {
            return Err("more than eight fields");
        }
        let (lba, count) = (lba.ok_or("the block is no number")?, count.ok_or("the count is no number")?);
        if bytes != count.checked_mul(SECTOR_BYTES) {
            return Err("the third field is not the second in bytes");
        }
        let flags = flags.ok_or("the flags are no number")?;
        let arrival = arrival.ok_or("the fifth field is no time")?;
        if arrival < TIME_MIN {
            return Err("the time is not since 1970, but since the boot");
        }
        let response = completion.ok_or("the eighth field is no time")?.since(arrival);
        let (offset, length) = sectors(lba, count).ok_or("the range is too large")?;
        let kind = if flags & FLAG_WRITE != 0 { RequestKind::Write } else { RequestKind::Read };
        let device = self.device.id(0, devices).ok_or("too many devices")?;
        Ok(Record { arrival, response: Some(response), offset, length, device, kind })
    }
}

impl TextFormat for BioTracer {
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

    const ROWS: &str = "19136520 8 4096 5 1397498441.163527 1397498441.163612 1397498441.163744 1397498441.164851\n\
                        10 16\t8192 4 1397498442.5 1397498442.6 1397498442.7 1397498442.75\n";

    #[test]
    fn a_row_has_eight_numbers() {
        let sink = read(open, ROWS).unwrap();
        let [first, second] = sink.records[..] else { panic!("two rows") };
        assert_eq!((first.arrival, first.response), (Nanos(1_397_498_441_163_527_000), Some(Nanos(1_324_000))));
        assert_eq!((first.offset, first.length), (Bytes(19_136_520 * 512), Bytes(4096)));
        assert_eq!((first.kind, second.kind), (RequestKind::Write, RequestKind::Read));
        assert_eq!((second.length, second.response), (Bytes(8192), Some(Nanos::from_millis(250))));
    }

    #[test]
    fn lines_that_do_not_fit_are_malformed() {
        for line in [
            "10 8 4096 1 1397498442 1 1",
            "10 8 4096 1 1397498442 1 1 1397498443 9",
            "10 8 4095 1 1397498442 1 1 1397498443",
            "10 8 4096 1 0.5 0.6 0.7 0.8",
            "x 8 4096 1 1397498442 1 1 1397498443",
            "10 8 4096 w 1397498442 1 1 1397498443",
            "36028797018963968 8 4096 1 1397498442 1 1 1397498443",
        ] {
            let line = BioTracer::default().line(line.as_bytes(), &mut Devices::default());
            assert!(matches!(line, TextLine::Malformed(_)), "{line:?}");
        }
    }

    #[test]
    fn rows_are_recognised_by_their_dates() {
        assert!(looks_like(ROWS.as_bytes()));
        assert!(!looks_like(b"10 8 4096 1 0.5 0.6 0.7 0.8\n"));
    }

    #[test]
    fn no_bytes_make_the_reader_panic() {
        assert_no_panic(open, looks_like, ROWS);
    }
}
