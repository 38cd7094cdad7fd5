//! Causes and their consequences: what is held back by a problem is listed there, and makes no messages of its own.

use crate::facts::ArrayFacts;
use crate::incident::{Condition, IncidentKey, IncidentKind, IncidentSubject};
use crate::state::{DiskState, Watch};
use crate::subject::WatchedSubject;
use std::collections::{BTreeMap, BTreeSet};

/// Disks and arrays that a cause lists, at most.
pub(crate) const HELD_SHOWN_MAX: usize = 6;

impl Watch {
    /// Lists in each cause what it holds back.
    pub(crate) fn list_consequences(&self, found: &mut BTreeMap<IncidentKey, Condition>) {
        let mut held: BTreeMap<IncidentKey, BTreeSet<String>> = BTreeMap::new();
        for (key, condition) in &*found {
            let Some(cause) = condition.cause.as_ref().filter(|_| key.kind == IncidentKind::Unread) else { continue };
            let name = match &key.subject {
                IncidentSubject::Disk(key) => self.disks.get(key).map(DiskState::label),
                IncidentSubject::Array(key) => self.arrays.get(key).map(|array| format!("array {}", array.facts.name)),
                IncidentSubject::Channel(_) | IncidentSubject::Watch => None,
            };
            held.entry(cause.clone()).or_default().extend(name);
        }
        for (cause, names) in held {
            let Some(condition) = found.get_mut(&cause) else { continue };
            let shown: Vec<&str> = names.iter().take(HELD_SHOWN_MAX).map(String::as_str).collect();
            let more = match names.len() - shown.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            condition.lines.push(format!("Held back {}{more}: not read meanwhile, though due", shown.join(", ")));
        }
    }

    /// The incident that holds this subject back, whatever else does; `None`: there is none.
    pub(crate) fn cause_of(&self, subject: WatchedSubject<'_>) -> Option<IncidentKey> {
        match subject {
            WatchedSubject::Array(array, _) => array.facts.is_degraded().then(|| degraded_key(&array.facts)),
            WatchedSubject::Disk(disk) => {
                let name = disk.live.name.as_deref()?;
                let mut arrays = self.present_arrays().filter(|array| array.is_degraded() && array.has_member(name));
                let subject = IncidentSubject::Disk(disk.row.facts.key.clone());
                let heat = || disk.row.word.hot.map(|_| IncidentKey { subject, kind: IncidentKind::Health });
                arrays.next().map(degraded_key).or_else(heat)
            }
        }
    }
}

/// The incident of an array that lacks members.
pub(crate) fn degraded_key(array: &ArrayFacts) -> IncidentKey {
    IncidentKey { subject: IncidentSubject::Array(array.key.clone()), kind: IncidentKind::Degraded }
}
