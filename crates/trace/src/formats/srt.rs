//! HP SRT: the traces of HP Labs (hplajw, snake, cello), versions 1 to 4 and 7. Big-endian, with completion times.
//!
//! A text header begins with `$$TR_IOREC` and ends with a form feed; records of 32-bit words follow, each beginning
//! with its own size. Their layout is that of `disksim_hptrace.h` (DiskSim 4.0, Bucy et al. 2008); that of version 7,
//! which is not in it, was inferred from cello's trace of 2003.
//!
//! - **Times** of versions 1 to 4 count from the header's `tracedate` (ctime form, taken as UTC); if that cannot be
//!   read, from zero. Those of version 7 are since 1970.
//! - **Addresses** of versions 1 to 4 are blocks of the `sectorsize` that the header gives for the disk, 512 bytes if it
//!   gives none. Those of version 7 are bytes.
//! - **Devices** of versions 1 to 4 are named by the number of the disk (`0`), those of version 7 by the device number
//!   in hex without its lowest byte, which in HP-UX holds options and not a disk (`1f0260` of `0x1f026000`).

use crate::binary::BinarySource;
use crate::error::{SourcePlace, TraceError};
use crate::reader::{Reader, Stream};
use crate::record::{DeviceId, Record, RequestKind};
use crate::record_sink::RecordSink;
use scrubjay_core::units::{Bytes, Nanos};
use std::collections::HashMap;

/// The beginning of the header.
const MAGIC: &[u8] = b"$$TR_IOREC";
/// The end of the header.
const HEADER_END: u8 = 0x0c;
/// The longest header accepted, in bytes; hplajw's has 2 KiB.
const HEADER_MAX: usize = 64 << 10;
/// The longest record accepted, in bytes.
const RECORD_MAX: usize = 64 << 10;
/// The shortest record, in bytes: a size, and a version and type.
const RECORD_MIN: usize = 8;
/// The number of records per call.
const BATCH: usize = 4096;
/// The block size if the header gives none, in bytes: that of nearly every disk.
const BLOCK_BYTES: u64 = 512;
/// Types of records that are requests; others are texts, and requests with doubtful times.
const REQUEST_TYPES: [u32; 2] = [1, 2];

/// Whether `head` begins like an SRT header.
pub(super) fn looks_like(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// A reader of the format.
pub(super) fn open(source: Stream) -> Box<dyn Reader> {
    let source = BinarySource::new(source);
    Box::new(Srt { source, header: None, ids: HashMap::new(), is_ended: false })
}

struct Srt {
    source: BinarySource,
    /// `None`: not read yet.
    header: Option<SrtHeader>,
    /// Devices by the number in their name, and whether the record is of version 7.
    ids: HashMap<(u32, bool), DeviceId>,
    is_ended: bool,
}

impl Reader for Srt {
    fn read(&mut self, sink: &mut RecordSink) -> Result<bool, TraceError> {
        if self.is_ended {
            return Ok(false);
        }
        let header = match self.header.take() {
            Some(header) => header,
            None => read_header(&mut self.source)?,
        };
        for _ in 0..BATCH {
            if !self.read_one(&header, sink)? {
                self.is_ended = true;
                break;
            }
        }
        self.header = Some(header);
        sink.check_share_malformed(self.is_ended)?;
        Ok(true)
    }
}

impl Srt {
    /// Reads one record of any type. False: the source has ended.
    fn read_one(&mut self, header: &SrtHeader, sink: &mut RecordSink) -> Result<bool, TraceError> {
        let place = self.source.place();
        let raw = self.source.peek(RECORD_MIN)?;
        if raw.is_empty() {
            return Ok(false);
        }
        if raw.len() < RECORD_MIN {
            sink.malformed(place, "cut off", raw);
            return Ok(false);
        }
        let size = word(raw, 0) as usize;
        if !(RECORD_MIN..=RECORD_MAX).contains(&size) {
            return Err(corrupt(place, format!("a record cannot have {size} bytes")));
        }
        let raw = self.source.peek(size)?;
        if raw.len() < size {
            sink.malformed(place, "cut off", raw);
            return Ok(false);
        }
        let (version, kind) = (word(raw, 1) >> 16, word(raw, 1) & 0xffff);
        if REQUEST_TYPES.contains(&kind) {
            if size < fixed_bytes(version) {
                return Err(corrupt(place, format!("a request of version {version} cannot have {size} bytes")));
            }
            match request(&raw[..size], version, header) {
                Ok(request) => {
                    let device = device_id(&mut self.ids, request.device, version == 7, sink)?;
                    sink.records.push(Record { device, ..request.record });
                    sink.understood += 1;
                }
                Err(reason) => sink.malformed(place, reason, &raw[..size]),
            }
        }
        self.source.consume(size);
        Ok(true)
    }
}

/// A record whose device id is still to be found.
struct SrtRequest {
    record: Record,
    /// The number in the device's name.
    device: u32,
}

/// The number of bytes that every request of this version has.
fn fixed_bytes(version: u32) -> usize {
    match version {
        1..=3 => 52,
        4 => 56,
        7 => 72,
        _ => RECORD_MIN,
    }
}

/// Decodes a request that has all its fixed bytes.
fn request(raw: &[u8], version: u32, header: &SrtHeader) -> Result<SrtRequest, &'static str> {
    if !matches!(version, 1..=4 | 7) {
        return Err("a version not known");
    }
    let micros = word(raw, 3);
    if micros >= 1_000_000 {
        return Err("a second has no more than a million microseconds");
    }
    let since_base = Nanos::from_secs(u64::from(word(raw, 2))) + Nanos(u64::from(micros) * 1000);
    let device = word(raw, 8);
    let (arrival, offset, device) = if version == 7 {
        let offset = u64::from(word(raw, 16)) << 32 | u64::from(word(raw, 17));
        (since_base, offset, device >> 8)
    } else {
        let disk = device >> 8 & 0xff;
        let offset = u64::from(word(raw, 7)) * header.block_bytes(disk);
        (header.traced_from.saturating_add(since_base), offset, disk)
    };
    let length = u64::from(word(raw, 6));
    if offset.checked_add(length).is_none() {
        return Err("an address beyond all disks");
    }
    // The word is signed: negative if the request was never completed, or completed before it came; then there is no
    // response time.
    let response = i32::try_from(word(raw, 5)).ok().map(|micros| Nanos(u64::from(micros.unsigned_abs()) * 1000));
    let kind = if word(raw, 11) & 1 == 1 { RequestKind::Read } else { RequestKind::Write };
    let (offset, length) = (Bytes(offset), Bytes(length));
    Ok(SrtRequest { record: Record { arrival, response, offset, length, device: DeviceId(0), kind }, device })
}

