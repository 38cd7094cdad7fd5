//! The options of the daemon, and why it may fail to start.

use crate::channels::{AlertChannels, ChannelFault};
use crate::config::WatchConfig;
use crate::control::ServerError;
use crate::history::HistoryError;
use crate::time::TestCalendar;
use scrubjay_device::store::short_name;
use scrubjay_jobs::JobError;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The group that may open the page's socket; only the unit of the web page is in it (packaging/).
pub(super) const PAGE_GROUP: &str = "scrubjay-page";
/// The group whose members may ask how things stand: people, and programs that monitor.
pub(super) const STATUS_GROUP: &str = "scrubjay";

/// The options of the daemon.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// The file of settings.
    pub config: PathBuf,
    /// Did the user name that file? Then it must exist.
    pub is_config_required: bool,
    /// The folder of the data base and the states of scrubs.
    pub folder: PathBuf,
    /// The socket for verbs.
    pub socket: PathBuf,
    /// The socket for the web page.
    pub page_socket: PathBuf,
    /// The socket for monitoring.
    pub status_socket: PathBuf,
    /// Does it only observe, whatever the settings say?
    pub observe: bool,
    /// For tests: a faster calendar.
    pub calendar: Option<TestCalendar>,
    /// For tests: sessions read at full speed.
    pub is_full_speed: bool,
    /// For tests: another smartctl.
    pub smartctl: Option<PathBuf>,
}

/// Why the daemon cannot start.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The settings are wrong.
    #[error(transparent)]
    Config(#[from] JobError),
    /// The settings of a channel are wrong.
    #[error("{path}: {source}")]
    Channel {
        /// The file of settings.
        path: PathBuf,
        /// What is wrong.
        source: ChannelFault,
    },
    /// The data base failed.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The socket failed.
    #[error(transparent)]
    Control(#[from] ServerError),
    /// The folder is in use by another daemon, or cannot be used.
    #[error("{path}: {why}")]
    Folder {
        /// The lock file in the folder.
        path: PathBuf,
        /// Why it cannot be locked.
        why: String,
    },
    /// Signals cannot be caught.
    #[error("signals cannot be caught: {0}")]
    Signals(std::io::Error),
}

/// Makes the folder, with access for this user only, and locks out other daemons as long as the file is open.
pub(super) fn lock_folder(folder: &Path) -> Result<File, DaemonError> {
    let path = folder.join("watch.lock");
    let fail = |why: String| DaemonError::Folder { path: path.clone(), why };
    fs::DirBuilder::new().mode(0o700).recursive(true).create(folder).map_err(|error| fail(error.to_string()))?;
    let open = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = open.map_err(|error| fail(error.to_string()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(fail("another watch keeps its history here: stop it first (systemctl stop scrubjay)".to_owned()))
        }
        Err(TryLockError::Error(error)) => Err(fail(error.to_string())),
    }
}

/// Opens the channels that the settings name.
pub(super) fn open_channels(path: &Path, config: &WatchConfig) -> Result<AlertChannels, DaemonError> {
    AlertChannels::from_settings(&config.alert).map_err(|source| DaemonError::Channel { path: path.to_owned(), source })
}

/// The number of a group; `None`: this machine has no such group.
pub(super) fn group_number(group: &str) -> Option<u32> {
    group_in(&fs::read_to_string("/etc/group").unwrap_or_default(), group)
}

/// Finds the group in lines of `NAME:PASSWORD:NUMBER:MEMBERS`.
fn group_in(table: &str, group: &str) -> Option<u32> {
    let fields = |line: &str| {
        let mut fields = line.split(':').map(str::to_owned);
        Some((fields.next()?, fields.nth(1)?))
    };
    table.lines().filter_map(fields).find(|(name, _)| name == group)?.1.parse().ok()
}

/// The machine's host name.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A number that does not change on this machine.
pub(super) fn secret() -> u64 {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_else(|_| host_name());
    u64::from_str_radix(&short_name(id.trim()), 16).unwrap_or_default()
}

/// A random number for this run of the daemon; the time, where there is none to be had.
pub(super) fn run_number() -> u64 {
    let mut bytes = [0; 8];
    match File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)) {
        Ok(()) => u64::from_ne_bytes(bytes),
        Err(_) => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_their_whole_names() {
        let table = "root:x:0:\nscrubjay-page:x:993:\nscrubjay:x:7:me\n";
        assert_eq!((group_in(table, PAGE_GROUP), group_in(table, STATUS_GROUP)), (Some(993), Some(7)));
        assert_eq!(group_in("scrubjay:x:7:\nscrubjay-page:x\n", PAGE_GROUP), None);
    }
}
