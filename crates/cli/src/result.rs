//! The result for people: findings, costs, what to do.

use crate::cost::{requests as requests_of, show_delay, times, verdict};
use crate::pool;
use crate::say::{shown, shown_path};
use scrubjay_core::finding::{Finding, FoundChunk, FoundContent, Resolution};
use scrubjay_core::quantity::{show_count, show_time};
use scrubjay_core::scrub::ScrubState;
use scrubjay_core::scrub::verdict::Cause;
use scrubjay_core::units::{Bytes, Nanos, SectorRange};
use scrubjay_device::detector::DetectorKind;
use scrubjay_jobs::outcome::{OutcomeKind, TargetOutcome};
use scrubjay_jobs::sector;
use scrubjay_jobs::subject_state::SubjectState;
use scrubjay_serve::volume::commands::Status;
use scrubjay_words::{self as words, CostWords, Count, ResultWords, Said, ScrubAdvice, WrongWords, held_up};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;

/// Runs shorter than this are reported without a rate.
const RATE_FROM: Nanos = Nanos::from_millis(100);

/// Runs of unreadable sectors that are listed, at most; `--json` has them all.
const RUNS_SHOWN: usize = 20;

/// Fewer response times than these are not summed up.
const TIMES_MIN: u64 = 100;

/// Prints one paragraph for each target.
pub fn print(outcomes: &[TargetOutcome], out: &mut impl Write) -> io::Result<()> {
    for outcome in outcomes {
        let report = &outcome.ended.report;
        writeln!(out, "{}: {}", shown_path(&outcome.facts.path), shown(&headline(outcome)))?;
        // A btrfs lists its own places and files instead.
        let runs = if outcome.pool().is_some() { &[] } else { &report.unreadable[..] };
        for found in runs.iter().take(RUNS_SHOWN) {
            let (start, count) = (found.range.start, found.range.count());
            let chunk = outcome.facts.block.sectors();
            let line = match outcome.is_volume() {
                true => words::lost_stripes_at(count / chunk, start.0 / chunk),
                false => words::unread(found.range, found.cause),
            };
            writeln!(out, "  {line}")?;
        }
        if runs.len() > RUNS_SHOWN {
            writeln!(out, "  {}", ScrubAdvice::MorePlaces { count: runs.len() - RUNS_SHOWN })?;
        }
        if let Some(cause) = report.transient_cause {
            let times = show_count(report.transient_errors);
            let then = if cause == Cause::Mismatch { ScrubAdvice::FoundToAgree } else { ScrubAdvice::CouldBeRead };
            let line = ScrubAdvice::FailedAtFirst { times, cause: cause.to_string(), then: then.into() };
            writeln!(out, "  {line}")?;
        }
        if report.spared.0 > 0 {
            writeln!(out, "  {}", ScrubAdvice::Spared { bytes: report.spared.to_string() })?;
        }
        findings(outcome, out)?;
        mismatches(outcome, out)?;
        if !runs.is_empty() {
            let mut lost = outcome.rows(Resolution::Lost).peekable();
            let is_parity =
                |found: &Finding| matches!(found.content, FoundContent::Stripe { chunk: FoundChunk::Parity(_), .. });
            let is_undecided = lost.peek().is_some() && lost.all(is_parity);
            let advice = match (outcome.is_volume(), is_undecided) {
                _ if outcome.is_md() && runs.iter().any(|found| found.cause == Cause::Lost) => ScrubAdvice::LostByMd,
                _ if outcome.is_md() => ScrubAdvice::SkippedByMd,
                (true, true) => ScrubAdvice::Undecided,
                (true, false) => ScrubAdvice::LostStripes,
                (false, _) => ScrubAdvice::Unreadable,
            };
            writeln!(out, "  {advice}")?;
            if let Some(found) = runs.first().filter(|_| is_disk(outcome)) {
                // The whole run, as far as it can be explained at once.
                let range = SectorRange::at(found.range.start.0, found.range.count().min(sector::SECTORS_MAX));
                let path = shown_path(&outcome.facts.path);
                writeln!(out, "  {}", ScrubAdvice::WhichFile { path, range: range.to_string() })?;
            }
        }
        writeln!(out, "  {}", cost(outcome))?;
        if let Some(words) = held_up(report, outcome.facts.policy) {
            writeln!(out, "  {words}")?;
        }
        if let Some(latency) = &report.latency
            && latency.with_scrub.moments().count >= TIMES_MIN as f64
        {
            let with_scrub = times(&latency.with_scrub);
            match report.slowdown.max {
                Nanos::ZERO => writeln!(out, "  {}", CostWords::TheyTook { times: with_scrub })?,
                _ => {
                    writeln!(out, "  {}", CostWords::TheyTookBeside { times: with_scrub })?;
                    writeln!(out, "  {}", CostWords::AndWithout { times: times(&latency.without_scrub) })?;
                }
            }
            if let Some([first, last]) = latency.stretched() {
                let (first, last) = (show_time(first), show_time(last));
                writeln!(out, "  {}", CostWords::Stretched { first, last })?;
            }
        }
        if let Some(goal) = outcome.facts.goal.filter(|_| outcome.is_held_back_by_max()) {
            writeln!(out, "  {}", CostWords::HeldByMax { most: show_time(goal.max) })?;
        }
        for note in outcome.notes() {
            writeln!(out, "  note: {}", shown(&note))?;
        }
    }
    Ok(())
}

