//! `scrubjay trace`: traces of disks, looked at, converted, captured and made up.

mod capture;
mod convert;
mod document;
mod formats;
mod generate;
mod info;
mod losses;
mod output;
mod progress;
mod show;

use crate::args::trace::{Trace, What};
use crate::exit::Exit;
use anyhow::Result;

/// Does what is asked for.
pub fn run(args: &Trace) -> Result<Exit> {
    match &args.what {
        What::Info(args) => info::run(args),
        What::Convert(args) => convert::run(args),
        What::Capture(args) => capture::run(args),
        What::Generate(args) => generate::run(args),
        What::Formats => formats::run(),
    }
}
