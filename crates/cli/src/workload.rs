//! Traces from files: opened, filtered by device, and held as the simulator wants them.

use crate::args::{DiskModelArgs, ServiceArg as From, Traces};
use crate::exit::Usage;
use crate::quantity::{show_count, show_time};
use crate::say::say;
use anyhow::{Context, Error, Result};
use scrubjay_core::scrub::disk_server::ForegroundRequest;
use scrubjay_core::units::{Nanos, SECTOR_BYTES};
use scrubjay_trace::formats::{self, Format};
use scrubjay_trace::{
    DeviceId, Devices, Input, OpenOptions, Periods, Record, ServiceQueue, ServiceSource, Trace, TraceSource,
};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;

/// One device of a trace, as the simulator wants it: at most 16 bytes a request.
#[derive(Debug)]
pub struct DeviceLoad {
    /// What to call it: the file, and the device where there are several.
    pub name: String,
    /// Its busy periods.
    pub periods: Periods,
    /// Its requests, if they were asked for.
    pub requests: Vec<ForegroundRequest>,
}

/// What is held of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The busy periods only: all that a policy that does not learn needs.
    Periods,
    /// The requests too: what the shipped scrubber is played against.
    Requests,
}

/// How the traces named are to be taken.
pub fn options(traces: &Traces) -> Result<OpenOptions> {
    let options = of_format(traces.format.as_deref())?;
    Ok(OpenOptions { time_unit: traces.time_unit, block: traces.block, ..options })
}

/// Traces of the format of that name; told by their content unless given.
pub fn of_format(name: Option<&str>) -> Result<OpenOptions> {
    Ok(OpenOptions { format: name.map(named).transpose()?, ..OpenOptions::default() })
}

/// Opens the files of one trace.
pub fn open(files: &[impl AsRef<Path>], options: OpenOptions) -> Result<Trace> {
    let mut inputs = Vec::with_capacity(files.len());
    for path in files.iter().map(AsRef::as_ref) {
        let name = path.display().to_string();
        let source = if path == Path::new("-") {
            TraceSource::Pipe(Box::new(std::io::stdin()))
        } else {
            let file = File::open(path).map_err(|error| inaccessible(name.clone(), error))?;
            let kind = file.metadata().with_context(|| name.clone())?.file_type();
            if kind.is_dir() {
                return Err(Usage(format!("{name}: is a folder, not a trace")).into());
            }
            if kind.is_file() { TraceSource::File(Box::new(file)) } else { TraceSource::Pipe(Box::new(file)) }
        };
        inputs.push(Input { name, source });
    }
    scrubjay_trace::open(inputs, options).map_err(|error| Usage(error.to_string()).into())
}

/// What is said when a file that was named cannot be opened: a matter of rights, or of a wrong name.
pub fn inaccessible(what: String, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return Error::new(error).context(what);
    }
    Usage(format!("{what}: {error}")).into()
}

/// The format of that name.
pub fn named(name: &str) -> Result<&'static Format> {
    let known = || formats::FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    Ok(formats::by_name(name).ok_or_else(|| Usage(format!("`{name}` is no trace format; known are {}", known())))?)
}

/// Which devices are wanted, by id.
#[derive(Debug)]
pub struct DeviceFilter<'a> {
    names: &'a [String],
    wanted: Vec<Option<bool>>,
}

impl<'a> DeviceFilter<'a> {
    /// Those named; all, if none is.
    pub fn new(names: &'a [String]) -> DeviceFilter<'a> {
        DeviceFilter { names, wanted: Vec::new() }
    }

    /// Is it wanted?
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

    /// Complains about names that the trace does not have.
    pub fn check(&self, trace: &Trace) -> Result<()> {
        match self.names.iter().find(|name| trace.devices().find(name).is_none()) {
            None => Ok(()),
            Some(name) => {
                let mut known = trace.devices().names().to_vec();
                let left_out = known.len().saturating_sub(DEVICES_SHOWN);
                known.truncate(DEVICES_SHOWN);
                let more = if left_out > 0 { format!(" and {left_out} more") } else { String::new() };
                Err(Usage(format!("the trace has no device `{name}`; it has {}{more}", known.join(", "))).into())
            }
        }
    }
}

/// So many devices are named in an error.
const DEVICES_SHOWN: usize = 12;

/// Calls `each` with every wanted record, in order of arrival, and says what could not be understood.
pub fn for_each(mut trace: Trace, devices: &[String], mut each: impl FnMut(&Record)) -> Result<Trace> {
    let mut filter = DeviceFilter::new(devices);
    let mut sizes = SizeCheck::default();
    while trace.next_batch().map_err(|error| Usage(error.to_string()))?.is_some() {
        let wanted = |record: &&Record| filter.wants(record.device, trace.devices());
        trace.records().iter().filter(wanted).for_each(|record| {
            sizes.add(record);
            each(record);
        });
    }
    filter.check(&trace)?;
    say_malformed(&trace);
    sizes.judge(trace.format());
    Ok(trace)
}

/// Are the sizes of a trace whole multiples of what only sizes in bytes are?
#[derive(Debug, Default)]
struct SizeCheck {
    records: u64,
    odd: u64,
}

/// Fewer records are no ground for doubt.
const DOUBTED_MIN: u64 = 100;

impl SizeCheck {
    fn add(&mut self, record: &Record) {
        self.records += 1;
        self.odd += u64::from(!record.length.0.is_multiple_of(512 * SECTOR_BYTES));
    }

