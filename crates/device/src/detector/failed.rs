//! Requests that fail, at all disks: a BPF program at `block_rq_error` (Linux 5.18) writes each into a ring.
//!
//! The kernel reports no request there that carries a command of its own (SG_IO), none of a disk that is gone, and none that its sender
//! expects to fail.

use super::Refusal;
use super::assembler::{Assembler, Helper, OperandSize, Reg};
use super::bpf::{RecordRing, finish_record};
use super::tracepoint::{Events, Field};
use crate::ioprio::IDLE_MIN;
use scrubjay_core::units::{Nanos, SectorRange};
use std::fs;
use std::io::ErrorKind;

/// Bytes in the ring: some 26,000 failures between two looks.
const RING_BYTES: usize = 1 << 20;
/// Time; disk and number of sectors; first sector; error, kind of request and I/O class.
const RECORD_BYTES: i16 = 32;

/// A request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedRequest {
    /// When, by the monotonic clock.
    pub at: Nanos,
    /// Its disk: major and minor number.
    pub disk: (u32, u32),
    /// Its sectors, from the first that failed on; which of them cannot be read is not said.
    pub sectors: SectorRange,
    /// What it was to do.
    pub kind: FailedKind,
    /// Why it failed, in the kernel's word.
    pub cause: BlockErrorCause,
    /// Is it in the idle I/O class, as those of scrubs are? (Linux 6.11 says so.)
    pub is_idle_class: bool,
}

/// What a request was to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailedKind {
    /// Read.
    Read,
    /// Write, or make written data durable.
    Write,
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockErrorCause {
    /// The medium cannot be read or written there (`critical medium error`).
    Medium,
    /// The drive did not answer in time.
    TimedOut,
    /// The way to the drive failed (`recoverable transport error`).
    Transport,
    /// The drive refused (`critical target error`).
    Target,
    /// Checksums on the way do not match (`protection error`).
    Protection,
    /// Not told (`I/O error`).
    Unknown,
}

impl BlockErrorCause {
    /// Of an error number; `None`: no failure of a disk, such as a command that it does not know.
    fn of(errno: i32) -> Option<BlockErrorCause> {
        Some(match errno {
            libc::ENODATA => BlockErrorCause::Medium,
            libc::ETIMEDOUT => BlockErrorCause::TimedOut,
            libc::ENOLINK => BlockErrorCause::Transport,
            libc::EREMOTEIO => BlockErrorCause::Target,
            libc::EILSEQ => BlockErrorCause::Protection,
            libc::EIO => BlockErrorCause::Unknown,
            _ => return None,
        })
    }
}

/// Failed requests cannot be seen.
#[derive(Debug, thiserror::Error)]
#[error("requests that fail cannot be seen: bpf {0}")]
pub struct FailureDetectorError(String);

impl From<Refusal> for FailureDetectorError {
    fn from(refusal: Refusal) -> FailureDetectorError {
        FailureDetectorError(refusal.to_string())
    }
}

/// Watches all disks for requests that fail.
pub struct FailureDetector {
    records: RecordRing,
    is_class_seen: bool,
}

impl FailureDetector {
    /// Begins to watch.
    ///
    /// # Errors
    /// Without CAP_BPF and CAP_PERFMON, without a readable tracefs, before Linux 5.18, on 32-bit kernels.
    pub fn open() -> Result<FailureDetector, FailureDetectorError> {
        if cfg!(not(target_pointer_width = "64")) {
            return Err(Refusal::failed("needs a 64-bit kernel")(ErrorKind::Unsupported.into()).into());
        }
        let events = Events::open()?;
        let point = fs::read_to_string(events.folder().join("block_rq_error/format"))
            .ok()
            .and_then(|text| ErrorPoint::parse(&text))
            .ok_or(Refusal::NoErrors)?;
        let mut records = RecordRing::new(RING_BYTES, RECORD_BYTES)?;
        records.attach(point.id, |ring, dropped| point.assemble([ring, dropped]))?;
        Ok(FailureDetector { records, is_class_seen: point.ioprio.is_some() })
    }

    /// Does this kernel say which requests are in the idle class?
    pub fn is_class_seen(&self) -> bool {
        self.is_class_seen
    }

    /// Appends what failed since the last call.
    pub fn drain(&mut self, failed: &mut Vec<FailedRequest>) {
        self.records.take(|words| failed.extend(decode(words)));
    }

    /// Failures that were not seen because there were too many at once.
    pub fn lost(&self) -> u64 {
        self.records.lost()
    }
}

/// The tracepoint, and the offsets of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ErrorPoint {
    id: u64,
    dev: i16,
    sector: i16,
    count: i16,
    error: i16,
    rwbs: i16,
    ioprio: Option<i16>,
}

impl ErrorPoint {
    fn parse(text: &str) -> Option<ErrorPoint> {
        let field = |name, size| Field::find(text, name).filter(|field| field.size == size).map(|field| field.offset);
        Some(ErrorPoint {
            id: text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?,
            dev: field("dev", 4)?,
            sector: field("sector", 8)?,
            count: field("nr_sector", 4)?,
            error: field("error", 4)?,
            rwbs: Field::find(text, "rwbs")?.offset,
            ioprio: field("ioprio", 2),
        })
    }

