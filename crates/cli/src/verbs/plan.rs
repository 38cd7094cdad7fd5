//! `scrubjay plan`: when each disk is read, until when, and which one will be late.

use super::picture;
use super::words::{ago, date, span};
use crate::exit::Exit;
use crate::{columns, disks};
use anyhow::{Context, Result};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_daemon::control::{DiskEntry, WatchDocument};
use scrubjay_jobs::quantity::show_time;
use serde::Serialize;
use std::io::{self, Write};

const HEADINGS: [&str; 7] = ["DISK", "SIZE", "OLDEST READ", "DUE", "ENDS", "IN TIME", "NOW"];
const LEAST: [&str; 2] = ["SIZE", "OLDEST READ"];

/// The JSON of `plan --json`.
#[derive(Serialize)]
struct PlanDocument<'d> {
    schema: u32,
    time: u64,
    paused_until: Option<u64>,
    disks: &'d [DiskEntry],
}

/// Prints the plan.
pub fn run(json: bool) -> Result<Exit> {
    let seen = picture()?;
    let mut out = io::stdout().lock();
    if json {
        let WatchDocument { time, paused_until, disks, .. } = &*seen;
        let document = PlanDocument { schema: 1, time: *time, paused_until: *paused_until, disks };
        writeln!(out, "{}", serde_json::to_string(&document).context("the plan as JSON")?)?;
    } else {
        write(&seen, disks::width(), &mut out)?;
    }
    let is_late = seen.disks.iter().any(|disk| disk.name.is_some() && disk.lateness != Some(0));
    Ok(if is_late { Exit::Found } else { Exit::Clean })
}

/// Writes it for people.
pub fn write(seen: &WatchDocument, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    let there: Vec<&DiskEntry> = seen.disks.iter().filter(|disk| disk.name.is_some()).collect();
    let late = there.iter().filter(|disk| disk.lateness != Some(0)).count();
    match (there.len(), late) {
        (0, _) => writeln!(out, "There is no disk to be read.")?,
        (1, 0) => writeln!(out, "The disk will be read in time.")?,
        (all, 0) => writeln!(out, "All {all} disks will be read in time.")?,
        (1, 1) => writeln!(out, "The disk will most likely be late.")?,
        (all, late) => writeln!(out, "{late} of {all} disks will most likely be late.")?,
    }
    if there.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let rows: Vec<Vec<String>> = there.iter().map(|disk| row(disk, seen.time)).collect();
    columns::print(&HEADINGS, &LEAST, &rows, width, out)?;
    let budgets: std::collections::BTreeSet<u64> = there.iter().map(|disk| disk.budget_nanos).collect();
    let budgets: Vec<String> = budgets.into_iter().rev().map(|nanos| show_time(Nanos(nanos))).collect();
    writeln!(
        out,
        "\nEnds: with 80 % probability within the range. A scrub adds at most {} to a request of others, as a mean.",
        budgets.join(" or ")
    )
}

fn row(disk: &DiskEntry, now: u64) -> Vec<String> {
    let ends = disk.forecast.map_or("not in sight".to_owned(), |forecast| {
        let (low, high) = (date(forecast.low), date(forecast.high));
        if low == high { low } else { format!("{low} to {high}") }
    });
    let in_time = match disk.lateness {
        Some(0) => "yes".to_owned(),
        Some(seconds) => format!("{} late", span(seconds)),
        None => "no end in sight".to_owned(),
    };
    let share = disk.pass_share.map(|share| format!("{:.0} % read", (share * 100.0).floor()));
    let now_text = match (disk.activity.as_str(), share, &disk.why) {
        ("held", Some(share), Some(why)) => format!("{share}; {why}"),
        ("held", None, Some(why)) => why.clone(),
        ("held", _, None) => "next in turn".to_owned(),
        (_, Some(share), _) => format!("being read, {share}"),
        (_, None, _) => "being read".to_owned(),
    };
    vec![
        disk.name.clone().unwrap_or_default(),
        Bytes(disk.bytes).to_string(),
        ago(now, disk.oldest_read),
        date(disk.due),
        ends,
        in_time,
        now_text,
    ]
}
