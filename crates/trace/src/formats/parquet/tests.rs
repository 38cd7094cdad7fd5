//! Tests of the reader and the writer.

use super::schema::{CLOCK_KEY, SCHEMA_KEY};
use super::*;
use crate::error::SourcePlace;
use crate::record::{DeviceId, Record, RequestKind};
use crate::record_sink::{Devices, RecordSink};
use bytes::Bytes as Buffer;
use parquet::basic::Encoding;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use proptest::prelude::*;
use scrubjay_core::units::{Bytes, Nanos};
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

/// A destination whose bytes can be read afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The file of `records`, written in parts of `part` records.
fn write(records: &[Record], devices: &Devices, part: usize) -> io::Result<Vec<u8>> {
    let sink = Shared::default();
    let mut writer = writer(Box::new(sink.clone()));
    for part in records.chunks(part) {
        writer.write(part, devices)?;
    }
    writer.finish()?;
    Ok(std::mem::take(&mut sink.0.lock().unwrap()))
}

fn read(file: Vec<u8>) -> Result<RecordSink, TraceError> {
    let mut reader = open(Box::new(Cursor::new(file)))?;
    let mut record_sink = RecordSink::default();
    while reader.read(&mut record_sink)? {}
    assert!(!reader.read(&mut record_sink)?, "the end stays the end");
    Ok(record_sink)
}

/// The records with their devices' names, because ids are only valid within one reading.
fn named(records: &[Record], devices: &Devices) -> Vec<(Record, String)> {
    let named = |&record: &Record| (Record { device: DeviceId(0), ..record }, devices.name(record.device).to_owned());
    records.iter().map(named).collect()
}

/// Some devices, one of them with a non-ASCII name.
fn devices() -> Devices {
    let mut devices = Devices::default();
    for name in ["sda", "", "m\u{fc}ll 7", "a,b\"c\n"] {
        devices.id(name.as_bytes()).unwrap();
    }
    devices
}

/// Any number that a column can hold, small ones more often.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..5, 0u64..1 << 40, Just(i64::MAX as u64), 0..i64::MAX as u64]
}

fn record() -> impl Strategy<Value = Record> {
    let kind =
        prop::sample::select(vec![RequestKind::Read, RequestKind::Write, RequestKind::Discard, RequestKind::Flush]);
    (number(), prop::option::of(number()), number(), number(), 0u32..4, kind).prop_map(
        |(arrival, response, offset, length, device, kind)| Record {
            arrival: Nanos(arrival),
            response: response.map(Nanos),
            offset: Bytes(offset),
            length: Bytes(length),
            device: DeviceId(device),
            kind,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_record_comes_back(records in prop::collection::vec(record(), 0..400), repeats in 1usize..30) {
        let (records, devices) = (records.repeat(repeats), devices());
        let record_sink = read(write(&records, &devices, 1000).unwrap()).unwrap();
        prop_assert_eq!(record_sink.understood, records.len() as u64);
        prop_assert_eq!(record_sink.malformed.count, 0);
        prop_assert_eq!(named(&record_sink.records, &record_sink.devices), named(&records, &devices));
    }

    #[test]
    fn damage_is_an_error_and_no_panic(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..5),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut file = write(&many(6000), &devices(), 6000).unwrap();
        for (place, byte, in_footer) in places {
            let from = if in_footer { file.len().saturating_sub(1200) } else { 0 };
            let at = from + place.index(file.len() - from);
            file[at] = byte;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        // Any result is fine, because some corruptions cannot be told from sound data.
        let _ = read(file);
    }
}

/// Records as a trace could have them.
fn many(count: u64) -> Vec<Record> {
    let record = |number: u64| Record {
        arrival: Nanos(1_200_000_000_000_000_000 + number * 1_000_003),
        response: (!number.is_multiple_of(7)).then_some(Nanos(number * 31 % 5000)),
        offset: Bytes(number * 7_368_787 % (1 << 40)),
        length: Bytes(512 * (1 + number % 8)),
        device: DeviceId((number / 3 % 4) as u32),
        kind: if number.is_multiple_of(5) { RequestKind::Read } else { RequestKind::Write },
    };
    (0..count).map(record).collect()
}

#[test]
fn row_groups_follow_each_other() {
    let (records, devices) = (many((1 << 20) + 5000), devices());
    let record_sink = read(write(&records, &devices, 70_000).unwrap()).unwrap();
    assert_eq!(record_sink.records.len(), records.len());
    assert!(named(&record_sink.records, &record_sink.devices) == named(&records, &devices));
}

#[test]
fn no_records_make_a_file_without_records() {
    assert_eq!(read(write(&[], &Devices::default(), 1).unwrap()).unwrap().understood, 0);
}

#[test]
fn numbers_beyond_the_columns_are_refused() {
    let record = Record { offset: Bytes(1 << 63), ..many(1)[0] };
    assert!(write(&[record], &devices(), 1).unwrap_err().to_string().contains("9223372036854775808 is too great"));
}

#[test]
fn the_metadata_contain_version_and_clock() {
    for (shift, expected) in [(0, "absolute"), (1_200_000_000_000_000_000, "relative")] {
        let mut records = many(10);
        records.iter_mut().for_each(|record| record.arrival.0 -= shift);
        let file = SerializedFileReader::new(Buffer::from(write(&records, &devices(), 10).unwrap())).unwrap();
        let pairs = file.metadata().file_metadata().key_value_metadata().unwrap();
        let value = |key| pairs.iter().find(|pair| pair.key == key).unwrap().value.clone().unwrap();
        assert_eq!((value(SCHEMA_KEY), value(CLOCK_KEY)), ("1".to_owned(), expected.to_owned()));
    }
}

/// Writes a table in the way of other programs: columns are put one after another.
struct Foreign {
    file: SerializedFileWriter<Vec<u8>>,
}

impl Foreign {
    fn new(columns: &str, properties: WriterProperties) -> Foreign {
        let schema = parse_message_type(&format!("message m {{ {columns} }}")).unwrap();
        Foreign { file: SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).unwrap() }
    }

    /// Writes one row group; each column has a value or `None` for each row.
    fn group(&mut self, columns: &[Column]) {
        let mut group = self.file.next_row_group().unwrap();
        for column in columns {
            let mut writer = group.next_column().unwrap().unwrap();
            match column {
                Column::Numbers(rows) => put::<Int64Type>(&mut writer, rows),
                Column::Texts(rows) => {
                    let rows: Vec<Option<ByteArray>> = rows.iter().map(|row| row.map(ByteArray::from)).collect();
                    put::<ByteArrayType>(&mut writer, &rows);
                }
            }
            writer.close().unwrap();
        }
        group.close().unwrap();
    }

    fn finish(self) -> Vec<u8> {
        self.file.into_inner().unwrap()
    }
}

enum Column {
    Numbers(Vec<Option<i64>>),
    Texts(Vec<Option<&'static str>>),
}

fn put<T: DataType>(writer: &mut parquet::file::writer::SerializedColumnWriter<'_>, rows: &[Option<T::T>]) {
    let values: Vec<T::T> = rows.iter().flatten().cloned().collect();
    let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.is_some())).collect();
    writer.typed::<T>().write_batch(&values, Some(&levels), None).unwrap();
}

