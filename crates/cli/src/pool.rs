//! The result of a btrfs scrub for people: what was wrong, in which files, and what to do.

use scrubjay_core::finding::{FOUND_MAX, Finding, FindingKind, FoundContent, Resolution};
use scrubjay_core::quantity::show_count;
use scrubjay_core::scrub::ScrubState;
use scrubjay_core::units::Bytes;
use scrubjay_device::btrfs::ScrubCounts;
use scrubjay_jobs::outcome::{OutcomeKind, TargetOutcome};
use scrubjay_jobs::pool::PoolOutcome;

/// Places that are listed, at most; `--json` has more.
const PLACES_SHOWN: usize = 20;

/// What to do about lost data.
const ADVICE_LOST: &str =
    "reading what was lost gives an I/O error: restore the files from a backup, or delete them (see docs/btrfs.md)";
/// What to do about errors that were not repaired.
const ADVICE_UNREPAIRED: &str = "what was not repaired has a right copy: scrub without --read-only, on a writable mount; \
                                 if it stays so, replace the device";

/// The first line of the result. `transient`: errors that did not come again, with a semicolon behind.
pub fn headline(outcome: &TargetOutcome, pool: &PoolOutcome<'_>, transient: &str) -> String {
    let report = &outcome.ended.report;
    let (block, allocated) = (outcome.facts.block, pool.facts.allocated);
    let mut wrong = String::new();
    if !pool.facts.missing.is_empty() {
        let missing: Vec<String> = pool.facts.missing.iter().map(u64::to_string).collect();
        wrong += &format!("DEGRADED: device {} is missing; ", missing.join(", "));
    }
    let lost = report.unreadable_sectors() / block.sectors();
    if lost > 0 {
        wrong += &format!("{} LOST: no copy is right; ", blocks(lost));
    }
    for (count, end) in [(outcome.rows_unrepaired(), "NOT REPAIRED"), (outcome.rows_repaired(), "repaired by btrfs")] {
        if count > 0 {
            wrong += &format!("{} WRONG, {end}; ", blocks(count));
        }
    }
    if pool.counts.transient > 0 {
        wrong += &format!("{} WRONG ONCE, and right when read again; ", blocks(pool.counts.transient));
    }
    wrong += transient;
    if pool.counts.unused_unreadable > 0 {
        let unused = blocks(pool.counts.unused_unreadable);
        wrong += &format!("{unused} UNREADABLE where btrfs stores nothing; ");
    }
    let all = match pool.counts.chunks_new {
        0 => format!("all that btrfs has allocated ({allocated} of {}) verified", report.bytes),
        _ => format!("all that btrfs had allocated when this pass began verified, of {}", report.bytes),
    };
    match report.state {
        ScrubState::Complete if outcome.kind() == OutcomeKind::Clean => format!("clean: {all}"),
        ScrubState::Complete if lost > 0 => format!("{wrong}all the rest of {allocated} of {} verified", report.bytes),
        ScrubState::Complete => format!("{wrong}{all}"),
        ScrubState::Running if outcome.ended.is_saved => format!(
            "paused: {wrong}{} of {}, allocated or not, done; the same command goes on from here",
            report.bytes_verified, report.bytes
        ),
        _ => format!(
            "NOT DONE: {}; {wrong}{} of {}, allocated or not, done",
            outcome.error().unwrap_or_default(),
            report.bytes_verified,
            report.bytes
        ),
    }
}

/// The lines below the first one.
pub fn lines(outcome: &TargetOutcome, pool: &PoolOutcome<'_>) -> Vec<String> {
    let (found, counts) = (pool.found.all(), pool.counts);
    let untold = pool.lost_untold(&outcome.ended.report.unreadable);
    let mut lines: Vec<String> = found.iter().take(PLACES_SHOWN).map(|found| line(pool, found)).collect();
    let more = found.len().saturating_sub(PLACES_SHOWN) as u64 + pool.found.untold();
    if more > 0 {
        lines.push(format!(
            "... and {} more places (--json lists up to {})",
            show_count(more),
            show_count(FOUND_MAX as u64)
        ));
    }
    if !found.is_empty() {
        lines.push(counted(&counts.counts, counts.extents_given));
    }
    let has = |resolution| found.iter().any(|found| found.resolution == resolution);
    lines.extend(untold.iter().take(PLACES_SHOWN).map(|part| {
        let (bytes, device) = (Bytes(part.bytes.end - part.bytes.start), pool.device(part.device));
        format!("LOST, found by an earlier run: {bytes} at byte {} of {device}", part.bytes.start)
    }));
    let more = untold.len().saturating_sub(PLACES_SHOWN) as u64;
    lines.extend((more > 0).then(|| format!("... and {} more places of earlier runs", show_count(more))));
    lines.extend((has(Resolution::Lost) || !untold.is_empty()).then(|| ADVICE_LOST.to_owned()));
    lines.extend(has(Resolution::Reconstructed).then(|| ADVICE_UNREPAIRED.to_owned()));
    lines
}

fn line(pool: &PoolOutcome<'_>, found: &Finding) -> String {
    let end = match found.resolution {
        Resolution::Repaired => "repaired",
        Resolution::Transient => "right when read again",
        Resolution::Lost => "LOST",
        _ => "not repaired",
    };
    let defect = match found.kind {
        FindingKind::Unreadable(_) => "cannot be read",
        FindingKind::Checksum => "does not fit its checksum",
        FindingKind::Identity => "is another or an old tree block",
        FindingKind::Superblock => "is wrong",
        _ => "holds something wrong",
    };
    let files = match &found.content {
        FoundContent::Extent { files, files_untold: 0, .. } if files.is_empty() => "no file uses it now".to_owned(),
        FoundContent::Extent { files, files_untold: 0, .. } => files.join(", "),
        FoundContent::Extent { files, files_untold, .. } => {
            format!("{} and {} more", files.join(", "), show_count(*files_untold))
        }
        _ => String::new(),
    };
    let on = found.member.clone().unwrap_or_default();
    let (bytes, device) = (on.bytes, pool.device(on.number.unwrap_or(0)));
    format!("{end}: {bytes} at byte {} of {device} {defect}: {files}", found.member_offset())
}

/// The counts of btrfs, under btrfs's own names.
fn counted(counts: &ScrubCounts, extents: u64) -> String {
    let ScrubCounts { csum_errors, read_errors, verify_errors, super_errors, .. } = counts;
    let ScrubCounts { corrected_errors, uncorrectable_errors, unverified_errors, .. } = counts;
    format!(
        "btrfs's own scrub, of {} and the superblocks, counted: read={read_errors} super={super_errors} verify={verify_errors} \
         csum={csum_errors}; corrected={corrected_errors} uncorrectable={uncorrectable_errors} unverified={unverified_errors}",
        if extents == 1 { "one extent".to_owned() } else { format!("{} extents", show_count(extents)) }
    )
}

fn blocks(count: u64) -> String {
    if count == 1 { "one block".to_owned() } else { format!("{} blocks", show_count(count)) }
}
