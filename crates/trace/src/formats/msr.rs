//! MSR Cambridge CSV: a week of 36 volumes of a data centre, the trace most studies use. Read and written.
//!
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, no header. Narayanan, Donnelly and Rowstron, *Write
//! Off-Loading* (FAST 2008); columns as in the readme of SNIA IOTTA set 388. Times are in units of 100 ns.
//!
//! Most rows take a fast path, eight bytes at a time. It rejects nothing: a row with anything unusual goes to the plain
//! path, which alone decides what is malformed.

use crate::columns::columns;
use crate::error::SourcePlace;
use crate::fields::number;
use crate::reader::{OutputStream, Reader, Stream, Writer};
use crate::record::{DeviceId, Record, RequestKind};
use crate::record_sink::{Devices, RecordSink};
use crate::text::{TextFormat, TextLine, TextReader, are_records};
use crate::writing::{FormatWriter, Loss};
use scrubjay_core::units::{Bytes, Nanos};
use std::io;

/// 1970 in ticks since 1601: 369 years, 89 of them leap years, 134,774 days.
const EPOCH_TICKS: u64 = 134_774 * 86_400 * 10_000_000;
/// Nanoseconds in one tick of a Windows FILETIME.
const TICK_NANOS: u64 = 100;
/// The number of bytes that the fast path examines. Its longest row fits: a time (19 with its comma), names (16), a
/// type (6), three numbers (16 each with their separator) and a line feed are 90.
const WINDOW: usize = 96;
/// The number of slots in the fast path's table of names.
const NAMES: usize = 64;
/// The number of bytes that the writer gathers before it passes them on.
const WRITE_BYTES: usize = 128 << 10;

/// The writer of the format.
pub const WRITER: FormatWriter = FormatWriter {
    begin: writer,
    endings: &["csv"],
    is_compressed: false,
    loses_in_words: "discards and flushes; times below 100 ns; 0 stands for an unknown response; a NAME without _N gets _0",
    counted_losses: &[
        Loss {
            fate: "left out: discards and flushes",
            is_left_out: true,
            concerns: |record| !matches!(record.kind, RequestKind::Read | RequestKind::Write),
        },
        Loss {
            fate: "with a time rounded down to 100 ns",
            is_left_out: false,
            concerns: |record| {
                let is_finer = |time: Nanos| !time.0.is_multiple_of(100);
                is_finer(record.arrival) || record.response.is_some_and(is_finer)
            },
        },
        Loss {
            fate: "without a response time, for which 0 stands",
            is_left_out: false,
            concerns: |record| record.response.is_none(),
        },
    ],
    keeps_name: |name| {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        name.rsplit_once('_').is_some_and(|(host, disk)| !host.is_empty() && is_number(disk)) && !name.contains(',')
    },
};

/// Whether the first lines are in this format.
pub fn looks_like(head: &[u8]) -> bool {
    are_records(Msr::default(), head)
}

/// A reader of the format.
pub fn open(source: Stream) -> Box<dyn Reader> {
    Box::new(TextReader::new(Msr::default(), source))
}

/// A writer of the format; [`WRITER`] lists what is lost.
///
/// A device `NAME_3` becomes host `NAME`, disk 3; any other `NAME` becomes disk 0 of that host, and is `NAME_0` when
/// it is read back. Commas and control characters in names become `-`.
pub fn writer(sink: OutputStream) -> Box<dyn Writer> {
    Box::new(MsrWriter { sink, text: Vec::with_capacity(WRITE_BYTES), names: Vec::new() })
}

/// The format's reader.
#[derive(Default)]
struct Msr {
    names: Names,
}

impl TextFormat for Msr {
    fn line(&mut self, line: &[u8], devices: &mut Devices) -> TextLine {
        if line.is_empty() || line.starts_with(b"Timestamp,") {
            return TextLine::Ignored;
        }
        match row(line) {
            Ok(row) => match self.names.learn(row.name, row.disk, devices) {
                Some(device) => TextLine::Record(Record { device, ..row.record }),
                None => TextLine::Malformed("more devices than can be told apart"),
            },
            Err(reason) => TextLine::Malformed(reason),
        }
    }

