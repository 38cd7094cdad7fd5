//! The traces that the arguments name; notes about them go to standard error.

use crate::args::{DiskModelArgs, Traces};
use anyhow::Result;
use scrubjay_cli::say::say;
use scrubjay_core::quantity::{show_count, show_time};
use scrubjay_research::workload::{self, DeviceLoad, Hold, ISSUED_ONLY, TraceFiles, TraceNote};
use scrubjay_trace::{OpenOptions, Record, Trace};

/// The options with which the named traces are opened.
pub fn options(traces: &Traces) -> Result<OpenOptions> {
    let options = format_options(traces.format.as_deref())?;
    Ok(OpenOptions { time_unit: traces.time_unit, block: traces.block, ..options })
}

/// The options for traces of the format of this name; without a name it is detected from the content.
pub fn format_options(name: Option<&str>) -> Result<OpenOptions> {
    Ok(OpenOptions { format: name.map(workload::format_named).transpose()?, ..OpenOptions::default() })
}

/// Calls `each` with every wanted record, in order of arrival.
pub fn for_each(trace: Trace, devices: &[String], each: impl FnMut(&Record)) -> Result<Trace> {
    let (trace, notes) = workload::for_each(trace, devices, each)?;
    notes.iter().for_each(say_note);
    Ok(trace)
}

/// Reads each file as a trace of its own; one load for each device of it, the busiest first.
pub fn load(traces: &Traces, disk: &DiskModelArgs, hold: Hold) -> Result<Vec<DeviceLoad>> {
    let files = TraceFiles { files: &traces.files, options: options(traces)?, devices: &traces.device };
    let (loads, notes) = workload::load(&files, disk.service.choice(), disk.disk, hold)?;
    notes.iter().for_each(say_note);
    Ok(loads)
}

/// Prints a note about a trace, with the option that may help.
pub fn say_note(note: &TraceNote) {
    match note {
        TraceNote::Malformed(malformed) => {
            let were = if malformed.count == 1 { "record was" } else { "records were" };
            say(format_args!("scrubjay: {} {were} not understood and left out:", show_count(malformed.count)));
            for example in &malformed.examples {
                say(format_args!("  {}: {}: {}", example.place, example.reason, example.excerpt));
            }
        }
        TraceNote::SizesInDoubt { format } => say(format_args!(
            "scrubjay: warning: every size in this trace is a multiple of 256 KiB when it is read as {format}: if it counts \
             bytes, say --block 1"
        )),
        TraceNote::TimesInDoubt { format, rate } => say(format_args!(
            "scrubjay: warning: read as {format} this trace has {} requests a second: if its times count another unit, say \
             --time-unit us or --time-unit ms",
            show_count(rate.round() as u64)
        )),
        TraceNote::IssuedOnly => say(format_args!("scrubjay: warning: {ISSUED_ONLY}")),
        TraceNote::DiskTooSlow { load, traced, played, is_unit_in_doubt } => {
            let units = if *is_unit_in_doubt { ", --time-unit if its times count something else" } else { "" };
            say(format_args!(
                "scrubjay: warning: {load}: the requests of {} keep the model disk busy for {}: choose a faster one with \
                 --disk, or --service recorded{units}",
                show_time(*traced),
                show_time(*played)
            ));
        }
    }
}
