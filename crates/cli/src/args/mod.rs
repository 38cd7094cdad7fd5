//! The command line: every verb, option, help text and example, in one table.

mod array;
mod bench;
mod exit_codes;
mod integrity;
mod named;
mod probe;
mod scrub;
mod serde_words;
mod serving;
mod simulate;
mod source;
mod study;
pub mod trace;
mod tune;
pub mod volume;

pub use array::{NoiseArg as ArrayNoise, QueueArg as ArrayQueue, SimulateArray};
pub use bench::{BenchArgs, BenchCode, Benched};
pub use integrity::{SimulateIntegrity, Synthetic};
pub use probe::{Probe, ProbeMethodArgs, ProbeMode};
pub use scrub::{ScrubArgs, Settings};
pub use simulate::{Simulate, SimulateScrub, Simulated};
pub use source::{DiskModelArgs, ServiceArg, Traces};
pub use study::{Out, Studied, StudyArgs, StudyIdle, StudyIntegrity, StudyMlet, StudyScrub, StudyShear};
pub use tune::{SIZE_STEP, Tune};

use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::path::PathBuf;

/// The command.
#[derive(Debug, Parser)]
#[command(
    name = "scrubjay",
    version,
    about = "Keeps the bytes on your disks intact",
    long_about = "Scrubjay keeps the bytes on your disks intact.\n\nWithout a verb it shows the disks it sees, and what to do next.",
    after_help = exit_codes::ALL,
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Read every sector of a disk, or stripe of a volume, while it is idle, inside a latency budget
    Scrub(Box<ScrubArgs>),
    /// Find out how an unknown array is laid out, from the times that its reads take
    Probe(Box<Probe>),
    /// Look at traces of disks, convert, capture and make them up
    Trace(Box<trace::TraceArgs>),
    /// From a trace of a disk, find the wait and the request size that read most inside a slowdown goal
    Tune(Box<Tune>),
    /// Play what Scrubjay does against a trace, in virtual time
    Simulate(Simulate),
    /// Make a page of figures and tables: idle time, scrubbing policies, latent errors
    Study(StudyArgs),
    /// Make and look at volumes: block devices of several members that heal silent corruption
    Volume(Box<volume::VolumeArgs>),
    /// Measure how fast this machine is at what Scrubjay does
    Bench(BenchArgs),
    /// Write the man pages, or the completions for a shell, to be packaged
    #[command(hide = true)]
    Generate(GenerateArgs),
}

/// Arguments of `generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
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

/// The table, its paragraphs to be wrapped to the width of whoever reads them.
pub fn table() -> Command {
    flowing(Cli::command())
}

/// What the words of this process ask for; where they are wrong, or ask for help, it ends here.
pub fn parse() -> Cli {
    Cli::from_arg_matches(&table().get_matches()).unwrap_or_else(|error| error.exit())
}

fn flowing(command: Command) -> Command {
    let text = command.get_after_help().map(|text| flow(&text.to_string()));
    let command = if let Some(text) = text { command.after_help(text) } else { command };
    command.mut_subcommands(flowing)
}

/// Puts each paragraph on a line of its own: lines that follow one another, not indented, none of them a heading.
fn flow(text: &str) -> String {
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut lines = text.lines().peekable();
    let mut flowing = String::new();
    while let Some(line) = lines.next() {
        flowing.push_str(line);
        let goes_on = is_prose(line) && !line.ends_with(':') && lines.peek().is_some_and(|next| is_prose(next));
        flowing.push(if goes_on { ' ' } else { '\n' });
    }
    flowing.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        table().debug_assert();
    }

    #[test]
    fn paragraphs_flow_and_examples_stay() {
        let text =
            "Examples:\n  one   does this\n  two   does that\n\nWhat is said\nof both.\n\nExit codes:\n  0  fine";
        assert_eq!(flow(text), text.replace("said\nof", "said of"));
    }
}
