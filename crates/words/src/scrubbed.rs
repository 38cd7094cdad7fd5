//! The result of a scrub: its first line, what to do, what it cost. Who lays the result out says each of these.

use crate::sentence::{Count, Said, sentences};

sentences! {
    /// The first line of a scrub's result, and its parts.
    pub ResultWords: "The first line of a scrub's result" {
        NotRecorded { error: String = "/var/lib/scrubjay: No space left on device", rest: Said = ResultWords::Clean { all: all_of_a_disk() } } =>
            "NOT RECORDED (what follows is right, but could not be saved: {error}); {rest}",
        Clean { all: Said = all_of_a_disk() } => "clean: {all}",
        Found { wrong: String = "", all: Said = all_of_a_disk() } => "{wrong}{all}",
        Unreadable { sectors: Count = Count(8, "UNREADABLE sector"), places: Said = ResultWords::OnePlace, wrong: String = "", bytes: String = "16.0 TB" } =>
            "{sectors} in {places}; {wrong}all the rest of {bytes} verified",
        NotCompared { sectors: Count = Count(8, "sector"), places: Said = ResultWords::OnePlace, wrong: String = "", bytes: String = "16.0 TB" } =>
            "{sectors} NOT COMPARED in {places}; {wrong}all the rest of {bytes} verified",
        LostStripes { stripes: Said = ResultWords::OneStripe, wrong: String = "", bytes: String = "16.0 TB" } =>
            "{stripes} LOST, in part or whole; {wrong}all the rest of {bytes} verified",
        OthersHold { wrong: String = "DEGRADED; ", bytes: String = "16.0 TB" } => "{wrong}what its other members hold of {bytes} verified",
        RestVerified { wrong: String = "one block LOST: no copy is right; ", rest: Said = ResultWords::OfAllocated { allocated: "1 TiB".into(), bytes: "2 TiB".into() } } =>
            "{wrong}all the rest of {rest} verified",
        OfAllocated { allocated: String = "1 TiB", bytes: String = "2 TiB" } => "{allocated} of {bytes}",
        Paused { verified: Said = ResultWords::Verified { done: "1 TB".into(), bytes: "16.0 TB".into() }, found: String = "" } =>
            "paused: {verified}{found}; the same command goes on from here",
        PausedBtrfs { wrong: String = "", done: Said = ResultWords::DoneOf { done: "1 TB".into(), bytes: "16.0 TB".into() } } =>
            "paused: {wrong}{done}; the same command goes on from here",
        NotDone { error: String = "the disk is gone", verified: Said = ResultWords::Verified { done: "1 TB".into(), bytes: "16.0 TB".into() }, found: String = "" } =>
            "NOT DONE: {error}; {verified}{found}",
        NotDoneBtrfs { error: String = "the disk is gone", wrong: String = "", done: Said = ResultWords::DoneOf { done: "1 TB".into(), bytes: "16.0 TB".into() } } =>
            "NOT DONE: {error}; {wrong}{done}",
        Verified { done: String = "1 TB", bytes: String = "16.0 TB" } => "{done} of {bytes} verified",
        DoneOf { done: String = "1 TB", bytes: String = "16.0 TB" } => "{done} of {bytes}, allocated or not, done",
        AllVerified { bytes: String = "16.0 TB" } => "all of {bytes} verified",
        AllWritten { bytes: String = "16.0 TB" } => "all that was ever written of its {bytes} verified",
        NothingWritten { bytes: String = "16.0 TB" } => "nothing was ever written to its {bytes}, so there was nothing to verify",
        AllAllocated { allocated: String = "1 TiB", bytes: String = "2 TiB" } =>
            "all that btrfs has allocated ({allocated} of {bytes}) verified",
        AllWhenBegun { bytes: String = "2 TiB" } => "all that btrfs had allocated when this pass began verified, of {bytes}",
        OnePlace => "one place",
        Places { count: String = "3" } => "{count} places",
        OneStripe => "one stripe",
        Stripes { count: String = "3" } => "{count} stripes",
    }
}

fn all_of_a_disk() -> Said {
    ResultWords::AllVerified { bytes: "16.0 TB".into() }.into()
}

