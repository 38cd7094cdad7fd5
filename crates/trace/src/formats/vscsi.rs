//! CloudPhysics vscsi, versions 1 and 2: SCSI commands of a virtual machine's disk, traced by VMware's `vscsiStats`.
//!
//! Little-endian, no header, no name of the device (it is called `vscsi`); version 2 has response times.
//!
//! The layout is that read by libCacheSim (Yang, `vscsi.h`), whose collection has these traces. The first records tell
//! the version. Times are microseconds of the traced host's clock, unchanged. Only commands that read or write are
//! kept.

use crate::binary::BinarySource;
use crate::error::{SourcePlace, TraceError};
use crate::reader::{Reader, Stream};
use crate::record::{DeviceId, Record, RequestKind};
use crate::record_sink::RecordSink;
use scrubjay_core::units::{Bytes, Nanos, SECTOR_BYTES};

/// The number of records per call.
const BATCH: usize = 8192;
/// The number of records by which the beginning of a file is judged.
const JUDGED: usize = 16;
/// The largest plausible transfer of a command, in bytes: a virtual disk's limit is some MiB.
const COMMAND_BYTES_MAX: u32 = 64 << 20;
/// The largest plausible disk, in sectors: 1 PiB. VMware's largest virtual disk has 62 TiB.
const SECTORS_MAX: u64 = 1 << 41;
/// The largest plausible time between successive records, in microseconds: a week.
const GAP_MICROS_MAX: u64 = 7 * 86_400 * 1_000_000;

/// Whether the first records are in one of the versions.
///
/// There is no magic, so this is strict: at least two records, the right version in each, opcodes of one byte,
/// plausible sizes and addresses, times near each other, and at least one record that reads or writes something.
pub(super) fn looks_like(head: &[u8]) -> bool {
    VscsiVersion::of(head).is_some()
}