/// Was it read as a disk, sector by sector?
fn is_disk(outcome: &TargetOutcome) -> bool {
    let is_plain = matches!(outcome.subject, SubjectState::Plain);
    is_plain && fs::metadata(&outcome.facts.path).is_ok_and(|metadata| metadata.file_type().is_block_device())
}

/// Prints what a volume or a btrfs found wrong in this pass.
fn findings(outcome: &TargetOutcome, out: &mut impl Write) -> io::Result<()> {
    let pool_lines = outcome.pool().map(|pool| pool::lines(outcome, &pool)).unwrap_or_default();
    let rows = if outcome.is_volume() { outcome.findings() } else { &[] };
    for line in words::rows(rows).into_iter().chain(pool_lines) {
        writeln!(out, "  {}", shown(&line))?;
    }
    Ok(())
}

/// Prints where the members of an array do not agree, and what md repaired.
fn mismatches(outcome: &TargetOutcome, out: &mut impl Write) -> io::Result<()> {
    let places = outcome.mismatches();
    for (range, found) in places.iter().take(RUNS_SHOWN) {
        writeln!(out, "  {}", shown(&words::mismatch(*range, outcome.disagreement(*found))))?;
    }
    if places.len() > RUNS_SHOWN {
        writeln!(out, "  {}", ScrubAdvice::MorePlaces { count: places.len() - RUNS_SHOWN })?;
    }
    // Where earlier runs of the pass had md repair in vain is not known any more.
    let in_vain = match outcome.overwritten().in_vain {
        0 => None,
        1 => Some(ScrubAdvice::OnceInVain),
        count => Some(ScrubAdvice::InVain { times: show_count(count) }),
    };
    let advice = ScrubAdvice::Disagreement;
    match (in_vain, places.is_empty()) {
        (None, false) => writeln!(out, "  {}", ScrubAdvice::NothingChanged { advice: advice.into() })?,
        (Some(in_vain), false) => writeln!(out, "  {in_vain}\n  {advice}")?,
        (Some(in_vain), true) => writeln!(out, "  {}", ScrubAdvice::AgreeNow { in_vain: in_vain.into() })?,
        (None, true) => {}
    }
    for found in outcome.agreed().take(RUNS_SHOWN) {
        writeln!(out, "  {}", shown(&words::made_to_agree(found.place, outcome.disagreement(Some(found)))))?;
    }
    for (member, sectors) in outcome.rewritten() {
        writeln!(out, "  {}", words::rewritten(sectors, member, outcome.errors_of(member)))?;
    }
    Ok(())
}

/// Rows of a volume that are still wrong on their members, with a semicolon behind.
fn unrepaired(outcome: &TargetOutcome) -> String {
    let rows = match outcome.rows_unrepaired() {
        0 => return String::new(),
        1 => WrongWords::RowUnrepaired,
        count => WrongWords::RowsUnrepaired { count: show_count(count) },
    };
    WrongWords::Unrepaired { rows: rows.into() }.to_string()
}

/// Errors that did not come again, with a semicolon behind: rows of a volume, and requests of which every sector could be
/// read. A pass with such errors is not clean.
fn transient(outcome: &TargetOutcome) -> String {
    let rows = match outcome.rows(Resolution::Transient).count() as u64 {
        0 => None,
        1 => Some(WrongWords::RowOnce),
        count => Some(WrongWords::RowsOnce { count: show_count(count) }),
    };
    let requests = match outcome.ended.report.transient_errors {
        0 => None,
        1 => Some(WrongWords::RequestOnce),
        count => Some(WrongWords::RequestsOnce { count: show_count(count) }),
    };
    rows.into_iter().chain(requests).map(|words| words.to_string()).collect()
}

