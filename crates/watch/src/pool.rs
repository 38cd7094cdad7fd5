//! Pools of ZFS: what a pool says of itself beyond its members.

use scrubjay_core::units::UnixSeconds;

/// What a pool of ZFS says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ZpoolFacts {
    /// The members of each top-level vdev without which the pool is lost.
    pub groups: Vec<MemberGroup>,
    /// What it lacks that no member's place shows.
    pub lack: PoolLack,
    /// Why it does not serve its data now, in ZFS's word (`SUSPENDED`); `None`: it does.
    pub failed: Option<String>,
    /// Whether it has lost data.
    pub losses: PoolLosses,
    /// The errors that ZFS has counted at members since they were last cleared, by the member's name; none is 0.
    pub errors: Vec<(String, u64)>,
    /// When a scrub last covered all of it.
    pub scrubbed: LastScrub,
    /// What its scrub or resilver does now.
    pub scan: PoolScan,
    /// Since when the watch has known it; 0 until the watch notes it.
    pub since: UnixSeconds,
}

/// What a pool does of its own accord. Shares in percent, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum PoolScan {
    /// Nothing.
    #[default]
    Idle,
    /// It is scrubbed.
    Scrub(Option<u8>),
    /// Its scrub is paused.
    Paused(Option<u8>),
    /// A device is filled.
    Resilver(Option<u8>),
    /// Data are moved off a device, or a RAID-Z is expanded.
    Moving,
}

/// Members whose losses count together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MemberGroup {
    /// How many of them it can do without.
    pub redundancy: u32,
    /// Their places among the array's members.
    pub places: Vec<usize>,
}

/// What a pool lacks that no member's place shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum PoolLack {
    /// Nothing.
    Nothing,
    /// A device is being filled, and ZFS does not say which: it calls itself ONLINE, too.
    Filling,
    /// ZFS calls the pool less than ONLINE, and no device shows why: a spare stands in for one.
    Amiss,
}

/// Whether a pool has lost data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum PoolLosses {
    /// Not known, for this reason.
    Unknown(String),
    /// None is known to ZFS.
    None,
    /// Blocks are lost for good.
    Lost {
        /// How many, as ZFS counts them.
        blocks: u64,
        /// The files, in ZFS's words; empty: not known.
        files: Vec<String>,
    },
}

/// When a scrub last covered all of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum LastScrub {
    /// Not known: ZFS remembers only the last scan, which was a resilver or covered a part.
    Unknown,
    /// None ever did.
    Never,
    /// It ended then.
    Ended(UnixSeconds),
}

impl ZpoolFacts {
    /// Takes over what is known from before, and is not in newer facts.
    pub(crate) fn remember(&mut self, before: Option<&ZpoolFacts>, now: UnixSeconds) {
        self.since = before.map_or(now, |before| before.since);
        let known = before.map_or(LastScrub::Unknown, |before| before.scrubbed);
        self.scrubbed = match (self.scrubbed, known) {
            (LastScrub::Unknown | LastScrub::Never, known @ LastScrub::Ended(_)) => known,
            // Another scan came after: never is no longer so.
            (LastScrub::Unknown, _) => LastScrub::Unknown,
            (LastScrub::Ended(at), LastScrub::Ended(before)) => LastScrub::Ended(at.max(before).min(now)),
            (LastScrub::Ended(at), _) => LastScrub::Ended(at.min(now)),
            (LastScrub::Never, _) => LastScrub::Never,
        };
    }

    /// Does nobody tell how it is, beyond the state of its devices?
    pub(crate) fn is_unanswered(&self) -> bool {
        matches!(self.losses, PoolLosses::Unknown(_))
    }

    /// What is lost; `None`: nothing that is known.
    pub fn damage(&self) -> Option<PoolDamage> {
        let PoolLosses::Lost { blocks, files } = &self.losses else { return None };
        Some(PoolDamage::of(*blocks, files))
    }
}

/// Names of files that a message lists, at most.
const FILES_SHOWN_MAX: usize = 5;

/// What a pool has lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PoolDamage {
    /// Blocks, as ZFS counts them.
    pub blocks: u64,
    /// Files; 0 with `objects` 0: their names are not known.
    pub files: u64,
    /// Parts of ZFS's own tables, or of what has no name any more.
    pub objects: u64,
    /// Are its own tables among them?
    pub is_metadata: bool,
    /// The first names, in ZFS's words.
    pub names: Vec<String>,
}

impl PoolDamage {
    /// Of so many blocks, with these names in ZFS's words.
    pub fn of(blocks: u64, names: &[String]) -> PoolDamage {
        let objects = names.iter().filter(|name| is_object(name)).count() as u64;
        PoolDamage {
            blocks,
            files: names.len() as u64 - objects,
            objects,
            is_metadata: names.iter().any(|name| name.starts_with(METADATA)),
            names: names.iter().take(FILES_SHOWN_MAX).cloned().collect(),
        }
    }
}

/// How ZFS calls its own tables.
const METADATA: &str = "<metadata>";

/// Is it a part of ZFS's own tables, or of what has no name any more: `<metadata>:<0x3d>`, `tank:<0x24>`?
fn is_object(name: &str) -> bool {
    name.contains(":<0x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrub_is_remembered_and_never_is_not_once_another_scan_was_seen() {
        let at = UnixSeconds;
        let after = |known, seen| {
            let facts = |scrubbed| ZpoolFacts {
                groups: Vec::new(),
                lack: PoolLack::Nothing,
                failed: None,
                losses: PoolLosses::None,
                errors: Vec::new(),
                scrubbed,
                scan: PoolScan::Idle,
                since: at(5),
            };
            let mut pool = facts(seen);
            pool.remember(Some(&facts(known)), at(100));
            assert_eq!(pool.since, at(5));
            pool.scrubbed
        };
        use LastScrub::{Ended, Never, Unknown};
        assert_eq!(after(Ended(at(50)), Unknown), Ended(at(50)));
        assert_eq!(after(Ended(at(50)), Never), Ended(at(50)));
        assert_eq!(after(Never, Unknown), Unknown);
        assert_eq!(after(Ended(at(50)), Ended(at(40))), Ended(at(50)));
        assert_eq!(after(Unknown, Ended(at(900))), Ended(at(100)), "nothing ends in the future");
    }
}
