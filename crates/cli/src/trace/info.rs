//! `scrubjay trace info`: a trace in figures, for people, for programs, and as a page.

use super::document::TraceDocument;
use super::show;
use crate::args::trace::{GeneratedServiceArg as From, Info};
use crate::exit::{Exit, Usage};
use crate::say::shown_path;
use crate::{page, workload};
use anyhow::{Context, Result};
use scrubjay_core::units::Nanos;
use scrubjay_study::idleness::{self, IdleStudy};
use scrubjay_trace::idleness::{Idleness, MinuteCounts};
use scrubjay_trace::summary::TraceSummary;
use scrubjay_trace::{Periods, Record, ServiceQueue, ServiceSource};
use std::io::{self, Write};
use std::path::Path;

/// By so many first records is told whether a trace has response times.
const TOLD_BY: usize = 4096;

/// What is said when nobody takes the figures.
const NO_OUTPUT: &str = "cannot write the figures to standard output";

/// Reads the trace once, and prints what is in it.
pub fn run(args: &Info) -> Result<Exit> {
    let files = &args.traces.files;
    let trace = scrubjay_jobs::workload::open(files, workload::options(&args.traces)?)?;
    let mut walk = TraceWalk { args, beginning: Vec::new(), seen: None };
    let trace = workload::for_each(trace, &args.traces.device, |record| walk.add(record))?;
    let seen = walk.finish();
    let facts = seen.summary.facts();
    let mut out = io::stdout().lock();
    if args.json {
        let document = serde_json::to_string(&TraceDocument::new(&trace, &facts)).context("the figures as JSON")?;
        writeln!(out, "{document}").context(NO_OUTPUT)?;
    } else {
        show::print(&trace, &facts, &mut out).context(NO_OUTPUT)?;
    }
    if let (Some(folder), Some(study)) = (&args.plot, seen.study) {
        if facts.idle.lengths.count == 0 {
            return Err(Usage(format!("{} has no idle intervals to draw", files[0].display())).into());
        }
        let written = draw(args, study, folder)?;
        if !args.json {
            writeln!(out, "\n{}: figures of the idle intervals", shown_path(&written))?;
        }
    }
    Ok(Exit::Clean)
}

/// Draws the page of idle intervals, and gives the file to open.
fn draw(args: &Info, study: Intervals, folder: &Path) -> Result<std::path::PathBuf> {
    let file = args.traces.files[0].file_name().unwrap_or_default().to_string_lossy();
    let name = match &args.traces.device[..] {
        [] => file.into_owned(),
        devices => format!("{file}:{}", devices.join(",")),
    };
    let page = idleness::page(&[IdleStudy { name, idleness: Idleness::of(&study.periods, &study.counts) }]);
    let command: Vec<String> = std::env::args().collect();
    let facts = [("version", env!("CARGO_PKG_VERSION").to_owned()), ("command", command.join(" "))];
    let written = page::write(&page, folder, &facts)?;
    written.into_iter().next().context("a page of no file")
}

/// The walk through the records.
struct TraceWalk<'a> {
    args: &'a Info,
    /// Held back until the service times are chosen.
    beginning: Vec<Record>,
    seen: Option<SeenTrace>,
}

/// What was seen.
struct SeenTrace {
    summary: TraceSummary,
    study: Option<Intervals>,
}

/// What the page is drawn from.
struct Intervals {
    queue: ServiceQueue,
    periods: Periods,
    counts: MinuteCounts,
}

impl TraceWalk<'_> {
    fn add(&mut self, record: &Record) {
        if let Some(seen) = &mut self.seen {
            seen.add(record);
            return;
        }
        self.beginning.push(*record);
        if self.beginning.len() == TOLD_BY {
            self.choose();
        }
    }

    /// Chooses the service times, and takes what was held back.
    fn choose(&mut self) -> &mut SeenTrace {
        let is_recorded = match self.args.service {
            // Zeros are how msr writes what is not known.
            From::Auto => self.beginning.iter().any(|record| record.response.is_some_and(|time| time > Nanos::ZERO)),
            From::Recorded => true,
            From::Model => false,
        };
        let disk = self.args.disk;
        let service = if is_recorded { ServiceSource::Recorded(disk) } else { ServiceSource::Model(disk) };
        let mut seen = SeenTrace::new(service, self.args.plot.is_some());
        self.beginning.drain(..).for_each(|record| seen.add(&record));
        self.seen.insert(seen)
    }

    fn finish(mut self) -> SeenTrace {
        if self.seen.is_none() {
            self.choose();
        }
        self.seen.expect("just chosen")
    }
}

impl SeenTrace {
    fn new(service: ServiceSource, is_drawn: bool) -> SeenTrace {
        let intervals = || Intervals {
            queue: ServiceQueue::new(service),
            periods: Periods::default(),
            counts: MinuteCounts::default(),
        };
        SeenTrace { summary: TraceSummary::new(service), study: is_drawn.then(intervals) }
    }

    fn add(&mut self, record: &Record) {
        self.summary.add(record);
        if let Some(Intervals { queue, periods, counts }) = &mut self.study {
            periods.add(queue.request(record));
            counts.add(record.arrival);
        }
    }
}
