//! The sink that a reader fills: records, device names, and the account of malformed records.

use crate::error::{SourcePlace, TraceError};
use crate::record::{DeviceId, Record};
use std::collections::HashMap;

/// The maximum number of devices: a day of a large cloud's block store has some thousands.
const DEVICES_MAX: usize = 1 << 16;
/// The number of malformed records kept as examples.
const EXAMPLES_MAX: usize = 5;
/// The maximum length of an example, in bytes.
const EXCERPT_MAX: usize = 80;
/// A trace is refused if more than one in this many records is malformed.
const MALFORMED_OF: u64 = 100;
/// Traces are judged from this many records on, or at the end.
const JUDGED_FROM: u64 = 10_000;

/// Names of devices by id.
#[derive(Clone, Debug, Default)]
pub struct Devices {
    names: Vec<String>,
    ids: HashMap<Vec<u8>, DeviceId>,
}

impl Devices {
    /// The id of a name, a new one if the name is new; `None`: there would be more than 65,536 devices.
    ///
    /// A reader of millions of rows per second should cache the last name and id in front of this table.
    pub fn id(&mut self, name: &[u8]) -> Option<DeviceId> {
        if let Some(&id) = self.ids.get(name) {
            return Some(id);
        }
        if self.names.len() == DEVICES_MAX {
            return None;
        }
        let id = DeviceId(self.names.len() as u32);
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.ids.insert(name.to_vec(), id);
        Some(id)
    }

    /// The id of a known name; `None`: the name is not known.
    pub fn find(&self, name: &str) -> Option<DeviceId> {
        self.ids.get(name.as_bytes()).copied()
    }

    /// The name of an id.
    pub fn name(&self, id: DeviceId) -> &str {
        self.names.get(id.0 as usize).map_or("?", String::as_str)
    }

    /// All names, in the order of their ids.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// One record that could not be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The place of the record.
    pub place: SourcePlace,
    /// What is wrong with it.
    pub reason: &'static str,
    /// Its beginning, with control characters replaced.
    pub excerpt: String,
}

/// The records that could not be understood.
#[derive(Clone, Debug, Default)]
pub struct Malformed {
    /// The number of malformed records.
    pub count: u64,
    /// The first five of them.
    pub examples: Vec<Example>,
}

/// By what events the requests of a trace arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArrivalSource {
    /// They were queued; also where a format has no events.
    #[default]
    Queued,
    /// They were issued to the driver: the time in the kernel's scheduler is missing.
    Issued,
    /// There are completions only.
    Missing,
}

/// The output of a reader.
#[derive(Clone, Debug, Default)]
pub struct RecordSink {
    /// Records in the order of the source. The caller of the reader takes them out.
    pub records: Vec<Record>,
    /// The devices that the records name.
    pub devices: Devices,
    /// The records that could not be understood.
    pub malformed: Malformed,
    /// The number of records understood so far, including those taken out.
    pub understood: u64,
    /// By what the requests arrived; known at the end.
    pub arrivals: ArrivalSource,
}

impl RecordSink {
    /// Counts a record that could not be understood.
    pub fn malformed(&mut self, place: SourcePlace, reason: &'static str, raw: &[u8]) {
        self.malformed.count += 1;
        if self.malformed.examples.len() < EXAMPLES_MAX {
            let raw = &raw[..raw.len().min(EXCERPT_MAX)];
            let excerpt = String::from_utf8_lossy(raw).chars().map(|c| if c.is_control() { '.' } else { c }).collect();
            self.malformed.examples.push(Example { place, reason, excerpt });
        }
    }

    /// Whether the source can be in its supposed format. Called after every batch, and once with `at_end` at the end.
    ///
    /// # Errors
    /// If more than one record in a hundred could not be understood, or there are completions of requests and nothing else.
    pub fn check_share_malformed(&self, at_end: bool) -> Result<(), TraceError> {
        if at_end && self.arrivals == ArrivalSource::Missing {
            return Err(TraceError::CompletionsOnly);
        }
        let (malformed, rows) = (self.malformed.count, self.understood + self.malformed.count);
        if malformed * MALFORMED_OF <= rows || (!at_end && rows < JUDGED_FROM) {
            return Ok(());
        }
        let first = &self.malformed.examples[0];
        let (place, reason, excerpt) = (first.place, first.reason, first.excerpt.clone());
        Err(TraceError::Malformed { malformed, rows, place, reason, excerpt })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_is_tolerated() {
        let mut sink = RecordSink { understood: 99, ..RecordSink::default() };
        sink.malformed(SourcePlace::Line(7), "no time", b"a\tb");
        assert!(sink.check_share_malformed(true).is_ok());
        sink.malformed(SourcePlace::Line(8), "no time", b"c");
        assert!(sink.check_share_malformed(false).is_ok(), "not enough seen");
        let error = sink.check_share_malformed(true).unwrap_err();
        assert_eq!(error.to_string(), "2 of 101 records cannot be understood; the first at line 7: no time: a.b");
    }

    #[test]
    fn devices_keep_their_ids() {
        let mut devices = Devices::default();
        assert_eq!(devices.id(b"sda"), Some(DeviceId(0)));
        assert_eq!(devices.id(b"sdb"), Some(DeviceId(1)));
        assert_eq!(devices.id(b"sda"), Some(DeviceId(0)));
        assert_eq!((devices.name(DeviceId(1)), devices.find("sdb")), ("sdb", Some(DeviceId(1))));
    }
}
