//! The results of a prober, in words.

use super::advice;
use scrubjay_core::layout::LayoutKind;
use scrubjay_core::probe::known::{Claim, KnownArray, LevelRefusal, ProbeFinding, RedundancyLevel, Unmeasurable};
use scrubjay_core::quantity::{show_count, show_time};
use scrubjay_core::units::{Bytes, Nanos};

/// A count of requests.
pub fn requests(count: u64) -> String {
    format!("{} {}", show_count(count), if count == 1 { "request" } else { "requests" })
}

/// The layouts that fit, by name; `free` if none does, `None` if that is not known, or there is one disk.
pub fn layout(known: &KnownArray, separator: &str) -> Option<String> {
    known.fits.as_ref()?;
    if known.disks.as_ref().is_some_and(|disks| disks.value == 1) {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for fit in advice::fits(known) {
        let name = match (&known.level, fit.layout.kind()) {
            // Data lie as in striping; parities and copies that are never read show only in writes.
            (Some(Claim { value: RedundancyLevel::Raid4, .. }), LayoutKind::Raid0) => "raid4",
            (Some(Claim { value: RedundancyLevel::Mirror(_), .. }), LayoutKind::Raid0) => "raid10-far-or-offset",
            (_, kind) => kind.name(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Some(if names.is_empty() { "free".to_owned() } else { names.join(separator) })
}

/// The name of a level.
pub fn level(level: RedundancyLevel) -> String {
    match level {
        RedundancyLevel::Raid0 => "raid0".to_owned(),
        RedundancyLevel::Mirror(copies) => format!("mirror-{copies}"),
        RedundancyLevel::Raid4 => "raid4".to_owned(),
        RedundancyLevel::Raid5 => "raid5".to_owned(),
        RedundancyLevel::Raid6 => "raid6".to_owned(),
    }
}

/// A finding in one line.
pub fn finding(finding: &ProbeFinding) -> String {
    match finding {
        ProbeFinding::Unequal { sizes } => {
            let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
            format!(
                "classes of unequal size ({} chunks of a pattern): several members share a disk, or the array was put \
                 together wrongly",
                sizes.join(", ")
            )
        }
        ProbeFinding::Slow { class, factor } => {
            format!("the disk of class {class} is slow: {factor:.2} times the others")
        }
        ProbeFinding::Fast { class, factor } => {
            format!("the disk of class {class} is fast: {factor:.2} times the others")
        }
        ProbeFinding::Lost { class } => {
            format!("the disk of class {class} is lost: its chunks are computed from all others")
        }
        ProbeFinding::LostCopy { class } => {
            format!("the mirror of class {class} answers as one disk: it has lost its copies")
        }
        ProbeFinding::Unknown => "no known layout has these classes".to_owned(),
        ProbeFinding::NoLevel { why: LevelRefusal::WriteCache } => {
            "a write cache answers: what writes cost the disks cannot be seen, nor the level".to_owned()
        }
        ProbeFinding::NoLevel { why: LevelRefusal::Degraded } => {
            "nothing was written, because a disk is lost: the level was not measured".to_owned()
        }
        ProbeFinding::NoLevel { why: LevelRefusal::NoLayout } => {
            "nothing was written, because reads left no level to choose from".to_owned()
        }
        ProbeFinding::NoLevel { why: LevelRefusal::Unlike } => {
            "writes cost what no level does that is known here".to_owned()
        }
    }
}

/// The reason that follows "not measurable here, because".
pub fn unmeasurable(why: &Unmeasurable) -> String {
    match why {
        Unmeasurable::TooSmall { bytes_min } => format!("it is too small: {} are needed", Bytes(*bytes_min)),
        Unmeasurable::Memory { response_nanos } => {
            format!("it answers from memory or a cache, in {} wherever it is asked", show_time(Nanos(*response_nanos)))
        }
        Unmeasurable::PartlyMemory { percent } => format!(
            "{percent} % of it are answered from memory: a cache holds them, or they were never written (a thin volume)"
        ),
        Unmeasurable::Serial => {
            "the kernel sends it one request at a time (queue_depth is 1): whatever disks it has, they \
                                 work one after the other"
                .to_owned()
        }
        Unmeasurable::Limited => {
            "a limit on requests (of a cloud, a quality-of-service rule, a link) is slower than its \
                                  disks, and hides them"
                .to_owned()
        }
        Unmeasurable::Unfilled { depth } => format!(
            "{depth} requests at a time take no longer than half as many: it does more at once than can be asked of it, or answers \
             from a cache, and what takes the time is the way to it"
        ),
        Unmeasurable::Degraded { percent } => format!(
            "it lacks members: some {percent} % of what is read wait for whatever else is asked for, as they are computed from all \
             others"
        ),
        Unmeasurable::TooNoisy => {
            "its times vary by more than what is to be seen in them: try when it is idle".to_owned()
        }
        Unmeasurable::Errors => "it answers with errors".to_owned(),
        Unmeasurable::NoPattern { bytes_max } => format!(
            "no distance up to {} was found at which reads always wait for each other: it has no fixed pattern (ZFS, btrfs, \
             Ceph, a thin volume) or a larger one; or it lacks members, its disks are unlike each other, or copies are read by the \
             nearest head",
            Bytes(*bytes_max)
        ),
        Unmeasurable::NoChunks { bytes_min } => {
            let hint = bytes_min.map(|bytes| {
                format!("; or what was found is part of a larger pattern, and at least {} are needed to see that", Bytes(bytes))
            });
            format!(
                "where its chunks begin could not be told: it lacks members, its disks are unlike each other, or copies are chosen \
                 by chance or by the nearest head{}",
                hint.unwrap_or_default()
            )
        }
        Unmeasurable::Uneven => {
            "what was found does not foretell which further reads wait for each other: it is not one striping, or not the one that was \
             found"
                .to_owned()
        }
    }
}
