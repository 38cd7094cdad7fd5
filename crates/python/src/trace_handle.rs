//! A trace that is opened again for each call.

use crate::failure::raised;
use crate::file_object;
use crate::notes;
use crate::parts;
use crate::records::RecordStream;
use crate::running::run;
use crate::settings;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};
use scrubjay_chart::Exhibit;
use scrubjay_core::quantity;
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::PolicyParameters;
use scrubjay_core::units::Nanos;
use scrubjay_device::output::Existing;
use scrubjay_jobs::JobError;
use scrubjay_jobs::parameter::UnusedParameter;
use scrubjay_research::ResearchError;
use scrubjay_research::cut;
use scrubjay_research::job_control::JobControl;
use scrubjay_research::losses::Losses;
use scrubjay_research::simulation::{self, SimulationDocument};
use scrubjay_research::trace_document::TraceDocument;
use scrubjay_research::trace_hash;
use scrubjay_research::trace_info::{self, HeldIntervals, InfoTask, ReadTrace};
use scrubjay_research::trace_output::TraceOutput;
use scrubjay_research::tune::{self, TuneTimes};
use scrubjay_research::tune_document::TuneDocument;
use scrubjay_research::workload::{self, DeviceFilter, DeviceLoad, Hold, TraceNote};
use scrubjay_study::idleness::{self, IdleStudy};
use scrubjay_trace::cut::TracePart;
use scrubjay_trace::idleness::Idleness;
use scrubjay_trace::{Input, OpenOptions, Record, ServiceChoice, Trace};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where a trace comes from, and how it is read. Nothing is open in between.
#[pyclass(frozen, module = "scrubjay._core")]
pub struct TraceHandle {
    sources: Vec<HandleSource>,
    name: String,
    options: OpenOptions,
    devices: Vec<String>,
}

/// A file's path and `None`; or a name, and a callable that returns a file object. All sources of a trace are of one
/// sort.
type HandleSource = (PathBuf, Option<Py<PyAny>>);

/// A figure: the stem of its files, heading, caption, and the picture as SVG.
type DrawnFigure = (String, String, String, String);

#[pymethods]
impl TraceHandle {
    #[new]
    #[pyo3(signature = (sources, format, devices, time_unit, block))]
    fn new(
        py: Python<'_>,
        sources: Vec<HandleSource>,
        format: Option<&str>,
        devices: Vec<String>,
        time_unit: Option<&str>,
        block: Option<&str>,
    ) -> PyResult<TraceHandle> {
        let format = format.map(|name| settings::parsed(py, "format", name, format_named)).transpose()?;
        let time_unit =
            time_unit.map(|text| settings::parsed(py, "time_unit", text, quantity::time_unit)).transpose()?;
        let block = block.map(|text| settings::parsed(py, "block", text, quantity::block)).transpose()?;
        let names: Vec<String> = sources.iter().map(|(name, _)| name.display().to_string()).collect();
        Ok(TraceHandle { sources, name: names.join(", "), options: OpenOptions { format, time_unit, block }, devices })
    }

    /// The figures of `trace info`, as JSON, and what to warn of.
    fn info(
        &self,
        py: Python<'_>,
        service: &str,
        disk: &str,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(String, Vec<String>)> {
        let paths = self.paths();
        self.seen(py, service, disk, false, progress, move |seen| {
            let mut document = TraceDocument::new(&seen.trace, &seen.summary.facts());
            document.sha256 = trace_hash::sha256_of_all(&paths);
            (json(&document), notes::texts(&seen.notes))
        })
    }

    /// The study of the idle intervals: columns of little-endian numbers of 8 bytes, numbers, and what to warn of.
    fn idle<'py>(
        &self,
        py: Python<'py>,
        service: &str,
        disk: &str,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<String>)> {
        let held = |seen: &ReadTrace| seen.study.as_ref().map(HeldIntervals::study);
        let (study, notes) =
            self.seen(py, service, disk, true, progress, move |seen| (held(&seen), notes::texts(&seen.notes)))?;
        let columns = PyDict::new(py);
        if let Some(study) = study {
            fill(&columns, &study)?;
        }
        Ok((columns, notes))
    }

