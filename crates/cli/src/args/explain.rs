//! The arguments of `explain`.

use super::exit_codes::HEALTH as EXIT_CODES;
use clap::{ArgGroup, Args};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  sudo scrubjay explain sda                     how it is, why, and what to do
  sudo scrubjay explain ZL2ABCDE --json         by serial number, for a program
  sudo scrubjay explain sdb --device-type sat   a disk behind a USB bridge that smartctl does not know
  scrubjay explain --smart smart.json           what `smartctl --json -a DEVICE` once printed
  sudo scrubjay explain sda 1953000             what lies at this sector: array, stripe, file; what to do
  sudo scrubjay explain /dev/sda1 2048+8        at eight sectors of a partition";

const NOTES: &str = "\
Needs smartctl 7.0 or later (package smartmontools). A sleeping disk is not woken, and nothing is written to any. What is
unknown is never called ok. The words ok, watch, replace, asleep, unknown and missing, the counters behind them, and the
sources of all figures are in docs/smart.md.

With SECTOR, nothing is asked of the drive, and nothing is written: partitions, md, LVM, volumes and btrfs are followed up to the
file (docs/which-layer.md). It exits with 0 when all of it is known, with 3 when something is not (4: for want of permission).";

/// Arguments of `explain`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{NOTES}\n\n{EXIT_CODES}"))]
#[command(group(ArgGroup::new("subject").args(["disk", "smart"]).required(true).multiple(true)))]
pub struct ExplainArgs {
    /// Disk: sda, /dev/sda, a serial number or a WWN
    #[arg(value_name = "DISK")]
    pub disk: Option<String>,
    /// Say what lies at this sector of 512 bytes (or at COUNT of them) instead
    #[arg(value_name = "SECTOR[+COUNT]", requires = "disk", conflicts_with_all = ["smart", "device_type"])]
    pub sector: Option<String>,
    /// What smartctl is to take the device for, as its option -d: sat, sntjmicron, megaraid,N
    #[arg(long, value_name = "TYPE", conflicts_with = "smart")]
    pub device_type: Option<String>,
    /// Judge what smartctl once printed, instead of asking the drive
    #[arg(long, value_name = "FILE")]
    pub smart: Option<PathBuf>,
    /// Print it as one JSON object
    #[arg(long)]
    pub json: bool,
}