    fn assemble(&self, maps: [i32; 2]) -> Vec<u64> {
        use OperandSize::{Byte, Double, Half, Word};
        let mut asm = Assembler::default();
        let done = asm.label();
        asm.copy(Reg::R6, Reg::R1);
        asm.call(Helper::KtimeNs);
        asm.store(Double, Reg::Fp, -32, Reg::R0);
        for (size, from, to) in [
            (Word, self.dev, -24),
            (Word, self.count, -20),
            (Double, self.sector, -16),
            (Word, self.error, -8),
            (Byte, self.rwbs, -4),
            (Byte, self.rwbs + 1, -3),
        ] {
            asm.load(size, Reg::R1, Reg::R6, from);
            asm.store(size, Reg::Fp, to, Reg::R1);
        }
        match self.ioprio {
            Some(ioprio) => asm.load(Half, Reg::R1, Reg::R6, ioprio),
            None => asm.set(Reg::R1, 0),
        }
        asm.store(Half, Reg::Fp, -2, Reg::R1);
        finish_record(&mut asm, RECORD_BYTES, maps, done);
        asm.finish()
    }
}

/// Decodes a record; `None`: no failure of a disk.
fn decode([at, disk_and_count, sector, rest]: [u64; 4]) -> Option<FailedRequest> {
    let [d0, d1, d2, d3, c0, c1, c2, c3] = disk_and_count.to_ne_bytes();
    let [e0, e1, e2, e3, letter, flag, p0, p1] = rest.to_ne_bytes();
    let disk = u32::from_ne_bytes([d0, d1, d2, d3]);
    let count = u32::from_ne_bytes([c0, c1, c2, c3]);
    let cause = BlockErrorCause::of(i32::from_ne_bytes([e0, e1, e2, e3]).checked_neg()?)?;
    // A write that is preceded by a flush begins with `F`, too; one of zeros ends with `Z`, and is tried in another way.
    let kind = match (letter, flag) {
        // Readahead may fail where the read itself is tried again; that comes next.
        (b'R', b'A') if cause != BlockErrorCause::Medium => return None,
        (b'R', _) => FailedKind::Read,
        (b'W', b'Z') => return None,
        // Some bridges do not know the command that makes data durable, and refuse each one.
        (b'F', _) if cause == BlockErrorCause::Target => return None,
        (b'W' | b'F', _) => FailedKind::Write,
        _ => return None,
    };
    Some(FailedRequest {
        at: Nanos(at),
        disk: (disk >> 20, disk & 0xf_ffff),
        sectors: SectorRange::at(if sector == u64::MAX { 0 } else { sector }, u64::from(count)),
        kind,
        cause,
        is_idle_class: u16::from_ne_bytes([p0, p1]) >= IDLE_MIN,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18, `block_rq_error`; before 6.11 it lacked the class.
    const FORMAT: &str = "name: block_rq_error\nID: 2113\nformat:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:int error;\toffset:28;\tsize:4;\tsigned:1;
\tfield:unsigned short ioprio;\toffset:32;\tsize:2;\tsigned:0;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;
\tfield:__data_loc char[] cmd;\toffset:44;\tsize:4;\tsigned:0;\n";

    #[test]
    fn offsets_come_from_the_format_file() {
        let point = ErrorPoint { id: 2113, dev: 8, sector: 16, count: 24, error: 28, rwbs: 34, ioprio: Some(32) };
        assert_eq!(ErrorPoint::parse(FORMAT), Some(point));
        let old = FORMAT.replace("ioprio", "other");
        assert_eq!(ErrorPoint::parse(&old), Some(ErrorPoint { ioprio: None, ..point }));
        assert_eq!(ErrorPoint::parse(&FORMAT.replace("int error", "int other")), None);
        assert!(point.assemble([5, 6]).len() <= 40);
    }

    fn record(errno: i32, letters: [u8; 2], ioprio: u16) -> [u64; 4] {
        let pair = |low: [u8; 4], high: [u8; 4]| u64::from_ne_bytes([low, high].concat().try_into().unwrap());
        let [p0, p1] = ioprio.to_ne_bytes();
        let disk = (8_u32 << 20 | 16).to_ne_bytes();
        [7, pair(disk, 8_u32.to_ne_bytes()), 2048, pair((-errno).to_ne_bytes(), [letters[0], letters[1], p0, p1])]
    }

    #[test]
    fn a_record_is_a_failed_request_or_none_of_a_disk() {
        let read = FailedRequest {
            at: Nanos(7),
            disk: (8, 16),
            sectors: SectorRange::at(2048, 8),
            kind: FailedKind::Read,
            cause: BlockErrorCause::Medium,
            is_idle_class: false,
        };
        assert_eq!(decode(record(libc::ENODATA, *b"RA", 0)), Some(read));
        assert_eq!(
            decode(record(libc::EIO, *b"R\0", IDLE_MIN)),
            Some(FailedRequest { cause: BlockErrorCause::Unknown, is_idle_class: true, ..read })
        );
        let write = decode(record(libc::ETIMEDOUT, *b"WS", 0)).unwrap();
        assert_eq!((write.kind, write.cause), (FailedKind::Write, BlockErrorCause::TimedOut));
        assert_eq!(decode(record(libc::EIO, *b"RA", 0)), None, "readahead");
        assert_eq!(decode(record(libc::EOPNOTSUPP, *b"WS", 0)), None);
        assert_eq!(decode(record(libc::EIO, *b"DS", 0)), None);
        assert_eq!(decode(record(libc::EREMOTEIO, *b"FF", 0)), None, "a bridge without a flush");
        assert_eq!(decode(record(libc::EIO, *b"FF", 0)).map(|failed| failed.kind), Some(FailedKind::Write));
        assert_eq!(decode(record(libc::EIO, *b"WZ", 0)), None);
    }
}
