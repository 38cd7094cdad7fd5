//! The result for people: findings, costs, what to do.

use crate::pool;
use crate::say::{shown, shown_path};
use crate::volume::admin::{NO_REDUNDANCY, summaries};
use scrubjay_control::doing::held_up;
use scrubjay_core::finding::{Finding, FoundChunk, FoundContent, Resolution};
use scrubjay_core::quantity::{show_count, show_time};
use scrubjay_core::scrub::ScrubState;
use scrubjay_core::scrub::idle::{Goal, GoalForm, Slowdown};
use scrubjay_core::scrub::verdict::Cause;
use scrubjay_core::stats::DurationHistogram;
use scrubjay_core::units::{Bytes, Nanos, SectorRange};
use scrubjay_device::detector::DetectorKind;
use scrubjay_jobs::outcome::{OutcomeKind, TargetOutcome};
use scrubjay_jobs::sector;
use scrubjay_jobs::subject_state::SubjectState;
use scrubjay_serve::volume::commands::Status;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;

/// Runs shorter than this are reported without a rate.
const RATE_FROM: Nanos = Nanos::from_millis(100);

/// Runs of unreadable sectors that are listed, at most; `--json` has them all.
const RUNS_SHOWN: usize = 20;

/// Places of a member that are named in one line, at most.
const PLACES_SHOWN: usize = 8;

/// What to do about unreadable sectors.
const ADVICE: &str = "what they held is lost unless a RAID or a backup has it: restore it from there (the write repairs the \
sector), and replace the disk if there are more next time";

/// What to do about what no member of an array holds any more.
const ADVICE_LOST_BY_MD: &str =
    "too many of its members' lists of bad blocks have that, so nothing holds it: restore it from a backup";

/// What to do about what md's check left out.
const ADVICE_SKIPPED: &str = "md does not read that member there, so there is less redundancy: reads get what the others hold. Find it by the \
     lists (md/dev-*/bad_blocks), and replace it (mdadm --replace)";

/// What to do about lost stripes.
const ADVICE_LOST: &str = "reading what was lost gives an I/O error: restore it from a backup (the write repairs it)";

/// What to do where parities do not fit the data, and nothing proves which is wrong.
const ADVICE_UNDECIDED: &str = "data and parities do not fit each other there, and nothing tells which are wrong: reads give what lies there, compare it \
     with a backup";

/// What happened to a mismatch that is gone when it is read again.
const MADE_TO_AGREE: &str =
    "was found to agree (it was being written, or a member could not read it and md rewrote it),";

/// Of a mismatch of which nothing is kept but its place.
const NOT_NARROWED: &str = "found by an earlier run of this pass, and not narrowed down";