    /// The figures of `trace info --plot`, and what to warn of.
    fn figures(
        &self,
        py: Python<'_>,
        service: &str,
        disk: &str,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Vec<DrawnFigure>, Vec<String>)> {
        let name = self.study_name();
        let drawn = self.seen(py, service, disk, true, progress, move |seen| {
            let facts = seen.summary.facts();
            let study = seen.study.as_ref().filter(|_| facts.idle.lengths.count > 0);
            (study.map(|study| drawn(name, study.study())), notes::texts(&seen.notes))
        })?;
        match drawn {
            (Some(figures), notes) => Ok((figures, notes)),
            (None, _) => Err(raised(py, JobError::Input(format!("{} has no idle intervals to draw", self.name)))),
        }
    }

    /// What `tune --json` prints, a text for each device; devices left out for having too few requests; and what to warn of.
    #[allow(clippy::too_many_arguments, reason = "all of them are one call of Python's")]
    fn tune(
        &self,
        py: Python<'_>,
        slowdown: &str,
        max_slowdown: &str,
        goal: &str,
        sizes: &str,
        min_requests: u64,
        service: &str,
        disk: &str,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Vec<String>, Vec<String>, Vec<String>)> {
        let task = parts::task(py, [slowdown, max_slowdown, goal, sizes, disk])?;
        let service = settings::service(py, service)?;
        let (trace, devices, paths) = (self.opened(py)?, self.devices.clone(), self.paths());
        run(py, progress, threads, move |control| {
            let started = Instant::now();
            let (mut loads, notes) = loads(control, trace, &devices, service, task.disk, Hold::Periods)?;
            let read = started.elapsed();
            let left_out = tune::leave_out_small(&mut loads, min_requests)?;
            let started = Instant::now();
            let tuned = tune::tune(&loads, &task, control)?;
            let took = TuneTimes { read, tune: started.elapsed() };
            let sha256 = trace_hash::sha256_of_all(&paths);
            let documents = loads.iter().zip(&tuned).map(|(load, tuned)| {
                let mut document = TuneDocument::new(load, &task, tuned, took);
                document.sha256 = &sha256;
                json(&document)
            });
            Ok((documents.collect(), left_out, notes::texts(&notes)))
        })
    }

    /// What `simulate scrub --json` prints, a text for each device, and what to warn of.
    #[allow(clippy::too_many_arguments, reason = "all of them are one call of Python's")]
    fn simulate(
        &self,
        py: Python<'_>,
        policy: &str,
        parameters: Vec<(String, String)>,
        service: &str,
        disk: &str,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Vec<String>, Vec<String>)> {
        let disk = settings::disk(py, disk)?;
        let service = settings::service(py, service)?;
        let policy = settings::policy(py, policy)?;
        let given = settings::parameters(py, &parameters)?;
        UnusedParameter::check(policy.name(), policy.uses(), &given)
            .map_err(|unused| ResearchError::from(JobError::UnusedParameter(unused)))
            .and_then(|()| simulation::check_sizes(&given, ""))
            .map_err(|error| raised(py, error))?;
        let parameters = PolicyParameters::with(&given);
        let (trace, devices, paths) = (self.opened(py)?, self.devices.clone(), self.paths());
        run(py, progress, threads, move |control| {
            let (loads, notes) = loads(control, trace, &devices, service, disk, simulation::hold(policy))?;
            let played = simulation::play(&loads, policy, &parameters, disk, control)?;
            let sha256 = trace_hash::sha256_of_all(&paths);
            let documents = loads.iter().zip(&played).map(|(load, played)| {
                let mut document = SimulationDocument::new(load, policy, &parameters, played);
                document.sha256 = &sha256;
                json(&document)
            });
            Ok((documents.collect(), notes::texts(&notes)))
        })
    }

    /// Writes the trace as `trace convert` does: how many records the file holds, its bytes, and what was lost.
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        to: Option<String>,
        force: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(u64, u64, Vec<String>)> {
        let existing = if force { Existing::Replaced } else { Existing::Kept };
        let (trace, devices) = (self.opened(py)?, self.devices.clone());
        let written = run(py, progress, 0, move |control| {
            match TraceOutput::create(&path, to.as_deref(), existing, "format=") {
                Err(ResearchError::Job(JobError::Input(complaint))) => Ok(Err(complaint)),
                output => copied(control, trace, &devices, output?).map(Ok),
            }
        })?;
        written.map_err(|complaint| settings::refused(py, "format", &complaint))
    }

