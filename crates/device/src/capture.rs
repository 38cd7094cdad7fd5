//! Captures every request to a disk from the block layer's tracepoints: kind, place, arrival and completion.
//!
//! | disk | arrival | completion |
//! |---|---|---|
//! | with a queue (SCSI, NVMe, virtio, loop) | `block_io_start`, `block_bio_backmerge`, `block_bio_frontmerge` | `block_rq_complete` |
//! | without one (md, dm, zram) | `block_bio_queue` | `block_bio_complete` |
//!
//! (Before Linux 6.5, `block_getrq` takes the place of `block_io_start`. The merge tracepoints report arrivals that are merged
//! into a request that is queued already.)
//!
//! A completion is identified by its range, as in blktrace: matching it with its request is left to the reader. Requests
//! of the idle I/O class, a scrub's above all, are left out where the tracepoints report the class (Linux 6.11). The merge
//! tracepoints do not, but requests merge only within a class: a merged one of the idle class is captured, never completed.
//!
//! There is one ring for each CPU that is online when the capture begins. Perf itself may withhold a sample without notice:
//! on 6.18 it withheld up to one completion in a thousand, all in softirqs on top of one and the same process, while
//! ftrace saw them. Such a request is known, but not how long it took.

use crate::clock;
use crate::detector::Refusal;
use crate::detector::kernel::{self, PerfEvent};
use crate::detector::ring::PerfRing;
use crate::detector::tracepoint::{Events, Field, Tracepoint};
use crate::ioprio::IDLE_MIN;
use crate::sysfs::DiskNode;
use crate::target::device_hint;
use scrubjay_core::units::{Bytes, Nanos, SECTOR_BYTES};
use std::ffi::CString;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Bytes in the ring of one CPU, a power of two: 20,000 samples, as many as 100,000 requests a second on one CPU write in
/// 100 ms. With a quarter of it, 7 % of 36,000 requests a second were lost on a machine whose four CPUs were all busy.
const RING_BYTES: usize = 2 << 20;
/// Bytes in a ring without CAP_IPC_LOCK: all that the kernel lets such a user lock per CPU (`kernel.perf_event_mlock_kb`).
const RING_BYTES_MIN: usize = 512 << 10;

/// Age at which samples are handed out: by then all CPUs have written theirs, even one that stood still for a moment, as
/// those of virtual machines do. Our choice: nothing depends on having them sooner.
const REORDER_WINDOW: Nanos = Nanos::from_millis(50);

/// `PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW`: each sample is the words id and time, then a `u32`, the
/// length of the tracepoint's record, and that record.
const SAMPLE: u64 = 1 << 16 | 1 << 2 | 1 << 10;
/// Where the tracepoint's record begins in a sample: header, id, time, length.
const RAW_AT: usize = 8 + 8 + 8 + 4;
/// Bytes of a sample that are read. All fields used here lie in its first 80 bytes on Linux 6.18.
const SAMPLE_BYTES: usize = 128;

/// `PERF_RECORD_LOST`: some records did not fit into the ring.
const RECORD_LOST: u32 = 2;
/// `PERF_RECORD_SAMPLE`: a tracepoint was hit.
const RECORD_SAMPLE: u32 = 9;

/// One captured event: the arrival of a request, or the completion of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureEvent {
    /// When it happened (`CLOCK_MONOTONIC`).
    pub at: Nanos,
    /// Whether it is an arrival or a completion.
    pub step: RequestStep,
    /// The kind of the request.
    pub kind: CapturedKind,
    /// The first byte.
    pub offset: Bytes,
    /// Length in bytes.
    pub length: Bytes,
}

/// Arrival or completion of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestStep {
    /// It arrived.
    Arrived,
    /// It was completed: alone, in part, or together with requests it was merged with.
    Completed,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturedKind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A discard: the range is no longer used.
    Discard,
    /// A flush: makes earlier writes durable, and has no range.
    Flush,
}

/// Why a disk cannot be captured.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// It is no block device.
    #[error("{}: {problem}", path.display())]
    Target {
        /// Path, as the user gave it.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The kernel does not permit it.
    #[error("{}: capture {reason}; run as root", path.display())]
    Permission {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The missing privilege.
        reason: String,
    },
    /// It does not work here.
    #[error("{}: capture {reason}", path.display())]
    Failed {
        /// Path, as the user gave it.
        path: PathBuf,
        /// The reason, for people.
        reason: String,
    },
}

/// A running capture.
pub struct Capture {
    disk: DiskNode,
    notes: Vec<String>,
    cpus: Vec<CaptureCpu>,
    held: Vec<CaptureEvent>,
    lost: u64,
}