/// All columns in another order, all optional, and one that is not used.
const FOREIGN: &str = "optional int64 length; optional binary kind (UTF8); optional int64 hash; optional int64 offset; \
                       optional int64 arrival_ns; optional binary device (UTF8);";

#[test]
fn tables_of_other_programs_are_read_in_any_encoding() {
    for (version, has_dictionary) in
        [(WriterVersion::PARQUET_1_0, true), (WriterVersion::PARQUET_1_0, false), (WriterVersion::PARQUET_2_0, true)]
    {
        let properties = WriterProperties::builder().set_writer_version(version);
        let mut table = Foreign::new(FOREIGN, properties.set_dictionary_enabled(has_dictionary).build());
        let (rows, numbers) = (1000, |step: i64| Column::Numbers((0..1000).map(|row| Some(row * step)).collect()));
        let kind = |row: usize| if row == 500 { None } else { Some(["read", "write", "flush"][row % 3]) };
        let device = |row: usize| Some(["a", "b"][row / 10 % 2]);
        let columns = |kind: fn(usize) -> Option<&'static str>| {
            let kinds = Column::Texts((0..rows).map(kind).collect());
            let devices = Column::Texts((0..rows).map(device).collect());
            [numbers(512), kinds, numbers(1), numbers(4096), numbers(1000), devices]
        };
        table.group(&columns(kind));
        table.group(&columns(|_| Some("discard")));
        let record_sink = read(table.finish()).unwrap();
        assert_eq!((record_sink.understood, record_sink.malformed.count), (1999, 1));
        let example = &record_sink.malformed.examples[0];
        assert_eq!(
            (example.place, example.reason),
            (SourcePlace::Row(501), "kind is none of read, write, discard, flush")
        );
        let record = record_sink.records[998];
        let expected = (Nanos(999_000), None, Bytes(4096 * 999), Bytes(512 * 999), RequestKind::Read);
        assert_eq!((record.arrival, record.response, record.offset, record.length, record.kind), expected);
        assert_eq!(
            (record_sink.devices.name(record.device), record_sink.records[1500].kind),
            ("b", RequestKind::Discard)
        );
    }
}

