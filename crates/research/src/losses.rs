//! Data of a trace that its new format cannot hold: counted while the trace is written, reported at the end.

use scrubjay_core::quantity::show_count;
use scrubjay_trace::formats::{Format, FormatWriter, Loss};
use scrubjay_trace::{Devices, Record};

/// Counts the data that are lost.
pub struct Losses {
    format: &'static str,
    writer: FormatWriter,
    counts: Vec<(&'static Loss, u64)>,
    records: u64,
    /// By device: does a record belong to it?
    is_used: Vec<bool>,
}

impl Losses {
    /// The counts of a new file, in a format that can be written.
    pub fn new(format: &Format) -> Losses {
        let writer = format.writer.expect("it is being written");
        let counts = writer.counted_losses.iter().map(|loss| (loss, 0)).collect();
        Losses { format: format.name, writer, counts, records: 0, is_used: Vec::new() }
    }

    /// Counts records that are written.
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

    /// How many records were passed to the writer.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// How many of these records the file does not hold.
    pub fn left_out(&self) -> u64 {
        self.counts.iter().filter(|(loss, _)| loss.is_left_out).map(|(_, count)| count).sum()
    }

    /// One line for each thing that was lost.
    pub fn lines(&self, devices: &Devices) -> Vec<String> {
        let counted = self.counts.iter().filter(|(_, count)| *count > 0);
        let mut lines: Vec<String> =
            counted.map(|(loss, count)| format!("{}: {} {}", self.format, records(*count), loss.fate)).collect();
        let names = devices
            .names()
            .iter()
            .zip(&self.is_used)
            .filter(|(name, is_used)| **is_used && !(self.writer.keeps_name)(name))
            .count();
        if names > 0 {
            lines.push(format!("{}: devices that get another name: {}", self.format, show_count(names as u64)));
        }
        lines
    }
}

/// A count of records in words: `1 record`, `2,000 records`.
fn records(count: u64) -> String {
    format!("{} {}", show_count(count), if count == 1 { "record" } else { "records" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::units::{Bytes, Nanos};
    use scrubjay_trace::formats::{FORMATS, by_name};
    use scrubjay_trace::{DeviceId, RequestKind};

    #[test]
    fn every_format_that_loses_has_its_rows() {
        for (name, writer) in FORMATS.iter().filter_map(|format| Some((format.name, format.writer?))) {
            assert_eq!(writer.counted_losses.is_empty(), writer.loses_in_words.is_empty(), "{name}");
        }
    }

    #[test]
    fn data_that_a_format_cannot_hold_are_counted() {
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
