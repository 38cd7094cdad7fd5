//! The command line: every verb, option, help text and example, in one table.

mod scrub;
mod source;

pub use scrub::{Detector, Order, Policy, Scrub, Verify};
pub use source::{Disk, Service, Traces};

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// The exit codes, as every help page shows them.
const EXIT_CODES: &str = "\
Exit codes:
  0    clean: every sector asked for was verified
  1    could not do the job
  2    bad usage
  3    finished, and found problems
  4    no permission
  130  paused by a signal; start again to go on";

/// The command.
#[derive(Debug, Parser)]
#[command(
    name = "scrubjay",
    version,
    about = "Keeps the bytes on your disks intact",
    long_about = "Scrubjay keeps the bytes on your disks intact.\n\nWithout a verb it shows the disks it sees, and what to do next.",
    after_help = EXIT_CODES,
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Read every sector of a disk while it is idle, inside a latency budget
    Scrub(Box<Scrub>),
    /// Write the man pages, or the completions for a shell, to be packaged
    #[command(hide = true)]
    Generate(Generate),
}

/// Arguments of `generate`.
#[derive(Debug, Args)]
pub struct Generate {
    /// What to write
    #[command(subcommand)]
    pub what: Generated,
}

/// What can be generated.
#[derive(Debug, Subcommand)]
pub enum Generated {
    /// Man pages, one file a verb
    Man {
        /// Into this folder
        folder: PathBuf,
    },
    /// Completions, to standard output
    Completions {
        /// For this shell
        shell: clap_complete::Shell,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_is_sound() {
        Cli::command().debug_assert();
    }
}
