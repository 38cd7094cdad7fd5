//! The reading of a trace for `trace info`: its figures, and the data of its idle intervals.

use crate::ResearchError;
use crate::job_control::JobControl;
use crate::workload::{self, TraceNote};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::units::Nanos;
use scrubjay_trace::idleness::{Idleness, MinuteCounts};
use scrubjay_trace::summary::TraceSummary;
use scrubjay_trace::{Periods, Record, ServiceQueue, ServiceSource, Trace};

/// The number of first records from which it is decided whether a trace has response times.
const FIRST_RECORDS: usize = 4096;

/// Where service times are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceChoice {
    /// Recorded, if the trace begins with response times, else the model.
    Auto,
    /// The trace's response times, where it has them.
    Recorded,
    /// The model of the disk.
    Model,
}

/// What to read and compute.
#[derive(Clone, Copy, Debug)]
pub struct InfoTask<'a> {
    /// These devices only; all, if none is named.
    pub devices: &'a [String],
    /// Where service times are taken from.
    pub service: ServiceChoice,
    /// The modelled disk.
    pub disk: ServiceModel,
    /// Are the idle intervals held, to be studied?
    pub is_studied: bool,
}

/// A trace that was read to its end.
pub struct ReadTrace {
    /// The trace: its format, its devices, what was not understood.
    pub trace: Trace,
    /// What is in it.
    pub summary: TraceSummary,
    /// Its idle intervals, if they were asked for.
    pub study: Option<HeldIntervals>,
    /// Notes for the user.
    pub notes: Vec<TraceNote>,
}

/// The idle intervals of a trace.
pub struct HeldIntervals {
    queue: ServiceQueue,
    periods: Periods,
    counts: MinuteCounts,
}

impl HeldIntervals {
    /// Studies the intervals.
    pub fn study(&self) -> Idleness {
        Idleness::of(&self.periods, &self.counts)
    }
}

/// Reads a trace once.
///
/// # Errors
/// The trace cannot be read, or lacks a device; or the job was stopped.
pub fn walk(trace: Trace, task: &InfoTask<'_>, control: &JobControl) -> Result<ReadTrace, ResearchError> {
    let mut walk = TraceWalk { task: *task, beginning: Vec::new(), walked: None };
    let (trace, notes) = workload::for_each_under(control, trace, task.devices, |record| walk.add(record))?;
    let WalkedTrace { summary, study } = walk.finish();
    Ok(ReadTrace { trace, summary, study, notes })
}

/// The walk through the records.
struct TraceWalk<'a> {
    task: InfoTask<'a>,
    /// Held back until the service times are chosen.
    beginning: Vec<Record>,
    walked: Option<WalkedTrace>,
}

/// What was collected.
struct WalkedTrace {
    summary: TraceSummary,
    study: Option<HeldIntervals>,
}

impl TraceWalk<'_> {
    fn add(&mut self, record: &Record) {
        if let Some(walked) = &mut self.walked {
            walked.add(record);
            return;
        }
        self.beginning.push(*record);
        if self.beginning.len() == FIRST_RECORDS {
            self.choose();
        }
    }

    /// Chooses the service times, and adds the records that were held back.
    fn choose(&mut self) -> &mut WalkedTrace {
        let is_recorded = match self.task.service {
            // Zeros in every record of the beginning are no measured times, whatever the format.
            ServiceChoice::Auto => {
                self.beginning.iter().any(|record| record.response.is_some_and(|time| time > Nanos::ZERO))
            }
            ServiceChoice::Recorded => true,
            ServiceChoice::Model => false,
        };
        let disk = self.task.disk;
        let service = if is_recorded { ServiceSource::Recorded(disk) } else { ServiceSource::Model(disk) };
        let mut walked = WalkedTrace::new(service, self.task.is_studied);
        self.beginning.drain(..).for_each(|record| walked.add(&record));
        self.walked.insert(walked)
    }

    fn finish(mut self) -> WalkedTrace {
        if self.walked.is_none() {
            self.choose();
        }
        self.walked.expect("just chosen")
    }
}

impl WalkedTrace {
    fn new(service: ServiceSource, is_studied: bool) -> WalkedTrace {
        let intervals = || HeldIntervals {
            queue: ServiceQueue::new(service),
            periods: Periods::default(),
            counts: MinuteCounts::default(),
        };
        WalkedTrace { summary: TraceSummary::new(service), study: is_studied.then(intervals) }
    }

    fn add(&mut self, record: &Record) {
        self.summary.add(record);
        if let Some(HeldIntervals { queue, periods, counts }) = &mut self.study {
            periods.add(queue.serve(record));
            counts.add(record.arrival);
        }
    }
}