sentences! {
    /// What was wrong, each as a part of the first line with a semicolon behind.
    pub WrongWords: "What was wrong, in the first line of a scrub's result" {
        RowRebuilt => "one row WRONG, rebuilt from the others; ",
        RowsRebuilt { count: String = "3" } => "{count} rows WRONG, rebuilt from the others; ",
        Unrepaired { rows: Said = WrongWords::RowUnrepaired } =>
            "{rows} (a disk does not take the repair, or the volume is read-only; reads get what the other members hold); ",
        RowUnrepaired => "one row is WRONG and NOT REPAIRED",
        RowsUnrepaired { count: String = "3" } => "{count} rows are WRONG and NOT REPAIRED",
        RowOnce => "one row was WRONG ONCE, and right when read again; ",
        RowsOnce { count: String = "3" } => "{count} rows were WRONG ONCE, and right when read again; ",
        RequestOnce => "one request FAILED ONCE; ",
        RequestsOnce { count: String = "3" } => "{count} requests FAILED ONCE; ",
        DoNotAgree { sectors: String = "128" } => "members DO NOT AGREE in {sectors} sectors; ",
        RepairedByMd { sectors: String = "128" } => "{sectors} sectors REPAIRED by md, as a member could not read them; ",
        MadeToAgree { sectors: String = "128" } => "{sectors} sectors MADE TO AGREE by md; ",
        Reduced { state: String = "DEGRADED", members: String = ": member 2 is failed", left: String = "" } =>
            "{state}{members}{left}; ",
        NoRedundancy => "NO REDUNDANCY LEFT: one more fault loses data",
        LostSoFar { stripes: Said = ResultWords::OneStripe } => ", {stripes} LOST so far",
        NotComparedSoFar { count: String = "128" } => ", {count} NOT COMPARED so far",
        UnreadableSoFar { count: String = "8" } => ", {count} UNREADABLE so far",
        RowsSoFar { count: String = "3" } => ", rows found wrong so far: {count}",
        SoFar { what: String = "128 sectors MADE TO AGREE by md" } => ", {what} so far",
        BtrfsDegraded { devices: String = "2" } => "DEGRADED: device {devices} is missing; ",
        BtrfsLost { blocks: Said = WrongWords::OneBlock } => "{blocks} LOST: no copy is right; ",
        BtrfsNotRepaired { blocks: Said = WrongWords::OneBlock } => "{blocks} WRONG, NOT REPAIRED; ",
        BtrfsRepaired { blocks: Said = WrongWords::OneBlock } => "{blocks} WRONG, repaired by btrfs; ",
        BtrfsOnce { blocks: Said = WrongWords::OneBlock } => "{blocks} WRONG ONCE, and right when read again; ",
        BtrfsUnused { blocks: Said = WrongWords::OneBlock } => "{blocks} UNREADABLE where btrfs stores nothing; ",
        OneBlock => "one block",
        Blocks { count: String = "3" } => "{count} blocks",
    }
}

sentences! {
    /// What to do about what a scrub found, and what else there is to say of it.
    pub ScrubAdvice: "What to do about what a scrub found" {
        Unreadable =>
            "what they held is lost unless an array or a backup has it: in an array scrub the array, which rewrites them; else restore the \
             file from a backup (the write repairs the sector); replace the disk if there are more next time",
        LostByMd => "too many of its members' lists of bad blocks have that, so nothing holds it: restore it from a backup",
        SkippedByMd =>
            "md does not read that member there, so there is less redundancy: reads get what the others hold. Find it by the lists \
             (md/dev-*/bad_blocks), and replace it (mdadm --replace)",
        LostStripes => "reading what was lost gives an I/O error: restore it from a backup (the write repairs it)",
        Undecided =>
            "data and parities do not fit each other there, and nothing tells which are wrong: reads give what lies there, compare it \
             with a backup",
        Disagreement =>
            "compare the files that lie there with a backup before you let md overwrite one side (its `repair` takes the first copy, or \
             the data, for right, also where they are wrong)",
        NothingChanged { advice: Said = ScrubAdvice::Disagreement } => "nothing was changed there: {advice}",
        OnceInVain => "in this pass md's repair ran at one place in vain, and may have overwritten one side there",
        InVain { times: String = "3" } => "in this pass md's repair ran {times} times in vain, and may have overwritten one side each time",
        AgreeNow { in_vain: Said = ScrubAdvice::OnceInVain } => "{in_vain}; its members agree now",
        WhichFile { path: String = "/dev/sdc", range: String = "2048+8" } => "which file that is: scrubjay explain {path} {range}",
        MorePlaces { count: usize = 7usize } => "... and {count} more places (--json lists all)",
        MorePlacesUpTo { count: String = "7", most: String = "1,024" } => "... and {count} more places (--json lists up to {most})",
        MoreOfEarlier { count: String = "7" } => "... and {count} more places of earlier runs",
        Spared { bytes: String = "134 MB" } => "{bytes} were left to the end, and to small requests: requests there stalled the drive in the last pass",
        FailedAtFirst { times: String = "3", cause: String = "medium error", then: Said = ScrubAdvice::CouldBeRead } =>
            "{times} requests failed at first ({cause}), but every sector {then} when asked again",
        CouldBeRead => "could be read",
        FoundToAgree => "was found to agree (it was being written, or a member could not read it and md rewrote it),",
        BtrfsLost => "reading what was lost gives an I/O error: restore the files from a backup, or delete them (see docs/btrfs.md)",
        BtrfsUnrepaired =>
            "what was not repaired has a right copy: scrub without --read-only, on a writable mount; if it stays so, replace the device",
    }
}

