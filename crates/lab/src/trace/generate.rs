//! `scrubjay trace generate`: generates a trace from a model, and saves the model's parameters.

use super::output::{CleanupSignal, create, existing};
use super::progress::RecordProgress;
use crate::args::trace::TraceGenerateArgs;
use crate::workload;
use anyhow::{Context, Result};
use scrubjay_cli::exit::{Exit, Usage};
use scrubjay_cli::say::say;
use scrubjay_cli::unwritable::unwritable;
use scrubjay_core::quantity::{show_count, show_time};
use scrubjay_core::units::Nanos;
use scrubjay_device::output;
use scrubjay_research::losses::Losses;
use scrubjay_research::trace_output::TraceOutput;
use scrubjay_trace::generate::{BUILTINS, DiskFit, Generator, Model, builtin};
use scrubjay_trace::{Devices, Record};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Records that are written at a time.
const BATCH: usize = 4096;

/// Fits, saves and generates what is asked for.
pub fn run(args: &TraceGenerateArgs) -> Result<Exit> {
    if args.list {
        return list();
    }
    // An output that cannot be written is reported before the model is fitted.
    let existing = existing(args.destination.force);
    if let Some(path) = &args.save {
        output::check(path, existing).map_err(unwritable)?;
    }
    let output = args.out.as_deref().map(|path| create(path, &args.destination)).transpose()?;
    let model = model(args)?;
    if let Some(path) = &args.save {
        output::write(path, existing, model.to_json().as_bytes()).map_err(unwritable)?;
    }
    if let Some(output) = output {
        generate(&model, args, output)?;
    }
    Ok(Exit::Clean)
}

/// Writes records drawn from the model.
fn generate(model: &Model, args: &TraceGenerateArgs, mut output: TraceOutput) -> Result<()> {
    let mut devices = Devices::default();
    let name: String = model.name().chars().map(|c| if c.is_whitespace() || c == ',' { '-' } else { c }).collect();
    devices.id(name.as_bytes());
    let progress = RecordProgress::new("generated");
    let mut losses = Losses::new(output.format());
    let mut records = Generator::new(model, args.hours.unwrap_or(model.hours()), args.seed);
    let mut batch: Vec<Record> = Vec::with_capacity(BATCH);
    let stop = CleanupSignal::on_signals()?;
    loop {
        batch.clear();
        batch.extend(records.by_ref().take(BATCH));
        if batch.is_empty() {
            break;
        }
        losses.add(&batch);
        output.write(&batch, &devices)?;
        progress.add(batch.len() as u64);
        stop.check()?;
    }
    let name = output.name().to_owned();
    let written = output.finish()?;
    progress.finish(&name, losses.records() - losses.left_out(), written.bytes);
    Ok(())
}

/// Prints the built-in models.
fn list() -> Result<Exit> {
    let mut out = io::stdout().lock();
    for model in BUILTINS {
        writeln!(out, "{:12}  {}", model.name, model.about).context("cannot write the list to standard output")?;
    }
    Ok(Exit::Clean)
}

/// The model that is asked for.
fn model(args: &TraceGenerateArgs) -> Result<Model> {
    if let Some(name) = &args.model {
        let known = || BUILTINS.iter().map(|builtin| builtin.name).collect::<Vec<_>>().join(", ");
        return Ok(builtin(name).ok_or_else(|| Usage(format!("no model `{name}` is built in; there are {}", known())))?);
    }
    if let Some(path) = &args.params {
        let wrong = |error: String| Usage(format!("{}: {error}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        return Ok(Model::from_json(&text, args.name.as_deref()).map_err(|error| wrong(error.to_string()))?);
    }
    let Some(first) = args.like.first() else {
        return Err(Usage("say what it is to be like: --model, --like or --params".to_owned()).into());
    };
    let trace = scrubjay_research::workload::open(&args.like, workload::format_options(args.format.as_deref())?)?;
    let mut fit = DiskFit::default();
    let (mut seen, progress) = (0, RecordProgress::new("learnt from"));
    workload::for_each(trace, &args.device, |record| {
        fit.add(record);
        seen += 1;
        if seen % BATCH as u64 == 0 {
            progress.add(BATCH as u64);
        }
    })?;
    progress.clear();
    let name = args.name.clone().unwrap_or_else(|| stem(first));
    let model = fit.finish(&name).map_err(|error| Usage(format!("{}: {error}", first.display())))?;
    let hours = Nanos((model.hours() * 3.6e12) as u64);
    say(format_args!("{name}: learnt from {} records in {}", show_count(model.requests()), show_time(hours)));
    Ok(model)
}

/// The name of a file without its extensions.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.trim_start_matches('.').split('.').next().unwrap_or_default();
    if stem.is_empty() || name == "-" { "trace".to_owned() } else { stem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_called_after_its_file() {
        for (path, name) in
            [("a/hplajw-1week.srt.xz", "hplajw-1week"), ("-", "trace"), ("x", "x"), (".hidden", "hidden")]
        {
            assert_eq!(stem(Path::new(path)), name);
        }
    }
}
