//! The oracle of a device: for every byte the values that a read may return now, and those that a crash may bring back.
//!
//! Without a crash the device is a register, sector by sector (linearizable; Herlihy & Wing 1990): a read returns the
//! last value whose write ended before the read began, or that of any write under way during the read; and once a read
//! has returned a value, no later read returns an older one. After a crash a read may return the durable value, and any
//! value written or begun to be written since. Durable is a write that was replied to before the submission of a flush
//! that was replied to, or that was itself requested as durable. The first read after the crash decides which value it
//! is. After a trim a read may return zeros or the old value.
//!
//! One thing is not required: that the two parts of one sector that two requests wrote survive a crash together.

use crate::pattern::{self, WriteId};
use std::collections::BTreeMap;
use std::ops::Range;

/// The unit, in bytes, that a crash leaves whole.
const SECTOR: u64 = 512;

/// Later than any step.
const NEVER: u64 = u64::MAX;

/// The content of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteContent {
    /// The bytes of [`pattern::fill`].
    Pattern,
    /// Zeros.
    Zeros,
    /// Zeros, or what was there before: a trim.
    ZerosPerhaps,
    /// Unknown bytes.
    Anything,
}

/// What is known about the whole device.
#[derive(Clone, Debug)]
pub struct DeviceOracle {
    size: u64,
    /// The number of beginnings and ends of requests so far: the oracle's clock.
    step: u64,
    /// All writes, by their number; number 0 stands for a device never written.
    writes: Vec<OracleWrite>,
    /// The possible values of the bytes from each key to the next.
    extents: BTreeMap<u64, Vec<PossibleValue>>,
    /// The steps at which the reads under way began.
    readers: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct OracleWrite {
    content: WriteContent,
    offset: u64,
    len: u64,
    begin: u64,
    /// The step at which it ended; [`NEVER`] while it is under way.
    end: u64,
}

/// A value that some bytes may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PossibleValue {
    write: WriteId,
    /// No read that begins after this step returns it.
    until: u64,
    /// From this step on a client knows, by replies alone, that it is overwritten.
    known: u64,
    /// May a crash bring it back?
    is_revivable: bool,
}

impl PossibleValue {
    fn new(write: WriteId) -> PossibleValue {
        PossibleValue { write, until: NEVER, known: NEVER, is_revivable: true }
    }
}

impl DeviceOracle {
    /// The oracle of a device of `size` bytes, never written.
    pub fn new(size: u64) -> DeviceOracle {
        let never = OracleWrite { content: WriteContent::Zeros, offset: 0, len: size, begin: 0, end: 0 };
        let extents = BTreeMap::from([(0, vec![PossibleValue::new(0)])]);
        DeviceOracle { size, step: 1, writes: vec![never], extents, readers: Vec::new() }
    }

    /// Notes that a write, zeroing or trim is submitted; returns its number.
    pub fn write_begins(&mut self, offset: u64, len: u64, content: WriteContent) -> WriteId {
        let write = self.writes.len() as WriteId;
        self.step += 1;
        self.writes.push(OracleWrite { content, offset, len, begin: self.step, end: NEVER });
        for start in self.split(offset..offset + len) {
            self.values(start).push(PossibleValue::new(write));
        }
        write
    }

    /// Notes that a write succeeded, and whether it is durable.
    pub fn write_ends(&mut self, write: WriteId, is_durable: bool) {
        self.write_fails(write);
        let OracleWrite { content, offset, len, begin, .. } = self.writes[write as usize];
        if content == WriteContent::ZerosPerhaps {
            return;
        }
        let step = self.step;
        for start in self.split(offset..offset + len) {
            let mut values = std::mem::take(self.values(start));
            for value in values.iter_mut().filter(|value| self.writes[value.write as usize].end < begin) {
                value.until = value.until.min(step);
                value.known = value.known.min(step);
                value.is_revivable &= !is_durable;
            }
            *self.values(start) = values;
            self.sweep(start);
        }
        self.join(offset..offset + len);
    }

    /// Notes that a write failed: each sector of it may have been written, or not, or may still be written.
    pub fn write_fails(&mut self, write: WriteId) {
        self.step += 1;
        self.writes[write as usize].end = self.step;
    }

    /// Notes that a flush is submitted; returns the argument of [`DeviceOracle::flush_ends`].
    pub fn flush_begins(&mut self) -> u64 {
        self.step += 1;
        self.step
    }

    /// Notes that the flush that began at `begin` succeeded.
    pub fn flush_ends(&mut self, begin: u64) {
        self.step += 1;
        let starts: Vec<u64> = self.extents.keys().copied().collect();
        for start in starts {
            for value in self.values(start).iter_mut().filter(|value| value.known < begin) {
                value.is_revivable = false;
            }
            self.sweep(start);
        }
    }

