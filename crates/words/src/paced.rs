//! What a paced program got, and what others lost by it. Who lays it out says each of these.

use crate::scrubbed::CostWords;
use crate::sentence::{Count, Said, sentences};

sentences! {
    /// What is said of a paced program while it runs, and at its end.
    pub PaceWords: "A program that runs inside the budget" {
        Begun { program: String = "sha256sum", how: Said = PaceWords::ByCgroup, budget: Said = a_budget() } =>
            "{program} runs while others leave its disks idle, within {budget}; it is held {how}",
        WorksOn { disks: String = "sda, sdb" } => "it works on {disks}: other users of that are spared",
        ByCgroup => "by a cgroup of its own",
        BySignals { reason: String = "" } => "by SIGSTOP and SIGCONT{reason}",
        NoCgroup { reason: String = "Read-only file system (os error 30)" } => " (no cgroup can be made: {reason})",
        Keeps { what: String = "2 locks on files and 1 network connection", longest: String = "30 s" } =>
            "while it is held it keeps {what}: it is let go when another program waits for such a lock, and after {longest} at the latest",
        Released { reason: String = "a signal asks it to end" } => "it is held no longer: {reason}",
        Got { program: String = "sha256sum", read: String = "2.1 GB", time: String = "41 s", rate: String = "52 MB" } =>
            "{program} read {read} in {time} ({rate}/s)",
        NeverHeld => "it was never held",
        Held { held: String = "18 s", times: Count = Count(402, "time"), hold: String = "3.10 ms", longest: String = "0.4 s" } =>
            "it was held for {held} of that, {times}, {longest} at most; half of the holds took {hold} until nothing of it was at the disk",
        Respites { times: Count = Count(12, "time") } =>
            "{times} it went on for a moment only because it had been held for as long as it may be (--longest)",
        Lost { requests: Said = CostWords::OneRequest, about: String = "", mean: String = "0.40 ms", most: String = "20.00 ms", collisions: String = "12", verdict: String = ": the budget of 1 ms and 50 ms was kept" } =>
            "{requests} lost {about}{mean} each on average, {most} at most ({collisions} came while it was at the disk){verdict}",
        LostNothing { requests: Said = CostWords::OneRequest } => "{requests} lost nothing",
        NoneSeen => "nobody else used its disks",
        NothingOfIt => "no request of it was seen at the disks that are watched: is it the right --disk?",
        LeftOne => "one process that it started runs on, unpaced",
        Left { count: String = "3" } => "{count} processes that it started run on, unpaced",
        HoldsTooLong { hold: String = "69 ms", most: String = "50 ms" } =>
            "holding it takes {hold}, and one request may lose {most}: it hardly ran; --max-slowdown lets it, or less readahead (blockdev --setra 256 DISK)",
        Wrote { written: String = "2.1 GB" } => "it wrote {written}, too: what the kernel writes later for it is not held, and counts as others'",
        InKernel { word: String = "btrfs balance pause PATH" } =>
            "the kernel does that work in one system call, which cannot be held: what pauses it is `{word}`",
    }
}

fn a_budget() -> CostWords {
    CostWords::Budget { mean: "1 ms".into(), p99: String::new(), most: "50 ms".into() }
}
