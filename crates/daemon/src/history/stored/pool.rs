//! What a pool of ZFS says of itself, as JSON in the row of its array.

use crate::history::values::not_understood;
use rusqlite::Result;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::pool::{LastScrub, MemberGroup, PoolLack, PoolLosses, ZpoolFacts};
use serde::{Deserialize, Serialize};

/// As it is written.
#[derive(Serialize, Deserialize)]
struct StoredPool {
    /// Redundancy and places of each group.
    groups: Vec<(u32, Vec<usize>)>,
    lack: StoredLack,
    failed: Option<String>,
    losses: StoredLosses,
    errors: Vec<(String, u64)>,
    /// Seconds since 1970; 0: never; null: not known.
    scrubbed: Option<u64>,
    scan: String,
    since: u64,
}

#[derive(Serialize, Deserialize)]
enum StoredLack {
    Nothing,
    Filling,
    Amiss,
}

#[derive(Serialize, Deserialize)]
enum StoredLosses {
    Unknown(String),
    None,
    Lost(u64, Vec<String>),
}

/// A pool's facts as JSON.
pub fn pool_text(pool: &ZpoolFacts) -> String {
    let ZpoolFacts { groups, lack, failed, losses, errors, scrubbed, scan, since } = pool.clone();
    let stored = StoredPool {
        groups: groups.into_iter().map(|MemberGroup { redundancy, places }| (redundancy, places)).collect(),
        lack: match lack {
            PoolLack::Nothing => StoredLack::Nothing,
            PoolLack::Filling => StoredLack::Filling,
            PoolLack::Amiss => StoredLack::Amiss,
        },
        failed,
        losses: match losses {
            PoolLosses::Unknown(why) => StoredLosses::Unknown(why),
            PoolLosses::None => StoredLosses::None,
            PoolLosses::Lost { blocks, files } => StoredLosses::Lost(blocks, files),
        },
        errors,
        scrubbed: match scrubbed {
            LastScrub::Unknown => None,
            LastScrub::Never => Some(0),
            LastScrub::Ended(at) => Some(at.0),
        },
        scan: {
            let _ = scan;
            String::new()
        },
        since: since.0,
    };
    // Numbers, strings and lists of them can always be written.
    serde_json::to_string(&stored).unwrap_or_default()
}

/// Reads [`pool_text`].
pub fn pool_of(text: &str) -> Result<ZpoolFacts> {
    let stored = serde_json::from_str(text).map_err(|error| not_understood(format!("the pool {text} ({error})")))?;
    let StoredPool { groups, lack, failed, losses, errors, scrubbed, scan, since } = stored;
    Ok(ZpoolFacts {
        groups: groups.into_iter().map(|(redundancy, places)| MemberGroup { redundancy, places }).collect(),
        lack: match lack {
            StoredLack::Nothing => PoolLack::Nothing,
            StoredLack::Filling => PoolLack::Filling,
            StoredLack::Amiss => PoolLack::Amiss,
        },
        failed,
        losses: match losses {
            StoredLosses::Unknown(why) => PoolLosses::Unknown(why),
            StoredLosses::None => PoolLosses::None,
            StoredLosses::Lost(blocks, files) => PoolLosses::Lost { blocks, files },
        },
        errors,
        scrubbed: match scrubbed {
            None => LastScrub::Unknown,
            Some(0) => LastScrub::Never,
            Some(at) => LastScrub::Ended(UnixSeconds(at)),
        },
        scan: {
            let _ = scan;
            Default::default()
        },
        since: UnixSeconds(since),
    })
}