    /// Where the file can be cut into so many parts: of each the bytes that hold its records, and its time, in nanoseconds.
    #[allow(clippy::type_complexity, reason = "a pair of pairs is what Python gets")]
    fn cuts(
        &self,
        py: Python<'_>,
        parts: u64,
        disorder: Option<usize>,
    ) -> PyResult<Vec<((u64, u64), (u64, Option<u64>))>> {
        let (path, options) = (self.one_file(py)?, self.options);
        let cuts = run(py, None, 0, move |_| cut::cuts(&path, options, parts, disorder))?;
        let bounds =
            |part: &TracePart| ((part.bytes.start, part.bytes.end), (part.from.0, part.until.map(|until| until.0)));
        Ok(cuts.iter().map(bounds).collect())
    }

    /// The busy periods of a part, of each device in the order of their first requests. `bytes`: all of the file without.
    fn part<'py>(
        &self,
        py: Python<'py>,
        bytes: Option<(u64, u64)>,
        times: (u64, Option<u64>),
        service: &str,
        disk: &str,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (service, disk) = (settings::service(py, service)?, settings::disk(py, disk)?);
        let (path, options, devices) = (self.one_file(py)?, self.options, self.devices.clone());
        let bytes = bytes.map_or(0..u64::MAX, |(start, end)| start..end);
        let part = TracePart { bytes, from: Nanos(times.0), until: times.1.map(Nanos) };
        let parts =
            run(py, progress, 0, move |control| cut::part_of(control, &path, options, &part, &devices, service, disk))?;
        parts.iter().map(|part| Ok(parts::columns(py, part).into_pyobject(py)?.into_any())).collect()
    }

    /// The records, as the Arrow PyCapsule interface gives them: a stream that is read as it is asked.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows returning the actual schema if another is requested.
        let _ = requested_schema;
        let records = RecordStream::new(self.opened(py)?, &self.devices);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(records)), c"arrow_array_stream")
    }
}

impl TraceHandle {
    /// The paths of its files; none where a source is a file object.
    fn paths(&self) -> Vec<PathBuf> {
        let are_files = self.sources.iter().all(|(_, object)| object.is_none());
        if are_files { self.sources.iter().map(|(path, _)| path.clone()).collect() } else { Vec::new() }
    }

    /// Opens the trace at its beginning.
    fn opened(&self, py: Python<'_>) -> PyResult<Trace> {
        let openers = self.sources.iter().filter_map(|(path, opener)| Some((path, opener.as_ref()?)));
        let input = |(path, opener): (&PathBuf, &Py<PyAny>)| -> PyResult<Input> {
            let source = file_object::source(&opener.bind(py).call0()?)?;
            Ok(Input { name: path.display().to_string(), source })
        };
        let inputs = openers.map(input).collect::<PyResult<Vec<_>>>()?;
        let opened = if inputs.is_empty() {
            let files: Vec<&PathBuf> = self.sources.iter().map(|(path, _)| path).collect();
            py.detach(|| workload::open(&files, self.options))
        } else {
            let options = self.options;
            py.detach(move || scrubjay_trace::open(inputs, options).map_err(ResearchError::Trace))
        };
        opened.map_err(|error| raised(py, error))
    }

    /// Reads the trace to its end, and returns the result of `convert`.
    fn seen<T: Send + 'static>(
        &self,
        py: Python<'_>,
        service: &str,
        disk: &str,
        is_studied: bool,
        progress: Option<&Bound<'_, PyAny>>,
        convert: impl FnOnce(ReadTrace) -> T + Send + 'static,
    ) -> PyResult<T> {
        let (service, disk) = (settings::service(py, service)?, settings::disk(py, disk)?);
        let (trace, devices) = (self.opened(py)?, self.devices.clone());
        run(py, progress, 0, move |control| {
            let task = InfoTask { devices: &devices, service, disk, is_studied };
            trace_info::walk(trace, &task, control).map(convert)
        })
    }

    /// The path, if the trace is one file given by its path.
    fn one_file(&self, py: Python<'_>) -> PyResult<PathBuf> {
        match self.sources.as_slice() {
            [(path, None)] => Ok(path.clone()),
            _ => Err(settings::refused_source(py)),
        }
    }

    /// The name that the page of `trace info --plot` uses.
    fn study_name(&self) -> String {
        let file =
            Path::new(&self.name).file_name().map_or(self.name.clone(), |name| name.to_string_lossy().into_owned());
        if self.devices.is_empty() { file } else { format!("{file}:{}", self.devices.join(",")) }
    }
}

