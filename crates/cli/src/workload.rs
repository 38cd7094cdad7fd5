//! Traces as the arguments name them; what is to be told of them goes to standard error.

use crate::args::{DiskModelArgs, ServiceArg, Traces};
use crate::say::say;
use anyhow::Result;
use scrubjay_jobs::quantity::{show_count, show_time};
use scrubjay_jobs::workload::{self, DeviceLoad, Hold, TraceFiles, TraceNote};
use scrubjay_trace::{OpenOptions, Record, ServiceSource, Trace};

/// How the traces named are to be taken.
pub fn options(traces: &Traces) -> Result<OpenOptions> {
    let options = of_format(traces.format.as_deref())?;
    Ok(OpenOptions { time_unit: traces.time_unit, block: traces.block, ..options })
}

/// Traces of the format of that name; told by their content unless given.
pub fn of_format(name: Option<&str>) -> Result<OpenOptions> {
    Ok(OpenOptions { format: name.map(workload::format_named).transpose()?, ..OpenOptions::default() })
}

/// Calls `each` with every wanted record, in order of arrival.
pub fn for_each(trace: Trace, devices: &[String], each: impl FnMut(&Record)) -> Result<Trace> {
    let (trace, notes) = workload::for_each(trace, devices, each)?;
    notes.iter().for_each(say_note);
    Ok(trace)
}

/// The service times that the arguments ask for.
pub fn service(disk: &DiskModelArgs) -> ServiceSource {
    match disk.service {
        ServiceArg::Model => ServiceSource::Model(disk.disk),
        ServiceArg::Recorded => ServiceSource::Recorded(disk.disk),
    }
}

/// Reads each file as a trace of its own; one load for each device of it, the busiest first.
pub fn load(traces: &Traces, disk: &DiskModelArgs, hold: Hold) -> Result<Vec<DeviceLoad>> {
    let files = TraceFiles { files: &traces.files, options: options(traces)?, devices: &traces.device };
    let (loads, notes) = workload::load(&files, service(disk), hold)?;
    notes.iter().for_each(say_note);
    Ok(loads)
}

/// Says what a user should know of a trace, and which option may help.
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
