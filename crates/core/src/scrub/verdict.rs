//! The result of a verification: verdicts are values, not errors.
//!
//! *Unreadable* means that the drive itself reported that it cannot return the data. It does not cover silent
//! corruption, and it is never reported for a disk that merely was unplugged, timed out, or refused a command.

use crate::units::SectorRange;
use std::fmt;

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

/// The error with which a verification did not come back clean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// An errno value of `read(2)` or of io_uring.
    Errno(i32),
    /// SCSI sense data.
    Sense(Sense),
    /// An NVMe status: status code type in bits 8..11, status code in bits 0..8.
    NvmeStatus(u16),
    /// A volume cannot prove what the data were: more is wrong than its parities can make good.
    Lost,
    /// The members of an md array could be read but do not agree: copies differ, or a parity does not fit the data.
    Mismatch,
    /// A check of an md array left it out, because a list of bad blocks of a member has it: the others may still hold it.
    Skipped,
}

/// The three numbers of SCSI sense data that name an error (SPC-5, 4.4), and the block it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sense {
    /// Sense key, 0..16: 3 is MEDIUM ERROR.
    pub key: u8,
    /// Additional sense code: 0x11 is UNRECOVERED READ ERROR.
    pub asc: u8,
    /// Additional sense code qualifier.
    pub ascq: u8,
    /// The INFORMATION field, when valid: the logical block at which the drive gave up (in the disk's own blocks).
    pub block: Option<u64>,
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
/// The word for [`Cause::Lost`].
const LOST: &str = "lost";
/// The word for [`Cause::Mismatch`].
const MISMATCH: &str = "mismatch";
/// The word for [`Cause::Skipped`].
const SKIPPED: &str = "skipped";

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

impl Cause {
    /// Whether both are the same kind of error, whichever block they name.
    pub fn is_like(self, other: Cause) -> bool {
        match (self, other) {
            (Cause::Sense(one), Cause::Sense(two)) => (one.key, one.asc, one.ascq) == (two.key, two.asc, two.ascq),
            _ => self == other,
        }
    }
}

/// Conversion to and from one word: `errno:5`, `nvme:281`, `sense:3/11/0`, `sense:3/11/0@2048`, `lost`, `mismatch`,
/// `skipped`. It is for files; the `Display` text is for people.
impl Cause {
    /// This cause as one word, which [`Cause::of_code`] reads.
    pub fn code(self) -> String {
        match self {
            Cause::Errno(errno) => format!("errno:{errno}"),
            Cause::NvmeStatus(status) => format!("nvme:{status:x}"),
            Cause::Lost => LOST.to_owned(),
            Cause::Mismatch => MISMATCH.to_owned(),
            Cause::Skipped => SKIPPED.to_owned(),
            Cause::Sense(Sense { key, asc, ascq, block }) => {
                let place = block.map_or(String::new(), |block| format!("@{block}"));
                format!("sense:{key:x}/{asc:x}/{ascq:x}{place}")
            }
        }
    }

    /// The cause that a word of [`Cause::code`] stands for; `None` if it stands for none.
    pub fn of_code(word: &str) -> Option<Cause> {
        match word {
            LOST => return Some(Cause::Lost),
            MISMATCH => return Some(Cause::Mismatch),
            SKIPPED => return Some(Cause::Skipped),
            _ => (),
        }
        let (kind, rest) = word.split_once(':')?;
        match kind {
            "errno" => rest.parse().ok().map(Cause::Errno),
            "nvme" => u16::from_str_radix(rest, 16).ok().map(Cause::NvmeStatus),
            "sense" => {
                let (codes, block) = match rest.split_once('@') {
                    Some((codes, block)) => (codes, Some(block.parse().ok()?)),
                    None => (rest, None),
                };
                let mut codes = codes.split('/').map(|code| u8::from_str_radix(code, 16).ok());
                let sense = Sense { key: codes.next()??, asc: codes.next()??, ascq: codes.next()??, block };
                (codes.next().is_none() && sense.key < 16).then_some(Cause::Sense(sense))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Errno(EIO) => f.write_str("EIO"),
            Cause::Errno(ENODATA) => f.write_str("ENODATA"),
            Cause::Errno(EILSEQ) => f.write_str("EILSEQ"),
            Cause::Errno(errno) => write!(f, "errno {errno}"),
            Cause::Sense(sense) => sense.fmt(f),
            Cause::NvmeStatus(status) => write!(f, "NVMe status {status:#05x}"),
            Cause::Lost => f.write_str("lost: what lay there cannot be proven"),
            Cause::Mismatch => f.write_str("copies or parities do not agree"),
            Cause::Skipped => f.write_str("in a member's list of bad blocks"),
        }
    }
}

impl fmt::Display for Sense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const KEYS: [&str; 16] = [
            "NO SENSE",
            "RECOVERED ERROR",
            "NOT READY",
            "MEDIUM ERROR",
            "HARDWARE ERROR",
            "ILLEGAL REQUEST",
            "UNIT ATTENTION",
            "DATA PROTECT",
            "BLANK CHECK",
            "VENDOR SPECIFIC",
            "COPY ABORTED",
            "ABORTED COMMAND",
            "RESERVED",
            "VOLUME OVERFLOW",
            "MISCOMPARE",
            "COMPLETED",
        ];
        write!(f, "{} {:02x}/{:02x}", KEYS[usize::from(self.key & 15)], self.asc, self.ascq)
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
    fn lost_data_and_mismatches_have_codes_of_their_own() {
        assert_eq!(Cause::of_code(&Cause::Lost.code()), Some(Cause::Lost));
        assert_eq!((Cause::of_code("lost:"), Cause::of_code("los")), (None, None));
        assert_eq!(Cause::of_code(&Cause::Mismatch.code()), Some(Cause::Mismatch));
        assert_eq!(Cause::of_code(&Cause::Skipped.code()), Some(Cause::Skipped));
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