/// What to do where members do not agree.
const ADVICE_MISMATCH: &str = "compare the files that lie there with a backup before you let md overwrite one side (its \
     `repair` takes the first copy, or the data, for right, also where they are wrong)";

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
            if outcome.is_volume() {
                let chunk = outcome.facts.block.sectors();
                writeln!(out, "  lost: {} from {} on", stripes(count / chunk), start.0 / chunk)?;
                continue;
            }
            let place = Bytes(found.range.start.byte());
            let sectors = if count == 1 { "sector" } else { "sectors" };
            let kind = if found.cause == Cause::Skipped { "not compared" } else { "unreadable" };
            writeln!(out, "  {kind}: {} {sectors} from {start} on (at {place}): {}", show_count(count), found.cause)?;
        }
        if runs.len() > RUNS_SHOWN {
            writeln!(out, "  ... and {} more places (--json lists all)", runs.len() - RUNS_SHOWN)?;
        }
        if let Some(cause) = report.transient_cause {
            let times = show_count(report.transient_errors);
            writeln!(
                out,
                "  {times} requests failed at first ({cause}), but every sector {} when asked again",
                if cause == Cause::Mismatch { MADE_TO_AGREE } else { "could be read" }
            )?;
        }
        findings(outcome, out)?;
        mismatches(outcome, out)?;
        if !runs.is_empty() {
            let mut lost = outcome.rows(Resolution::Lost).peekable();
            let is_parity =
                |found: &Finding| matches!(found.content, FoundContent::Stripe { chunk: FoundChunk::Parity(_), .. });
            let is_undecided = lost.peek().is_some() && lost.all(is_parity);
            let advice = match (outcome.is_volume(), is_undecided) {
                _ if outcome.is_md() && runs.iter().any(|found| found.cause == Cause::Lost) => ADVICE_LOST_BY_MD,
                _ if outcome.is_md() => ADVICE_SKIPPED,
                (true, true) => ADVICE_UNDECIDED,
                (true, false) => ADVICE_LOST,
                (false, _) => ADVICE,
            };
            writeln!(out, "  {advice}")?;
            if let Some(found) = runs.first().filter(|_| is_disk(outcome)) {
                // The whole run, as far as it can be explained at once.
                let range = SectorRange::at(found.range.start.0, found.range.count().min(sector::SECTORS_MAX));
                writeln!(out, "  which file that is: scrubjay explain {} {range}", shown_path(&outcome.facts.path))?;
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
                Nanos::ZERO => writeln!(out, "  they took {with_scrub}")?,
                _ => {
                    writeln!(out, "  they took {with_scrub} beside this scrub")?;
                    writeln!(out, "  and {} without it, as far as can be told", times(&latency.without_scrub))?;
                }
            }
            if let Some([first, last]) = latency.stretched() {
                let (first, last) = (show_time(first), show_time(last));
                writeln!(
                    out,
                    "  of late most took {last} even without it, {first} at first: the disk or the machine has become busier, \
                     which is not counted as lost to the scrub"
                )?;
            }
        }
        if let Some(goal) = outcome.facts.goal.filter(|_| outcome.is_held_back_by_max()) {
            writeln!(
                out,
                "  some of its own requests took longer than the {} that one may lose: it read less to keep that; \
                 a larger --max-slowdown reads more",
                show_time(goal.max)
            )?;
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
    for line in summaries(rows).into_iter().chain(pool_lines) {
        writeln!(out, "  {}", shown(&line))?;
    }
    Ok(())
}

/// Prints where the members of an array do not agree, and what md repaired.
fn mismatches(outcome: &TargetOutcome, out: &mut impl Write) -> io::Result<()> {
    let places = outcome.mismatches();
    for (range, found) in places.iter().take(RUNS_SHOWN) {
        let words = found.map_or(NOT_NARROWED.to_owned(), |found| outcome.disagreement(found));
        let (start, count) = (range.start, show_count(range.count()));
        writeln!(out, "  MISMATCH: {count} sectors from {start} on (at {}): {}", Bytes(start.byte()), shown(&words))?;
    }
    if places.len() > RUNS_SHOWN {
        writeln!(out, "  ... and {} more places (--json lists all)", places.len() - RUNS_SHOWN)?;
    }
    // Where earlier runs of the pass had md repair in vain is not known any more.
    let in_vain = match outcome.overwritten().in_vain {
        0 => None,
        1 => Some(
            "in this pass md's repair ran at one place in vain, and may have overwritten one side there".to_owned(),
        ),
        count => Some(format!(
            "in this pass md's repair ran {} times in vain, and may have overwritten one side each time",
            show_count(count)
        )),
    };
    match (&in_vain, places.is_empty()) {
        (None, false) => writeln!(out, "  nothing was changed there: {ADVICE_MISMATCH}")?,
        (Some(words), false) => writeln!(out, "  {words}\n  {ADVICE_MISMATCH}")?,
        (Some(words), true) => writeln!(out, "  {words}; its members agree now")?,
        (None, true) => {}
    }
    for found in outcome.agreed().take(RUNS_SHOWN) {
        let (start, count) = (found.place.start, show_count(found.place.count()));
        writeln!(
            out,
            "  made to agree: {count} sectors from {start} on (at {}): {}",
            Bytes(start.byte()),
            shown(&outcome.disagreement(found))
        )?;
    }
    for (member, sectors) in outcome.rewritten() {
        writeln!(
            out,
            "  repaired: md rewrote {} sectors of {member} from the others: it could not read all of them{}",
            show_count(sectors),
            places_of(outcome.errors_of(member))
        )?;
    }
    Ok(())
}