    /// Notes that a read is submitted; returns the `begin` of [`DeviceOracle::read_shows`] and
    /// [`DeviceOracle::read_ends`].
    pub fn read_begins(&mut self) -> u64 {
        self.step += 1;
        self.readers.push(self.step);
        self.step
    }

    /// Checks the bytes that a read returned for `offset`.
    ///
    /// # Panics
    /// When they are not legal.
    pub fn read_shows(&mut self, begin: u64, offset: u64, bytes: &[u8]) {
        self.step += 1;
        let end = offset + bytes.len() as u64;
        let mut at = offset;
        while at < end {
            let next = self.extents.range(at + 1..).next().map_or(self.size, |(&start, _)| start);
            let until = next.min((at / SECTOR + 1) * SECTOR).min(end);
            self.narrow(begin, at, &bytes[(at - offset) as usize..(until - offset) as usize]);
            at = until;
        }
    }

    /// Notes that a read was replied to.
    pub fn read_ends(&mut self, begin: u64) {
        self.step += 1;
        let place = self.readers.iter().position(|&reader| reader == begin).expect("a read ends once");
        self.readers.swap_remove(place);
    }

    /// May all of these bytes read as zeros?
    pub fn may_be_zeros(&self, begin: u64, range: Range<u64>) -> bool {
        let first = self.extents.range(..=range.start).next_back().map_or(0, |(&start, _)| start);
        self.extents.range(first..range.end).all(|(_, values)| {
            let is_zeros = |value: &&PossibleValue| self.writes[value.write as usize].content != WriteContent::Pattern;
            values.iter().filter(is_zeros).any(|value| value.until > begin)
        })
    }

    /// Notes that all writes of this range that ended before now survive the next crash: the program is killed, the
    /// disks are not. (A trim may be undone, even if zeros were read.)
    pub fn keeps(&mut self, range: Range<u64>) {
        for start in self.split(range) {
            let (step, values) = (self.step, self.values(start).clone());
            let is_trim =
                |value: &PossibleValue| self.writes[value.write as usize].content == WriteContent::ZerosPerhaps;
            if values.iter().any(is_trim) {
                continue;
            }
            for value in self.values(start).iter_mut().filter(|value| value.known <= step) {
                value.is_revivable = false;
            }
            self.sweep(start);
        }
    }

    /// Notes a loss of power, or of the program. Requests under way will never be replied to.
    pub fn crash(&mut self) {
        self.step += 1;
        for write in self.writes.iter_mut().filter(|write| write.end == NEVER) {
            write.end = self.step;
        }
        self.readers.clear();
        for values in self.extents.values_mut() {
            values.retain(|value| value.is_revivable);
            values.iter_mut().for_each(|value| *value = PossibleValue::new(value.write));
        }
    }

    /// Accepts any content of these bytes until they are written again.
    pub fn accept_anything(&mut self, range: Range<u64>) {
        let write = self.write_begins(range.start, range.end - range.start, WriteContent::Anything);
        self.write_fails(write);
    }

    /// Checks a piece of a sector, inside one extent, and drops the values that are older than what was read.
    fn narrow(&mut self, begin: u64, at: u64, bytes: &[u8]) {
        let (&start, values) = self.extents.range(..=at).next_back().expect("extents begin at 0");
        let holds = |value: &PossibleValue| value.until > begin && self.holds(value.write, at, bytes);
        if values.iter().all(holds) {
            return;
        }
        if values.iter().any(|value| self.writes[value.write as usize].content == WriteContent::Anything) {
            return;
        }
        let right: Vec<WriteId> = values.iter().filter(|value| holds(value)).map(|value| value.write).collect();
        assert!(!right.is_empty(), "{}", self.complaint(begin, at, bytes, &values.clone()));
        // All other values whose writes had ended before the read began are older than what was read.
        let ended = |write: WriteId| self.writes[write as usize].end < begin;
        let is_older =
            |value: &PossibleValue| !right.contains(&value.write) && value.until == NEVER && ended(value.write);
        if !values.iter().any(is_older) {
            return;
        }
        let known = if right.iter().all(|&write| ended(write)) { self.step } else { NEVER };
        let mut values = values.clone();
        for value in values.iter_mut().filter(|value| is_older(value)) {
            (value.until, value.known) = (self.step, known);
        }
        debug_assert!(start <= at);
        for start in self.split(at..at + bytes.len() as u64) {
            self.values(start).clone_from(&values);
            self.sweep(start);
        }
    }

