//! `scrubjay history`: events, the newest first.

use super::state_folder;
use crate::args::HistoryArgs;
use crate::columns;
use crate::exit::{Exit, Usage};
use crate::say::say;
use anyhow::{Context, Result};
use scrubjay_control::WatchDocument;
use scrubjay_control::wording::moment;
use scrubjay_daemon::discovery::{SeenDisk, SystemRoot, survey};
use scrubjay_daemon::history::{HistoryDatabase, HistoryEvent};
use scrubjay_daemon::pump::is_called;
use scrubjay_watch::facts::DiskKey;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;

/// Characters of a UUID.
const UUID_LENGTH: usize = 36;

const HEADINGS: [&str; 4] = ["WHEN", "EVENT", "OF", "WHAT"];

/// Prints the events.
pub fn run(args: &HistoryArgs) -> Result<Exit> {
    let watch = super::watch_status_or_reason().ok();
    let watch_folder = || watch.as_ref().map_or_else(|| state_folder(None), |watch| PathBuf::from(&watch.folder));
    let file = args.state.clone().unwrap_or_else(watch_folder).join("history.db");
    if file.try_exists().is_ok_and(|is_there| !is_there) {
        let file = file.display();
        return Err(Usage(format!("{file} is not there: no watch has run with this folder (--state)")).into());
    }
    let history = HistoryDatabase::open_read_only(&file)?;
    let key = args.disk.as_deref().map(|disk| key_of(disk, watch.as_deref())).transpose()?;
    let events = history.events(args.limit as usize, key.as_ref())?;
    if args.state.is_none() && watch.as_ref().is_some_and(|watch| watch.observed.is_some()) {
        let observed = file.with_file_name("observed");
        say(format_args!("the watch only observes now; what it would have done: --state {}", observed.display()));
    }
    let mut out = io::stdout().lock();
    if args.json {
        let document = HistoryDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            events: events.iter().map(EventEntry::of).collect(),
        };
        writeln!(out, "{}", serde_json::to_string(&document).context("the history as JSON")?)?;
        return Ok(Exit::Clean);
    }
    if events.is_empty() {
        match &args.disk {
            Some(disk) => {
                return Err(Usage(format!("{disk}: nothing in the history is of a disk that is called so")).into());
            }
            None => writeln!(out, "Nothing has happened yet.")?,
        }
        return Ok(Exit::Clean);
    }
    let rows: Vec<Vec<String>> = events.iter().map(|event| row(event, watch.as_deref())).collect();
    columns::print(&HEADINGS, &[], &rows, columns::width(), &mut out)?;
    Ok(Exit::Clean)
}

fn row(event: &HistoryEvent, watch: Option<&WatchDocument>) -> Vec<String> {
    // An array is shown by its name, or by the beginning of its UUID.
    let array = watch.and_then(|watch| watch.arrays.iter().find(|array| array.key == event.subject));
    let subject = match array {
        Some(array) => array.name.clone(),
        None if event.subject.len() == UUID_LENGTH => event.subject[..8].to_owned(),
        None => event.subject.clone(),
    };
    vec![moment(event.at.0), event.kind.word().replace('-', " "), subject, event.words.clone()]
}

/// The identity of the disk that has this name now, or of one that is gone.
fn key_of(name: &str, watch: Option<&WatchDocument>) -> Result<DiskKey> {
    let survey = survey(&SystemRoot::default(), &[name.into()]);
    let found: Vec<&SeenDisk> = survey.disks_meant(|disk| is_called(disk, name));
    match found[..] {
        [disk] => Ok(disk.facts.key.clone()),
        [] => {
            let gone = super::gone(watch, name)?;
            Ok(DiskKey(gone.map_or_else(|| name.to_owned(), |disk| disk.key.clone())))
        }
        _ => Err(Usage(format!("{name}: several disks are called so: use a serial number")).into()),
    }
}

/// The JSON of `history --json`.
#[derive(Serialize)]
struct HistoryDocument<'e> {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
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
