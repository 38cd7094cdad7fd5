//! The arguments of `report`.

use clap::Args;
use std::path::PathBuf;

const TEXT: &str = "\
Examples:
  sudo scrubjay report                     show it; nothing is written but a key, nothing is sent
  sudo scrubjay report --out report.json   show it, ask, then write it
  sudo scrubjay report --with qualified.json --out report.json --yes

What is in it: kernel and processor, controllers and disks with their queues, SMART data as smartctl prints it, what doctor, status, plan
and history say, the settings. Host and user names, serial numbers, UUIDs, labels, names of arrays and pools, paths and addresses
become pseudonyms, which are the same in each report of this machine (the key for that is report.key in the folder of the watch, and is
never in a report). Sleeping disks are not woken. Read it before you give it to anybody: docs/report.md.

Exit codes:
  0    shown, or written
  1    could not do the job
  2    the command is wrong
  3    shown or written, but parts are missing: it names them";

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_help = TEXT)]
pub struct ReportArgs {
    /// Write it to this file, after it was shown and you said yes
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Take this JSON along, such as what qualify wrote; may be given several times
    #[arg(long, value_name = "FILE")]
    pub with: Vec<PathBuf>,
    /// Write it without a look and a question
    #[arg(long, requires = "out")]
    pub yes: bool,
    /// Replace FILE if it exists
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Folder of the watch, for its history and the key of the pseudonyms [default: /var/lib/scrubjay]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
}