    fn holds(&self, write: WriteId, at: u64, bytes: &[u8]) -> bool {
        match self.writes[write as usize].content {
            WriteContent::Pattern => pattern::matches(bytes, at, write),
            WriteContent::Anything => true,
            WriteContent::Zeros | WriteContent::ZerosPerhaps => bytes.iter().all(|&byte| byte == 0),
        }
    }

    fn complaint(&self, begin: u64, at: u64, bytes: &[u8], values: &[PossibleValue]) -> String {
        let newest = self.writes.len() as WriteId - 1;
        let origin = pattern::explain(bytes, at, newest, self.size);
        let legal = values.iter().map(|value| {
            let OracleWrite { content, offset, len, .. } = self.writes[value.write as usize];
            let stale = if value.until > begin { "" } else { " (no more)" };
            format!("write {} of {len} at {offset}, {content:?}{stale}", value.write)
        });
        let legal: Vec<String> = legal.collect();
        format!("wrong bytes: {} at {at} are {origin}; legal: {}", bytes.len(), legal.join("; "))
    }

    /// Makes extents begin and end where the range does; returns the starts of those inside it.
    fn split(&mut self, range: Range<u64>) -> Vec<u64> {
        assert!(range.start < range.end && range.end <= self.size, "{range:?} of {}", self.size);
        for at in [range.start, range.end] {
            if at < self.size && !self.extents.contains_key(&at) {
                let values = self.extents.range(..at).next_back().expect("extents begin at 0").1.clone();
                self.extents.insert(at, values);
            }
        }
        self.extents.range(range).map(|(&start, _)| start).collect()
    }

    fn values(&mut self, start: u64) -> &mut Vec<PossibleValue> {
        self.extents.get_mut(&start).expect("an extent begins there")
    }

    /// Removes those values of an extent that no read can return any more.
    fn sweep(&mut self, start: u64) {
        let oldest = self.readers.iter().copied().min().unwrap_or(self.step);
        self.values(start).retain(|value| value.is_revivable || value.until > oldest);
    }

