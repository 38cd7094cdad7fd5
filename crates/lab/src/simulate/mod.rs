//! `scrubjay simulate`: runs parts of Scrubjay against a trace or a model, in virtual time.

mod array;
mod integrity;
mod page_recorder;
mod scrub;
mod watch;

use crate::args::{Simulate, Simulated};
use anyhow::Result;
use scrubjay_cli::exit::Exit;

/// Runs the simulation that was asked for.
pub fn run(args: &Simulate) -> Result<Exit> {
    match &args.what {
        Simulated::Scrub(args) => scrub::run(args),
        Simulated::Array(args) => array::run(args),
        Simulated::Integrity(args) => integrity::run(args),
        Simulated::Watch(args) => watch::run(args),
    }
}
