//! Parts of traces, to and from Python: busy periods as columns, and the results of all parts of a device joined.

use crate::failure::raised;
use crate::running::run;
use crate::settings;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use scrubjay_core::named;
use scrubjay_core::quantity;
use scrubjay_core::scrub::idle::Goal;
use scrubjay_core::units::Nanos;
use scrubjay_jobs::JobError;
use scrubjay_research::cut::DevicePart;
use scrubjay_research::tune::{self, TuneTask, TuneTimes};
use scrubjay_research::tune_document::TuneDocument;
use scrubjay_research::workload::DeviceLoad;
use scrubjay_trace::{PartPeriods, Periods, ServiceSource};
use std::time::Instant;

/// A device's name, the arrival of its first request, the columns `idle`, `busy`, `work` (u64) and `requests` (u32), as bytes, and where
/// the service times are from.
type PartColumns<'py> =
    (String, u64, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, String);

/// Converts a part for Python.
pub fn columns<'py>(py: Python<'py>, part: &DevicePart) -> PartColumns<'py> {
    let times =
        |times: &[u64]| PyBytes::new(py, &times.iter().flat_map(|time| time.to_le_bytes()).collect::<Vec<u8>>());
    let periods = &part.periods;
    let counts: Vec<u8> = periods.requests.iter().flat_map(|count| count.to_le_bytes()).collect();
    let (idle, busy, work) = (times(&periods.idle), times(&periods.busy), times(&periods.work));
    (part.name.clone(), periods.started.0, idle, busy, work, PyBytes::new(py, &counts), part.service.name().to_owned())
}

fn periods(columns: &PartColumns<'_>) -> PartPeriods {
    let (_, started, idle, busy, work, requests, _) = columns;
    let times = |bytes: &Bound<'_, PyBytes>| {
        let words = bytes.as_bytes().as_chunks::<8>().0;
        words.iter().map(|word| u64::from_le_bytes(*word)).collect()
    };
    let counts = requests.as_bytes().as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    PartPeriods { started: Nanos(*started), idle: times(idle), busy: times(busy), work: times(work), requests: counts }
}

/// What `tune --json` prints of one device whose parts `parts` gives, in their order; `None`: it has too few requests.
#[pyfunction]
#[pyo3(signature = (name, parts, slowdown, max_slowdown, goal, sizes, min_requests, disk, threads, progress))]
#[allow(clippy::too_many_arguments, reason = "all of them are one call of Python's")]
pub fn tune_parts(
    py: Python<'_>,
    name: String,
    parts: &Bound<'_, PyAny>,
    slowdown: &str,
    max_slowdown: &str,
    goal: &str,
    sizes: &str,
    min_requests: u64,
    disk: &str,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<String>> {
    let task = task(py, [slowdown, max_slowdown, goal, sizes, disk])?;
    let started = Instant::now();
    // Parts are taken one at a time, because together they need more memory than their join.
    let (mut all, mut source) = (Periods::default(), ServiceSource::Model(task.disk));
    for part in parts.try_iter()? {
        let columns: PartColumns<'_> = part?.extract()?;
        if columns.6 == ServiceSource::Recorded(task.disk).name() {
            source = ServiceSource::Recorded(task.disk);
        }
        let part = periods(&columns);
        all.join(&part).map_err(|error| raised(py, JobError::Input(error.to_string())))?;
    }
    let periods = all;
    let read = started.elapsed();
    if periods.requests_total() < min_requests {
        return Ok(None);
    }
    run(py, progress, threads, move |control| {
        let loads = [DeviceLoad { name, periods, requests: Vec::new(), service: source }];
        let started = Instant::now();
        let tuned = tune::tune(&loads, &task, control)?;
        let took = TuneTimes { read, tune: started.elapsed() };
        let document = TuneDocument::new(&loads[0], &task, &tuned[0], took);
        serde_json::to_string(&document).map(Some).map_err(|error| JobError::Input(error.to_string()).into())
    })
}

/// The task that these option texts describe: slowdown, max_slowdown, goal, sizes, disk.
pub fn task(py: Python<'_>, [slowdown, max_slowdown, goal, sizes, disk]: [&str; 5]) -> PyResult<TuneTask> {
    let disk = settings::disk(py, disk)?;
    let mean = settings::parsed(py, "slowdown", slowdown, quantity::time)?;
    let max = settings::parsed(py, "max_slowdown", max_slowdown, quantity::time)?;
    let form = settings::parsed(py, "goal", goal, named::named)?;
    let sizes = settings::parsed(py, "sizes", sizes, tune::sizes)?;
    Ok(TuneTask::new(Goal::new(mean, max).form(form), disk, sizes))
}
