//! Reads a table: some thousand rows of each column at a time, combined to records.

use super::numbers::Numbers;
use super::pages::Pages;
use super::schema::{COLUMNS, KINDS, SCHEMA_KEY, SCHEMA_VERSION};
use super::source::ParquetSource;
use super::texts::{NULL, Texts};
use crate::error::{SourcePlace, TraceError};
use crate::reader::{Reader, Seekable};
use crate::record::{DeviceId, Record, RequestKind};
use crate::record_sink::{Devices, RecordSink};
use parquet::basic::Type;
use parquet::column::reader::get_column_reader;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use scrubjay_core::units::{Bytes, Nanos};
use std::any::Any;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The number of rows read at a time: all their columns, and the records, stay in a core's own cache.
const BATCH: usize = 4096;
/// The number for an unknown kind.
const KIND_UNKNOWN: u32 = KINDS.len() as u32;
/// The kinds by their numbers.
const KIND_OF: [RequestKind; 4] = [RequestKind::Read, RequestKind::Write, RequestKind::Discard, RequestKind::Flush];

/// Reads a table.
pub(super) struct TableReader {
    source: Arc<ParquetSource>,
    metadata: ParquetMetaData,
    /// The place of each of [`COLUMNS`] in the file, if it is there.
    places: [Option<FoundColumn>; 6],
    group: Option<RowGroup>,
    /// The index of the row group after the current one.
    group_next: usize,
    /// The number of rows read so far.
    rows: u64,
    batch: RowBatch,
}

/// The place of a column in the file.
#[derive(Clone, Copy)]
struct FoundColumn {
    index: usize,
    is_optional: bool,
}

/// The columns of a row group.
struct RowGroup {
    /// The number of rows not yet read.
    rows_left: u64,
    arrivals: Numbers,
    devices: Texts,
    kinds: Texts,
    offsets: Numbers,
    lengths: Numbers,
    responses: Option<Numbers>,
}

/// Some rows of each column.
#[derive(Default)]
struct RowBatch {
    arrivals: Vec<i64>,
    devices: Vec<u32>,
    kinds: Vec<u32>,
    offsets: Vec<i64>,
    lengths: Vec<i64>,
    responses: Vec<i64>,
}

impl TableReader {
    /// Finds the columns of a file.
    pub(super) fn new(file: Seekable) -> std::result::Result<TableReader, TraceError> {
        let source = ParquetSource::new(file)?;
        let end = SourcePlace::Byte(parquet::file::reader::Length::len(&source));
        let corrupt = |error: ParquetError| corrupt(end, error);
        let metadata = guarded(|| ParquetMetaDataReader::decode_metadata(&source.footer()?)).map_err(corrupt)?;
        check_version(&metadata).map_err(corrupt)?;
        check_places(&metadata).map_err(corrupt)?;
        let places = find(&metadata).map_err(corrupt)?;
        let source = Arc::new(source);
        Ok(TableReader { source, metadata, places, group: None, group_next: 0, rows: 0, batch: RowBatch::default() })
    }

    /// The row group that holds the next rows; `None`: there are no more.
    fn group(&mut self) -> Result<Option<&mut RowGroup>> {
        while self.group.as_ref().is_none_or(|group| group.rows_left == 0) {
            if self.group_next == self.metadata.num_row_groups() {
                return Ok(None);
            }
            self.group = Some(RowGroup::new(&self.source, &self.metadata, self.group_next, &self.places)?);
            self.group_next += 1;
        }
        Ok(self.group.as_mut())
    }

    /// Reads the next rows; `None`: there are no more.
    fn rows(&mut self, batch: &mut RowBatch, devices: &mut Devices) -> Result<Option<usize>> {
        self.group()?.map(|group| group.read(batch, devices)).transpose()
    }

    /// Ends reading after an error, because a page may be half read.
    fn end(&mut self) {
        self.group = None;
        self.group_next = self.metadata.num_row_groups();
    }
}

