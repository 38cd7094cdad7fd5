//! Writes records as a table.

use super::schema::{CLOCK_KEY, COLUMNS, KINDS, SCHEMA_KEY, SCHEMA_VERSION};
use crate::reader::{OutputStream, Writer};
use crate::record::{Record, RequestKind};
use crate::record_sink::Devices;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use scrubjay_core::units::Nanos;
use std::io;
use std::sync::Arc;

/// The number of rows in a row group: takes 48 MiB of memory to write, and 1 MiB per column to read.
const GROUP_ROWS: usize = 1 << 20;
/// The number of values passed to the crate at a time.
const SLICE: usize = 8192;
/// The usual compression level: higher ones save a few per cent, and reading is equally fast.
const ZSTD_LEVEL: i32 = 3;
/// A trace that begins later than 1990 is taken to count from 1970: a relative clock would have to start twenty years
/// before the trace.
const ABSOLUTE_FROM: Nanos = Nanos::from_secs(631_152_000);

/// Writes a table to a sink.
pub(super) struct TableWriter {
    state: WriterState,
    /// The devices' names by id.
    names: Vec<ByteArray>,
    group: Vec<Record>,
    /// The arrival of the first record.
    first: Option<Nanos>,
}

/// The file. It is started with the first records, because only then can an error be returned.
enum WriterState {
    New(Option<OutputStream>),
    Open(SerializedFileWriter<OutputStream>),
}

impl TableWriter {
    /// Writes to `sink`.
    pub(super) fn new(sink: OutputStream) -> TableWriter {
        TableWriter { state: WriterState::New(Some(sink)), names: Vec::new(), group: Vec::new(), first: None }
    }

    /// The file, started if it was not.
    fn file(&mut self) -> io::Result<&mut SerializedFileWriter<OutputStream>> {
        if let WriterState::New(sink) = &mut self.state {
            let sink = sink.take().ok_or_else(|| io::Error::other("the file could not be begun"))?;
            let file = SerializedFileWriter::new(sink, Arc::new(schema()), Arc::new(properties()));
            self.state = WriterState::Open(file.map_err(io_error)?);
        }
        match &mut self.state {
            WriterState::Open(file) => Ok(file),
            WriterState::New(_) => unreachable!("opened above"),
        }
    }

    /// Writes the gathered records as a row group.
    fn flush(&mut self) -> io::Result<()> {
        let group = std::mem::take(&mut self.group);
        let names = std::mem::take(&mut self.names);
        let mut columns = self.file()?.next_row_group().map_err(io_error)?;
        write_group(&mut columns, &group, &names).map_err(io_error)?;
        columns.close().map_err(io_error)?;
        (self.group, self.names) = (group, names);
        self.group.clear();
        Ok(())
    }
}

impl Writer for TableWriter {
    fn write(&mut self, records: &[Record], devices: &Devices) -> io::Result<()> {
        let new = &devices.names()[self.names.len()..];
        self.names.extend(new.iter().map(|name| ByteArray::from(name.as_str())));
        self.first = self.first.or(records.first().map(|record| record.arrival));
        let mut rest = records;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.len().min(GROUP_ROWS - self.group.len()));
            self.group.extend_from_slice(part);
            if self.group.len() == GROUP_ROWS {
                self.flush()?;
            }
            rest = after;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if !self.group.is_empty() {
            self.flush()?;
        }
        let clock = if self.first.is_some_and(|first| first >= ABSOLUTE_FROM) { "absolute" } else { "relative" };
        let file = self.file()?;
        let mut append_pair =
            |key: &str, value: String| file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        append_pair(SCHEMA_KEY, SCHEMA_VERSION.to_string());
        append_pair(CLOCK_KEY, clock.to_owned());
        file.finish().map_err(io_error)?;
        io::Write::flush(file.inner_mut())
    }
}

/// The schema of the table.
fn schema() -> Type {
    let column = |name: &str| {
        let is_text = matches!(name, "device" | "kind");
        let physical = if is_text { Physical::BYTE_ARRAY } else { Physical::INT64 };
        let repetition = if name == "response_ns" { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let builder = Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(is_text.then_some(LogicalType::String));
        Arc::new(builder.build().expect("a valid column"))
    };
    let columns = COLUMNS.into_iter().map(column).collect();
    Type::group_type_builder("trace").with_fields(columns).build().expect("a valid schema")
}

/// The encodings of the columns, chosen for fast reading.
fn properties() -> WriterProperties {
    let level = ZstdLevel::try_new(ZSTD_LEVEL).expect("a level that zstd has");
    let path = |name: &str| ColumnPath::from(name);
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_created_by(concat!("scrubjay ", env!("CARGO_PKG_VERSION")).to_owned());
    for name in ["arrival_ns", "offset", "length", "response_ns"] {
        // Lengths have few different values; if there are many, they are encoded like the other numbers.
        properties = properties
            .set_column_dictionary_enabled(path(name), name == "length")
            .set_column_encoding(path(name), Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// Writes records, column by column.
fn write_group<W: io::Write + Send>(
    columns: &mut SerializedRowGroupWriter<'_, W>,
    records: &[Record],
    names: &[ByteArray],
) -> Result<()> {
    let kinds = KINDS.map(ByteArray::from);
    write_numbers(columns, records, |record| Ok(Some(number(record.arrival.0)?)))?;
    write_texts(columns, records, |record| &names[record.device.0 as usize])?;
    write_texts(columns, records, |record| match record.kind {
        RequestKind::Read => &kinds[0],
        RequestKind::Write => &kinds[1],
        RequestKind::Discard => &kinds[2],
        RequestKind::Flush => &kinds[3],
    })?;
    write_numbers(columns, records, |record| Ok(Some(number(record.offset.0)?)))?;
    write_numbers(columns, records, |record| Ok(Some(number(record.length.0)?)))?;
    write_numbers(columns, records, |record| record.response.map(|response| number(response.0)).transpose())
}

/// Writes the next column, of numbers or missing numbers.
fn write_numbers<W: io::Write + Send>(
    columns: &mut SerializedRowGroupWriter<'_, W>,
    records: &[Record],
    number_of: impl Fn(&Record) -> Result<Option<i64>>,
) -> Result<()> {
    let mut column = columns.next_column()?.expect("as many columns as the schema has");
    let (mut values, mut levels) = (Vec::with_capacity(SLICE), Vec::with_capacity(SLICE));
    for slice in records.chunks(SLICE) {
        values.clear();
        levels.clear();
        for record in slice {
            let number = number_of(record)?;
            values.extend(number);
            levels.push(i16::from(number.is_some()));
        }
        column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
    }
    column.close()
}

/// Writes the next column, of texts.
fn write_texts<'a, W: io::Write + Send>(
    columns: &mut SerializedRowGroupWriter<'_, W>,
    records: &'a [Record],
    text_of: impl Fn(&'a Record) -> &'a ByteArray,
) -> Result<()> {
    let mut column = columns.next_column()?.expect("as many columns as the schema has");
    let mut values = Vec::with_capacity(SLICE);
    for slice in records.chunks(SLICE) {
        values.clear();
        values.extend(slice.iter().map(|record| text_of(record).clone()));
        column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
    }
    column.close()
}

/// The number as a column value: signed, because every table reader has signed integers.
fn number(value: u64) -> Result<i64> {
    i64::try_from(value).map_err(|_| ParquetError::General(format!("{value} is too great for a column of numbers")))
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        other => io::Error::other(other),
    }
}
