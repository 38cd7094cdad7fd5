//! The text that `blkparse` prints by default.
//!
//! ```text
//! maj,min cpu   seq    seconds.ns   pid  action RWBS sector + sectors [process]
//!   8,0    1        1     0.000000184 21279  Q  RA 2348060440 + 8 [fio]
//!   8,0    1        7     0.000056992     0  C  RA 2348060440 + 8 [0]
//! ```
//!
//! A request arrives when it is queued (Q; in a trace without that, when it is issued, D); its response time lasts until the completion (C) of the same device, kind
//! and sectors. A request that was merged with another (M behind it, F before it) is part of that one. Other actions
//! are skipped, as is the summary at the end. Sectors have 512 bytes.
//!
//! Source: `process_default` in blktrace's `blkparse_fmt.c`; RWBS: `blk_fill_rwbs` in Linux's `kernel/trace/blktrace.c`.

use crate::fields::{SECONDS, number, sectors, time, words};
use crate::lifecycle::{LifeEvent, Lifecycle};
use crate::pairing::MergeSide;
use crate::reader::{OutputStream, Reader, Stream, Writer};
use crate::record::{DeviceId, Record, RequestKind};
use crate::record_sink::{Devices, RecordSink};
use crate::text::{TextFormat, TextLine, TextReader};
use crate::writing::{FormatWriter, Loss};
use scrubjay_core::units::{Bytes, Nanos, SECTOR_BYTES};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

/// The number of lines by which the format is told from others.
const LINES_JUDGED: usize = 16;
/// The number of completions held back until their time, at most: readers that wait for completions stop waiting after
/// as many.
const COMPLETIONS_MAX: usize = 1 << 16;
/// The beginnings of lines of the summary and of `blkparse`'s own messages.
const SUMMARY: [&[u8]; 5] = [b"CPU", b"Total (", b"Throughput (", b"Events (", b"Input file "];

/// The writer of the format.
pub(super) const WRITER: FormatWriter = FormatWriter {
    begin: writer,
    endings: &["blkparse", "txt"],
    is_compressed: false,
    loses_in_words: "bytes beyond whole 512-byte sectors; ranges of flushes; which of overlapping requests in flight was completed first; names of devices other than MAJOR,MINOR",
    counted_losses: &[
        Loss {
            fate: "made whole 512-byte sectors",
            is_left_out: false,
            concerns: |record| {
                record.kind != RequestKind::Flush && !(record.offset.0 | record.length.0).is_multiple_of(SECTOR_BYTES)
            },
        },
        Loss {
            fate: "of flushes without their range",
            is_left_out: false,
            concerns: |record| record.kind == RequestKind::Flush && record.offset.0 | record.length.0 != 0,
        },
    ],
    keeps_name: |name| {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        name.split_once(',').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
    },
};

/// Whether the first lines are events.
pub(super) fn looks_like(head: &[u8]) -> bool {
    let whole = head.iter().rposition(|&byte| byte == b'\n').map_or(head, |at| &head[..at]);
    let lines = whole.split(|&byte| byte == b'\n').skip_while(|line| is_summary(line));
    let mut events = lines.take_while(|line| !is_summary(line)).take(LINES_JUDGED).map(BlkparseLine::parse).peekable();
    events.peek().is_some() && events.all(|event| event.is_ok())
}

/// A reader of the format.
pub(super) fn open(source: Stream) -> Box<dyn Reader> {
    Box::new(TextReader::new(Blkparse::default(), source))
}

/// A writer of the format.
pub(super) fn writer(sink: OutputStream) -> Box<dyn Writer> {
    Box::new(BlkparseWriter { sink, completions: BinaryHeap::new(), events: 0, names: Vec::new() })
}

/// The fields of a line that matter.
struct BlkparseLine<'a> {
    device: &'a [u8],
    at: Nanos,
    action: &'a [u8],
    rwbs: &'a [u8],
    /// Offset and length; `None`: the action has none (a plug, a message, a SCSI command).
    range: Option<(Bytes, Bytes)>,
}

