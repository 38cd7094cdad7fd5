//! The folder of control sockets.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// There is no folder for control sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no folder for control sockets: set SCRUBJAY_RUN to a folder of yours")]
pub struct FolderError;

/// The folder of control sockets: `$SCRUBJAY_RUN`; or for root `/run/scrubjay`; or `$XDG_RUNTIME_DIR/scrubjay`.
///
/// # Errors
/// No folder is known.
pub fn socket_folder() -> Result<PathBuf, FolderError> {
    if let Some(folder) = env::var_os("SCRUBJAY_RUN") {
        return Ok(folder.into());
    }
    // Only root can write to /run.
    if fs::metadata("/run").is_ok() && rustix::process::geteuid().is_root() {
        return Ok("/run/scrubjay".into());
    }
    env::var_os("XDG_RUNTIME_DIR").map(|folder| Path::new(&folder).join("scrubjay")).ok_or(FolderError)
}