#[test]
fn rows_without_a_number_are_malformed() {
    let mut table = Foreign::new(FOREIGN, WriterProperties::default());
    let rows = 1000;
    let numbers =
        |odd: i64, cell| Column::Numbers((0..rows).map(|row| if row == odd { cell } else { Some(row) }).collect());
    let texts = |text| Column::Texts((0..rows).map(|_| Some(text)).collect());
    table.group(&[
        numbers(3, None),
        texts("read"),
        numbers(9, None),
        numbers(4, Some(-1)),
        numbers(5, None),
        texts("a"),
    ]);
    let record_sink = read(table.finish()).unwrap();
    let examples: Vec<(SourcePlace, &str)> =
        record_sink.malformed.examples.iter().map(|example| (example.place, example.reason)).collect();
    let expected = [
        (SourcePlace::Row(4), "length is null or negative"),
        (SourcePlace::Row(5), "offset is null or negative"),
        (SourcePlace::Row(6), "arrival_ns is null or negative"),
    ];
    assert_eq!((record_sink.understood, examples), (997, expected.to_vec()));
    assert_eq!((record_sink.records[6].arrival, record_sink.records[6].length), (Nanos(9), Bytes(9)));
}

#[test]
fn a_page_on_which_the_parquet_crate_panics_is_corrupt() {
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_column_encoding(ColumnPath::from("arrival_ns"), Encoding::DELTA_BINARY_PACKED);
    let mut table = Foreign::new(FOREIGN, properties.build());
    let numbers = || Column::Numbers((0..100).map(|row| Some(row * row * 7919 % 1_000_003)).collect());
    let texts = || Column::Texts(vec![Some("read"); 100]);
    table.group(&[numbers(), texts(), numbers(), numbers(), numbers(), texts()]);
    let mut file = table.finish();
    // Delta-encoded numbers begin so: blocks of 256 in four parts. The number of values after it becomes an endless
    // varint.
    let blocks = [0x80, 0x02, 0x04];
    let at = file.windows(3).position(|window| window == blocks).unwrap() + blocks.len();
    file[at..at + 12].fill(0xff);
    let mut reader = open(Box::new(Cursor::new(file))).unwrap();
    let error = reader.read(&mut RecordSink::default()).unwrap_err().to_string();
    assert!(error.starts_with("row 1: not a sound table: "), "{error}");
    assert!(!reader.read(&mut RecordSink::default()).unwrap(), "nothing comes after it");
}

#[test]
fn an_endless_page_header_is_refused() {
    let sound = write(&many(100), &devices(), 100).unwrap();
    // The first field of the first page's header becomes a list of two thousand million booleans, or of texts.
    for kind in [0xf1, 0xf8] {
        let mut file = sound.clone();
        file[4..11].copy_from_slice(&[0x19, kind, 0xff, 0xff, 0xff, 0xff, 0x07]);
        assert_eq!(read(file).unwrap_err().to_string(), "row 1: no page begins here");
    }
    let cut = read(sound[..sound.len() - 1].to_vec()).unwrap_err().to_string();
    assert!(cut.ends_with("it does not end in PAR1, as every table does"), "{cut}");
}

#[test]
fn a_dictionary_that_claims_to_be_huge_is_refused() {
    let mut table = Foreign::new(FOREIGN, WriterProperties::default());
    let numbers = || Column::Numbers((0..100).map(Some).collect());
    let texts = || Column::Texts(vec![Some("read"); 100]);
    table.group(&[numbers(), texts(), numbers(), numbers(), numbers(), texts()]);
    let mut file = table.finish();
    // Headers of dictionaries (field 7 of a page header) begin with the number of values: 100, changed to 8191.
    let (header, huge) = ([0x4c, 0x15, 0xc8, 0x01], [0x4c, 0x15, 0xfe, 0x7f]);
    let places: Vec<usize> = (0..file.len() - 4).filter(|&at| file[at..at + 4] == header).collect();
    places.iter().for_each(|&at| file[at..at + 4].copy_from_slice(&huge));
    let error = read(file).unwrap_err().to_string();
    assert!(error.contains("a dictionary of 8191 values in 800 bytes"), "{error}");
}

#[test]
fn a_missing_column_is_named() {
    let table =
        |columns: &str| read(Foreign::new(columns, WriterProperties::default()).finish()).unwrap_err().to_string();
    let rest = "required binary device; required binary kind; required int64 offset; required int64";
    let error = table(&format!("required int64 arrival_ns; {rest} size;"));
    let expected = "no column length; a trace has arrival_ns, device, kind, offset, length and may have response_ns";
    assert!(error.ends_with(expected), "{error}");
    let error = table(&format!("required int32 arrival_ns; {rest} length;"));
    assert!(error.ends_with("column arrival_ns is INT32, not INT64"), "{error}");
    let nested = table(&format!("required group arrival_ns {{ required int64 arrival_ns; }} {rest} length;"));
    assert!(nested.contains("no column arrival_ns"), "{nested}");
}
