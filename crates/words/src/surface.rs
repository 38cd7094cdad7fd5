//! How fast the places of a disk answer, in words.

use crate::sentence::{Count, sentences};

sentences! {
    /// How fast the places of a disk answer.
    pub SpeedWords: "How fast the places of a disk answer" {
        Unmeasured => "not measured yet: the next pass measures it, where its requests follow one another and have 512 KiB or more",
        Curve { begin: String = "250 MB/s", end: String = "120 MB/s", date: String = "12 Mar 2026" } =>
            "{begin} at the beginning, {end} at the end (pass of {date})",
        CurveSoFar { begin: String = "250 MB/s", end: String = "120 MB/s", date: String = "12 Mar 2026" } =>
            "{begin} at the beginning, {end} at the end (of what the pass since {date} has measured)",
        Slower { place: String = "sectors 2048 to 264191", ratio: String = "1.5" } => "{place}: requests take {ratio} times as long as around them",
        Stalls { place: String = "sectors 2048 to 264191", visits: Count = Count(5, "visit") } =>
            "{place}: requests stalled in {visits}, each a tenth of a second at least",
        Lasts => "as in earlier passes",
        Once => "in this pass; what comes and goes inside the drive looks the same",
        WhatLiesThere { disk: String = "sdc", sector: u64 = 2048u64 } => "what lies there: sudo scrubjay explain {disk} {sector}",
        MorePlaces { places: Count = Count(3, "more place") } => "and {places}",
        NoneSlow => "no place is slower than those around it",
        Changed { percent: String = "12 % slower", date: String = "12 Feb 2026" } => "{percent} than in the pass of {date}",
        Unchanged { date: String = "12 Feb 2026" } => "as fast as in the pass of {date}",
    }
}