    fn lines(&mut self, text: &[u8], line_first: u64, record_sink: &mut RecordSink) -> u64 {
        let (mut at, mut number) = (0, line_first);
        let understood = record_sink.records.len();
        while at < text.len() {
            if let Some((record, length)) = text[at..].first_chunk().and_then(|window| self.fast(window)) {
                record_sink.records.push(record);
                at += length;
            } else {
                let length = text[at..].iter().position(|&byte| byte == b'\n').unwrap_or(text.len() - at);
                let line = &text[at..at + length];
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                match self.line(line, &mut record_sink.devices) {
                    TextLine::Record(record) => record_sink.records.push(record),
                    TextLine::Ignored => {}
                    TextLine::Malformed(reason) => record_sink.malformed(SourcePlace::Line(number), reason, line),
                }
                at += length + 1;
            }
            number += 1;
        }
        record_sink.understood += (record_sink.records.len() - understood) as u64;
        number - line_first
    }
}

impl Msr {
    /// The record of a row, and the row's length with its line end; `None`: use the plain path.
    #[inline(always)]
    fn fast(&mut self, window: &[u8; WINDOW]) -> Option<(Record, usize)> {
        // Every time from 1970 until nanoseconds overflow has eighteen digits.
        let (first, second) = (word(window, 0)? ^ ZEROS, word(window, 8)? ^ ZEROS);
        let (tens, ones) = (window[16] ^ b'0', window[17] ^ b'0');
        if non_digits(first) | non_digits(second) != 0 || tens > 9 || ones > 9 || window[18] != b',' {
            return None;
        }
        let ticks = eight_digits(first) * 10_000_000_000 + eight_digits(second) * 100;
        let since_1970 = (ticks + u64::from(tens) * 10 + u64::from(ones)).wrapping_sub(EPOCH_TICKS);
        if since_1970 > u64::MAX / TICK_NANOS {
            return None;
        }
        let (device, length) = self.names.find(u128::from_le_bytes(*window[19..].first_chunk()?))?;
        let (kind, at) = kind(window, 19 + length)?;
        let (offset, at) = digits(window, at)?;
        let (size, after_offset) = digits(window, at + 1)?;
        let (response, end) = digits(window, after_offset + 1)?;
        if *window.get(at)? != b',' || *window.get(after_offset)? != b',' {
            return None;
        }
        let length = match window.get(end..end + 2)? {
            [b'\n', _] => end + 1,
            b"\r\n" => end + 2,
            _ => return None,
        };
        let record = Record {
            arrival: Nanos(since_1970 * TICK_NANOS),
            // Numbers have at most fifteen digits, so nothing here can overflow.
            response: response_of(response * TICK_NANOS),
            offset: Bytes(offset),
            length: Bytes(size),
            device,
            kind,
        };
        Some((record, length))
    }
}

/// A row as the plain path reads it: everything except the device id.
struct MsrRow<'a> {
    record: Record,
    name: &'a [u8],
    disk: &'a [u8],
}

/// The plain path, which decides what a record is.
fn row(line: &[u8]) -> Result<MsrRow<'_>, &'static str> {
    let [time, name, disk, kind, offset, size, response] = columns(line).ok_or("not seven columns")?;
    let time = number(time).ok_or("the time is no number")?;
    let since_1970 = time.checked_sub(EPOCH_TICKS).ok_or("the time is before 1970")?;
    let arrival = since_1970.checked_mul(TICK_NANOS).ok_or("the time is beyond 2554")?;
    if name.is_empty() || !disk.iter().all(u8::is_ascii_digit) || disk.is_empty() {
        return Err("no host name and disk number");
    }
    let kind = match kind {
        b"Read" => RequestKind::Read,
        b"Write" => RequestKind::Write,
        _ => return Err("the type is neither Read nor Write"),
    };
    let offset = number(offset).ok_or("the offset is no number")?;
    let length = number(size).ok_or("the size is no number")?;
    offset.checked_add(length).ok_or("the request ends beyond 16 EiB")?;
    let response = number(response).and_then(|ticks| ticks.checked_mul(TICK_NANOS)).ok_or("the response is no time")?;
    let (arrival, response) = (Nanos(arrival), response_of(response));
    let record =
        Record { arrival, response, offset: Bytes(offset), length: Bytes(length), device: DeviceId::default(), kind };
    Ok(MsrRow { record, name, disk })
}

