//! Runs the programs that make packages.

use anyhow::{Context, Result, bail, ensure};
use std::process::Command;

/// Runs a command; it is an error if that fails.
///
/// # Errors
/// It cannot be run, or fails.
pub fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

/// Runs a command, and returns its trimmed output; it is an error if that fails.
///
/// # Errors
/// It cannot be run, fails, or prints what is no text.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {} {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// The moment of the commit, in seconds since 1970: the time of all files in what is made.
///
/// # Errors
/// There is no git, or no commit.
pub fn moment() -> Result<String> {
    output(Command::new("git").args(["log", "-1", "--format=%ct"]))
}

/// The version of what is made.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