fn format_named(name: &str) -> Result<&'static scrubjay_trace::formats::Format, String> {
    workload::format_named(name).map_err(|error| error.to_string())
}

/// One load for each device, at least one.
fn loads(
    control: &JobControl,
    trace: Trace,
    devices: &[String],
    service: ServiceChoice,
    disk: ServiceModel,
    hold: Hold,
) -> Result<(Vec<DeviceLoad>, Vec<TraceNote>), ResearchError> {
    let (loads, notes) = workload::loads_of(control, trace, devices, service, disk, hold)?;
    if loads.is_empty() { Err(workload::no_requests()) } else { Ok((loads, notes)) }
}

/// Writes the selected records.
fn copied(
    control: &JobControl,
    trace: Trace,
    devices: &[String],
    mut output: TraceOutput,
) -> Result<(u64, u64, Vec<String>), ResearchError> {
    let mut losses = Losses::new(output.format());
    let mut filter = DeviceFilter::new(devices);
    let mut trace = trace;
    let mut wanted: Vec<Record> = Vec::new();
    while trace.next_batch().map_err(ResearchError::Trace)?.is_some() {
        control.check()?;
        control.add_records(trace.records().len() as u64);
        wanted.clear();
        let known = trace.devices();
        wanted.extend(trace.records().iter().filter(|record| filter.wants(record.device, known)));
        losses.add(&wanted);
        output.write(&wanted, known)?;
    }
    filter.check(&trace)?;
    let lost = losses.lines(trace.devices());
    let written = output.finish()?;
    Ok((losses.records() - losses.left_out(), written.bytes, lost))
}

/// The figures of the page of idle intervals.
fn drawn(name: String, idleness: Idleness) -> Vec<DrawnFigure> {
    let page = idleness::page(&[IdleStudy { name, idleness }]);
    let files = scrubjay_chart::files(&page, &[]).expect("the study names its figures as files may be named");
    let svg = |name: &str| {
        let name = format!("{name}.svg");
        files.iter().find(|file| file.name == name).map(|file| file.text.clone())
    };
    let figures = page.exhibits.iter().filter_map(|exhibit| match exhibit {
        Exhibit::Figure(figure) => Some((figure, svg(&figure.name)?)),
        _ => None,
    });
    figures.map(|(figure, svg)| (figure.name.clone(), figure.title.clone(), figure.caption.clone(), svg)).collect()
}

/// Puts the study's columns and numbers into `into`. Unknown values are NaN.
fn fill(into: &Bound<'_, PyDict>, study: &Idleness) -> PyResult<()> {
    let py = into.py();
    let column = |name: &str, values: &mut dyn Iterator<Item = f64>| {
        let bytes: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
        into.set_item(name, PyBytes::new(py, &bytes))
    };
    let waited = &study.waited;
    column("threshold", &mut waited.iter().map(|waited| waited.threshold))?;
    column("longer", &mut waited.iter().map(|waited| waited.longer as f64))?;
    column("survival", &mut waited.iter().map(|waited| waited.survival))?;
    column("residual_mean", &mut waited.iter().map(|waited| waited.residual_mean.unwrap_or(f64::NAN)))?;
    column("residual_p1", &mut waited.iter().map(|waited| waited.residual_p1.unwrap_or(f64::NAN)))?;
    column("usable", &mut waited.iter().map(|waited| waited.usable))?;
    column("hazard_from", &mut study.hazard.iter().map(|bin| bin.from))?;
    column("hazard_to", &mut study.hazard.iter().map(|bin| bin.to))?;
    column("hazard_ended", &mut study.hazard.iter().map(|bin| bin.ended as f64))?;
    column("hazard_rate", &mut study.hazard.iter().map(|bin| bin.rate))?;
    column("lorenz_intervals", &mut study.lorenz.iter().map(|point| point.0))?;
    column("lorenz_time", &mut study.lorenz.iter().map(|point| point.1))?;
    column("autocorrelation", &mut study.autocorrelation.iter().copied())?;
    into.set_item("count", study.moments.count as u64)?;
    into.set_item("idle_seconds", study.moments.sum)?;
    into.set_item("span_seconds", study.span)
}

/// A document as JSON.
fn json(document: &impl serde::Serialize) -> String {
    serde_json::to_string(document).expect("a document of numbers and texts is JSON")
}