impl Reader for TableReader {
    fn read(&mut self, sink: &mut RecordSink) -> std::result::Result<bool, TraceError> {
        let place = SourcePlace::Row(self.rows + 1);
        let mut batch = std::mem::take(&mut self.batch);
        let rows = match guarded(|| self.rows(&mut batch, &mut sink.devices)) {
            Ok(Some(rows)) => rows,
            Ok(None) => return Ok(false),
            Err(error) => {
                self.end();
                return Err(corrupt(place, error));
            }
        };
        let before = sink.records.len();
        batch.records(self.rows, sink);
        sink.understood += (sink.records.len() - before) as u64;
        self.rows += rows as u64;
        self.batch = batch;
        let is_last =
            self.group_next == self.metadata.num_row_groups() && self.group.as_ref().is_none_or(|g| g.rows_left == 0);
        sink.check_share_malformed(is_last)?;
        Ok(true)
    }
}

impl RowGroup {
    /// Starts reading row group `number`.
    fn new(
        source: &Arc<ParquetSource>,
        metadata: &ParquetMetaData,
        number: usize,
        places: &[Option<FoundColumn>; 6],
    ) -> Result<RowGroup> {
        let (group, schema) = (metadata.row_group(number), metadata.file_metadata().schema_descr());
        let rows = u64::try_from(group.num_rows())?;
        let pages = |found: FoundColumn| -> Result<Box<Pages>> {
            Ok(Box::new(Pages::new(source, group.column(found.index), usize::try_from(rows)?)?))
        };
        let numbers = |column: usize| -> Result<Option<Numbers>> {
            match places[column] {
                Some(found) => Ok(Numbers::new(get_column_reader(schema.column(found.index), pages(found)?))),
                None => Ok(None),
            }
        };
        let needed = |column: usize| numbers(column)?.ok_or_else(|| absent(column));
        let texts = |column: usize| -> Result<Texts> {
            let found = places[column].ok_or_else(|| absent(column))?;
            Ok(Texts::new(pages(found)?, found.is_optional))
        };
        Ok(RowGroup {
            rows_left: rows,
            arrivals: needed(0)?,
            devices: texts(1)?,
            kinds: texts(2)?,
            offsets: needed(3)?,
            lengths: needed(4)?,
            responses: numbers(5)?,
        })
    }

    /// Reads the next rows of all columns; returns their number.
    fn read(&mut self, batch: &mut RowBatch, devices: &mut Devices) -> Result<usize> {
        let rows = self.rows_left.min(BATCH as u64) as usize;
        self.arrivals.read(rows, &mut batch.arrivals)?;
        self.devices.read(rows, &mut batch.devices, |name| match devices.id(name) {
            Some(id) => Ok(id.0),
            None => Err(ParquetError::General(format!("more than {} devices", devices.names().len()))),
        })?;
        self.kinds.read(rows, &mut batch.kinds, |name| {
            Ok(KINDS.iter().position(|kind| kind.as_bytes() == name).map_or(KIND_UNKNOWN, |kind| kind as u32))
        })?;
        self.offsets.read(rows, &mut batch.offsets)?;
        self.lengths.read(rows, &mut batch.lengths)?;
        match &mut self.responses {
            Some(responses) => responses.read(rows, &mut batch.responses)?,
            None => batch.responses.resize(rows, -1),
        }
        self.rows_left -= rows as u64;
        Ok(rows)
    }
}

impl RowBatch {
    /// Appends the rows to the sink's records; `rows_before` rows came before them.
    fn records(&self, rows_before: u64, sink: &mut RecordSink) {
        let rows = self.arrivals.len();
        let (arrivals, devices, kinds) = (&self.arrivals[..rows], &self.devices[..rows], &self.kinds[..rows]);
        let (offsets, lengths) = (&self.offsets[..rows], &self.lengths[..rows]);
        let responses = &self.responses[..rows];
        // One check of all rows costs less than a check of each while records are assembled.
        let signs = (0..rows).fold(0, |signs, row| signs | arrivals[row] | offsets[row] | lengths[row]);
        let is_clean = signs >= 0 && kinds.iter().all(|&kind| kind < KIND_UNKNOWN) && !devices.contains(&NULL);
        let record = |row: usize| Record {
            arrival: Nanos(arrivals[row] as u64),
            response: (responses[row] >= 0).then_some(Nanos(responses[row] as u64)),
            offset: Bytes(offsets[row] as u64),
            length: Bytes(lengths[row] as u64),
            device: DeviceId(devices[row]),
            kind: KIND_OF[kinds[row] as usize % KIND_OF.len()],
        };
        if is_clean {
            sink.records.extend((0..rows).map(record));
            return;
        }
        for row in 0..rows {
            match self.fault(row) {
                None => sink.records.push(record(row)),
                Some(reason) => sink.malformed(SourcePlace::Row(rows_before + row as u64 + 1), reason, b""),
            }
        }
    }

