//! The result of a verification: verdicts are values, not errors.
//!
//! *Unreadable* means that the drive itself reported that it cannot return the data. It does not cover silent
//! corruption, and it is never reported for a disk that merely was unplugged, timed out, or refused a command.

pub use crate::cause::{Cause, Sense};

use crate::units::SectorRange;

/// The result of one verification of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyOutcome {
    /// Every sector of the range was read (or verified by the drive) without complaint.
    Clean,
    /// The range was never written, so there was nothing to read. Only a volume knows that of itself.
    Unwritten,
    /// All data of the range could be had, but this many rows (at least 1) were wrong: the volume reconstructed them
    /// from the others, and repaired them if it may.
    Corrected(u32),
    /// At least one sector of the range is unreadable (reported by a drive) or not provably right (by a volume).
    Unreadable(Cause),
    /// The request could not be made or was not answered: a time-out, a refused command, a lost path. It proves nothing
    /// about the medium.
    Inconclusive(Cause),
    /// The device is no longer there.
    Gone,
}

/// Linux: input/output error. Most drivers report it for a medium error.
const EIO: i32 = 5;
/// Linux: no data available. The SCSI and NVMe drivers report it for a medium error (`blk_status_t` MEDIUM).
const ENODATA: i32 = 61;
/// Linux: illegal byte sequence. dm-integrity and T10-PI report it (`blk_status_t` PROTECTION).
const EILSEQ: i32 = 84;
/// Linux: no such device or address.
const ENXIO: i32 = 6;
/// Linux: no such device.
const ENODEV: i32 = 19;
/// Linux: no medium found.
const ENOMEDIUM: i32 = 123;
impl VerifyOutcome {
    /// The verdict on an errno of a read. EIO, ENODATA and EILSEQ mean the same: the data cannot be read.
    pub fn of_errno(errno: i32) -> VerifyOutcome {
        match errno {
            EIO | ENODATA | EILSEQ => VerifyOutcome::Unreadable(Cause::Errno(errno)),
            ENXIO | ENODEV | ENOMEDIUM => VerifyOutcome::Gone,
            _ => VerifyOutcome::Inconclusive(Cause::Errno(errno)),
        }
    }

    /// The verdict on the SCSI sense data of a command that failed. Only MEDIUM ERROR (3), BLANK CHECK (8) and
    /// MISCOMPARE (14) blame the medium, and only RECOVERED ERROR (1) counts as clean. NO SENSE (0) explains nothing.
    pub fn of_sense(sense: Sense) -> VerifyOutcome {
        match sense.key {
            0x1 => VerifyOutcome::Clean,
            0x3 | 0x8 | 0xe => VerifyOutcome::Unreadable(Cause::Sense(sense)),
            0x2 if sense.asc == 0x3a => VerifyOutcome::Gone,
            _ => VerifyOutcome::Inconclusive(Cause::Sense(sense)),
        }
    }
}

/// A run of unreadable sectors, each proven by a request for that very sector (or the disk's smallest block).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unreadable {
    /// The range, in sectors.
    pub range: SectorRange,
    /// The drive's error for its first sector.
    pub cause: Cause,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_errnos_mean_unreadable_and_no_other() {
        for errno in 1..200 {
            let blamed = matches!(VerifyOutcome::of_errno(errno), VerifyOutcome::Unreadable(_));
            assert_eq!(blamed, [5, 61, 84].contains(&errno), "errno {errno}");
        }
        assert_eq!(VerifyOutcome::of_errno(19), VerifyOutcome::Gone);
    }

    #[test]
    fn only_the_medium_is_blamed_for_medium_errors() {
        let sense = |key, asc| VerifyOutcome::of_sense(Sense { key, asc, ascq: 0, block: None });
        assert!(matches!(sense(3, 0x11), VerifyOutcome::Unreadable(_)));
        assert!(matches!(sense(0xb, 0), VerifyOutcome::Inconclusive(_)));
        assert!(matches!(sense(5, 0x20), VerifyOutcome::Inconclusive(_)));
        assert_eq!(sense(2, 0x3a), VerifyOutcome::Gone);
        assert_eq!(sense(1, 0x17), VerifyOutcome::Clean);
        assert!(matches!(sense(0, 0), VerifyOutcome::Inconclusive(_)), "an error without a reason is not clean");
    }
}