/// A reader of the format.
pub(super) fn open(source: Stream) -> Box<dyn Reader> {
    Box::new(Vscsi { source: BinarySource::new(source), version: None, device: None, is_ended: false })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VscsiVersion {
    One,
    Two,
}

/// One record as stored.
struct VscsiRecord {
    opcode: u16,
    version: u16,
    bytes: u32,
    sector: u64,
    time_micros: u64,
    response_micros: Option<u64>,
}

impl VscsiVersion {
    fn of(head: &[u8]) -> Option<VscsiVersion> {
        [VscsiVersion::One, VscsiVersion::Two].into_iter().find(|version| version.fits(head))
    }

    fn record_bytes(self) -> usize {
        match self {
            VscsiVersion::One => 32,
            VscsiVersion::Two => 40,
        }
    }

    /// Decodes a complete record.
    fn decode(self, raw: &[u8]) -> VscsiRecord {
        let (opcode, version, bytes, sector) = match self {
            VscsiVersion::One => (12, 14, 4, 16),
            VscsiVersion::Two => (0, 2, 8, 16),
        };
        let response_micros = (self == VscsiVersion::Two).then(|| u64_at(raw, 32));
        VscsiRecord {
            opcode: u16_at(raw, opcode),
            version: u16_at(raw, version),
            bytes: u32_at(raw, bytes),
            sector: u64_at(raw, sector),
            time_micros: u64_at(raw, 24),
            response_micros,
        }
    }

    fn number(self) -> u16 {
        match self {
            VscsiVersion::One => 1,
            VscsiVersion::Two => 2,
        }
    }

    /// Whether the first records are of this version.
    fn fits(self, head: &[u8]) -> bool {
        let commands: Vec<VscsiRecord> =
            head.chunks_exact(self.record_bytes()).take(JUDGED).map(|raw| self.decode(raw)).collect();
        let is_plausible = |command: &VscsiRecord| {
            command.version >> 8 == self.number()
                && command.opcode <= 0xff
                && (kind(command.opcode).is_none() || command.bytes <= COMMAND_BYTES_MAX)
                && (kind(command.opcode).is_none() || command.sector <= SECTORS_MAX)
        };
        commands.len() >= 2
            && commands.iter().all(is_plausible)
            && commands.iter().any(|command| kind(command.opcode).is_some() && command.bytes > 0)
            && commands.windows(2).all(|pair| pair[0].time_micros.abs_diff(pair[1].time_micros) <= GAP_MICROS_MAX)
    }
}

/// The kind of a command: READ and WRITE of 6, 10, 12 and 16 bytes (SBC-4); `None`: another command.
fn kind(opcode: u16) -> Option<RequestKind> {
    match opcode {
        0x08 | 0x28 | 0x88 | 0xa8 => Some(RequestKind::Read),
        0x0a | 0x2a | 0x8a | 0xaa => Some(RequestKind::Write),
        _ => None,
    }
}

struct Vscsi {
    source: BinarySource,
    /// `None` until the first records were read.
    version: Option<VscsiVersion>,
    device: Option<DeviceId>,
    is_ended: bool,
}

impl Reader for Vscsi {
    fn read(&mut self, sink: &mut RecordSink) -> Result<bool, TraceError> {
        if self.is_ended {
            return Ok(false);
        }
        let Some(version) = self.version()? else {
            self.is_ended = true;
            return Ok(false);
        };
        let device = match self.device {
            Some(device) => device,
            None => {
                let id = sink.devices.id(b"vscsi");
                id.ok_or_else(|| TraceError::TooManyDevices(sink.devices.names().len()))?
            }
        };
        self.device = Some(device);
        for _ in 0..BATCH {
            let place = self.source.place();
            let raw = self.source.peek(version.record_bytes())?;
            if raw.len() < version.record_bytes() {
                if !raw.is_empty() {
                    sink.malformed(place, "cut off", raw);
                }
                self.is_ended = true;
                break;
            }
            let raw = &raw[..version.record_bytes()];
            match record(&version.decode(raw), version, device) {
                Ok(Some(record)) => {
                    sink.records.push(record);
                    sink.understood += 1;
                }
                Ok(None) => {}
                Err(reason) => sink.malformed(place, reason, raw),
            }
            self.source.consume(version.record_bytes());
        }
        sink.check_share_malformed(self.is_ended)?;
        Ok(true)
    }
}

impl Vscsi {
    /// The version, from the beginning of the source; `None`: the source is empty.
    fn version(&mut self) -> Result<Option<VscsiVersion>, TraceError> {
        if self.version.is_none() {
            let head = self.source.peek(JUDGED * VscsiVersion::Two.record_bytes())?;
            if head.is_empty() {
                return Ok(None);
            }
            self.version = VscsiVersion::of(head);
            if self.version.is_none() {
                let what = "these are not vscsi records of version 1 or 2".into();
                return Err(TraceError::Corrupt { place: SourcePlace::Byte(0), what });
            }
        }
        Ok(self.version)
    }
}

/// The record of a command; `None`: it neither reads nor writes.
fn record(command: &VscsiRecord, version: VscsiVersion, device: DeviceId) -> Result<Option<Record>, &'static str> {
    if command.version >> 8 != version.number() {
        return Err("not of the version of the first");
    }
    let Some(kind) = kind(command.opcode) else {
        return Ok(None);
    };
    let length = u64::from(command.bytes);
    let offset = command.sector.checked_mul(SECTOR_BYTES).filter(|offset| offset.checked_add(length).is_some());
    let offset = Bytes(offset.ok_or("an address beyond all disks")?);
    let nanos = |micros: u64| micros.checked_mul(1000).map(Nanos);
    let arrival = nanos(command.time_micros).ok_or("a time beyond all clocks")?;
    let response = command.response_micros.and_then(nanos);
    Ok(Some(Record { arrival, response, offset, length: Bytes(length), device, kind }))
}

fn u16_at(raw: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([raw[at], raw[at + 1]])
}

fn u32_at(raw: &[u8], at: usize) -> u32 {
    u32::from(u16_at(raw, at)) | u32::from(u16_at(raw, at + 2)) << 16
}

