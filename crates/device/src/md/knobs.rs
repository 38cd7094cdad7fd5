//! The files of one md array in `/sys`: read, written, and waited for.

use crate::clock;
use scrubjay_core::units::Nanos;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The files in an array's folder in `/sys`, or a model of them.
pub trait MdKnobs: Send {
    /// The trimmed text of a file, such as `sync_action` or `dev-sda1/errors`.
    ///
    /// # Errors
    /// The kernel's error.
    fn read(&self, file: &str) -> io::Result<String>;

    /// Writes to a file.
    ///
    /// # Errors
    /// The kernel's error: EBUSY while something else forbids the write, EINVAL for an invalid value.
    fn write(&self, file: &str, value: &str) -> io::Result<()>;

    /// Waits until the kernel announces progress of a check, or a moment has passed, at most `timeout`.
    fn wait(&self, timeout: Nanos);

    /// The names of its devices' folders: `dev-sda1` and so on, spares and journals among them.
    fn devices(&self) -> Vec<String>;
}

/// What md does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncAction {
    /// It compares.
    Check,
    /// It compares, and makes members agree.
    Repair,
}

impl SyncAction {
    /// Its word in `sync_action`.
    pub fn word(self) -> &'static str {
        match self {
            SyncAction::Check => "check",
            SyncAction::Repair => "repair",
        }
    }
}

/// The folder of a real array: `/sys/block/md0/md`.
#[derive(Debug)]
pub struct MdFolder {
    folder: PathBuf,
    /// Always read from its beginning: the kernel notes what was read last, and wakes a poll when that is out of date.
    completed: Option<File>,
}

/// The one file whose changes the kernel announces while a check runs.
const COMPLETED: &str = "sync_completed";
/// The longest wait, since this file does not announce the end of a check.
const WAIT_MAX: Nanos = Nanos::from_millis(20);

impl MdFolder {
    /// Opens the folder of an array.
    pub fn new(folder: &Path) -> MdFolder {
        MdFolder { completed: File::open(folder.join(COMPLETED)).ok(), folder: folder.to_owned() }
    }
}

impl MdKnobs for MdFolder {
    fn read(&self, file: &str) -> io::Result<String> {
        let text = match &self.completed {
            Some(completed) if file == COMPLETED => {
                let mut text = [0; 128];
                let bytes = completed.read_at(&mut text, 0)?;
                String::from_utf8_lossy(&text[..bytes]).into_owned()
            }
            _ => fs::read_to_string(self.folder.join(file))?,
        };
        Ok(text.trim().to_owned())
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        // In one write, because each write is a command of its own.
        OpenOptions::new().write(true).open(self.folder.join(file))?.write_all(value.as_bytes())
    }

    fn wait(&self, timeout: Nanos) {
        let millis = (timeout.min(WAIT_MAX).0 / 1_000_000).max(1) as libc::c_int;
        let Some(completed) = &self.completed else {
            std::thread::sleep(Duration::from_millis(millis as u64));
            return;
        };
        let mut watched = libc::pollfd { fd: completed.as_raw_fd(), events: libc::POLLPRI, revents: 0 };
        // SAFETY: the pointer is to one live `pollfd`, and the descriptor in it is open. A failure only makes the wait short.
        unsafe { libc::poll(&mut watched, 1, millis) };
    }

    fn devices(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.starts_with("dev-")).collect();
        names.sort();
        names
    }
}

/// The longest time that a knob is busy after a check, while the kernel looks for other work.
pub(super) const BUSY_MAX: Nanos = Nanos::from_secs(5);
/// Pause between two attempts.
pub(super) const RETRY_PAUSE: Duration = Duration::from_millis(1);

/// `sync_min` and `sync_max`; `None` for `max`.
pub(super) fn read_window(knobs: &dyn MdKnobs) -> io::Result<(u64, Option<u64>)> {
    let number = |text: String| text.parse::<u64>().map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
    let max = knobs.read("sync_max")?;
    Ok((number(knobs.read("sync_min")?)?, if max == "max" { None } else { Some(number(max)?) }))
}

/// Writes, and repeats that while the kernel is busy, at most for [`BUSY_MAX`].
pub(super) fn write_with_retries(knobs: &dyn MdKnobs, file: &str, value: &str) -> io::Result<()> {
    let until = clock::now() + BUSY_MAX;
    loop {
        match knobs.write(file, value) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && clock::now() < until => {
                std::thread::sleep(RETRY_PAUSE)
            }
            result => return result,
        }
    }
}
