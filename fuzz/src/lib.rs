//! What the fuzz targets share: reads to the end of an input, and assertions of what every reader promises.

pub use scrubjay_code::crc32c;
use scrubjay_code::crc32c_extend;
use scrubjay_trace::formats::{self, Format, FormatOpener};
use scrubjay_trace::{
    Compression, Devices, Input, InputError, Malformed, OpenOptions, Reader, Record, RecordSink, Trace, TraceError,
    TraceSource, open,
};
use std::io::Cursor;
use std::sync::Arc;

/// Records (count) at which reading stops: some formats count rows without bytes, and time is not what is tested.
const RECORDS_MAX: u64 = 1 << 19;
/// Bytes from which a format is detected, as in `open`.
const HEAD_BYTES: usize = 64 << 10;
/// Malformed records that are kept as examples (count).
const EXAMPLES_MAX: u64 = 5;

/// Writes the checksum of a block of a volume to offset `at`; it covers all other bytes.
pub fn with_sum(block: &mut [u8], at: usize) {
    let sum = crc32c_extend(crc32c(&block[..at]), &block[at + 4..]);
    block[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

/// The result of reading a source to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Records (count).
    pub understood: u64,
    /// Rows that are no records (count).
    pub malformed: u64,
    /// The names of all devices.
    pub devices: Vec<String>,
}

/// Lets the fuzzer go on after panics of the `parquet` crate and its dependencies, which the reader catches and turns into
/// errors. Panics of the project's own code abort, as usual; so do third-party panics that are not caught.
pub fn allow_caught_panics() {
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|location| location.file().contains("/registry/src/")) {
            abort(panic);
        }
    }));
}

/// Has the format `name` check `data` and read it, by its reader alone and by `open`.
pub fn check_format(name: &str, data: &[u8]) {
    let format = formats::by_name(name).expect("it is in the table");
    let data: Arc<[u8]> = data.into();
    (format.looks_like)(&data[..data.len().min(HEAD_BYTES)]);
    let alone = match format.open {
        FormatOpener::Stream(open) => drive(&mut *open(Box::new(Cursor::new(data.clone())))),
        FormatOpener::Shards(open) => drive(&mut *open(vec![Box::new(Cursor::new(data.clone()))])),
        FormatOpener::Seekable(open) => match open(Box::new(Cursor::new(data.clone()))) {
            Ok(mut reader) => drive(&mut *reader),
            Err(error) => Err(error),
        },
    };
    let input = Input { name: "input".to_owned(), source: TraceSource::File(Box::new(Cursor::new(data.clone()))) };
    let whole = check_open(vec![input], Some(format));
    if !data.is_empty() && Compression::of(&data).is_none() {
        same(alone, whole);
    }
}

/// Opens inputs, and reads them to their end as one trace. `None`: it has more than [`RECORDS_MAX`] records.
///
/// # Errors
/// Those of [`open`] and [`Trace::next_batch`].
pub fn check_open(inputs: Vec<Input>, format: Option<&'static Format>) -> Result<Option<Tally>, InputError> {
    let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    let mut trace = open(inputs, OpenOptions { format, ..OpenOptions::default() }).inspect_err(told)?;
    assert_eq!(trace.input_names(), names);
    if let Some(format) = format {
        assert_eq!(trace.format().name, format.name);
    }
    drain(&mut trace).inspect_err(told)
}

/// Reads a trace to its end; its records must be in the order of arrival.
fn drain(trace: &mut Trace) -> Result<Option<Tally>, InputError> {
    let (mut understood, mut last) = (0, None);
    while let Some(batch) = trace.next_batch()? {
        let batch = batch.to_vec();
        assert!(!batch.is_empty(), "a batch has records");
        assert!(last <= batch.first().map(|record| record.arrival), "batches follow each other");
        assert!(batch.is_sorted_by_key(|record| record.arrival), "in the order of arrival");
        last = batch.last().map(|record| record.arrival);
        batch.iter().for_each(|record| check_record(record, trace.devices()));
        check_malformed(trace.malformed());
        understood += batch.len() as u64;
        if understood > RECORDS_MAX {
            return Ok(None);
        }
    }
    assert!(trace.next_batch()?.is_none(), "the end stays the end");
    let (malformed, devices) = (trace.malformed().count, trace.devices().names().to_vec());
    Ok(Some(Tally { understood, malformed, devices }))
}

/// Reads from a reader to its end. `None`: it has more than [`RECORDS_MAX`] records.
///
/// # Errors
/// Those of [`Reader::read`].
pub fn drive(reader: &mut dyn Reader) -> Result<Option<Tally>, TraceError> {
    let (mut sink, mut records) = (RecordSink::default(), 0);
    while reader.read(&mut sink)? {
        records += sink.records.len() as u64;
        assert_eq!(sink.understood, records, "every record is counted");
        sink.records.iter().for_each(|record| check_record(record, &sink.devices));
        check_malformed(&sink.malformed);
        sink.records.clear();
        if records > RECORDS_MAX {
            return Ok(None);
        }
    }
    assert!(!reader.read(&mut sink)?, "the end stays the end");
    assert!(sink.records.is_empty() && sink.understood == records, "nothing comes at the end");
    let (malformed, devices) = (sink.malformed.count, sink.devices.names().to_vec());
    Ok(Some(Tally { understood: records, malformed, devices }))
}

/// Checks that the reader alone and `open` have the same result.
fn same(alone: Result<Option<Tally>, TraceError>, whole: Result<Option<Tally>, InputError>) {
    match (alone, whole) {
        (Ok(Some(alone)), Ok(Some(whole))) => assert_eq!(alone, whole),
        (Ok(None), _) | (Ok(_), Ok(None)) => {}
        (Ok(_), Err(error)) => panic!("only the whole fails: {error}"),
        (Err(error), Ok(whole)) => assert!(whole.is_none(), "only the reader by itself fails: {error}"),
        (Err(alone), Err(whole)) => assert_eq!(format!("input: {alone}"), whole.to_string()),
    }
}

/// Checks what later stages rely on.
fn check_record(record: &Record, devices: &Devices) {
    assert!((record.device.0 as usize) < devices.names().len(), "its device has a name");
    assert!(record.offset.0.checked_add(record.length.0).is_some(), "it ends within the numbers");
}

fn check_malformed(malformed: &Malformed) {
    assert_eq!(malformed.examples.len() as u64, malformed.count.min(EXAMPLES_MAX), "the first few are shown");
    assert!(malformed.examples.iter().all(|example| !example.excerpt.contains(char::is_control)));
}

/// Checks that an error has a message, of readable length.
fn told(error: &InputError) {
    let text = error.to_string();
    assert!(!text.is_empty() && text.len() < 4096, "{text}");
}