impl Capture {
    /// Begins to capture the whole disk on which the block device `path` lies.
    ///
    /// # Errors
    /// When it is no block device; without CAP_PERFMON or a readable tracefs.
    pub fn open(path: &Path) -> Result<Capture, CaptureError> {
        let (disk, is_part) =
            disk_of(path).map_err(|problem| CaptureError::Target { path: path.to_owned(), problem })?;
        let refused = |refusal: Refusal| {
            let (path, reason) = (path.to_owned(), refusal.to_string());
            match refusal {
                Refusal::Needs { .. } | Refusal::Tracefs(_) | Refusal::NoTracefs(_) => {
                    CaptureError::Permission { path, reason }
                }
                _ => CaptureError::Failed { path, reason },
            }
        };
        let points = Points::choose(&disk).map_err(refused)?;
        let cpus = kernel::cpus_online().map_err(Refusal::failed("finds no list of CPUs")).map_err(refused)?;
        let cpus =
            cpus.into_iter().map(|cpu| CaptureCpu::open(cpu, &disk, &points)).collect::<io::Result<Vec<CaptureCpu>>>();
        let cpus = cpus.map_err(|error| refused(Refusal::of_call("CAP_PERFMON", "cannot open its events", error)))?;
        let mut notes = Vec::new();
        if is_part {
            notes.push(format!("{} is a partition: all of {} is captured", path.display(), disk.name));
        }
        if !points.reports_class {
            notes.push("requests of the idle I/O class are captured too: they cannot be told apart here".to_owned());
        }
        Ok(Capture { disk, notes, cpus, held: Vec::new(), lost: 0 })
    }

    /// The disk that is captured.
    pub fn disk(&self) -> &DiskNode {
        &self.disk
    }

    /// What the user should know about this capture, in sentences without their full stops.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Appends the events since the last call in the order of time, except those of the last 50 ms. Must be called
    /// often enough for the rings, which hold at least 5000 events for each CPU.
    pub fn drain(&mut self, events: &mut Vec<CaptureEvent>) {
        let until = Nanos(clock::now().0.saturating_sub(REORDER_WINDOW.0));
        self.take();
        let ready = self.held.partition_point(|event| event.at <= until);
        events.extend(self.held.drain(..ready));
    }

    /// Ends the capture, appends the remaining events and returns how many events were lost in all.
    pub fn finish(mut self, events: &mut Vec<CaptureEvent>) -> u64 {
        self.take();
        events.append(&mut self.held);
        self.lost
    }

    /// Events that did not fit into the rings so far: arrivals and completions both count.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Empties the rings into `held`, and sorts it by time.
    fn take(&mut self) {
        for cpu in &self.cpus {
            cpu.ring.take(RingRecord::decode, |record| match record {
                RingRecord::Lost(count) => self.lost += count,
                RingRecord::Sample(sample) => self.held.extend(cpu.event(&sample)),
                RingRecord::Other => {}
            });
        }
        self.held.sort_by_key(|event| (event.at, event.step));
    }
}

/// The whole disk of a block device, and whether the device is only a part of it.
fn disk_of(path: &Path) -> Result<(DiskNode, bool), String> {
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("no such device{}", device_hint(path)),
        _ => error.to_string(),
    })?;
    if !metadata.file_type().is_block_device() {
        return Err("it is no block device, and only disks can be captured".to_owned());
    }
    let (major, minor) = (libc::major(metadata.rdev()), libc::minor(metadata.rdev()));
    let disk = DiskNode::of_device(major, minor).map_err(|error| error.to_string())?;
    let is_part = (disk.major, disk.minor) != (major, minor);
    Ok((disk, is_part))
}

/// The tracepoints of one disk.
struct Points {
    arrivals: Vec<CapturePoint>,
    completion: CapturePoint,
    /// Whether the first arrival and the completion both report the I/O class.
    reports_class: bool,
}

impl Points {
    fn choose(disk: &DiskNode) -> Result<Points, Refusal> {
        let events = Events::open()?;
        let find = |name: &str| CapturePoint::read(events.folder(), name).ok_or(Refusal::NoTracepoint);
        if !disk.folder().join("mq").exists() {
            let (arrivals, completion) = (vec![find("block_bio_queue")?], find("block_bio_complete")?);
            return Ok(Points { arrivals, completion, reports_class: false });
        }
        let first = find("block_io_start").or_else(|_| find("block_getrq"))?;
        let completion = find("block_rq_complete")?;
        let reports_class = first.point.ioprio.is_some() && completion.point.ioprio.is_some();
        let arrivals = vec![first, find("block_bio_backmerge")?, find("block_bio_frontmerge")?];
        Ok(Points { arrivals, completion, reports_class })
    }

