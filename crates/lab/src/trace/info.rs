//! `scrubjay trace info`: the figures of a trace, for people, as JSON, and as a page.

use super::show;
use crate::args::trace::Info;
use crate::workload;
use anyhow::{Context, Result};
use scrubjay_cli::exit::{Exit, Usage};
use scrubjay_cli::page::{self, StudyProvenance};
use scrubjay_cli::say::shown_path;
use scrubjay_research::job_control::JobControl;
use scrubjay_research::trace_document::TraceDocument;
use scrubjay_research::trace_hash;
use scrubjay_research::trace_info::{self, HeldIntervals, InfoTask, ReadTrace};
use scrubjay_study::idleness::{self, IdleStudy};
use std::io::{self, Write};
use std::path::Path;

/// The error if the figures cannot be printed.
const NO_OUTPUT: &str = "cannot write the figures to standard output";

/// Reads the trace once, and prints its figures.
pub fn run(args: &Info) -> Result<Exit> {
    args.plot.as_deref().map_or(Ok(()), |folder| page::check_folder("--plot", folder, args.force))?;
    let files = &args.traces.files;
    let trace = scrubjay_research::workload::open(files, workload::options(&args.traces)?)?;
    let task = InfoTask {
        devices: &args.traces.device,
        service: args.disk.service.choice(),
        disk: args.disk.disk,
        is_studied: args.plot.is_some(),
    };
    let ReadTrace { trace, summary, study, notes } = trace_info::walk(trace, &task, &JobControl::default())?;
    notes.iter().for_each(workload::say_note);
    let facts = summary.facts();
    let mut out = io::stdout().lock();
    if args.json {
        let mut document = TraceDocument::new(&trace, &facts);
        document.sha256 = trace_hash::sha256_of_all(files);
        let document = serde_json::to_string(&document).context("the figures as JSON")?;
        writeln!(out, "{document}").context(NO_OUTPUT)?;
    } else {
        show::print(&trace, &facts, &mut out).context(NO_OUTPUT)?;
    }
    if let (Some(folder), Some(study)) = (&args.plot, study) {
        if facts.idle.lengths.count == 0 {
            return Err(Usage(format!("{} has no idle intervals to draw", files[0].display())).into());
        }
        let written = draw(args, &study, folder)?;
        if !args.json {
            writeln!(out, "\n{}: figures of the idle intervals", shown_path(&written))?;
        }
    }
    Ok(Exit::Clean)
}

/// Draws the page of idle intervals, and returns the file to open.
fn draw(args: &Info, study: &HeldIntervals, folder: &Path) -> Result<std::path::PathBuf> {
    let file = args.traces.files[0].file_name().unwrap_or_default().to_string_lossy();
    let name = match &args.traces.device[..] {
        [] => file.into_owned(),
        devices => format!("{file}:{}", devices.join(",")),
    };
    let page = idleness::page(&[IdleStudy { name, idleness: study.study() }]);
    let mut facts = StudyProvenance::of_this_run();
    for (file, hash) in args.traces.files.iter().zip(trace_hash::sha256_of_all(&args.traces.files)) {
        facts.add("SHA-256", format!("{hash}  {}", shown_path(file)));
    }
    let written = page::write(&page, folder, facts.all())?;
    written.into_iter().next().context("a page of no file")
}