/// The places in words, such as ` (sectors 128 to 135, 4096)`, as far as the kernel's log shows.
fn places_of(ranges: impl Iterator<Item = SectorRange>) -> String {
    let words = |range: SectorRange| match range.count() {
        1 => format!("near {}", range.start),
        count => format!("{} to {}", range.start, range.start.0 + count - 1),
    };
    let mut places: Vec<String> = ranges.take(PLACES_SHOWN + 1).map(words).collect();
    if places.len() > PLACES_SHOWN {
        places[PLACES_SHOWN] = "...".to_owned();
    }
    if places.is_empty() { String::new() } else { format!(" (its sectors {})", places.join(", ")) }
}

/// Rows of a volume that are still wrong on their members, with a semicolon behind.
fn unrepaired(outcome: &TargetOutcome) -> String {
    let rows = match outcome.rows_unrepaired() {
        0 => return String::new(),
        1 => "one row is WRONG and NOT REPAIRED".to_owned(),
        count => format!("{} rows are WRONG and NOT REPAIRED", show_count(count)),
    };
    format!(
        "{rows} (a disk does not take the repair, or the volume is read-only; reads get what the other members hold); "
    )
}

/// Errors that did not come again, with a semicolon behind: rows of a volume, and requests of which every sector could be
/// read. A pass with such errors is not clean.
fn transient(outcome: &TargetOutcome) -> String {
    let rows = match outcome.rows(Resolution::Transient).count() as u64 {
        0 => String::new(),
        1 => "one row was WRONG ONCE, and right when read again; ".to_owned(),
        count => format!("{} rows were WRONG ONCE, and right when read again; ", show_count(count)),
    };
    let requests = match outcome.ended.report.transient_errors {
        0 => String::new(),
        1 => "one request FAILED ONCE; ".to_owned(),
        count => format!("{} requests FAILED ONCE; ", show_count(count)),
    };
    rows + &requests
}

fn stripes(count: u64) -> String {
    if count == 1 { "one stripe".to_owned() } else { format!("{} stripes", show_count(count)) }
}

/// The first line: the result, and before it why it is not kept, if it is not.
fn headline(outcome: &TargetOutcome) -> String {
    let is_lost = outcome.ended.report.state == ScrubState::Complete && !outcome.ended.is_saved;
    let error = outcome
        .error()
        .filter(|_| is_lost)
        .map(|error| format!("NOT RECORDED (what follows is right, but could not be saved: {error}); "))
        .unwrap_or_default();
    error + &result(outcome)
}

