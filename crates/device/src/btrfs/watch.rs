//! The foreground of a btrfs: the foreground requests to all the disks below it.
//!
//! Each disk has a detector of its own. Requests in the idle class are the scrub's: its own reads, the kernel's reads of trees for
//! it, and the reads of btrfs's own scrub for it. (Seen on Linux 6.18: all 409 requests of a scrub were in the class of
//! the thread that called it. What it writes to repair something is not, nor is what it reads of chunks with parities: while it
//! does those, all that is seen is ignored, and the figures are called estimates from then on.)

use super::members::{MemberTraffic, PoolMember};
use super::worker::WorkerSignals;
use crate::clock;
use crate::detector::several::merge;
use crate::detector::{self, Detector, DetectorKind, OpenedDetector, OwnTraffic};
use crate::sysfs::DiskNode;
use scrubjay_core::scrub::machine::Event;
use scrubjay_core::units::{Nanos, SECTOR_BYTES};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One disk, with its detector.
struct WatchedDisk {
    detector: Box<dyn Detector>,
    traffic: Vec<Arc<MemberTraffic>>,
    is_open: bool,
}

/// Merges the detectors of all disks.
struct PoolDetector {
    disks: Vec<WatchedDisk>,
    last_reported: Nanos,
    is_counted: bool,
    signals: Arc<WorkerSignals>,
    /// [`WorkerSignals::parity_turns`] at the last drain.
    parity_turns: u64,
}

/// Watches all disks of these members, at most as well as `wish`.
pub(super) fn open(members: &[PoolMember], signals: Arc<WorkerSignals>, wish: Option<DetectorKind>) -> OpenedDetector {
    let mut disks: Vec<(&DiskNode, Vec<Arc<MemberTraffic>>)> = Vec::new();
    for member in members {
        let Some(disk) = &member.target.disk else {
            return detector::blind(
                "of a disk below the file system nothing is known, so nothing can be seen of its users",
            );
        };
        match disks.iter_mut().find(|(known, _)| *known == disk) {
            Some((_, traffic)) => traffic.push(Arc::clone(&member.traffic)),
            None => disks.push((disk, vec![Arc::clone(&member.traffic)])),
        }
    }
    let names: Vec<&str> = disks.iter().map(|(disk, _)| disk.name.as_str()).collect();
    let names = names.join(", ");
    let mut watched = Vec::new();
    let mut worst: Option<(DetectorKind, String)> = None;
    for (disk, traffic) in disks {
        let OpenedDetector { detector, kind, why: reason } =
            detector::open(Some(disk), wish, detector::RequestSources::All);
        let rank = |kind| DetectorKind::ALL.iter().position(|listed| *listed == kind);
        if worst.as_ref().is_none_or(|(known, _)| rank(kind) > rank(*known)) {
            worst = Some((kind, reason));
        }
        watched.push(WatchedDisk { detector, traffic, is_open: false });
    }
    let (kind, reason) = worst.unwrap_or((DetectorKind::Blind, "none: there are no disks".to_owned()));
    let detector = Box::new(PoolDetector {
        disks: watched,
        last_reported: Nanos::ZERO,
        is_counted: false,
        signals,
        parity_turns: 0,
    });
    OpenedDetector { detector, kind, why: format!("{reason} (on each of {names})") }
}

impl WatchedDisk {
    /// The scrub's own requests to this disk. (The session's count is for all disks together.)
    fn own(&self) -> OwnTraffic {
        let sum = |of: fn(&MemberTraffic) -> u64| self.traffic.iter().map(|traffic| of(traffic)).sum::<u64>();
        OwnTraffic {
            sectors: sum(MemberTraffic::bytes) / SECTOR_BYTES,
            requests: sum(MemberTraffic::requests),
            in_flight: sum(|traffic| traffic.in_flight().into()) as u32,
        }
    }
}

impl Detector for PoolDetector {
    fn drain(&mut self, _own: OwnTraffic, events: &mut Vec<Event>) {
        let mut all = Vec::new();
        for (index, disk) in self.disks.iter_mut().enumerate() {
            let own = disk.own();
            let mut seen = Vec::new();
            disk.detector.drain(own, &mut seen);
            all.extend(seen.into_iter().map(|event| (index, event)));
        }
        // Read after the drains: requests of a scrub that has begun by now are not in them yet, or are thrown away.
        let turns = self.signals.parity_turns.load(Ordering::SeqCst);
        let is_clear = turns == self.parity_turns && turns.is_multiple_of(2);
        self.parity_turns = turns;
        if !is_clear {
            drop_all(&mut all, self.disks.len(), clock::now());
        }
        let mut open: Vec<bool> = self.disks.iter().map(|disk| disk.is_open).collect();
        merge(&mut all, &mut open, &mut self.last_reported, &mut self.is_counted, events);
        for (disk, is_open) in self.disks.iter_mut().zip(open) {
            disk.is_open = is_open;
        }
    }

    fn lost(&self) -> u64 {
        self.disks.iter().map(|disk| disk.detector.lost()).sum()
    }
}

/// Replaces the events by those of an idle file system, when the foreground cannot be told from the scrub: all is an estimate.
fn drop_all(all: &mut Vec<(usize, Event)>, disks: usize, now: Nanos) {
    all.clear();
    all.push((0, Event::ForegroundCounted { at: now }));
    all.extend((0..disks).map(|disk| (disk, Event::ForegroundDrained { at: now })));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_is_drained_when_its_last_disk_is() {
        let arrived = |at, count| Event::ForegroundArrived { at: Nanos(at), count };
        let completed = |at, count| Event::ForegroundCompleted { at: Nanos(at), count };
        let drained = |at| Event::ForegroundDrained { at: Nanos(at) };
        let counted = |at| Event::ForegroundCounted { at: Nanos(at) };
        let (mut open, mut last_reported, mut is_counted) = (vec![false; 2], Nanos::ZERO, false);
        let mut merged = |all: &[(usize, Event)]| {
            let mut events = Vec::new();
            merge(&mut all.to_vec(), &mut open, &mut last_reported, &mut is_counted, &mut events);
            events
        };
        assert_eq!(merged(&[(0, counted(1)), (1, counted(2))]), [counted(1)]);
        let both = [(0, arrived(10, 1)), (0, completed(20, 1)), (0, drained(20)), (1, arrived(15, 2))];
        assert_eq!(merged(&both), [arrived(10, 1), arrived(15, 2), completed(20, 1)]);
        // The other disk was drained a moment earlier, and is reported later.
        assert_eq!(merged(&[(1, completed(18, 2)), (1, drained(18))]), [completed(20, 2), drained(20)]);
        assert_eq!(merged(&[]), []);
        // While the foreground cannot be told from the scrub, it counts as idle.
        assert_eq!(merged(&[(0, arrived(30, 1))]), [arrived(30, 1)]);
        let mut unclear = vec![(1, arrived(31, 9))];
        drop_all(&mut unclear, 2, Nanos(40));
        assert_eq!(merged(&unclear), [drained(40)]);
    }
}
