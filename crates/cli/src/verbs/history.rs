//! `scrubjay history`: what happened, the newest first.

use super::state_folder;
use super::words::moment;
use crate::args::HistoryArgs;
use crate::exit::{Exit, Usage};
use crate::say::print_line;
use crate::{columns, disks};
use anyhow::{Context, Result};
use scrubjay_daemon::discovery::{SeenDisk, SystemRoot, survey};
use scrubjay_daemon::history::{HistoryDatabase, HistoryEvent};
use scrubjay_daemon::pump::is_called;
use scrubjay_watch::facts::DiskKey;
use serde::Serialize;
use std::io::{self, Write};

const HEADINGS: [&str; 4] = ["WHEN", "EVENT", "OF", "WHAT"];

/// Prints it.
pub fn run(args: &HistoryArgs) -> Result<Exit> {
    let folder = args
        .state
        .clone()
        .unwrap_or_else(|| super::seen().map_or_else(|_| state_folder(None), |seen| seen.folder.into()));
    let file = folder.join("history.db");
    if file.try_exists().is_ok_and(|is_there| !is_there) {
        let file = file.display();
        return Err(Usage(format!("{file} is not there: no watch has run with this folder (--state)")).into());
    }
    let history = HistoryDatabase::open_read_only(&file)?;
    let key = args.disk.as_deref().map(key_of).transpose()?;
    let events = history.events(args.limit as usize, key.as_ref())?;
    let mut out = io::stdout().lock();
    if args.json {
        let document = HistoryDocument { schema: 1, events: events.iter().map(EventEntry::of).collect() };
        writeln!(out, "{}", serde_json::to_string(&document).context("the history as JSON")?)?;
        return Ok(Exit::Clean);
    }
    if events.is_empty() {
        match &args.disk {
            Some(disk) => print_line(&mut out, format_args!("Nothing is known of {disk}."))?,
            None => writeln!(out, "Nothing has happened yet.")?,
        }
        return Ok(Exit::Clean);
    }
    let rows: Vec<Vec<String>> = events.iter().map(row).collect();
    columns::print(&HEADINGS, &[], &rows, disks::width(), &mut out)?;
    Ok(Exit::Clean)
}

fn row(event: &HistoryEvent) -> Vec<String> {
    vec![moment(event.at.0), event.kind.word().replace('-', " "), event.subject.clone(), event.words.clone()]
}

/// The identity of the disk that is called so now, or of one that is not there any more.
fn key_of(name: &str) -> Result<DiskKey> {
    let seen = survey(&SystemRoot::default(), &[name.into()]);
    let found: Vec<&SeenDisk> = seen.disks.iter().filter(|disk| is_called(disk, name)).collect();
    match found[..] {
        [disk] => Ok(disk.facts.key.clone()),
        [] => Ok(DiskKey(name.to_owned())),
        _ => Err(Usage(format!("{name}: several disks are called so: use a serial number")).into()),
    }
}

/// The JSON of `history --json`.
#[derive(Serialize)]
struct HistoryDocument<'e> {
    schema: u32,
    events: Vec<EventEntry<'e>>,
}

#[derive(Serialize)]
struct EventEntry<'e> {
    number: u64,
    time: u64,
    kind: &'static str,
    disk: Option<&'e str>,
    subject: &'e str,
    words: &'e str,
}

impl EventEntry<'_> {
    fn of(event: &HistoryEvent) -> EventEntry<'_> {
        let HistoryEvent { number, at, kind, disk, subject, words } = event;
        let disk = disk.as_ref().map(|key| key.0.as_str());
        EventEntry { number: *number, time: at.0, kind: kind.word(), disk, subject, words }
    }
}
