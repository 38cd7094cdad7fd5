//! The records of a trace as a stream of Arrow batches, with the columns of Scrubjay's own Parquet files.

use crate::notes;
use arrow_array::builder::{PrimitiveBuilder, StringBuilder};
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, RecordBatchReader, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use scrubjay_core::units::Nanos;
use scrubjay_research::workload::{DeviceFilter, TraceCheck};
use scrubjay_trace::formats::ClockOrigin;
use scrubjay_trace::{Record, RequestKind, Trace};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread::{self, ThreadId};

/// The least number of records in a batch; it has up to a few thousand more.
const ROWS: usize = 64 << 10;
/// The kinds of requests, in the order of their dictionary indices.
const KINDS: [&str; 4] = ["read", "write", "discard", "flush"];

/// A stream that reads on demand, in constant memory.
pub struct RecordStream {
    trace: Trace,
    filter: DeviceFilter,
    check: TraceCheck,
    schema: SchemaRef,
    is_ended: bool,
    /// The thread that asked for the stream. If it is also the one that reads, it can check for signals: it does
    /// nothing else, and does not hold Python's lock for another thread.
    creator: ThreadId,
}

impl RecordStream {
    /// A stream of the records of these devices, or of all devices if none is named.
    pub fn new(trace: Trace, devices: &[String]) -> RecordStream {
        let dictionary = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let fields = vec![
            Field::new("arrival_ns", DataType::Int64, false),
            Field::new("device", dictionary(), false),
            Field::new("kind", dictionary(), false),
            Field::new("offset", DataType::Int64, false),
            Field::new("length", DataType::Int64, false),
            Field::new("response_ns", DataType::Int64, true),
        ];
        let clock = match trace.format().clock {
            ClockOrigin::Absolute => "absolute",
            ClockOrigin::Relative => "relative",
        };
        let facts = [("scrubjay.schema", "1"), ("scrubjay.clock", clock)];
        let facts: HashMap<String, String> = facts.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let schema = Arc::new(Schema::new_with_metadata(fields, facts));
        RecordStream {
            trace,
            filter: DeviceFilter::new(devices),
            check: TraceCheck::default(),
            schema,
            is_ended: false,
            creator: thread::current().id(),
        }
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        if thread::current().id() == self.creator {
            Python::attach(interrupted)?;
        }
        let mut records: Vec<Record> = Vec::with_capacity(ROWS);
        while records.len() < ROWS && !self.is_ended {
            let failed = |error| ArrowError::ExternalError(Box::new(error));
            if self
                .trace
                .next_batch()
                .map_err(|error| failed(scrubjay_research::ResearchError::Trace(error)))?
                .is_none()
            {
                self.is_ended = true;
                self.filter.check(&self.trace).map_err(failed)?;
                self.warn()?;
                break;
            }
            let (filter, devices) = (&mut self.filter, self.trace.devices());
            let before = records.len();
            records.extend(self.trace.records().iter().filter(|record| filter.wants(record.device, devices)));
            records[before..].iter().for_each(|record| self.check.add(record));
        }
        if records.is_empty() { Ok(None) } else { self.columns(&records).map(Some) }
    }

    /// Warns of what is doubtful, as the other calls do. A thread that did not ask for the stream may be waited for with Python's lock
    /// held, and leaves that to another one.
    fn warn(&self) -> Result<(), ArrowError> {
        let texts = notes::texts(&self.check.notes(&self.trace));
        if texts.is_empty() {
            return Ok(());
        }
        if thread::current().id() == self.creator {
            return Python::attach(|py| warn(py, &texts)).map_err(|error| ArrowError::ExternalError(Box::new(error)));
        }
        thread::spawn(move || Python::try_attach(|py| warn(py, &texts)));
        Ok(())
    }

    fn columns(&self, records: &[Record]) -> Result<RecordBatch, ArrowError> {
        let numbers = |of: &dyn Fn(&Record) -> Option<u64>| -> Result<ArrayRef, ArrowError> {
            let mut numbers = PrimitiveBuilder::<Int64Type>::with_capacity(records.len());
            for record in records {
                let number = of(record).map(i64::try_from).transpose();
                numbers.append_option(number.map_err(|_| ArrowError::CastError("a number above 2^63".to_owned()))?);
            }
            Ok(Arc::new(numbers.finish()))
        };
        let mut names = StringBuilder::new();
        self.trace.devices().names().iter().for_each(|name| names.append_value(name));
        let devices = records.iter().map(|record| record.device.0 as i32).collect::<Int32Array>();
        let kinds = records.iter().map(|record| kind(record.kind)).collect::<Int32Array>();
        let columns: Vec<ArrayRef> = vec![
            numbers(&|record| Some(record.arrival.0))?,
            Arc::new(DictionaryArray::try_new(devices, Arc::new(names.finish()))?),
            Arc::new(DictionaryArray::try_new(kinds, Arc::new(StringArray::from(KINDS.to_vec())))?),
            numbers(&|record| Some(record.offset.0))?,
            numbers(&|record| Some(record.length.0))?,
            numbers(&|record| record.response.map(|Nanos(time)| time))?,
        ];
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

/// Fails if Ctrl-C was pressed. Readers of the stream only see errors of Arrow, so the interrupt is raised once more,
/// to arrive after they reported this one.
fn interrupted(py: Python<'_>) -> Result<(), ArrowError> {
    if py.check_signals().is_ok() {
        return Ok(());
    }
    let raised = py.import("_thread").and_then(|module| module.call_method0("interrupt_main"));
    drop(raised); // if that fails, there is still the error
    Err(ArrowError::ExternalError(Box::new(io::Error::new(io::ErrorKind::Interrupted, "interrupted"))))
}

/// Issues each text as a warning.
fn warn(py: Python<'_>, texts: &[String]) -> PyResult<()> {
    let category = py.import("scrubjay")?.getattr("TraceWarning")?;
    let warn = py.import("warnings")?.getattr("warn")?;
    texts.iter().try_for_each(|text| warn.call1((text, &category)).map(drop))
}

fn kind(kind: RequestKind) -> i32 {
    match kind {
        RequestKind::Read => 0,
        RequestKind::Write => 1,
        RequestKind::Discard => 2,
        RequestKind::Flush => 3,
    }
}

impl Iterator for RecordStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batch().transpose()
    }
}

impl RecordBatchReader for RecordStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
