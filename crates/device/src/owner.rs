//! Checks who can change a folder: root keeps files and sockets only where no other user can exchange them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// A user, or several, who could exchange what lies below a folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Meddler {
    /// A folder, or a link on the way to it, belongs to a user other than root.
    #[error("{at} belongs to user {user}")]
    Owner {
        /// The folder or link.
        at: PathBuf,
        /// The user ID.
        user: u32,
    },
    /// A group other than root's, or every user, may write to a folder.
    #[error("{at} may be written by others than its owner")]
    Others {
        /// The folder.
        at: PathBuf,
    },
}

/// Mode bits: the group, and all other users, may write to the folder.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// Mode bit: users who may write to the folder may rename and remove only their own entries (`/tmp`).
const STICKY: u32 = 0o1000;

/// The effective user ID, which decides what files may be opened.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Whether the effective user is root.
pub fn is_root() -> bool {
    user() == 0
}

/// The first owner or group other than root's who could exchange what lies in `folder`. Checks every folder on the path, as it
/// is named and with its links resolved; a part of the path that does not exist yet counts as safe.
///
/// # Errors
/// When a folder cannot be checked.
pub fn meddler(folder: &Path) -> io::Result<Option<Meddler>> {
    let named = std::path::absolute(folder)?;
    let mut at = PathBuf::new();
    let mut exists = true;
    for component in named.components() {
        at.push(component);
        if component == Component::RootDir {
            continue;
        }
        match fs::symlink_metadata(&at) {
            Ok(metadata) if metadata.uid() != 0 => return Ok(Some(Meddler::Owner { at, user: metadata.uid() })),
            Ok(metadata) if metadata.is_dir() && is_open(&metadata) => return Ok(Some(Meddler::Others { at })),
            Ok(_) => (),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                exists = false;
                break;
            }
            Err(error) => return Err(error),
        }
    }
    // Root's own links may lead to folders that others can change.
    let real = if exists { fs::canonicalize(&named)? } else { fs::canonicalize(at.parent().unwrap_or(&at))? };
    if real == named || !exists && Some(real.as_path()) == at.parent() { Ok(None) } else { meddler(&real) }
}

fn is_open(metadata: &fs::Metadata) -> bool {
    let group_writes = metadata.gid() != 0 && metadata.mode() & GROUP_WRITES != 0;
    metadata.mode() & STICKY == 0 && (group_writes || metadata.mode() & OTHERS_WRITE != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn a_user_who_could_change_any_folder_on_the_path_is_found() {
        if !is_root() {
            return eprintln!("SKIPPED: only root can give folders away");
        }
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(meddler(&at("nothing/there")).unwrap(), None);
        fs::create_dir_all(at("theirs/ours")).unwrap();
        chown(at("theirs"), Some(54_321), None).unwrap();
        let stranger = Some(Meddler::Owner { at: at("theirs"), user: 54_321 });
        for named in ["theirs", "theirs/ours", "theirs/nothing", "theirs/ours/nothing"] {
            assert_eq!(meddler(&at(named)).unwrap(), stranger, "{named}");
        }
        symlink(at("theirs/ours"), at("link")).unwrap();
        assert_eq!(meddler(&at("link")).unwrap(), stranger, "our own link to a place that is not");
        assert_eq!(meddler(&at("link/nothing")).unwrap(), stranger);
        fs::create_dir(at("open")).unwrap();
        for (mode, is_found) in [(0o777, true), (0o1777, false), (0o755, false)] {
            fs::set_permissions(at("open"), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(meddler(&at("open/below")).unwrap().is_some(), is_found, "{mode:o}");
        }
    }
}
