//! What the daemon is started with, and why it may not start.

use crate::channels::{AlertChannels, ChannelFault};
use crate::config::WatchConfig;
use crate::control::ServerError;
use crate::history::HistoryError;
use crate::time::TestCalendar;
use scrubjay_device::store::short_name;
use scrubjay_jobs::JobError;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Who is in this group may open the page's socket: the unit of the web page is, and nobody else (packaging/).
const PAGE_GROUP: &str = "scrubjay-page";

/// What the daemon is started with.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// The file of settings.
    pub config: PathBuf,
    /// Was that file asked for, so that it must be there?
    pub is_config_asked_for: bool,
    /// Where the data base and the states of scrubs are.
    pub folder: PathBuf,
    /// Where verbs reach it.
    pub socket: PathBuf,
    /// Where the web page reaches it.
    pub page_socket: PathBuf,
    /// For tests: a faster calendar.
    pub calendar: Option<TestCalendar>,
    /// For tests: sessions wait for nobody.
    pub is_full_speed: bool,
    /// For tests: another smartctl.
    pub smartctl: Option<PathBuf>,
}

/// Why there is no daemon.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The settings make no sense.
    #[error(transparent)]
    Config(#[from] JobError),
    /// A channel cannot be right.
    #[error("{path}: {source}")]
    Channel {
        /// The file of settings.
        path: PathBuf,
        /// What is wrong.
        source: ChannelFault,
    },
    /// The data base.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The socket.
    #[error(transparent)]
    Control(#[from] ServerError),
    /// The folder is another daemon's, or cannot be had.
    #[error("{path}: {why}")]
    Folder {
        /// The file that is locked by whoever uses the folder.
        path: PathBuf,
        /// Why it is not ours.
        why: String,
    },
    /// Signals cannot be caught.
    #[error("signals cannot be caught: {0}")]
    Signals(std::io::Error),
}

/// Makes the folder, for us alone, and keeps other daemons out of it as long as the file is open.
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

/// The group whose members may ask for the page; none: there is no such group here.
pub(super) fn page_group() -> Option<u32> {
    group_in(&fs::read_to_string("/etc/group").unwrap_or_default())
}

/// `NAME:PASSWORD:NUMBER:MEMBERS`, line by line.
fn group_in(table: &str) -> Option<u32> {
    let fields = |line: &str| {
        let mut fields = line.split(':').map(str::to_owned);
        Some((fields.next()?, fields.nth(1)?))
    };
    table.lines().filter_map(fields).find(|(name, _)| name == PAGE_GROUP)?.1.parse().ok()
}

/// What the machine calls itself.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A number that stays the same as long as the machine is.
pub(super) fn secret() -> u64 {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_else(|_| host_name());
    u64::from_str_radix(&short_name(id.trim()), 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_the_page_is_found() {
        assert_eq!(group_in("root:x:0:\nscrubjay-page:x:993:\nscrubjay:x:7:me\n"), Some(993));
        assert_eq!(group_in("scrubjay:x:7:\nscrubjay-page:x\n"), None);
    }
}
