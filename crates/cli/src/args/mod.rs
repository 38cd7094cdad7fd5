//! The command line: every verb, option, help text and example, in one table.

mod bench;
pub mod exit_codes;
mod explain;
mod help;
mod lab;
pub mod named;
mod pace;
pub mod policy;
mod probe;
mod qualify;
mod report;
mod scrub;
mod serving;
#[cfg(test)]
mod sound;
pub mod volume;
mod watch;
mod web;

pub use bench::{BenchArgs, BenchCode, BenchDiskArgs, BenchEngine, BenchVerifyArgs, Benched};
pub use explain::ExplainArgs;
pub use help::{HelpText, fitted, parsed};
pub use lab::{LabVerb, about as about_lab, is_of_lab};
pub use pace::PaceArgs;
pub use probe::{BLOCK as PROBE_BLOCK, Probe, ProbeMethodArgs, ProbeMode};
pub use qualify::QualifyArgs;
pub use report::ReportArgs;
pub use scrub::ScrubArgs;
pub use watch::{
    AlertArgs, Alerted, HistoryArgs, LocateArgs, PauseArgs, ScrubNowArgs, SetArgs, SetupArgs, SubjectArgs, WatchArgs,
};
pub use web::{MetricsArgs, WebArgs};

use clap::{Args, Command, CommandFactory, Parser, Subcommand};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  sudo scrubjay doctor                   what is missing here
  sudo scrubjay scrub /dev/sda           read one disk, now; Ctrl-C is a pause
  sudo scrubjay scrub /dev/md0           check an array of md
  sudo systemctl enable --now scrubjay   read every disk each month
  sudo scrubjay setup                    where alerts go
  sudo scrubjay status                   how things stand, and what to do
  sudo scrubjay explain sda              how a disk is, and why";

const GENERATE_EXAMPLES: &str = "\
Examples:
  sudo scrubjay generate man /usr/local/share/man/man1
  scrubjay generate completions bash >~/.local/share/bash-completion/completions/scrubjay";

const MAN_EXAMPLES: &str = "\
Examples:
  scrubjay generate man pages    then: man ./pages/scrubjay-scrub.1";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  scrubjay generate completions bash >~/.local/share/bash-completion/completions/scrubjay
  scrubjay generate completions zsh >~/.zfunc/_scrubjay    ~/.zfunc must be in $fpath
  scrubjay generate completions fish >~/.config/fish/completions/scrubjay.fish";

/// The command.
#[derive(Debug, Parser)]
#[command(
    name = "scrubjay",
    version = scrubjay_control::version::version(),
    about = "Keeps the bytes on your disks intact",
    long_about = "Scrubjay keeps the bytes on your disks intact.\n\nWithout a verb it shows the disks it sees, and what to do next.",
    after_help = format!("{EXAMPLES}\n\n{}", exit_codes::ROOT),
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Read every sector of disks while they are idle, inside a latency budget
    Scrub(Box<ScrubArgs>),
    /// Run a program that reads from disks while nobody else uses them, inside the same latency budget
    Pace(Box<PaceArgs>),
    /// Watch over this machine: read every disk each month, read their SMART data, send alerts (the daemon)
    Watch(WatchArgs),
    /// A few questions, a test mail, its code: from nothing to alerts that are proven
    Setup(SetupArgs),
    /// Change one setting of the watch; comments in the file stay
    Set(SetArgs),
    /// Show how things stand: disks, arrays, alerts, running scrubs, what to do
    #[command(after_help = watch::STATUS)]
    Status {
        /// Print it as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show when each disk is read next, when that ends, and which one will be late
    #[command(after_help = watch::PLAN)]
    Plan {
        /// Print it as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Send a test alert by every channel, confirm its code, list the channels
    Alert(AlertArgs),
    /// Be silent about what is open of a disk, an array or a channel, until it grows
    Accept(SubjectArgs),
    /// Forget a disk or an array that was taken out for good
    Forget(SubjectArgs),
    /// Have the watch read a disk, or check an array, now and not when it is due
    ScrubNow(ScrubNowArgs),
    /// Read no disk for a while
    Pause(PauseArgs),
    /// Read disks again after a pause
    #[command(after_help = watch::RESUME)]
    Resume,
    /// Show what happened: incidents, messages, passes, disks that came and went
    History(HistoryArgs),
    /// Show how things stand as a web page, with metrics for Prometheus
    Web(WebArgs),
    /// Print the metrics, or write them for node_exporter
    Metrics(MetricsArgs),
    /// Make the light of a disk's bay blink, or say where the disk is
    Locate(LocateArgs),
    /// One line for Nagios and cron: OK, WARNING, CRITICAL or UNKNOWN
    #[command(after_help = watch::CHECK)]
    Check(watch::CheckArgs),
    /// Look what is missing here: permissions, programs, alerts, clashing timers, the clock
    #[command(after_help = watch::DOCTOR)]
    Doctor {
        /// Print it as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Say how a disk is and why: SMART, its own verdict beside ours, what scrubs found, what to do
    Explain(ExplainArgs),
    /// Measure on one disk what a client of its own feels of a scrub, beside what the scrub says
    Qualify(Box<QualifyArgs>),
    /// Show what a bug report or a first success needs, with pseudonyms for what is personal; nothing is sent
    Report(ReportArgs),
    /// Work out the layout of an unknown array by timing reads
    Probe(Box<Probe>),
    /// What scrubjay-lab does.
    #[command(flatten)]
    Lab(LabVerb),
    /// Create, serve and repair volumes that repair silent corruption (experimental)
    Volume(Box<volume::VolumeArgs>),
    /// Measure disks (IOPS with latency), and how fast this machine computes parities
    Bench(BenchArgs),
    /// Write man pages or shell completions
    Generate(GenerateArgs),
}

/// Arguments of `generate`.
#[derive(Debug, Args)]
#[command(after_help = GENERATE_EXAMPLES)]
pub struct GenerateArgs {
    /// What to write
    #[command(subcommand)]
    pub what: Generated,
}

/// What can be generated.
#[derive(Debug, Subcommand)]
pub enum Generated {
    /// Man pages, one file a verb
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Into this folder
        folder: PathBuf,
    },
    /// Completions, to standard output
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// For this shell
        shell: clap_complete::Shell,
    },
}

/// The command table as it is declared: the text of each help in one piece.
pub fn table() -> Command {
    Cli::command()
}

/// Parses the arguments of this process; if they are wrong, or ask for help, the process ends here.
pub fn parse() -> Cli {
    parsed(table())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        table().debug_assert();
        help::laid_out(table()).debug_assert();
        assert!(sound::examples_are_accepted(&table(), is_of_lab) > 80);
        sound::examples_fit(&table());
    }
}
