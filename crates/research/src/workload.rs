//! Loads traces from files: opened, filtered by device, and held in the form that the simulator needs.

use crate::ResearchError;
use crate::job_control::JobControl;
use scrubjay_core::quantity;
use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::units::{Nanos, SECTOR_BYTES};
use scrubjay_jobs::JobError;
use scrubjay_trace::formats::{self, Format};
use scrubjay_trace::{
    ArrivalSource, DeviceId, Devices, Input, Malformed, OpenOptions, Periods, Record, ServiceChoice, ServiceQueue,
    ServiceSource, Trace, TraceSource,
};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// One device of a trace, in the form that the simulator needs: at most 16 bytes a request, and 12 a busy period.
#[derive(Debug)]
pub struct DeviceLoad {
    /// Its name: that of the file, with that of the device where there are several.
    pub name: String,
    /// Its busy periods.
    pub periods: Periods,
    /// Its requests, if they are held.
    pub requests: Vec<ForegroundRequest>,
    /// Where their service times are from.
    pub service: ServiceSource,
}

/// Which data of a trace are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The busy periods only: enough for a policy that decides by idle intervals.
    Periods,
    /// The requests too: the shipped scrubber is played against them.
    Requests,
}

/// Something that a program should report of a trace that was read.
#[derive(Debug)]
pub enum TraceNote {
    /// Some records could not be understood, and were left out.
    Malformed(Malformed),
    /// Every size is a multiple of 256 KiB in the unit of the format: the trace may have counted bytes.
    SizesInDoubt {
        /// The name of the format.
        format: &'static str,
    },
    /// The requests come faster than any disk serves them, in the unit of time of the format: the trace may count another one.
    TimesInDoubt {
        /// The name of the format.
        format: &'static str,
        /// Requests a second, over the whole trace.
        rate: f64,
    },
    /// No request was recorded when it was queued: they arrive when they were issued.
    IssuedOnly,
    /// The trace takes more than twice as long on the model disk as when it was recorded, so the results do not apply
    /// to the traced disk.
    DiskTooSlow {
        /// The name of the load.
        load: String,
        /// How long the trace lasted when it was recorded.
        traced: Nanos,
        /// How long it takes on the model disk.
        played: Nanos,
        /// May the format's unit of time not be the trace's?
        is_unit_in_doubt: bool,
    },
}

/// The words of [`TraceNote::IssuedOnly`].
pub const ISSUED_ONLY: &str = "no request was recorded when it was queued (Q): they arrive when they were issued (D), so the time in the \
    kernel's scheduler is missing; record with `blktrace -a queue -a complete`";

/// Opens the files of one trace; `-` is standard input.
///
/// # Errors
/// A file that cannot be opened, or is no trace.
pub fn open(files: &[impl AsRef<Path>], options: OpenOptions) -> Result<Trace, ResearchError> {
    let mut inputs = Vec::with_capacity(files.len());
    for path in files.iter().map(AsRef::as_ref) {
        let name = path.display().to_string();
        let source = if path == Path::new("-") {
            TraceSource::Pipe(Box::new(std::io::stdin()))
        } else {
            let file = File::open(path).map_err(|error| JobError::inaccessible(name.clone(), error))?;
            let metadata = file.metadata().map_err(|error| JobError::Io { what: name.clone(), error })?;
            let kind = metadata.file_type();
            if kind.is_dir() {
                return Err(JobError::Input(format!("{name}: is a folder, not a trace")).into());
            }
            if kind.is_file() { TraceSource::File(Box::new(file)) } else { TraceSource::Pipe(Box::new(file)) }
        };
        inputs.push(Input { name, source });
    }
    scrubjay_trace::open(inputs, options).map_err(ResearchError::Trace)
}

/// Finds a format by its name.
///
/// # Errors
/// No format has this name; the text lists the names.
pub fn format_named(name: &str) -> Result<&'static Format, ResearchError> {
    let known = || formats::FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    formats::by_name(name)
        .ok_or_else(|| JobError::Input(format!("`{name}` is no trace format; known are {}", known())).into())
}

/// Which devices are wanted, by id.
#[derive(Debug)]
pub struct DeviceFilter {
    names: Vec<String>,
    wanted: Vec<Option<bool>>,
}

impl DeviceFilter {
    /// A filter for the devices that are named; for all, if none is.
    pub fn new(names: &[String]) -> DeviceFilter {
        DeviceFilter { names: names.to_vec(), wanted: Vec::new() }
    }

    /// Is this device wanted?
    pub fn wants(&mut self, device: DeviceId, devices: &Devices) -> bool {
        if self.names.is_empty() {
            return true;
        }
        let index = device.0 as usize;
        if self.wanted.len() <= index {
            self.wanted.resize(index + 1, None);
        }
        *self.wanted[index].get_or_insert_with(|| self.names.iter().any(|name| name == devices.name(device)))
    }

