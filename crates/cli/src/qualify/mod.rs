//! `scrubjay qualify`: on one real disk, what a client of its own feels beside what a scrub says.

mod by_hand;
mod client;
pub mod load;
mod page;
mod round;
mod trial;

use crate::args::QualifyArgs;
use crate::bench::{HostMachine, disk::path_of};
use crate::columns::{self, TextTable};
use crate::exit::Exit;
use crate::page::check_folder;
use crate::say::{print_line, print_prose, say, shown_path};
use crate::signals;
use crate::unwritable::unwritable;
use anyhow::{Context, Result};
use by_hand::HandTrial;
use client::ClientLatencies;
use load::ClientLoad;
use round::{QualifiedRound, RoundVerdict};
use scrubjay_core::bench::class::MediumClass;
use scrubjay_core::bench::words;
use scrubjay_device::bench::{BenchedDisk, BenchedFacts};
use scrubjay_device::output::{Existing, OutputFile};
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use trial::Trials;

/// The disk, as far as it matters to a reader of the result.
#[derive(Debug, Serialize)]
struct QualifiedDisk {
    model: Option<String>,
    serial: Option<String>,
    class: String,
    driver: Option<String>,
    scheduler: Option<String>,
    write_cache: Option<String>,
    bytes: u64,
    /// Is it a disk that something else makes (a hypervisor, a loop device)? Then it proves nothing of real ones.
    is_emulated: bool,
}

/// The result, as it is written and printed by `--json`.
#[derive(Debug, Serialize)]
struct QualifyDocument {
    schema: u32,
    version: &'static str,
    kernel: String,
    machine: HostMachine,
    disk: QualifiedDisk,
    minutes: f64,
    /// Did all rounds come to their end?
    is_complete: bool,
    rounds: Vec<QualifiedRound>,
    /// What `bench verify --json` said, if that was asked for.
    verify: Option<Value>,
    by_hand: Vec<HandTrial>,
}

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
    let (facts, bytes) = (disk.facts().clone(), disk.geometry().0);
    drop(disk); // the client and the scrub open it themselves
    let trials = Trials::new(path, args, stop.clone())?;
    let mut rounds = Vec::new();
    for load in ClientLoad::ALL {
        if !trials.rounds_of(load, &mut rounds)? {
            break;
        }
    }
    let is_complete = !stop.load(Ordering::Relaxed);
    let verify = (args.verify && is_complete).then(|| trials.verify());
    let by_hand = if args.by_hand && is_complete { by_hand::run(&trials)? } else { Vec::new() };
    let document = QualifyDocument {
        schema: 1,
        version: scrubjay_jobs::version::version(),
        kernel: facts.kernel.clone(),
        machine: HostMachine::read(),
        disk: described(&facts, bytes),
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

fn described(facts: &BenchedFacts, bytes: u64) -> QualifiedDisk {
    let is_emulated = facts.intermediary.is_some()
        || matches!(facts.class, MediumClass::Virtual | MediumClass::Layered | MediumClass::Remote);
    QualifiedDisk {
        model: facts.model.clone(),
        serial: facts.serial.clone(),
        class: facts.class.to_string(),
        driver: facts.driver.clone(),
        scheduler: facts.scheduler.clone(),
        write_cache: facts.write_cache.clone(),
        bytes,
        is_emulated,
    }
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

/// A row of the table.
fn row(round: &QualifiedRound) -> Vec<String> {
    let sent = round.beside.requests + round.beside.errors;
    vec![
        round.load.name().to_owned(),
        words::latency(round.goal_seconds),
        words::latency(round.alone_mean()),
        words::latency(round.beside.mean_seconds),
        format!("{:+.2} ±{:.2} ms", 1e3 * round.felt_mean_seconds, 1e3 * round.felt_error_seconds),
        round.scrub.mean_slowdown_seconds.map_or_else(|| "-".to_owned(), |mean| format!("{:.2} ms", 1e3 * mean)),
        words::throughput(round.scrub_rate()),
        format!("{} of {sent}", round.scrub.foreground_requests),
        round.verdict.word().to_owned(),
    ]
}

/// What follows, in a sentence or two.
fn summary(document: &QualifyDocument) -> String {
    let count = |verdict: RoundVerdict| document.rounds.iter().filter(|round| round.verdict == verdict).count();
    let all = document.rounds.len();
    let mut words = format!("The client lost no more than the goal in {} of {all} rounds", count(RoundVerdict::Kept));
    for (verdict, what) in [
        (RoundVerdict::Exceeded, "lost more"),
        (RoundVerdict::Unclear, "cannot be told: the client's own latency varies by more than the goal"),
        (RoundVerdict::Unseen, "not all of its requests were seen"),
    ] {
        match count(verdict) {
            0 => {}
            rounds => words += &format!("; in {rounds} {what}"),
        }
    }
    words += ".";
    if !document.is_complete {
        words += " It was stopped before its end.";
    }
    if document.disk.is_emulated {
        words += " This disk is emulated: it says nothing of real ones.";
    }
    words
}

/// What the client's process printed.
fn latencies(text: &[u8]) -> Result<ClientLatencies> {
    serde_json::from_slice(text).context("the client's latencies")
}