impl<'a> BlkparseLine<'a> {
    fn parse(line: &'a [u8]) -> Result<BlkparseLine<'a>, &'static str> {
        let mut words = words(line);
        let mut word = || words.next().unwrap_or_default();
        let device = word();
        if numbers(device).is_none() {
            return Err("no device at its beginning");
        }
        number(word()).ok_or("the CPU is no number")?;
        number(word()).ok_or("the sequence is no number")?;
        let at = time(word(), SECONDS).ok_or("the time is no time")?;
        number(word()).ok_or("the process is no number")?;
        let (action, rwbs) = (word(), word());
        if action.is_empty() || rwbs.is_empty() {
            return Err("no action");
        }
        let (sector, plus, count) = (word(), word(), word());
        let range = if plus == b"+" {
            let sector = number(sector).ok_or("the sector is no number")?;
            let count = number(count).ok_or("the number of sectors is none")?;
            Some(sectors(sector, count).ok_or("the range is too large")?)
        } else if rwbs.contains(&b'F') {
            // Newer versions omit zeros: `Q FWS [jbd2]`, `C FWS 0 [0]`.
            Some((Bytes(0), Bytes(0)))
        } else {
            None
        };
        Ok(BlkparseLine { device, at, action, rwbs, range })
    }

    /// The kind by RWBS; `None`: another kind (`N`).
    fn kind(&self) -> Option<RequestKind> {
        let has = |letter: u8| self.rwbs.contains(&letter);
        let is_empty = self.range.is_none_or(|(_, length)| length == Bytes(0));
        // F is a flush before a write, or after it (FUA); alone, or with an empty write, the request is only a flush.
        let is_flush = has(b'F') && (is_empty || !(has(b'W') || has(b'R')));
        match () {
            () if has(b'D') => Some(RequestKind::Discard),
            () if is_flush => Some(RequestKind::Flush),
            () if has(b'W') => Some(RequestKind::Write),
            () if has(b'R') => Some(RequestKind::Read),
            () => None,
        }
    }
}

#[derive(Default)]
struct Blkparse {
    life: Lifecycle,
    /// Records that were emitted since the last block of lines.
    paired: Vec<Record>,
    is_in_summary: bool,
}

impl Blkparse {
    fn event(&mut self, line: &[u8], devices: &mut Devices) -> Result<(), &'static str> {
        let event = BlkparseLine::parse(line)?;
        let (Some(kind), Some((offset, length)), b"Q" | b"D" | b"M" | b"F" | b"C") =
            (event.kind(), event.range, event.action)
        else {
            return Ok(());
        };
        let device = devices.id(event.device).ok_or("too many devices")?;
        let record = Record { arrival: event.at, response: None, offset, length, device, kind };
        let event = match event.action {
            b"M" => LifeEvent::Merged(device, kind, offset, length, MergeSide::Behind),
            b"F" => LifeEvent::Merged(device, kind, offset, length, MergeSide::Before),
            b"C" => LifeEvent::Completed(device, kind, offset, length, event.at),
            b"D" => LifeEvent::Issued(record),
            _ => LifeEvent::Queued(record),
        };
        self.life.take(event, &mut self.paired);
        Ok(())
    }
}

impl TextFormat for Blkparse {
    fn line(&mut self, line: &[u8], devices: &mut Devices) -> TextLine {
        if is_summary(line) {
            self.is_in_summary = !line.trim_ascii().is_empty() || self.is_in_summary;
            return TextLine::Ignored;
        }
        match self.event(line, devices) {
            Ok(()) => self.is_in_summary = false,
            Err(_) if self.is_in_summary => {}
            Err(reason) => return TextLine::Malformed(reason),
        }
        TextLine::Ignored
    }

    fn pass_on(&mut self, is_ended: bool, record_sink: &mut RecordSink) {
        if is_ended {
            self.life.drain(&mut self.paired);
            self.life.note(record_sink);
        }
        record_sink.understood += self.paired.len() as u64;
        record_sink.records.append(&mut self.paired);
    }
}

fn is_summary(line: &[u8]) -> bool {
    line.trim_ascii().is_empty() || SUMMARY.iter().any(|words| line.starts_with(words))
}

