//! Findings: what was wrong on the members of a volume, and how it ended.

use crate::index::{StripeIndex, StripePosition};
use crate::units::{MemberOffset, Nanos};
use crate::volume::format::geometry::{Geometry, MetadataArea};
use crate::volume::integrity::tag::RowStatus;
use crate::volume::member::MemberIndex;
use std::fmt;

/// A row or a block of metadata on a member that was not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeFinding {
    /// Time of the finding.
    pub at: Nanos,
    /// What was wrong: a row, or which metadata.
    pub place: FindingPlace,
    /// The member it lies on.
    pub member: MemberIndex,
    /// Its offset on that member, in bytes.
    pub offset: MemberOffset,
    /// What had happened to it, as far as its content shows.
    pub kind: CorruptionKind,
    /// How it ended.
    pub resolution: Resolution,
}

/// A row, or a block of metadata, of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingPlace {
    /// A row of a stripe.
    Row {
        /// The stripe.
        stripe: StripeIndex,
        /// The row's position in it: data chunks first, then parities.
        position: StripePosition,
    },
    /// A copy of the superblock.
    Superblock,
    /// A page of an area of metadata, or one version of it.
    Page {
        /// The area.
        area: MetadataArea,
        /// Index of the page in it, from 0.
        page: u64,
    },
}

impl FindingPlace {
    /// The stripe of a row; `None` for metadata.
    pub const fn stripe(self) -> Option<StripeIndex> {
        match self {
            FindingPlace::Row { stripe, .. } => Some(stripe),
            _ => None,
        }
    }

    /// The index of a page; `None` for rows and superblocks.
    pub const fn page(self) -> Option<u64> {
        match self {
            FindingPlace::Page { page, .. } => Some(page),
            _ => None,
        }
    }
}

/// What had happened to a row or a block of metadata (Li & Lee 2014, section II-B), as far as its content shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorruptionKind {
    /// The disk could not read it; or, of a lost chunk, its member is out.
    Unreadable,
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
    /// All rows are whole and none is stale, yet the parity does not fit the data, or two claims about a chunk differ.
    Mismatch,
}

impl CorruptionKind {
    /// The kind as one word, for tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            CorruptionKind::Unreadable => "unreadable",
            CorruptionKind::LostWrite => "lost-write",
            CorruptionKind::TornWrite => "torn-write",
            CorruptionKind::MisdirectedWrite { .. } => "misdirected-write",
            CorruptionKind::MisdirectedRead => "misdirected-read",
            CorruptionKind::Corrupt => "corrupt",
            CorruptionKind::HalfWritten => "half-written",
            CorruptionKind::MarkedLost => "marked-lost",
            CorruptionKind::Mismatch => "mismatch",
        }
    }
}

impl CorruptionKind {
    /// The kind with this name. `target`: for a misdirected write, the member and the offset that the row belongs to.
    pub fn named(name: &str, target: Option<(MemberIndex, MemberOffset)>) -> Option<CorruptionKind> {
        let (member, offset) = target.unwrap_or_default();
        let kinds = [
            CorruptionKind::Unreadable,
            CorruptionKind::LostWrite,
            CorruptionKind::TornWrite,
            CorruptionKind::MisdirectedWrite { member, offset },
            CorruptionKind::MisdirectedRead,
            CorruptionKind::Corrupt,
            CorruptionKind::HalfWritten,
            CorruptionKind::MarkedLost,
            CorruptionKind::Mismatch,
        ];
        kinds.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for CorruptionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How a finding ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Rebuilt from the others, written, and read back.
    Repaired,
    /// Rebuilt from the others in memory, but not repaired: the volume is open for reading only or broken, the disk did not
    /// take the write, or the parities contradict each other.
    Reconstructed,
    /// There was nothing to repair: the medium is right.
    Transient,
    /// Not repaired, and its right content is not known: more is wrong than the parities can make good; or (a mismatch) nothing
    /// shows which of the rows is wrong, and reads return the data as they are.
    Lost,
}

impl Resolution {
    /// All ways in which a finding can end.
    pub const ALL: [Resolution; 4] =
        [Resolution::Repaired, Resolution::Reconstructed, Resolution::Transient, Resolution::Lost];

    /// Is nothing left to do?
    pub const fn is_settled(self) -> bool {
        matches!(self, Resolution::Repaired | Resolution::Transient)
    }

    /// The resolution as one word, for tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Resolution::Repaired => "repaired",
            Resolution::Reconstructed => "reconstructed",
            Resolution::Transient => "transient",
            Resolution::Lost => "lost",
        }
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The kind of corruption that a row's status shows. A row that names a place the array does not have is corrupt.
pub fn kind_of(status: RowStatus, is_stale: bool, geometry: &Geometry) -> CorruptionKind {
    match status {
        RowStatus::Unreadable | RowStatus::NotRead => CorruptionKind::Unreadable,
        RowStatus::Torn => CorruptionKind::TornWrite,
        RowStatus::Elsewhere { member, row, .. } if geometry.has_row(member, row) => {
            CorruptionKind::MisdirectedWrite { member, offset: geometry.chunk_offset(row) }
        }
        RowStatus::Elsewhere { .. } => CorruptionKind::Corrupt,
        RowStatus::Corrupt => CorruptionKind::Corrupt,
        RowStatus::Sound if is_stale => CorruptionKind::LostWrite,
        RowStatus::Sound => CorruptionKind::Mismatch,
    }
}