    /// The filter that the kernel applies to samples: this disk and, where the class is reported, not the idle class.
    fn filter(&self, point: &CapturePoint, disk: &DiskNode) -> CString {
        let dev = disk.major << 20 | disk.minor;
        let filter = match point.point.ioprio {
            Some(_) if self.reports_class => format!("dev == {dev} && ioprio < {IDLE_MIN}"),
            _ => format!("dev == {dev}"),
        };
        CString::new(filter).expect("numbers hold no NUL")
    }
}

/// One tracepoint, and where its fields lie.
#[derive(Clone, Debug)]
struct CapturePoint {
    point: Tracepoint,
    fields: TracepointFields,
}

/// The offsets of fields in a tracepoint's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TracepointFields {
    /// The first 512-byte sector, 8 bytes.
    sector: usize,
    /// The number of sectors, 4 bytes.
    sectors: usize,
    /// The letters for the kind of the request.
    rwbs: usize,
}

impl CapturePoint {
    fn read(folder: &Path, name: &str) -> Option<CapturePoint> {
        let point = Tracepoint::read(folder, name).ok()?;
        let fields = TracepointFields::parse(&fs::read_to_string(folder.join(name).join("format")).ok()?)?;
        Some(CapturePoint { point, fields })
    }
}

impl TracepointFields {
    /// Parses a `format` file. `None` when a field is missing, of another size, or beyond the bytes that are read.
    fn parse(text: &str) -> Option<TracepointFields> {
        let field = |name, size: Option<u16>| {
            let field = Field::find(text, name).filter(|field| size.is_none_or(|size| field.size == size))?;
            let offset = usize::try_from(field.offset).ok()?;
            (RAW_AT + offset + usize::from(field.size) <= SAMPLE_BYTES).then_some(offset)
        };
        Some(TracepointFields {
            sector: field("sector", Some(8))?,
            sectors: field("nr_sector", Some(4))?,
            rwbs: field("rwbs", None)?,
        })
    }
}

/// The events of one CPU, which share a ring.
struct CaptureCpu {
    ring: PerfRing,
    /// By the event ID that their samples carry.
    points: Vec<(u64, RequestStep, TracepointFields)>,
    /// Keeps the events open.
    _events: Vec<PerfEvent>,
}

impl CaptureCpu {
    fn open(cpu: u32, disk: &DiskNode, points: &Points) -> io::Result<CaptureCpu> {
        let open = |point: &CapturePoint| {
            let event = PerfEvent::open(point.point.id, cpu, SAMPLE)?;
            event.filter(&points.filter(point, disk))?;
            io::Result::Ok(event)
        };
        let completion = open(&points.completion)?;
        let ring = PerfRing::new(&completion, RING_BYTES).or_else(|_| PerfRing::new(&completion, RING_BYTES_MIN))?;
        let mut marks = vec![(completion.id()?, RequestStep::Completed, points.completion.fields)];
        // Completions first: one of an earlier request is ignored later, but a missing one would leave a request open.
        completion.enable()?;
        let mut events = Vec::new();
        for point in &points.arrivals {
            let event = open(point)?;
            marks.push((event.id()?, RequestStep::Arrived, point.fields));
            event.redirect(&completion)?;
            event.enable()?;
            events.push(event);
        }
        events.push(completion);
        Ok(CaptureCpu { ring, points: marks, _events: events })
    }

    /// The event of a sample; `None` for a request that is no application's I/O (pass-through commands).
    fn event(&self, sample: &TracepointHit) -> Option<CaptureEvent> {
        let &(_, step, fields) = self.points.iter().find(|(id, ..)| *id == sample.id)?;
        let sector = u64::from_ne_bytes(sample.field(fields.sector));
        let sectors = u64::from(u32::from_ne_bytes(sample.field(fields.sectors)));
        let kind = CapturedKind::of(sample.field::<3>(fields.rwbs), sectors)?;
        // A flush without data has no place: the fields differ between arrival and completion.
        let offset = if kind == CapturedKind::Flush { 0 } else { sector.saturating_mul(SECTOR_BYTES) };
        let length = if kind == CapturedKind::Flush { 0 } else { sectors * SECTOR_BYTES };
        Some(CaptureEvent { at: sample.at, step, kind, offset: Bytes(offset), length: Bytes(length) })
    }
}

impl CapturedKind {
    /// From the first letters of `rwbs` (`blk_fill_rwbs` in `kernel/trace/blktrace.c`): `F` first for a flush before the
    /// request, then the operation: `R`, `W`, `D` (and `DE` to erase), `F`; `N` for anything else.
    fn of(rwbs: [u8; 3], sectors: u64) -> Option<CapturedKind> {
        match rwbs {
            [b'F', ..] if sectors == 0 => Some(CapturedKind::Flush),
            [b'R', ..] | [b'F', b'R', _] => Some(CapturedKind::Read),
            [b'W', ..] | [b'F', b'W', _] => Some(CapturedKind::Write),
            [b'D', ..] => Some(CapturedKind::Discard),
            _ => None,
        }
    }
}

