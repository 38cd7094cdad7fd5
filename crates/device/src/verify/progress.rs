//! Progress of the reading of one range: judges short reads, interruptions and the end of the device, for both engines
//! alike. Pure.

use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::units::{SECTOR_BYTES, SectorRange};

/// Repetitions in a row of a read after EINTR or EAGAIN, at most. The value is a choice: a signal or a full queue is over
/// after one or two, and a device that returns these for ever must not hold the verifier.
const RETRIES_MAX: u8 = 8;

/// One range while `pread(2)` or the ring reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RangeProgress {
    range: SectorRange,
    done_bytes: u64,
    retries: u8,
}

/// How a read of a whole range ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RangeEnded {
    /// The outcome of the verification.
    pub outcome: VerifyOutcome,
    /// Sectors that the kernel's counters show for it.
    pub counted: u64,
}

impl RangeProgress {
    /// The progress of `range` before its first read.
    pub fn new(range: SectorRange) -> RangeProgress {
        RangeProgress { range, done_bytes: 0, retries: 0 }
    }

    /// The byte address and the length of the next read, at most `room` bytes.
    pub fn next_read(&self, room: usize) -> (u64, usize) {
        let left = self.range.bytes().0 - self.done_bytes;
        (self.range.start.byte() + self.done_bytes, left.min(room as u64) as usize)
    }

    /// Takes the result of the read of `requested` bytes: bytes read, or an errno. `None` means: read on.
    pub fn absorb(&mut self, requested: usize, result: Result<usize, i32>) -> Option<RangeEnded> {
        match result {
            // Nothing, or a piece of a sector: the device ends inside a range that was to lie within it.
            Ok(read) if read == 0 || !(read as u64).is_multiple_of(SECTOR_BYTES) => {
                Some(self.end(VerifyOutcome::Gone, 0))
            }
            Ok(read) => {
                self.done_bytes += read as u64;
                self.retries = 0;
                (self.done_bytes >= self.range.bytes().0).then(|| self.end(VerifyOutcome::Clean, 0))
            }
            Err(libc::EINTR | libc::EAGAIN) if self.retries < RETRIES_MAX => {
                self.retries += 1;
                None
            }
            // The kernel counts the sectors of a failed request as it counts those of a good one.
            Err(errno) => Some(self.end(VerifyOutcome::of_errno(errno), requested as u64)),
        }
    }

    fn end(&self, outcome: VerifyOutcome, failed_bytes: u64) -> RangeEnded {
        RangeEnded { outcome, counted: (self.done_bytes + failed_bytes) / SECTOR_BYTES }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::scrub::verdict::Cause;

    #[test]
    fn a_short_read_is_continued_where_it_ended() {
        let mut reading = RangeProgress::new(SectorRange::at(8, 16));
        assert_eq!(reading.next_read(1 << 20), (4096, 8192));
        assert_eq!(reading.absorb(8192, Ok(1024)), None);
        assert_eq!(reading.next_read(4096), (5120, 4096));
        assert_eq!(reading.absorb(4096, Ok(4096)), None);
        assert_eq!(reading.next_read(4096), (9216, 3072));
        assert_eq!(reading.absorb(3072, Ok(3072)), Some(RangeEnded { outcome: VerifyOutcome::Clean, counted: 16 }));
    }

    #[test]
    fn the_end_of_the_device_is_gone() {
        for read in [0, 700] {
            let mut reading = RangeProgress::new(SectorRange::at(0, 4));
            assert_eq!(reading.absorb(2048, Ok(512)), None);
            assert_eq!(reading.absorb(1536, Ok(read)), Some(RangeEnded { outcome: VerifyOutcome::Gone, counted: 1 }));
        }
    }

    #[test]
    fn interruptions_are_retried_but_not_for_ever() {
        let mut reading = RangeProgress::new(SectorRange::at(0, 4));
        for errno in [libc::EINTR, libc::EAGAIN, libc::EINTR, libc::EAGAIN].repeat(2) {
            assert_eq!(reading.absorb(2048, Err(errno)), None);
        }
        let ended = reading.absorb(2048, Err(libc::EAGAIN)).expect("enough is enough");
        assert_eq!(ended.outcome, VerifyOutcome::Inconclusive(Cause::Errno(libc::EAGAIN)));
    }

    #[test]
    fn a_medium_error_ends_the_read_and_is_counted() {
        let mut reading = RangeProgress::new(SectorRange::at(0, 16));
        assert_eq!(reading.absorb(4096, Ok(4096)), None);
        let ended = RangeEnded { outcome: VerifyOutcome::Unreadable(Cause::Errno(5)), counted: 16 };
        assert_eq!(reading.absorb(4096, Err(5)), Some(ended));
    }
}