fn result(outcome: &TargetOutcome) -> String {
    if let Some(pool) = outcome.pool() {
        return pool::headline(outcome, &pool, &transient(outcome));
    }
    let report = &outcome.ended.report;
    let verified = format!("{} of {} verified", report.bytes_verified, report.bytes);
    let wrong = match outcome.rows_repaired() {
        0 => array_findings(outcome),
        1 => "one row WRONG, rebuilt from the others; ".to_owned(),
        count => format!("{} rows WRONG, rebuilt from the others; ", show_count(count)),
    };
    let wrong = unrepaired(outcome) + &wrong + &transient(outcome);
    // Rows on a member that is out were not verified, and have no redundancy left.
    let wrong = match outcome.reduced() {
        Some(state) => {
            let names = outcome.inactive_members().join(", ");
            let names = if names.is_empty() { names } else { format!(": {names}") };
            let none_left = outcome.volume().and_then(Status::redundancy_left) == Some(0);
            let left = if none_left { format!("; {NO_REDUNDANCY}") } else { String::new() };
            format!("{}{names}{left}; {wrong}", state.to_string().to_uppercase())
        }
        None => wrong,
    };
    let written = outcome.volume().map(|volume| [volume.stripes_written, volume.stripes]);
    let all = all_verified(report.bytes, written);
    match report.state {
        ScrubState::Complete if outcome.kind() == OutcomeKind::Clean => format!("clean: {all}"),
        ScrubState::Complete if report.unreadable.is_empty() && outcome.reduced().is_some() => {
            format!("{wrong}what its other members hold of {} verified", report.bytes)
        }
        ScrubState::Complete if report.unreadable.is_empty() => format!("{wrong}{all}"),
        ScrubState::Complete if outcome.is_volume() => {
            let lost = stripes(report.unreadable_sectors() / outcome.facts.block.sectors());
            format!("{lost} LOST, in part or whole; {wrong}all the rest of {} verified", report.bytes)
        }
        ScrubState::Complete => {
            let kind = if outcome.is_md() { "NOT COMPARED" } else { "UNREADABLE" };
            let places = report.unreadable.len();
            let places =
                if places == 1 { "one place".to_owned() } else { format!("{} places", show_count(places as u64)) };
            let count = report.unreadable_sectors();
            let sectors = if count == 1 { "sector" } else { "sectors" };
            let count = show_count(count);
            let count =
                if outcome.is_md() { format!("{count} {sectors} {kind}") } else { format!("{count} {kind} {sectors}") };
            format!("{count} in {places}; {wrong}all the rest of {} verified", report.bytes)
        }
        ScrubState::Running if !outcome.ended.is_saved => {
            format!("NOT DONE: {}; {verified}{}", outcome.error().unwrap_or_default(), found_so_far(outcome))
        }
        ScrubState::Running => {
            format!("paused: {verified}{}; the same command goes on from here", found_so_far(outcome))
        }
        ScrubState::Gone | ScrubState::Failed(_) => {
            format!("NOT DONE: {}; {verified}{}", outcome.error().unwrap_or_default(), found_so_far(outcome))
        }
    }
}

/// What a complete pass over `bytes` has verified. Of a volume, `stripes` were ever written, of so many: nothing else is read.
fn all_verified(bytes: Bytes, stripes: Option<[u64; 2]>) -> String {
    match stripes {
        Some([0, _]) => format!("nothing was ever written to its {bytes}, so there was nothing to verify"),
        Some([written, all]) if written < all => format!("all that was ever written of its {bytes} verified"),
        _ => format!("all of {bytes} verified"),
    }
}

/// The findings of an array's check, each with a semicolon behind it.
fn array_findings(outcome: &TargetOutcome) -> String {
    // Whole blocks are noted where members differ; the places say how much of them.
    let bad: u64 = outcome.mismatches().iter().map(|(range, _)| range.count()).sum();
    let repaired = outcome.sectors_repaired();
    let mismatch = (bad > 0).then(|| format!("members DO NOT AGREE in {} sectors; ", show_count(bad)));
    let repaired = (repaired > 0)
        .then(|| format!("{} sectors REPAIRED by md, as a member could not read them; ", show_count(repaired)));
    let agreed = outcome.overwritten().sectors;
    let agreed = (agreed > 0).then(|| format!("{} sectors MADE TO AGREE by md; ", show_count(agreed)));
    mismatch.into_iter().chain(agreed).chain(repaired).collect()
}

fn found_so_far(outcome: &TargetOutcome) -> String {
    let sectors = outcome.ended.report.unreadable_sectors();
    let rows = outcome.rows_repaired() + outcome.rows_unrepaired() + outcome.rows(Resolution::Transient).count() as u64;
    let unreadable = match sectors {
        0 => String::new(),
        count if outcome.is_volume() => {
            format!(", {} LOST so far", stripes(count / outcome.facts.block.sectors()))
        }
        count if outcome.is_md() => format!(", {} NOT COMPARED so far", show_count(count)),
        count => format!(", {} UNREADABLE so far", show_count(count)),
    };
    let rows = if rows == 0 { String::new() } else { format!(", rows found wrong so far: {}", show_count(rows)) };
    let array_words = array_findings(outcome);
    let array_words = array_words.trim_end_matches("; ");
    unreadable + &rows + &if array_words.is_empty() { String::new() } else { format!(", {array_words} so far") }
}

