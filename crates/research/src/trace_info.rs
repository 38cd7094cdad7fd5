//! The reading of a trace for `trace info`: its figures, and the data of its idle intervals.

use crate::ResearchError;
use crate::job_control::JobControl;
use crate::workload::{self, TraceNote};
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_trace::idleness::{Idleness, MinuteCounts};
use scrubjay_trace::summary::TraceSummary;
use scrubjay_trace::{Periods, Record, ServiceChoice, ServiceQueue, ServiceSource, Trace};

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
pub fn walk(mut trace: Trace, task: &InfoTask<'_>, control: &JobControl) -> Result<ReadTrace, ResearchError> {
    let service = task.service.source(task.disk, trace.peek().map_err(ResearchError::Trace)?);
    let mut walked = WalkedTrace::new(service, task.is_studied);
    let (trace, notes) = workload::for_each_under(control, trace, task.devices, |record| walked.add(record))?;
    let WalkedTrace { summary, study } = walked;
    Ok(ReadTrace { trace, summary, study, notes })
}

/// What was collected.
struct WalkedTrace {
    summary: TraceSummary,
    study: Option<HeldIntervals>,
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
