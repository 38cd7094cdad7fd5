//! `scrubjay bench verify`: does a drive's VERIFY read the medium, or answer from its cache?

use super::disk::{exit_of, path_of};
use crate::args::BenchVerifyArgs;
use crate::columns::{self, TextTable};
use crate::exit::Exit;
use crate::page;
use crate::page::{StudyProvenance, check_folder};
use crate::say::{print_line, print_prose, say};
use crate::signals;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scrubjay_chart::{Axis, Exhibit, Figure, Page, Series, Style};
use scrubjay_core::bench::class::MediumClass;
use scrubjay_core::bench::verifying::{MiddleTime, ReadCache, ResponseTimes, VerifyHonesty, VerifyVerdict, judge};
use scrubjay_core::bench::words;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_device::bench::verifying::{MissingWay, measure};
use scrubjay_device::bench::{BenchedDisk, ReadCacheError, ReadCacheOff, put_back_all};
use scrubjay_device::{clock, inventory};
use scrubjay_jobs::verify_bench::BenchVerifyDocument;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Revolutions a minute of the fastest disks that were made: no revolution is shorter.
const RPM_MAX: u32 = 15_000;

/// All measurements.
struct VerifyMeasurements {
    times: Vec<ResponseTimes>,
    missing: Vec<MissingWay>,
    cache_note: Option<String>,
}

/// Runs the measurement.
pub fn run(args: &BenchVerifyArgs) -> Result<Exit> {
    let stop = signals::flag()?;
    args.page.as_deref().map_or(Ok(()), |folder| check_folder("--page", folder, args.force))?;
    put_back_all().iter().for_each(|line| say(format_args!("scrubjay: {line}")));
    let path = path_of(&args.target)?;
    let disk = match BenchedDisk::open(&path) {
        Ok(disk) => disk,
        Err(error) => {
            say(format_args!("scrubjay: {error}"));
            return Ok(exit_of(&error));
        }
    };
    let turn = match disk.facts().class {
        MediumClass::Rotating { rpm } => Some(60.0 / f64::from(rpm.unwrap_or(RPM_MAX))),
        _ => None,
    };
    let measured = measure_all(&disk, args, &stop)?;
    let VerifyMeasurements { times, missing, cache_note } = &measured;
    let mut ways: Vec<&'static str> = times.iter().map(|times| times.way).filter(|way| *way != "read").collect();
    ways.dedup();
    ways.sort_unstable();
    ways.dedup();
    let verdicts: Vec<VerifyVerdict> = ways.into_iter().map(|way| judge(way, times, turn)).collect();
    let is_complete = !stop.load(Ordering::Relaxed);
    let key = disk.key();
    let mut out = io::stdout().lock();
    let printed = if args.json {
        let names = (args.target.as_str(), key.as_str());
        let document =
            BenchVerifyDocument::new(names, turn, is_complete, cache_note.as_deref(), &verdicts, missing, times);
        writeln!(out, "{}", serde_json::to_string(&document).context("the result as JSON")?)
    } else {
        print(&args.target, &disk, &verdicts, &measured, &mut out)
    };
    printed.context("cannot write the result to standard output")?;
    drop(out);
    if let Some(folder) = &args.page {
        let page = figure(&args.target, &verdicts, times);
        let files = page::write(&page, folder, StudyProvenance::of_this_run().all())?;
        say(format_args!("scrubjay: {}: a figure, and {} files beside it", files[0].display(), files.len() - 1));
    }
    let is_dishonest =
        |verdict: &VerifyVerdict| matches!(verdict.honesty, VerifyHonesty::FromCache | VerifyHonesty::ReadsNothing);
    Ok(match is_complete {
        false => Exit::Paused,
        true if verdicts.is_empty() => Exit::Usage,
        true if verdicts.iter().any(is_dishonest) => Exit::Found,
        true => Exit::Clean,
    })
}

/// Measures with the read cache as it is, and switched off where that is possible.
fn measure_all(disk: &BenchedDisk, args: &BenchVerifyArgs, stop: &AtomicBool) -> Result<VerifyMeasurements> {
    let is_shown = !args.no_progress && io::stderr().is_terminal();
    let target = if is_shown { ProgressDrawTarget::stderr_with_hz(5) } else { ProgressDrawTarget::hidden() };
    let line = ProgressBar::with_draw_target(None, target);
    line.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a constant template"));
    let progress = |cache: ReadCache| {
        let line = line.clone();
        move |way: &'static str, size| {
            line.set_message(format!("{way}, {cache}: {} at a time", Bytes(size)));
            line.tick();
        }
    };
    let seed = clock::now().0;
    let failed = "the disk did not answer";
    // Another holder of the disk may be measuring it, too, with a cache setting of its own.
    let may_switch_cache = !args.keep_cache && disk.is_block_device() && !disk.is_scrubbed();
    let off = match disk.disk().filter(|_| may_switch_cache) {
        // The cache belongs to the whole disk, whichever part is measured.
        Some(node) => {
            let key = inventory::identity(&node.name).map_or_else(|| disk.key(), |id| id.key());
            ReadCacheOff::switch(node, &key).map_err(Some)
        }
        None => Err(None),
    };
    let (mut times, mut cache_note, mut cache_state) = (Vec::new(), None, ReadCache::Unknown);
    match off {
        Ok(off) => {
            let (measured, _) =
                measure(disk, ReadCache::Off, seed, stop, &mut progress(ReadCache::Off)).context(failed)?;
            times = measured;
            drop(off);
            cache_state = ReadCache::On;
        }
        Err(Some(ReadCacheError::OffAlready)) => {
            cache_state = ReadCache::Off;
            cache_note = Some(ReadCacheError::OffAlready.to_string());
        }
        Err(error) => cache_note = error.map(|error| error.to_string()),
    }
    let measured = measure(disk, cache_state, seed.wrapping_add(1), stop, &mut progress(cache_state)).context(failed);
    line.finish_and_clear();
    let (measured, missing) = measured?;
    times.extend(measured);
    Ok(VerifyMeasurements { times, missing, cache_note })
}

