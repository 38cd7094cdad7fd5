//! The traces under study.

use super::spinner::Spinner;
use crate::args::{DiskModelArgs, Traces};
use crate::workload;
use anyhow::Result;
use scrubjay_cli::exit::Usage;
use scrubjay_cli::page::StudyProvenance;
use scrubjay_cli::say::say;
use scrubjay_core::quantity::show_count;
use scrubjay_research::trace_hash;
use scrubjay_research::workload::{DeviceLoad, Hold};
use scrubjay_trace::ServiceSource;
use std::path::PathBuf;

/// Requests of a device, at least: fewer give no useful result.
const REQUESTS_MIN: u64 = 100;

/// Reads the traces, with their requests; devices with too few requests are left out, and counted.
pub fn read(traces: &Traces, disk: &DiskModelArgs, facts: &mut StudyProvenance) -> Result<Vec<DeviceLoad>> {
    let spinner = Spinner::with("reading the traces");
    let mut loads = workload::load(traces, disk, Hold::Requests)?;
    drop(spinner);
    let count = loads.len();
    loads.retain(|load| load.periods.requests_total() >= REQUESTS_MIN);
    let left_out = count - loads.len();
    if loads.is_empty() {
        let subject = if count == 1 { "the device" } else { &format!("each of {count} devices") };
        let refusal = format!("too few requests: {subject} has fewer than {REQUESTS_MIN}");
        return Err(Usage(refusal).into());
    }
    let names: Vec<String> = loads.iter().map(|load| load.name.clone()).collect();
    let (whole_names, short_names) = (without_folders(&names, &traces.files), short_names(&names, &traces.files));
    for ((load, whole), short) in loads.iter_mut().zip(whole_names).zip(short_names) {
        let renamed = if whole == short { String::new() } else { format!(", here {short}") };
        facts.add("trace", format!("{whole}{renamed}: {} requests", show_count(load.periods.requests_total())));
        load.name = short;
    }
    for (file, hash) in traces.files.iter().zip(trace_hash::sha256_of_all(&traces.files)) {
        facts.add("SHA-256", format!("{hash}  {}", file.file_name().unwrap_or_default().to_string_lossy()));
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
    let (recorded, modelled) = (
        "from the response times of the trace; the disk's where it has none",
        "the disk's, by the size of the request",
    );
    let is_recorded = |load: &DeviceLoad| matches!(load.service, ServiceSource::Recorded(_));
    let service = match (loads.iter().any(is_recorded), loads.iter().all(is_recorded)) {
        (_, true) => recorded.to_owned(),
        (false, _) => modelled.to_owned(),
        (true, false) => {
            let names: Vec<&str> =
                loads.iter().filter(|load| is_recorded(load)).map(|load| load.name.as_str()).collect();
            format!("of {} {recorded}; of the others {modelled}", names.join(", "))
        }
    };
    facts.add("service times", service);
    Ok(loads)
}

/// The names of the loads on the page: those of one file are the names of its devices, `disk 0` for a bare number.
fn short_names(names: &[String], files: &[PathBuf]) -> Vec<String> {
    let devices = || {
        let prefix = format!("{}:", files.first()?.display());
        let device_of = |name: &String| {
            let device = name.strip_prefix(&prefix)?;
            let is_number = device.bytes().all(|byte| byte.is_ascii_digit());
            Some(if is_number { format!("disk {device}") } else { device.to_owned() })
        };
        names.iter().map(device_of).collect()
    };
    let is_one_of_several = files.len() == 1 && names.len() > 1;
    is_one_of_several.then(devices).flatten().unwrap_or_else(|| without_folders(names, files))
}

/// The names without the folders of the files, if these stay distinct.
fn without_folders(names: &[String], files: &[PathBuf]) -> Vec<String> {
    let short = |name: &str| {
        let whole = files.iter().map(|file| (file.display().to_string(), file));
        let (path, file) = whole.filter(|(path, _)| name.starts_with(path)).max_by_key(|(path, _)| path.len())?;
        Some(format!("{}{}", file.file_name()?.to_string_lossy(), &name[path.len()..]))
    };
    let shorter: Vec<String> = names.iter().map(|name| short(name).unwrap_or_else(|| name.clone())).collect();
    let mut sorted = shorter.clone();
    sorted.sort_unstable();
    if sorted.windows(2).all(|pair| pair[0] != pair[1]) { shorter } else { names.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(names: &[&str], files: &[&str]) -> Vec<String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        short_names(&names, &files.iter().map(PathBuf::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_load_is_named_as_briefly_as_tells_it_from_the_others() {
        assert_eq!(short(&["a/t.srt:0", "a/t.srt:12"], &["a/t.srt"]), ["disk 0", "disk 12"]);
        assert_eq!(short(&["a/t.spc:asu0", "a/t.spc:asu1"], &["a/t.spc"]), ["asu0", "asu1"]);
        assert_eq!(short(&["a/t.srt:0"], &["a/t.srt"]), ["t.srt:0"], "the others were not asked for");
        assert_eq!(short(&["a/t.srt:0", "b/u.srt:0"], &["a/t.srt", "b/u.srt"]), ["t.srt:0", "u.srt:0"]);
        assert_eq!(short(&["a/t.srt", "b/t.srt"], &["a/t.srt", "b/t.srt"]), ["a/t.srt", "b/t.srt"]);
    }
}
