//! Flushes and durable writes under way. A disk reports once that it lost something of its cache, on any one of those that are under way: the
//! others end well. So a flush succeeds only if every one that overlapped it did. (A durable write counts
//! by itself: if the flush beside it is the one that is told, that fails the member, and the other members hold what was written.)

use super::disk::PlacedDisk;
use crate::volume::member::MemberOpId;
use std::collections::BTreeMap;

/// One under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sync {
    /// On this disk.
    pub disk: PlacedDisk,
    /// Of a durable write to a disk that had nothing to lose: how many writes had been begun ([`super::cache::Cache::begun`]).
    pub begun_if_empty: Option<u64>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Syncs(BTreeMap<u64, Sync>);

impl Syncs {
    /// One begins.
    pub fn begin(&mut self, id: MemberOpId, sync: Sync) {
        self.0.insert(id.0, sync);
    }

    /// An operation has ended; if it was one of them, which.
    pub fn end(&mut self, id: MemberOpId) -> Option<Sync> {
        self.0.remove(&id.0)
    }

    /// A disk was given up, and all that it was asked.
    pub fn forget(&mut self, disk: PlacedDisk) {
        self.0.retain(|_, sync| sync.disk != disk);
    }

    /// Those under way on this disk.
    pub fn on(&self, disk: PlacedDisk) -> impl Iterator<Item = MemberOpId> {
        self.0.iter().filter(move |(_, sync)| sync.disk == disk).map(|(&id, _)| MemberOpId(id))
    }

    /// Is any of these still under way?
    pub fn is_any(&self, ids: &[MemberOpId]) -> bool {
        ids.iter().any(|id| self.0.contains_key(&id.0))
    }
}
