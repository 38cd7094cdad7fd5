//! Disks and arrays that appear, change and disappear.

use crate::calendar::{HOUR, after, elapsed};
use crate::facts::{ArrayFacts, DiskFacts, DiskKey, MediaKind, PassReport, SubjectKey};
use crate::hold::SessionFault;
use crate::known::{ArrayState, DiskState};
use crate::pool::{LastScrub, PoolScan, ZpoolFacts};
use crate::problem::MISSING_AFTER;
use crate::reading::{ReadingState, SessionPhase};
use crate::rows::RowKey;
use crate::slowness::Slowness;
use crate::state::Watch;
use scrubjay_core::units::UnixSeconds;

/// A scrub of a pool that ended within so many seconds after a session's last report is the session's.
const OWN_SCRUB: u64 = HOUR;

impl Watch {
    pub(crate) fn disk_seen(&mut self, now: UnixSeconds, mut facts: DiskFacts) {
        facts.key = self.key_among_twins(&facts);
        let present_name = self.seen.disks.get(&facts.key).and_then(|disk| disk.live.name.as_ref());
        if present_name.is_none_or(|name| *name == facts.name) {
            self.record_disk(now, facts);
            return;
        }
        // Either it has moved, and the event that its old name is gone will follow; or two disks have one identity, if
        // both stay.
        self.disk_gone(now, &facts.name, false);
        let name = facts.name.clone();
        self.seen.sightings.insert(name, (facts, now));
        self.timing.wake_at(after(now, MISSING_AFTER));
    }

    /// Takes a disk that stays under a second name, while its identity stays under the first, for another disk: its
    /// name is appended to its identity.
    pub(crate) fn register_twins(&mut self, now: UnixSeconds) {
        let is_twin = |(_, since): &(DiskFacts, UnixSeconds)| elapsed(now, *since) >= MISSING_AFTER;
        let names: Vec<String> =
            self.seen.sightings.iter().filter(|(_, seen)| is_twin(seen)).map(|(name, _)| name.clone()).collect();
        for (mut facts, _) in names.iter().filter_map(|name| self.seen.sightings.remove(name)).collect::<Vec<_>>() {
            facts.key = self.twin_key(&facts);
            self.record_disk(now, facts);
        }
        let next = self.seen.sightings.values().map(|(_, since)| after(*since, MISSING_AFTER)).min();
        next.into_iter().for_each(|next| self.timing.wake_at(next));
    }

    /// The key of a disk that gives the identity of another one: with its size, else with its place, else with its name.
    fn twin_key(&self, facts: &DiskFacts) -> DiskKey {
        let other = self.seen.disks.get(&facts.key).map(|disk| &disk.row.facts);
        match (&facts.place, other) {
            (_, Some(other)) if other.sectors != facts.sectors => DiskKey(format!("{}@{}", facts.key, facts.sectors)),
            (Some(place), _) => DiskKey(format!("{}@{place}", facts.key)),
            (None, _) => DiskKey(format!("{}@{}", facts.key, facts.name)),
        }
    }

    /// Which of several known disks that give one identity this one is, by its size, then by its place, then by its name. Names and
    /// places change hands at a restart; sizes do not.
    fn key_among_twins(&self, facts: &DiskFacts) -> DiskKey {
        let start = format!("{}@", facts.key);
        let twins: Vec<&DiskFacts> = self
            .seen
            .disks
            .range(DiskKey(start.clone())..)
            .map(|(key, disk)| (key, &disk.row.facts))
            .take_while(|(key, _)| key.0.starts_with(&start))
            .map(|(_, known)| known)
            .collect();
        if twins.is_empty() {
            return facts.key.clone();
        }
        let first = self.seen.disks.get(&facts.key).map(|disk| &disk.row.facts);
        let alike: Vec<&DiskFacts> =
            first.into_iter().chain(twins).filter(|known| known.sectors == facts.sectors).collect();
        let by_place = alike.iter().find(|known| known.place.is_some() && known.place == facts.place);
        let by_name = || alike.iter().find(|known| known.name == facts.name);
        let known = match &alike[..] {
            [only] => Some(only),
            _ => by_place.or_else(by_name),
        };
        known.map_or_else(|| facts.key.clone(), |known| known.key.clone())
    }

