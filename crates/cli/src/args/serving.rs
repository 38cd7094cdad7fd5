//! The arguments of the verbs of `volume` that serve volumes, steer those that are served, and check those that are not.

use super::codes::VOLUMES as EXIT_CODES;
use clap::Args;
use scrubjay_serve::server::Address;
use std::path::PathBuf;

const SERVE_EXAMPLES: &str = "\
Examples:
  scrubjay volume serve [a-f].img --listen unix:/tmp/photos.sock
  scrubjay volume serve /dev/sd[b-g] --listen 127.0.0.1:10809 --listen unix:/run/photos.sock
  nbdfuse /mnt/photos.img --unix /tmp/photos.sock &      a file, for losetup and mount
  nbd-client -unix /tmp/photos.sock /dev/nbd0            a block device

Members may be named in any order. Up to as many may be missing as the volume has parities: what they held is
rebuilt when it is asked for. Ctrl-C stops in order. After a crash only what was being written is looked at.
Whoever can reach the address can read and write the volume: listen on anything but this machine behind a
firewall or a tunnel only.";

/// Arguments of `volume serve`.
#[derive(Debug, Args)]
#[command(after_help = format!("{SERVE_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Serve {
    /// Members of one volume, in any order
    #[arg(required = true, value_name = "MEMBER")]
    pub members: Vec<PathBuf>,
    /// Where clients of the NBD protocol find it; may be given again
    #[arg(long, required = true, value_name = "unix:PATH|HOST:PORT")]
    pub listen: Vec<Address>,
    /// Write nothing: clients may only read, and nothing is repaired
    #[arg(long)]
    pub read_only: bool,
    /// Where commands to it come in [default: NAME.sock in $SCRUBJAY_RUN, /run/scrubjay or $XDG_RUNTIME_DIR/scrubjay]
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  scrubjay volume check [a-f].img             read every stripe, say what is wrong
  scrubjay volume check [a-f].img --repair    and put it right

The volume must not be served meanwhile; of one that is, `scrubjay volume verify` reads every stripe.";

/// Arguments of `volume check`.
#[derive(Debug, Args)]
#[command(after_help = format!("{CHECK_EXAMPLES}\n\n{EXIT_CODES}\n  130  stopped by a signal"))]
pub struct Check {
    /// Members of one volume, in any order
    #[arg(required = true, value_name = "MEMBER")]
    pub members: Vec<PathBuf>,
    /// Write what can be rebuilt, and read it back
    #[arg(long)]
    pub repair: bool,
    /// The result as one JSON object
    #[arg(long)]
    pub json: bool,
}

const VOLUME: &str = "The volume's name, or the path of its control socket [default: the only one that is served]";

/// Arguments of `volume status`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct Status {
    /// The volume's name, or the path of its control socket [default: all that are served]
    #[arg(value_name = "VOLUME")]
    pub volume: Option<String>,
    /// One JSON object a volume
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `volume findings`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct Findings {
    #[arg(value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
    /// One JSON object a finding
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `volume verify`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct Verify {
    #[arg(value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
    /// One JSON object a finding
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `volume fail`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct Fail {
    /// The member's slot or path
    pub member: String,
    #[arg(long, value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
}

const REPLACE_EXAMPLES: &str = "\
Examples:
  scrubjay volume fail 2                   take the member of slot 2 out
  scrubjay volume replace 2 /dev/sdh       put another disk in its place
  scrubjay volume status                   see how far it is rebuilt";

/// Arguments of `volume replace`.
#[derive(Debug, Args)]
#[command(after_help = format!("{REPLACE_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Replace {
    /// The slot or path of the member that is out
    pub member: String,
    /// The disk or file that takes its place
    pub with: PathBuf,
    /// Overwrite it, though it is not empty: its path again
    #[arg(long, value_name = "PATH")]
    pub force: Option<PathBuf>,
    #[arg(long, value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
}

/// Arguments of `volume stop`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct Stop {
    #[arg(value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
}