fn stripes(count: u64) -> ResultWords {
    if count == 1 { ResultWords::OneStripe } else { ResultWords::Stripes { count: show_count(count) } }
}

/// The first line: the result, and before it why it is not kept, if it is not.
fn headline(outcome: &TargetOutcome) -> String {
    let is_lost = outcome.ended.report.state == ScrubState::Complete && !outcome.ended.is_saved;
    let rest = result(outcome);
    match outcome.error().filter(|_| is_lost) {
        Some(error) => ResultWords::NotRecorded { error, rest }.to_string(),
        None => rest.into(),
    }
}

fn result(outcome: &TargetOutcome) -> Said {
    if let Some(pool) = outcome.pool() {
        return pool::headline(outcome, &pool, &transient(outcome)).into();
    }
    let report = &outcome.ended.report;
    let bytes = report.bytes.to_string();
    let wrong = match outcome.rows_repaired() {
        0 => array_findings(outcome),
        1 => WrongWords::RowRebuilt.to_string(),
        count => WrongWords::RowsRebuilt { count: show_count(count) }.to_string(),
    };
    let wrong = unrepaired(outcome) + &wrong + &transient(outcome);
    // Rows on a member that is out were not verified, and have no redundancy left.
    let wrong = match outcome.reduced() {
        Some(state) => {
            let members = outcome.inactive_members().join(", ");
            let members = if members.is_empty() { members } else { format!(": {members}") };
            let none_left = outcome.volume().and_then(Status::redundancy_left) == Some(0);
            let left = if none_left { format!("; {}", WrongWords::NoRedundancy) } else { String::new() };
            let state = state.to_string().to_uppercase();
            WrongWords::Reduced { state, members, left }.to_string() + &wrong
        }
        None => wrong,
    };
    let written = outcome.volume().map(|volume| [volume.stripes_written, volume.stripes]);
    let all = || all_verified(report.bytes, written).into();
    let verified = || ResultWords::Verified { done: report.bytes_verified.to_string(), bytes: bytes.clone() }.into();
    let not_done = || {
        let error = outcome.error().unwrap_or_default();
        ResultWords::NotDone { error, verified: verified(), found: found_so_far(outcome) }
    };
    let words = match report.state {
        ScrubState::Complete if outcome.kind() == OutcomeKind::Clean => ResultWords::Clean { all: all() },
        ScrubState::Complete if report.unreadable.is_empty() && outcome.reduced().is_some() => {
            ResultWords::OthersHold { wrong, bytes }
        }
        ScrubState::Complete if report.unreadable.is_empty() => ResultWords::Found { wrong, all: all() },
        ScrubState::Complete if outcome.is_volume() => {
            let lost = stripes(report.unreadable_sectors() / outcome.facts.block.sectors());
            ResultWords::LostStripes { stripes: lost.into(), wrong, bytes }
        }
        ScrubState::Complete => {
            let places = match report.unreadable.len() as u64 {
                1 => ResultWords::OnePlace,
                count => ResultWords::Places { count: show_count(count) },
            };
            let (places, count) = (places.into(), report.unreadable_sectors());
            match outcome.is_md() {
                true => ResultWords::NotCompared { sectors: Count(count, "sector"), places, wrong, bytes },
                false => ResultWords::Unreadable { sectors: Count(count, "UNREADABLE sector"), places, wrong, bytes },
            }
        }
        ScrubState::Running if outcome.ended.is_saved => {
            ResultWords::Paused { verified: verified(), found: found_so_far(outcome) }
        }
        ScrubState::Running | ScrubState::Gone | ScrubState::Failed(_) => not_done(),
    };
    words.into()
}

/// What a complete pass over `bytes` has verified. Of a volume, `stripes` were ever written, of so many: nothing else is read.
fn all_verified(bytes: Bytes, stripes: Option<[u64; 2]>) -> ResultWords {
    let bytes = bytes.to_string();
    match stripes {
        Some([0, _]) => ResultWords::NothingWritten { bytes },
        Some([written, all]) if written < all => ResultWords::AllWritten { bytes },
        _ => ResultWords::AllVerified { bytes },
    }
}

