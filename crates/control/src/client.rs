//! The client end of the daemon's sockets.

use super::protocol::{WatchAnswer, WatchRequest};
use crate::folder::{FolderError, socket_folder};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest wait for an answer: longer than the daemon ever takes.
const ANSWER_MAX: Duration = Duration::from_secs(40);
/// The longest answer that is read, in bytes: an answer of 1,000 disks has a tenth of it.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// Where the daemon listens: `watch` in the folder of control sockets.
///
/// # Errors
/// No folder is known.
pub fn socket_path() -> Result<PathBuf, FolderError> {
    Ok(socket_folder()?.join("watch"))
}

/// Where the daemon listens for the web page: `page` in the same folder. Of the verbs' requests it takes those that
/// [`WatchRequest::is_for_page`] names.
///
/// # Errors
/// No folder is known.
pub fn page_socket_path() -> Result<PathBuf, FolderError> {
    Ok(socket_folder()?.join("page"))
}

/// Where the system's daemon answers how things stand, and nothing else, to the group `scrubjay`: `status` in the folder of its
/// sockets.
pub fn status_socket_path() -> PathBuf {
    std::env::var_os("SCRUBJAY_RUN").map_or_else(|| "/run/scrubjay".into(), PathBuf::from).join("status")
}

/// The folders in which systemd looks for units (systemd.unit(5), "System Unit Search Path").
const UNIT_FOLDERS: [&str; 6] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
    "/etc/systemd/system.control",
];

/// The command that starts the watch here: as a service where its unit is installed, else in a terminal.
pub fn start_command() -> &'static str {
    start_command_of(|folder| Path::new(folder).join("scrubjay.service").exists())
}

fn start_command_of(has_unit: impl Fn(&str) -> bool) -> &'static str {
    match UNIT_FOLDERS.into_iter().any(has_unit) {
        true => "sudo systemctl enable --now scrubjay",
        false => "sudo scrubjay watch",
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum WatchClientError {
    /// Nothing listens at the socket.
    #[error("the watch is not running ({0}): {start}", start = start_command())]
    Absent(PathBuf),
    /// This user may not ask.
    #[error("{0}: only root may ask the watch (sudo)")]
    Permission(PathBuf),
    /// This user may not ask how things stand, and could be permitted to.
    #[error(
        "{0}: only root and the group scrubjay may ask the watch (sudo usermod -aG scrubjay $USER, then log in again)"
    )]
    Group(PathBuf),
    /// The kernel reports an error, or no answer comes in time.
    #[error("{path}: {source}")]
    Io {
        /// The path of the socket.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The answer cannot be understood.
    #[error("{0}: the watch's answer makes no sense: is it another version? (systemctl restart scrubjay)")]
    Nonsense(PathBuf),
}

/// A connection to the daemon.
#[derive(Debug)]
pub struct WatchClient {
    path: PathBuf,
    stream: BufReader<UnixStream>,
}

impl WatchClient {
    /// Connects to the daemon.
    ///
    /// # Errors
    /// Nothing listens, or this user may not ask.
    pub fn connect(path: &Path) -> Result<WatchClient, WatchClientError> {
        let owned = || path.to_owned();
        let stream = UnixStream::connect(path).map_err(|source| match source.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => WatchClientError::Absent(owned()),
            ErrorKind::PermissionDenied => WatchClientError::Permission(owned()),
            _ => WatchClientError::Io { path: owned(), source },
        })?;
        let fail = |source| WatchClientError::Io { path: owned(), source };
        stream.set_read_timeout(Some(ANSWER_MAX)).map_err(fail)?;
        stream.set_write_timeout(Some(ANSWER_MAX)).map_err(fail)?;
        Ok(WatchClient { path: owned(), stream: BufReader::new(stream) })
    }

    /// Sends a request, and waits for its answer.
    ///
    /// # Errors
    /// No answer comes.
    pub fn ask(&mut self, request: &WatchRequest) -> Result<WatchAnswer, WatchClientError> {
        let fail = |source| WatchClientError::Io { path: self.path.clone(), source };
        let mut line = serde_json::to_vec(request).map_err(|error| fail(io::Error::other(error)))?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).map_err(fail)?;
        let mut answer = Vec::new();
        self.stream.by_ref().take(ANSWER_BYTES_MAX).read_until(b'\n', &mut answer).map_err(fail)?;
        serde_json::from_slice(&answer).map_err(|_| WatchClientError::Nonsense(self.path.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_is_named_only_where_its_unit_is_installed() {
        assert_eq!(start_command_of(|folder| folder == "/lib/systemd/system"), "sudo systemctl enable --now scrubjay");
        assert_eq!(start_command_of(|_| false), "sudo scrubjay watch");
    }
}
