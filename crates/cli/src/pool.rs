//! The result of a btrfs scrub for people: what was wrong, in which files, and what to do.

use scrubjay_core::finding::{FOUND_MAX, Finding, Resolution};
use scrubjay_core::quantity::show_count;
use scrubjay_core::scrub::ScrubState;
use scrubjay_core::units::Bytes;
use scrubjay_device::btrfs::ScrubCounts;
use scrubjay_jobs::outcome::{OutcomeKind, TargetOutcome};
use scrubjay_jobs::pool::PoolOutcome;
use scrubjay_words::{self as words, ResultWords, Said, ScrubAdvice, WrongWords};

/// Places that are listed, at most; `--json` has more.
const PLACES_SHOWN: usize = 20;

/// The first line of the result. `transient`: errors that did not come again, with a semicolon behind.
pub fn headline(outcome: &TargetOutcome, pool: &PoolOutcome<'_>, transient: &str) -> ResultWords {
    let report = &outcome.ended.report;
    let (block, allocated, bytes) = (outcome.facts.block, pool.facts.allocated.to_string(), report.bytes.to_string());
    let missing: Vec<String> = pool.facts.missing.iter().map(u64::to_string).collect();
    let lost = report.unreadable_sectors() / block.sectors();
    let some = |count: u64, words: fn(Said) -> WrongWords| (count > 0).then(|| words(blocks(count).into()));
    let before = [
        (!missing.is_empty()).then(|| WrongWords::BtrfsDegraded { devices: missing.join(", ") }),
        some(lost, |blocks| WrongWords::BtrfsLost { blocks }),
        some(outcome.rows_unrepaired(), |blocks| WrongWords::BtrfsNotRepaired { blocks }),
        some(outcome.rows_repaired(), |blocks| WrongWords::BtrfsRepaired { blocks }),
        some(pool.counts.transient, |blocks| WrongWords::BtrfsOnce { blocks }),
    ];
    let unused = some(pool.counts.unused_unreadable, |blocks| WrongWords::BtrfsUnused { blocks });
    let text = |words: WrongWords| words.to_string();
    let before: String = before.into_iter().flatten().map(text).collect();
    let wrong = before + transient + &unused.map(text).unwrap_or_default();
    let all = match pool.counts.chunks_new {
        0 => ResultWords::AllAllocated { allocated: allocated.clone(), bytes: bytes.clone() },
        _ => ResultWords::AllWhenBegun { bytes: bytes.clone() },
    };
    let done = ResultWords::DoneOf { done: report.bytes_verified.to_string(), bytes: bytes.clone() }.into();
    match report.state {
        ScrubState::Complete if outcome.kind() == OutcomeKind::Clean => ResultWords::Clean { all: all.into() },
        ScrubState::Complete if lost > 0 => {
            ResultWords::RestVerified { wrong, rest: ResultWords::OfAllocated { allocated, bytes }.into() }
        }
        ScrubState::Complete => ResultWords::Found { wrong, all: all.into() },
        ScrubState::Running if outcome.ended.is_saved => ResultWords::PausedBtrfs { wrong, done },
        _ => ResultWords::NotDoneBtrfs { error: outcome.error().unwrap_or_default(), wrong, done },
    }
}

/// The lines below the first one.
pub fn lines(outcome: &TargetOutcome, pool: &PoolOutcome<'_>) -> Vec<Said> {
    let (found, counts) = (pool.found.all(), pool.counts);
    let untold = pool.lost_untold(&outcome.ended.report.unreadable);
    let line = |found: &Finding| {
        let device = found.member.as_ref().and_then(|on| on.number).unwrap_or(0);
        words::extent(found, &pool.device(device))
    };
    let mut lines: Vec<Said> = found.iter().take(PLACES_SHOWN).map(line).collect();
    let more = found.len().saturating_sub(PLACES_SHOWN) as u64 + pool.found.untold();
    if more > 0 {
        let (count, most) = (show_count(more), show_count(FOUND_MAX as u64));
        lines.push(ScrubAdvice::MorePlacesUpTo { count, most }.into());
    }
    if !found.is_empty() {
        lines.push(counted(&counts.counts, counts.extents_given));
    }
    let has = |resolution| found.iter().any(|found| found.resolution == resolution);
    lines.extend(untold.iter().take(PLACES_SHOWN).map(|part| {
        let size = Bytes(part.bytes.end - part.bytes.start);
        words::lost_earlier(size, part.bytes.start, &pool.device(part.device))
    }));
    let more = untold.len().saturating_sub(PLACES_SHOWN) as u64;
    lines.extend((more > 0).then(|| ScrubAdvice::MoreOfEarlier { count: show_count(more) }.into()));
    lines.extend((has(Resolution::Lost) || !untold.is_empty()).then(|| ScrubAdvice::BtrfsLost.into()));
    lines.extend(has(Resolution::Reconstructed).then(|| ScrubAdvice::BtrfsUnrepaired.into()));
    lines
}

/// The counts of btrfs, under btrfs's own names.
fn counted(counts: &ScrubCounts, extents: u64) -> Said {
    let ScrubCounts { csum_errors, read_errors, verify_errors, super_errors, .. } = counts;
    let ScrubCounts { corrected_errors, uncorrectable_errors, unverified_errors, .. } = counts;
    words::btrfs_counts(
        extents,
        format!("read={read_errors} super={super_errors} verify={verify_errors} csum={csum_errors}"),
        format!("corrected={corrected_errors} uncorrectable={uncorrectable_errors} unverified={unverified_errors}"),
    )
}

fn blocks(count: u64) -> WrongWords {
    if count == 1 { WrongWords::OneBlock } else { WrongWords::Blocks { count: show_count(count) } }
}