/// The findings of an array's check, each with a semicolon behind it.
fn array_findings(outcome: &TargetOutcome) -> String {
    // Whole blocks are noted where members differ; the places say how much of them.
    let bad: u64 = outcome.mismatches().iter().map(|(range, _)| range.count()).sum();
    let repaired = outcome.sectors_repaired();
    let agreed = outcome.overwritten().sectors;
    let mismatch = (bad > 0).then(|| WrongWords::DoNotAgree { sectors: show_count(bad) });
    let agreed = (agreed > 0).then(|| WrongWords::MadeToAgree { sectors: show_count(agreed) });
    let repaired = (repaired > 0).then(|| WrongWords::RepairedByMd { sectors: show_count(repaired) });
    mismatch.into_iter().chain(agreed).chain(repaired).map(|words| words.to_string()).collect()
}

fn found_so_far(outcome: &TargetOutcome) -> String {
    let sectors = outcome.ended.report.unreadable_sectors();
    let rows = outcome.rows_repaired() + outcome.rows_unrepaired() + outcome.rows(Resolution::Transient).count() as u64;
    let unreadable = match sectors {
        0 => None,
        count if outcome.is_volume() => {
            Some(WrongWords::LostSoFar { stripes: stripes(count / outcome.facts.block.sectors()).into() })
        }
        count if outcome.is_md() => Some(WrongWords::NotComparedSoFar { count: show_count(count) }),
        count => Some(WrongWords::UnreadableSoFar { count: show_count(count) }),
    };
    let rows = (rows > 0).then(|| WrongWords::RowsSoFar { count: show_count(rows) });
    let what = array_findings(outcome).trim_end_matches("; ").to_owned();
    let array = (!what.is_empty()).then_some(WrongWords::SoFar { what });
    unreadable.into_iter().chain(rows).chain(array).map(|words| words.to_string()).collect()
}