/// The cost: time, and the slowdown of foreground requests.
fn cost(outcome: &TargetOutcome) -> String {
    let report = &outcome.ended.report;
    let seconds = report.elapsed.as_secs_f64().max(1e-9);
    let rate = Bytes((report.bytes_verified_now.0 as f64 / seconds) as u64);
    // A very short run has no useful rate; and unwritten stripes are not read, so their bytes would inflate it.
    let is_partly_written = outcome.volume().is_some_and(|volume| volume.stripes_written < volume.stripes);
    let took = match report.elapsed < RATE_FROM || is_partly_written {
        true => format!("took {}", show_time(report.elapsed)),
        false => format!("took {} ({rate}/s)", show_time(report.elapsed)),
    };
    let requests = match report.foreground_requests {
        0 if outcome.facts.detector_kind == DetectorKind::Blind => return format!("{took}; others were not watched"),
        0 => return format!("{took}; no foreground requests were seen ({})", outcome.facts.detector_kind),
        1 => "one foreground request".to_owned(),
        count => format!("{} foreground requests", show_count(count)),
    };
    let mean = Nanos::from_secs_f64(report.slowdown.mean_seconds(report.foreground_requests));
    let max = report.slowdown.max;
    let (requests_seen, events_lost) = (report.foreground_requests, outcome.ended.foreground_lost);
    let verdict = |goal| verdict(goal, requests_seen, &report.slowdown, events_lost);
    let verdict = outcome.facts.goal.map_or(String::new(), verdict);
    if max == Nanos::ZERO && outcome.ended.foreground_lost == 0 {
        return format!("{took}; {requests} lost nothing");
    }
    let collisions = show_count(report.slowdown.collisions);
    let (mean, max) = (show_delay(mean), show_delay(max));
    let about = if report.slowdown.is_estimate { "about " } else { "" };
    format!(
        "{took}; {requests} lost {about}{mean} each on average, {max} at most ({collisions} came while the scrub was reading){verdict}"
    )
}

/// A slowdown in milliseconds, like the goals.
fn show_delay(delay: Nanos) -> String {
    format!("{:.2} ms", delay.as_millis_f64())
}

/// Response times in words.
fn times(times: &DurationHistogram) -> String {
    let show = |seconds: f64| show_time(Nanos::from_secs_f64(seconds));
    let (mean, max) = (show(times.moments().mean()), show(times.moments().max));
    format!("{mean} on average (p50 {}, p99 {}, max {max})", show(times.quantile(0.5)), show(times.quantile(0.99)))
}

