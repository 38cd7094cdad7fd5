//! Linux blktrace, binary, as `blktrace` writes it, one file per CPU, in either endianness; with response times.
//!
//! Each event is the kernel's `struct blk_io_trace` of 48 bytes (`include/uapi/linux/blktrace_api.h`), followed by as
//! many bytes of its own as it announces. The files are merged by time. A request arrives when it is queued (Q; in a trace
//! without that, when it is issued, D) and responds when it is completed (C); one that was merged with another (M behind it, F
//! before it) is part of that one. [`Pairing`](crate::pairing::Pairing) finds the completion of each request even if requests were split (X) or requeued; those events
//! themselves, and all others, are skipped. A device is named `major,minor`.
//!
//! Times count from the start of the trace, as `blkparse` shows them: the clock is the traced host's time since boot,
//! and the first request is put at zero.

use crate::binary::BinarySource;
use crate::error::TraceError;
use crate::lifecycle::{LifeEvent, Lifecycle};
use crate::pairing::MergeSide;
use crate::reader::{Reader, Stream};
use crate::record::{DeviceId, Record, RequestKind};
use crate::record_sink::RecordSink;
use scrubjay_core::units::{Bytes, Nanos, SECTOR_BYTES};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// `BLK_IO_TRACE_MAGIC`; the lowest byte is the version.
const MAGIC: u32 = 0x6561_7400;
/// `BLK_IO_TRACE_VERSION`: the only one in twenty years.
const VERSION: u32 = 0x07;
/// The size of `struct blk_io_trace`.
const EVENT_BYTES: usize = 48;
/// The number of events per call.
const BATCH: usize = 16_384;

/// The mask of the action in the low half of the action word; the bit above it means that the event names its cgroup.
const ACTION_MASK: u32 = 0xff;
/// `__BLK_TA_QUEUE`.
const QUEUE: u32 = 1;
/// `__BLK_TA_BACKMERGE`.
const BACK_MERGE: u32 = 2;
/// `__BLK_TA_FRONTMERGE`.
const FRONT_MERGE: u32 = 3;
/// `__BLK_TA_ISSUE`.
const ISSUE: u32 = 7;
/// `__BLK_TA_COMPLETE`.
const COMPLETE: u32 = 8;

/// Categories (`BLK_TC_...`), in the high half of the action word.
const READ: u32 = 1;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;

/// Whether `head` begins with an event that is followed by another one.
pub(super) fn looks_like(head: &[u8]) -> bool {
    let Some(endian) = Endian::of(head) else {
        return false;
    };
    let Some(next) = head.get(46..EVENT_BYTES).and_then(|length| head.get(EVENT_BYTES + endian.u16(length, 0)..))
    else {
        return false;
    };
    next.len() < 4 || Endian::of(next) == Some(endian)
}

