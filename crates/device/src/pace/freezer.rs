//! Holds a program and all that it started: by a cgroup of its own, else by signals to each process.
//!
//! A frozen cgroup (v2, `cgroup.freeze`, Linux 5.2) holds all that is in it at once, whatever the processes do with signals. Without one,
//! each process gets SIGSTOP; SIGCONT lets it go on.

use super::guardian::Guardian;
use super::tree::{self, send};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How a program is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreezerKind {
    /// By a cgroup of its own.
    Cgroup,
    /// By SIGSTOP and SIGCONT.
    Signals,
}

impl FreezerKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            FreezerKind::Cgroup => "cgroup",
            FreezerKind::Signals => "signals",
        }
    }
}

/// A cgroup for one command.
pub(super) struct Cgroup {
    folder: PathBuf,
    freeze: File,
    events: File,
}

/// The beginning of the names of these cgroups; the ID of the process that made it follows.
const NAME: &str = "scrubjay-pace-";

impl Cgroup {
    /// Makes one below that of this process.
    pub(super) fn make() -> io::Result<Cgroup> {
        let own = own_folder()?;
        let folder = own.join(format!("{NAME}{}", std::process::id()));
        fs::create_dir(&folder)?;
        let open = || {
            let freeze = OpenOptions::new().write(true).open(folder.join("cgroup.freeze"))?;
            let events = File::open(folder.join("cgroup.events"))?;
            Ok(Cgroup { folder: folder.clone(), freeze, events })
        };
        open().inspect_err(|_| {
            let _ = fs::remove_dir(&folder);
        })
    }

    /// Its number.
    pub(super) fn id(&self) -> io::Result<u64> {
        fs::metadata(&self.folder).map(|metadata| metadata.ino())
    }

    /// The file to which a process writes 0 to be in it.
    pub(super) fn entrance(&self) -> io::Result<File> {
        OpenOptions::new().write(true).open(self.folder.join("cgroup.procs"))
    }

    /// Where writing 0 lets it go.
    pub(super) fn switch(&self) -> &File {
        &self.freeze
    }

    fn set(&mut self, is_frozen: bool) -> io::Result<()> {
        self.freeze.write_all(if is_frozen { b"1" } else { b"0" })
    }

    fn is_frozen(&mut self) -> bool {
        let mut text = String::new();
        let read = self.events.rewind().and_then(|()| self.events.read_to_string(&mut text));
        read.is_ok() && text.lines().any(|line| line == "frozen 1")
    }

    /// The processes in it.
    fn processes(&self) -> BTreeSet<i32> {
        let text = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Moves what is left into the cgroup above, and removes this one.
    fn leave(&mut self) {
        let _ = self.set(false);
        empty_and_remove(&self.folder);
    }
}

/// The folder of the cgroup (v2) that this process is in.
fn own_folder() -> io::Result<PathBuf> {
    let none = || io::Error::from(io::ErrorKind::Unsupported);
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::")).ok_or_else(none)?;
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let mount = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (root, at) = (fields.next()?, fields.next()?);
        after.starts_with("cgroup2 ").then(|| (root.to_owned(), PathBuf::from(at)))
    });
    let (root, at) = mount.ok_or_else(none)?;
    let below = own.strip_prefix(root.trim_end_matches('/')).unwrap_or(own);
    Ok(at.join(below.trim_start_matches('/')))
}

/// Lets go what a process left that was killed together with its guardian.
pub(super) fn let_go_what_was_left() {
    let Ok(own) = own_folder() else { return };
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(NAME)).and_then(|pid| pid.parse::<i32>().ok());
        let is_alive = |pid: i32| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            pid != std::process::id() as i32 && name.trim() == "scrubjay"
        };
        if maker.is_some_and(|pid| !is_alive(pid)) {
            let _ = fs::write(entry.path().join("cgroup.freeze"), "0");
            empty_and_remove(&entry.path());
        }
    }
}

