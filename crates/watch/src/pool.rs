//! Pools of ZFS: what a pool says of itself beyond its members.

use crate::words::counted;
use scrubjay_core::units::UnixSeconds;

/// What a pool of ZFS says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZpoolFacts {
    /// The members of each top-level vdev without which the pool is lost.
    pub groups: Vec<MemberGroup>,
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
pub struct MemberGroup {
    /// How many of them it can do without.
    pub redundancy: u32,
    /// Their places among the array's members.
    pub places: Vec<usize>,
}

/// Whether a pool has lost data.
#[derive(Clone, Debug, PartialEq, Eq)]
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
            (LastScrub::Unknown, known) => known,
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
            PoolLosses::Lost { blocks, files } => Some(match files.len() {
                0 => format!("{} lost", counted(*blocks, "block")),
                count => format!("{} damaged", counted(count as u64, "file")),
            }),
        }
    }
}
