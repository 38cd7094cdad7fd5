//! `scrubjay-lab`, the program for traces, tuning, simulations and studies, where it is installed beside this one: its verbs are called
//! as ours.

use crate::args::{self, GenerateArgs};
use crate::exit::{Exit, Usage};
use crate::generate;
use crate::say::shown_path;
use anyhow::{Context, Result};
use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The program.
const PROGRAM: &str = "scrubjay-lab";

/// Becomes `scrubjay-lab`, with the arguments of this process.
///
/// # Errors
/// When it is not installed, which is said with what to do, or does not start.
pub fn hand_over() -> Result<Exit> {
    let program = program();
    let error = Command::new(&program).args(env::args_os().skip(1)).exec();
    let shown = shown_path(&program);
    match error.kind() {
        io::ErrorKind::NotFound => Err(Usage(format!(
            "traces, tuning, simulations and studies are done by another program, and there is no {shown}: install the package \
             {PROGRAM} of the same version"
        ))
        .into()),
        _ => Err(error).with_context(|| format!("cannot start {shown}")),
    }
}

/// Hands over `scrubjay help VERB` of a verb of the other program: only that one knows its options.
///
/// # Errors
/// As for [`hand_over`].
pub fn take_help() -> Result<()> {
    let mut arguments = env::args_os().skip(1); // they may be no text
    let (help, verb) = (arguments.next(), arguments.next());
    let is_of_lab = || verb.as_deref().and_then(OsStr::to_str).is_some_and(args::is_of_lab);
    if help.is_some_and(|help| help == "help") && is_of_lab() {
        hand_over()?;
    }
    Ok(())
}

/// Man pages and completions: of both programs, where the other is there.
///
/// # Errors
/// When a file cannot be written, or the other program does not start.
pub fn generate_all(args: &GenerateArgs) -> Result<Exit> {
    if program().exists() { hand_over() } else { generate::run(args, args::table()) }
}

/// Beside this program; where that cannot be found out (no /proc), somewhere in the PATH.
fn program() -> PathBuf {
    env::current_exe().map_or_else(|_| PathBuf::from(PROGRAM), |own| own.with_file_name(PROGRAM))
}
