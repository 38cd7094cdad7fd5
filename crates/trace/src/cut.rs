//! Cuts a trace into parts that can be read independently of each other, for formats whose lines stand alone.
//!
//! A part is a span of time, and the bytes that contain all its records. Traces are not quite sorted: a record may be
//! displaced from its sorted place by as many records as the sorter tolerates ([`DISORDER_MAX`]). So the bytes of a
//! part extend beyond its first and last record by as many lines, and each part drops records outside its time. For
//! each cut a record is found that proves the extension sufficient, because otherwise it would be displaced too far;
//! until one is found, the bytes are extended.

use crate::error::TraceError;
use crate::formats::{Format, FormatOpener};
use crate::open::InputError;
use crate::open::{Input, OpenOptions, TraceSource, open};
use crate::reader::SeekRead;
use crate::sorted::WINDOW;
use scrubjay_core::units::Nanos;
use std::io::{self, Cursor, Read, SeekFrom};
use std::ops::Range;

/// A trace is refused if a record is displaced by more records than this: the sorter gathers two windows before it
/// sorts, and the batch that completes them. A batch is what an input reads before it sorts (`open/input_stream.rs`):
/// fewer than 4096 records, and those of one block of text (`text.rs`: 320 KiB, in lines of 10 bytes or more).
pub const DISORDER_MAX: usize = 2 * WINDOW + (64 << 10);
/// The formats whose lines mean the same in any context: a line is one record or none, and names its own device and
/// time; no header sets anything, nothing is held back for a later line. Those that are not listed are read whole;
/// others qualify, such as spc, but nobody has needed to cut them yet. `docs/fleet.md` names those listed, too.
const INDEPENDENT_LINES: [&str; 3] = ["msr", "alibaba", "tencent"];
/// The number of bytes read to find the time at a place in the file.
const SAMPLE_BYTES: usize = 64 << 10;
/// The size of the blocks in which lines are counted, in bytes.
const BLOCK_BYTES: usize = 1 << 20;

/// One part of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePart {
    /// The bytes that contain all its records; they begin with a line.
    pub bytes: Range<u64>,
    /// The arrival from which on records belong to the part.
    pub from: Nanos,
    /// The arrival from which on records belong to the next part; `None`: this is the last part.
    pub until: Option<Nanos>,
}

/// Whether a plain file of this format can be cut.
pub fn is_possible(format: &Format) -> bool {
    INDEPENDENT_LINES.contains(&format.name) && matches!(format.open, FormatOpener::Stream(_))
}

/// Cuts a file of `length` bytes into at most `parts` parts of about equal bytes, in order; together they contain each
/// record once. `disorder`: the number of records by which a record may be displaced.
///
/// # Errors
/// If the file cannot be read.
pub fn cut(
    file: &mut dyn SeekRead,
    length: u64,
    options: OpenOptions,
    parts: u64,
    disorder: usize,
) -> Result<Vec<TracePart>, InputError> {
    let mut cutter = Cutter { file, length, options };
    let mut cuts: Vec<CutPlace> = Vec::new();
    for part in 1..parts.max(1) {
        let place = cutter.line_after(length / parts * part)?;
        let Some(at) = cutter.times(place)?.map(|times| times.start) else { continue };
        if cuts.last().is_none_or(|last| last.at < at) {
            cuts.push(cutter.reach(place, at, disorder)?);
        }
    }
    let whole = TracePart { bytes: 0..length, from: Nanos::ZERO, until: None };
    let mut all = vec![whole];
    for cut in cuts {
        let last = all.last_mut().expect("there is one");
        (last.until, last.bytes.end) = (Some(cut.at), cut.bytes.end);
        all.push(TracePart { bytes: cut.bytes.start..length, from: cut.at, until: None });
    }
    Ok(all)
}

/// Where two parts meet.
struct CutPlace {
    /// Records that arrive at this time or later belong to the next part.
    at: Nanos,
    /// From the first byte that the next part needs to the last one that the previous part needs: the two parts overlap
    /// here.
    bytes: Range<u64>,
}

struct Cutter<'a> {
    file: &'a mut dyn SeekRead,
    length: u64,
    options: OpenOptions,
}

