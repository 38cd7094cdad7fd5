//! What a volume found wrong on its members, and what it did about it.

use crate::integrity::tag::Standing;
use crate::member::Slot;
use crate::units::Nanos;
use std::fmt;

/// Something on a member that was not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was found.
    pub at: Nanos,
    /// What it is.
    pub place: Place,
    /// On which member.
    pub member: Slot,
    /// Where on it, in bytes.
    pub offset: u64,
    /// What had happened, as far as the row tells.
    pub kind: Kind,
    /// What came of it.
    pub end: End,
}

/// What lies on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A row.
    Row {
        /// Of which stripe.
        stripe: u64,
        /// Which of its rows: data chunks first, then parities.
        slot: usize,
    },
    /// A copy of the superblock.
    Superblock,
    /// A page of the intents.
    Intents {
        /// Which.
        page: u64,
    },
    /// A version of a page of the written map.
    Map {
        /// Of which page.
        page: u64,
    },
}

impl Place {
    /// The stripe, of a row.
    pub const fn stripe(self) -> Option<u64> {
        match self {
            Place::Row { stripe, .. } => Some(stripe),
            _ => None,
        }
    }

    /// The number of a page, of one.
    pub const fn page(self) -> Option<u64> {
        match self {
            Place::Intents { page } | Place::Map { page } => Some(page),
            _ => None,
        }
    }
}

/// What had happened to a row (Li & Lee 2014, section II-B, as far as the victim shows it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The disk could not read it.
    Unreadable,
    /// It is whole, and older than it should be: its last write never came to the medium.
    LostWrite,
    /// Its content and its end are of two writes: one was cut short, or another one went over its beginning.
    TornWrite,
    /// A row that belongs elsewhere lies here; the place it belongs to has missed a write, and is looked at too.
    MisdirectedWrite {
        /// Whose row it is.
        member: Slot,
        /// Where it belongs, in bytes.
        offset: u64,
    },
    /// Read again, it was right: the first read came from another place.
    MisdirectedRead,
    /// Foreign bytes, which name no place.
    Garbled,
    /// A crash came in the middle of a write of its stripe, and nothing tells what it should hold.
    HalfWritten,
    /// It was found lost earlier, and says so; nobody has written it since.
    MarkedLost,
    /// All rows are whole and of today, and yet the parity is not that of the data. Which is wrong is not known.
    Mismatch,
}

impl Kind {
    /// One word for tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Unreadable => "unreadable",
            Kind::LostWrite => "lost-write",
            Kind::TornWrite => "torn-write",
            Kind::MisdirectedWrite { .. } => "misdirected-write",
            Kind::MisdirectedRead => "misdirected-read",
            Kind::Garbled => "garbled",
            Kind::HalfWritten => "half-written",
            Kind::MarkedLost => "marked-lost",
            Kind::Mismatch => "mismatch",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What came of a row that was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Rebuilt from the others, written, and read back.
    Repaired,
    /// Rebuilt from the others for whoever asked, but not written: the volume is open for reading only, or the disk
    /// did not take it.
    Avoided,
    /// There was nothing to repair: the medium is right.
    Passed,
    /// More is wrong than the parities make up for.
    Lost,
}

impl End {
    /// One word for tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            End::Repaired => "repaired",
            End::Avoided => "avoided",
            End::Passed => "passed",
            End::Lost => "lost",
        }
    }
}

/// What a row's own words say had happened to it.
pub fn kind_of(standing: Standing, is_stale: bool, offset_of: impl Fn(u64) -> u64) -> Kind {
    match standing {
        Standing::Unreadable | Standing::Missing => Kind::Unreadable,
        Standing::Torn => Kind::TornWrite,
        Standing::Elsewhere { member, row, .. } => Kind::MisdirectedWrite { member, offset: offset_of(row) },
        Standing::Garbled => Kind::Garbled,
        Standing::Sound if is_stale => Kind::LostWrite,
        Standing::Sound => Kind::Mismatch,
    }
}