    /// Checks that the trace has all devices that are named.
    ///
    /// # Errors
    /// It lacks one; the text has its name, and those of the devices that there are.
    pub fn check(&self, trace: &Trace) -> Result<(), ResearchError> {
        match self.names.iter().find(|name| trace.devices().find(name).is_none()) {
            None => Ok(()),
            Some(name) => {
                let mut known = trace.devices().names().to_vec();
                let left_out = known.len().saturating_sub(DEVICES_SHOWN);
                known.truncate(DEVICES_SHOWN);
                let more = if left_out > 0 { format!(" and {left_out} more") } else { String::new() };
                Err(ResearchError::NoDevice { name: name.clone(), known: format!("{}{more}", known.join(", ")) })
            }
        }
    }
}

/// Devices that an error names, at most.
const DEVICES_SHOWN: usize = 12;

/// Calls `each` with every record of the wanted devices (all, if none is named), in order of arrival.
///
/// # Errors
/// The trace cannot be read to its end, or lacks a device.
pub fn for_each(
    trace: Trace,
    devices: &[String],
    each: impl FnMut(&Record),
) -> Result<(Trace, Vec<TraceNote>), ResearchError> {
    for_each_under(&JobControl::default(), trace, devices, each)
}

/// Does what [`for_each`] does, reports progress to `control`, and ends when `control` says so.
///
/// # Errors
/// The trace cannot be read to its end, or lacks a device; or the job was stopped.
pub fn for_each_under(
    control: &JobControl,
    mut trace: Trace,
    devices: &[String],
    mut each: impl FnMut(&Record),
) -> Result<(Trace, Vec<TraceNote>), ResearchError> {
    let mut filter = DeviceFilter::new(devices);
    let mut check = TraceCheck::default();
    while trace.next_batch().map_err(ResearchError::Trace)?.is_some() {
        control.check()?;
        control.add_records(trace.records().len() as u64);
        let wanted = |record: &&Record| filter.wants(record.device, trace.devices());
        trace.records().iter().filter(wanted).for_each(|record| {
            check.add(record);
            each(record);
        });
    }
    filter.check(&trace)?;
    let notes = check.notes(&trace);
    Ok((trace, notes))
}

/// The records of a trace that could not be understood, if there are any.
pub fn malformed(trace: &Trace) -> Option<TraceNote> {
    let malformed = trace.malformed();
    (malformed.count > 0).then(|| TraceNote::Malformed(malformed.clone()))
}

/// What a reader of a trace has to be told of it. Whether its units are likely: whether all sizes are multiples of 512 sectors, as they
/// would be if the trace counted bytes; and how many requests come in a second.
#[derive(Debug, Default)]
pub struct TraceCheck {
    records: u64,
    not_multiples: u64,
    /// The first and the last arrival.
    span: Option<[Nanos; 2]>,
}

/// Requests a second of a whole trace from which on its unit of time is doubted: a few times what the fastest drives serve at
/// random, and what public traces of single volumes have.
const RATE_DOUBTED: f64 = 100_000.0;

/// Traces with fewer records are not doubted.
const DOUBTED_MIN: u64 = 100;

impl TraceCheck {
    /// Adds the next record.
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        let [first, _] = self.span.unwrap_or([record.arrival; 2]);
        self.span = Some([first, record.arrival]);
        self.not_multiples += u64::from(!record.length.0.is_multiple_of(512 * SECTOR_BYTES));
    }

    /// The notes on a trace that was read to its end.
    pub fn notes(&self, trace: &Trace) -> Vec<TraceNote> {
        let issued = (trace.arrivals() == ArrivalSource::Issued).then_some(TraceNote::IssuedOnly);
        malformed(trace).into_iter().chain(self.doubts(trace.format())).chain(issued).collect()
    }

    /// Notes, if the format leaves the units open and the sizes or the times raise doubt.
    fn doubts(&self, format: &'static Format) -> Vec<TraceNote> {
        if format.adjustable_units.is_none() || self.records < DOUBTED_MIN {
            return Vec::new();
        }
        let sizes = (self.not_multiples == 0).then_some(TraceNote::SizesInDoubt { format: format.name });
        let seconds = self.span.map_or(0.0, |[first, last]| last.since(first).as_secs_f64());
        let rate = if seconds > 0.0 { self.records as f64 / seconds } else { 0.0 };
        let times = (rate > RATE_DOUBTED).then_some(TraceNote::TimesInDoubt { format: format.name, rate });
        sizes.into_iter().chain(times).collect()
    }
}

/// A note, if the model disk is too slow for the load.
fn slow_model_note(load: &DeviceLoad, [first, last]: [Nanos; 2], format: &'static Format) -> Option<TraceNote> {
    let (traced, played) = (last.since(first), load.periods.span());
    let is_behind = played.0 > traced.0.saturating_mul(2) && load.periods.requests_total() >= DOUBTED_MIN;
    let is_model = matches!(load.service, ServiceSource::Model(_));
    (is_model && is_behind).then(|| TraceNote::DiskTooSlow {
        load: load.name.clone(),
        traced,
        played,
        is_unit_in_doubt: format.adjustable_units.is_some(),
    })
}