impl Cutter<'_> {
    /// Finds how far the bytes of a cut at `place` must extend.
    fn reach(&mut self, place: u64, at: Nanos, disorder: usize) -> Result<CutPlace, InputError> {
        let mut lines = disorder + disorder / 16 + 1;
        // If a record before `start` arrived at the cut or later, so would all records more than `disorder` behind it;
        // `proof` does not.
        let start = loop {
            let proof = self.lines_before(place, lines - disorder)?;
            let start = self.lines_before(proof, disorder)?;
            if start == 0 || self.times(proof)?.is_some_and(|times| times.start < at) {
                break start;
            }
            lines = disorder + 2 * (lines - disorder);
        };
        let mut lines = disorder + disorder / 16 + 1;
        let end = loop {
            let proof = self.lines_after(place, lines - disorder)?;
            let beyond = self.lines_after(proof, disorder)?;
            // The records of the sample lie behind its place, so as many more bytes are included.
            let end = self.line_after(beyond + 2 * SAMPLE_BYTES as u64)?;
            if end >= self.length || self.times(proof)?.is_some_and(|times| times.end >= at) {
                break end;
            }
            lines = disorder + 2 * (lines - disorder);
        };
        Ok(CutPlace { at, bytes: start..end })
    }

    /// The least and the greatest arrival in a few lines from `place` on; `None`: there are no records.
    fn times(&mut self, place: u64) -> Result<Option<Range<Nanos>>, InputError> {
        let mut lines = self.read(place, SAMPLE_BYTES).map_err(|error| self.failed(error))?;
        let complete = lines.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if place + (lines.len() as u64) < self.length {
            lines.truncate(complete);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let input = Input { name: String::new(), source: TraceSource::Pipe(Box::new(Cursor::new(lines))) };
        let mut trace = open(vec![input], self.options)?;
        let mut times: Option<Range<Nanos>> = None;
        while let Some(records) = trace.next_batch()? {
            let (Some(first), Some(last)) = (records.first(), records.last()) else { continue };
            let times = times.get_or_insert(first.arrival..first.arrival);
            times.end = last.arrival;
        }
        Ok(times)
    }

    /// The beginning of the first line that begins at `place` or later; the end of the file if none does.
    fn line_after(&mut self, place: u64) -> Result<u64, InputError> {
        if place == 0 { Ok(0) } else { self.lines_after(place - 1, 1) }
    }

    /// The beginning of the line after `count` line ends from `place` on.
    fn lines_after(&mut self, place: u64, count: usize) -> Result<u64, InputError> {
        let (mut at, mut remaining) = (place, count);
        while remaining > 0 && at < self.length {
            let block = self.read(at, BLOCK_BYTES).map_err(|error| self.failed(error))?;
            if block.is_empty() {
                break;
            }
            for (index, _) in block.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
                remaining -= 1;
                if remaining == 0 {
                    return Ok(at + index as u64 + 1);
                }
            }
            at += block.len() as u64;
        }
        Ok(if remaining == 0 { at } else { self.length })
    }

    /// The beginning of the line `count` lines before the one at `place`; zero if there are fewer.
    fn lines_before(&mut self, place: u64, count: usize) -> Result<u64, InputError> {
        // One more, because the line end directly before `place` does not count.
        let (mut end, mut remaining) = (place, count + 1);
        while end > 0 {
            let start = end.saturating_sub(BLOCK_BYTES as u64);
            let block = self.read(start, (end - start) as usize).map_err(|error| self.failed(error))?;
            for (index, _) in block.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n') {
                remaining -= 1;
                if remaining == 0 {
                    return Ok(start + index as u64 + 1);
                }
            }
            end = start;
        }
        Ok(0)
    }

    fn read(&mut self, place: u64, bytes: usize) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(place))?;
        let mut block = Vec::with_capacity(bytes);
        Read::by_ref(&mut self.file).take(bytes as u64).read_to_end(&mut block)?;
        Ok(block)
    }

    fn failed(&self, error: io::Error) -> InputError {
        InputError::Trace { name: String::new(), error: TraceError::Io(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::by_name;
    use crate::record::Record;
    use proptest::prelude::*;

    fn options() -> OpenOptions {
        OpenOptions { format: by_name("msr"), ..OpenOptions::default() }
    }

    fn read(bytes: &[u8]) -> Vec<Record> {
        let source = TraceSource::Pipe(Box::new(Cursor::new(bytes.to_vec())));
        let mut trace = open(vec![Input { name: "a".to_owned(), source }], options()).unwrap();
        let mut all = Vec::new();
        while let Some(records) = trace.next_batch().unwrap() {
            all.extend_from_slice(records);
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn the_parts_have_each_record_once_and_in_order(
            gaps in proptest::collection::vec(0u64..3, 30_000..40_000),
            disorder in 0usize..200,
            parts in 1u64..9,
            seed in any::<u64>(),
        ) {
            let mut at = 128_166_372_000_000_000u64;
            let mut times: Vec<u64> = gaps.iter().map(|gap| { at += gap * 10_000; at }).collect();
            // Reversing blocks of `disorder` records displaces each by less than `disorder`.
            if disorder > 1 {
                times.chunks_mut(disorder).filter(|block| (block[0] ^ seed) % 3 == 0).for_each(<[u64]>::reverse);
            }
            let text: String = times.iter().map(|time| format!("{time},usr,0,Read,{},512,10\n", time % 4096 * 512)).collect();
            let expected = read(text.as_bytes());
            let mut file = Cursor::new(text.as_bytes().to_vec());
            let cuts = cut(&mut file, text.len() as u64, options(), parts, disorder).unwrap();
            let mut joined = Vec::new();
            for part in &cuts {
                let bytes = &text.as_bytes()[part.bytes.start as usize..part.bytes.end as usize];
                let wanted = |record: &Record| record.arrival >= part.from && part.until.is_none_or(|until| record.arrival < until);
                joined.extend(read(bytes).into_iter().filter(wanted));
            }
            prop_assert_eq!(joined.len(), expected.len());
            prop_assert!(joined == expected, "{:?}", cuts);
        }
    }

    #[test]
    fn only_formats_whose_lines_stand_alone_are_cut() {
        assert!(is_possible(by_name("msr").unwrap()));
        assert!(!is_possible(by_name("parquet").unwrap()) && !is_possible(by_name("blkparse").unwrap()));
    }
}
