//! `scrubjay trace convert`: writes a trace in another format.

use super::output::{self, CleanupSignal};
use super::progress::RecordProgress;
use crate::args::trace::Convert;
use crate::workload;
use anyhow::Result;
use scrubjay_cli::exit::{Exit, Usage};
use scrubjay_cli::say::say;
use scrubjay_research::ResearchError;
use scrubjay_research::losses::Losses;
use scrubjay_research::trace_output::TraceOutput;
use scrubjay_research::workload::DeviceFilter;
use scrubjay_trace::{Record, Trace};

/// Converts the trace, and prints what was lost.
pub fn run(args: &Convert) -> Result<Exit> {
    // Not a positional argument of its own, because an option between the two would end the first list.
    let Some((out, files)) = args.traces.files.split_last().filter(|(_, files)| !files.is_empty()) else {
        return Err(Usage("name at least one trace, and last of all where to write".to_owned()).into());
    };
    let trace = scrubjay_research::workload::open(files, workload::options(&args.traces)?)?;
    let output = output::create(out, &args.destination)?;
    let progress = RecordProgress::new("converted");
    let mut losses = Losses::new(output.format());
    let name = output.name().to_owned();
    let (trace, bytes) = copy(trace, &args.traces.device, output, &mut losses, &progress)?;
    progress.clear();
    scrubjay_research::workload::malformed(&trace).iter().for_each(workload::say_note);
    for line in losses.lines(trace.devices()) {
        say(format_args!("scrubjay: {line}"));
    }
    progress.finish(&name, losses.records() - losses.left_out(), bytes);
    Ok(Exit::Clean)
}

/// Writes the wanted records in batches.
fn copy(
    mut trace: Trace,
    names: &[String],
    mut output: TraceOutput,
    losses: &mut Losses,
    progress: &RecordProgress,
) -> Result<(Trace, u64)> {
    let stop = CleanupSignal::on_signals()?;
    let mut filter = DeviceFilter::new(names);
    let mut wanted: Vec<Record> = Vec::new();
    while trace.next_batch().map_err(ResearchError::Trace)?.is_some() {
        let batch = if names.is_empty() {
            trace.records()
        } else {
            wanted.clear();
            let devices = trace.devices();
            wanted.extend(trace.records().iter().filter(|record| filter.wants(record.device, devices)));
            &wanted
        };
        losses.add(batch);
        progress.add(batch.len() as u64);
        output.write(batch, trace.devices())?;
        stop.check()?;
    }
    // The same Ctrl-C ends a program that feeds a pipe, so this end may not be the trace's.
    stop.check()?;
    filter.check(&trace)?;
    let written = output.finish()?;
    Ok((trace, written.bytes))
}
