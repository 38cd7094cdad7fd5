//! The arguments of the verbs of `volume` that serve volumes, steer those that are served, and check those that are not.

use super::exit_codes::VOLUMES as EXIT_CODES;
use clap::{Args, ValueEnum};
use scrubjay_serve::server::Address;
use std::path::PathBuf;

const SERVE_EXAMPLES: &str = "\
Examples:
  scrubjay volume serve [a-f].img --listen unix:/tmp/photos.sock
  scrubjay volume serve /dev/sd[b-g] --listen 127.0.0.1:10809 --listen unix:/run/photos.sock
  scrubjay volume serve /dev/sd[b-g] --listen 0.0.0.0:10809 --tls require \\
      --tls-certificate server.pem --tls-key server.key --tls-client-ca clients.pem
  nbdfuse /mnt/photos.img --unix /tmp/photos.sock &      a file, for losetup and mount
  nbd-client -unix /tmp/photos.sock /dev/nbd0            a block device

Members may be named in any order. Up to as many may be missing as the volume has parities, or be there and not to be
opened or read (--degraded no refuses that): what they held is rebuilt when it is asked for. After a crash only what was
being written is looked at. Ctrl-C stops in order, and its last line says how the volume was left: the exit code is 1 if
anything that was acknowledged may be lost, a request failed, or a member was lost meanwhile.

Whoever can reach the address can read and write the volume: of unix:PATH, those whom --socket-mode lets in; of a port
of this machine, all its users. Commands are taken of root and of the server's own user only. TLS keeps what goes over
the network from being read or changed on its way; it keeps nobody out unless --tls-client-ca says whom to let in. An
address that other machines reach needs --tls require, or --insecure where a firewall or a tunnel stands before it.

32 clients are served at a time; what they send and have not read yet takes 256 MiB together, and 1 MiB more each.";

const TLS: &str = "TLS";

/// Permissions, in octal.
fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| format!("`{text}` is no mode: write 600, 660 or 666"))
}

/// May, must, or cannot clients use TLS?
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TlsChoice {
    /// They cannot
    Off,
    /// They may
    Allow,
    /// Without it they get nothing
    Require,
}

/// May a volume be served without some of its members?
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DegradedChoice {
    /// It may not: say what is missing, and end
    No,
    /// It may, as long as the rest is enough
    Yes,
}

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
    /// Who may connect to unix:PATH, as a mode of the file: 660 lets its group in, too
    #[arg(long, value_name = "MODE", default_value = "600", value_parser = mode)]
    pub socket_mode: u32,
    /// May members be missing, or be left out that cannot be opened or read, where the rest is enough?
    #[arg(long, value_name = "WHETHER", default_value = "yes")]
    pub degraded: DegradedChoice,
    /// Write nothing: clients may only read, and nothing is repaired
    #[arg(long)]
    pub read_only: bool,
    /// Where commands to it come in [default: UUID.sock in $SCRUBJAY_RUN, /run/scrubjay or $XDG_RUNTIME_DIR/scrubjay]
    #[arg(long, value_name = "PATH")]
    pub control: Option<PathBuf>,
    /// May, must, or cannot clients encrypt what goes over the network (NBD's STARTTLS, TLS 1.2 or 1.3)?
    #[arg(long, value_name = "WHEN", default_value = "off", help_heading = TLS)]
    pub tls: TlsChoice,
    /// The server's certificate, and those behind it, in PEM: by this, clients know that it is us
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    #[arg(required_if_eq_any = [("tls", "allow"), ("tls", "require")])]
    pub tls_certificate: Option<PathBuf>,
    /// The certificate's private key, in PEM, without a passphrase
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    #[arg(required_if_eq_any = [("tls", "allow"), ("tls", "require")])]
    pub tls_key: Option<PathBuf>,
    /// Let only clients in that have a certificate of one of these authorities, in PEM; with --tls require
    #[arg(long, value_name = "FILE", help_heading = TLS)]
    pub tls_client_ca: Option<PathBuf>,
    /// Listen where other machines reach it, although without --tls require everything goes over the network in clear
    #[arg(long, help_heading = TLS)]
    pub insecure: bool,
}

const CHECK_EXAMPLES: &str = "\
Examples:
  scrubjay volume check [a-f].img             read every stripe, say what is wrong
  scrubjay volume check [a-f].img --repair    and put it right

The volume must not be served meanwhile; one that is served is scrubbed: `scrubjay scrub NAME`.";

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

const VOLUME: &str =
    "The volume's name or UUID, or the path of its control socket [default: the only one that is served]";

const STATUS_NOTES: &str = "\
A server that does not answer is exit code 1: nobody knows how its volume is. A volume that is degraded, broken or being
rebuilt, or in which something was found lost since its server was started, is exit code 3. That no volume is being served is no problem by itself: name those that should be.";

/// Arguments of `volume status`.
#[derive(Debug, Args)]
#[command(after_help = format!("{STATUS_NOTES}\n\n{EXIT_CODES}"))]
pub struct StatusArgs {
    /// The volume's name or UUID, or the path of its control socket [default: all that are served]
    #[arg(value_name = "VOLUME")]
    pub volume: Option<String>,
    /// One JSON object a volume; its state is `unknown` where the server does not answer, and `none` if there is none
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `volume findings`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct FindingsArgs {
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

const READD_EXAMPLES: &str = "\
Examples:
  scrubjay volume status                        says which member is out, and may come back
  scrubjay volume readd /dev/sdc                take it back, under this path or another one

For a member whose cable was pulled, or that did not answer for a while. It is taken back only if it is the one that left,
as it left: not one that was used without the others since, an older copy, or one that was being rebuilt when it left.
Where it is not, nothing is written to it, and `volume replace` with --force rebuilds it as a whole.";

/// Arguments of `volume readd`.
#[derive(Debug, Args)]
#[command(after_help = format!("{READD_EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Readd {
    /// The disk or file that is back; it says itself which member it is
    pub path: PathBuf,
    #[arg(long, value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
}

/// Arguments of `volume stop`.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub struct StopArgs {
    #[arg(value_name = "VOLUME", help = VOLUME)]
    /// The volume
    pub volume: Option<String>,
}
