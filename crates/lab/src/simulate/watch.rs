//! `scrubjay simulate watch`: a year of a modelled machine under the watch.

use super::page_recorder::PageRecorder;
use crate::args::SimulateWatch;
use anyhow::{Context, Result};
use scrubjay_cli::columns::{self, TextTable};
use scrubjay_cli::exit::{Exit, Usage};
use scrubjay_cli::say::print_prose;
use scrubjay_cli::unwritable::unwritable;
use scrubjay_core::quantity::show_count;
use scrubjay_device::output::{self, Existing};
use scrubjay_sim::host::calendar::DaylightCalendar;
use scrubjay_sim::host::fact::{HostFact, HostObserver};
use scrubjay_sim::host::run::{HostSummary, ModelledHost};
use scrubjay_sim::host::setup::HostSetup;
use scrubjay_sim::host::table::{HostMessage, HostMonth, HostTable};
use scrubjay_watch::calendar::DAY;
use scrubjay_words::{counted, show_time};
use serde::Serialize;
use std::io::{self, Write};

/// Disks of a model, and the days that it lasts, at most.
const DISKS_MAX: usize = 60;
const DAYS_MAX: u64 = 3660;
/// Seconds within which the same message by another channel counts as a copy.
const COPY_SECONDS_MAX: u64 = 7 * DAY;
/// Messages before it that are searched for a copy.
const COPY_SEARCH_MAX: usize = 50;
/// Columns of the text if there is no terminal.
const COLUMNS: usize = 80;

/// Runs the model.
pub fn run(args: &SimulateWatch) -> Result<Exit> {
    if args.disks == 0 || args.disks > DISKS_MAX {
        return Err(Usage(format!("--disks {}: a model has 1 to {DISKS_MAX}", args.disks)).into());
    }
    if args.days == 0 || args.days > DAYS_MAX {
        return Err(Usage(format!("--days {}: a model lasts 1 to {DAYS_MAX}", args.days)).into());
    }
    let setup = HostSetup { trouble: args.trouble, ..HostSetup::usual(args.seed, args.disks, args.days) };
    let every_days = setup.settings.every / DAY;
    let mut observers = TableAndPage {
        table: HostTable::default(),
        page: args.page.as_ref().map(|_| PageRecorder::new(&setup)).transpose()?,
    };
    let summary = ModelledHost::run(setup, &mut observers);
    let TableAndPage { table, page } = observers;
    if let Some((path, page)) = args.page.as_ref().zip(page) {
        let snapshot = serde_json::to_vec(&page.snapshot()?).context("the page as JSON")?;
        let existing = if args.force { Existing::Replaced } else { Existing::Kept };
        output::write(path, existing, &snapshot).map_err(unwritable)?;
    }
    let mut out = io::stdout().lock();
    let printed = if args.json {
        let document = WatchedDocument::new(args, &table, summary, every_days);
        writeln!(out, "{}", serde_json::to_string(&document).context("the result as JSON")?)
    } else {
        print(&mut out, args, &table, every_days)
    };
    printed.context("cannot write the result to standard output")?;
    Ok(Exit::Clean)
}

/// The observers of the model.
struct TableAndPage {
    table: HostTable,
    page: Option<PageRecorder>,
}

impl HostObserver for TableAndPage {
    fn observe(&mut self, at: u64, fact: &HostFact<'_>) {
        self.table.observe(at, fact);
        if let Some(page) = &mut self.page {
            page.observe(at, fact);
        }
    }
}

/// A month, such as `2026-03`.
fn month_of((year, month): (i64, u32)) -> String {
    format!("{year}-{month:02}")
}

