//! The command line of the researcher's verbs: every option, help text and example, in one table.

mod array;
mod integrity;
mod named;
mod policy;
mod simulate;
#[cfg(test)]
#[path = "../../../cli/src/args/sound.rs"]
mod sound;
mod source;
mod study;
pub mod trace;
mod tune;

pub use array::{NoiseArg as ArrayNoise, QueueArg as ArrayQueue, SimulateArray};
pub use integrity::{SimulateIntegrity, Synthetic};
pub use simulate::{Simulate, SimulateScrub, SimulateWatch, Simulated};
pub use source::{DiskModelArgs, Traces};
pub use study::{Out, Studied, StudyArgs, StudyIdle, StudyIntegrity, StudyMlet, StudyScrub, StudyShear};
pub use tune::Tune;

use clap::{Command, CommandFactory, Parser, Subcommand};
use scrubjay_cli::args::{self, GenerateArgs, about_lab};
#[cfg(test)]
use scrubjay_cli::args::{HelpText, fitted};

/// The program. Its verbs are called as those of `scrubjay`, which starts it.
#[derive(Debug, Parser)]
#[command(
    name = "scrubjay-lab",
    bin_name = "scrubjay",
    version = scrubjay_control::version::version(),
    about = "The researcher's half of Scrubjay: traces, tuning, simulations, studies",
    after_help = args::exit_codes::TRACES,
)]
pub struct LabCommand {
    /// What to do.
    #[command(subcommand)]
    pub verb: ResearchVerb,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum ResearchVerb {
    /// Traces.
    #[command(about = about_lab("trace"))]
    Trace(Box<trace::TraceArgs>),
    /// The tuner.
    #[command(about = about_lab("tune"))]
    Tune(Box<Tune>),
    /// Simulations.
    #[command(about = about_lab("simulate"))]
    Simulate(Simulate),
    /// Studies.
    #[command(about = about_lab("study"))]
    Study(StudyArgs),
    /// Write man pages or shell completions of both programs
    Generate(GenerateArgs),
}

/// Parses the arguments of this process; if they are wrong, or ask for help, the process ends here.
pub fn parse() -> LabCommand {
    args::parsed(LabCommand::command())
}

/// The table of both programs: that of `scrubjay` with the options of our verbs.
pub fn whole_table() -> Command {
    let ours = LabCommand::command();
    ours.get_subcommands()
        .filter(|verb| args::is_of_lab(verb.get_name()))
        .fold(args::table(), |table, verb| table.mut_subcommand(verb.get_name(), |_| verb.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_both_programs_is_sound() {
        LabCommand::command().debug_assert();
        whole_table().debug_assert();
        assert!(sound::examples_are_accepted(&whole_table(), |_| false) > 100);
        sound::examples_fit(&whole_table());
    }
}
