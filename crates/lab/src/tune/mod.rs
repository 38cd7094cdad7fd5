//! `scrubjay tune`: the wait and the request size that read most of a disk inside a slowdown goal, from a trace of it.

mod snippet;
mod text;

use crate::args::Tune;
use crate::workload;
use anyhow::{Context, Result};
use scrubjay_cli::exit::{Exit, Usage};
use scrubjay_cli::say::{print_line, say, shown_path};
use scrubjay_cli::unwritable::unwritable;
use scrubjay_core::quantity::show_count;
use scrubjay_core::scrub::idle::Goal;
use scrubjay_device::output::{self, Existing};
use scrubjay_research::ResearchError;
use scrubjay_research::job_control::JobControl;
use scrubjay_research::trace_hash;
use scrubjay_research::tune::{self, TuneTask, TuneTimes, Tuned};
use scrubjay_research::tune_document::TuneDocument;
use scrubjay_research::workload::{DeviceLoad, Hold};
use std::io::{self, Write};
use std::time::Instant;

/// Names of devices left out that are printed, at most.
const NAMES_SHOWN: usize = 3;

/// Tunes to all traces.
pub fn run(args: &Tune) -> Result<Exit> {
    let started = Instant::now();
    let mut loads = workload::load(&args.traces, &args.disk, Hold::Periods)?;
    let read = started.elapsed();
    leave_out_small(&mut loads, args)?;
    if let (Some(path), false) = (&args.config, loads.len() == 1) {
        let (path, count) = (path.display(), loads.len());
        return Err(Usage(format!("{path} is for one disk, and there are {count}: name one with --device")).into());
    }
    let existing = if args.force { Existing::Replaced } else { Existing::Kept };
    if let Some(path) = &args.config {
        output::check(path, existing).map_err(unwritable)?;
    }
    let goal = Goal::new(args.slowdown, args.max_slowdown).form(args.goal);
    let task = TuneTask::new(goal, args.disk.disk, args.sizes.clone());
    let started = Instant::now();
    let tuned = tune::tune(&loads, &task, &JobControl::default())?;
    let took = TuneTimes { read, tune: started.elapsed() };

    print(args, &task, &loads, &tuned, took)
        .or_else(ignore_closed_pipe)
        .context("cannot write the result to standard output")?;
    for (load, tuned) in loads.iter().zip(&tuned) {
        match (&tuned.best, &args.config) {
            (Err(reason), _) => say(format_args!("scrubjay: {}: {reason}", load.name)),
            (Ok(answer), Some(path)) => {
                let text = snippet::snippet(load, &task, answer.usable());
                output::write(path, existing, text.as_bytes()).map_err(unwritable)?;
            }
            (Ok(_), None) => {}
        }
    }
    Ok(if tuned.iter().all(|tuned| tuned.best.is_ok()) { Exit::Clean } else { Exit::Failed })
}

/// Removes devices with too few requests.
fn leave_out_small(loads: &mut Vec<DeviceLoad>, args: &Tune) -> Result<()> {
    let left_out = match tune::leave_out_small(loads, args.min_requests) {
        Err(ResearchError::TooFewRequests { most, least }) => {
            let (most, least) = (show_count(most), show_count(least));
            let error = format!("{most} requests are too few to tune to: --min-requests asks for {least} of a device");
            return Err(Usage(error).into());
        }
        left_out => left_out?,
    };
    if left_out.is_empty() {
        return Ok(());
    }
    let (count, least) = (left_out.len(), show_count(args.min_requests));
    let more = if count > NAMES_SHOWN { format!(" and {} more", count - NAMES_SHOWN) } else { String::new() };
    let names = left_out[..count.min(NAMES_SHOWN)].join(", ");
    let devices = if count == 1 { "one device is" } else { &format!("{count} devices are") };
    say(format_args!("scrubjay: {devices} left out for having fewer than {least} requests: {names}{more}"));
    Ok(())
}

fn print(args: &Tune, task: &TuneTask, loads: &[DeviceLoad], tuned: &[Tuned], took: TuneTimes) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let sha256 = if args.json { trace_hash::sha256_of_all(&args.traces.files) } else { Vec::new() };
    for (load, tuned) in loads.iter().zip(tuned) {
        if args.json {
            let mut document = TuneDocument::new(load, task, tuned, took);
            document.sha256 = &sha256;
            writeln!(out, "{}", serde_json::to_string(&document)?)?;
        } else if let Ok(best) = &tuned.best {
            text::print(&mut out, load, task, tuned, best)?;
        }
    }
    if args.json {
        return Ok(());
    }
    match (loads, tuned, &args.config) {
        ([load], [Tuned { best: Ok(answer), .. }], None) => {
            print_line(
                &mut out,
                format_args!(
                    "Keep this in a file (or say --config FILE), for `scrubjay scrub /dev/sdX --config FILE`:"
                ),
            )?;
            writeln!(out)?;
            writeln!(out, "{}", snippet::snippet(load, task, answer.usable()))?;
        }
        (_, _, Some(path)) if tuned.iter().all(|tuned| tuned.best.is_ok()) => {
            writeln!(out, "Next: scrubjay scrub /dev/sdX --config {}", shown_path(path))?;
        }
        _ => {}
    }
    match tuned.iter().any(|tuned| tuned.best.is_ok()) {
        true => text::print_timing(&mut out, took),
        // Above an error, how long it took is of no use.
        false => Ok(()),
    }
}

/// Ignores a closed output, so that the file is still written.
fn ignore_closed_pipe(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}
