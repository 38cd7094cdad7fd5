//! Causes and their consequences: what is held back by a problem is listed there, and makes no messages of its own.

use crate::facts::ArrayFacts;
use crate::incident::{Condition, IncidentKey, IncidentKind, IncidentSubject};
use crate::known::DiskState;
use crate::problem::SubjectCard;
use crate::state::Watch;
use crate::subject::WatchedSubject;
use std::collections::{BTreeMap, BTreeSet};

/// Disks and arrays that a cause lists, at most.
pub(crate) const HELD_SHOWN_MAX: usize = 6;

impl Watch {
    /// Lists in each cause what it holds back.
    pub(super) fn list_consequences(&self, found: &mut BTreeMap<IncidentKey, Condition>) {
        let mut held: BTreeMap<IncidentKey, BTreeSet<SubjectCard>> = BTreeMap::new();
        for (key, condition) in &*found {
            let Some(cause) = condition.cause.as_ref().filter(|_| key.kind == IncidentKind::Unread) else { continue };
            let card = match &key.subject {
                IncidentSubject::Disk(key) => self.seen.disks.get(key).map(DiskState::card).map(SubjectCard::Disk),
                IncidentSubject::Array(key) => self.seen.arrays.get(key).map(|array| SubjectCard::Array(array.card())),
                IncidentSubject::Channel(_) | IncidentSubject::Watch => None,
            };
            held.entry(cause.clone()).or_default().extend(card);
        }
        for (cause, cards) in held {
            let Some(condition) = found.get_mut(&cause) else { continue };
            condition.held_more = cards.len().saturating_sub(HELD_SHOWN_MAX);
            condition.held = cards.into_iter().take(HELD_SHOWN_MAX).collect();
        }
    }

    /// The incident that holds this subject back, whatever else does; `None`: there is none.
    pub(super) fn cause_of(&self, subject: WatchedSubject<'_>) -> Option<IncidentKey> {
        match subject {
            WatchedSubject::Array(array, _) => array.facts.is_degraded().then(|| degraded_key(&array.facts)),
            WatchedSubject::Disk(disk) => {
                let name = disk.live.name.as_deref()?;
                let mut arrays =
                    self.seen.present_arrays().filter(|array| array.is_degraded() && array.has_member(name));
                let subject = IncidentSubject::Disk(disk.row.facts.key.clone());
                let heat = || disk.row.word.hot.map(|_| IncidentKey { subject, kind: IncidentKind::Health });
                arrays.next().map(degraded_key).or_else(heat)
            }
        }
    }
}

/// The incident of an array that lacks members.
pub(super) fn degraded_key(array: &ArrayFacts) -> IncidentKey {
    IncidentKey { subject: IncidentSubject::Array(array.key.clone()), kind: IncidentKind::Degraded }
}
