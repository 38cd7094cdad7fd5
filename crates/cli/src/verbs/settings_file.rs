//! The watch's settings file, read and replaced in one step.

use crate::exit::Usage;
use anyhow::{Context, Result};
use scrubjay_control::WatchClientError;
use scrubjay_daemon::config::{CONFIG_FILE, WatchConfig};
use scrubjay_device::output::{Existing, OutputFile};
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The absolute path of a file, links followed, so that a link stays a link.
pub fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// The file that the running watch reads, or that it would read if it ran.
///
/// # Errors
/// When a watch runs, and does not report its file.
pub fn path_in_use() -> Result<PathBuf> {
    let is_silent = |error: &WatchClientError| !matches!(error, WatchClientError::Absent(_));
    match super::watch_status() {
        Ok(status) => Ok(status.settings_file.into()),
        Err(error) if error.downcast_ref().is_some_and(is_silent) => {
            Err(error.context("name the file with --config: the watch that runs does not say which it reads"))
        }
        Err(_) => Ok(real_path(Path::new(CONFIG_FILE))),
    }
}

/// A settings file that was read, and is valid.
pub struct SettingsFile {
    /// Its path, links followed.
    pub path: PathBuf,
    /// Its text; empty if the file is absent.
    pub text: String,
    /// The parsed text.
    pub config: WatchConfig,
    mode: Option<u32>,
}

impl SettingsFile {
    /// Reads the named file; without a name, the one that the watch reads or would read.
    pub fn read(named: Option<&Path>) -> Result<SettingsFile> {
        let path = named.map_or_else(path_in_use, |named| Ok(real_path(named)))?;
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).context(format!("cannot read {}", path.display())),
        };
        let config = WatchConfig::parse(&text).map_err(|error| Usage(format!("{}{error}", path.display())))?;
        let mode = fs::metadata(&path).ok().map(|metadata| metadata.permissions().mode() & 0o7777);
        Ok(SettingsFile { path, text, config, mode })
    }

    /// Replaces the text; permissions stay.
    pub fn replace(&self, text: &str) -> Result<()> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let mut output = OutputFile::create(&self.path, Existing::Replaced)?;
        output.write_all(text.as_bytes())?;
        if let Some(mode) = self.mode {
            output.file().set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(output.commit()?)
    }
}