    /// Says so where the format leaves it in doubt.
    fn judge(&self, format: &Format) {
        if format.units.is_some() && self.records >= DOUBTED_MIN && self.odd == 0 {
            say(format_args!(
                "scrubjay: warning: every size in this trace is a multiple of 256 KiB when it is read as {}: if it counts bytes, \
                 say --block 1",
                format.name
            ));
        }
    }
}

/// Says that the model disk cannot keep up, if it cannot: what comes out then says nothing about the disk traced.
fn judge_pace(load: &DeviceLoad, [first, last]: [Nanos; 2], disk: &DiskModelArgs, format: &Format) {
    let (traced, played) = (last.since(first), load.periods.span());
    let is_behind = played.0 > traced.0.saturating_mul(2) && load.periods.requests() >= DOUBTED_MIN;
    if disk.service != From::Model || !is_behind {
        return;
    }
    let units = if format.units.is_some() { ", --time-unit if its times count something else" } else { "" };
    say(format_args!(
        "scrubjay: warning: {}: the requests of {} keep the model disk busy for {}: choose a faster one with --disk, or --service \
         recorded{units}",
        load.name,
        show_time(traced),
        show_time(played)
    ));
}

/// Says what could not be understood, if anything.
pub fn say_malformed(trace: &Trace) {
    let malformed = trace.malformed();
    if malformed.count > 0 {
        let were = if malformed.count == 1 { "record was" } else { "records were" };
        say(format_args!("scrubjay: {} {were} not understood and left out:", show_count(malformed.count)));
        for example in &malformed.examples {
            say(format_args!("  {}: {}: {}", example.place, example.reason, example.excerpt));
        }
    }
}

/// The service times that the arguments ask for.
pub fn service(disk: &DiskModelArgs) -> ServiceSource {
    match disk.service {
        From::Model => ServiceSource::Model(disk.disk),
        From::Recorded => ServiceSource::Recorded(disk.disk),
    }
}

/// Reads each file as a trace of its own; one load for each device of it, the busiest first.
pub fn load(traces: &Traces, disk: &DiskModelArgs, hold: Hold) -> Result<Vec<DeviceLoad>> {
    let mut loads = Vec::new();
    for file in &traces.files {
        let trace = open(std::slice::from_ref(file), options(traces)?)?;
        let mut held: Vec<(DeviceId, ServiceQueue, DeviceLoad, [Nanos; 2])> = Vec::new();
        let mut places: HashMap<DeviceId, usize> = HashMap::new();
        let mut last: Option<(DeviceId, usize)> = None;
        let trace = for_each(trace, &traces.device, |record| {
            let place = match last {
                Some((device, place)) if device == record.device => place,
                _ => *places.entry(record.device).or_insert_with(|| {
                    let load = DeviceLoad { name: String::new(), periods: Periods::default(), requests: Vec::new() };
                    held.push((record.device, ServiceQueue::new(service(disk)), load, [record.arrival; 2]));
                    held.len() - 1
                }),
            };
            last = Some((record.device, place));
            let (_, queue, load, times) = &mut held[place];
            times[1] = record.arrival;
            let request = queue.request(record);
            load.periods.add(request);
            if hold == Hold::Requests {
                load.requests.push(request);
            }
        })?;
        // With `--device`, too, the name tells which device of several it is.
        let is_alone = trace.devices().names().len() == 1;
        held.sort_by_key(|(_, _, load, _)| std::cmp::Reverse(load.periods.requests()));
        loads.extend(held.into_iter().map(|(device, _, load, times)| {
            let file = file.display();
            let name = if is_alone { file.to_string() } else { format!("{file}:{}", trace.devices().name(device)) };
            let load = DeviceLoad { name, ..load };
            judge_pace(&load, times, disk, trace.format());
            load
        }));
    }
    if loads.is_empty() {
        return Err(Usage("the traces have no requests".to_owned()).into());
    }
    Ok(loads)
}
