//! Disks and arrays come, change and go.

use crate::facts::{ArrayFacts, DiskFacts, DiskKey};
use crate::rows::RowKey;
use crate::state::{ArrayState, DiskState, SessionPhase, Watch};
use scrubjay_core::units::UnixSeconds;

impl Watch {
    pub(crate) fn disk_seen(&mut self, now: UnixSeconds, mut facts: DiskFacts) {
        let is_elsewhere = self
            .disks
            .get(&facts.key)
            .is_some_and(|disk| disk.live.name.as_ref().is_some_and(|name| *name != facts.name));
        if is_elsewhere {
            // Two disks with one identity: the second is told from the first by where it is.
            facts.key = DiskKey(format!("{}@{}", facts.key, facts.name));
        }
        if self.names.get(&facts.name).is_some_and(|key| *key != facts.key) {
            self.disk_gone(now, &facts.name.clone());
        }
        let (key, name) = (facts.key.clone(), facts.name.clone());
        self.names.insert(name.clone(), key.clone());
        let disk = self.disks.entry(key.clone()).or_insert_with(|| DiskState::new(facts.clone(), now));
        if facts.sectors == 0 {
            facts.sectors = disk.row.facts.sectors; // it cannot be told now; it was before
        }
        if disk.row.passes.sectors != facts.sectors {
            disk.row.passes.resize(facts.sectors, now);
            disk.row.forecast = None;
            disk.live.is_resized = disk.live.session == SessionPhase::Running;
        }
        disk.row.facts = facts;
        if disk.live.name.is_none() {
            // What was known of it while it was there before is old.
            let (row, idle) = (disk.row.clone(), disk.idle.clone());
            *disk = DiskState::restored(row, idle, now);
        }
        disk.live.name = Some(name);
        self.changed.insert(RowKey::Disk(key.clone()));
        self.is_reckoned = false;
    }

    pub(crate) fn disk_gone(&mut self, now: UnixSeconds, name: &str) {
        let Some(disk) = self.names.remove(name).and_then(|key| self.disks.get_mut(&key)) else { return };
        (disk.live.name, disk.live.since, disk.live.session) = (None, now, SessionPhase::None);
    }

    pub(crate) fn array_seen(&mut self, facts: ArrayFacts) {
        self.changed.insert(RowKey::Array(facts.key.clone()));
        self.arrays.insert(facts.key.clone(), ArrayState { facts, gone: None });
        self.is_reckoned = false;
    }

    pub(crate) fn array_gone(&mut self, now: UnixSeconds, key: &str) {
        if let Some(array) = self.arrays.get_mut(key) {
            array.gone.get_or_insert(now);
        }
    }
}
