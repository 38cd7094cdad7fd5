//! What the daemon is started with, and why it may not start.

use crate::channels::{AlertChannels, ChannelFault};
use crate::config::WatchConfig;
use crate::control::ServerError;
use crate::history::HistoryError;
use crate::time::TestCalendar;
use scrubjay_device::store::short_name;
use scrubjay_jobs::JobError;
use std::fs;
use std::path::{Path, PathBuf};

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
    /// For tests: a faster calendar.
    pub calendar: Option<TestCalendar>,
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
    /// Signals cannot be caught.
    #[error("signals cannot be caught: {0}")]
    Signals(std::io::Error),
}

/// Opens the channels that the settings name.
pub(super) fn open_channels(path: &Path, config: &WatchConfig) -> Result<AlertChannels, DaemonError> {
    AlertChannels::from_settings(&config.alert).map_err(|source| DaemonError::Channel { path: path.to_owned(), source })
}

/// What the machine calls itself.
pub(super) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A number that stays the same as long as the machine is.
pub(super) fn secret() -> u64 {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_else(|_| host_name());
    u64::from_str_radix(&short_name(id.trim()), 16).unwrap_or_default()
}
