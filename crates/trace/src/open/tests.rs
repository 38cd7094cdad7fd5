//! Tests of [`open`], with small formats of their own.

use super::*;
use crate::error::SourcePlace;
use crate::formats::ClockOrigin;
use crate::reader::Reader;
use crate::record::RequestKind;
use crate::record_sink::RecordSink;
use crate::text::{TextFormat, TextLine, TextReader};
use scrubjay_core::units::{Bytes, Nanos};
use std::io::Write;

/// Lines of the form `arrival device response`.
struct Words;

impl TextFormat for Words {
    fn line(&mut self, line: &[u8], devices: &mut Devices) -> TextLine {
        let text = std::str::from_utf8(line).unwrap_or("");
        if text.starts_with('#') {
            return TextLine::Ignored;
        }
        let words: Vec<&str> = text.split(' ').collect();
        let [arrival, name, response] = words[..] else { return TextLine::Malformed("not three words") };
        let (Ok(arrival), Ok(response)) = (arrival.parse(), response.parse()) else {
            return TextLine::Malformed("no number");
        };
        let device = devices.id(name.as_bytes()).expect("few");
        let (arrival, response) = (Nanos(arrival), Some(Nanos(response)));
        TextLine::Record(Record {
            arrival,
            response,
            offset: Bytes(0),
            length: Bytes(512),
            device,
            kind: RequestKind::Read,
        })
    }
}

/// A reader that only returns one record, whose arrival is the number of parts it was given.
struct Counted(u64);

impl Reader for Counted {
    fn read(&mut self, sink: &mut RecordSink) -> Result<bool, TraceError> {
        if self.0 == 0 {
            return Ok(false);
        }
        let device = sink.devices.id(b"d").expect("few");
        let (arrival, length, offset) = (Nanos(self.0), Bytes(512), Bytes(0));
        sink.records.push(Record { arrival, response: None, offset, length, device, kind: RequestKind::Write });
        sink.understood += 1;
        self.0 = 0;
        Ok(true)
    }
}

const fn format(name: &'static str, clock: ClockOrigin, looks_like: fn(&[u8]) -> bool, open: FormatOpener) -> Format {
    Format { name, about: "", clock, looks_like, open, writer: None, adjustable_units: None }
}

fn words(source: Stream) -> Box<dyn Reader> {
    Box::new(TextReader::new(Words, source))
}

static FORMATS: [Format; 4] = [
    format("absolute", ClockOrigin::Absolute, |head| head.starts_with(b"#abs"), FormatOpener::Stream(words)),
    format("relative", ClockOrigin::Relative, |head| head.starts_with(b"#rel"), FormatOpener::Stream(words)),
    format(
        "parts",
        ClockOrigin::Absolute,
        |head| head[0] == b'P',
        FormatOpener::Shards(|all| Box::new(Counted(all.len() as u64))),
    ),
    format(
        "table",
        ClockOrigin::Absolute,
        |head| head[0] == b'T',
        FormatOpener::Seekable(|_| Ok(Box::new(Counted(7)))),
    ),
];

fn open_all(inputs: Vec<Input>) -> Result<Trace, InputError> {
    open_with(inputs, OpenOptions::default(), |head| FORMATS.iter().find(|format| (format.looks_like)(head)))
}

fn file(name: &str, text: impl Into<Vec<u8>>) -> Input {
    Input { name: name.to_owned(), source: TraceSource::File(Box::new(Cursor::new(text.into()))) }
}

