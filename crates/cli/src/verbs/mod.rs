//! The watch, and the verbs that talk to it over its socket.

pub mod alert;
pub mod check;
pub mod doctor;
pub mod history;
pub mod locate;
pub mod metrics;
pub mod person;
pub mod plan;
pub mod set;
mod settings_file;
pub mod setup;
pub mod status;
pub mod watch;
pub mod web;

use anyhow::Result;
use scrubjay_control::{
    DiskEntry, WatchAnswer, WatchClient, WatchClientError, WatchDocument, WatchRequest, socket_path, start_command,
    status_socket_path,
};
use scrubjay_device::completion::own_uid;
use scrubjay_device::inventory::is_alike;
use std::path::PathBuf;

/// The default folder of the daemon's history.
pub const STATE_FOLDER: &str = "/var/lib/scrubjay";

/// The folder that was given, or the default one.
pub fn state_folder(given: Option<&PathBuf>) -> PathBuf {
    given.cloned().unwrap_or_else(|| STATE_FOLDER.into())
}

/// Sends a request to the watch. A refusal is a usage error.
pub fn ask(request: &WatchRequest) -> Result<WatchAnswer> {
    let mut client = client_for(request)?;
    match client.ask(request).map_err(as_error)? {
        WatchAnswer::Refused { why } => Err(crate::exit::Usage(why).into()),
        answer => Ok(answer),
    }
}

/// Connects to the watch; for the status, a user other than root may do so as one of a group.
fn client_for(request: &WatchRequest) -> Result<WatchClient> {
    let own = socket_path().map(|path| WatchClient::connect(&path));
    let is_for_group = *request == WatchRequest::Status && own_uid() != 0 && !matches!(own, Ok(Ok(_)));
    let by_group = is_for_group.then(|| WatchClient::connect(&status_socket_path()));
    match (by_group, own) {
        (Some(Ok(client)), _) => Ok(client),
        (Some(Err(WatchClientError::Permission(path))), _) => Err(as_error(WatchClientError::Group(path))),
        (_, own) => own?.map_err(as_error),
    }
}

/// Converts an error: a missing permission has an exit code of its own.
fn as_error(error: WatchClientError) -> anyhow::Error {
    match error {
        WatchClientError::Permission(_) | WatchClientError::Group(_) => {
            anyhow::Error::new(std::io::Error::from(std::io::ErrorKind::PermissionDenied)).context(error.to_string())
        }
        error => error.into(),
    }
}

/// The absent disk that the watch knew under this name, serial number or WWN.
///
/// # Errors
/// When several disks had this name.
pub fn gone<'w>(watch: Option<&'w WatchDocument>, name: &str) -> Result<Option<&'w DiskEntry>> {
    let is_match = |disk: &&DiskEntry| {
        let serial = disk.serial.as_deref().unwrap_or_default();
        disk.name.is_none() && (disk.last_name == name || is_alike(&disk.key, name) || is_alike(serial, name))
    };
    let mut found = watch.into_iter().flat_map(|watch| &watch.disks).filter(is_match);
    match (found.next(), found.next()) {
        (first, None) => Ok(first),
        _ => Err(crate::exit::Usage(format!("{name}: several disks were called so: use a serial number")).into()),
    }
}

/// The watch's status; or why it cannot be asked, in words for people.
pub fn watch_status_or_reason() -> Result<Box<WatchDocument>, String> {
    watch_status_or_obstacle().map_err(|WatchObstacle { why, start }| match start {
        Some(start) => format!("{why}. Start it: {start}"),
        None => why,
    })
}

/// Why the watch cannot be asked.
pub struct WatchObstacle {
    /// In words, without a full stop.
    pub why: String,
    /// The command that starts it, if it is not running.
    pub start: Option<&'static str>,
}

/// The watch's status; or why it cannot be asked, and what to do about it.
pub fn watch_status_or_obstacle() -> Result<Box<WatchDocument>, WatchObstacle> {
    watch_status().map_err(|error| match error.downcast_ref() {
        Some(WatchClientError::Absent(_)) => WatchObstacle {
            why: "The watch is not running: no disk is read on schedule, and no alert is sent".to_owned(),
            start: Some(start_command()),
        },
        _ => WatchObstacle { why: format!("How the watch sees it is not known here: {error:#}"), start: None },
    })
}

/// The watch's status, as [`watch_status_or_reason`] gets it; or the error of the verb.
pub fn watch_status() -> Result<Box<WatchDocument>> {
    match ask(&WatchRequest::Status)? {
        WatchAnswer::Status(status) => Ok(status),
        _ => anyhow::bail!("the watch answered something else: is it another version?"),
    }
}
