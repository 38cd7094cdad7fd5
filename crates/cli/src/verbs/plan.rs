//! `scrubjay plan`: when each disk is read and each array checked, until when, and what will be late.

use super::watch_status;
use crate::columns;
use crate::exit::Exit;
use anyhow::{Context, Result};
use scrubjay_control::wording::{ago, date, doing_of, in_order, moment, span};
use scrubjay_control::{ArrayEntry, DiskEntry, ReadingEntry, WatchDocument};
use scrubjay_core::quantity::show_time;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_watch::calendar::DAY;
use serde::Serialize;
use std::io::{self, Write};

const HEADINGS: [&str; 7] = ["DISK", "SIZE", "OLDEST READ", "ENDS", "MUST END BY", "IN TIME", "NOW"];
const LEAST_IMPORTANT: [&str; 2] = ["SIZE", "OLDEST READ"];
/// Seconds beyond which the end of a pass is shown without a date.
const FAR: u64 = 366 * DAY;

/// The JSON of `plan --json`.
#[derive(Serialize)]
struct PlanDocument<'d> {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    time: u64,
    paused_until: Option<u64>,
    /// Is this only what would be read?
    is_observed: bool,
    disks: &'d [DiskEntry],
    arrays: &'d [ArrayEntry],
}

/// Prints the plan.
pub fn run(json: bool) -> Result<Exit> {
    let status = watch_status()?;
    let mut out = io::stdout().lock();
    if json {
        let WatchDocument { time, paused_until, disks, arrays, .. } = &*status;
        let document = PlanDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            time: *time,
            paused_until: *paused_until,
            is_observed: status.observed.is_some(),
            disks,
            arrays,
        };
        writeln!(out, "{}", serde_json::to_string(&document).context("the plan as JSON")?)?;
    } else {
        if status.observed.is_some() {
            writeln!(out, "Only observed: this is what would be read.")?;
        }
        write(&status, columns::width(), &mut out)?;
    }
    let is_late = planned(&status).iter().any(|planned| planned.reading.lateness != Some(0));
    Ok(if is_late { Exit::Found } else { Exit::Clean })
}

/// Something that is read in passes.
struct Planned<'d> {
    name: String,
    bytes: Option<u64>,
    is_array: bool,
    reading: &'d ReadingEntry,
}

/// All that is present: the disks, then the arrays whose checkers are driven.
fn planned(status: &WatchDocument) -> Vec<Planned<'_>> {
    let disks = in_order(&status.disks).into_iter().filter_map(|disk| {
        let (name, bytes) = (disk.name.clone()?, Some(disk.bytes));
        Some(Planned { name, bytes, is_array: false, reading: &disk.reading })
    });
    let arrays = status.arrays.iter().filter(|array| array.is_there).filter_map(|array| {
        let name = format!("array {}", array.name);
        Some(Planned { name, bytes: None, is_array: true, reading: array.check.as_ref()? })
    });
    disks.chain(arrays).collect()
}

/// Their number in words: `8 disks and 1 array`.
fn count_words(planned: &[&Planned<'_>]) -> String {
    let arrays = planned.iter().filter(|planned| planned.is_array).count();
    let words = |count: usize, noun: &str| match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        _ => Some(format!("{count} {noun}s")),
    };
    let words: Vec<String> =
        [words(planned.len() - arrays, "disk"), words(arrays, "array")].into_iter().flatten().collect();
    words.join(" and ")
}

/// Writes the plan for people.
pub fn write(status: &WatchDocument, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    if let Some(until) = status.paused_until {
        writeln!(out, "Paused until {}; to go on sooner: sudo scrubjay resume\n", moment(until))?;
    }
    let all = planned(status);
    let present: Vec<&Planned<'_>> = all.iter().collect();
    let late: Vec<&Planned<'_>> = all.iter().filter(|planned| planned.reading.lateness != Some(0)).collect();
    match (present.len(), late.len()) {
        (0, _) => writeln!(out, "There is no disk to be read.")?,
        (_, 0) if present.iter().any(|planned| is_uncertain(planned.reading)) => {
            writeln!(out, "{} will most likely be read in time.", count_words(&present))?;
        }
        (_, 0) => writeln!(out, "{} will be read in time.", count_words(&present))?,
        _ => writeln!(out, "Of {}, {} will most likely be late.", count_words(&present), count_words(&late))?,
    }
    if present.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let rows: Vec<Vec<String>> = present.iter().map(|planned| row(planned, status.time)).collect();
    columns::print(&HEADINGS, &LEAST_IMPORTANT, &rows, width, out)?;
    let budgets: std::collections::BTreeSet<u64> = present.iter().map(|planned| planned.reading.budget_nanos).collect();
    let budgets: Vec<String> = budgets.into_iter().rev().map(|nanos| show_time(Nanos(nanos))).collect();
    writeln!(out)?;
    if rows.iter().any(|row| row[3].contains(" to ")) {
        writeln!(out, "Of ten passes eight end within the range given.")?;
    }
    writeln!(out, "Requests of others are delayed by no more than {} on average.", budgets.join(" or "))
}

/// May the pass end too late, although it most likely will not?
fn is_uncertain(reading: &ReadingEntry) -> bool {
    reading.forecast.is_some_and(|forecast| forecast.high > reading.due)
}

fn row(planned: &Planned<'_>, now: u64) -> Vec<String> {
    let reading = planned.reading;
    let ends = reading.forecast.map_or("not in sight".to_owned(), |forecast| {
        let (low, high) = (date(forecast.low), date(forecast.high));
        match forecast.high.saturating_sub(now) > FAR {
            true => format!("{low} or later"),
            false if low == high => low,
            false => format!("{low} to {high}"),
        }
    });
    let in_time = match reading.lateness {
        Some(0) if is_uncertain(reading) => "most likely".to_owned(),
        Some(0) => "yes".to_owned(),
        Some(seconds) => format!("{} late", span(seconds)),
        None => "no end in sight".to_owned(),
    };
    vec![
        planned.name.clone(),
        planned.bytes.map_or("-".to_owned(), |bytes| Bytes(bytes).to_string()),
        ago(now, reading.oldest_read),
        ends,
        date(reading.due),
        in_time,
        doing_of(reading),
    ]
}
