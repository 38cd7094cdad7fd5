//! Makes surveys in a thread of its own, because a volume's server may take long.

use super::news::DaemonNews;
use super::pools::PoolAsker;
use crate::discovery::checks::{self, ArrayCheck, add_check};
use crate::discovery::zfs::{PoolLooker, add_pools};
use crate::discovery::{HostSurvey, SystemRoot, survey};
use crate::zfs::ask;
use scrubjay_watch::facts::ArrayFacts;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Those who ask what may hang.
struct PoolAskers {
    btrfs: PoolAsker<Vec<ArrayCheck>>,
    zfs: PoolAsker<Vec<ArrayFacts>>,
}

impl PoolAskers {
    fn of_this_machine() -> PoolAskers {
        let mut looker = PoolLooker::within(ask::TIME_OUT);
        PoolAskers {
            btrfs: PoolAsker::new("btrfs", checks::pool_checks),
            zfs: PoolAsker::new("ZFS", move || looker.look()),
        }
    }

    /// Adds to a survey how the btrfs in it are checked, and the pools of ZFS: as they answer now, or as they last did.
    fn add_to(&mut self, seen: &mut HostSurvey) {
        let mut warnings = Vec::new();
        self.btrfs.answer(&mut warnings).iter().for_each(|check| add_check(seen, check));
        if !seen.pools.is_empty() {
            add_pools(seen, self.zfs.answer(&mut warnings));
        }
        seen.warnings.extend(warnings);
    }
}

/// Makes surveys regularly, and on request.
pub(super) struct Surveyor {
    requests: Sender<Vec<PathBuf>>,
    also: Vec<PathBuf>,
}

impl Surveyor {
    /// Starts the thread. Devices of `also` are included. Surveys are sent to `news`.
    pub(super) fn new(also: Vec<PathBuf>, every: Duration, news: Sender<DaemonNews>) -> Surveyor {
        let look = |also: &[PathBuf]| {
            let mut seen = survey(&SystemRoot::default(), also);
            checks::add_checks(&mut seen);
            seen
        };
        Surveyor::made_of(look, PoolAskers::of_this_machine(), also, every, news)
    }

    /// Starts the thread, which surveys by `look`. What may hang is for `pools`.
    fn made_of(
        look: impl Fn(&[PathBuf]) -> HostSurvey + Send + 'static,
        mut pools: PoolAskers,
        also: Vec<PathBuf>,
        every: Duration,
        news: Sender<DaemonNews>,
    ) -> Surveyor {
        let (requests, queue) = mpsc::channel();
        let mut devices = also.clone();
        let builder = thread::Builder::new().name("survey".into());
        // Without the thread no disk is ever seen, and that is what the status shows.
        let _ = builder.spawn(move || {
            loop {
                match queue.recv_timeout(every) {
                    Ok(also) => devices = queue.try_iter().last().unwrap_or(also),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                let mut seen = look(&devices);
                pools.add_to(&mut seen);
                if news.send(DaemonNews::Survey(Box::new(seen))).is_err() {
                    return;
                }
            }
        });
        Surveyor { requests, also }
    }

    /// Requests a survey.
    pub(super) fn request(&self) {
        let _ = self.requests.send(self.also.clone()); // the thread lives as long as the daemon
    }

    /// Requests a survey, which includes these devices from now on.
    pub(super) fn request_with(&mut self, also: Vec<PathBuf>) {
        self.also = also;
        self.request();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::fixture::MachineFiles;
    use std::sync::mpsc::Receiver;

    /// Longer than anything here takes.
    const LONG: Duration = Duration::from_secs(600);

    fn next(news: &Receiver<DaemonNews>) -> HostSurvey {
        match news.recv_timeout(LONG) {
            Ok(DaemonNews::Survey(seen)) => *seen,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_btrfs_that_never_answers_does_not_keep_a_degraded_array_from_being_seen() {
        let machine = MachineFiles::new();
        for (name, port) in [("sda", 1), ("sdb", 2)] {
            machine.disk(name, &format!("pci0000:00/0000:00:17.0/ata{port}/host{port}/target{port}:0:0/{port}:0:0:0"));
        }
        machine.md("md0", "raid1", 0, &[("sda", "0", "in_sync"), ("sdb", "1", "in_sync")]);
        let (begin, begun) = mpsc::channel();
        let (hold, held) = mpsc::channel::<()>();
        let btrfs = PoolAsker::new("btrfs", move || {
            let _ = begin.send(());
            let _ = held.recv(); // until the test is over
            Vec::new()
        });
        let (sender, news) = mpsc::channel();
        let root = machine.root();
        let look = move |also: &[PathBuf]| survey(&root, also);
        let btrfs = btrfs.with_limits(Duration::from_millis(1), Duration::ZERO);
        let pools = PoolAskers { btrfs, zfs: PoolAsker::new("ZFS", Vec::new) };
        let surveyor = Surveyor::made_of(look, pools, Vec::new(), LONG, sender);
        surveyor.request();
        let seen = next(&news);
        assert!(!seen.arrays[0].is_degraded());
        assert!(seen.warnings.iter().any(|words| words.starts_with("btrfs has not answered")), "{:?}", seen.warnings);
        begun.recv_timeout(LONG).unwrap();
        machine.set("md0", "md/dev-sdb/state", "faulty");
        for _ in 0..3 {
            surveyor.request();
            assert!(next(&news).arrays[0].is_degraded());
        }
        machine.remove("sys/block/sdb");
        surveyor.request();
        let names: Vec<String> = next(&news).disks.into_iter().map(|disk| disk.facts.name).collect();
        assert_eq!(names, ["sda"]);
        assert!(begun.try_recv().is_err(), "it was asked once, so one thread hangs");
        drop(hold);
    }
}
