//! Syncs under way: flushes and durable writes.
//!
//! A disk reports only once that its cache lost data, on any one of its syncs under way; the others end well. So a
//! flush succeeds only if every sync that overlapped it did. (A durable write counts by itself: if an overlapping flush
//! gets the error instead, that flush fails the member, and the other members hold what was written.)

use crate::volume::disk::PlacedDisk;
use crate::volume::member::MemberOpId;
use std::collections::BTreeMap;

/// A flush or durable write under way.
#[derive(Clone, Copy, Debug)]
pub struct Sync {
    /// The disk it was submitted to.
    pub disk: PlacedDisk,
    /// For a durable write to a disk whose cache was empty: the writes begun by then ([`crate::volume::durable::volatile_writes::VolatileWrites::begun`]).
    /// `None`: any other sync.
    pub begun_if_empty: Option<u64>,
}

/// All syncs under way, by operation.
#[derive(Debug, Default)]
pub struct Syncs(BTreeMap<u64, Sync>);

impl Syncs {
    /// Records that a sync was submitted.
    pub fn begin(&mut self, id: MemberOpId, sync: Sync) {
        self.0.insert(id.0, sync);
    }

    /// Removes an operation that has ended, and returns it if it was a sync.
    pub fn end(&mut self, id: MemberOpId) -> Option<Sync> {
        self.0.remove(&id.0)
    }

    /// Forgets the syncs of a disk whose operations were abandoned.
    pub fn forget(&mut self, disk: PlacedDisk) {
        self.0.retain(|_, sync| sync.disk != disk);
    }

    /// The syncs under way on this disk.
    pub fn on(&self, disk: PlacedDisk) -> impl Iterator<Item = MemberOpId> {
        self.0.iter().filter(move |(_, sync)| sync.disk == disk).map(|(&id, _)| MemberOpId(id))
    }

    /// Is any of these operations still under way?
    pub fn is_any(&self, ids: &[MemberOpId]) -> bool {
        ids.iter().any(|id| self.0.contains_key(&id.0))
    }
}
