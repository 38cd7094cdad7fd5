//! What of a trace its new format cannot hold: counted while it is written, said at the end.

use scrubjay_core::units::SECTOR_BYTES;
use scrubjay_jobs::quantity::show_count;
use scrubjay_trace::formats::Format;
use scrubjay_trace::{Devices, Record, RequestKind};

/// Something that a format cannot hold.
struct Loss {
    format: &'static str,
    /// What becomes of it, after "N records".
    fate: &'static str,
    /// Is the whole record left out?
    is_left_out: bool,
    /// Does it concern this record?
    concerns: fn(&Record) -> bool,
}

/// All that can be told of a single record. What the writers do is told in the head of each format's file.
const LOSSES: &[Loss] = &[
    Loss { format: "msr", fate: "left out: discards and flushes", is_left_out: true, concerns: is_no_transfer },
    Loss {
        format: "msr",
        fate: "with a time rounded down to 100 ns",
        is_left_out: false,
        concerns: |record| is_finer(record, 100),
    },
    Loss {
        format: "msr",
        fate: "without a response time, which reads as 0",
        is_left_out: false,
        concerns: |record| record.response.is_none(),
    },
    Loss {
        format: "iolog",
        fate: "left out: without bytes, and no flush",
        is_left_out: true,
        concerns: |record| record.length.0 == 0 && record.kind != RequestKind::Flush,
    },
    Loss {
        format: "iolog",
        fate: "without the response time that they had",
        is_left_out: false,
        concerns: |record| record.response.is_some(),
    },
    Loss {
        format: "iolog",
        fate: "with a time rounded down to 1 us",
        is_left_out: false,
        concerns: |record| !record.arrival.0.is_multiple_of(1000),
    },
    Loss {
        format: "iolog",
        fate: "above 1 GiB became several",
        is_left_out: false,
        concerns: |record| record.length.0 > 1 << 30,
    },
    Loss {
        format: "blkparse",
        fate: "made whole 512-byte sectors",
        is_left_out: false,
        concerns: |record| {
            record.kind != RequestKind::Flush && !(record.offset.0 | record.length.0).is_multiple_of(SECTOR_BYTES)
        },
    },
    Loss {
        format: "blkparse",
        fate: "of flushes without their range",
        is_left_out: false,
        concerns: |record| record.kind == RequestKind::Flush && record.offset.0 | record.length.0 != 0,
    },
];

fn is_no_transfer(record: &Record) -> bool {
    !matches!(record.kind, RequestKind::Read | RequestKind::Write)
}

/// Is one of its times finer than that?
fn is_finer(record: &Record, nanos: u64) -> bool {
    !(record.arrival.0.is_multiple_of(nanos) && record.response.is_none_or(|response| response.0.is_multiple_of(nanos)))
}

/// Counts what is lost.
pub struct Losses {
    format: &'static Format,
    counts: Vec<(&'static Loss, u64)>,
    records: u64,
    /// By device: was there a record of it?
    is_used: Vec<bool>,
}

impl Losses {
    /// Nothing yet.
    pub fn new(format: &'static Format) -> Losses {
        let counts = LOSSES.iter().filter(|loss| loss.format == format.name).map(|loss| (loss, 0)).collect();
        Losses { format, counts, records: 0, is_used: Vec::new() }
    }

    /// These are written.
    pub fn add(&mut self, records: &[Record]) {
        self.records += records.len() as u64;
        for record in records {
            let index = record.device.0 as usize;
            if index >= self.is_used.len() {
                self.is_used.resize(index + 1, false);
            }
            self.is_used[index] = true;
        }
        for (loss, count) in &mut self.counts {
            *count += records.iter().filter(|record| (loss.concerns)(record)).count() as u64;
        }
    }

    /// How many records were given to the writer.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// How many of them the file does not hold.
    pub fn left_out(&self) -> u64 {
        self.counts.iter().filter(|(loss, _)| loss.is_left_out).map(|(_, count)| count).sum()
    }

    /// One line for each thing that was lost.
    pub fn lines(&self, devices: &Devices) -> Vec<String> {
        let counted = self.counts.iter().filter(|(_, count)| *count > 0);
        let mut lines: Vec<String> =
            counted.map(|(loss, count)| format!("{}: {} {}", loss.format, records(*count), loss.fate)).collect();
        let names = devices
            .names()
            .iter()
            .zip(&self.is_used)
            .filter(|(name, is_used)| **is_used && !can_name(self.format, name))
            .count();
        if names > 0 {
            lines.push(format!("{}: devices that get another name: {}", self.format.name, show_count(names as u64)));
        }
        lines
    }
}

/// `1 record`, `2,000 records`.
fn records(count: u64) -> String {
    format!("{} {}", show_count(count), if count == 1 { "record" } else { "records" })
}

/// Does a device keep its name?
fn can_name(format: &Format, name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match format.name {
        "msr" => {
            name.rsplit_once('_').is_some_and(|(host, disk)| !host.is_empty() && is_number(disk)) && !name.contains(',')
        }
        "iolog" => !name.is_empty() && !name.contains(char::is_whitespace),
        "blkparse" => name.split_once(',').is_some_and(|(major, minor)| is_number(major) && is_number(minor)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::units::{Bytes, Nanos};
    use scrubjay_trace::DeviceId;
    use scrubjay_trace::formats::{FORMATS, by_name};

    #[test]
    fn every_format_that_loses_has_its_rows() {
        for format in FORMATS.iter().filter(|format| format.writer.is_some()) {
            let rows = LOSSES.iter().filter(|loss| loss.format == format.name).count();
            assert_eq!(rows > 0, !format.loses.is_empty(), "{}", format.name);
        }
        assert!(LOSSES.iter().all(|loss| by_name(loss.format).is_some_and(|format| format.writer.is_some())));
    }

    #[test]
    fn what_is_lost_is_counted() {
        let record = |arrival, response: Option<u64>, length, kind| Record {
            arrival: Nanos(arrival),
            response: response.map(Nanos),
            offset: Bytes(0),
            length: Bytes(length),
            device: DeviceId(0),
            kind,
        };
        let mut devices = Devices::default();
        devices.id(b"hm_1");
        let records = [
            record(0, Some(100), 4096, RequestKind::Read),
            record(150, Some(100), 4000, RequestKind::Write),
            record(200, None, 0, RequestKind::Flush),
        ];
        let lost = |name| {
            let mut losses = Losses::new(by_name(name).expect("a format"));
            losses.add(&records);
            (losses.left_out(), losses.lines(&devices).len())
        };
        assert_eq!(lost("parquet"), (0, 0));
        assert_eq!(lost("msr"), (1, 3));
        assert_eq!(lost("iolog"), (0, 2));
        assert_eq!(lost("blkparse"), (0, 2));
    }
}