    /// Records that a disk is where its facts say.
    fn record_disk(&mut self, now: UnixSeconds, mut facts: DiskFacts) {
        self.seen.sightings.remove(&facts.name);
        if self.seen.names.get(&facts.name).is_some_and(|key| *key != facts.key) {
            self.disk_gone(now, &facts.name, false);
        }
        let (key, name) = (facts.key.clone(), facts.name.clone());
        self.seen.names.insert(name.clone(), key.clone());
        let is_new = !self.seen.disks.contains_key(&key);
        let disk = self.seen.disks.entry(key.clone()).or_insert_with(|| DiskState::new(facts.clone(), now));
        if facts.sectors == 0 {
            facts.sectors = disk.row.facts.sectors; // not known now, but it was before
        }
        if !is_new && disk.row.facts == facts && disk.live.name.is_some() {
            return; // nothing has changed
        }
        if disk.reading.resize(facts.sectors, now) {
            self.pending.change(RowKey::Reading(SubjectKey::Disk(key.clone())));
        }
        if is_new || disk.row.facts != facts {
            disk.row.facts = facts;
            self.pending.change(RowKey::Disk(key.clone()));
        }
        if is_new {
            self.pending.change(RowKey::Reading(SubjectKey::Disk(key)));
        }
        if disk.live.name.is_none() {
            // The live state from before the disk was gone is out of date.
            let reading = ReadingState::restored(disk.reading.row.clone(), disk.reading.idle.clone());
            let failures = disk.live.failures.take();
            *disk = DiskState::restored(disk.row.clone(), reading, now);
            disk.live.failures = failures;
        }
        disk.live.name = Some(name);
        self.timing.are_passes_planned = false;
    }

    pub(crate) fn disk_gone(&mut self, now: UnixSeconds, name: &str, is_pulled: bool) {
        self.seen.sightings.remove(name);
        let Some(key) = self.seen.names.remove(name) else { return };
        if let Some(disk) = self.seen.disks.get_mut(&key) {
            (disk.live.name, disk.live.since, disk.reading.live.session) = (None, now, SessionPhase::None);
            disk.live.is_pulled = is_pulled;
        }
        let moved_name =
            self.seen.sightings.iter().find(|(_, (facts, _))| facts.key == key).map(|(name, _)| name.clone());
        if let Some((facts, _)) = moved_name.and_then(|name| self.seen.sightings.remove(&name)) {
            self.record_disk(now, facts);
        }
    }

    pub(crate) fn array_seen(&mut self, now: UnixSeconds, mut facts: ArrayFacts) {
        let known = self.seen.arrays.get(&facts.key);
        if let Some(pool) = &mut facts.pool {
            pool.remember(known.and_then(|known| known.facts.pool.as_ref()), now);
        }
        if known.is_some_and(|known| known.facts == facts && known.absent_since.is_none()) {
            return;
        }
        if known.is_none_or(|known| known.facts != facts) {
            self.pending.change(RowKey::Array(facts.key.clone()));
        }
        let key = facts.key.clone();
        let was_absent = known.is_none_or(|known| known.absent_since.is_some());
        let known = self.seen.arrays.remove(&key);
        let mut places = known.as_ref().map(|known| known.places.clone()).unwrap_or_default();
        let present = facts
            .members
            .iter()
            .enumerate()
            .filter_map(|(place, member)| Some((place, self.seen.names.get(member.disk.as_deref()?)?.clone())));
        places.extend(present);
        let known = known.and_then(|known| known.reading);
        let row_key = RowKey::Reading(SubjectKey::Array(key.clone()));
        let reading = match (facts.check_sectors, known) {
            // An array whose checker cannot be driven at present keeps the state of its check.
            (None, known) => known,
            (Some(sectors), None) => {
                self.pending.change(row_key);
                Some(ReadingState::new(sectors, MediaKind::Spinning, now))
            }
            (Some(sectors), Some(mut known)) => {
                if was_absent {
                    known = ReadingState::restored(known.row, known.idle);
                }
                if known.resize(sectors, now) {
                    self.pending.change(row_key);
                }
                Some(known)
            }
        };
        let reading = reading.map(|mut reading| {
            let is_news = |pool: &ZpoolFacts| {
                take_scrub_of_others(&mut reading, pool, now) | take_up_paused(&mut reading, pool, now)
            };
            if facts.pool.as_ref().is_some_and(is_news) {
                self.pending.change(RowKey::Reading(SubjectKey::Array(key.clone())));
            }
            reading
        });
        self.seen.arrays.insert(key, ArrayState { facts, absent_since: None, reading, places });
        self.timing.are_passes_planned = false;
    }

