//! Requests of programs that failed at a disk, in words.

use crate::card;
use crate::health::{DiskSteps, FailedWords, failed, membership};
use crate::line::{Label, Line, steps};
use crate::sentence::{Count, Said, Typed, sentences};
use scrubjay_core::units::SectorRange;
use scrubjay_watch::facts::ArrayKind;
use scrubjay_watch::failures::{ContentsKind, FailureCause, PlaceContents};
use scrubjay_watch::problem::DiskFailures;

sentences! {
    pub(crate) FailuresWords: "Requests of programs that failed at a disk" {
        BackUp { disk: Said = card::example_label(), requests: Said = FailedWords::Reads { reads: Count(3, "read") } } =>
            "BACK UP {disk}: {requests}",
        Watch { disk: Said = card::example_label(), requests: Said = FailedWords::Reads { reads: Count(3, "read") } } =>
            "WATCH {disk}: {requests}",
        Since { date: String = "12 Mar 2026" } => "asked for by programs or file systems, since {date}; what the watch itself reads does not count",
        Medium => "the drive says that it cannot read or write there",
        Target => "the drive refused",
        TimedOut => "the drive did not answer in time",
        Transport => "the way to the drive failed",
        Protection => "what came did not match its checksum: the way to the drive, or the drive",
        Unknown => "not told: an I/O error",
        Place { run: String = "sectors 2048 to 2055" } => "somewhere in {run}",
        WhatLiesThere { disk: Typed = "sdc", sectors: String = "2048+8" } =>
            "what lies there: sudo scrubjay explain {disk} {sectors}",
        AskZfs { pool: Typed = "tank" } => "which files of the pool have lost data: sudo zpool status -v {pool}",
        File { file: String = "/srv/holiday.mkv", file_system: String = "ext4", device: String = "sda1" } =>
            "in these sectors: {file} ({file_system} on {device})",
        SomeFile { file_system: String = "ext4", device: String = "sda1" } => "in these sectors: a file ({file_system} on {device})",
        Metadata { file_system: String = "ext4", device: String = "sda1" } =>
            "in these sectors: structures of the file system itself ({file_system} on {device})",
        Free { device: String = "sda1" } => "in these sectors: free space (on {device})",
        Parity { device: String = "md0" } => "in these sectors: parity of {device}, which no file has",
        Volume { device: String = "tank" } => "in these sectors: data of the volume {device}",
        Stripe { stripe: u64 = 4711u64, device: String = "md0" } => "stripe {stripe} of {device}",
        Healed => "If that lies in its array, programs got what they asked for from the other members.",
        LeaveThePlace => "The place is left alone until the disk is read in its turn; then the watch says which sectors cannot be read.",
    }
}

sentences! {
    pub(crate) FailuresSteps: "What to do when requests of programs fail at a disk" {
        BackUp => "back up what it holds, first what lies there",
        CheckTheWay => "check its cable, power and port; an error of those loses nothing that is stored",
        LookAtTheLog => "see what else the kernel says: sudo dmesg",
    }
}

pub(crate) fn headline(failures: &DiskFailures) -> Said {
    let disk = card::disk_label(&failures.disk);
    let requests = failed(failures.failed.reads, failures.failed.writes);
    match is_loss(failures) {
        true => FailuresWords::BackUp { disk, requests }.into(),
        false => FailuresWords::Watch { disk, requests }.into(),
    }
}

/// May data be lost?
fn is_loss(failures: &DiskFailures) -> bool {
    !failures.is_healed && !failures.failed.cause.is_of_the_way()
}

pub(crate) fn lines(failures: &DiskFailures, since: String) -> Vec<Line> {
    let DiskFailures { disk, failed: all, arrays, is_healed, .. } = failures;
    let mut lines = vec![card::disk_line(disk), Line::of(Label::Errors, failed(all.reads, all.writes))];
    lines.push(Line::of(Label::More, FailuresWords::Since { date: since }));
    let why = match all.cause {
        FailureCause::Medium => FailuresWords::Medium,
        FailureCause::Target => FailuresWords::Target,
        FailureCause::TimedOut => FailuresWords::TimedOut,
        FailureCause::Transport => FailuresWords::Transport,
        FailureCause::Protection => FailuresWords::Protection,
        FailureCause::Unknown => FailuresWords::Unknown,
    };
    lines.push(Line::of(Label::Why, why));
    let place = |run: &SectorRange| FailuresWords::Place { run: sectors(run) };
    lines.extend(all.runs.iter().map(|run| Line::of(Label::Where, place(run))));
    lines.extend(all.contents.iter().flat_map(contents).map(|words| Line::of(Label::More, words)));
    if let Some(first) = all.runs.first() {
        let sectors = format!("{}+{}", first.start.0, first.count().clamp(1, SECTORS_ASKED));
        // A kernel's name also finds what has no serial number.
        let disk = disk.name.as_ref().unwrap_or(&disk.key.0).into();
        lines.push(Line::of(Label::More, FailuresWords::WhatLiesThere { disk, sectors }));
    }
    for array in arrays {
        lines.push(Line::of(Label::Array, membership(array)));
        if array.array.kind() == ArrayKind::Zfs {
            lines.push(Line::of(Label::More, FailuresWords::AskZfs { pool: array.array.name.as_str().into() }));
        }
    }
    let mut to_do: Vec<Said> = Vec::new();
    if is_loss(failures) {
        to_do.push(FailuresSteps::BackUp.into());
    }
    if all.cause.is_of_the_way() {
        to_do.push(FailuresSteps::CheckTheWay.into());
    }
    to_do.push(FailuresSteps::LookAtTheLog.into());
    lines.extend(steps(to_do));
    if *is_healed && all.reads > 0 {
        lines.push(Line::plain(FailuresWords::Healed));
    }
    lines.push(Line::plain(FailuresWords::LeaveThePlace));
    lines.push(Line::of(Label::Quiet, DiskSteps::QuietUntilGrown { key: (&disk.key.0).into() }));
    lines
}

/// What lies at a place, in words; what is not known is not said.
fn contents(place: &PlaceContents) -> Vec<FailuresWords> {
    let device = || place.device.clone();
    let file_system = || place.file_system.clone().unwrap_or_else(|| "a file system".to_owned());
    let mut words: Vec<FailuresWords> = Vec::new();
    words.extend(place.stripe.map(|stripe| FailuresWords::Stripe { stripe, device: device() }));
    match place.kind {
        ContentsKind::File if place.files.is_empty() => {
            words.push(FailuresWords::SomeFile { file_system: file_system(), device: device() });
        }
        ContentsKind::File => words.extend(place.files.iter().map(|file| FailuresWords::File {
            file: file.clone(),
            file_system: file_system(),
            device: device(),
        })),
        ContentsKind::Metadata => {
            words.push(FailuresWords::Metadata { file_system: file_system(), device: device() });
        }
        ContentsKind::Free => words.push(FailuresWords::Free { device: device() }),
        ContentsKind::Parity => words.push(FailuresWords::Parity { device: device() }),
        ContentsKind::Volume => words.push(FailuresWords::Volume { device: device() }),
        ContentsKind::Outside | ContentsKind::Unknown => {}
    }
    words
}

/// The most sectors in one question to `explain`.
const SECTORS_ASKED: u64 = 2048;

fn sectors(run: &SectorRange) -> String {
    match run.count() {
        1 => format!("sector {}", run.start.0),
        _ => format!("sectors {} to {}", run.start.0, run.end.0.saturating_sub(1)),
    }
}
