//! Findings: what was wrong on the members of a volume, and how it ended.

use crate::finding::{FindingKind, Judgement, Resolution};
use crate::index::{StripeIndex, StripePosition};
use crate::units::{MemberOffset, Nanos};
use crate::volume::format::geometry::{Geometry, MetadataArea};
use crate::volume::integrity::tag::RowStatus;
use crate::volume::member::MemberIndex;

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
    pub kind: FindingKind,
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

/// The kind of corruption that a row's status shows. A row that names a place the array does not have is corrupt.
pub fn kind_of(status: RowStatus, is_stale: bool, geometry: &Geometry) -> FindingKind {
    match status {
        RowStatus::Unreadable | RowStatus::NotRead => FindingKind::Unreadable(None),
        RowStatus::Torn => FindingKind::TornWrite,
        RowStatus::Elsewhere { member, row, .. } if geometry.has_row(member, row) => {
            FindingKind::MisdirectedWrite { member, offset: geometry.chunk_offset(row) }
        }
        RowStatus::Elsewhere { .. } => FindingKind::Corrupt,
        RowStatus::Corrupt => FindingKind::Corrupt,
        RowStatus::Sound if is_stale => FindingKind::LostWrite,
        RowStatus::Sound => FindingKind::Mismatch(Judgement::Undecided),
    }
}
