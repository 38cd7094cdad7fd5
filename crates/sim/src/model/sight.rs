//! The rows that were read of a stripe, as evidence for the shipped `judge` and `reconcile`.

use super::setup::{DATA_MAX, ModelSetup, PARITY_MAX};
use super::stripe::{AppendixOwner, DataRow, ListMark, ModelRow, ParityRow};
use scrubjay_core::index::{MemberIndex, RowIndex, StripePosition};
use scrubjay_core::position_set::PositionSet;
use scrubjay_core::volume::integrity::evidence::{Evidence, RowEvidence};
use scrubjay_core::volume::integrity::judge::is_consistent;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::integrity::tag::{ListEntry, RowStatus, Version};

/// Rows as they were read. Of rows whose appendix was read alone, only the appendix counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowsSeen {
    /// Data rows, whole or only their appendices.
    pub data: [Option<DataRow>; DATA_MAX],
    /// Parity rows, whole or only their appendices.
    pub parities: [Option<ParityRow>; PARITY_MAX],
    /// The positions that were read whole.
    pub whole: PositionSet,
}

impl RowsSeen {
    /// Adds a row that was read.
    pub fn insert(&mut self, setup: &ModelSetup, position: StripePosition, row: ModelRow, is_whole: bool) {
        match row {
            ModelRow::Data(row) => self.data[position.get()] = Some(row),
            ModelRow::Parity(row) => self.parities[position.get() - setup.shape.data] = Some(row),
        }
        if is_whole {
            self.whole.insert(position);
        }
    }

    /// The positions of which anything was read.
    pub fn slots(&self, setup: &ModelSetup) -> PositionSet {
        let data = setup.shape.data_positions().filter(|&index| self.data[index.get()].is_some());
        let parities = (0..setup.shape.parity).filter(|&index| self.parities[index].is_some());
        data.chain(parities.map(|index| setup.shape.parity_position(index))).collect()
    }

    /// The status of a row by its own appendix; of an appendix read alone, only its place is checked.
    pub fn status(&self, setup: &ModelSetup, position: StripePosition) -> RowStatus {
        let (place, is_whole) = match setup.shape.parity_index(position) {
            None => match self.data[position.get()] {
                Some(row) => (row.place, row.content == row.sealed),
                None => return RowStatus::NotRead,
            },
            Some(parity) => match self.parities[parity] {
                Some(row) => (row.head.place, row.head.is_whole),
                None => return RowStatus::NotRead,
            },
        };
        match place {
            _ if !setup.scheme.checks_itself() => RowStatus::Sound,
            AppendixOwner::Here if is_whole || !self.whole.contains(position) => RowStatus::Sound,
            AppendixOwner::Here => RowStatus::Torn,
            AppendixOwner::Elsewhere => {
                RowStatus::Elsewhere { member: MemberIndex(0), row: RowIndex(1), is_whole: true }
            }
            AppendixOwner::Nowhere => RowStatus::Corrupt,
        }
    }

    /// The positions with rows that are not sound.
    pub fn unsound(&self, setup: &ModelSetup) -> PositionSet {
        self.slots(setup).iter().filter(|&position| self.status(setup, position) != RowStatus::Sound).collect()
    }

    /// The evidence for the judge. A data chunk's appendix read alone counts only in Hybrid-1.
    pub fn evidence(&self, setup: &ModelSetup) -> Evidence {
        let rows = setup.shape.positions().map(|position| self.seen(setup, position)).collect();
        Evidence { scheme: setup.scheme, shape: setup.shape, rows }
    }

    fn seen(&self, setup: &ModelSetup, position: StripePosition) -> RowEvidence {
        let status = self.status(setup, position);
        let entry = |mark: ListMark| ListEntry { version: Version(mark.version.into()), sum: mark.content.into() };
        let Some(parity) = setup.shape.parity_index(position) else {
            let is_claimed = self.whole.contains(position) || setup.scheme == Scheme::Hybrid1;
            return match self.data[position.get()].filter(|_| is_claimed) {
                Some(row) => RowEvidence {
                    entry: entry(ListMark { version: row.version, content: row.content }),
                    predecessor_sum: row.neighbour.into(),
                    ..RowEvidence::with_status(status)
                },
                None => RowEvidence::with_status(RowStatus::NotRead),
            };
        };
        let is_believed = !matches!(status, RowStatus::Elsewhere { .. } | RowStatus::Corrupt);
        let row = self.parities[parity].filter(|_| is_believed && setup.scheme.has_appendix());
        let list = row.map(|row| row.list[..setup.shape.data].iter().map(|&mark| entry(mark)).collect());
        RowEvidence { list, ..RowEvidence::with_status(status) }
    }

    /// If all rows that were read are sound and agree: the data chunks that were compared with a copy of their version
    /// or their checksum. `None`: they do not.
    pub fn trusted(&self, setup: &ModelSetup) -> Option<PositionSet> {
        if !self.unsound(setup).is_empty() {
            return None;
        }
        let evidence = self.evidence(setup);
        let is_claimed = |position: &StripePosition| evidence.rows[*position].status != RowStatus::NotRead;
        let is_compared = |&index: &StripePosition| self.whole.contains(index) && evidence.claims(index).count() > 1;
        is_consistent(&evidence, self.slots(setup).iter().filter(is_claimed).collect())
            .then(|| setup.shape.data_positions().filter(is_compared).collect())
    }
}
