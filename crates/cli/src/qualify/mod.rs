//! `scrubjay qualify`: on one real disk, what a client of its own feels beside what a scrub says.

mod by_hand;
mod client;
mod document;
pub mod load;
mod page;
mod round;
mod trial;

use crate::args::QualifyArgs;
use crate::bench::{HostMachine, disk::path_of};
use crate::columns::{self, TextTable};
use crate::exit::{Exit, Usage};
use crate::page::check_folder;
use crate::say::{print_line, print_prose, say, shown_path};
use crate::signals;
use crate::unwritable::unwritable;
use anyhow::{Context, Result};
use document::{QualifiedDisk, QualifyDocument, row, summary};
use load::QualifyLoad;
use round::{QualifiedRound, RoundVerdict};
use scrubjay_device::bench::BenchedDisk;
use scrubjay_device::output::{Existing, OutputFile};
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use trial::Trials;

/// Runs all rounds, or the client's process.
pub fn run(args: &QualifyArgs) -> Result<Exit> {
    let path = path_of(&args.target)?;
    if let Some(load) = args.client {
        return client::run(&path, load, args.seconds, args.seed);
    }
    let stop = signals::flag()?;
    args.page.as_deref().map_or(Ok(()), |folder| check_folder("--page", folder, args.force))?;
    let existing = if args.force { Existing::Replaced } else { Existing::Kept };
    let file = args.out.as_deref().map(|path| OutputFile::create(path, existing)).transpose().map_err(unwritable)?;
    let disk = match BenchedDisk::open(&path) {
        Ok(disk) => disk,
        Err(error) => {
            say(format_args!("scrubjay: {error}"));
            return Ok(crate::bench::disk::exit_of(&error));
        }
    };
    if disk.is_scrubbed() {
        let wait = "something scrubs it now: sudo scrubjay pause 1h, or wait, then try again";
        return Err(Usage(format!("{}: {wait}", args.target)).into());
    }
    let (facts, bytes) = (disk.facts().clone(), disk.geometry().0);
    drop(disk); // the client and the scrub open it themselves
    let trials = Trials::new(path, args, stop.clone())?;
    let mut rounds = Vec::new();
    for load in QualifyLoad::ALL {
        if !trials.rounds_of(load, &mut rounds)? {
            break;
        }
    }
    let is_complete = !stop.load(Ordering::Relaxed);
    let verify = (args.verify && is_complete).then(|| trials.verify());
    let by_hand = if args.by_hand && is_complete { by_hand::run(&trials)? } else { Vec::new() };
    let document = QualifyDocument {
        schema: 1,
        version: scrubjay_control::version::version(),
        kernel: facts.kernel.clone(),
        machine: HostMachine::read(),
        disk: QualifiedDisk::of(&facts, bytes),
        minutes: args.minutes,
        is_complete,
        rounds,
        verify,
        by_hand,
    };
    show(&document, args, file)
}

/// Prints the result, and writes it where that was asked for.
fn show(document: &QualifyDocument, args: &QualifyArgs, file: Option<OutputFile>) -> Result<Exit> {
    let text = serde_json::to_string(document).context("the result as JSON")?;
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(out, "{text}")?,
        false => print(document, &args.target, &mut out)?,
    }
    if let (Some(mut file), Some(path)) = (file, &args.out) {
        writeln!(file, "{text}")?;
        file.commit().map_err(unwritable)?;
        say(format_args!("Written: {}", shown_path(path)));
    }
    if let Some(folder) = &args.page {
        let files = page::write(document, &args.target, folder)?;
        say(format_args!("Written: {}", files.first().map(|path| shown_path(path)).unwrap_or_default()));
    }
    let is_bad = |round: &QualifiedRound| matches!(round.verdict, RoundVerdict::Exceeded | RoundVerdict::Unseen);
    Ok(match document.is_complete {
        false => Exit::Paused,
        true if document.rounds.iter().any(is_bad) => Exit::Found,
        true => Exit::Clean,
    })
}

/// The table and its summary.
fn print(document: &QualifyDocument, target: &str, out: &mut impl Write) -> Result<()> {
    let width = columns::width();
    let disk = &document.disk;
    let detector = document.rounds.first().map_or("none", |round| round.scrub.detector.as_str());
    let head = [
        Some(target.to_owned()),
        disk.model.clone(),
        Some(disk.class.clone()),
        Some(format!("requests seen by {detector}")),
    ];
    print_line(out, format_args!("{}", head.into_iter().flatten().collect::<Vec<_>>().join("  ")))?;
    let rows: Vec<Vec<String>> = document.rounds.iter().map(row).collect();
    if !rows.is_empty() {
        let headings = ["load", "goal", "alone", "beside", "felt", "scrub says", "scrub read", "seen", ""];
        TextTable { headings: &headings, least_important: &["alone", "beside"], figures: 1..8, indent: 2 }
            .print(&rows, width, out)?;
    }
    print_prose(out, "", &summary(document), width)?;
    for trial in &document.by_hand {
        print_prose(out, "", &trial.words(), width)?;
    }
    Ok(())
}
