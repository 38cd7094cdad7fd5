//! The arguments of the watch and of the verbs that talk to it.

use super::exit_codes::WATCH as EXIT_CODES;
use clap::{Args, Subcommand};
use scrubjay_core::quantity;
use scrubjay_daemon::time::TestCalendar;
use std::path::PathBuf;

/// The text after the options of `status`.
pub const STATUS: &str = "\
Examples:
  sudo scrubjay status           the sentence, what to do, arrays, disks, running scrubs
  sudo scrubjay status --json    the same for a program
  scrubjay status                as one of the group scrubjay: the same; else the disks and what was read of them

It reads no disk, wakes none, and writes nothing.";

/// The text after the options of `plan`.
pub const PLAN: &str = "\
Examples:
  sudo scrubjay plan    when each disk is read, until when most likely, and what holds it back

Ranges hold in eight of ten cases. The watch must be running.";

/// The text after the options of `resume`.
pub const RESUME: &str = "\
Examples:
  sudo scrubjay resume";

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Count first passes that are in time as well (for a timer that is not to fail in the first weeks)
    #[arg(long)]
    pub first_pass_ok: bool,
}

/// The text after the options of `check`.
pub const CHECK: &str = "\
Examples:
  sudo scrubjay check    CRITICAL: 1 problem: REPLACE bay 3 (ZL2ABCDE): 8 unreadable sectors | disks_ok=7;;;0;8 ...

Exit codes:
  0    OK: all is known to be well
  1    WARNING: something is to be looked after
  2    CRITICAL: something is to be done
  3    UNKNOWN: the watch does not run; or nothing is wrong but that not all is known";

/// The text after the options of `doctor`.
pub const DOCTOR: &str = "\
Examples:
  sudo scrubjay doctor    what keeps Scrubjay from working here, and what to do about it

It reads no disk, and changes nothing.

Exit codes:
  0    nothing is missing
  1    could not do the job
  3    something is missing";

const WATCH_TEXT: &str = "\
Examples:
  sudo systemctl enable --now scrubjay           as a service, where the package is installed
  sudo scrubjay watch                            in this terminal; Ctrl-C ends it, and keeps what was read
  sudo scrubjay watch --config watch.toml        with other settings than /etc/scrubjay/config.toml
  sudo scrubjay watch --observe                  read and send nothing; say what would have been done
  scrubjay watch --print-config >config.toml     a file with every key and its default

It reads every sector of every disk within 35 days, while the disk is idle; adds no more than 2 ms to a request of others on hard disks and
0.2 ms on flash, as a mean; reads their SMART data every 4 hours, without waking them; and sends you a message when something changes.
An empty file of settings is a good one. docs/watch.md says what it decides, docs/alerts.md how it sends.
SIGHUP reads the settings again: a file with anything wrong in it is refused as a whole.";

/// Arguments of `watch`.
#[derive(Debug, Args)]
#[command(after_help = format!("{WATCH_TEXT}\n\n{EXIT_CODES}"))]
pub struct WatchArgs {
    /// Settings [default: /etc/scrubjay/config.toml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Folder for the history and what was read [default: /var/lib/scrubjay]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Only observe: read and send nothing but SMART, and say after a day, a week and a fortnight what would have been done
    #[arg(long)]
    pub observe: bool,
    /// Print a file of settings with every key and its default, and end
    #[arg(long)]
    pub print_config: bool,
    /// For tests: a calendar that shows SECONDS (since 1970) then, and runs SPEED times as fast
    #[arg(long, value_name = "SPEED@SECONDS", hide = true)]
    pub test_calendar: Option<TestCalendar>,
    /// For tests: scrubs wait for nobody
    #[arg(long, hide = true)]
    pub test_full_speed: bool,
    /// For tests: another smartctl
    #[arg(long, value_name = "FILE", hide = true)]
    pub test_smartctl: Option<PathBuf>,
}