fn u64_at(raw: &[u8], at: usize) -> u64 {
    u64::from(u32_at(raw, at)) | u64::from(u32_at(raw, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    fn encode(version: VscsiVersion, opcode: u16, bytes: u32, sector: u64, time: u64, response: u64) -> Vec<u8> {
        let (opcode, number) = (opcode.to_le_bytes(), (version.number() << 8 | 0x17).to_le_bytes());
        let (sn, sg, bytes) = (9u32.to_le_bytes(), 1u32.to_le_bytes(), bytes.to_le_bytes());
        let (sector, time, response) = (sector.to_le_bytes(), time.to_le_bytes(), response.to_le_bytes());
        match version {
            VscsiVersion::One => [&sn[..], &bytes, &sg, &opcode, &number, &sector, &time].concat(),
            VscsiVersion::Two => [&opcode[..], &number, &sn, &bytes, &sg, &sector, &time, &response].concat(),
        }
    }

    fn trace(version: VscsiVersion, count: u64) -> Vec<u8> {
        let record = |i| encode(version, if i % 2 == 0 { 0x28 } else { 0x8a }, 4096, i * 8, 1_000_000 + i * 500, 70);
        (0..count).flat_map(record).collect()
    }

    fn read(bytes: Vec<u8>) -> (RecordSink, Result<(), TraceError>) {
        let (mut reader, mut sink) = (open(Box::new(Cursor::new(bytes))), RecordSink::default());
        loop {
            match reader.read(&mut sink) {
                Ok(true) => {}
                Ok(false) => return (sink, Ok(())),
                Err(error) => return (sink, Err(error)),
            }
        }
    }

    #[test]
    fn both_versions_are_read() {
        for version in [VscsiVersion::One, VscsiVersion::Two] {
            let mut bytes = trace(version, 20_000);
            bytes.extend(encode(version, 0x12, 96, u64::MAX, 0, 0));
            assert!(looks_like(&bytes));
            let (sink, end) = read(bytes);
            end.unwrap();
            assert_eq!((sink.understood, sink.malformed.count), (20_000, 0));
            assert_eq!(sink.devices.names(), ["vscsi"]);
            let last = sink.records[19_999];
            assert_eq!((last.arrival, last.kind), (Nanos((1_000_000 + 19_999 * 500) * 1000), RequestKind::Write));
            assert_eq!((last.offset, last.length), (Bytes(19_999 * 4096), Bytes(4096)));
            assert_eq!(last.response, (version == VscsiVersion::Two).then_some(Nanos(70_000)));
        }
    }

    #[test]
    fn other_files_are_not_taken_for_vscsi_traces() {
        let mut parquet = b"PAR1".to_vec();
        parquet.extend([0x15, 0x04, 0x15, 0x80, 0x01, 0x15].repeat(200));
        let text: Vec<u8> =
            (0..50).flat_map(|i| format!("{i},hm,0,Read,{},2048,2833\n", i * 512).into_bytes()).collect();
        for other in [parquet, text, vec![0; 4096], vec![1; 4096], vec![2; 4096], vec![0xff; 4096], Vec::new()] {
            assert!(!looks_like(&other));
        }
        assert!(!looks_like(&trace(VscsiVersion::Two, 1)), "one record is not enough to tell");
        assert!(matches!(read(b"what".to_vec()).1, Err(TraceError::Corrupt { .. })));
        assert_eq!(read(Vec::new()).0.understood, 0);
    }

    #[test]
    fn bad_records_are_malformed() {
        let mut bytes = trace(VscsiVersion::One, 300);
        bytes.extend(encode(VscsiVersion::One, 0x2a, 512, u64::MAX / 512, 1, 0));
        bytes.extend([0; 32]);
        bytes.extend([0; 31]);
        let (sink, end) = read(bytes);
        end.unwrap();
        let places: Vec<_> = sink.malformed.examples.iter().map(|example| example.place).collect();
        assert_eq!(places, [300, 301, 302].map(|record| SourcePlace::Byte(record * 32)));
    }

    proptest! {
        #[test]
        fn reading_random_bytes_ends(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            prop_assert!(!looks_like(&bytes));
            let _ = read(bytes.clone());
            for version in [VscsiVersion::One, VscsiVersion::Two] {
                let _ = read([trace(version, 16), bytes.clone()].concat());
            }
        }

        #[test]
        fn reading_mutated_bytes_ends(
            changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..20),
            is_two: bool,
        ) {
            let mut bytes = trace(if is_two { VscsiVersion::Two } else { VscsiVersion::One }, 40);
            for (at, byte) in changes {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            looks_like(&bytes);
            let _ = read(bytes);
        }
    }
}
