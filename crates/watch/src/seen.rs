//! What is seen of the machine: disks, arrays, and what holds for all of it.

use crate::facts::{ArrayFacts, DiskFacts, DiskKey};
use crate::incident::IncidentSubject;
use crate::known::{ArrayState, DiskState};
use scrubjay_core::units::UnixSeconds;
use std::collections::BTreeMap;

/// What is seen of the machine.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub disks: BTreeMap<DiskKey, DiskState>,
    /// The identity of the disk that has this kernel name now.
    pub names: BTreeMap<String, DiskKey>,
    /// Disks seen under these names whose identity is still present under another name, and since when.
    pub sightings: BTreeMap<String, (DiskFacts, UnixSeconds)>,
    pub arrays: BTreeMap<String, ArrayState>,
    pub is_on_battery: bool,
    /// Are the arrays that are seen all that there are?
    pub are_arrays_known: bool,
    /// Since when nothing is seen of the machine; `None`: it is seen.
    pub blind_since: Option<UnixSeconds>,
}

impl Seen {
    /// The disk that has this kernel name now.
    pub fn disk_by_name(&mut self, name: &str) -> Option<&mut DiskState> {
        self.disks.get_mut(self.names.get(name)?)
    }

    /// The arrays that are present. An absent array holds nothing back: its members' names may belong to other disks by now.
    pub fn present_arrays(&self) -> impl Iterator<Item = &ArrayFacts> {
        self.arrays.values().filter(|array| array.absent_since.is_none()).map(|array| &array.facts)
    }

    /// Is this disk or array known? `None`: it is neither.
    pub fn has(&self, subject: &IncidentSubject) -> Option<bool> {
        match subject {
            IncidentSubject::Disk(key) => Some(self.disks.contains_key(key)),
            IncidentSubject::Array(key) => Some(self.arrays.contains_key(key)),
            IncidentSubject::Channel(_) | IncidentSubject::Watch => None,
        }
    }
}
