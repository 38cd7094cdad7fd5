//! The error with which a read or a verification did not come back clean: what a drive, or the subject itself, said.

use std::fmt;

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

/// Linux: input/output error.
const EIO: i32 = 5;
/// Linux: no data available.
const ENODATA: i32 = 61;
/// Linux: illegal byte sequence.
const EILSEQ: i32 = 84;
/// The word for [`Cause::Lost`].
const LOST: &str = "lost";
/// The word for [`Cause::Mismatch`].
const MISMATCH: &str = "mismatch";
/// The word for [`Cause::Skipped`].
const SKIPPED: &str = "skipped";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_data_and_mismatches_have_codes_of_their_own() {
        assert_eq!(Cause::of_code(&Cause::Lost.code()), Some(Cause::Lost));
        assert_eq!((Cause::of_code("lost:"), Cause::of_code("los")), (None, None));
        assert_eq!(Cause::of_code(&Cause::Mismatch.code()), Some(Cause::Mismatch));
        assert_eq!(Cause::of_code(&Cause::Skipped.code()), Some(Cause::Skipped));
    }
}
