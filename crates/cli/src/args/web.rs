//! The arguments of the page and the metrics.

use super::exit_codes::WATCH as EXIT_CODES;
use clap::{ArgAction, Args};
use std::net::SocketAddr;
use std::path::PathBuf;

const WEB_TEXT: &str = "\
Examples:
  sudo systemctl enable --now scrubjay-web       as a service, where the package is installed
  sudo scrubjay web                              in this terminal: http://127.0.0.1:8600
  sudo scrubjay web --print-link                 a link by which you may act on the page, good for ten minutes
  ssh -L 8600:127.0.0.1:8600 nas1                from another machine, without listening there
  sudo scrubjay web --listen 0.0.0.0:8600 --tls-cert nas1.pem --tls-key nas1.key --name nas1.lan
  scrubjay simulate watch --disks 60 --page nas.json && scrubjay web --recorded nas.json

It shows what the watch knows, and decides nothing: the page, /metrics for Prometheus, /api/v1/summary for tiles of other pages, and
/healthz. It opens no disk. On this machine anybody may look; to act, and to look from elsewhere, takes the key, of which links and
sessions are made. It listens beyond this machine only with TLS; without it, if --without-tls is said twice. docs/web.md says more.";

/// Arguments of `web`.
#[derive(Debug, Args)]
#[command(after_help = format!("{WEB_TEXT}\n\n{EXIT_CODES}"))]
pub struct WebArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8600")]
    pub listen: SocketAddr,
    /// A name that this page has, besides localhost, addresses and the host name (may be given several times)
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,
    /// Print a link that lets its reader act on the page for twelve hours, and a key to read with; then end
    #[arg(long)]
    pub print_link: bool,
    /// Let nobody act: no key is read or made
    #[arg(long, conflicts_with = "print_link")]
    pub read_only: bool,
    /// File of the key, which is made if it is absent [default: /var/lib/scrubjay-web/key]
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Show this recording of `simulate watch --page`, and ask no watch
    #[arg(long, value_name = "FILE")]
    pub recorded: Option<PathBuf>,

    /// Certificate, and those that lead to its authority, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key", help_heading = "Encryption")]
    pub tls_cert: Option<PathBuf>,
    /// Its key, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", help_heading = "Encryption")]
    pub tls_key: Option<PathBuf>,
    /// Said twice: listen beyond this machine without encryption, where everybody on the way can read and act
    #[arg(long, action = ArgAction::Count, conflicts_with = "tls_cert", help_heading = "Encryption")]
    pub without_tls: u8,
}

const METRICS_TEXT: &str = "\
Examples:
  sudo scrubjay metrics                          what /metrics says, to standard output
  sudo scrubjay metrics --textfile /var/lib/prometheus/node-exporter/scrubjay.prom

With --textfile node_exporter's textfile collector reads it, and no second port is needed: the file is replaced in one step, never
half written. contrib/prometheus has a timer for it, alert rules and a dashboard. docs/web.md lists the metrics.
Where the watch does not answer, scrubjay_watch_up is 0 and nothing else is said; the exit code is 1.";

/// Arguments of `metrics`.
#[derive(Debug, Args)]
#[command(after_help = format!("{METRICS_TEXT}\n\n{EXIT_CODES}"))]
pub struct MetricsArgs {
    /// Write them into this file
    #[arg(long, value_name = "FILE")]
    pub textfile: Option<PathBuf>,
}
