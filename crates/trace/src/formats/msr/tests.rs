//! Tests of valid and unusual lines.

use super::*;
use crate::formats::by_name;
use proptest::prelude::*;
use std::io::Cursor;

const ROW: &str = "128166385295514663,hm,0,Write,9056014336,2048,2833\n";

fn fast(text: &[u8]) -> RecordSink {
    let mut record_sink = RecordSink::default();
    let lines = Msr::default().lines(text, 1, &mut record_sink);
    assert_eq!(lines, text.iter().filter(|&&byte| byte == b'\n').count() as u64);
    record_sink
}

/// The result of the trait's own method, which uses only the plain path.
fn plain(text: &[u8]) -> RecordSink {
    struct Plain(Msr);
    impl TextFormat for Plain {
        fn line(&mut self, line: &[u8], devices: &mut Devices) -> TextLine {
            self.0.line(line, devices)
        }
    }
    let mut record_sink = RecordSink::default();
    Plain(Msr::default()).lines(text, 1, &mut record_sink);
    record_sink
}

fn assert_same(text: &[u8]) {
    let (fast, plain) = (fast(text), plain(text));
    assert_eq!(fast.records, plain.records);
    assert_eq!(fast.devices.names(), plain.devices.names());
    assert_eq!((fast.understood, fast.malformed.count), (plain.understood, plain.malformed.count));
    assert_eq!(fast.malformed.examples, plain.malformed.examples);
}

#[test]
fn the_readme_s_row() {
    let record_sink = fast(ROW.as_bytes());
    let record = Record {
        arrival: Nanos(1_172_164_929_551_466_300), // 2007-02-22 17:22:09.5514663 UTC
        response: Some(Nanos(283_300)),
        offset: Bytes(9_056_014_336),
        length: Bytes(2048),
        device: DeviceId(0),
        kind: RequestKind::Write,
    };
    assert_eq!((&record_sink.records[..], record_sink.devices.name(DeviceId(0))), (&[record][..], "hm_0"));
}

#[test]
fn ordinary_rows_take_the_fast_path() {
    let mut msr = Msr::default();
    let mut devices = Devices::default();
    for name in ["hm,0", "rsrch,2", "a-host-of-13-,1"] {
        let row = format!("128166385295514663,{name},Write,999999999999999,65536,0\r\n");
        msr.line(row.trim_end().as_bytes(), &mut devices);
    }
    for (name, device, length) in [("hm,0", 0, "1"), ("rsrch,2", 1, "9999999"), ("hm,0", 0, "12345678")] {
        for (kind, offset) in [("Read", "0"), ("Write", "12345678"), ("Read", "999999999999999")] {
            let row = format!("128166385295514663,{name},{kind},{offset},{length},2833\n");
            let padded = format!("{row:<WINDOW$}");
            let (record, end) = msr.fast(padded.as_bytes().first_chunk().unwrap()).expect(&row);
            assert_eq!((record.device, end), (DeviceId(device), row.len()));
            assert_eq!(TextLine::Record(record), msr.line(row.trim_end().as_bytes(), &mut devices));
        }
    }
}

