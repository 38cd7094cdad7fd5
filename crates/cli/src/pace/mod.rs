//! `scrubjay pace`: runs a program inside the budget. Its standard output is the program's; all that is said goes to standard error.

mod text;

use crate::args::PaceArgs;
use crate::exit::{Exit, Usage};
use crate::say::{say, shown};
use crate::unwritable::unwritable;
use anyhow::{Context, Result};
use scrubjay_core::scrub::idle::{PolicyConfig, PolicyParameters};
use scrubjay_core::units::Nanos;
use scrubjay_device::detector::work::WorkDetectorError;
use scrubjay_device::output::{Existing, OutputFile};
use scrubjay_device::pace::{self, PaceError, PaceOptions, PacedEnd, PacedNews};
use scrubjay_jobs::pace::{PaceDocument, in_kernel};
use scrubjay_words::{PaceWords, Said};
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// No such program, as shells say it.
const NOT_FOUND: i32 = 127;
/// It cannot be executed, as shells say it.
const NOT_EXECUTABLE: i32 = 126;

/// Runs the program, and ends as it ended.
pub fn run(args: &PaceArgs) -> Result<Exit> {
    if let Some(word) = in_kernel(&args.command) {
        let why = Said::from(PaceWords::InKernel { word: word.to_owned() });
        return Err(Usage(format!("{}: {why}", program_of(&args.command))).into());
    }
    let disks = match &args.disks[..] {
        [] => None,
        names => Some(pace::named_disks(names).map_err(|error| Usage(error.to_string()))?),
    };
    let goal = PolicyParameters::with(&args.parameters.given).goal;
    let file = args.json.as_deref().map(|path| OutputFile::create(path, Existing::Replaced));
    let file = file.transpose().map_err(unwritable)?;
    let options = PaceOptions {
        command: args.command.clone(),
        disks,
        policy: PolicyConfig::budget(goal),
        longest: args.longest,
        freezer: args.held_by.map(Into::into),
    };
    let teller = text::Teller { program: program_of(&args.command), goal, longest: args.longest };
    let mut said_at = Nanos::ZERO;
    let mut tell = |news: PacedNews<'_>| {
        if let PacedNews::Progress { report, .. } = news {
            match args.every {
                Some(every) if report.elapsed.since(said_at) >= every => said_at = report.elapsed,
                _ => return,
            }
        }
        if !args.quiet {
            say(format_args!("pace: {}", teller.news(&news)));
        }
    };
    let end = match pace::run(&options, &mut tell) {
        Ok(end) => end,
        Err(error) => return refused(&error),
    };
    if !args.quiet {
        teller.end(&end).iter().for_each(|line| say(format_args!("pace: {line}")));
    }
    if let Some(mut file) = file {
        let document = PaceDocument::new(&args.command, Some(goal), &end);
        let text = serde_json::to_string(&document).context("the result as JSON")?;
        writeln!(file, "{text}").map_err(anyhow::Error::from).and_then(|()| Ok(file.commit()?))?;
    }
    end_as(&end)
}

/// Ends as the program ended.
fn end_as(end: &PacedEnd) -> ! {
    if let Some(signal) = end.signal() {
        pace::die_of(signal);
        std::process::exit(128 + signal);
    }
    std::process::exit(end.exit_code().unwrap_or(Exit::Failed as i32))
}

/// The program was not started: why, in one line, and the exit code.
fn refused(error: &PaceError) -> Result<Exit> {
    let is_permission = |error: &std::io::Error| error.kind() == ErrorKind::PermissionDenied;
    let exit = match error {
        PaceError::Program { source, program } => {
            say(format_args!("scrubjay: {}: {source}", shown(&program.to_string_lossy())));
            std::process::exit(if source.kind() == ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE })
        }
        PaceError::Detector(WorkDetectorError { is_permission: true, .. }) => Exit::Permission,
        PaceError::Cgroup(source) | PaceError::System { source, .. } if is_permission(source) => Exit::Permission,
        PaceError::Detector(_) | PaceError::Cgroup(_) | PaceError::System { .. } => Exit::Failed,
    };
    let advice = if exit == Exit::Permission { ": try sudo" } else { "" };
    say(format_args!("scrubjay: {error}{advice}"));
    Ok(exit)
}

/// The program's name, without its folder.
fn program_of(command: &[OsString]) -> String {
    let name = command.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    shown(&name.to_string_lossy()).into_owned()
}
