//! What came of a pool's own scrub: its first line, what to do, what it cost. Who lays the result out says each of these.

use crate::scrubbed::CostWords;
use crate::sentence::{Count, Said, sentences};

sentences! {
    /// What is said of a pool's scrub.
    pub PoolScrubWords: "The result of a pool's own scrub" {
        Begun { pool: String = "tank", disks: Count = Count(4, "disk"), goal: String = "1 ms" } =>
            "{pool}: ZFS scrubs it, in runs and rests of minutes, so that requests to its {disks} lose {goal} on average at most; nothing of \
             that is a limit for one request",
        Observes { pool: String = "tank" } => "{pool}: for a minute it only looks how much others use it",
        Clean { said: String = "scrub repaired 0B in 02:13:05 with 0 errors on Sun Nov 29 12:00:00 2026" } => "clean: {said}",
        Lost { blocks: Count = Count(194, "block"), said: String = "scrub repaired 0B in 02:13:05 with 3 errors on Sun Nov 29 12:00:00 2026" } =>
            "DATA LOST ({blocks}): {said}",
        Errors { errors: Count = Count(4, "error"), said: String = "scrub repaired 128K in 02:13:05 with 0 errors on Sun Nov 29 12:00:00 2026" } =>
            "MEMBERS HAVE ERRORS ({errors} counted since they were cleared); {said}",
        Unknown { said: String = "scrub repaired 0B in 02:13:05 with 0 errors on Sun Nov 29 12:00:00 2026" } =>
            "ended, but whether data are lost is not known; {said}",
        Paused { share: String = "43 %" } => "paused at {share}; the same command goes on from here",
        LeftPaused => "its scrub is paused: the same command, or zpool scrub, goes on with it",
        LeftRunning => "its scrub runs on, at ZFS's own speed",
        PausedByOthers => "NOT DONE: somebody else has paused it; the same command goes on from here",
        Cancelled => "NOT DONE: somebody else has ended it",
        Resilver => "NOT DONE: ZFS fills a device now, which comes first; begin again when that has ended",
        Gone { pool: String = "tank" } => "NOT DONE: {pool} is exported, or serves nothing any more: sudo zpool status {pool}",
        Failed { why: String = "zpool failed: permission denied" } => "NOT DONE: {why}",
        Ran { time: String = "2 h 13 min", ran: String = "1 h 40 min", rests: Count = Count(7, "rest") } =>
            "it took {time}, and ran for {ran} of that, with {rests}",
        Cost { requests: Said = CostWords::OneRequest, mean: String = "0.40 ms", most: String = "20.00 ms", verdict: Said = PoolScrubWords::Kept { goal: "1 ms".into() } } =>
            "{requests} lost about {mean} each on average, {most} at most{verdict}",
        Kept { goal: String = "1 ms" } => ": the mean of {goal} was kept",
        NotKept { goal: String = "1 ms" } => ": the mean of {goal} was NOT kept",
        NoOthers => "nobody else used its disks",
        Parameters { why: String = "zfs_scan_vdev_limit cannot be changed: Permission denied" } => "ZFS's parameters stay as they were: {why}",
        Tunes { pool: String = "tank" } =>
            "{pool}: while others use it, zfs_scan_vdev_limit is 1048576 and zfs_scrub_min_time_ms 10, for all pools; they are put back at \
             the end, or by the next scrub if this one is killed",
        Files { name: String = "tank" } => "sudo zpool status -v {name} names the files: restore them from a backup",
        Members { name: String = "tank" } => "sudo zpool status {name} names the members: see to cable, power and port, then sudo zpool clear {name}",
        Progress { pool: String = "tank", share: String = "43 %", does: Said = PoolScrubWords::Runs, mean: String = "0.34", goal: String = "1 ms" } =>
            "{pool}  {share}  {does}  delay about {mean} of {goal}",
        Runs => "runs",
        Rests => "rests",
        Holds => "is being held",
    }
}
