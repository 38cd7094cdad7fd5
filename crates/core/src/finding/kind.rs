//! What was wrong, and how it ended: closed lists.

use crate::cause::Cause;
use crate::index::MemberIndex;
use crate::units::MemberOffset;
use std::fmt;

/// What was wrong, as far as it shows. Of a volume's rows as in Li & Lee 2014, section II-B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// A drive, or a member's, could not return it; or, of a lost chunk, its member is out. With the drive's error where it is known.
    Unreadable(Option<Cause>),
    /// A check left it out, because a list of bad blocks of a member has it.
    Skipped,
    /// It does not match its checksum.
    Checksum,
    /// A block lies here that belongs elsewhere, or an old one.
    Identity,
    /// A superblock is wrong.
    Superblock,
    /// Something in a chunk that only the file system's own scrub can verify.
    Chunk,
    /// It is whole, but older than it should be: its last write never reached the medium.
    LostWrite,
    /// Its content and its appendix are from two writes: one was cut short, or another overwrote its beginning.
    TornWrite,
    /// A row lies here that names another place. That place missed a write, unless bits of the name are wrong; it is verified
    /// after the repair.
    MisdirectedWrite {
        /// The member that the row belongs to.
        member: MemberIndex,
        /// The offset on it where the row belongs, in bytes.
        offset: MemberOffset,
    },
    /// A second read was right: the first one gave a row of another place.
    MisdirectedRead,
    /// Foreign bytes that name no place of this array.
    Corrupt,
    /// A crash interrupted a write of its stripe, and nothing shows what it should hold.
    HalfWritten,
    /// It was marked lost earlier, and was not written since.
    MarkedLost,
    /// Copies differ, or a parity does not fit the data, and all of them could be read; or two claims about a chunk differ.
    Mismatch(Judgement),
}

/// What is known of a mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Nothing shows which one is wrong.
    Undecided,
    /// The member that the finding names explains all of it, and no other does.
    OneMember,
    /// No single member explains it.
    NoSingleMember,
    /// The members could not be compared by themselves, or agreed when they were.
    NotCompared,
}

impl FindingKind {
    /// All kinds; those that carry something, with nothing in it.
    pub const ALL: [FindingKind; 14] = [
        FindingKind::Unreadable(None),
        FindingKind::Skipped,
        FindingKind::Checksum,
        FindingKind::Identity,
        FindingKind::Superblock,
        FindingKind::Chunk,
        FindingKind::LostWrite,
        FindingKind::TornWrite,
        FindingKind::MisdirectedWrite { member: MemberIndex(0), offset: MemberOffset(0) },
        FindingKind::MisdirectedRead,
        FindingKind::Corrupt,
        FindingKind::HalfWritten,
        FindingKind::MarkedLost,
        FindingKind::Mismatch(Judgement::Undecided),
    ];

    /// The kind as one word, for tables, files and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            FindingKind::Unreadable(_) => "unreadable",
            FindingKind::Skipped => "skipped",
            FindingKind::Checksum => "checksum",
            FindingKind::Identity => "identity",
            FindingKind::Superblock => "superblock",
            FindingKind::Chunk => "chunk",
            FindingKind::LostWrite => "lost-write",
            FindingKind::TornWrite => "torn-write",
            FindingKind::MisdirectedWrite { .. } => "misdirected-write",
            FindingKind::MisdirectedRead => "misdirected-read",
            FindingKind::Corrupt => "corrupt",
            FindingKind::HalfWritten => "half-written",
            FindingKind::MarkedLost => "marked-lost",
            FindingKind::Mismatch(_) => "mismatch",
        }
    }

    /// The kind with this name; one that carries something, with nothing in it.
    pub fn named(name: &str) -> Option<FindingKind> {
        FindingKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Judgement {
    /// All of them.
    pub const ALL: [Judgement; 4] =
        [Judgement::Undecided, Judgement::OneMember, Judgement::NoSingleMember, Judgement::NotCompared];

    /// The judgement as one word, for files.
    pub const fn name(self) -> &'static str {
        match self {
            Judgement::Undecided => "undecided",
            Judgement::OneMember => "one-member",
            Judgement::NoSingleMember => "no-single-member",
            Judgement::NotCompared => "not-compared",
        }
    }
}

/// How a finding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resolution {
    /// Rebuilt from the others, written, and read back.
    Repaired,
    /// Its right content is known, but it is not repaired: it is open for reading only or broken, the disk did not take the write, or
    /// the parities contradict each other.
    Reconstructed,
    /// There was nothing to repair: the medium is right.
    Transient,
    /// Not repaired, and its right content is not known: more is wrong than the parities or copies can make good; or (a mismatch)
    /// nothing shows which of the rows is wrong, and reads return the data as they are.
    Lost,
    /// Nothing was done about it.
    Left,
    /// It was to be made to agree, and was left as it is: that would not have made it right.
    Spared,
    /// One side was overwritten, and they agree now.
    MadeToAgree,
    /// One side may have been overwritten, and they still differ.
    StillDiffers,
    /// One side may have been overwritten in an earlier check; in the last one nothing was done, and they still differ.
    DiffersAgain,
    /// One side may have been overwritten; whether they agree was not seen.
    Unchecked,
}

impl Resolution {
    /// All ways in which a finding can end.
    pub const ALL: [Resolution; 10] = [
        Resolution::Repaired,
        Resolution::Reconstructed,
        Resolution::Transient,
        Resolution::Lost,
        Resolution::Left,
        Resolution::Spared,
        Resolution::MadeToAgree,
        Resolution::StillDiffers,
        Resolution::DiffersAgain,
        Resolution::Unchecked,
    ];

    /// Is nothing left to do?
    pub const fn is_settled(self) -> bool {
        matches!(self, Resolution::Repaired | Resolution::Transient)
    }

    /// Was one side overwritten, or may it have been, without a proof which is right?
    pub const fn is_overwritten(self) -> bool {
        use Resolution::{DiffersAgain, MadeToAgree, StillDiffers, Unchecked};
        matches!(self, MadeToAgree | StillDiffers | DiffersAgain | Unchecked)
    }

    /// The resolution as one word, for tables, files and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Resolution::Repaired => "repaired",
            Resolution::Reconstructed => "reconstructed",
            Resolution::Transient => "transient",
            Resolution::Lost => "lost",
            Resolution::Left => "left",
            Resolution::Spared => "spared",
            Resolution::MadeToAgree => "made-to-agree",
            Resolution::StillDiffers => "still-differs",
            Resolution::DiffersAgain => "differs-again",
            Resolution::Unchecked => "unchecked",
        }
    }

    /// The resolution with this name.
    pub fn named(name: &str) -> Option<Resolution> {
        Resolution::ALL.into_iter().find(|resolution| resolution.name() == name)
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