/// The response time of a row. No request takes no time: 0 is what writers put where they do not know it.
fn response_of(nanos: u64) -> Option<Nanos> {
    (nanos > 0).then_some(Nanos(nanos))
}

/// The devices that the fast path knows by the bytes of their columns, `host,disk,`: at most sixteen bytes, as one
/// number with the first byte lowest. Longer names, and those whose slot is taken by another, take the plain path.
struct Names {
    /// The last device found: most traces have long runs of one device.
    last: Name,
    slots: [Name; NAMES],
}

#[derive(Clone, Copy)]
struct Name {
    columns: u128,
    mask: u128,
    length: usize,
    device: DeviceId,
}

/// Matches no columns: its mask leaves zero, and it compares with one.
const NO_NAME: Name = Name { columns: 1, mask: 0, length: 0, device: DeviceId(0) };

impl Default for Names {
    fn default() -> Names {
        Names { last: NO_NAME, slots: [NO_NAME; NAMES] }
    }
}

impl Names {
    /// The device whose columns these bytes begin with, and the number of bytes of its columns.
    #[inline(always)]
    fn find(&mut self, bytes: u128) -> Option<(DeviceId, usize)> {
        if bytes & self.last.mask != self.last.columns {
            let length = two_columns(bytes)?;
            let name = self.slots[slot(bytes & mask(length))];
            if bytes & name.mask != name.columns {
                return None;
            }
            self.last = name;
        }
        Some((self.last.device, self.last.length))
    }

    /// The device of a host and a disk; from now on the fast path knows it.
    fn learn(&mut self, host: &[u8], disk: &[u8], devices: &mut Devices) -> Option<DeviceId> {
        let device = devices.id(&[host, b"_", disk].concat())?;
        let length = host.len() + disk.len() + 2;
        if length <= 16 {
            let mut bytes = [0; 16];
            bytes[..length].copy_from_slice(&[host, b",", disk, b","].concat());
            let columns = u128::from_le_bytes(bytes);
            self.last = Name { columns, mask: mask(length), length, device };
            self.slots[slot(columns)] = self.last;
        }
        Some(device)
    }
}

/// The number of bytes up to and including the second comma.
fn two_columns(bytes: u128) -> Option<usize> {
    const LOW_SEVEN: u128 = u128::from_le_bytes([0x7f; 16]);
    let commas = bytes ^ u128::from_le_bytes([b','; 16]);
    // The highest bit of every zero byte, without carries between bytes.
    let commas = !(((commas & LOW_SEVEN) + LOW_SEVEN) | commas | LOW_SEVEN);
    let second = commas & commas.wrapping_sub(1);
    (second != 0).then(|| second.trailing_zeros() as usize / 8 + 1)
}

/// The mask of the lowest `length` bytes, 1 to 16.
fn mask(length: usize) -> u128 {
    u128::MAX >> (128 - 8 * length)
}

fn slot(columns: u128) -> usize {
    let folded = (columns as u64) ^ ((columns >> 64) as u64).rotate_left(29);
    // Fibonacci hashing: 2^64 divided by the golden ratio.
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % NAMES
}

const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
/// Powers of ten, for as many digits as a second word adds to the first.
const POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Eight bytes as a number, the first byte lowest.
#[inline(always)]
fn word(window: &[u8; WINDOW], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*window.get(at..at + 8)?.first_chunk()?))
}

/// For bytes less `'0'`: the highest bit of the first byte above 9 is set, and none before it.
#[inline(always)]
fn non_digits(digits: u64) -> u64 {
    const BEYOND: u64 = u64::from_le_bytes([0x80 - 10; 8]);
    (digits.wrapping_add(BEYOND) | digits) & u64::from_le_bytes([0x80; 8])
}

