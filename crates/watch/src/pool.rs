//! Pools of ZFS: what a pool says of itself beyond its members.

use crate::words::counted;
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
    /// What its scrub or resilver does now, in some words; empty: there is none.
    pub scan: String,
    /// Since when the watch has known it; 0 until the watch notes it.
    pub since: UnixSeconds,
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

    /// The losses in some words, for a light or a table; `None`: there are none.
    pub fn loss_words(&self) -> Option<String> {
        match &self.losses {
            PoolLosses::None => None,
            PoolLosses::Unknown(_) => Some("whether it has lost data is not known".to_owned()),
            PoolLosses::Lost { blocks, files } => Some(damage_words(*blocks, files)),
        }
    }
}

/// What is lost, in some words: `3 files damaged`, `1 file and 2 other objects damaged`, `194 blocks lost`.
pub fn damage_words(blocks: u64, names: &[String]) -> String {
    let others = names.iter().filter(|name| is_object(name)).count() as u64;
    match (names.len() as u64 - others, others) {
        (0, 0) => format!("{} lost", counted(blocks, "block")),
        (0, others) => format!("{} damaged", counted(others, "object")),
        (files, 0) => format!("{} damaged", counted(files, "file")),
        (files, others) => format!("{} and {} damaged", counted(files, "file"), counted(others, "other object")),
    }
}

/// Is it a part of ZFS's own tables, or of what has no name any more: `<metadata>:<0x3d>`, `tank:<0x24>`?
fn is_object(name: &str) -> bool {
    name.contains(":<0x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_objects_are_counted_apart() {
        let words = |names: &[&str]| damage_words(7, &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(words(&[]), "7 blocks lost");
        assert_eq!(words(&["/tank/a"]), "1 file damaged");
        assert_eq!(words(&["<metadata>:<0x1>", "tank:<0x24>"]), "2 objects damaged");
        assert_eq!(words(&["/tank/a", "tank/b@c:/d", "tank:<0x24>"]), "2 files and 1 other object damaged");
    }

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
                scan: String::new(),
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
