//! The arguments of the verbs of `volume` that serve volumes, steer those that are served, and check those that are not.

use super::exit_codes::VOLUMES as EXIT_CODES;
use clap::{ArgGroup, Args, ValueEnum};
use scrubjay_serve::server::Address;
use std::path::PathBuf;

const SERVE_EXAMPLES: &str = "\
Examples:
  scrubjay volume serve [a-f].img --listen unix:/tmp/photos.sock
  scrubjay volume serve /dev/sd[b-g] --listen 127.0.0.1:10809 --listen unix:/run/photos.sock
  scrubjay volume serve /dev/sd[b-g] --listen 0.0.0.0:10809 --tls require \\
      --tls-certificate server.pem --tls-key server.key --tls-client-ca clients.pem
A block device, with what the machine has:
  scrubjay volume serve /dev/sd[b-g] --ublk              /dev/ublkb0: Linux 6.5 or later, modprobe ublk_drv, root
  nbd-client -unix /tmp/photos.sock /dev/nbd0            /dev/nbd0: modprobe nbd, root
  nbdfuse /mnt/photos.img --unix /tmp/photos.sock &      a file, for losetup and mount

Members may be named in any order. As many members as the volume has parities may be missing or unreadable
(--degraded no refuses that); their data is reconstructed from the others. After a crash only the regions that were
being written are resynced. Ctrl-C stops the volume in order, and the last line says how it was left. The exit code is 1
if acknowledged writes may be lost or a write failed, and 3 if all of them are safe, but stripes hold lost data, a read
failed, or a member failed meanwhile.

With --ublk the volume is a block device of this machine. If the server is killed, the device stays, and whoever uses it
waits; serve the volume with --ublk again, and all goes on without an error. When the volume is stopped the device goes,
unless somebody has it open or mounted: then it stays, and waits as well.

Whoever can connect can read and write the volume: with unix:PATH the users that --socket-mode admits, with a port all
users of this machine. Control commands are accepted from root and from the server's own user only. TLS encrypts the
traffic; it keeps nobody out unless --tls-client-ca names who may connect. An address that other machines can reach
needs --tls require, or --insecure if a firewall or a tunnel protects it.

At most 32 clients are served at a time; their buffers take at most 256 MiB together, and 1 MiB each.";

const TLS: &str = "TLS";

/// Parses permissions in octal.
fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| format!("`{text}` is no mode: write 600, 660 or 666"))
}

/// May, must, or cannot clients use TLS?
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TlsChoice {
    /// No TLS
    Off,
    /// Clients may use TLS
    Allow,
    /// Clients must use TLS
    Require,
}

/// May a volume be served without some of its members?
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DegradedChoice {
    /// Refuse to serve, and say what is missing
    No,
    /// Serve if the other members are enough
    Yes,
}