/// A reader of the files of all CPUs.
pub(super) fn open(sources: Vec<Stream>) -> Box<dyn Reader> {
    Box::new(Blktrace {
        by_next_event: BinaryHeap::new(),
        unread: (0..sources.len()).collect(),
        cpus: sources.into_iter().map(BlktraceCpu::new).collect(),
        began: None,
        ids: HashMap::new(),
        life: Lifecycle::default(),
        is_ended: false,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endian {
    Little,
    Big,
}

impl Endian {
    /// The endianness of the host that wrote an event, by its magic; `None`: this is not an event.
    fn of(event: &[u8]) -> Option<Endian> {
        let magic = *event.first_chunk::<4>()?;
        if u32::from_le_bytes(magic) == MAGIC | VERSION {
            Some(Endian::Little)
        } else if u32::from_be_bytes(magic) == MAGIC | VERSION {
            Some(Endian::Big)
        } else {
            None
        }
    }

    fn u16(self, raw: &[u8], at: usize) -> usize {
        let bytes = [raw[at], raw[at + 1]];
        usize::from(if self == Endian::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    fn u32(self, raw: &[u8], at: usize) -> u32 {
        let bytes = [raw[at], raw[at + 1], raw[at + 2], raw[at + 3]];
        if self == Endian::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    fn u64(self, raw: &[u8], at: usize) -> u64 {
        let (first, second) = (u64::from(self.u32(raw, at)), u64::from(self.u32(raw, at + 4)));
        if self == Endian::Little { second << 32 | first } else { first << 32 | second }
    }
}

/// One event in the life of a request.
#[derive(Clone, Copy, Debug)]
struct BlktraceEvent {
    time: Nanos,
    action: Action,
    /// The device number: major << 20 | minor.
    device: u32,
    kind: RequestKind,
    offset: Bytes,
    length: Bytes,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Queued,
    Issued,
    Merged(MergeSide),
    Completed,
}

/// The events of one CPU.
struct BlktraceCpu {
    source: BinarySource,
    /// `None`: before the first event.
    endian: Option<Endian>,
    /// The next event that was read and not yet taken.
    next: Option<BlktraceEvent>,
    is_ended: bool,
}

impl BlktraceCpu {
    fn new(source: Stream) -> BlktraceCpu {
        BlktraceCpu { source: BinarySource::new(source), endian: None, next: None, is_ended: false }
    }

    /// Reads up to the next relevant event, if there is none yet, but at most `steps` events.
    fn advance(&mut self, steps: &mut usize, sink: &mut RecordSink) -> Result<(), TraceError> {
        while self.next.is_none() && !self.is_ended && *steps > 0 {
            *steps -= 1;
            self.step(sink)?;
        }
        Ok(())
    }

    /// Reads one event, or finds the end.
    fn step(&mut self, sink: &mut RecordSink) -> Result<(), TraceError> {
        let place = self.source.place();
        let raw = self.source.peek(EVENT_BYTES)?;
        if raw.len() < EVENT_BYTES {
            if !raw.is_empty() {
                sink.malformed(place, "cut off", raw);
            }
            self.is_ended = true;
            return Ok(());
        }
        let endian = Endian::of(raw);
        let Some(endian) = endian.filter(|&endian| self.endian.is_none_or(|before| before == endian)) else {
            return Err(TraceError::Corrupt { place, what: "no event of blktrace begins here".into() });
        };
        self.endian = Some(endian);
        let size = EVENT_BYTES + endian.u16(raw, 46);
        let raw = self.source.peek(size)?;
        if raw.len() < size {
            sink.malformed(place, "cut off", raw);
            self.is_ended = true;
            return Ok(());
        }
        match event(raw, endian) {
            Ok(event) => self.next = event,
            Err(reason) => sink.malformed(place, reason, &raw[..size]),
        }
        self.source.consume(size);
        Ok(())
    }
}

/// Decodes one event; `None`: it is irrelevant.
fn event(raw: &[u8], endian: Endian) -> Result<Option<BlktraceEvent>, &'static str> {
    let action = endian.u32(raw, 28);
    let categories = action >> 16;
    let action = match action & ACTION_MASK {
        _ if categories & NOTIFY != 0 => return Ok(None),
        QUEUE => Action::Queued,
        ISSUE => Action::Issued,
        BACK_MERGE => Action::Merged(MergeSide::Behind),
        FRONT_MERGE => Action::Merged(MergeSide::Before),
        COMPLETE => Action::Completed,
        _ => return Ok(None),
    };
    let length = u64::from(endian.u32(raw, 24));
    let Some(kind) = kind(categories, length) else {
        return Ok(None);
    };
    let offset = endian.u64(raw, 16).checked_mul(SECTOR_BYTES).filter(|offset| offset.checked_add(length).is_some());
    let offset = Bytes(offset.ok_or("an address beyond all disks")?);
    let (time, device) = (Nanos(endian.u64(raw, 8)), endian.u32(raw, 36));
    Ok(Some(BlktraceEvent { time, action, device, kind, offset, length: Bytes(length) }))
}

/// The kind of a request. A write may also ask for a flush: it counts as a write, unless it writes nothing.
fn kind(categories: u32, length: u64) -> Option<RequestKind> {
    if categories & DISCARD != 0 {
        Some(RequestKind::Discard)
    } else if categories & FLUSH != 0 && length == 0 {
        Some(RequestKind::Flush)
    } else if categories & WRITE != 0 {
        Some(RequestKind::Write)
    } else if categories & READ != 0 {
        Some(RequestKind::Read)
    } else {
        None
    }
}

struct Blktrace {
    cpus: Vec<BlktraceCpu>,
    /// CPUs by the time of their next event, the earliest first.
    by_next_event: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// CPUs whose next event has not been read.
    unread: Vec<usize>,
    /// The time of the first event.
    began: Option<Nanos>,
    ids: HashMap<u32, DeviceId>,
    life: Lifecycle,
    is_ended: bool,
}

impl Reader for Blktrace {
    fn read(&mut self, sink: &mut RecordSink) -> Result<bool, TraceError> {
        if self.is_ended {
            return Ok(false);
        }
        let mut steps = BATCH;
        let before = sink.records.len();
        while self.look_ahead(&mut steps, sink)? {
            let Some(Reverse((_, cpu))) = self.by_next_event.pop() else {
                self.life.drain(&mut sink.records);
                self.life.note(sink);
                self.is_ended = true;
                break;
            };
            self.unread.push(cpu);
            if let Some(event) = self.cpus[cpu].next.take() {
                self.take(event, sink)?;
            }
        }
        sink.understood += (sink.records.len() - before) as u64;
        sink.check_share_malformed(self.is_ended)?;
        Ok(true)
    }
}

impl Blktrace {
    /// Reads the next event of every CPU, because only then is the earliest known. False: it takes more steps.
    fn look_ahead(&mut self, steps: &mut usize, sink: &mut RecordSink) -> Result<bool, TraceError> {
        while let Some(&number) = self.unread.last() {
            let cpu = &mut self.cpus[number];
            cpu.advance(steps, sink)?;
            if let Some(event) = cpu.next {
                self.by_next_event.push(Reverse((event.time, number)));
            } else if !cpu.is_ended {
                return Ok(false);
            }
            self.unread.pop();
        }
        Ok(true)
    }

    fn take(&mut self, event: BlktraceEvent, sink: &mut RecordSink) -> Result<(), TraceError> {
        let BlktraceEvent { device, kind, offset, length, .. } = event;
        let time = event.time.since(*self.began.get_or_insert(event.time));
        let device = self.device_id(device, sink)?;
        let record = Record { arrival: time, response: None, offset, length, device, kind };
        let event = match event.action {
            Action::Queued => LifeEvent::Queued(record),
            Action::Issued => LifeEvent::Issued(record),
            Action::Merged(side) => LifeEvent::Merged(device, kind, offset, length, side),
            Action::Completed => LifeEvent::Completed(device, kind, offset, length, time),
        };
        self.life.take(event, &mut sink.records);
        Ok(())
    }

    fn device_id(&mut self, device: u32, sink: &mut RecordSink) -> Result<DeviceId, TraceError> {
        if let Some(&id) = self.ids.get(&device) {
            return Ok(id);
        }
        let name = format!("{},{}", device >> 20, device & 0xf_ffff);
        let id = sink.devices.id(name.as_bytes());
        let id = id.ok_or_else(|| TraceError::TooManyDevices(sink.devices.names().len()))?;
        self.ids.insert(device, id);
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::SourcePlace;
    use crate::record_sink::ArrivalSource;
    use proptest::prelude::*;
    use std::io::Cursor;

    const Q_READ: u32 = READ << 16 | QUEUE;
    const C_READ: u32 = READ << 16 | COMPLETE;
    const SDA: u32 = 8 << 20;

    /// An event followed by `pdu` bytes of its own.
    fn encode(endian: Endian, time: u64, sector: u64, bytes: u32, action: u32, device: u32, pdu: u16) -> Vec<u8> {
        let mut raw = Vec::new();
        let mut put = |bytes_le: &[u8]| {
            raw.extend(bytes_le);
            let at = raw.len() - bytes_le.len();
            if endian == Endian::Big {
                raw[at..].reverse();
            }
        };
        put(&(MAGIC | VERSION).to_le_bytes());
        put(&1u32.to_le_bytes());
        put(&time.to_le_bytes());
        put(&sector.to_le_bytes());
        for word in [bytes, action, 4711, device, 0] {
            put(&word.to_le_bytes());
        }
        put(&0u16.to_le_bytes());
        put(&pdu.to_le_bytes());
        raw.extend(vec![b'x'; usize::from(pdu)]);
        raw
    }

    fn little(time: u64, sector: u64, action: u32) -> Vec<u8> {
        encode(Endian::Little, time, sector, 4096, action, SDA, 0)
    }

    fn read(files: Vec<Vec<u8>>) -> (RecordSink, Result<(), TraceError>) {
        let files = files.into_iter().map(|bytes| Box::new(Cursor::new(bytes)) as Stream).collect();
        let (mut reader, mut sink) = (open(files), RecordSink::default());
        loop {
            match reader.read(&mut sink) {
                Ok(true) => assert_eq!(sink.understood, sink.records.len() as u64),
                Ok(false) => return (sink, Ok(())),
                Err(error) => return (sink, Err(error)),
            }
        }
    }

    #[test]
    fn files_of_cpus_are_merged_by_time_whatever_their_endianness() {
        let first = [little(5000, 0, Q_READ), little(9000, 64, C_READ)].concat();
        let big = |time, sector, action| encode(Endian::Big, time, sector, 4096, action, SDA | 1 << 20, 20);
        let second = [
            little(6000, 64, Q_READ),
            encode(Endian::Little, 6500, 0, 3, NOTIFY << 16 | QUEUE, SDA, 3),
            encode(Endian::Little, 7000, 0, 4096, READ << 16 | 7, SDA, 0),
            little(8000, 0, C_READ | 0x100),
        ];
        let third = [big(5500, 1 << 40, Q_READ), big(5600, 1 << 40, C_READ)].concat();
        let (sink, end) = read(vec![first, second.concat(), third, Vec::new()]);
        end.unwrap();
        let seen: Vec<_> = sink.records.iter().map(|r| (r.arrival.0, r.response.unwrap().0, r.device.0)).collect();
        assert_eq!(seen, [(0, 3000, 0), (500, 100, 1), (1000, 3000, 0)]);
        assert_eq!(sink.records[1].offset, Bytes(1 << 49));
        assert_eq!(sink.devices.names(), ["8,0", "9,0"]);
    }

    #[test]
    fn the_kind_follows_from_the_categories() {
        let kinds = [READ | FLUSH, WRITE | FLUSH, WRITE | DISCARD, WRITE | 8].map(|categories| kind(categories, 4096));
        assert_eq!(
            kinds,
            [Some(RequestKind::Read), Some(RequestKind::Write), Some(RequestKind::Discard), Some(RequestKind::Write)]
        );
        assert_eq!((kind(WRITE | FLUSH, 0), kind(8, 4096)), (Some(RequestKind::Flush), None));
    }

    #[test]
    fn a_completion_covers_what_was_merged_into_it() {
        let events = |merged: &[u8]| {
            let [first, second, last] = [(0, 0), (1, 8), (11, 100)].map(|(time, sector)| little(time, sector, Q_READ));
            let completed = encode(Endian::Little, 10, 0, 8192, C_READ, SDA, 0);
            let (sink, _) = read(vec![[&first, &second, merged, &completed, &last].concat()]);
            let seen = |record: &Record| (record.length.0, record.response.map(|time| time.0));
            sink.records.iter().map(seen).collect::<Vec<_>>()
        };
        assert_eq!(events(&[]), [(4096, Some(10)), (4096, Some(9)), (4096, None)], "the trace does not tell");
        let merged = little(2, 8, READ << 16 | BACK_MERGE);
        assert_eq!(events(&merged), [(8192, Some(10)), (4096, None)]);
    }

    #[test]
    fn without_queued_requests_those_issued_are_taken_and_completions_alone_are_refused() {
        const D_READ: u32 = READ << 16 | ISSUE;
        let events = |actions: &[u32]| {
            let times = actions.iter().zip(0..).map(|(&action, at)| little(at * 10, 0, action));
            read(vec![times.collect::<Vec<_>>().concat()])
        };
        let (sink, end) = events(&[D_READ, C_READ, D_READ, C_READ]);
        end.unwrap();
        let seen: Vec<_> = sink.records.iter().map(|r| (r.arrival.0, r.response.unwrap().0)).collect();
        assert_eq!((seen, sink.arrivals), (vec![(0, 10), (20, 10)], ArrivalSource::Issued));
        let (sink, end) = events(&[Q_READ, D_READ, C_READ]);
        assert_eq!((end.is_ok(), sink.records.len(), sink.arrivals), (true, 1, ArrivalSource::Queued));
        let error = events(&[C_READ, C_READ]).1.unwrap_err().to_string();
        assert!(error.contains("blktrace -a queue -a complete"), "{error}");
    }

    #[test]
    fn a_last_event_cut_off_is_malformed_and_a_bad_magic_corrupt() {
        let mut bytes: Vec<u8> = (0..200).flat_map(|i| little(i, i, Q_READ)).collect();
        let complete = bytes.len();
        bytes.extend(&encode(Endian::Little, 0, 0, 0, Q_READ, SDA, 10)[..50]);
        let (sink, end) = read(vec![bytes.clone()]);
        end.unwrap();
        assert_eq!((sink.understood, sink.malformed.count), (200, 1));
        bytes.extend([0; 100]);
        let (_, end) = read(vec![bytes]);
        assert_eq!(end.unwrap_err().to_string(), format!("byte {}: no event of blktrace begins here", complete + 58));
        let mixed = [little(0, 0, Q_READ), encode(Endian::Big, 1, 0, 0, Q_READ, SDA, 0)].concat();
        assert!(matches!(read(vec![mixed]).1, Err(TraceError::Corrupt { place: SourcePlace::Byte(48), .. })));
    }

    #[test]
    fn a_trace_is_recognised_by_two_magics() {
        let encoded = encode(Endian::Big, 0, 0, 0, Q_READ, SDA, 5);
        assert!(looks_like(&encoded) && looks_like(&[encoded.clone(), encoded.clone()].concat()));
        assert!(!looks_like(&[encoded.clone(), vec![0; 48]].concat()));
        assert!(!looks_like(&encoded[..40]) && !looks_like(b"") && !looks_like(b"PAR1"));
    }

    #[test]
    fn a_long_trace_of_many_cpus_comes_in_order() {
        let mut files = vec![Vec::new(); 7];
        for i in 0..50_000u64 {
            // Skipped kinds are among the events of every file, and fill one file completely.
            let action = if i % 14 >= 6 { NOTIFY << 16 } else { Q_READ };
            files[(i % 7) as usize].extend(little(i, i * 8, action));
        }
        let (sink, end) = read(files);
        end.unwrap();
        assert_eq!(sink.understood, (0..50_000).filter(|i| i % 14 < 6).count() as u64);
        assert!(sink.records.is_sorted_by_key(|record| record.arrival));
    }

    proptest! {
        #[test]
        fn reading_random_bytes_ends(
            mut files in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..500), 0..4),
        ) {
            if let Some(bytes) = files.first_mut().filter(|bytes| bytes.len() >= 4) {
                bytes[..4].copy_from_slice(&(MAGIC | VERSION).to_le_bytes());
            }
            if let Some(bytes) = files.last() {
                looks_like(bytes);
            }
            let _ = read(files);
        }

        #[test]
        fn reading_mutated_bytes_ends(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..20)) {
            let events = (0..40).map(|i| little(i * 10, i / 2 * 8, if i % 2 == 0 { Q_READ } else { C_READ }));
            let mut bytes = events.collect::<Vec<_>>().concat();
            for (at, byte) in changes {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            let half = bytes.split_off(48 * 20);
            let _ = read(vec![bytes, half]);
        }
    }
}
