//! The control sockets of running volumes: where they are, and how to talk to one.
//!
//! A socket is named by its volume's UUID. Its server reports the volume's name for people, which may be anything, and
//! need not be unique.

use crate::JobError;
use scrubjay_control::socket_folder;
use scrubjay_device::completion::own_uid;
use scrubjay_serve::remote::client::{ClientError, ControlClient};
use scrubjay_serve::volume::commands::{CommandAnswer, Status, VolumeCommand};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The extension of a socket's file name.
const SUFFIX: &str = "sock";

/// The path of a volume's socket, by its UUID, in a folder that exists and that only this user can write to.
///
/// # Errors
/// The folder cannot be made, or others may write to it.
pub fn socket_for(array: &str) -> Result<PathBuf, JobError> {
    let folder = socket_folder()?;
    match fs::DirBuilder::new().mode(0o700).recursive(true).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(JobError::Io { what: format!("cannot make {}", folder.display()), error });
        }
        _ => check_owner(&folder)?,
    }
    Ok(folder.join(format!("{array}.{SUFFIX}")))
}

/// Refuses a folder that others can write to: they could put sockets there, and receive and answer a volume's requests.
fn check_owner(folder: &Path) -> Result<(), JobError> {
    let metadata = match fs::metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(JobError::Io { what: format!("cannot look at {}", folder.display()), error }),
    };
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o777);
    if ![0, own_uid()].contains(&owner) || mode & 0o022 != 0 {
        let folder = folder.display();
        return Err(JobError::Input(format!(
            "{folder}: others can put control sockets there (user {owner}, mode {mode:o}): make it yours alone, mode 700"
        )));
    }
    Ok(())
}

/// All sockets in the folder, in the order of their names.
///
/// # Errors
/// The folder cannot be read, or others may write to it.
pub fn sockets() -> Result<Vec<PathBuf>, JobError> {
    let folder = socket_folder()?;
    check_owner(&folder)?;
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(JobError::Io { what: format!("cannot read {}", folder.display()), error }),
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|suffix| suffix == SUFFIX))
        .collect();
    found.sort();
    Ok(found)
}

/// Removes the socket of a server that is gone; returns whether it did. Removes nothing but sockets in the folder of sockets.
pub fn remove_stale_socket(socket: &Path) -> bool {
    let identity = |path: &Path| {
        let metadata = path.symlink_metadata().ok().filter(|metadata| metadata.file_type().is_socket())?;
        Some((metadata.dev(), metadata.ino()))
    };
    let wanted = identity(socket);
    let all = sockets().unwrap_or_default();
    all.iter()
        .find(|known| wanted.is_some() && identity(known) == wanted)
        .is_some_and(|known| fs::remove_file(known).is_ok())
}

/// The UUID in a socket's name.
pub fn array_of(socket: &Path) -> String {
    socket.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The status of the volume behind a socket, as its server reports it.
///
/// # Errors
/// Its server does not answer.
pub fn status_of(socket: &Path) -> Result<Status, JobError> {
    match tell(socket, &VolumeCommand::Status)? {
        CommandAnswer::Status(status) => Ok(*status),
        _ => Err(ClientError::Nonsense(socket.to_owned()).into()),
    }
}

/// The socket of the volume that the user means: by its name, its UUID or a path to the socket; if none is given, the
/// only one.
///
/// # Errors
/// There is none, or several, or the server does not answer.
pub fn find(volume: Option<&str>) -> Result<PathBuf, JobError> {
    let is_path = |volume: &&str| Path::new(volume).is_absolute() || volume.contains('/') && Path::new(volume).exists();
    if let Some(path) = volume.filter(is_path) {
        return match fs::metadata(path) {
            Ok(metadata) if metadata.file_type().is_socket() => {
                std::path::absolute(path).map_err(|error| JobError::Io { what: path.to_owned(), error })
            }
            Ok(_) => Err(JobError::Input(format!("{path} is no control socket: name a running volume"))),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(JobError::Input(format!("no volume is running at {path}: there is no control socket")))
            }
            Err(error) => Err(JobError::Io { what: format!("cannot look at {path}"), error }),
        };
    }
    let all = sockets()?;
    let Some(volume) = volume else {
        return only_running(&all);
    };
    if let Some(socket) = all.iter().find(|socket| array_of(socket) == volume) {
        return Ok(socket.clone());
    }
    let (mut matching, mut last_error) = (Vec::new(), None);
    for socket in &all {
        match status_of(socket) {
            Ok(status) if status.name == volume => matching.push(socket.clone()),
            Ok(_) => (),
            Err(error) => last_error = Some(error),
        }
    }
    match (&matching[..], last_error) {
        ([only], _) => Ok(only.clone()),
        ([], None) => Err(JobError::Input(format!("no volume called {volume} is running"))),
        ([], Some(error)) => Err(JobError::Unanswered { volume: volume.to_owned(), error: Box::new(error) }),
        (several, _) => {
            let names: Vec<String> = several.iter().map(|socket| array_of(socket)).collect();
            Err(JobError::Input(format!("several volumes are called {volume}: name one of {}", names.join(", "))))
        }
    }
}

/// The only socket whose server runs. If no server runs and there is one socket, that one.
fn only_running(all: &[PathBuf]) -> Result<PathBuf, JobError> {
    let is_running = |socket: &&PathBuf| !matches!(ControlClient::connect(socket), Err(ClientError::Absent(_)));
    let running: Vec<&PathBuf> = if all.len() > 1 { all.iter().filter(is_running).collect() } else { Vec::new() };
    match (&running[..], all) {
        ([only], _) => Ok((*only).clone()),
        ([], [only]) => Ok(only.clone()),
        ([], []) => Err(JobError::Input("no volume is running".into())),
        _ => {
            let mut names: Vec<String> = all.iter().map(|socket| name_of(socket)).collect();
            let is_duplicate = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
            let are_duplicates: Vec<bool> = names.iter().map(is_duplicate).collect();
            for (name, socket) in
                names.iter_mut().zip(all).zip(are_duplicates).filter_map(|(pair, is_same)| is_same.then_some(pair))
            {
                *name = array_of(socket);
            }
            Err(JobError::Input(format!("several volumes are running: name one of {}", names.join(", "))))
        }
    }
}

/// The name for people of the volume behind a socket; its UUID if its server does not answer or it has no name.
fn name_of(socket: &Path) -> String {
    let name = status_of(socket).map(|status| status.name).unwrap_or_default();
    if name.is_empty() { array_of(socket) } else { name }
}

/// The sockets of the running volumes of this name or UUID.
pub fn sockets_of(name: &str) -> Vec<PathBuf> {
    // If no folder for sockets is known, there are none.
    let all = sockets().unwrap_or_default();
    let is_match =
        |socket: &PathBuf| array_of(socket) == name || status_of(socket).is_ok_and(|status| status.name == name);
    all.into_iter().filter(is_match).collect()
}

/// Sends a command to the volume behind a socket, and waits for its answer.
///
/// # Errors
/// Nothing answers, or the volume refuses.
pub fn tell(socket: &Path, command: &VolumeCommand) -> Result<CommandAnswer, JobError> {
    Ok(ControlClient::connect(socket).and_then(|mut client| client.ask(command))?)
}
