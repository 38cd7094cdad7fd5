//! The `scrubjay` command: parses arguments, calls the verb, turns the result into an exit code.

mod args;
mod bench;
mod columns;
mod costs;
mod disks;
mod echo;
mod exit;
mod explain;
mod generate;
mod page;
mod pool;
mod probe;
mod progress;
mod qualify;
mod report;
mod result;
mod say;
mod scrub;
mod signals;
mod simulate;
mod study;
mod terminal;
mod trace;
mod tune;
mod unused_option;
mod unwritable;
mod verbs;
mod volume;
mod workload;
mod zfs;

use args::Verb;
use exit::Exit;
use scrubjay_jobs::JobError;
use scrubjay_research::ResearchError;
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match args::parse().verb {
        None => disks::run(),
        Some(Verb::Scrub(args)) => scrub::run(&args),
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
        Some(Verb::Trace(args)) => trace::run(&args),
        Some(Verb::Tune(args)) => tune::run(&args),
        Some(Verb::Simulate(args)) => simulate::run(&args),
        Some(Verb::Study(args)) => study::run(&args),
        Some(Verb::Volume(args)) => test_codes().and_then(|()| volume::run(&args)),
        Some(Verb::Bench(args)) => test_codes().and_then(|()| bench::run(&args)),
        Some(Verb::Generate(args)) => generate::run(&args),
    };
    let exit = result.unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return Exit::Clean;
        }
        say::say(format_args!("scrubjay: {}", say::in_words(&error)));
        exit_of(&error)
    });
    ExitCode::from(exit as u8)
}

/// Tests the codes: nothing may be stored, judged or measured with a code that fails its known answers here.
fn test_codes() -> anyhow::Result<()> {
    Ok(scrubjay_code::self_test()?)
}

/// The exit code of an error.
fn exit_of(error: &anyhow::Error) -> Exit {
    if let Some(ResearchError::Trace(_) | ResearchError::NoDevice { .. } | ResearchError::TooFewRequests { .. }) =
        error.downcast_ref()
    {
        return Exit::Usage;
    }
    let cause = match job_error(error) {
        Some(JobError::Input(_) | JobError::Unopened { .. } | JobError::UnusedParameter(_)) => return Exit::Usage,
        Some(JobError::Io { error, .. }) => Some(error),
        _ => error.downcast_ref::<std::io::Error>(),
    };
    if error.is::<exit::Usage>() {
        Exit::Usage
    } else if cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::PermissionDenied) {
        Exit::Permission
    } else {
        Exit::Failed
    }
}

/// The error of a job, also of one that asked traces or models.
fn job_error(error: &anyhow::Error) -> Option<&JobError> {
    match error.downcast_ref::<ResearchError>() {
        Some(ResearchError::Job(error)) => Some(error),
        _ => error.downcast_ref(),
    }
}

/// Did the reader close our output early (`| head`)? That is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let cause = match job_error(error) {
        Some(JobError::Io { error, .. }) => Some(error),
        _ => error.downcast_ref::<std::io::Error>(),
    };
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