fn device_id(
    ids: &mut HashMap<(u32, bool), DeviceId>,
    device: u32,
    is_hex: bool,
    sink: &mut RecordSink,
) -> Result<DeviceId, TraceError> {
    if let Some(&id) = ids.get(&(device, is_hex)) {
        return Ok(id);
    }
    let name = if is_hex { format!("{device:06x}") } else { device.to_string() };
    let id = sink.devices.id(name.as_bytes());
    let id = id.ok_or_else(|| TraceError::TooManyDevices(sink.devices.names().len()))?;
    ids.insert((device, is_hex), id);
    Ok(id)
}

/// The relevant parts of the header.
#[derive(Debug, Default, PartialEq, Eq)]
struct SrtHeader {
    /// The origin of times in versions 1 to 4, since 1970; zero if the header does not give it.
    traced_from: Nanos,
    /// The block sizes of the disks that have one, in bytes.
    block_bytes: HashMap<u32, u64>,
}

impl SrtHeader {
    fn block_bytes(&self, disk: u32) -> u64 {
        self.block_bytes.get(&disk).copied().unwrap_or(BLOCK_BYTES)
    }

    fn parse(text: &str) -> SrtHeader {
        let mut header = SrtHeader { block_bytes: block_sizes(text), ..SrtHeader::default() };
        let date = text.lines().find_map(|line| line.trim_start().strip_prefix("tracedate"));
        let date = date.and_then(|rest| rest.trim_start().strip_prefix('='));
        if let Some(time) = date.and_then(|date| ctime(date.trim_matches([' ', '\t', '\r', ';', '"']))) {
            header.traced_from = time;
        }
        header
    }
}

/// Reads the header, and leaves the source at the first record.
fn read_header(source: &mut BinarySource) -> Result<SrtHeader, TraceError> {
    let head = source.peek(HEADER_MAX)?;
    let head = &head[..head.len().min(HEADER_MAX)];
    if !looks_like(head) {
        return Err(corrupt(SourcePlace::Byte(0), "an SRT trace begins with $$TR_IOREC".into()));
    }
    let Some(end) = head.iter().position(|&byte| byte == HEADER_END) else {
        return Err(corrupt(SourcePlace::Byte(head.len() as u64), "the header does not end".into()));
    };
    let header = SrtHeader::parse(&String::from_utf8_lossy(&head[..end]));
    source.consume(end + 1);
    Ok(header)
}

