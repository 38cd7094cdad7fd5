//! The arguments of `pace`.

use super::policy::{ParameterArgs, PolicySet};
use clap::{Args, ValueEnum};
use scrubjay_core::quantity;
use scrubjay_core::units::Nanos;
use scrubjay_device::pace::FreezerKind;
use scrubjay_jobs::parameter::PolicyChoice;
use std::ffi::OsString;
use std::path::PathBuf;

const TEXT: &str = "\
Examples:
  sudo scrubjay pace -- sha256sum -c sums.txt                 check files; delay others by 1 ms a request on average
  sudo scrubjay pace --disk sda -- restic check --read-data   the repository lies on sda
  sudo scrubjay pace --slowdown 0.2ms -- snapraid scrub       be more careful still
  sudo scrubjay pace --longest 2s -- rsync -rc /srv /backup   never hold it for longer than two seconds
  sudo scrubjay pace --json paced.json -- updatedb            what it got and what others lost, for a program

Runs a program that mostly reads from local disks: it goes on while nobody else uses its disks, and is held (frozen) while
somebody does. Its input, output, terminal and signals are as without this, and so is its exit code. Held or not, it runs on if scrubjay
is killed. While it is held it keeps its locks, its memory and its network connections: see docs/pace.md, and use --longest.

Exit codes:
  that of COMMAND; if a signal ended it, the same signal ends this
  1    could not do the job
  2    bad usage, or work that cannot be paced
  4    no permission
  126  COMMAND cannot be executed
  127  there is no COMMAND";

/// The one policy that knows what work by itself is.
#[derive(Clone, Debug, Default)]
pub struct BudgetOnly;

impl PolicySet for BudgetOnly {
    fn policies() -> PolicyChoice {
        PolicyChoice::budget()
    }
}

/// How to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HeldBy {
    /// A cgroup of its own
    Cgroup,
    /// SIGSTOP and SIGCONT to each of its processes
    Signals,
}

impl From<HeldBy> for FreezerKind {
    fn from(held_by: HeldBy) -> FreezerKind {
        match held_by {
            HeldBy::Cgroup => FreezerKind::Cgroup,
            HeldBy::Signals => FreezerKind::Signals,
        }
    }
}

/// Arguments of `pace`.
#[derive(Debug, Args)]
#[command(after_help = TEXT)]
pub struct PaceArgs {
    /// The budget
    #[command(flatten)]
    pub parameters: ParameterArgs<BudgetOnly>,
    /// Spare the users of this disk (or of those below this file); more than once for several. Unless given, those of the disks at
    /// which requests of COMMAND are seen
    #[arg(long = "disk", value_name = "DISK")]
    pub disks: Vec<PathBuf>,
    /// Hold it for no longer than this without a moment to go on
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = quantity::time_not_zero)]
    pub longest: Nanos,
    /// How to hold it; unless given, by a cgroup where one can be made
    #[arg(long, value_enum, value_name = "HOW")]
    pub held_by: Option<HeldBy>,
    /// Say this often how things stand
    #[arg(long, value_name = "TIME", value_parser = quantity::time_not_zero)]
    pub every: Option<Nanos>,
    /// Write the result as one JSON object to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
    /// The program, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
