//! The arguments of `volume`.

use super::exit_codes::VOLUMES as EXIT_CODES;
pub use super::serving::{
    Check, DegradedChoice, Fail, FindingsArgs, Readd, Replace, Serve, StatusArgs, StopArgs, TlsChoice,
};
use crate::quantity;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use scrubjay_core::layout::LayoutKind;
use scrubjay_core::units::Bytes;
use scrubjay_core::volume::integrity::scheme::Scheme;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  truncate -s 1G a.img b.img c.img d.img e.img f.img
  scrubjay volume create --data 4 --parity 2 --name photos [a-f].img
  scrubjay volume serve [a-f].img --listen unix:/tmp/photos.sock
  scrubjay volume status
  scrubjay scrub photos         read every stripe while it is idle, heal what is wrong

A volume is a block device made of members: disks, partitions or files. It finds silent
corruption of its members, says where it is, and heals it.";

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
    /// Make a volume of disks or files
    Create(Box<Create>),
    /// Say what members say of themselves and of their volume
    Inspect(Inspect),
    /// Serve a volume as a network block device
    Serve(Serve),
    /// Say how the volumes are that are being served
    Status(StatusArgs),
    /// Say what a volume has found wrong on its members, and what it did about it
    Findings(FindingsArgs),
    /// Read every stripe of a volume that is not being served
    Check(Check),
    /// Take a member out of a volume that is being served
    Fail(Fail),
    /// Put another disk in the place of a member that is out
    Replace(Replace),
    /// Take a member back that was out for a while, and rebuild only what was written since
    Readd(Readd),
    /// Stop serving a volume
    Stop(StopArgs),
}

const CREATE_EXAMPLES: &str = "\
Examples:
  scrubjay volume create --data 4 --parity 2 /dev/sd[b-g]
  scrubjay volume create --data 4 --parity 2 --chunk 4KiB --name photos [a-f].img
  scrubjay volume create --data 1 --parity 1 --layout raid1 /dev/sd[b-e]
  scrubjay volume create --data 2 --parity 1 --force old.img old.img b.img c.img

All members are looked at before the first byte is written. What is mounted, used as swap, part of something
else or in use is refused in any case; what is not empty, has partitions or is a member already, unless --force
repeats its path or its serial number. A member's place is that in which it is named; later they may be named in
any order. The volume is there at once: what was never written reads as zeros.";

/// Arguments of `volume create`.
#[derive(Debug, Args)]
#[command(after_help = format!("{CREATE_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Create {
    /// Disks, partitions or files; all are used up to the size of the smallest
    #[arg(required = true, value_name = "MEMBER")]
    pub members: Vec<PathBuf>,

    /// Chunks of data in a stripe
    #[arg(long, value_name = "K", help_heading = "Shape")]
    pub data: usize,
    /// Chunks of parity in a stripe: so many members may be lost
    #[arg(long, value_name = "M", help_heading = "Shape")]
    pub parity: usize,
    /// Data of one chunk: a power of two, 512 to 4MiB
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = quantity::bytes, help_heading = "Shape")]
    pub chunk: Bytes,
    /// How chunks lie on the members [default: rotating; without parity raid0; with more members than chunks raid1]
    #[arg(long, value_name = "NAME", value_parser = layout(), help_heading = "Shape")]
    pub layout: Option<LayoutKind>,
    /// What finds silent corruption
    #[arg(long, value_name = "NAME", default_value = "stamp", value_parser = scheme(), help_heading = "Shape")]
    pub scheme: Scheme,
    /// The volume's size, rounded up to whole stripes [default: as much as the members hold]
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes, help_heading = "Shape")]
    pub size: Option<Bytes>,
    /// What to call it: at most 64 bytes, no slash
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, help_heading = "Shape")]
    pub name: String,

    /// Overwrite this member, though it is not empty: its path or serial number; once for each of them
    #[arg(long, value_name = "PATH|SERIAL", help_heading = "Safety and output")]
    pub force: Vec<PathBuf>,
    /// What was made as one JSON object
    #[arg(long, help_heading = "Safety and output")]
    pub json: bool,
}

const INSPECT_EXAMPLES: &str = "\
Examples:
  scrubjay volume inspect /dev/sdb            what it is a member of, and how the others are
  scrubjay volume inspect [a-f].img --json    for a program

Nothing is written, and nobody who uses a member meanwhile is disturbed.";

/// Arguments of `volume inspect`.
#[derive(Debug, Args)]
#[command(after_help = format!("{INSPECT_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Inspect {
    /// Members of one volume, in any order
    #[arg(required = true, value_name = "MEMBER")]
    pub members: Vec<PathBuf>,
    /// All of it as one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A layout by its name.
pub(super) fn layout() -> impl TypedValueParser<Value = LayoutKind> {
    let names = LayoutKind::ALL.map(LayoutKind::name);
    PossibleValuesParser::new(names).map(|name| LayoutKind::by_name(&name).expect("it is one of the names"))
}

/// A scheme by its name.
fn scheme() -> impl TypedValueParser<Value = Scheme> {
    let names = Scheme::ALL.map(Scheme::name);
    PossibleValuesParser::new(names).map(|name| Scheme::by_name(&name).expect("it is one of the names"))
}