/// Finds `sectorsize = N` in `disks = { DISK -> { ... }, ... }`, at its own depth only, because the sections of a disk
/// are numbered too.
fn block_sizes(text: &str) -> HashMap<u32, u64> {
    let tokens = tokens(text);
    let (mut sizes, mut depth, mut disk) = (HashMap::new(), 0usize, None);
    for (at, &token) in tokens.iter().enumerate() {
        match token {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "->" if depth == 1 && at > 0 => disk = tokens[at - 1].parse().ok(),
            "sectorsize" if depth == 2 && tokens.get(at + 1) == Some(&"=") => {
                let size = tokens.get(at + 2).and_then(|size| size.parse::<u32>().ok()).filter(|&size| size > 0);
                if let (Some(disk), Some(size)) = (disk, size) {
                    sizes.insert(disk, u64::from(size));
                }
            }
            _ => {}
        }
    }
    sizes
}

/// Splits text into words, braces and equals signs, without strings, comments and separators.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '{' | '}' | '=' => 1,
            first if is_separator(first) => first.len_utf8(),
            _ => rest.find(|c| is_separator(c) || "\"#{}=".contains(c)).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(end);
        if !is_separator(first) && first != '"' && first != '#' {
            tokens.push(token);
        }
        rest = after;
    }
    tokens
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || ",;()".contains(c)
}

/// Parses `Sat May 30 00:03:06 1992` as UTC; returns the time since 1970. The day of the week is ignored.
fn ctime(text: &str) -> Option<Nanos> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_ascii_whitespace().skip(1);
    let month = words.next()?;
    let month = 1 + MONTHS.iter().position(|&name| name == month)? as u64;
    let day = number(words.next()?, 1, 31)?;
    let mut clock = words.next()?.split(':');
    let (hour, minute) = (number(clock.next()?, 0, 23)?, number(clock.next()?, 0, 59)?);
    let second = number(clock.next()?, 0, 60)?;
    // The year is the last word, because a time zone may precede it. Time zones are ignored: their names are too many.
    let year = number(words.last()?, 1970, 2200)?;
    Some(Nanos::from_secs(days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second))
}

fn number(text: &str, min: u64, max: u64) -> Option<u64> {
    text.parse().ok().filter(|number| (min..=max).contains(number))
}

/// Days since 1970 in the Gregorian calendar, by years that begin in March, so that the leap day is the last of its
/// year.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days_before_month = (153 * month + 2) / 5;
    year * 365 + year / 4 - year / 100 + year / 400 + days_before_month + (day - 1) - 719_468
}

/// A big-endian word of a record that is long enough to have it.
fn word(raw: &[u8], index: usize) -> u32 {
    let at = index * 4;
    u32::from_be_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]])
}