sentences! {
    /// What a scrub cost.
    pub CostWords: "What a scrub cost" {
        Took { time: String = "22 h" } => "took {time}",
        TookAt { time: String = "22 h", rate: String = "202 MB" } => "took {time} ({rate}/s)",
        NotWatched { took: Said = CostWords::Took { time: "22 h".into() } } => "{took}; others were not watched",
        NoneSeen { took: Said = CostWords::Took { time: "22 h".into() }, detector: String = "tracepoints" } =>
            "{took}; no foreground requests were seen ({detector})",
        OneRequest => "one foreground request",
        Requests { count: String = "1,024" } => "{count} foreground requests",
        LostNothing { took: Said = CostWords::Took { time: "22 h".into() }, requests: Said = CostWords::OneRequest } =>
            "{took}; {requests} lost nothing",
        Lost { took: Said = CostWords::Took { time: "22 h".into() }, requests: Said = CostWords::OneRequest, about: String = "", mean: String = "0.40 ms", most: String = "20.00 ms", collisions: String = "12", verdict: String = ": the budget of 1 ms and 50 ms was kept" } =>
            "{took}; {requests} lost {about}{mean} each on average, {most} at most ({collisions} came while the scrub was \
             reading){verdict}",
        Budget { mean: String = "1 ms", p99: String = "", most: String = "50 ms" } => "the budget of {mean}{p99} and {most}",
        Few { least: u64 = 100u64, budget: Said = a_budget() } => ": fewer than the {least} requests from which on {budget} is kept",
        NotKeptTail { budget: Said = a_budget(), late: String = "6" } => ": {budget} was NOT kept: {late} of them lost more than the second",
        NotKept { budget: Said = a_budget() } => ": {budget} was NOT kept",
        KeptInTheEnd { budget: Said = a_budget(), worst: String = "3.00 ms" } =>
            ": {budget} was kept in the end; for a while the mean so far was {worst}",
        KeptByCounters { budget: Said = a_budget(), few: String = "" } => ": as far as counters show, {budget} was kept{few}",
        Kept { budget: Said = a_budget(), few: String = ", among few requests" } => ": {budget} was kept{few}",
        KeptAsSeen { budget: Said = a_budget(), few: String = "" } => ": as far as was seen, {budget} was kept{few}",
        Times { mean: String = "2 ms", p50: String = "1 ms", p99: String = "20 ms", most: String = "80 ms" } =>
            "{mean} on average (p50 {p50}, p99 {p99}, max {most})",
        TheyTook { times: Said = example_times() } => "they took {times}",
        TheyTookBeside { times: Said = example_times() } => "they took {times} beside this scrub",
        AndWithout { times: Said = example_times() } => "and {times} without it, as far as can be told",
        Stretched { first: String = "2 ms", last: String = "4 ms" } =>
            "of late most took {last} even without it, {first} at first: the disk or the machine has become busier, which is not counted \
             as lost to the scrub",
        HeldByMax { most: String = "50 ms" } =>
            "some of its own requests took longer than the {most} that one may lose: it read less to keep that; a larger --max-slowdown \
             reads more",
    }
}

fn a_budget() -> CostWords {
    CostWords::Budget { mean: "1 ms".into(), p99: String::new(), most: "50 ms".into() }
}

fn example_times() -> CostWords {
    CostWords::Times { mean: "2 ms".into(), p50: "1 ms".into(), p99: "20 ms".into(), most: "80 ms".into() }
}
