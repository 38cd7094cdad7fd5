//! The result for people: what was found, what it cost, what to do.

use crate::outcome::Outcome;
use crate::quantity::{show_count, show_time};
use scrubjay_core::scrub::{Report, State};
use scrubjay_core::units::{Bytes, Nanos};
use std::io::{self, Write};

/// So many runs of unreadable sectors are listed; `--json` has them all.
const RUNS_SHOWN: usize = 20;

/// What to do about unreadable sectors.
const ADVICE: &str = "what they held is lost unless a RAID or a backup has it: restore it from there (the write heals the \
sector), and replace the disk if there are more next time";

/// Prints one paragraph a target.
pub fn print(outcomes: &[Outcome], out: &mut impl Write) -> io::Result<()> {
    for outcome in outcomes {
        let report = &outcome.ended.report;
        writeln!(out, "{}: {}", outcome.facts.path.display(), headline(outcome))?;
        for found in report.unreadable.iter().take(RUNS_SHOWN) {
            let (start, count) = (found.range.start, found.range.count());
            let place = Bytes(found.range.start.byte());
            let sectors = if count == 1 { "sector" } else { "sectors" };
            writeln!(
                out,
                "  unreadable: {} {sectors} from {start} on (at {place}): {}",
                show_count(count),
                found.cause
            )?;
        }
        if report.unreadable.len() > RUNS_SHOWN {
            writeln!(out, "  ... and {} more places (--json lists all)", report.unreadable.len() - RUNS_SHOWN)?;
        }
        if let Some(cause) = report.transient_cause {
            let times = show_count(report.transient_errors);
            writeln!(
                out,
                "  {times} requests failed at first ({cause}), but every sector could be read when asked again"
            )?;
        }
        if !report.unreadable.is_empty() {
            writeln!(out, "  {ADVICE}")?;
        }
        writeln!(out, "  {}", cost(outcome))?;
        for note in outcome.notes() {
            writeln!(out, "  note: {note}")?;
        }
    }
    Ok(())
}

fn headline(outcome: &Outcome) -> String {
    let report = &outcome.ended.report;
    let verified = format!("{} of {} verified", report.bytes_verified, report.bytes);
    match report.state {
        State::Complete if report.unreadable.is_empty() => format!("clean: all of {} verified", report.bytes),
        State::Complete => {
            let places = report.unreadable.len();
            let places =
                if places == 1 { "one place".to_owned() } else { format!("{} places", show_count(places as u64)) };
            let count = report.unreadable_sectors();
            let sectors = if count == 1 { "sector" } else { "sectors" };
            format!("{} UNREADABLE {sectors} in {places}; all the rest of {} verified", show_count(count), report.bytes)
        }
        State::Running if !outcome.ended.is_saved => {
            format!("NOT DONE: {}; {verified}{}", outcome.error().unwrap_or_default(), found_so_far(report))
        }
        State::Running => {
            format!("paused: {verified}{}; the same command goes on from here", found_so_far(report))
        }
        State::Gone | State::Failed(_) => {
            format!("NOT DONE: {}; {verified}{}", outcome.error().unwrap_or_default(), found_so_far(report))
        }
    }
}

fn found_so_far(report: &Report) -> String {
    match report.unreadable_sectors() {
        0 => String::new(),
        count => format!(", {} UNREADABLE so far", show_count(count)),
    }
}

/// What it cost: time, and what others lost.
fn cost(outcome: &Outcome) -> String {
    let report = &outcome.ended.report;
    let seconds = report.elapsed.as_secs_f64().max(1e-9);
    let rate = Bytes((report.bytes_verified_now.0 as f64 / seconds) as u64);
    let took = format!("took {} ({rate}/s)", show_time(report.elapsed));
    let requests = match report.foreground_requests {
        0 => return format!("{took}; no foreground requests were seen ({})", outcome.facts.detector_kind),
        1 => "one foreground request".to_owned(),
        count => format!("{} foreground requests", show_count(count)),
    };
    let mean = Nanos::from_secs_f64(report.slowdown.mean_seconds(report.foreground_requests));
    let max = report.slowdown.max;
    let verdict = outcome.facts.goal.map_or(String::new(), |goal| {
        let is_kept = mean <= goal.mean && max <= goal.max;
        let (mean, max) = (show_time(goal.mean), show_time(goal.max));
        match (is_kept, outcome.ended.foreground_lost) {
            (true, 0) => format!(": the budget of {mean} and {max} was kept"),
            (true, _) => format!(": as far as was seen, the budget of {mean} and {max} was kept"),
            (false, _) => format!(": the budget of {mean} and {max} was NOT kept"),
        }
    });
    if max == Nanos::ZERO && outcome.ended.foreground_lost == 0 {
        return format!("{took}; {requests} lost nothing");
    }
    let collisions = show_count(report.slowdown.collisions);
    let (mean, max) = (show_time(mean), show_time(max));
    format!("{took}; {requests} lost {mean} each on average, {max} at most ({collisions} met ours){verdict}")
}
