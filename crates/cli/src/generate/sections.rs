//! The sections FILES and ENVIRONMENT of a manual page: what this command reads and writes.

use scrubjay_daemon::config::CONFIG_FILE;
use scrubjay_daemon::history::HISTORY_PATH;

/// A file or a variable, and what it is.
pub type Entry = (&'static str, &'static str);

const SCRUB_STATE: [Entry; 2] = [
    ("/var/lib/scrubjay", "Progress of scrubs, what was learnt of the load, and results of bench disk, for root."),
    ("~/.local/state/scrubjay", "The same for other users ($XDG_STATE_HOME/scrubjay if that is set)."),
];
const VOLUME_SOCKETS: Entry = (
    "/run/scrubjay",
    "Control sockets of served volumes, UUID.sock ($XDG_RUNTIME_DIR/scrubjay for other users than root).",
);
const SETTINGS: Entry =
    (CONFIG_FILE, "Settings of the watch; scrubjay watch --print-config prints one with every key.");
const HISTORY: Entry = (HISTORY_PATH, "What the watch saw and did: disks, passes, SMART data, incidents, messages.");
const WATCH_SOCKET: Entry = ("/run/scrubjay/watch", "Control socket of the watch.");
const MAIL_PASSWORD: Entry =
    ("/etc/scrubjay/smtp.password", "The password of the mail account, as setup writes it; only root can read it.");
const PAGE: [Entry; 2] = [
    ("/run/scrubjay/page", "Socket of the watch that answers the page."),
    ("/var/lib/scrubjay-web/key", "The key of which links and sessions are made."),
];
const READ_CACHE_NOTE: Entry = (
    "/var/lib/scrubjay",
    "Says which drive's read cache is off meanwhile, so that it is switched on again after a crash.",
);

/// The files of a command, by the name of its page.
pub fn files(page: &str) -> Vec<Entry> {
    let verb = page.strip_prefix("scrubjay-").unwrap_or_default();
    let first = verb.split('-').next().unwrap_or_default();
    match verb {
        "" => [&SCRUB_STATE[..], &[SETTINGS, HISTORY, VOLUME_SOCKETS, WATCH_SOCKET], &PAGE].concat(),
        "scrub" => [&SCRUB_STATE[..], &[VOLUME_SOCKETS]].concat(),
        "bench" | "bench-disk" => SCRUB_STATE.to_vec(),
        "bench-verify" => vec![READ_CACHE_NOTE],
        "status" | "explain" => [&SCRUB_STATE[..], &[HISTORY, WATCH_SOCKET]].concat(),
        "setup" => vec![SETTINGS, MAIL_PASSWORD, WATCH_SOCKET],
        "set" => vec![SETTINGS, WATCH_SOCKET],
        "watch" => vec![SETTINGS, HISTORY, SCRUB_STATE[0], WATCH_SOCKET, PAGE[0]],
        "doctor" => vec![SETTINGS, HISTORY, WATCH_SOCKET],
        "history" => vec![HISTORY, WATCH_SOCKET],
        "web" => PAGE.to_vec(),
        "metrics" => vec![PAGE[0]],
        "plan" | "accept" | "forget" | "scrub-now" | "pause" | "resume" | "locate" | "check" => vec![WATCH_SOCKET],
        _ if first == "alert" => vec![SETTINGS, WATCH_SOCKET],
        _ if first == "volume" => vec![VOLUME_SOCKETS],
        _ => Vec::new(),
    }
}

/// The variables that a command with these files heeds.
pub fn environment(files: &[Entry]) -> Vec<Entry> {
    let has = |part: &str| files.iter().any(|(path, what)| path.contains(part) || what.contains(part));
    let mut variables = vec![
        ("NO_COLOR", "If set, nothing is coloured."),
        ("TERM", "If it is dumb, scrub prints progress line by line."),
        ("COLUMNS", "Width of what is printed, instead of the terminal's."),
    ];
    if has("XDG_STATE_HOME") {
        variables.push(("XDG_STATE_HOME", "See FILES."));
    }
    if has("/run/scrubjay") {
        variables
            .push(("XDG_RUNTIME_DIR", "The folder of sockets is $XDG_RUNTIME_DIR/scrubjay for other users than root."));
        variables.push(("SCRUBJAY_RUN", "Folder of the sockets, instead of /run/scrubjay."));
    }
    variables
}