fn print(out: &mut impl Write, args: &SimulateWatch, table: &HostTable, every_days: u64) -> io::Result<()> {
    let (columns, lasts) = (Some(columns::width().unwrap_or(COLUMNS)), counted(args.days, "day"));
    let disks = counted(args.disks as u64, "disk");
    writeln!(out, "{disks}, {lasts}, seed {}: a model\n", args.seed)?;
    let row = |month: &HostMonth| {
        let counts = [month.passes, month.opened, month.resolved, month.messages].map(show_count);
        let age = format!("{:.1} days", month.age_max as f64 / DAY as f64);
        [month_of(month.month)].into_iter().chain(counts).chain([age]).collect()
    };
    let rows: Vec<Vec<String>> = table.months.iter().map(row).collect();
    let headings = ["month", "passes", "incidents", "resolved", "messages", "oldest unread sector"];
    let least_important = ["resolved", "messages", "incidents"];
    let months = TextTable { headings: &headings, least_important: &least_important, figures: 1..6, indent: 0 };
    months.print(&rows, columns, out)?;
    let worst = table.months.iter().map(|month| month.age_max).max().unwrap_or(0).div_ceil(DAY);
    let word = if worst <= every_days { "in time" } else { "too late" };
    let (every, worst) = (counted(every_days, "day"), counted(worst, "day"));
    writeln!(out)?;
    let wait = format!("Every sector is to be read within {every}; the longest wait: {worst}, {word}.");
    print_prose(out, "", &wait, columns)?;
    let HostTable { forecasts, held, .. } = table;
    let held = format!("Forecasts: {held} of {forecasts} passes ended in the range forecast (8 of 10 should).");
    print_prose(out, "", &held, columns)?;
    writeln!(out)?;
    print_prose(out, "", "What arrived (what came by several ways is shown once):", columns)?;
    let mut shown: Vec<&HostMessage> = Vec::new();
    for message in &table.messages {
        // By another channel, which may have been down for days.
        let is_copy = |known: &&&HostMessage| {
            subject_without_code(known) == subject_without_code(message)
                && known.channel != message.channel
                && message.at.0 - known.at.0 < COPY_SECONDS_MAX
        };
        if shown.iter().rev().take(COPY_SEARCH_MAX).find(is_copy).is_none() {
            let mark = if message.may_be_repeated { " (may be a repetition)" } else { "" };
            let label = format!("{:>17}  ", show_time(&DaylightCalendar, message.at));
            print_prose(out, &label, &format!("{}{mark}", message.subject), columns)?;
            shown.push(message);
        }
    }
    Ok(())
}

/// The subject without its code, in which tests differ.
fn subject_without_code(message: &HostMessage) -> &str {
    message.subject.split_once(" code ").map_or(&message.subject, |(subject, _)| subject)
}

/// The JSON of `--json`: schema 1.
#[derive(Debug, Serialize)]
struct WatchedDocument<'a> {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    seed: u64,
    days: u64,
    /// All disks, later additions included.
    disks: u64,
    scrub_every_days: u64,
    forecasts: u64,
    forecasts_held: u64,
    months: Vec<WatchedMonth>,
    messages: Vec<WatchedMessage<'a>>,
}

#[derive(Debug, Serialize)]
struct WatchedMonth {
    month: String,
    passes: u64,
    incidents_opened: u64,
    incidents_resolved: u64,
    messages: u64,
    oldest_unread_seconds: u64,
}

#[derive(Debug, Serialize)]
struct WatchedMessage<'a> {
    unix_seconds: u64,
    channel: &'a str,
    subject: &'a str,
    may_be_repeated: bool,
}

impl<'a> WatchedDocument<'a> {
    fn new(args: &SimulateWatch, table: &'a HostTable, summary: HostSummary, every_days: u64) -> WatchedDocument<'a> {
        let months = table.months.iter().map(|month| WatchedMonth {
            month: month_of(month.month),
            passes: month.passes,
            incidents_opened: month.opened,
            incidents_resolved: month.resolved,
            messages: month.messages,
            oldest_unread_seconds: month.age_max,
        });
        let messages = table.messages.iter().map(|message| WatchedMessage {
            unix_seconds: message.at.0,
            channel: &message.channel,
            subject: &message.subject,
            may_be_repeated: message.may_be_repeated,
        });
        WatchedDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            seed: args.seed,
            days: args.days,
            disks: summary.disks,
            scrub_every_days: every_days,
            forecasts: table.forecasts,
            forecasts_held: table.held,
            months: months.collect(),
            messages: messages.collect(),
        }
    }
}
