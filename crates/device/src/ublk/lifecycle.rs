//! Commands to the driver that wait until the queue is served: on a thread of their own, whose end a ring can wait for.

use super::abi;
use super::control::UblkControl;
use super::error::UblkError;
use super::holders;
use crate::completion::Socket;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// The longest wait for the removal of a device that a program opened just when it was stopped.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// How such a command ended.
#[derive(Debug)]
pub enum UblkNews {
    /// The block device appeared, or continues.
    Started,
    /// It cannot be started.
    NotStarted(UblkError),
    /// It is stopped, and receives no more requests.
    Stopped,
    /// It was not stopped, because it is in use: by whom, in words that continue its name.
    InUse(String),
    /// It could not be stopped.
    NotStopped(UblkError),
}

/// A command under way.
#[derive(Debug)]
pub struct UblkCommand {
    news: Receiver<UblkNews>,
    woken: Socket,
}

impl UblkCommand {
    /// A socket that becomes readable, or ends, when the command has ended.
    pub fn woken(&self) -> &Socket {
        &self.woken
    }

    /// How it ended, once [`UblkCommand::woken`] is readable.
    pub fn news(&self) -> Option<UblkNews> {
        self.news.try_recv().ok()
    }

    fn begin(work: impl FnOnce() -> UblkNews + Send + 'static) -> io::Result<UblkCommand> {
        let (mut waker, woken) = UnixStream::pair()?;
        let (sender, news) = mpsc::channel();
        thread::Builder::new().name("ublk".to_owned()).spawn(move || {
            let _ = sender.send(work());
            let _ = waker.write(&[1]);
        })?;
        Ok(UblkCommand { news, woken: Arc::new(OwnedFd::from(woken)) })
    }
}

/// Starts a device, or continues one, once all its requests have been fetched. The kernel reads its partitions before
/// this ends.
///
/// # Errors
/// When there are no more threads or file descriptors.
pub fn start(number: u32, is_recovered: bool) -> io::Result<UblkCommand> {
    let command = if is_recovered { abi::END_RECOVERY } else { abi::START_DEVICE };
    let process = u64::from(std::process::id());
    UblkCommand::begin(move || match send_command(command, number, process) {
        Ok(()) => UblkNews::Started,
        Err(error) => UblkNews::NotStarted(error),
    })
}

/// Stops a device, unless it is in use.
///
/// # Errors
/// When there are no more threads or file descriptors.
pub fn stop(number: u32) -> io::Result<UblkCommand> {
    UblkCommand::begin(move || match holders::claim(&path(number)) {
        Err(user) => UblkNews::InUse(user),
        Ok(claimed) => {
            let written = claimed.write_back();
            let refused = |source| UblkError::Refused { what: path(number).display().to_string(), source };
            match written.map_err(refused).and_then(|()| send_command(abi::STOP_DEVICE, number, 0)) {
                Ok(()) => UblkNews::Stopped,
                Err(error) => UblkNews::NotStopped(error),
            }
        }
    })
}

/// Removes a device that is stopped. The kernel waits until it is not open any more; this waits only a few seconds, and the
/// removal then goes on in the background.
///
/// # Errors
/// [`UblkError`].
pub fn delete(number: u32) -> Result<(), UblkError> {
    let (done, deleted) = mpsc::channel();
    let deleting = move || drop(done.send(send_command(abi::DELETE_DEVICE, number, 0)));
    let begun = thread::Builder::new().name("ublk".to_owned()).spawn(deleting);
    begun.map_err(|source| UblkError::Refused { what: path(number).display().to_string(), source })?;
    deleted.recv_timeout(CLOSE_TIMEOUT).unwrap_or(Ok(()))
}

fn send_command(command: u32, number: u32, data: u64) -> Result<(), UblkError> {
    let refused = |source| UblkError::Refused { what: path(number).display().to_string(), source };
    UblkControl::open()?.send_number(command, number, data).map_err(refused)
}

/// Path of the block device.
pub fn path(number: u32) -> PathBuf {
    PathBuf::from(format!("/dev/ublkb{number}"))
}
