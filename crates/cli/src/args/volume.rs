//! The arguments of `volume`.

use super::exit_codes::VOLUMES as EXIT_CODES;
pub use super::serving::{
    Check, DegradedChoice, EventsArgs, Fail, FindingsArgs, Readd, Replace, Serve, StatusArgs, StopArgs, TlsChoice,
};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use scrubjay_core::layout::LayoutKind;
use scrubjay_core::quantity;
use scrubjay_core::units::Bytes;
use scrubjay_core::volume::integrity::scheme::Scheme;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  truncate -s 1G a.img b.img c.img d.img e.img f.img
  scrubjay volume create --data 4 --parity 2 --name photos [a-f].img
  scrubjay volume serve [a-f].img --listen unix:/tmp/photos.sock
  scrubjay volume status
  scrubjay scrub photos         read every stripe while it is idle, repair what is wrong

A volume is a block device made of members: disks, partitions or files. It finds silent
corruption of its members, says where it is, and repairs it.";

/// Arguments of `volume`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct VolumeArgs {
    /// What to do with it
    #[command(subcommand)]
    pub what: VolumeVerb,
}

/// What can be done with volumes.
#[derive(Debug, Subcommand)]
pub enum VolumeVerb {
    /// Create a volume on disks or files
    Create(Box<Create>),
    /// Show the on-disk metadata of members
    Inspect(Inspect),
    /// Serve a volume as a network block device
    Serve(Serve),
    /// Show the status of running volumes
    Status(StatusArgs),
    /// List what a running volume found wrong on its members, and what it did about it
    Findings(FindingsArgs),
    /// List what happened to a running volume: members that fail or return, findings; or follow it
    Events(EventsArgs),
    /// Verify every stripe of a stopped volume; with --repair, repair it
    Check(Check),
    /// Fail a member of a running volume: it is no longer used
    Fail(Fail),
    /// Replace a failed member by another disk, and rebuild it
    Replace(Replace),
    /// Return a failed member, and rebuild only what was written meanwhile
    Readd(Readd),
    /// Stop a running volume
    Stop(StopArgs),
}

const CREATE_EXAMPLES: &str = "\
Examples:
  scrubjay volume create --data 4 --parity 2 /dev/sd[b-g]
  scrubjay volume create --data 4 --parity 2 --chunk 4KiB --name photos [a-f].img
  scrubjay volume create --data 1 --parity 1 --layout raid1 /dev/sd[b-e]
  scrubjay volume create --data 2 --parity 1 --force old.img old.img b.img c.img

Before the first byte is written, all members are checked. Mounted, swap, claimed and open devices are always
refused. Devices that are not empty, have partitions or are members already are refused unless --force repeats
their path or serial number.

Members get their numbers in the order in which they are named; later commands take them in any order. The
volume can be used at once: what was never written reads as zeros.";

/// Arguments of `volume create`.
#[derive(Debug, Args)]
#[command(after_help = format!("{CREATE_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Create {
    /// Disks, partitions or files; each is used up to the size of the smallest
    #[arg(required = true, value_name = "MEMBER")]
    pub members: Vec<PathBuf>,

    /// Data chunks in a stripe
    #[arg(long, value_name = "K", help_heading = "Shape")]
    pub data: usize,
    /// Parity chunks in a stripe: so many members may fail
    #[arg(long, value_name = "M", help_heading = "Shape")]
    pub parity: usize,
    /// Chunk size: a power of two, 512 to 4MiB
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = quantity::bytes, help_heading = "Shape")]
    pub chunk: Bytes,
    /// Layout of the chunks on the members [default: rotating; without parity raid0; with more members than chunks raid1]
    #[arg(long, value_name = "NAME", value_parser = layout(), help_heading = "Shape")]
    pub layout: Option<LayoutKind>,
    /// Scheme that detects silent corruption
    #[arg(long, value_name = "NAME", default_value = "stamp", value_parser = scheme(), help_heading = "Shape")]
    pub scheme: Scheme,
    /// Size of the volume, rounded up to whole stripes [default: all that the members hold]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes, help_heading = "Shape")]
    pub size: Option<Bytes>,
    /// Name of the volume: at most 64 bytes, no slash
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, help_heading = "Shape")]
    pub name: String,

    /// Overwrite this device although it is not empty (its path or serial number; repeat for each)
    #[arg(long, value_name = "PATH|SERIAL", help_heading = "Safety and output")]
    pub force: Vec<PathBuf>,
    /// Print the new volume as one JSON object
    #[arg(long, help_heading = "Safety and output")]
    pub json: bool,
}

const INSPECT_EXAMPLES: &str = "\
Examples:
  scrubjay volume inspect /dev/sdb            its volume, and the state of the other members
  scrubjay volume inspect [a-f].img --json    for a program

Members are opened read-only; they may be in use meanwhile.";

/// Arguments of `volume inspect`.
#[derive(Debug, Args)]
#[command(after_help = format!("{INSPECT_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Inspect {
    /// Members of one volume, in any order
    #[arg(required = true, value_name = "MEMBER")]
    pub members: Vec<PathBuf>,
    /// Print it as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A parser for the name of a layout.
pub fn layout() -> impl TypedValueParser<Value = LayoutKind> {
    let names = LayoutKind::ALL.map(LayoutKind::name);
    PossibleValuesParser::new(names).map(|name| LayoutKind::by_name(&name).expect("it is one of the names"))
}

/// A parser for the name of a scheme.
fn scheme() -> impl TypedValueParser<Value = Scheme> {
    let names = Scheme::ALL.map(Scheme::name);
    PossibleValuesParser::new(names).map(|name| Scheme::by_name(&name).expect("it is one of the names"))
}