/// Was the budget kept among this many requests? `events_lost`: the number of foreground events that were lost.
fn verdict(goal: Goal, requests: u64, slowdown: &Slowdown, events_lost: u64) -> String {
    let mean = Nanos::from_secs_f64(slowdown.mean_seconds(requests));
    let limit = |time: Nanos| format!("{} ms", time.as_millis_f64());
    let p99 = goal.p99.map_or(String::new(), |p99| format!(", {} for 99 of 100", limit(p99)));
    let budget = format!("the budget of {}{p99} and {}", limit(goal.mean), limit(goal.max));
    let is_mean_kept = mean <= goal.mean;
    let late = goal.p99.map_or(0, |p99| slowdown.longer_than(p99));
    let is_p99_kept = late as f64 <= Goal::P99_SHARE * requests.max(Goal::WARM_UP_REQUESTS) as f64;
    if slowdown.max <= goal.max && is_p99_kept && !is_mean_kept && requests < Goal::WARM_UP_REQUESTS {
        return format!(": fewer than the {} requests from which on {budget} is kept", Goal::WARM_UP_REQUESTS);
    }
    if !is_p99_kept {
        return format!(": {budget} was NOT kept: {} of them lost more than the second", show_count(late));
    }
    if !is_mean_kept || slowdown.max > goal.max {
        return format!(": {budget} was NOT kept");
    }
    let worst = show_delay(slowdown.mean_worst);
    let few = if requests < Goal::WARM_UP_REQUESTS { ", among few requests" } else { "" };
    let was_above = goal.form == GoalForm::Strict && slowdown.mean_worst > goal.mean;
    match (was_above, events_lost) {
        (true, _) => format!(": {budget} was kept in the end; for a while the mean so far was {worst}"),
        (false, 0) if slowdown.is_estimate => format!(": as far as counters show, {budget} was kept{few}"),
        (false, 0) => format!(": {budget} was kept{few}"),
        (false, _) => format!(": as far as was seen, {budget} was kept{few}"),
    }
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

    #[test]
    fn the_verdict_claims_no_more_than_was_measured() {
        let goal = Goal::default();
        let verdict_for = |goal: Goal, requests: u64, lost: u64, worst: u64, max: u64, events_lost: u64| {
            let (total, mean_worst) = (Nanos::from_millis(lost), Nanos::from_millis(worst));
            let slowdown = Slowdown { total, mean_worst, max: Nanos::from_millis(max), ..Slowdown::default() };
            verdict(goal, requests, &slowdown, events_lost)
        };
        let budget = "the budget of 1 ms and 50 ms";
        assert_eq!(verdict_for(goal, 500, 400, 1, 20, 0), format!(": {budget} was kept"));
        let counted = Slowdown { is_estimate: true, ..Slowdown::default() };
        assert_eq!(verdict(goal, 500, &counted, 0), format!(": as far as counters show, {budget} was kept"));
        assert_eq!(verdict_for(goal, 500, 400, 1, 20, 7), format!(": as far as was seen, {budget} was kept"));
        assert_eq!(verdict_for(goal, 500, 600, 2, 20, 0), format!(": {budget} was NOT kept"));
        assert_eq!(verdict_for(goal, 500, 400, 1, 51, 0), format!(": {budget} was NOT kept"), "the longest");
        let recovered = verdict_for(goal, 500, 400, 3, 20, 0);
        assert!(recovered.ends_with("was kept in the end; for a while the mean so far was 3.00 ms"), "{recovered}");
        assert_eq!(verdict_for(goal.form(GoalForm::Average), 500, 400, 3, 20, 0), format!(": {budget} was kept"));
        assert_eq!(verdict_for(goal, 50, 40, 0, 20, 0), format!(": {budget} was kept, among few requests"));
        assert!(verdict_for(goal, 50, 70, 0, 20, 0).starts_with(": fewer than the 100 requests"));
        assert!(verdict_for(goal, 50, 70, 0, 60, 0).ends_with("was NOT kept"));
        let mut late = Slowdown::default();
        (0..6).for_each(|_| late.add_with_queue(Nanos::from_millis(8), 1));
        let p99 = |millis| verdict(goal.p99(Some(Nanos::from_millis(millis))), 500, &late, 0);
        assert_eq!(p99(9), ": the budget of 1 ms, 9 ms for 99 of 100 and 50 ms was kept");
        assert!(p99(5).ends_with("was NOT kept: 6 of them lost more than the second"), "{}", p99(5));
    }

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
        assert_eq!(all_verified(Bytes::mib(1), Some([8, 8])), "all of 1 MiB verified");
        assert_eq!(all_verified(Bytes::mib(1), Some([7, 8])), "all that was ever written of its 1 MiB verified");
        let none = "nothing was ever written to its 1 MiB, so there was nothing to verify";
        assert_eq!(all_verified(Bytes::mib(1), Some([0, 8])), none);
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
