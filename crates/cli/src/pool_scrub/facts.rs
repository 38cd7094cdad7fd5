//! What a pool's description says of errors and losses.

use scrubjay_daemon::zfs::Zpool;
use scrubjay_daemon::zfs::pool::Vdev;
use scrubjay_watch::pool::PoolLosses;

/// The errors that ZFS counted at members.
pub fn errors_of(pool: &Zpool) -> u64 {
    pool.vdevs.iter().flat_map(Vdev::leaves).map(|leaf| leaf.errors).fold(0, u64::saturating_add)
}

/// The blocks that are lost; `None`: not known.
pub fn lost_of(pool: &Zpool) -> Option<u64> {
    match &pool.losses {
        PoolLosses::None => Some(0),
        PoolLosses::Lost { blocks, .. } => Some(*blocks),
        PoolLosses::Unknown(_) => None,
    }
}
