//! The `scrubjay-lab` command: traces, tuning, simulations and studies. `scrubjay` starts it for these verbs.

mod args;
mod costs;
mod simulate;
mod study;
mod trace;
mod tune;
mod workload;

use args::ResearchVerb;
use scrubjay_cli::exit::{self, Exit};
use scrubjay_cli::generate;
use scrubjay_research::ResearchError;
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match args::parse().verb {
        ResearchVerb::Trace(args) => trace::run(&args),
        ResearchVerb::Tune(args) => tune::run(&args),
        ResearchVerb::Simulate(args) => simulate::run(&args),
        ResearchVerb::Study(args) => study::run(&args),
        ResearchVerb::Generate(args) => generate::run(&args, args::whole_table()),
    };
    exit::code(result, exit_of)
}

/// The exit code of an error; `None` as for [`exit::code`].
fn exit_of(error: &anyhow::Error) -> Option<Exit> {
    match error.downcast_ref() {
        Some(ResearchError::Job(error)) => exit::of_job(error),
        Some(ResearchError::Trace(_) | ResearchError::NoDevice { .. } | ResearchError::TooFewRequests { .. }) => {
            Some(Exit::Usage)
        }
        Some(ResearchError::Stopped) => Some(Exit::Failed),
        None => exit::of(error),
    }
}