#[test]
fn malformed_rows_get_the_reason() {
    for (line, reason) in [
        ("116444735999999999,hm,0,Read,0,512,1", "the time is before 1970"),
        ("300912176737095517,hm,0,Read,0,512,1", "the time is beyond 2554"),
        ("1e17,hm,0,Read,0,512,1", "the time is no number"),
        ("128166385295514663,,0,Read,0,512,1", "no host name and disk number"),
        ("128166385295514663,hm,x,Read,0,512,1", "no host name and disk number"),
        ("128166385295514663,hm,0,read,0,512,1", "the type is neither Read nor Write"),
        ("128166385295514663,hm,0,Read,-1,512,1", "the offset is no number"),
        ("128166385295514663,hm,0,Read,0,,1", "the size is no number"),
        ("128166385295514663,hm,0,Read,18446744073709551615,1,1", "the request ends beyond 16 EiB"),
        ("128166385295514663,hm,0,Read,0,512,", "the response is no time"),
        ("128166385295514663,hm,0,Read,0,512,184467440737095517", "the response is no time"),
        ("128166385295514663,hm,0,Read,0,512", "not seven columns"),
        ("128166385295514663,hm,0,Read,0,512,1,2", "not seven columns"),
    ] {
        assert_eq!(
            Msr::default().line(line.as_bytes(), &mut Devices::default()),
            TextLine::Malformed(reason),
            "{line}"
        );
        // Among good rows, so that the fast path encounters it.
        let text = format!("{}{line}\n{}", ROW, ROW.repeat(4));
        assert_same(text.as_bytes());
        assert_eq!(fast(text.as_bytes()).malformed.examples[0].place, SourcePlace::Line(2));
    }
    let extremes = "116444736000000000,hm,0,Read,0,0,0\r\n300912176737095516,a_b,07,Read,18446744073709551615,0,0\n";
    let record_sink = fast(extremes.as_bytes());
    assert_eq!((record_sink.records[0].arrival, record_sink.records[0].response), (Nanos(0), None), "0 is unknown");
    assert_eq!(record_sink.records[1].arrival, Nanos(18_446_744_073_709_551_600));
    assert_eq!(record_sink.devices.names(), ["hm_0", "a_b_07"]);
    assert_eq!(fast(b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\n").malformed.count, 0);
}

/// A row: often a good one, sometimes with something wrong in it.
fn rows() -> impl Strategy<Value = Vec<u8>> {
    let time = prop_oneof![8 => 116_444_736_000_000_000u64..=300_912_176_737_095_516, 1 => any::<u64>()];
    let names = ["usr,1", "hm,0", "prxy,10", "a-host-of-13-,1", "a-host-of-14-b,1", ",1", "x,", "web,2,"];
    let name = prop::sample::select(names.to_vec());
    let kind = prop::sample::select(vec!["Read", "Read", "Write", "Write", "Write", "Flush"]);
    let number = (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift);
    let numbers = (number.clone(), number.clone(), number);
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n", "\r\r\n", ",\n", " \n"]);
    let damage = prop::option::weighted(0.2, (any::<prop::sample::Index>(), any::<u8>()));
    (time, name, kind, numbers, end, damage).prop_map(|(time, name, kind, (offset, size, response), end, damage)| {
        let mut row = format!("{time},{name},{kind},{offset},{size},{response}{end}").into_bytes();
        if let Some((at, byte)) = damage {
            let at = at.index(row.len());
            row[at] = byte;
        }
        row
    })
}

proptest! {
    #[test]
    fn both_paths_agree_on_rows(rows in prop::collection::vec(rows(), 1..40)) {
        let mut text = rows.concat();
        text.push(b'\n');
        assert_same(&text);
    }

    #[test]
    fn both_paths_agree_on_noise(noise in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut text = ROW.as_bytes().to_vec();
        text.extend(noise);
        text.push(b'\n');
        assert_same(&text);
    }

    #[test]
    fn both_paths_agree_on_digits_and_commas(
        noise in "[0-9,]{0,40}(,usr,1,(Read|Write),[0-9,\r\n]{0,99}){0,9}"
    ) {
        assert_same(format!("128166385295514663,usr,1,Read,0,0,0\n{noise}\n").as_bytes());
    }

    #[test]
    fn written_records_are_read_back(
        times in prop::collection::vec((any::<u64>(), prop::option::of(any::<u64>())), 200),
        places in prop::collection::vec((any::<u64>(), any::<u32>(), 0usize..4, 0usize..6), 1..200),
    ) {
        let names = ["usr_1", "sda", "8,16", "_3", "", "a_b_007"];
        let read_back = ["usr_1", "sda_0", "8-16_0", "_3_0", "unknown_0", "a_b_007"];
        let mut devices = Devices::default();
        let ids = names.map(|name| devices.id(name.as_bytes()).unwrap());
        let kinds = [RequestKind::Read, RequestKind::Write, RequestKind::Discard, RequestKind::Flush];
        let mut records = Vec::new();
        for (&(arrival, response), &(offset, length, kind, name)) in times.iter().zip(&places) {
            let (arrival, response) = (Nanos(arrival), response.map(Nanos));
            let (offset, length) = (Bytes(offset >> 1), Bytes(u64::from(length)));
            records.push(Record { arrival, response, offset, length, device: ids[name], kind: kinds[kind] });
        }
        let mut text = written(&records, &devices);
        text.push(b'\n');
        let record_sink = fast(&text);
        let is_kept = |record: &&Record| matches!(record.kind, RequestKind::Read | RequestKind::Write);
        let kept: Vec<&Record> = records.iter().filter(is_kept).collect();
        prop_assert_eq!(record_sink.records.len(), kept.len());
        for (read, record) in record_sink.records.iter().zip(kept) {
            prop_assert_eq!(read.arrival.0, record.arrival.0 / 100 * 100);
            let response = record.response.map_or(0, |response| response.0 / 100 * 100);
            prop_assert_eq!(read.response, (response > 0).then_some(Nanos(response)));
            prop_assert_eq!((read.offset, read.length, read.kind), (record.offset, record.length, record.kind));
            prop_assert_eq!(record_sink.devices.name(read.device), read_back[record.device.0 as usize]);
        }
    }
}

/// A sink whose bytes can be read afterwards.
#[derive(Clone, Default)]
struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn written(records: &[Record], devices: &Devices) -> Vec<u8> {
    let sink = Shared::default();
    let mut writer = writer(Box::new(sink.clone()));
    writer.write(records, devices).unwrap();
    writer.finish().unwrap();
    sink.0.lock().unwrap().clone()
}

#[test]
fn a_trace_of_msr_is_written_as_it_was() {
    let mut text = Vec::new();
    for i in 0..20_000u64 {
        let (host, kind) = (["usr,1", "src1,0", "rsrch,2"][i as usize % 3], ["Read", "Write"][i as usize / 2 % 2]);
        let (time, offset, response) = (128_166_372_003_061_629 + i * 977, i * i * 512, (i * 7919) % 10_000_019);
        text.extend(format!("{time},{host},{kind},{offset},{},{response}\n", 512 << (i % 8)).bytes());
    }
    let mut reader = (by_stream("msr"))(Box::new(Cursor::new(text.clone())));
    let mut record_sink = RecordSink::default();
    while reader.read(&mut record_sink).unwrap() {}
    assert_eq!(record_sink.understood, 20_000);
    assert!(written(&record_sink.records, &record_sink.devices) == text, "other bytes");
}

fn by_stream(name: &str) -> fn(Stream) -> Box<dyn Reader> {
    match by_name(name).expect("a row of the table").open {
        crate::formats::FormatOpener::Stream(open) => open,
        _ => panic!("it is a stream"),
    }
}

#[test]
fn rows_of_other_formats_are_not_recognised() {
    assert!(looks_like(ROW.repeat(3).as_bytes()));
    assert!(looks_like(format!("{ROW}{}", &ROW[..20]).as_bytes()), "the head ends in the midst of a line");
    assert!(looks_like(format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n{ROW}").as_bytes()));
    for other in ["", "\n", "Timestamp,Response,IOType,LUN,Offset,Size\n", "0,303567,3584,w,0.000000\n"] {
        assert!(!looks_like(other.as_bytes()), "{other}");
    }
}
