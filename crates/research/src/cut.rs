//! Cuts one trace into parts, each of which can be read independently.

use crate::ResearchError;
use crate::job_control::JobControl;
use crate::workload::{self, DeviceFilter};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_jobs::JobError;
use scrubjay_trace::cut::{self, DISORDER_MAX, TracePart};
use scrubjay_trace::{
    Devices, Input, InputError, OpenOptions, PartCollector, PartPeriods, ServiceChoice, ServiceSource, TraceSource,
};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The foreground of one device in one part of a trace.
#[derive(Clone, Debug)]
pub struct DevicePart {
    /// Its name.
    pub name: String,
    /// Its busy periods.
    pub periods: PartPeriods,
    /// Where its service times are from: the same in all parts.
    pub service: ServiceSource,
}

/// Cuts a trace into at most `parts` parts; one, if it is compressed or its format cannot be cut.
///
/// # Errors
/// The file cannot be opened or read, or is no trace.
pub fn cuts(
    path: &Path,
    options: OpenOptions,
    parts: u64,
    disorder: Option<usize>,
) -> Result<Vec<TracePart>, ResearchError> {
    let trace = workload::open(std::slice::from_ref(&path), options)?;
    let options = OpenOptions { format: Some(trace.format()), ..options };
    drop(trace);
    let name = path.display().to_string();
    let failed = |error| JobError::Io { what: name.clone(), error };
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let mut head = [0; 16];
    let read = file.read(&mut head).map_err(failed)?;
    let is_plain = scrubjay_trace::Compression::of(&head[..read]).is_none();
    let is_possible = is_plain && options.format.is_some_and(cut::is_possible);
    let parts = if is_possible { parts } else { 1 };
    cut::cut(&mut file, length, options, parts, disorder.unwrap_or(DISORDER_MAX))
        .map_err(|error| with_name(error, &name))
}

/// Reads a part of a trace: the busy periods of each device, in the order of their first requests in this part.
///
/// # Errors
/// The part cannot be read; or the job was stopped.
pub fn part_of(
    control: &JobControl,
    path: &Path,
    options: OpenOptions,
    part: &TracePart,
    devices: &[String],
    service: ServiceChoice,
    disk: ServiceModel,
) -> Result<Vec<DevicePart>, ResearchError> {
    let name = path.display().to_string();
    // The format, and where service times are from, are recognised by the beginning of the file.
    let mut trace = workload::open(std::slice::from_ref(&path), options)?;
    let service = service.source(disk, trace.peek().map_err(ResearchError::Trace)?);
    let mut trace = if part.bytes.start == 0 && part.until.is_none() {
        trace
    } else {
        let format = trace.format();
        let failed = |error| JobError::Io { what: name.clone(), error };
        let mut file = File::open(path).map_err(failed)?;
        file.seek(SeekFrom::Start(part.bytes.start)).map_err(failed)?;
        let source = TraceSource::Pipe(Box::new(file.take(part.bytes.end - part.bytes.start)));
        let input = Input { name: name.clone(), source };
        scrubjay_trace::open(vec![input], OpenOptions { format: Some(format), ..options })
            .map_err(ResearchError::Trace)?
    };
    let mut filter = DeviceFilter::new(devices);
    let mut collectors: Vec<Option<PartCollector>> = Vec::new();
    let mut order: Vec<usize> = Vec::new();
    while trace.next_batch().map_err(ResearchError::Trace)?.is_some() {
        control.check()?;
        control.add_records(trace.records().len() as u64);
        let known = trace.devices();
        let is_in_part = |at| at >= part.from && part.until.is_none_or(|until| at < until);
        for record in trace.records().iter().filter(|record| is_in_part(record.arrival)) {
            if !filter.wants(record.device, known) {
                continue;
            }
            let index = record.device.0 as usize;
            if collectors.len() <= index {
                collectors.resize(index + 1, None);
            }
            let collector = collectors[index].get_or_insert_with(|| {
                order.push(index);
                PartCollector::new(service)
            });
            collector.add(record);
        }
    }
    let name_of = |index: usize, devices: &Devices| devices.names()[index].clone();
    let parts = order.into_iter().filter_map(|index| {
        let periods = collectors[index].take()?.finish();
        Some(DevicePart { name: name_of(index, trace.devices()), periods, service })
    });
    Ok(parts.collect())
}

/// Names the file in the error of a piece of it.
fn with_name(error: InputError, file: &str) -> ResearchError {
    ResearchError::Trace(match error {
        InputError::Trace { error, .. } => InputError::Trace { name: file.to_owned(), error },
        other => other,
    })
}
