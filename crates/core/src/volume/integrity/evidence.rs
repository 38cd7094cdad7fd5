//! The evidence of one stripe: the rows that were read, and what each says of itself and of the others.

use super::scheme::Scheme;
use super::tag::{ListEntry, RowStatus};
use crate::index::{StripePosition, indexed};
use crate::layout::Shape;
use crate::position_set::PositionSet;

/// One row of a stripe, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowEvidence {
    /// Its status, from what it says of itself.
    pub status: RowStatus,
    /// A data row's version, and the CRC-32C of the content that was read.
    pub entry: ListEntry,
    /// A data row's copy of its predecessor's checksum: that of the data chunk before it; for the first, of the last.
    pub predecessor_sum: u32,
    /// A parity row's list, one entry per data chunk, if it can be believed.
    pub list: Option<Vec<ListEntry>>,
}

impl RowEvidence {
    /// A row with this status of which nothing else is known.
    pub fn with_status(status: RowStatus) -> RowEvidence {
        RowEvidence { status, entry: ListEntry::default(), predecessor_sum: 0, list: None }
    }

    /// Whether the row is whole and in its place.
    pub fn is_sound(&self) -> bool {
        self.status == RowStatus::Sound
    }
}

indexed!(StripePosition: RowEvidence);

/// The rows of a stripe: data first, then parities.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The scheme that wrote them.
    pub scheme: Scheme,
    /// Number of data and parity chunks.
    pub shape: Shape,
    /// One row per position.
    pub rows: Vec<RowEvidence>,
}

impl Evidence {
    /// The positions whose rows are whole and in their place.
    pub fn sound(&self) -> PositionSet {
        self.shape.positions().filter(|&position| self.rows[position].is_sound()).collect()
    }

    /// Whether the content of any row shows that this stripe was written once. If not, nobody is to blame for their contents: where the
    /// written map is lost, a stripe counts as written that never was.
    pub fn was_written(&self) -> bool {
        let shows =
            |row: &RowEvidence| matches!(row.status, RowStatus::Sound | RowStatus::Torn | RowStatus::Elsewhere { .. });
        self.rows.iter().any(shows)
    }

    /// The lists that can be believed, each with its parity's position.
    pub fn lists(&self) -> impl Iterator<Item = (StripePosition, &[ListEntry])> {
        self.rows[self.shape.data..].iter().enumerate().filter_map(|(index, row)| {
            let list = row.list.as_deref()?;
            Some((self.shape.parity_position(index), list))
        })
    }

    /// All claims about data chunk `index`, each with the position that makes it: itself, the data chunk after it, the parities.
    pub fn claims(&self, index: StripePosition) -> impl Iterator<Item = (StripePosition, ListEntry)> {
        let own = self.rows[index].is_sound().then(|| (index, self.rows[index].entry));
        let successor = self.shape.after(index);
        // Without parities nothing keeps the copies up to date: a write of one chunk does not know its predecessor's checksum.
        let is_kept = self.scheme.has_buddies() && self.shape.parity > 0;
        let has_copy = is_kept && successor != index && self.rows[successor].is_sound();
        let copy = has_copy.then(|| {
            let sum = self.rows[successor].predecessor_sum;
            (successor, ListEntry { sum, ..ListEntry::default() })
        });
        own.into_iter().chain(copy).chain(self.lists().map(move |(position, list)| (position, list[index])))
    }
}
