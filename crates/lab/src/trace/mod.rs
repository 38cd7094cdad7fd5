//! `scrubjay trace`: shows, converts, captures and generates traces of disks.

mod capture;
mod convert;
mod date;
mod formats;
mod generate;
mod info;
mod output;
mod progress;
mod show;

use crate::args::trace::{TraceArgs, TraceVerb};
use anyhow::Result;
use scrubjay_cli::exit::Exit;

/// Runs the verb that was asked for.
pub fn run(args: &TraceArgs) -> Result<Exit> {
    match &args.what {
        TraceVerb::Info(args) => info::run(args),
        TraceVerb::Convert(args) => convert::run(args),
        TraceVerb::Capture(args) => capture::run(args),
        TraceVerb::Generate(args) => generate::run(args),
        TraceVerb::Formats => formats::run(),
    }
}