/// A device's major and minor number.
fn numbers(name: &[u8]) -> Option<(u64, u64)> {
    let comma = name.iter().position(|&byte| byte == b',')?;
    Some((number(&name[..comma])?, number(&name[comma + 1..])?))
}

struct BlkparseWriter {
    sink: OutputStream,
    /// Completions after the arrival of the last request.
    completions: BinaryHeap<Reverse<BlkparseCompletion>>,
    /// The number of the last event.
    events: u64,
    /// The devices' major and minor numbers, by id.
    names: Vec<(u64, u64)>,
}

/// A completion; ordered by time, then by the order of requests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BlkparseCompletion {
    at: Nanos,
    /// The event number of the request.
    queued: u64,
    request: BlkparseRequest,
}

/// The fields that both events of a request have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BlkparseRequest {
    device: DeviceId,
    rwbs: &'static str,
    sector: u64,
    count: u64,
}

impl BlkparseRequest {
    fn of(record: &Record) -> BlkparseRequest {
        let (device, sector, count) = (record.device, record.offset.0 / SECTOR_BYTES, record.length.0 / SECTOR_BYTES);
        match record.kind {
            RequestKind::Read => BlkparseRequest { device, rwbs: "R", sector, count },
            RequestKind::Write => BlkparseRequest { device, rwbs: "W", sector, count },
            RequestKind::Discard => BlkparseRequest { device, rwbs: "D", sector, count },
            RequestKind::Flush => BlkparseRequest { device, rwbs: "F", sector: 0, count: 0 },
        }
    }
}

impl BlkparseWriter {
    fn event(&mut self, at: Nanos, action: &str, request: BlkparseRequest, by: &str) -> io::Result<()> {
        let (major, minor) = self.names[request.device.0 as usize];
        let (seconds, nanos) = (at.0 / 1_000_000_000, at.0 % 1_000_000_000);
        let BlkparseRequest { rwbs, sector, count, .. } = request;
        self.events += 1;
        let number = self.events;
        writeln!(
            self.sink,
            "{major:3},{minor:<3}  0 {number:8} {seconds:5}.{nanos:09}     0 {action:>2} {rwbs:>3} {sector} + {count} [{by}]"
        )
    }

    /// Writes completions, the earliest first: those up to `until`, and those beyond [`COMPLETIONS_MAX`].
    fn complete(&mut self, until: Nanos) -> io::Result<()> {
        while let Some(&Reverse(done)) = self.completions.peek()
            && (done.at <= until || self.completions.len() > COMPLETIONS_MAX)
        {
            self.completions.pop();
            self.event(done.at, "C", done.request, "0")?;
        }
        Ok(())
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.complete(record.arrival)?;
        let request = BlkparseRequest::of(record);
        self.event(record.arrival, "Q", request, "scrubjay")?;
        if let Some(response) = record.response {
            let at = record.arrival.saturating_add(response);
            self.completions.push(Reverse(BlkparseCompletion { at, queued: self.events, request }));
        }
        Ok(())
    }
}