    /// The reason why a row is malformed.
    fn fault(&self, row: usize) -> Option<&'static str> {
        match () {
            () if self.arrivals[row] < 0 => Some("arrival_ns is null or negative"),
            () if self.devices[row] == NULL => Some("device is null"),
            () if self.kinds[row] >= KIND_UNKNOWN => Some("kind is none of read, write, discard, flush"),
            () if self.offsets[row] < 0 => Some("offset is null or negative"),
            () if self.lengths[row] < 0 => Some("length is null or negative"),
            () => None,
        }
    }
}

/// Refuses files of a newer schema version, whose columns may have another meaning.
fn check_version(metadata: &ParquetMetaData) -> Result<()> {
    let pairs = metadata.file_metadata().key_value_metadata();
    let version =
        pairs.into_iter().flatten().find(|pair| pair.key == SCHEMA_KEY).and_then(|pair| pair.value.as_deref());
    match version.map(str::parse::<u32>) {
        None | Some(Ok(..=SCHEMA_VERSION)) => Ok(()),
        _ => Err(ParquetError::General(format!("written by a newer version: {SCHEMA_KEY} is not {SCHEMA_VERSION}"))),
    }
}

/// Refuses columns at negative offsets, for which the crate would panic.
fn check_places(metadata: &ParquetMetaData) -> Result<()> {
    let mut columns = metadata.row_groups().iter().flat_map(|group| group.columns());
    let is_negative = |column: &ColumnChunkMetaData| {
        let start = column.dictionary_page_offset().unwrap_or(0).min(column.data_page_offset());
        start.min(column.compressed_size()) < 0
    };
    match columns.find(|column| is_negative(column)) {
        Some(column) => Err(ParquetError::General(format!("column {} is at no place", column.column_path()))),
        None => Ok(()),
    }
}

/// Finds [`COLUMNS`] among the file's columns.
fn find(metadata: &ParquetMetaData) -> Result<[Option<FoundColumn>; 6]> {
    let schema = metadata.file_metadata().schema_descr();
    let mut places = [None; 6];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        let is_named = |column: &&parquet::schema::types::ColumnDescPtr| column.path().parts() == [name];
        let Some(column) = schema.columns().iter().find(is_named) else { continue };
        let expected = if matches!(name, "device" | "kind") { Type::BYTE_ARRAY } else { Type::INT64 };
        let (actual, levels) = (column.physical_type(), column.max_def_level());
        if actual != expected || column.max_rep_level() > 0 || levels > 1 {
            return Err(ParquetError::General(format!("column {name} is {actual}, not {expected}")));
        }
        let index = schema.columns().iter().position(|other| other.path() == column.path()).expect("found above");
        *place = Some(FoundColumn { index, is_optional: levels == 1 });
    }
    match (0..5).find(|&column| places[column].is_none()) {
        Some(column) => Err(absent(column)),
        None => Ok(places),
    }
}

fn absent(column: usize) -> ParquetError {
    let needed = COLUMNS[..5].join(", ");
    ParquetError::General(format!("no column {}; a trace has {needed} and may have {}", COLUMNS[column], COLUMNS[5]))
}

/// Calls into the `parquet` crate and turns panics into errors: for a corrupt page it sometimes asserts what it should
/// check (for one, a number of more than ten bytes in a delta encoding), and pages cannot be checked before it decodes
/// them. Callers drop whatever a panic may have left half done, so nothing unsound is seen afterwards.
fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let panic_message = panic_message(&*panic);
        Err(ParquetError::General(format!("not a sound table: {panic_message}")))
    })
}

/// The message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it cannot be decoded")
}

/// Converts the crate's error.
fn corrupt(place: SourcePlace, error: ParquetError) -> TraceError {
    let what = match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            // These kinds are about the file's contents; others are I/O errors.
            Ok(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) => error.to_string(),
            Ok(error) => return TraceError::Io(*error),
            Err(error) => error.to_string(),
        },
        ParquetError::General(what) | ParquetError::EOF(what) | ParquetError::NYI(what) => what,
        other => other.to_string(),
    };
    TraceError::Corrupt { place, what }
}