/// Arguments of `volume serve`.
#[derive(Debug, Args)]
#[command(after_help = format!("{SERVE_EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(group(ArgGroup::new("way").args(["listen", "ublk"]).required(true).multiple(true)))]
pub struct Serve {
    /// Members of one volume, in any order
    #[arg(required = true, value_name = "MEMBER")]
    pub members: Vec<PathBuf>,
    /// Address for NBD clients; may be repeated
    #[arg(long, value_name = "unix:PATH|HOST:PORT")]
    pub listen: Vec<Address>,
    /// Be a block device, /dev/ublkbN: the volume's own, if its last server was killed, or a new one [default N: any]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true)]
    pub ublk: Option<Option<u32>>,
    /// File mode of unix:PATH: 660 also admits its group
    #[arg(long, value_name = "MODE", default_value = "600", value_parser = mode)]
    pub socket_mode: u32,
    /// Whether to serve with members missing or unreadable
    #[arg(long, value_name = "WHETHER", default_value = "yes")]
    pub degraded: DegradedChoice,
    /// Serve read-only: nothing is written or repaired
    #[arg(long)]
    pub read_only: bool,
    /// Path of the control socket [default: UUID.sock in $SCRUBJAY_RUN, /run/scrubjay or $XDG_RUNTIME_DIR/scrubjay]
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// Encryption of NBD connections (STARTTLS; TLS 1.2 or 1.3)
    #[arg(long, value_name = "WHEN", default_value = "off", help_heading = TLS)]
    pub tls: TlsChoice,
    /// Server certificate and its chain, PEM
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    #[arg(required_if_eq_any = [("tls", "allow"), ("tls", "require")])]
    pub tls_certificate: Option<PathBuf>,
    /// Private key of the certificate, PEM, without passphrase
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    #[arg(required_if_eq_any = [("tls", "allow"), ("tls", "require")])]
    pub tls_key: Option<PathBuf>,
    /// Admit only clients with a certificate of one of these authorities, PEM (with --tls require)
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub tls_client_ca: Option<PathBuf>,
    /// Allow unencrypted addresses that other machines can reach
    #[arg(long, help_heading = TLS)]
    pub insecure: bool,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  scrubjay volume check [a-f].img             verify every stripe, report what is wrong
  scrubjay volume check [a-f].img --repair    and repair it

The volume must be stopped. To verify a running one: `scrubjay scrub NAME`.";

/// Arguments of `volume check`.
#[derive(Debug, Args)]
#[command(after_help = format!("{CHECK_EXAMPLES}\n\n{EXIT_CODES}\n  130  stopped by a signal"))]
pub struct Check {
    /// Members of one volume, in any order
    #[arg(required = true, value_name = "MEMBER")]
    pub members: Vec<PathBuf>,
    /// Rebuild what is wrong, write it, and read it back
    #[arg(long)]
    pub repair: bool,
    /// Print the result as one JSON object
    #[arg(long)]
    pub json: bool,
}

const VOLUME: &str = "The volume's name or UUID, or the path of its control socket [default: the only one that runs]";

const STATUS_NOTES: &str = "\
Examples:
  scrubjay volume status                  all volumes that are served here
  scrubjay volume status photos           one of them; its exit code says how it is
  scrubjay volume status photos --json    the same for a program

The exit code is 3 if a volume is degraded, broken or rebuilding, or has lost data since it was started, and 1 if a
server does not answer. That no volume is running is not an error: name those that should be.";

/// Arguments of `volume status`.
#[derive(Debug, Args)]
#[command(after_help = format!("{STATUS_NOTES}\n\n{EXIT_CODES}"))]
pub struct StatusArgs {
    /// The volume's name or UUID, or the path of its control socket [default: all that run]
    #[arg(value_name = "VOLUME")]
    pub volume: Option<String>,
    /// Print one JSON object per volume; state `unknown`: the server does not answer, `none`: no volume is running
    #[arg(long)]
    pub json: bool,
}

const FINDINGS_EXAMPLES: &str = "\
Examples:
  scrubjay volume findings                  of the only volume that is served
  scrubjay volume findings photos --json    one object a line: which rows of which member";

/// Arguments of `volume findings`.
#[derive(Debug, Args)]
#[command(after_help = format!("{FINDINGS_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct FindingsArgs {
    #[arg(value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
    /// Print one JSON object per finding
    #[arg(long)]
    pub json: bool,
}

const EVENTS_EXAMPLES: &str = "\
Examples:
  scrubjay volume events                   what has happened since the server was started
  scrubjay volume events tank --follow     and what happens from now on, until the volume is stopped
  scrubjay volume events --follow --json   the same for a program: one object a line";

/// Arguments of `volume events`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EVENTS_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct EventsArgs {
    #[arg(value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
    /// Wait for more, until the volume is stopped
    #[arg(long)]
    pub follow: bool,
    /// Print one JSON object per event
    #[arg(long)]
    pub json: bool,
}

const FAIL_EXAMPLES: &str = "\
Examples:
  scrubjay volume fail 2                          member 2 of the only volume that is served
  scrubjay volume fail /dev/sdc --volume photos   by its path
  scrubjay volume replace 2 /dev/sdh              then put another in its place";

/// Arguments of `volume fail`.
#[derive(Debug, Args)]
#[command(after_help = format!("{FAIL_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Fail {
    /// The member: its number or path
    pub member: String,
    #[arg(long, value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
}

const REPLACE_EXAMPLES: &str = "\
Examples:
  scrubjay volume fail 2                   fail member 2
  scrubjay volume replace 2 /dev/sdh       put /dev/sdh in its place
  scrubjay volume status                   see how far the rebuild is";

/// Arguments of `volume replace`.
#[derive(Debug, Args)]
#[command(after_help = format!("{REPLACE_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Replace {
    /// The failed member: its number or path
    pub member: String,
    /// The disk or file that replaces it
    pub with: PathBuf,
    /// Overwrite it although it is not empty: its path again
    #[arg(long, value_name = "PATH")]
    pub force: Option<PathBuf>,
    #[arg(long, value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
}

const READD_EXAMPLES: &str = "\
Examples:
  scrubjay volume status                        shows which failed member may return
  scrubjay volume readd /dev/sdc                return it, under this path or another

For a member whose cable was pulled, or that did not answer for a while. It must be as it was when it failed: not used
without the others since, not an older copy, not half rebuilt. Otherwise nothing is written to it; `volume replace`
with --force rebuilds it as a whole.";

/// Arguments of `volume readd`.
#[derive(Debug, Args)]
#[command(after_help = format!("{READD_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Readd {
    /// The disk or file; its metadata says which member it is
    pub path: PathBuf,
    #[arg(long, value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
}

const STOP_EXAMPLES: &str = "\
Examples:
  scrubjay volume stop           the only volume that is served; unmount it first
  scrubjay volume stop photos    one of several";

/// Arguments of `volume stop`.
#[derive(Debug, Args)]
#[command(after_help = format!("{STOP_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct StopArgs {
    #[arg(value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
}