/// The traces of a job.
#[derive(Clone, Copy)]
pub struct TraceFiles<'a> {
    /// The files; each is a trace of its own.
    pub files: &'a [PathBuf],
    /// How they are opened.
    pub options: OpenOptions,
    /// These devices only; all, if none is named.
    pub devices: &'a [String],
}

/// Reads each file as a trace of its own; one load for each device of it, the busiest first.
///
/// # Errors
/// A trace cannot be opened or read, lacks a device, or none has a request.
pub fn load(
    traces: &TraceFiles<'_>,
    service: ServiceChoice,
    disk: ServiceModel,
    hold: Hold,
) -> Result<(Vec<DeviceLoad>, Vec<TraceNote>), ResearchError> {
    let (mut loads, mut notes) = (Vec::new(), Vec::new());
    for file in traces.files {
        let trace = open(std::slice::from_ref(file), traces.options)?;
        let (file_loads, file_notes) = loads_of(&JobControl::default(), trace, traces.devices, service, disk, hold)?;
        loads.extend(file_loads);
        notes.extend(file_notes);
    }
    if loads.is_empty() {
        return Err(no_requests());
    }
    Ok((loads, notes))
}

/// The error for traces without a request.
pub fn no_requests() -> ResearchError {
    JobError::Input("the traces have no requests".to_owned()).into()
}

/// Reads a trace; one load for each device of it, the busiest first.
///
/// # Errors
/// The trace cannot be read, or lacks a device; or the job was stopped.
pub fn loads_of(
    control: &JobControl,
    mut trace: Trace,
    devices: &[String],
    service: ServiceChoice,
    disk: ServiceModel,
    hold: Hold,
) -> Result<(Vec<DeviceLoad>, Vec<TraceNote>), ResearchError> {
    let service = service.source(disk, trace.peek().map_err(ResearchError::Trace)?);
    let mut held: Vec<(DeviceId, ServiceQueue, DeviceLoad, [Nanos; 2])> = Vec::new();
    let mut places: HashMap<DeviceId, usize> = HashMap::new();
    let mut last: Option<(DeviceId, usize)> = None;
    let (trace, mut notes) = for_each_under(control, trace, devices, |record| {
        let place = match last {
            Some((device, place)) if device == record.device => place,
            _ => *places.entry(record.device).or_insert_with(|| {
                let load =
                    DeviceLoad { name: String::new(), periods: Periods::default(), requests: Vec::new(), service };
                held.push((record.device, ServiceQueue::new(service), load, [record.arrival; 2]));
                held.len() - 1
            }),
        };
        last = Some((record.device, place));
        let (_, queue, load, times) = &mut held[place];
        times[1] = record.arrival;
        let request = queue.serve(record);
        load.periods.add(request);
        if hold == Hold::Requests {
            load.requests.push(request);
        }
    })?;
    // If devices are chosen by name, the load's name still says which of several it is.
    let has_one_device = trace.devices().names().len() == 1;
    held.sort_by_key(|(_, _, load, _)| std::cmp::Reverse(load.periods.requests_total()));
    let file = trace.input_names().join(", ");
    let mut loads = Vec::with_capacity(held.len());
    for (device, _, load, times) in held {
        let name = if has_one_device { file.clone() } else { format!("{file}:{}", trace.devices().name(device)) };
        let load = DeviceLoad { name, ..load };
        notes.extend(slow_model_note(&load, times, trace.format()));
        loads.push(load);
    }
    Ok((loads, notes))
}

/// The disk that is modelled by default.
pub const DISK: &str = "ultrastar-15k450";

/// Parses a model of a disk: its name, or `3.7ms,11.07ms`, a request's fixed time and the time for each MiB of it.
///
/// # Errors
/// It is no disk; the text shows what one looks like.
pub fn disk_model(text: &str) -> Result<ServiceModel, String> {
    if text == DISK {
        return Ok(ServiceModel::ULTRASTAR_15K450);
    }
    let error = || format!("`{text}` is no disk: write ultrastar-15k450, or two times such as 3.7ms,11.07ms");
    let (positioning, per_mib) = text.split_once(',').ok_or_else(error)?;
    let time = |text: &str| quantity::time(text.trim()).map_err(|_| error());
    let model = ServiceModel { positioning: time(positioning)?, per_mib: time(per_mib)? };
    if model.positioning == Nanos::ZERO && model.per_mib == Nanos::ZERO {
        return Err(format!("`{text}`: a disk that takes no time cannot be scheduled"));
    }
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_a_name_or_two_times() {
        assert_eq!(disk_model("ultrastar-15k450"), Ok(ServiceModel::ULTRASTAR_15K450));
        let own = ServiceModel { positioning: Nanos::from_millis(8), per_mib: Nanos(5_500_000) };
        assert_eq!(disk_model("8ms, 5.5ms"), Ok(own));
        for text in ["", "8ms", "8,5", "0ms,0ms", "floppy"] {
            assert!(disk_model(text).is_err(), "{text}");
        }
    }
}