/// One record of a ring.
enum RingRecord {
    /// A hit of a tracepoint.
    Sample(TracepointHit),
    /// Number of records that did not fit.
    Lost(u64),
    /// Any other record.
    Other,
}

/// A hit of the tracepoint whose event is `id`.
struct TracepointHit {
    id: u64,
    at: Nanos,
    /// The beginning of the sample; zero beyond its end.
    bytes: [u8; SAMPLE_BYTES],
}

impl TracepointHit {
    /// The `N` bytes at this offset of the tracepoint's record.
    fn field<const N: usize>(&self, offset: usize) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.bytes[RAW_AT + offset..][..N]);
        field
    }
}

impl RingRecord {
    /// Decodes the record whose words `word` returns by index, and returns its length in bytes, too. Its header is a `u32`
    /// with the kind, then two `u16`: flags and length. `None` when the length is impossible.
    fn decode(word: &dyn Fn(usize) -> u64) -> Option<(RingRecord, u64)> {
        let [k0, k1, k2, k3, _, _, l0, l1] = word(0).to_ne_bytes();
        let length = u16::from_ne_bytes([l0, l1]);
        let record = match u32::from_ne_bytes([k0, k1, k2, k3]) {
            RECORD_SAMPLE if usize::from(length) > RAW_AT => {
                let mut bytes = [0; SAMPLE_BYTES];
                let words = usize::from(length).min(SAMPLE_BYTES) / 8;
                for (index, chunk) in bytes.chunks_exact_mut(8).enumerate().take(words) {
                    chunk.copy_from_slice(&word(index).to_ne_bytes());
                }
                RingRecord::Sample(TracepointHit { id: word(1), at: Nanos(word(2)), bytes })
            }
            RECORD_LOST if length >= 24 => RingRecord::Lost(word(2)),
            _ => RingRecord::Other,
        };
        (length >= 8 && length.is_multiple_of(8)).then_some((record, u64::from(length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: block_rq_complete\nID: 1\nformat:\n\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";

    #[test]
    fn field_offsets_are_read_from_the_format_file() {
        assert_eq!(TracepointFields::parse(FORMAT), Some(TracepointFields { sector: 16, sectors: 24, rwbs: 34 }));
        assert_eq!(TracepointFields::parse(&FORMAT.replace("size:8", "size:4")), None);
        assert_eq!(TracepointFields::parse(&FORMAT.replace("offset:34", "offset:300")), None);
    }

    #[test]
    fn a_sample_has_the_fields_of_its_tracepoint() {
        let mut raw = [0_u8; 104];
        raw[0..4].copy_from_slice(&RECORD_SAMPLE.to_ne_bytes());
        raw[6..8].copy_from_slice(&104_u16.to_ne_bytes());
        raw[8..16].copy_from_slice(&17_u64.to_ne_bytes());
        raw[16..24].copy_from_slice(&123_456_u64.to_ne_bytes());
        raw[RAW_AT + 16..][..8].copy_from_slice(&2048_u64.to_ne_bytes());
        raw[RAW_AT + 34..][..3].copy_from_slice(b"WS\0");
        let word = |index: usize| u64::from_ne_bytes(raw[8 * index..][..8].try_into().expect("eight bytes"));
        let Some((RingRecord::Sample(sample), 104)) = RingRecord::decode(&word) else {
            panic!("a sample of 104 bytes")
        };
        assert_eq!((sample.id, sample.at), (17, Nanos(123_456)));
        assert_eq!(u64::from_ne_bytes(sample.field(16)), 2048);
        assert_eq!(sample.field::<3>(34), *b"WS\0");
    }

    #[test]
    fn the_kind_of_a_request_is_decoded_from_its_letters() {
        for (letters, sectors, kind) in [
            (b"RA\0", 8, Some(CapturedKind::Read)),
            (b"WFS", 8, Some(CapturedKind::Write)),
            (b"FWS", 8, Some(CapturedKind::Write)),
            (b"FWS", 0, Some(CapturedKind::Flush)),
            (b"FF\0", 0, Some(CapturedKind::Flush)),
            (b"DS\0", 8, Some(CapturedKind::Discard)),
            (b"N\0\0", 0, None),
        ] {
            assert_eq!(CapturedKind::of(*letters, sectors), kind, "{letters:?}");
        }
    }

    #[test]
    fn a_path_that_is_no_block_device_is_refused() {
        let refused = |path: &str| Capture::open(Path::new(path)).err().map(|error| error.to_string());
        assert_eq!(refused("/nowhere").as_deref(), Some("/nowhere: no such device"));
        assert_eq!(
            refused("/dev/null").as_deref(),
            Some("/dev/null: it is no block device, and only disks can be captured")
        );
    }
}