fn pipe(name: &str, text: impl Into<Vec<u8>>) -> Input {
    Input { name: name.to_owned(), source: TraceSource::Pipe(Box::new(Cursor::new(text.into()))) }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// All records of a trace: arrival and device name.
fn read(trace: &mut Trace) -> Result<Vec<(u64, String)>, InputError> {
    let mut all = Vec::new();
    loop {
        // Who looks ahead, once or twice, changes nothing.
        let ahead = trace.peek()?.to_vec();
        assert_eq!(trace.peek()?, ahead);
        let Some(batch) = trace.next_batch()? else { break };
        assert_eq!(batch, ahead);
        assert!(!batch.is_empty(), "an empty batch");
        let batch = batch.to_vec();
        all.extend(batch.iter().map(|record| (record.arrival.0, trace.devices().name(record.device).to_owned())));
    }
    assert!(trace.next_batch()?.is_none(), "the end stays the end");
    Ok(all)
}

fn error(inputs: Vec<Input>) -> String {
    match open_all(inputs) {
        Err(error) => error.to_string(),
        Ok(mut trace) => read(&mut trace).expect_err("an error").to_string(),
    }
}

#[test]
fn the_reason_is_told_once() {
    let Err(error) = open_all(vec![file("noise", b"\x01\x02\xfe\xff\x03")]) else { panic!("noise is no trace") };
    assert!(error.to_string().starts_with("noise: not a trace in any format known"), "{error}");
    let source = std::error::Error::source(&error);
    assert!(source.is_none(), "who prints the error and its sources would print the reason twice: {source:?}");
}

fn owned(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    expected.iter().map(|&(arrival, name)| (arrival, name.to_owned())).collect()
}

#[test]
fn one_input_is_sorted_and_compression_does_not_matter() {
    let text = b"#abs\n5 a 1\n3 b 1\n4 a 1\n";
    for input in [file("x", *text), pipe("x", *text), file("x", gzip(text)), pipe("x", gzip(text))] {
        let mut trace = open_all(vec![input]).unwrap();
        assert_eq!((trace.format().name, trace.input_names()), ("absolute", &["x".to_owned()][..]));
        assert_eq!(read(&mut trace).unwrap(), owned(&[(3, "b"), (4, "a"), (5, "a")]));
    }
}

#[test]
fn absolute_clocks_are_merged() {
    let inputs =
        vec![file("x", "#abs\n1 a 1\n5 b 1\n9 a 1"), file("y", "#abs"), pipe("z", "#abs\n8 c 1\n5 a 1\n0 a 1")];
    let mut trace = open_all(inputs).unwrap();
    let expected = owned(&[(0, "a"), (1, "a"), (5, "b"), (5, "a"), (8, "c"), (9, "a")]);
    assert_eq!(read(&mut trace).unwrap(), expected);
    assert_eq!(trace.devices().names().len(), 3);
}

#[test]
fn merging_many_long_inputs_is_sorting_them_all() {
    let arrivals = |input: u64| (0..30_000u64).map(move |i| i * (input + 3) % 90_001 / 2 + i);
    let text = |input| {
        let lines = arrivals(input).map(|arrival| format!("{arrival} d{input} 1\n"));
        format!("#abs\n{}", lines.collect::<String>())
    };
    let mut trace = open_all((0..5).map(|input| file("x", text(input))).collect()).unwrap();
    let mut expected: Vec<(u64, String)> =
        (0..5).flat_map(|input| arrivals(input).map(move |arrival| (arrival, format!("d{input}")))).collect();
    expected.sort();
    assert_eq!(read(&mut trace).unwrap(), expected);
}

#[test]
fn relative_clocks_follow_each_other() {
    let inputs =
        vec![file("x", "#rel\n1 a 9\n5 b 1"), file("y", "#rel"), file("z", "#rel\n3 c 1"), file("w", "#rel\n0 a 1")];
    let expected = owned(&[(1, "a"), (5, "b"), (13, "c"), (14, "a")]);
    assert_eq!(read(&mut open_all(inputs).unwrap()).unwrap(), expected);
}

#[test]
fn parts_are_one_trace_and_tables_need_a_file() {
    let parts = vec![file("x", "P"), pipe("y", "P"), pipe("z", gzip(b"P"))];
    assert_eq!(read(&mut open_all(parts).unwrap()).unwrap(), owned(&[(3, "d")]));
    assert_eq!(read(&mut open_all(vec![file("x", "T")]).unwrap()).unwrap(), owned(&[(7, "d")]));
    let expected = "x: table needs a plain file, not a pipe or compressed data";
    assert_eq!(error(vec![pipe("x", "T")]), expected);
    assert_eq!(error(vec![file("x", gzip(b"T"))]), expected);
}

#[test]
fn errors_name_their_input() {
    assert_eq!(error(vec![]), "no trace is named");
    assert_eq!(error(vec![file("x", "#abs"), file("y", "")]), "y: is empty");
    assert_eq!(error(vec![pipe("y", gzip(b""))]), "y: is empty");
    assert_eq!(
        error(vec![file("x", "hm")]),
        "x: not a trace in any format known (`scrubjay trace formats`): it looks like text without columns"
    );
    let mixed = vec![file("x", "#abs"), file("y", "#rel")];
    assert_eq!(error(mixed), "y: is in format relative, but x is in format absolute");
    let cut = gzip(b"#abs\n1 a 1\n");
    let cut = cut[..cut.len() - 4].to_vec();
    assert_eq!(error(vec![pipe("x", cut)]), "x: the gzip data is cut off");
    let wrong = error(vec![file("x", "#abs\n1 a 1\n"), file("y", "#abs\nwhat\n")]);
    assert!(wrong.starts_with("y: 1 of 1 records cannot be understood; the first at line 2"), "{wrong}");
}

#[test]
fn out_of_order_names_its_input() {
    let sorted: String = (0..600_000).map(|i| format!("{} a 1\n", 5_000_000_000u64 + i)).collect();
    let late = error(vec![file("x", format!("#abs\n{sorted}7 a 1\n"))]);
    assert!(late.starts_with("x: record 600001 arrives 5.000"), "{late}");
}

#[test]
fn malformed_records_of_several_inputs_are_counted_together() {
    let lines: String = (0..200).map(|i| format!("{i} a 1\n")).collect();
    let inputs = vec![file("x", format!("#abs\n{lines}oops\n")), file("y", format!("#abs\n{lines}hm\n"))];
    let mut trace = open_all(inputs).unwrap();
    read(&mut trace).unwrap();
    let examples: Vec<(SourcePlace, &str)> =
        trace.malformed().examples.iter().map(|example| (example.place, example.excerpt.as_str())).collect();
    assert_eq!(trace.malformed().count, 2);
    assert_eq!(examples, [(SourcePlace::Line(202), "x: oops"), (SourcePlace::Line(202), "y: hm")]);
}

#[test]
fn no_records_are_no_error() {
    for names in [&["x"][..], &["x", "y"]] {
        let mut trace = open_all(names.iter().map(|name| file(name, "#abs\n")).collect()).unwrap();
        assert_eq!(read(&mut trace).unwrap(), []);
    }
}

/// A file in the form of MQSim by a program that counts microseconds and bytes.
#[test]
fn plain_numbers_are_read_in_the_given_units() {
    let text = b"1000 0 4096 8192 1\n3000 0 0 4096 0\n";
    let trace = |options: OpenOptions| {
        let mut trace =
            super::open(vec![Input { name: "m".into(), source: TraceSource::Pipe(Box::new(&text[..])) }], options)?;
        trace.next_batch()?;
        let found = trace.records().iter().map(|record| (record.arrival.0, record.offset.0, record.length.0));
        Ok::<_, InputError>(found.collect::<Vec<_>>())
    };
    assert_eq!(trace(OpenOptions::default()).unwrap(), [(1000, 4096 * 512, 8192 * 512), (3000, 0, 4096 * 512)]);
    let micros = OpenOptions { time_unit: Some(Nanos(1000)), block: Some(Bytes(1)), ..OpenOptions::default() };
    assert_eq!(trace(micros).unwrap(), [(1_000_000, 4096, 8192), (3_000_000, 0, 4096)]);
    let huge = OpenOptions { time_unit: Some(Nanos(u64::MAX)), ..OpenOptions::default() };
    assert!(trace(huge).unwrap_err().to_string().contains("row 1: too large in these units"));
    let msr = OpenOptions { format: crate::formats::by_name("msr"), ..micros };
    assert!(trace(msr).unwrap_err().to_string().contains("only those of mqsim and disksim can be set"));
}
