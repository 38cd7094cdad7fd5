//! The traces under study.

use super::spinner::Spinner;
use crate::args::{DiskModelArgs, ServiceArg, Traces};
use crate::exit::Usage;
use crate::page::StudyProvenance;
use crate::say::say;
use crate::workload;
use anyhow::Result;
use scrubjay_jobs::workload::{DeviceLoad, Hold};
use std::path::PathBuf;

/// Requests of a device, at least: fewer give no useful result.
const REQUESTS_MIN: u64 = 100;

/// Reads the traces, with their requests; devices with too few requests are left out, and counted.
pub fn read(traces: &Traces, disk: &DiskModelArgs, facts: &mut StudyProvenance) -> Result<Vec<DeviceLoad>> {
    let spinner = Spinner::with("reading the traces");
    let mut loads = workload::load(traces, disk, Hold::Requests)?;
    drop(spinner);
    let count = loads.len();
    loads.retain(|load| load.periods.requests() >= REQUESTS_MIN);
    let left_out = count - loads.len();
    if loads.is_empty() {
        let subject = if count == 1 { "the device" } else { &format!("each of {count} devices") };
        let refusal = format!("too few requests: {subject} has fewer than {REQUESTS_MIN}");
        return Err(Usage(refusal).into());
    }
    shorten(&mut loads, &traces.files);
    for load in &loads {
        facts.add("trace", format!("{}: {} requests", load.name, load.periods.requests()));
    }
    if left_out > 0 {
        let devices = if left_out == 1 { "one device" } else { &format!("{left_out} devices") };
        let description = format!("{devices} with fewer than {REQUESTS_MIN} requests");
        say(format_args!("scrubjay: left out: {description}"));
        facts.add("left out", description);
    }
    let model = disk.disk;
    let (fixed, per_mib) = (model.positioning.as_millis_f64(), model.per_mib.as_millis_f64());
    facts.add("disk", format!("{fixed} ms a request and {per_mib} ms a MiB"));
    let service = match disk.service {
        ServiceArg::Model => "the disk's, by the size of the request",
        ServiceArg::Recorded => "from the response times of the trace; the disk's where it has none",
    };
    facts.add("service times", service.to_owned());
    Ok(loads)
}

/// Removes the folders from the names, if these stay distinct.
fn shorten(loads: &mut [DeviceLoad], files: &[PathBuf]) {
    let short = |name: &str| {
        let whole = files.iter().map(|file| (file.display().to_string(), file));
        let (path, file) = whole.filter(|(path, _)| name.starts_with(path)).max_by_key(|(path, _)| path.len())?;
        Some(format!("{}{}", file.file_name()?.to_string_lossy(), &name[path.len()..]))
    };
    let names: Vec<String> = loads.iter().map(|load| short(&load.name).unwrap_or_else(|| load.name.clone())).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    if sorted.windows(2).all(|pair| pair[0] != pair[1]) {
        loads.iter_mut().zip(names).for_each(|(load, name)| load.name = name);
    }
}