fn corrupt(place: SourcePlace, what: String) -> TraceError {
    TraceError::Corrupt { place, what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    const HEADER: &str = "$$TR_IOREC-1.3 (test)\n# { a comment\ntracedate = \"Sat May 30 00:03:06 1992\";\n\
        disks = {\n 0 -> {\n description = \"a } in a string\",\n adaptor = 1 -> { hp_ib , 1.2 },\n sectorsize  = 256,\n\
        sections = {\n 8 -> {\n sectorsize = 9\n } } },\n 3 -> {\n sectorsize = 1024\n } };\n\x0c";

    fn read(bytes: Vec<u8>) -> (RecordSink, Result<(), TraceError>) {
        let (mut reader, mut sink) = (open(Box::new(Cursor::new(bytes))), RecordSink::default());
        loop {
            let before = sink.records.len();
            match reader.read(&mut sink) {
                Ok(true) => {}
                Ok(false) => {
                    assert_eq!(sink.records.len(), before);
                    return (sink, Ok(()));
                }
                Err(error) => return (sink, Err(error)),
            }
        }
    }

    fn record(words: &[(usize, u32)], size: usize, version: u32, kind: u32) -> Vec<u8> {
        let mut all = vec![0u32; size / 4];
        (all[0], all[1]) = (size as u32, version << 16 | kind);
        for &(at, word) in words {
            all[at] = word;
        }
        all.into_iter().flat_map(u32::to_be_bytes).collect()
    }

    fn version_4(secs: u32, disk: u32, flags: u32) -> Vec<u8> {
        let words =
            [(2, secs), (3, 250_000), (5, 1500), (6, 4096), (7, 1000), (8, 8 << 24 | disk << 8 | 7), (11, flags)];
        record(&words, 56, 4, 1)
    }

    fn trace(records: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = HEADER.as_bytes().to_vec();
        bytes.extend(records.iter().flatten());
        bytes
    }

    #[test]
    fn version_4_counts_blocks_of_the_disk_from_the_date_of_the_trace() {
        let text = record(&[], 24, 4, 3);
        let (sink, end) = read(trace(&[version_4(7, 0, 0x1b), text, version_4(8, 3, 0x1a), version_4(9, 1, 0)]));
        end.unwrap();
        assert_eq!(sink.devices.names(), ["0", "3", "1"]);
        let first = sink.records[0];
        // `date -ud "1992-05-30 00:03:06" +%s` and seven and a quarter seconds.
        assert_eq!(first.arrival, Nanos(707_184_186_000_000_000 + 7_250_000_000));
        assert_eq!(
            (first.response, first.length, first.kind),
            (Some(Nanos(1_500_000)), Bytes(4096), RequestKind::Read)
        );
        let offsets: Vec<u64> = sink.records.iter().map(|record| record.offset.0).collect();
        assert_eq!(offsets, [256_000, 1_024_000, 512_000]);
        assert_eq!((sink.records[1].kind, sink.understood, sink.malformed.count), (RequestKind::Write, 3, 0));
    }

    #[test]
    fn version_7_has_bytes_and_its_own_clock() {
        let words = [(2, 0x3ec7_cb14), (3, 1), (5, u32::MAX), (6, 512), (8, 0x1f02_6000), (11, 1), (16, 2), (17, 512)];
        let (sink, end) = read(trace(&[record(&words, 88, 7, 1)]));
        end.unwrap();
        let first = sink.records[0];
        assert_eq!(sink.devices.names(), ["1f0260"]);
        assert_eq!((first.arrival, first.response), (Nanos(0x3ec7_cb14 * 1_000_000_000 + 1000), None));
        assert_eq!(first.offset, Bytes(2 << 32 | 512));
    }

    #[test]
    fn the_date_may_be_missing_or_bare() {
        assert_eq!(SrtHeader::parse("version = 1;\n").traced_from, Nanos(0));
        assert_eq!(SrtHeader::parse("tracedate = yesterday").traced_from, Nanos(0));
        let bare = SrtHeader::parse("tracedate = Sun May 18 11:04:05 2003\n").traced_from;
        assert_eq!(bare, Nanos::from_secs(1_053_255_845));
        assert_eq!(ctime("Thu Jan  1 00:00:00 1970"), Some(Nanos(0)));
        assert_eq!(ctime("Tue Feb 29 12:00:00 EST 2000"), Some(Nanos::from_secs(951_825_600)));
    }

    #[test]
    fn impossible_sizes_are_corrupt_with_their_place() {
        for (bad, size) in [(record(&[(0, 0)], 56, 4, 1), 0), (record(&[(0, 65_540)], 56, 4, 3), 65_540)] {
            let (sink, end) = read(trace(&[version_4(1, 0, 1), bad]));
            let place = HEADER.len() + 56;
            assert_eq!(end.unwrap_err().to_string(), format!("byte {place}: a record cannot have {size} bytes"));
            assert_eq!(sink.understood, 1);
        }
        let (_, end) = read(trace(&[record(&[], 40, 7, 1)]));
        assert!(matches!(end, Err(TraceError::Corrupt { .. })));
        let (_, end) = read(b"$$TR_IOREC without an end".to_vec());
        assert!(matches!(end, Err(TraceError::Corrupt { place: SourcePlace::Byte(25), .. })));
    }

    #[test]
    fn a_record_cut_off_and_one_of_a_version_not_known_are_malformed() {
        let mut records: Vec<Vec<u8>> = (0..300).map(|secs| version_4(secs, 0, 1)).collect();
        records.push(record(&[], 56, 5, 1));
        records.push(version_4(1, 0, 1)[..30].to_vec());
        let (sink, end) = read(trace(&records));
        end.unwrap();
        assert_eq!((sink.understood, sink.malformed.count), (300, 2));
        assert_eq!(sink.malformed.examples[1].place, SourcePlace::Byte((HEADER.len() + 301 * 56) as u64));
    }

    proptest! {
        #[test]
        fn reading_random_bytes_ends(bytes in proptest::collection::vec(any::<u8>(), 0..4000), with_header: bool) {
            let _ = read(if with_header { trace(&[bytes]) } else { bytes });
        }

        #[test]
        fn reading_mutated_bytes_ends(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..20)) {
            let mut bytes = trace(&(0..20).map(|secs| version_4(secs, 0, 1)).collect::<Vec<_>>());
            for (at, byte) in changes {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            let _ = read(bytes);
        }

        #[test]
        fn dates_are_those_of_the_calendar(days in 0u64..60_000) {
            // Counts the days one by one, as a wall calendar does.
            let (mut days_left, mut year, mut month) = (days, 1970, 1);
            loop {
                let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
                let length = match month { 2 if is_leap => 29, 2 => 28, 4 | 6 | 9 | 11 => 30, _ => 31 };
                if days_left < length { break; }
                days_left -= length;
                (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            }
            prop_assert_eq!(days_since_1970(year, month, days_left + 1), days);
        }
    }
}
