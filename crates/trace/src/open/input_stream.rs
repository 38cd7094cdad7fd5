//! One input being read: its reader, the sink that it fills, and the sorter of its records.

use super::error::InputError;
use super::scale::TraceScale;
use crate::error::{SourcePlace, TraceError};
use crate::reader::Reader;
use crate::record::Record;
use crate::record_sink::{ArrivalSource, Devices, Malformed, RecordSink};
use crate::sorted::Sorter;

/// The least number of records to read before they are processed; a smaller batch would not be worthwhile.
const BATCH_MIN: usize = 4096;

/// One input.
pub(super) struct InputStream {
    name: String,
    reader: Box<dyn Reader>,
    sink: RecordSink,
    sorter: Sorter,
    scale: TraceScale,
    /// Records read so far.
    read: u64,
    is_ended: bool,
}

impl InputStream {
    /// An input called `name`, whose records are sorted within a window.
    pub(super) fn new(name: String, reader: Box<dyn Reader>, window: usize) -> InputStream {
        let (sink, sorter) = (RecordSink::default(), Sorter::new(window));
        InputStream { name, reader, sink, sorter, scale: TraceScale::default(), read: 0, is_ended: false }
    }

    /// Sets the conversion of its numbers, if their units are not the format's usual ones.
    pub(super) fn scale(&mut self, scale: TraceScale) {
        self.scale = scale;
    }

    /// Replaces the contents of `batch` by the next records, in order of arrival. False: there are no more.
    pub(super) fn next(&mut self, batch: &mut Vec<Record>) -> Result<bool, InputError> {
        while !self.sorter.pop(batch, self.is_ended) {
            if self.is_ended {
                batch.clear();
                return Ok(false);
            }
            self.fill().map_err(|error| self.error(error))?;
        }
        Ok(true)
    }

    /// Reads one batch.
    fn fill(&mut self) -> Result<(), TraceError> {
        while self.sink.records.len() < BATCH_MIN && !self.is_ended {
            self.is_ended = !self.reader.read(&mut self.sink)?;
        }
        for record in &mut self.sink.records {
            self.read += 1;
            let corrupt =
                || TraceError::Corrupt { place: SourcePlace::Row(self.read), what: "too large in these units".into() };
            *record = self.scale.applied(*record).ok_or_else(corrupt)?;
        }
        self.sorter.push(&mut self.sink.records)
    }

    /// Attributes an error to this input.
    pub(super) fn error(&self, error: TraceError) -> InputError {
        InputError::Trace { name: self.name.clone(), error }
    }

    /// The input's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The devices named so far.
    pub(super) fn devices(&self) -> &Devices {
        &self.sink.devices
    }

    /// The records that could not be understood so far.
    pub(super) fn arrivals(&self) -> ArrivalSource {
        self.sink.arrivals
    }

    pub(super) fn malformed(&self) -> &Malformed {
        &self.sink.malformed
    }
}