    /// Merges neighbouring extents with the same values.
    fn join(&mut self, range: Range<u64>) {
        let starts: Vec<u64> = self.extents.range(range).map(|(&start, _)| start).collect();
        for start in starts {
            let before = self.extents.range(..start).next_back().map(|(_, values)| values);
            if before == self.extents.get(&start) {
                self.extents.remove(&start);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const SIZE: u64 = 8192;

    /// Does a whole read that begins and ends now accept `write`'s bytes at `offset`? (0: zeros.)
    fn accepts(oracle: &DeviceOracle, write: WriteId, offset: u64, len: usize) -> bool {
        let mut oracle = oracle.clone();
        let mut bytes = vec![0; len];
        if write > 0 {
            pattern::fill(&mut bytes, offset, write);
        }
        catch_unwind(AssertUnwindSafe(|| {
            let begin = oracle.read_begins();
            oracle.read_shows(begin, offset, &bytes);
        }))
        .is_ok()
    }

    /// The writes so far whose content a read of sector 0 may return.
    fn legal(oracle: &DeviceOracle) -> Vec<WriteId> {
        (0..oracle.writes.len() as WriteId).filter(|&write| accepts(oracle, write, 0, 512)).collect()
    }

    fn begins(oracle: &mut DeviceOracle) -> WriteId {
        oracle.write_begins(0, 512, WriteContent::Pattern)
    }

    fn writes(oracle: &mut DeviceOracle) -> WriteId {
        let write = begins(oracle);
        oracle.write_ends(write, false);
        write
    }

    fn flushes(oracle: &mut DeviceOracle) {
        let begin = oracle.flush_begins();
        oracle.flush_ends(begin);
    }

    fn reads(oracle: &mut DeviceOracle, write: WriteId) {
        let begin = oracle.read_begins();
        let mut bytes = vec![0; 512];
        pattern::fill(&mut bytes, 0, write);
        oracle.read_shows(begin, 0, &bytes);
        oracle.read_ends(begin);
    }

    #[test]
    fn a_read_may_return_the_last_ended_write_or_one_under_way() {
        let mut oracle = DeviceOracle::new(SIZE);
        assert_eq!(legal(&oracle), [0]);
        let one = writes(&mut oracle);
        assert_eq!(legal(&oracle), [one]);
        let (two, three) = (begins(&mut oracle), begins(&mut oracle));
        assert_eq!(legal(&oracle), [one, two, three]);
        oracle.write_ends(three, false);
        assert_eq!(legal(&oracle), [two, three]);
        oracle.write_ends(two, false);
        assert_eq!(legal(&oracle), [two, three], "they were under way together");
        reads(&mut oracle, two);
        assert_eq!(legal(&oracle), [two], "a read decides it");
        assert!(accepts(&oracle, 0, 512, 512), "nothing was written there");
    }

    #[test]
    fn a_read_that_began_earlier_may_return_what_was_overwritten_meanwhile() {
        let mut oracle = DeviceOracle::new(SIZE);
        let begin = oracle.read_begins();
        let one = writes(&mut oracle);
        assert_eq!(legal(&oracle), [one]);
        oracle.read_shows(begin, 0, &[0; 512]);
    }

    #[test]
    fn once_the_new_value_of_a_write_under_way_was_read_the_old_one_is_gone_until_a_crash() {
        let mut oracle = DeviceOracle::new(SIZE);
        let one = writes(&mut oracle);
        flushes(&mut oracle);
        let two = begins(&mut oracle);
        reads(&mut oracle, two);
        assert_eq!(legal(&oracle), [two]);
        flushes(&mut oracle);
        oracle.crash();
        assert_eq!(legal(&oracle), [one, two], "the write was never replied to");
    }

    #[test]
    fn a_crash_brings_back_what_was_not_flushed() {
        let mut oracle = DeviceOracle::new(SIZE);
        writes(&mut oracle);
        let two = writes(&mut oracle);
        flushes(&mut oracle);
        let (three, four) = (writes(&mut oracle), begins(&mut oracle));
        oracle.crash();
        assert_eq!(legal(&oracle), [two, three, four]);
        reads(&mut oracle, three);
        assert_eq!(legal(&oracle), [three]);
        oracle.crash();
        assert_eq!(legal(&oracle), [two, three, four], "a read makes nothing durable");
        reads(&mut oracle, three);
        flushes(&mut oracle);
        oracle.crash();
        assert_eq!(legal(&oracle), [three], "a flush does, also of what was read");
    }

    #[test]
    fn a_flush_covers_the_writes_replied_to_before_it_was_submitted() {
        let mut oracle = DeviceOracle::new(SIZE);
        let one = begins(&mut oracle);
        let begin = oracle.flush_begins();
        oracle.write_ends(one, false);
        oracle.flush_ends(begin);
        oracle.crash();
        assert_eq!(legal(&oracle), [0, one]);
        let two = begins(&mut oracle);
        oracle.write_ends(two, true);
        oracle.crash();
        assert_eq!(legal(&oracle), [two]);
    }

    #[test]
    fn after_a_trim_zeros_or_the_old_data_are_legal_and_after_zeroing_only_zeros() {
        let mut oracle = DeviceOracle::new(SIZE);
        let one = writes(&mut oracle);
        let trim = oracle.write_begins(0, 512, WriteContent::ZerosPerhaps);
        oracle.write_ends(trim, false);
        assert!(accepts(&oracle, one, 0, 512) && accepts(&oracle, 0, 0, 512));
        reads(&mut oracle, one);
        assert!(accepts(&oracle, one, 0, 512) && !accepts(&oracle, 0, 0, 512));
        let zero = oracle.write_begins(0, 512, WriteContent::Zeros);
        oracle.write_ends(zero, false);
        assert!(!accepts(&oracle, one, 0, 512) && accepts(&oracle, 0, 0, 512));
        assert!(oracle.may_be_zeros(oracle.step, 0..512));
    }

    #[test]
    fn partial_sectors_and_ranges_over_several_writes_are_checked() {
        let mut oracle = DeviceOracle::new(SIZE);
        let one = oracle.write_begins(100, 1000, WriteContent::Pattern);
        oracle.write_ends(one, false);
        let two = oracle.write_begins(700, 10, WriteContent::Pattern);
        oracle.write_ends(two, false);
        let mut bytes = vec![0; 2048];
        pattern::fill(&mut bytes[100..1100], 100, one);
        pattern::fill(&mut bytes[700..710], 700, two);
        let begin = oracle.read_begins();
        oracle.read_shows(begin, 0, &bytes);
        bytes[705] ^= 1;
        assert!(catch_unwind(AssertUnwindSafe(|| oracle.read_shows(begin, 0, &bytes))).is_err());
    }

    #[test]
    fn a_write_that_failed_may_or_may_not_have_happened() {
        let mut oracle = DeviceOracle::new(SIZE);
        let one = writes(&mut oracle);
        let two = begins(&mut oracle);
        oracle.write_fails(two);
        assert_eq!(legal(&oracle), [one, two]);
        let three = writes(&mut oracle);
        assert_eq!(legal(&oracle), [three]);
    }
}
