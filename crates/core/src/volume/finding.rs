//! What a volume found wrong on its members, and what it did about it.

use crate::index::{StripeIndex, StripePosition};
use crate::units::{MemberOffset, Nanos};
use crate::volume::format::geometry::Geometry;
use crate::volume::integrity::tag::RowStatus;
use crate::volume::member::MemberIndex;
use std::fmt;

/// Something on a member that was not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeFinding {
    /// When it was found.
    pub at: Nanos,
    /// What it is.
    pub place: FindingPlace,
    /// On which member.
    pub member: MemberIndex,
    /// Where on it, in bytes.
    pub offset: MemberOffset,
    /// What had happened, as far as the row tells.
    pub kind: CorruptionKind,
    /// What came of it.
    pub end: Resolution,
}

/// What lies on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingPlace {
    /// A row.
    Row {
        /// Of which stripe.
        stripe: StripeIndex,
        /// Which of its rows: data chunks first, then parities.
        position: StripePosition,
    },
    /// A copy of the superblock.
    Superblock,
    /// A page of the intents.
    Intents {
        /// Index of the page, from 0.
        page: u64,
    },
    /// A version of a page of the written map.
    Map {
        /// Of which page.
        page: u64,
    },
}

impl FindingPlace {
    /// The stripe, of a row.
    pub const fn stripe(self) -> Option<StripeIndex> {
        match self {
            FindingPlace::Row { stripe, .. } => Some(stripe),
            _ => None,
        }
    }

    /// The number of a page, of one.
    pub const fn page(self) -> Option<u64> {
        match self {
            FindingPlace::Intents { page } | FindingPlace::Map { page } => Some(page),
            _ => None,
        }
    }
}

/// What had happened to a row (Li & Lee 2014, section II-B, as far as the victim shows it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorruptionKind {
    /// The disk could not read it.
    Unreadable,
    /// It is whole, and older than it should be: its last write never came to the medium.
    LostWrite,
    /// Its content and its end are of two writes: one was cut short, or another one went over its beginning.
    TornWrite,
    /// A row that belongs elsewhere lies here; the place it belongs to has missed a write, and is looked at too.
    MisdirectedWrite {
        /// Whose row it is.
        member: MemberIndex,
        /// Where it belongs, in bytes.
        offset: MemberOffset,
    },
    /// Read again, it was right: the first read came from another place.
    MisdirectedRead,
    /// Foreign bytes, which name no place.
    Corrupt,
    /// A crash came in the middle of a write of its stripe, and nothing tells what it should hold.
    HalfWritten,
    /// It was found lost earlier, and says so; nobody has written it since.
    MarkedLost,
    /// All rows are whole and of today, and yet the parity is not that of the data. Which is wrong is not known.
    Mismatch,
}

impl CorruptionKind {
    /// One word for tables and JSON.
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
    /// The kind of this name; `target` tells of a misdirected write whose row it is, and where it belongs.
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

/// What came of a row that was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Rebuilt from the others, written, and read back.
    Repaired,
    /// Rebuilt from the others for whoever asked, but not written: the volume is open for reading only, or the disk
    /// did not take it.
    Reconstructed,
    /// There was nothing to repair: the medium is right.
    Transient,
    /// More is wrong than the parities make up for.
    Lost,
}

impl Resolution {
    /// All of them.
    pub const ALL: [Resolution; 4] =
        [Resolution::Repaired, Resolution::Reconstructed, Resolution::Transient, Resolution::Lost];

    /// One word for tables and JSON.
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

/// What a row's own words say had happened to it. A place that the array does not have is no place: the row is corrupt.
pub fn kind_of(status: RowStatus, is_stale: bool, geometry: &Geometry) -> CorruptionKind {
    match status {
        RowStatus::Unreadable | RowStatus::Missing => CorruptionKind::Unreadable,
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