const SETUP_TEXT: &str = "\
Examples:
  sudo scrubjay setup    asks for an address, a mail server and a password; sends a test; asks for its code

It adds [alert.email] to /etc/scrubjay/config.toml, and leaves the rest of the file as it is. The password goes into a file of
its own that only root can read. Other channels: docs/alerts.md.";

/// Arguments of `setup`.
#[derive(Debug, Args)]
#[command(after_help = format!("{SETUP_TEXT}\n\n{EXIT_CODES}"))]
pub struct SetupArgs {
    /// Settings of the watch [default: /etc/scrubjay/config.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

const SET_TEXT: &str = "\
Examples:
  sudo scrubjay set scrub.between 01:00-07:00    read disks at night only
  sudo scrubjay set scrub.every 60d
  sudo scrubjay set never '[\"ZL2ABCDE\", \"sdx\"]'   leave these disks alone, and no others
  sudo scrubjay set quiet ''                     messages at any hour

It changes /etc/scrubjay/config.toml, in which comments and all else stay as they are, and has the watch read it. What makes no
sense is refused, and nothing is written. All keys: scrubjay watch --print-config.";

/// Arguments of `set`.
#[derive(Debug, Args)]
#[command(after_help = format!("{SET_TEXT}\n\n{EXIT_CODES}"))]
pub struct SetArgs {
    /// Which: scrub.every, quiet, alert.email.to
    #[arg(value_name = "KEY")]
    pub key: String,
    /// To what: text, or a value of TOML
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub value: String,
    /// Settings of the watch [default: /etc/scrubjay/config.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

const ALERT_TEXT: &str = "\
Examples:
  sudo scrubjay alert test              send a test with a code by every channel, and say what came of it
  sudo scrubjay alert confirm 004711    the code that came: the channel is proven for 90 days
  sudo scrubjay alert list              how each channel stands

Channels are set in /etc/scrubjay/config.toml: docs/alerts.md.";

const ALERT_TEST_EXAMPLES: &str = "\
Examples:
  sudo scrubjay alert test              each channel gets a code of its own
  sudo scrubjay alert confirm 004711    when it has come";

const ALERT_CONFIRM_EXAMPLES: &str = "\
Examples:
  sudo scrubjay alert confirm 004711    the channel that it came by is proven for 90 days";

const ALERT_PROOF_EXAMPLES: &str = "\
Examples:
  sudo scrubjay alert proof    two lines for the settings of machines that have the same channels: docs/fleet-of-hosts.md

It proves just these settings, to the last letter, until 90 days after a person confirmed a code here.";

const ALERT_LIST_EXAMPLES: &str = "\
Examples:
  sudo scrubjay alert list           which channels are proven, and what failed
  sudo scrubjay alert list --json    the same for a program";

/// Arguments of `alert`.
#[derive(Debug, Args)]
#[command(after_help = format!("{ALERT_TEXT}\n\n{EXIT_CODES}"))]
pub struct AlertArgs {
    /// What to do
    #[command(subcommand)]
    pub what: Alerted,
}

/// What can be done about alerts.
#[derive(Debug, Subcommand)]
pub enum Alerted {
    /// Send a test with a code by every channel
    #[command(after_help = format!("{ALERT_TEST_EXAMPLES}\n\n{EXIT_CODES}"))]
    Test,
    /// Say which code came
    #[command(after_help = format!("{ALERT_CONFIRM_EXAMPLES}\n\n{EXIT_CODES}"))]
    Confirm {
        /// The code of six digits
        code: String,
    },
    /// Print what proves the same settings on other machines, for their file of settings
    #[command(after_help = format!("{ALERT_PROOF_EXAMPLES}\n\n{EXIT_CODES}"))]
    Proof,
    /// Show how each channel stands
    #[command(after_help = format!("{ALERT_LIST_EXAMPLES}\n\n{EXIT_CODES}"))]
    List {
        /// Print it as one JSON object
        #[arg(long)]
        json: bool,
    },
}

const SUBJECT_TEXT: &str = "\
Examples:
  sudo scrubjay accept ZL2ABCDE    a disk, by serial number: silent until it becomes worse
  sudo scrubjay accept tank        an array
  sudo scrubjay forget ZL2ABCDE    a disk that was taken out for good; its history stays";

/// Arguments of `accept` and `forget`.
#[derive(Debug, Args)]
#[command(after_help = format!("{SUBJECT_TEXT}\n\n{EXIT_CODES}"))]
pub struct SubjectArgs {
    /// A disk (sda, a serial number, a WWN), an array (md0, a UUID) or a channel (email)
    #[arg(value_name = "NAME")]
    pub subject: String,
}

const PAUSE_TEXT: &str = "\
Examples:
  sudo scrubjay pause 2h    read nothing for two hours; what was read is kept
  sudo scrubjay resume      go on at once";

/// Arguments of `pause`.
#[derive(Debug, Args)]
#[command(after_help = format!("{PAUSE_TEXT}\n\n{EXIT_CODES}"))]
pub struct PauseArgs {
    /// How long: 30m, 2h, 7d
    #[arg(value_name = "TIME", value_parser = seconds)]
    pub time: u64,
}

/// Parses a time of whole seconds, up to 90 days.
fn seconds(text: &str) -> Result<u64, String> {
    match quantity::span(text)? {
        0 => Err(format!("`{text}` is less than a second")),
        seconds @ 1..=7_776_000 => Ok(seconds),
        _ => Err(format!("`{text}` is more than 90 days: change scrub.every in the settings instead")),
    }
}

const SCRUB_NOW_TEXT: &str = "\
Examples:
  sudo scrubjay scrub-now ZL2ABCDE    read this disk now, though it is not due
  sudo scrubjay scrub-now md0         check this array now

The watch reads it as it reads all, within its budget and while nobody else uses the disk; so it comes before others that wait. What holds
it back is not passed over, and is said: a pause, its hours, heat, a self-test, an array that is degraded or busy, a member that is being
read, sleep. The watch must be running; without it: scrubjay scrub.";

/// Arguments of `scrub-now`.
#[derive(Debug, Args)]
#[command(after_help = format!("{SCRUB_NOW_TEXT}\n\n{EXIT_CODES}"))]
pub struct ScrubNowArgs {
    /// A disk (sda, a serial number, a WWN) or an array (md0, a UUID)
    #[arg(value_name = "NAME")]
    pub subject: String,
}

const HISTORY_TEXT: &str = "\
Examples:
  sudo scrubjay history                 the last 50 things that happened
  sudo scrubjay history ZL2ABCDE        of one disk
  sudo scrubjay history --limit 1000 --json";

/// Arguments of `history`.
#[derive(Debug, Args)]
#[command(after_help = format!("{HISTORY_TEXT}\n\n{EXIT_CODES}"))]
pub struct HistoryArgs {
    /// Of this disk only: a serial number, a WWN, or a name that it has now
    #[arg(value_name = "DISK")]
    pub disk: Option<String>,
    /// So many, the newest first
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub limit: u32,
    /// Folder of the history [default: /var/lib/scrubjay]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Print it as one JSON object
    #[arg(long)]
    pub json: bool,
}

const LOCATE_TEXT: &str = "\
Examples:
  sudo scrubjay locate ZL2ABCDE          its bay blinks; where no bay can: serial number and place
  sudo scrubjay locate ZL2ABCDE --off";

/// Arguments of `locate`.
#[derive(Debug, Args)]
#[command(after_help = format!("{LOCATE_TEXT}\n\n{EXIT_CODES}"))]
pub struct LocateArgs {
    /// Disk: sda, /dev/sda, a serial number or a WWN
    #[arg(value_name = "DISK")]
    pub disk: String,
    /// Stop it
    #[arg(long)]
    pub off: bool,
}