impl Writer for BlkparseWriter {
    fn write(&mut self, records: &[Record], devices: &Devices) -> io::Result<()> {
        // No block device has major number 0, so it is used for devices with other names.
        let known = self.names.len();
        let names = devices.names()[known..].iter().zip(known as u64..);
        self.names.extend(names.map(|(name, id)| numbers(name.as_bytes()).unwrap_or((0, id))));
        records.iter().try_for_each(|record| self.record(record))
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.complete(Nanos::MAX)?;
        self.sink.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_sink::ArrivalSource;
    use crate::test_support::{assert_no_panic, read, written};
    use proptest::prelude::*;

    const SAMPLE: &str = "\
259,0    1        1     0.000000000 21279  A  RA 2348060440 + 8 <- (259,3) 2345510680
259,0    1        2     0.000000184 21279  Q  RA 2348060440 + 8 [(null)]
259,0    1        3     0.000001100 21279  P   N [(null)]
259,0    1        4     0.000001290 21279  U   N [(null)] 1
  8,16   3        5     0.000001300     7  Q FWS [jbd2/sdb 1]
  8,16   3        6     0.000001400     7  Q WFS 16 + 8 [a b]
  8,16   3        7     0.000001400     7  Q  DS 4096 + 1024 [a b]
  8,16   3        8     0.000001500     7  m   N cfq workload slice
  8,16   3        9     0.000001600     7  Q   R 36 (12 00 00 00 24 00 ..) [smartctl]
  8,16   3       10     0.000002300     0  C FWS 0 [0]
259,0    1        5     0.000056992     0  C  RA 2348060440 + 8 [0]
  8,16   3       11     0.000062300     0  C  WS 16 + 8 [0]
CPU1 (s):
 Reads Queued:         963,     3852KiB\t Writes Queued:           0,        0KiB

Throughput (R/W): 11165KiB/s / 0KiB/s
Events (s): 6741 entries
Skips: 0 forward (0 -   0.0%)
Input file s.blktrace.1 added
";

    #[test]
    fn queued_and_completed_are_joined() {
        let record_sink = read(open, SAMPLE).unwrap();
        assert_eq!((record_sink.understood, record_sink.malformed.count), (4, 0));
        assert_eq!(record_sink.devices.names(), ["259,0", "8,16"]);
        let [first, second, third, fourth] = record_sink.records[..] else { panic!("four requests") };
        assert_eq!((first.arrival, first.response), (Nanos(184), Some(Nanos(56_808))));
        assert_eq!((first.offset, first.length), (Bytes(2_348_060_440 * 512), Bytes(4096)));
        assert_eq!((second.kind, second.response), (RequestKind::Flush, Some(Nanos(1_000))));
        assert_eq!((third.kind, third.response), (RequestKind::Write, Some(Nanos(60_900))), "FUA is a write");
        assert_eq!((fourth.kind, fourth.response, fourth.length), (RequestKind::Discard, None, Bytes(1024 * 512)));
    }

    #[test]
    fn without_queued_requests_those_issued_are_taken() {
        let without = SAMPLE.lines().filter(|line| !line.contains("  Q ")).collect::<Vec<_>>().join("\n") + "\n";
        assert!(read(open, without).unwrap_err().to_string().contains("completions only"));
        let issued = SAMPLE.replace("  Q ", "  D ");
        let sink = read(open, issued).unwrap();
        assert_eq!((sink.understood, sink.arrivals), (4, ArrivalSource::Issued));
        assert_eq!(sink.records[0].response, Some(Nanos(56_808)));
    }

    #[test]
    fn merged_requests_are_read_as_one() {
        let event = |at: u64, action: &str, range: &str| format!("8,0 1 1 0.{at:09} 7 {action} R {range} [dd]\n");
        let lines = [
            event(0, "Q", "64 + 8"),
            event(10, "G", "64 + 8"),
            event(20, "Q", "72 + 8"),
            event(21, "M", "72 + 8"),
            event(30, "Q", "56 + 8"),
            event(31, "F", "56 + 8"),
            event(40, "D", "56 + 24"),
            event(90, "C", "56 + 24"),
        ];
        let record_sink = read(open, lines.concat()).unwrap();
        let [record] = record_sink.records[..] else { panic!("{:?}", record_sink.records) };
        assert_eq!((record.arrival, record.response), (Nanos(0), Some(Nanos(90))));
        assert_eq!((record.offset, record.length), (Bytes(56 * 512), Bytes(24 * 512)));
    }

    #[test]
    fn lines_that_do_not_fit_are_malformed() {
        for line in [
            "8,0 1 1 0.0 7 Q",
            "8.0 1 1 0.0 7 Q R 1 + 8 [a]",
            "8,0 1 1 x 7 Q R 1 + 8 [a]",
            "8,0 1 1 18446744074.0 7 Q R 1 + 8 [a]",
            "8,0 1 1 0.0 7 Q R 1 + x [a]",
            "8,0 1 1 0.0 7 Q R 36028797018963968 + 8 [a]",
        ] {
            let judged = Blkparse::default().line(line.as_bytes(), &mut Devices::default());
            assert!(matches!(judged, TextLine::Malformed(_)), "{line}");
        }
    }

    #[test]
    fn records_are_written_as_blkparse_prints_them() {
        let mut devices = Devices::default();
        let (disk, other) = (devices.id(b"8,0").unwrap(), devices.id(b"sdb").unwrap());
        let at = |arrival, response: Option<u64>, device, kind| {
            let (arrival, response) = (Nanos(arrival), response.map(Nanos));
            Record { arrival, response, offset: Bytes(4096), length: Bytes(512), device, kind }
        };
        let records = [
            at(1_000_000_000, Some(1_500), disk, RequestKind::Write),
            at(1_000_001_000, Some(100), other, RequestKind::Read),
            at(1_000_001_200, None, disk, RequestKind::Flush),
        ];
        assert_eq!(
            written(writer, &records, &devices),
            "  8,0    0        1     1.000000000     0  Q   W 8 + 1 [scrubjay]
  0,1    0        2     1.000001000     0  Q   R 8 + 1 [scrubjay]
  0,1    0        3     1.000001100     0  C   R 8 + 1 [0]
  8,0    0        4     1.000001200     0  Q   F 0 + 0 [scrubjay]
  8,0    0        5     1.000001500     0  C   W 8 + 1 [0]
"
        );
    }

    #[test]
    fn the_sample_is_recognised() {
        assert!(looks_like(SAMPLE.as_bytes()));
    }

    #[test]
    fn no_bytes_make_the_reader_panic() {
        assert_no_panic(open, looks_like, SAMPLE);
    }

    /// Requests whose ranges do not overlap while in flight: overlapping ones cannot be told apart for certain.
    fn records() -> impl Strategy<Value = Vec<Record>> {
        let kind = prop_oneof![
            Just(RequestKind::Read),
            Just(RequestKind::Write),
            Just(RequestKind::Discard),
            Just(RequestKind::Flush)
        ];
        let record = (0..2_000u64, prop::option::of(0..5_000u64), 0..4u64, 1..16u64, 0..3u32, kind);
        prop::collection::vec(record, 0..40).prop_map(|records| {
            let mut arrival = 1_000_000_000u64;
            let mut busy: Vec<(DeviceId, RequestKind, u64, u64)> = Vec::new();
            let mut free = 4;
            let record =
                |(gap, response, place, sectors, device, kind): (u64, Option<u64>, u64, u64, u32, RequestKind)| {
                    arrival += gap;
                    let device = DeviceId(device);
                    let is_taken = |kind: RequestKind, place: u64| {
                        busy.iter().any(|&(d, k, p, until)| (d, k, p) == (device, kind, place) && until > arrival)
                    };
                    let (kind, place) = match kind {
                        RequestKind::Flush if !is_taken(kind, 0) => (kind, 0),
                        RequestKind::Flush => (RequestKind::Read, free),
                        kind if is_taken(kind, place) => (kind, free),
                        kind => (kind, place),
                    };
                    free += 1;
                    busy.push((device, kind, place, response.map_or(u64::MAX, |response| arrival + response + 1)));
                    let (offset, length) = if kind == RequestKind::Flush { (0, 0) } else { (place * 16, sectors) };
                    let (offset, length) = sectors_of(offset, length);
                    Record { arrival: Nanos(arrival), response: response.map(Nanos), offset, length, device, kind }
                };
            records.into_iter().map(record).collect()
        })
    }

    fn sectors_of(sector: u64, count: u64) -> (Bytes, Bytes) {
        sectors(sector, count).expect("small")
    }

    proptest! {
        #[test]
        fn written_records_are_read_back(records in records()) {
            let mut devices = Devices::default();
            for name in ["8,0", "259,3", "0,77"] {
                devices.id(name.as_bytes()).unwrap();
            }
            let record_sink = read(open, written(writer, &records, &devices)).unwrap();
            prop_assert_eq!(record_sink.malformed.count, 0);
            let named = |read: &Record| Record { device: devices.find(record_sink.devices.name(read.device)).unwrap(), ..*read };
            prop_assert_eq!(record_sink.records.iter().map(named).collect::<Vec<_>>(), records);
        }
    }
}
