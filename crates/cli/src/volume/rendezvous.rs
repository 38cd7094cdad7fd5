//! Where the control sockets of served volumes are, and how to talk to one.

use crate::exit::Usage;
use anyhow::{Context, Result};
use scrubjay_serve::remote::client::{Client, ClientError};
use scrubjay_serve::volume::commands::{Answer, Command};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What the name of a socket ends with.
const SUFFIX: &str = "sock";

/// The folder of control sockets: `$SCRUBJAY_RUN`; or for root `/run/scrubjay`; or `$XDG_RUNTIME_DIR/scrubjay`.
pub fn folder() -> Result<PathBuf> {
    if let Some(folder) = env::var_os("SCRUBJAY_RUN") {
        return Ok(folder.into());
    }
    // /run is writable for root only.
    if fs::metadata("/run").is_ok() && is_root() {
        return Ok("/run/scrubjay".into());
    }
    match env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) => Ok(Path::new(&folder).join("scrubjay")),
        None => Err(Usage("where may control sockets lie? Set SCRUBJAY_RUN to a folder of yours".into()).into()),
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// The path of a volume's socket, in a folder that is there and nobody else's.
pub fn socket_for(name: &str) -> Result<PathBuf> {
    let folder = folder()?;
    match fs::DirBuilder::new().mode(0o700).recursive(true).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("cannot make {}", folder.display()))
        }
        _ => Ok(folder.join(format!("{name}.{SUFFIX}"))),
    }
}

/// All sockets there are, in order of their names.
pub fn sockets() -> Result<Vec<PathBuf>> {
    let folder = folder()?;
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", folder.display())),
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|suffix| suffix == SUFFIX))
        .collect();
    found.sort();
    Ok(found)
}

/// The socket of the volume that the user means: by its name or a path to the socket; the only one if nothing is said.
pub fn find(volume: Option<&str>) -> Result<PathBuf> {
    if let Some(path) = volume.map(Path::new).filter(|path| path.is_absolute()) {
        return Ok(path.to_owned());
    }
    let all = sockets()?;
    let name_of = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match (volume, &all[..]) {
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err(Usage("no volume is being served (`scrubjay volume serve`)".into()).into()),
        (None, many) => {
            let names: Vec<String> = many.iter().map(|path| name_of(path)).collect();
            Err(Usage(format!("several volumes are being served: name one of {}", names.join(", "))).into())
        }
        (Some(name), all) => match all.iter().find(|path| name_of(path) == name) {
            Some(path) => Ok(path.clone()),
            None => Err(Usage(format!("no volume called {name} is being served")).into()),
        },
    }
}

/// The socket of the volume of this name, if one is being served.
pub fn socket_of(name: &str) -> Option<PathBuf> {
    // Nowhere for sockets to lie: none lies there.
    let path = folder().ok()?.join(format!("{name}.{SUFFIX}"));
    path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket()).then_some(path)
}

/// Tells the volume behind a socket something, and waits for its answer.
pub fn tell(socket: &Path, command: &Command) -> Result<Answer> {
    Client::connect(socket).and_then(|mut client| client.ask(command)).map_err(|error| match error {
        ClientError::Refused(why) => Usage(why).into(),
        ClientError::Io { socket, source } => anyhow::Error::from(source).context(socket.display().to_string()),
        error => error.into(),
    })
}