    pub(crate) fn array_gone(&mut self, now: UnixSeconds, key: &str) {
        if let Some(array) = self.seen.arrays.get_mut(key) {
            array.absent_since.get_or_insert(now);
            array.reading.iter_mut().for_each(|reading| reading.live.session = SessionPhase::None);
        }
    }
}

/// Takes a scrub of a pool that ended since the last report of a session: others did it, and it counts. Returns whether there is one.
fn take_scrub_of_others(reading: &mut ReadingState, pool: &ZpoolFacts, now: UnixSeconds) -> bool {
    let passes = &mut reading.row.passes;
    let LastScrub::Ended(at) = pool.scrubbed else { return false };
    let is_own = passes.is_read() && elapsed(at, passes.reported) < OWN_SCRUB;
    if is_own || reading.live.session == SessionPhase::Running || passes.oldest().is_some_and(|oldest| oldest >= at) {
        return false;
    }
    passes.report_foreign(now, &PassReport { begun: at, ..PassReport::default() }, true);
    true
}

/// A scrub of a pool that is paused is a pass under way, whoever paused it: ZFS knows how far it is. Returns whether that is new.
fn take_up_paused(reading: &mut ReadingState, pool: &ZpoolFacts, now: UnixSeconds) -> bool {
    let is_new = matches!(pool.scan, PoolScan::Paused(_))
        && reading.row.passes.begun.0 == 0
        && reading.live.session == SessionPhase::None;
    if is_new {
        reading.row.passes.begin(now);
        // Somebody may have had a reason.
        reading.live.refusal = Some((SessionFault::Said("its scrub was paused".to_owned()), after(now, HOUR)));
    }
    is_new
}

impl Watch {
    /// Takes how slow a disk is.
    pub(crate) fn slow(&mut self, name: &str, slowness: Slowness) {
        let Some(key) = self.seen.disk_by_name(name).map(|disk| disk.row.facts.key.clone()) else { return };
        let disk = self.seen.disks.get_mut(&key).filter(|disk| disk.row.slowness != slowness);
        if let Some(disk) = disk {
            disk.row.slowness = slowness;
            self.pending.change(RowKey::Disk(key));
        }
    }

    /// Takes that the kernel has reset the way to a disk.
    pub(crate) fn link_reset(&mut self, now: UnixSeconds, name: &str) {
        let Some(key) = self.seen.disk_by_name(name).map(|disk| disk.row.facts.key.clone()) else { return };
        if self.seen.disks.get_mut(&key).is_some_and(|disk| disk.row.link_resets.add(now)) {
            self.pending.change(RowKey::Disk(key));
        }
    }

    /// How slow the disk of this name was the last time that it was judged.
    pub fn slowness(&self, name: &str) -> Slowness {
        let known = self.seen.disks.values().find(|disk| disk.live.name.as_deref() == Some(name));
        known.map(|disk| disk.row.slowness).unwrap_or_default()
    }
}
