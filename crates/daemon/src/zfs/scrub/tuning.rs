//! How many bytes ZFS's scrub has in flight: few while others use the disks, as many as before while nobody does.
//!
//! ```text
//! scrubjay zfs guard 1
//! boot 3f1c...                                       after the next boot there is nothing to put back
//! process 4711                                       which changes them; while it lives nobody else does
//! parameter zfs_scan_vdev_limit 16777216 1048576     its value before, and that set since
//! ```
//!
//! The parameters are those of all pools. The file is written before the first is changed; whoever scrubs next puts them back.

use scrubjay_device::clock;
use scrubjay_device::output::{Existing, OutputFile};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The folder of ZFS's parameters.
const PARAMETERS: &str = "/sys/module/zfs/parameters";
/// What is set while others use the disks. Of `zfs_vdev_scrub_min_active` and `_max_active` nothing: 0 stops transactions, too.
const SMALL: [(&str, &str); 2] = [("zfs_scan_vdev_limit", "1048576"), ("zfs_scrub_min_time_ms", "10")];
/// The name of the guard in the state folder.
const GUARD: &str = "zfs-parameters.guard";
const MAGIC: &str = "scrubjay zfs guard 1";

/// Why the parameters cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum TuningError {
    /// One cannot be read or written.
    #[error("ZFS's parameter {name} cannot be changed: {source}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Another scrub changes them.
    #[error("process {0} has changed ZFS's parameters for its own scrub: wait for it, or leave out --tune-zfs")]
    Taken(u32),
    /// What they were cannot be noted.
    #[error("what ZFS's parameters were cannot be noted in {path}: {why}")]
    Guard {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

/// The parameters, as they were.
#[derive(Debug)]
pub struct ScanTuning {
    folder: PathBuf,
    guard: PathBuf,
    before: Vec<(&'static str, String)>,
    is_small: bool,
}

impl ScanTuning {
    /// Notes in this folder what they are.
    ///
    /// # Errors
    /// [`TuningError`]; nothing is changed then.
    pub fn begin(state: &Path) -> Result<ScanTuning, TuningError> {
        ScanTuning::begin_in(Path::new(PARAMETERS), state)
    }

    pub(super) fn begin_in(folder: &Path, state: &Path) -> Result<ScanTuning, TuningError> {
        let guard = state.join(GUARD);
        if let Some(noted) = Noted::read(&guard).filter(Noted::is_alive) {
            return Err(TuningError::Taken(noted.process));
        }
        let read = |(name, _): (&'static str, &str)| {
            let value =
                fs::read_to_string(folder.join(name)).map_err(|source| TuningError::Parameter { name, source })?;
            Ok((name, value.trim().to_owned()))
        };
        let before = SMALL.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let tuning = ScanTuning { folder: folder.to_owned(), guard, before, is_small: false };
        tuning.note().map_err(|why| TuningError::Guard { path: tuning.guard.clone(), why })?;
        Ok(tuning)
    }

    fn note(&self) -> Result<(), String> {
        let mut text = format!("{MAGIC}\nboot {}\nprocess {}\n", clock::name(), std::process::id());
        for ((name, before), (_, small)) in self.before.iter().zip(SMALL) {
            text += &format!("parameter {name} {before} {small}\n");
        }
        let mut file = OutputFile::create(&self.guard, Existing::Replaced).map_err(|error| error.to_string())?;
        file.write_all(text.as_bytes()).map_err(|error| error.to_string())?;
        file.commit().map(drop).map_err(|error| error.to_string())
    }

    /// Sets few bytes in flight, or as many as before.
    ///
    /// # Errors
    /// [`TuningError::Parameter`].
    pub fn set_small(&mut self, is_small: bool) -> Result<(), TuningError> {
        if is_small == self.is_small {
            return Ok(());
        }
        for ((name, before), (_, small)) in self.before.iter().zip(SMALL) {
            let [from, to] = if is_small { [before.as_str(), small] } else { [small, before.as_str()] };
            let path = self.folder.join(name);
            // What somebody else has set since is theirs.
            let changed = fs::read_to_string(&path)
                .and_then(|now| if now.trim() == from { fs::write(&path, to) } else { Ok(()) });
            changed.map_err(|source| TuningError::Parameter { name, source })?;
        }
        self.is_small = is_small;
        Ok(())
    }
}

impl Drop for ScanTuning {
    fn drop(&mut self) {
        if self.set_small(false).is_ok() {
            let _ = fs::remove_file(&self.guard);
        }
    }
}

/// What a guard says.
struct Noted {
    boot: String,
    process: u32,
    /// Name, value before, value set.
    parameters: Vec<[String; 3]>,
}

impl Noted {
    fn read(path: &Path) -> Option<Noted> {
        let text = fs::read_to_string(path).ok()?;
        let mut lines = text.lines();
        (lines.next()? == MAGIC).then_some(())?;
        let boot = lines.next()?.strip_prefix("boot ")?.to_owned();
        let process = lines.next()?.strip_prefix("process ")?.parse().ok()?;
        let parameter = |line: &str| {
            let words: Vec<String> = line.strip_prefix("parameter ")?.split(' ').map(str::to_owned).collect();
            <[String; 3]>::try_from(words).ok().filter(|[name, ..]| SMALL.iter().any(|(known, _)| name == known))
        };
        Some(Noted { boot, process, parameters: lines.map(parameter).collect::<Option<_>>()? })
    }

    fn is_alive(&self) -> bool {
        let command = fs::read_to_string(format!("/proc/{}/comm", self.process)).unwrap_or_default();
        self.boot == clock::name() && self.process != std::process::id() && command.trim() == "scrubjay"
    }
}

/// Puts back what a scrub has left that was killed; a line for each parameter.
pub fn put_back(state: &Path) -> Vec<String> {
    put_back_in(Path::new(PARAMETERS), state)
}

pub(super) fn put_back_in(folder: &Path, state: &Path) -> Vec<String> {
    let path = state.join(GUARD);
    let Some(noted) = Noted::read(&path) else { return Vec::new() };
    if noted.is_alive() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for [name, before, set] in noted.parameters.iter().filter(|_| noted.boot == clock::name()) {
        let now = fs::read_to_string(folder.join(name)).unwrap_or_default();
        // What somebody else has set since is theirs.
        if now.trim() != set || set == before {
            continue;
        }
        lines.push(match fs::write(folder.join(name), before) {
            Ok(()) => format!("a scrub was killed: ZFS's parameter {name} is {before} again"),
            Err(error) => {
                return vec![format!(
                    "ZFS's parameter {name} could not be put back to {before} after a scrub that was killed: {error}"
                )];
            }
        });
    }
    let _ = fs::remove_file(&path);
    lines
}