/// The cost: time, and the slowdown of foreground requests.
fn cost(outcome: &TargetOutcome) -> CostWords {
    let report = &outcome.ended.report;
    let seconds = report.elapsed.as_secs_f64().max(1e-9);
    let rate = Bytes((report.bytes_verified_now.0 as f64 / seconds) as u64);
    // A very short run has no useful rate; and unwritten stripes are not read, so their bytes would inflate it.
    let is_partly_written = outcome.volume().is_some_and(|volume| volume.stripes_written < volume.stripes);
    let time = show_time(report.elapsed);
    let took = match report.elapsed < RATE_FROM || is_partly_written {
        true => CostWords::Took { time },
        false => CostWords::TookAt { time, rate: rate.to_string() },
    };
    let took = took.into();
    let requests = match report.foreground_requests {
        0 if outcome.facts.detector_kind == DetectorKind::Blind => return CostWords::NotWatched { took },
        0 => return CostWords::NoneSeen { took, detector: outcome.facts.detector_kind.to_string() },
        count => requests_of(count),
    };
    let mean = Nanos::from_secs_f64(report.slowdown.mean_seconds(report.foreground_requests));
    let max = report.slowdown.max;
    let (requests_seen, events_lost) = (report.foreground_requests, outcome.ended.foreground_lost);
    let verdict = |goal| verdict(goal, requests_seen, &report.slowdown, events_lost).to_string();
    let verdict = outcome.facts.goal.map_or(String::new(), verdict);
    if max == Nanos::ZERO && outcome.ended.foreground_lost == 0 {
        return CostWords::LostNothing { took, requests };
    }
    let collisions = show_count(report.slowdown.collisions);
    let about = if report.slowdown.is_estimate { "about " } else { "" }.to_owned();
    CostWords::Lost { took, requests, about, mean: show_delay(mean), most: show_delay(max), collisions, verdict }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::finding::{FindingKind, FoundList, FoundOn};
    use scrubjay_core::scrub::coverage::Coverage;
    use scrubjay_core::scrub::idle::{IntervalAdapter, Waiting};
    use scrubjay_core::scrub::machine::{Event, Machine, Op};
    use scrubjay_core::scrub::tour::{Grid, OrderKind};
    use scrubjay_core::scrub::verdict::VerifyOutcome;
    use scrubjay_core::scrub::{Config, Pass, Scrub};
    use scrubjay_core::units::UnixSeconds;
    use scrubjay_device::session::{SessionEnded, SessionInfo};
    use scrubjay_jobs::subject_state::SubjectLog;

    /// The outcome of a pass over one region: every verification ended as `end` says.
    fn outcome(end: VerifyOutcome) -> TargetOutcome {
        let grid = Grid::new(Bytes::mib(1).sectors(), Bytes::mib(1).sectors(), Bytes::mib(1).sectors());
        let (range, today) = (grid.disk(), UnixSeconds(1));
        let config = Config { range, granule: 1, depth: 1, held_max: None, started: Nanos::ZERO, today };
        let policy = Box::new(IntervalAdapter::new(Waiting { wait: Nanos::ZERO, size: Bytes::mib(1) }));
        let order = OrderKind::SEQUENTIAL.order(&[]);
        let mut scrub = Scrub::new(config, order, policy, Coverage::new(grid), Pass::default());
        let mut now = Nanos::from_secs(1);
        while let Some(Op::Verify { id, .. }) = scrub.poll_op(now) {
            let started = now;
            now += Nanos::from_millis(1);
            scrub.handle(now, Event::Completed { id, outcome: end, started, finished: now });
        }
        let facts = SessionInfo {
            path: "photos".into(),
            id: String::new(),
            bytes: range.bytes(),
            block: Bytes(512),
            verifier: "volume",
            depth: 1,
            detector: String::new(),
            detector_kind: DetectorKind::Blind,
            detector_wish: None,
            order: "sequential",
            policy: "waiting",
            goal: None,
            resumed: false,
            resumed_from: None,
            notes: Vec::new(),
        };
        let report = scrub.report(now);
        let ended = SessionEnded {
            report,
            findings: FoundList::default(),
            paused: false,
            troubles: Vec::new(),
            is_saved: true,
            is_recorded: true,
            foreground_lost: 0,
        };
        TargetOutcome::new(facts, ended, &SubjectLog::Plain)
    }

    #[test]
    fn a_pass_is_called_clean_only_if_nothing_was_wrong_at_any_time() {
        let finding = |(index, &resolution): (usize, &Resolution)| Finding {
            place: SectorRange::at(0, 8),
            kind: FindingKind::MisdirectedRead,
            resolution,
            member: Some(FoundOn { number: Some(1), offset: Some((index as u64) << 20), ..FoundOn::default() }),
            content: FoundContent::Stripe { stripe: 0, chunk: FoundChunk::Data(1) },
            since: UnixSeconds(1),
        };
        let outcome_of = |end: VerifyOutcome, found: &[Resolution]| {
            let mut outcome = outcome(end);
            found.iter().enumerate().map(finding).for_each(|finding| outcome.ended.findings.add(finding));
            outcome.ended.report.unrepaired = outcome.ended.findings.unrepaired();
            outcome.ended.report.transient = outcome.ended.findings.transient();
            outcome.subject = SubjectState::Volume { status: None, is_read_only: false, obstacle: None };
            outcome
        };
        let headline_of = |end: VerifyOutcome, found: &[Resolution]| {
            let outcome = outcome_of(end, found);
            let text = headline(&outcome);
            assert_eq!(text.starts_with("clean"), outcome.kind() == OutcomeKind::Clean, "{text}");
            text
        };
        let kind_of = |found: &[Resolution]| outcome_of(VerifyOutcome::Corrected(1), found).kind();
        let (repaired, transient) = (Resolution::Repaired, Resolution::Transient);
        assert_eq!(kind_of(&[repaired, transient]), OutcomeKind::Mended);
        assert_eq!(kind_of(&[repaired, Resolution::Reconstructed]), OutcomeKind::Found);
        assert_eq!(kind_of(&[transient, Resolution::Lost]), OutcomeKind::Found);
        assert_eq!(headline_of(VerifyOutcome::Clean, &[]), "clean: all of 1 MiB verified");
        assert_eq!(all_verified(Bytes::mib(1), Some([8, 8])).to_string(), "all of 1 MiB verified");
        assert_eq!(
            all_verified(Bytes::mib(1), Some([7, 8])).to_string(),
            "all that was ever written of its 1 MiB verified"
        );
        let none = "nothing was ever written to its 1 MiB, so there was nothing to verify";
        assert_eq!(all_verified(Bytes::mib(1), Some([0, 8])).to_string(), none);
        let once = headline_of(VerifyOutcome::Corrected(1), &[Resolution::Transient]);
        assert_eq!(once, "one row was WRONG ONCE, and right when read again; all of 1 MiB verified");
        let repaired = headline_of(VerifyOutcome::Corrected(1), &[Resolution::Repaired]);
        assert_eq!(repaired, "one row WRONG, rebuilt from the others; all of 1 MiB verified");
        let unrepaired = headline_of(VerifyOutcome::Corrected(1), &[Resolution::Reconstructed]);
        assert!(unrepaired.starts_with("one row is WRONG and NOT REPAIRED"), "{unrepaired}");
        let unseen = headline_of(VerifyOutcome::Clean, &[Resolution::Transient]);
        assert!(unseen.starts_with("one row was WRONG ONCE"), "{unseen}");
    }
}