fn empty_and_remove(folder: &Path) {
    let above = folder.parent().map(|above| above.join("cgroup.procs"));
    let left = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    for pid in left.lines() {
        let _ = above.as_ref().map(|above| fs::write(above, pid));
    }
    let _ = fs::remove_dir(folder);
}

/// Holds the program.
pub(super) enum Freezer {
    /// By its cgroup.
    Cgroup(Cgroup),
    /// By signals to all processes below this one.
    Signals(StoppedProcesses),
}

/// The processes that were sent SIGSTOP.
#[derive(Debug, Default)]
pub(super) struct StoppedProcesses {
    processes: BTreeSet<i32>,
}

impl Freezer {
    pub(super) fn kind(&self) -> FreezerKind {
        match self {
            Freezer::Cgroup(_) => FreezerKind::Cgroup,
            Freezer::Signals(_) => FreezerKind::Signals,
        }
    }

    /// Orders it to hold, or what has come since the last order; the guardian learns of it first.
    ///
    /// # Errors
    /// When it cannot be held; then nothing is.
    pub(super) fn hold(&mut self, guardian: &mut Guardian) -> io::Result<()> {
        guardian.held()?;
        match self {
            Freezer::Cgroup(group) => group.set(true),
            Freezer::Signals(stopped) => stopped.stop_all(guardian),
        }
        .inspect_err(|_| {
            let _ = self.let_go(guardian);
        })
    }

    /// Does all of it stand still?
    ///
    /// # Errors
    /// When something that has come since cannot be held.
    pub(super) fn is_still(&mut self, guardian: &mut Guardian) -> io::Result<bool> {
        match self {
            Freezer::Cgroup(group) => Ok(group.is_frozen()),
            Freezer::Signals(stopped) => {
                stopped.stop_all(guardian)?;
                let moving = stopped.processes.iter().copied().filter(|&pid| !tree::stands_still(pid));
                let moving: Vec<i32> = moving.collect();
                // Somebody may have let one go meanwhile; to one that is on its way to a stop it changes nothing.
                moving.iter().try_for_each(|&pid| send(pid, libc::SIGSTOP))?;
                Ok(moving.is_empty())
            }
        }
    }

    /// Lets it go on.
    pub(super) fn let_go(&mut self, guardian: &mut Guardian) -> io::Result<()> {
        match self {
            Freezer::Cgroup(group) => group.set(false)?,
            Freezer::Signals(stopped) => stopped.let_all_go(),
        }
        guardian.let_go()
    }

    /// Has this process of it left what is held?
    pub(super) fn has_lost(&self, pid: i32) -> bool {
        match self {
            Freezer::Cgroup(group) => !group.processes().contains(&pid),
            Freezer::Signals(_) => false,
        }
    }

    /// All its processes.
    pub(super) fn processes(&self, guardian: &Guardian) -> BTreeSet<i32> {
        match self {
            Freezer::Cgroup(group) => group.processes(),
            Freezer::Signals(_) => tree::below(std::process::id() as i32, &[guardian.pid()]),
        }
    }

    /// The program has ended: what it started and left behind is free.
    pub(super) fn leave(&mut self) {
        match self {
            Freezer::Cgroup(group) => group.leave(),
            Freezer::Signals(stopped) => stopped.let_all_go(),
        }
    }
}

impl StoppedProcesses {
    /// Stops all processes below this one, until there is no new one: a stopped process starts none.
    fn stop_all(&mut self, guardian: &mut Guardian) -> io::Result<()> {
        loop {
            let all = tree::below(std::process::id() as i32, &[guardian.pid()]);
            let new: Vec<i32> = all.difference(&self.processes).copied().collect();
            if new.is_empty() {
                return Ok(());
            }
            for pid in new {
                guardian.will_stop(pid)?;
                send(pid, libc::SIGSTOP)?;
                self.processes.insert(pid);
            }
        }
    }

    fn let_all_go(&mut self) {
        for pid in std::mem::take(&mut self.processes) {
            let _ = send(pid, libc::SIGCONT);
        }
    }
}
