//! The `scrubjay` command as a library: parses arguments, calls the verb, turns the result into an exit code.
//!
//! What `scrubjay-lab` needs of it is public: how help, errors, tables, pages and results of probes look is the same in both programs.

pub mod args;
pub mod bench;
pub mod columns;
mod cost;
mod disks;
mod echo;
pub mod exit;
mod explain;
pub mod generate;
mod lab;
mod pace;
pub mod page;
mod pool;
mod pool_scrub;
pub mod probe;
mod progress;
mod qualify;
mod report;
mod result;
pub mod say;
mod scrub;
pub mod signals;
mod terminal;
pub mod unused_option;
pub mod unwritable;
mod verbs;
mod volume;
mod zfs;

use anyhow::Result;
use args::Verb;
use exit::Exit;
use std::process::ExitCode;

/// The program.
pub fn main() -> ExitCode {
    exit::code(run(), exit::of)
}

fn run() -> Result<Exit> {
    lab::take_help()?;
    match args::parse().verb {
        None => disks::run(),
        Some(Verb::Scrub(args)) => scrub::run(&args),
        Some(Verb::Pace(args)) => pace::run(&args),
        Some(Verb::Status { json }) => disks::status(json),
        Some(Verb::Explain(args)) => explain::run(&args),
        Some(Verb::Watch(args)) => verbs::watch::run(&args),
        Some(Verb::Setup(args)) => verbs::setup::run(&args),
        Some(Verb::Set(args)) => verbs::set::run(&args),
        Some(Verb::Plan { json }) => verbs::plan::run(json),
        Some(Verb::Check(args)) => verbs::check::run(args.first_pass_ok),
        Some(Verb::Alert(args)) => verbs::alert::run(&args),
        Some(Verb::Accept(args)) => verbs::person::accept(&args),
        Some(Verb::Forget(args)) => verbs::person::forget(&args),
        Some(Verb::ScrubNow(args)) => verbs::person::scrub_now(&args),
        Some(Verb::Pause(args)) => verbs::person::pause(&args),
        Some(Verb::Resume) => verbs::person::resume(),
        Some(Verb::History(args)) => verbs::history::run(&args),
        Some(Verb::Web(args)) => verbs::web::run(&args),
        Some(Verb::Metrics(args)) => verbs::metrics::run(&args),
        Some(Verb::Locate(args)) => verbs::locate::run(&args),
        Some(Verb::Doctor { json }) => verbs::doctor::run(json),
        Some(Verb::Qualify(args)) => qualify::run(&args),
        Some(Verb::Report(args)) => report::run(&args),
        Some(Verb::Probe(args)) => probe::run(&args),
        Some(Verb::Volume(args)) => test_codes().and_then(|()| volume::run(&args)),
        Some(Verb::Bench(args)) => test_codes().and_then(|()| bench::run(&args)),
        Some(Verb::Lab(_)) => lab::hand_over(),
        Some(Verb::Generate(args)) => lab::generate_all(&args),
    }
}

/// Tests the codes: nothing may be stored, judged or measured with a code that fails its known answers here.
fn test_codes() -> anyhow::Result<()> {
    Ok(scrubjay_code::self_test()?)
}