/// The value of eight digits, given as bytes less `'0'`, the first lowest: pairs, then fours, then all. No lane
/// overflows into another.
#[inline(always)]
fn eight_digits(digits: u64) -> u64 {
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

/// A number of 1 to 15 digits, and the place after it.
#[inline(always)]
fn digits(window: &[u8; WINDOW], at: usize) -> Option<(u64, usize)> {
    let first = word(window, at)? ^ ZEROS;
    let beyond = non_digits(first);
    if beyond != 0 {
        let count = beyond.trailing_zeros() as usize / 8;
        return if count > 0 { Some((few_digits(first, count), at + count)) } else { None };
    }
    let second = word(window, at + 8)? ^ ZEROS;
    let beyond = non_digits(second);
    let count = beyond.trailing_zeros() as usize / 8;
    if beyond == 0 {
        return None;
    }
    Some((eight_digits(first) * POWERS[count & 7] + few_digits(second, count), at + 8 + count))
}

/// The value of the first `count` digits, at most seven.
#[inline(always)]
fn few_digits(digits: u64, count: usize) -> u64 {
    // Zeros shift in before the first digit. In two steps, because a shift by 64 is not allowed.
    eight_digits((digits << 8) << (56 - 8 * count))
}

/// The kind of the type that begins here, and the beginning of the next column.
#[inline(always)]
fn kind(window: &[u8; WINDOW], at: usize) -> Option<(RequestKind, usize)> {
    const READ: u64 = u64::from_le_bytes(*b"Read,\0\0\0");
    const WRITE: u64 = u64::from_le_bytes(*b"Write,\0\0");
    let bytes = word(window, at)?;
    // Reads and writes alternate unpredictably, so there is no branch on the type: `R` is even and `W` is odd.
    let is_write = bytes & 1;
    let expected = READ ^ ((READ ^ WRITE) & is_write.wrapping_neg());
    let mask = 0x00ff_ffff_ffff | (0xff00_0000_0000 & is_write.wrapping_neg());
    if bytes & mask != expected {
        return None;
    }
    Some((if is_write == 1 { RequestKind::Write } else { RequestKind::Read }, at + 5 + is_write as usize))
}

/// The writer of the format.
struct MsrWriter {
    sink: OutputStream,
    text: Vec<u8>,
    /// The columns of each device, `,host,disk,`.
    names: Vec<Vec<u8>>,
}

impl Writer for MsrWriter {
    fn write(&mut self, records: &[Record], devices: &Devices) -> io::Result<()> {
        for name in devices.names().iter().skip(self.names.len()) {
            self.names.push(name_columns(name));
        }
        let mut digits = itoa::Buffer::new();
        for record in records {
            let kind: &[u8] = match record.kind {
                RequestKind::Read => b"Read,",
                RequestKind::Write => b"Write,",
                RequestKind::Discard | RequestKind::Flush => continue,
            };
            let name = self.names.get(record.device.0 as usize).map_or(&b",unknown,0,"[..], Vec::as_slice);
            let response = record.response.map_or(0, |response| response.0 / TICK_NANOS);
            let text = &mut self.text;
            text.extend_from_slice(digits.format(record.arrival.0 / TICK_NANOS + EPOCH_TICKS).as_bytes());
            text.extend_from_slice(name);
            text.extend_from_slice(kind);
            text.extend_from_slice(digits.format(record.offset.0).as_bytes());
            text.push(b',');
            text.extend_from_slice(digits.format(record.length.0).as_bytes());
            text.push(b',');
            text.extend_from_slice(digits.format(response).as_bytes());
            text.push(b'\n');
            if text.len() >= WRITE_BYTES {
                self.sink.write_all(text)?;
                text.clear();
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.sink.write_all(&self.text)?;
        self.sink.flush()
    }
}

/// A device's name as columns, with the commas before and after.
fn name_columns(name: &str) -> Vec<u8> {
    let is_disk = |disk: &str| !disk.is_empty() && disk.bytes().all(|byte| byte.is_ascii_digit());
    let (host, disk) = match name.rsplit_once('_') {
        Some((host, disk)) if !host.is_empty() && is_disk(disk) => (host, disk),
        _ if name.is_empty() => ("unknown", "0"),
        _ => (name, "0"),
    };
    let mut columns = vec![b','];
    columns.extend(host.bytes().map(|byte| if byte == b',' || byte.is_ascii_control() { b'-' } else { byte }));
    columns.push(b',');
    columns.extend_from_slice(disk.as_bytes());
    columns.push(b',');
    columns
}

#[cfg(test)]
mod tests;
