//! Disks and arrays come, change and go.

use crate::calendar::{after, elapsed};
use crate::facts::{ArrayFacts, DiskFacts, DiskKey};
use crate::rows::RowKey;
use crate::state::{ArrayState, DiskState, GONE, SessionPhase, Watch};
use scrubjay_core::units::UnixSeconds;

impl Watch {
    pub(crate) fn disk_seen(&mut self, now: UnixSeconds, mut facts: DiskFacts) {
        let twin = DiskKey(format!("{}@{}", facts.key, facts.name));
        if self.disks.contains_key(&twin) {
            facts.key = twin;
        }
        let elsewhere = self.disks.get(&facts.key).and_then(|disk| disk.live.name.as_ref());
        if elsewhere.is_none_or(|name| *name == facts.name) {
            self.arrive(now, facts);
            return;
        }
        // It has moved, and that its old name is gone will be told; or there are two of one identity, if both stay.
        self.disk_gone(now, &facts.name);
        let name = facts.name.clone();
        self.sightings.insert(name, (facts, now));
        self.wake_at(after(now, GONE));
    }

    /// What was seen under a second name and stays there, while it stays under the first, is another disk: it is told from the
    /// first by where it is.
    pub(crate) fn tell_twins(&mut self, now: UnixSeconds) {
        let is_twin = |(_, since): &(DiskFacts, UnixSeconds)| elapsed(now, *since) >= GONE;
        let names: Vec<String> =
            self.sightings.iter().filter(|(_, seen)| is_twin(seen)).map(|(name, _)| name.clone()).collect();
        for (mut facts, _) in names.iter().filter_map(|name| self.sightings.remove(name)).collect::<Vec<_>>() {
            facts.key = DiskKey(format!("{}@{}", facts.key, facts.name));
            self.arrive(now, facts);
        }
        let next = self.sightings.values().map(|(_, since)| after(*since, GONE)).min();
        next.into_iter().for_each(|next| self.wake_at(next));
    }

    /// A disk is where its facts say.
    fn arrive(&mut self, now: UnixSeconds, mut facts: DiskFacts) {
        self.sightings.remove(&facts.name);
        if self.names.get(&facts.name).is_some_and(|key| *key != facts.key) {
            self.disk_gone(now, &facts.name);
        }
        let (key, name) = (facts.key.clone(), facts.name.clone());
        self.names.insert(name.clone(), key.clone());
        let is_new = !self.disks.contains_key(&key);
        let disk = self.disks.entry(key.clone()).or_insert_with(|| DiskState::new(facts.clone(), now));
        if facts.sectors == 0 {
            facts.sectors = disk.row.facts.sectors; // it cannot be told now; it was before
        }
        if !is_new && disk.row.facts == facts && disk.live.name.is_some() {
            return; // nothing is new
        }
        if disk.row.passes.sectors != facts.sectors {
            disk.row.passes.resize(facts.sectors, now);
            disk.row.forecast = None;
            disk.live.is_resized = disk.live.session == SessionPhase::Running;
        }
        if is_new || disk.row.facts != facts {
            disk.row.facts = facts;
            self.changed.insert(RowKey::Disk(key));
        }
        if disk.live.name.is_none() {
            // What was known of it while it was there before is old.
            let (row, idle) = (disk.row.clone(), disk.idle.clone());
            *disk = DiskState::restored(row, idle, now);
        }
        disk.live.name = Some(name);
        self.is_reckoned = false;
    }

    pub(crate) fn disk_gone(&mut self, now: UnixSeconds, name: &str) {
        self.sightings.remove(name);
        let Some(key) = self.names.remove(name) else { return };
        if let Some(disk) = self.disks.get_mut(&key) {
            (disk.live.name, disk.live.since, disk.live.session) = (None, now, SessionPhase::None);
        }
        let moved = self.sightings.iter().find(|(_, (facts, _))| facts.key == key).map(|(name, _)| name.clone());
        if let Some((facts, _)) = moved.and_then(|name| self.sightings.remove(&name)) {
            self.arrive(now, facts);
        }
    }

    pub(crate) fn array_seen(&mut self, facts: ArrayFacts) {
        let known = self.arrays.get(&facts.key);
        if known.is_some_and(|known| known.facts == facts && known.gone.is_none()) {
            return;
        }
        if known.is_none_or(|known| known.facts != facts) {
            self.changed.insert(RowKey::Array(facts.key.clone()));
        }
        self.arrays.insert(facts.key.clone(), ArrayState { facts, gone: None });
        self.is_reckoned = false;
    }

    /// The arrays that are there. One that is gone holds nothing back: its names may be other disks' by now.
    pub(crate) fn arrays_there(&self) -> impl Iterator<Item = &ArrayFacts> {
        self.arrays.values().filter(|array| array.gone.is_none()).map(|array| &array.facts)
    }

    pub(crate) fn array_gone(&mut self, now: UnixSeconds, key: &str) {
        if let Some(array) = self.arrays.get_mut(key) {
            array.gone.get_or_insert(now);
        }
    }
}