fn sentence(verdict: &VerifyVerdict) -> String {
    let judgement = match verdict.honesty {
        VerifyHonesty::ReadsMedium => "reads the medium",
        VerifyHonesty::FromCache => "answers from the drive's cache",
        VerifyHonesty::ReadsNothing => "reads nothing: a clean answer is worth nothing",
        VerifyHonesty::Unknown => "whether it reads the medium is not known",
    };
    format!("VERIFY ({}): {judgement}: {}.", verdict.way, verdict.why)
}

fn print(
    name: &str,
    disk: &BenchedDisk,
    verdicts: &[VerifyVerdict],
    measured: &VerifyMeasurements,
    out: &mut impl Write,
) -> io::Result<()> {
    let width = columns::width();
    if verdicts.is_empty() {
        print_prose(out, "", "No VERIFY was measured: see below for what this disk says.", width)?;
    }
    verdicts.iter().try_for_each(|verdict| print_prose(out, "", &sentence(verdict), width))?;
    let facts = disk.facts();
    let words = [Some(name.to_owned()), facts.model.clone(), facts.serial.clone(), Some(facts.class.to_string())];
    print_line(out, format_args!("{}", words.into_iter().flatten().collect::<Vec<_>>().join("  ")))?;
    table(&measured.times, width, out)?;
    writeln!(out)?;
    for MissingWay { way, why } in &measured.missing {
        print_prose(out, "note    ", &format!("{way}: {why}."), width)?;
    }
    let faults: u64 = measured.times.iter().map(|times| times.faults).sum();
    if faults > 0 {
        print_prose(
            out,
            "note    ",
            &format!("{faults} requests failed, and are in no figure. Scrub this disk."),
            width,
        )?;
    }
    measured.cache_note.as_ref().map_or(Ok(()), |note| print_prose(out, "note    ", &format!("{note}."), width))
}

/// Prints median response times by size.
fn table(times: &[ResponseTimes], width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    let Some(first) = times.first() else { return Ok(()) };
    writeln!(out, "\nMedian response times, one behind the other")?;
    let heads: Vec<String> = times.iter().map(|times| format!("{} {}", times.way, short(times.cache))).collect();
    let headings: Vec<&str> = std::iter::once("size").chain(heads.iter().map(|head| head.trim_end())).collect();
    let cell = |times: &[_]| MiddleTime::of(times).map_or_else(|| "-".to_owned(), |time| words::latency(time.median));
    let of_size = |&(size, _): &(u64, Vec<Nanos>)| {
        let cells = times.iter().map(|times| {
            let entry = times.sizes.iter().find(|(other, _)| *other == size);
            entry.map_or_else(|| "-".to_owned(), |(_, times)| cell(times))
        });
        std::iter::once(Bytes(size).to_string()).chain(cells).collect::<Vec<String>>()
    };
    let again = std::iter::once("again".to_owned()).chain(times.iter().map(|times| cell(&times.again)));
    let rows: Vec<Vec<String>> = first.sizes.iter().map(of_size).chain([again.collect()]).collect();
    let figures = 0..headings.len();
    TextTable { headings: &headings, least_important: &[], figures, indent: 2 }.print(&rows, width, out)?;
    print_prose(out, "", "again: 4 KiB that were just read.", width)
}

fn short(cache: ReadCache) -> &'static str {
    match cache {
        ReadCache::On => "(on)",
        ReadCache::Off => "(off)",
        ReadCache::Unknown => "",
    }
}

/// A figure like figures 1 and 4 of Amvrosiadis et al. 2012.
fn figure(name: &str, verdicts: &[VerifyVerdict], times: &[ResponseTimes]) -> Page {
    let curve = |times: &ResponseTimes| {
        let points = times.sizes.iter().filter_map(|(size, times)| {
            MiddleTime::of(times).map(|middle| (*size as f64 / 1024.0, middle.median * 1e3))
        });
        let style = if times.cache == ReadCache::Off { Style::Dashed } else { Style::Line };
        Series::new(
            format!("{} {}", times.way, short(times.cache)).trim().to_owned(),
            style,
            points.collect::<Vec<_>>(),
        )
    };
    let figure = Figure {
        name: "response-times".to_owned(),
        title: "Response time by size".to_owned(),
        caption: "Medians of requests one behind the other, as Amvrosiadis et al. 2012, figures 1 and 4; dashed with the read \
                  cache off. A VERIFY that reads the medium is as slow with the cache as without."
            .to_owned(),
        x: Axis::log("size (KiB)"),
        y: Axis::log("response time (ms)"),
        series: times.iter().map(curve).collect(),
    };
    Page {
        title: format!("Does VERIFY read the medium of {name}?"),
        paragraphs: verdicts.iter().map(sentence).collect(),
        exhibits: vec![Exhibit::Figure(figure)],
    }
}
