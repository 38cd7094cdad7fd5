//! Is anybody else writing to it? Asked before blocks are rewritten: what others write in between would be undone.
//!
//! A block device is claimed (`O_EXCL`) and a file locked when they are opened (`member`). Some heed neither: other
//! programs that opened a device plainly or mapped it, a second loop device on the same file, whoever writes below a loop
//! device. All processes are looked through for these, which only root outside of all containers can. It remains what it is, a look:
//! who comes after it, other hosts, targets in the kernel and raw commands to the disk are not seen.

use crate::member::{MemberHolder, found};
use crate::shown::shown;
use crate::sysfs::DiskNode;
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// So long is waited for somebody who only passes: a program that has just ended or was just started by another, an
/// indexer that has a look. On a busy machine they take their time.
const PASSING: Duration = Duration::from_secs(3);

/// Why blocks are not rewritten.
#[derive(Debug, thiserror::Error)]
pub enum RewriteRefusal {
    /// The kernel refuses all writes.
    #[error("is read-only, so nothing can be rewritten")]
    ReadOnly,
    /// Each of them may be used by somebody.
    #[error("has partitions ({0}): name one of them")]
    Partitioned(String),
    /// A block of these cannot be written again where it lies.
    #[error("is a zoned device, where blocks cannot be rewritten")]
    Zoned,
    /// A loop device on the same file.
    #[error("has its bytes in {file}, which is the disk behind /dev/{other}, too: detach that first (losetup -d)")]
    Twin {
        /// The file.
        file: PathBuf,
        /// The other loop device.
        other: String,
    },
    /// What a loop device lies on is used by others.
    #[error("has its bytes in {file}, which {busy}")]
    Below {
        /// The file or device.
        file: PathBuf,
        /// By whom.
        busy: MemberHolder,
    },
    /// A program may write to it.
    #[error("is open for writing in process {pid} ({command}): end that first")]
    Writer {
        /// Its number.
        pid: u32,
        /// Its name.
        command: String,
    },
    /// A program has it mapped.
    #[error("is mapped into the memory of process {pid} ({command}), which may write to it: end that first")]
    Mapped {
        /// Its number.
        pid: u32,
        /// Its name.
        command: String,
    },
    /// There are processes that we do not see at all.
    #[error(
        "is a device, and in a container (a PID namespace of its own) it cannot be seen who else writes to it: run on the host"
    )]
    Contained,
    /// Not root: there are programs of which we may not see what they have open.
    #[error("is a device, and only root can see who else writes to it: run as root")]
    Unseen,
    /// A file that somebody has open.
    #[error("is open in another program, or a second time: close it there first")]
    Open,
    /// No lease can be had.
    #[error("cannot be kept from others here, which its owner or root can on a local file system ({0})")]
    NoLease(#[source] io::Error),
}

/// What is to be rewritten, as the kernel knows it.
#[derive(Clone, Debug)]
pub struct KernelPlace {
    is_block_device: bool,
    /// Numbers of the device and of the disk that it is a part of; none for a file.
    devices: BTreeSet<u64>,
    /// Device and inode of files below loop devices.
    files: BTreeSet<(u64, u64)>,
    /// Partitions are written over knowingly.
    partitions_too: bool,
}

impl KernelPlace {
    /// Looks at it before it is opened to be written.
    ///
    /// # Errors
    /// [`RewriteRefusal`], when it should not be.
    pub fn new(metadata: &Metadata) -> Result<KernelPlace, RewriteRefusal> {
        KernelPlace::of(metadata, false)
    }

    /// The same; of one that has partitions, too, if those may be lost.
    ///
    /// # Errors
    /// As [`KernelPlace::new`].
    pub fn of(metadata: &Metadata, partitions_too: bool) -> Result<KernelPlace, RewriteRefusal> {
        let is_block_device = metadata.file_type().is_block_device();
        let mut place =
            KernelPlace { is_block_device, devices: BTreeSet::new(), files: BTreeSet::new(), partitions_too };
        if is_block_device {
            if !sees_all_processes() {
                return Err(RewriteRefusal::Contained);
            }
            place.look(metadata.rdev())?;
            place.check()?;
        }
        Ok(place)
    }

    /// Keeps others away from a file as long as the lease is held (they wait), and looks for writers of a device. To be
    /// called before each batch of rewrites.
    ///
    /// # Errors
    /// [`RewriteRefusal`], when somebody has it.
    pub fn hold<'a>(&self, file: &'a File) -> Result<Option<Lease<'a>>, RewriteRefusal> {
        if !self.is_block_device {
            return Lease::take(file).map(Some);
        }
        self.check()?;
        Ok(None)
    }

    /// Looks for others that may write to a device. (Of a file the lease tells.)
    ///
    /// # Errors
    /// [`RewriteRefusal`], when somebody has it.
    pub fn check(&self) -> Result<(), RewriteRefusal> {
        if !self.is_block_device {
            return Ok(());
        }
        let is_it = |about: &Metadata| {
            let is_device = about.file_type().is_block_device() && self.devices.contains(&about.rdev());
            is_device || self.files.contains(&(about.dev(), about.ino()))
        };
        match writer(is_it)? {
            Some(OtherWriter { pid, is_mapped: false }) => Err(RewriteRefusal::Writer { pid, command: command(pid) }),
            Some(OtherWriter { pid, is_mapped: true }) => Err(RewriteRefusal::Mapped { pid, command: command(pid) }),
            None => Ok(()),
        }
    }

    fn look(&mut self, number: u64) -> Result<(), RewriteRefusal> {
        self.devices.insert(number);
        let (major, minor) = (libc::major(number), libc::minor(number));
        let Ok(folder) = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) else { return Ok(()) };
        if fs::read_to_string(folder.join("ro")).is_ok_and(|text| text.trim() == "1") {
            return Err(RewriteRefusal::ReadOnly);
        }
        let mut partitions: Vec<String> =
            children(&folder).into_iter().filter(|child| folder.join(child).join("partition").exists()).collect();
        if !partitions.is_empty() && !self.partitions_too {
            partitions.sort();
            return Err(RewriteRefusal::Partitioned(partitions.join(", ")));
        }
        let Ok(disk) = DiskNode::of_device(major, minor) else { return Ok(()) };
        self.devices.insert(libc::makedev(disk.major, disk.minor));
        if disk.attribute("queue/zoned").is_some_and(|kind| kind != "none") {
            return Err(RewriteRefusal::Zoned);
        }
        self.look_below(&disk)
    }

    /// Devices below devices are the kernel's to guard; what lies below a loop device is not.
    fn look_below(&mut self, disk: &DiskNode) -> Result<(), RewriteRefusal> {
        for below in children(&disk.folder().join("slaves")) {
            let dev = fs::read_to_string(disk.folder().join("slaves").join(below).join("dev")).unwrap_or_default();
            let numbers =
                dev.trim().split_once(':').and_then(|(one, two)| Some((one.parse().ok()?, two.parse().ok()?)));
            let below = numbers.and_then(|(major, minor)| DiskNode::of_device(major, minor).ok());
            below.map_or(Ok(()), |below| self.look_below(&below))?;
        }
        let Some(file) = disk.attribute("loop/backing_file").map(PathBuf::from) else { return Ok(()) };
        let identity = |path: &Path| fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
        let ours = identity(&file);
        let twin = children(Path::new("/sys/block")).into_iter().filter(|name| *name != disk.name).find(|name| {
            let theirs = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap_or_default();
            let theirs = Path::new(theirs.trim_end_matches('\n'));
            theirs == file || (ours.is_some() && identity(theirs) == ours)
        });
        if let Some(other) = twin {
            return Err(RewriteRefusal::Twin { file, other });
        }
        let Ok(about) = fs::metadata(&file) else { return Ok(()) };
        if !about.file_type().is_block_device() {
            self.files.extend(ours);
            return Ok(());
        }
        if let Some(busy) = found(&file, &about) {
            return Err(RewriteRefusal::Below { file, busy });
        }
        self.look(about.rdev())
    }
}

/// Do we see every process of this host? The first PID namespace has this number since there are any
/// (`PROC_PID_INIT_INO` of `linux/proc_ns.h`).
fn sees_all_processes() -> bool {
    const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;
    fs::metadata("/proc/self/ns/pid").is_ok_and(|about| about.ino() == FIRST_NAMESPACE)
}

/// Another process that may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OtherWriter {
    pid: u32,
    /// By memory, whatever it has open.
    is_mapped: bool,
}

/// Another process that has one of these open for writing, or mapped.
///
/// # Errors
/// [`RewriteRefusal::Unseen`].
fn writer(is_it: impl Fn(&Metadata) -> bool) -> Result<Option<OtherWriter>, RewriteRefusal> {
    // Where others' processes are hidden, the first one is.
    fs::read_dir("/proc/1/fd").map_err(|_| RewriteRefusal::Unseen)?;
    let pids = children(Path::new("/proc")).into_iter().filter_map(|name| name.parse::<u32>().ok());
    for pid in pids.filter(|pid| *pid != std::process::id()) {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let has_it = || -> io::Result<Option<OtherWriter>> {
            // Each thread may have files of its own, and outlive the first.
            for thread in children(&folder.join("task")) {
                if has_open(&folder.join("task").join(thread), &is_it)? {
                    return Ok(Some(OtherWriter { pid, is_mapped: false }));
                }
            }
            Ok(has_mapped(&folder, &is_it)?.then_some(OtherWriter { pid, is_mapped: true }))
        };
        match has_it() {
            Ok(None) => (),
            Ok(writer) => return Ok(writer),
            // The first one may be closed to everybody. It has other things to do.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && pid != 1 => {
                return Err(RewriteRefusal::Unseen);
            }
            Err(_) => (), // it has ended
        }
    }
    Ok(None)
}

/// Has this thread one of these open for writing?
///
/// # Errors
/// When it has ended, or may not be looked at.
fn has_open(folder: &Path, is_it: &impl Fn(&Metadata) -> bool) -> io::Result<bool> {
    /// The last two bits of a file's flags (`O_ACCMODE`); zero is reading only.
    const ACCESS: u32 = 3;
    for file in fs::read_dir(folder.join("fd"))?.flatten() {
        if !looked_at(&file.path(), is_it)? {
            continue;
        }
        let about = fs::read_to_string(folder.join("fdinfo").join(file.file_name())).unwrap_or_default();
        let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
        if flags.is_some_and(|flags| flags & ACCESS != 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Has this process mapped one of these, so that what it writes to memory comes to be written there? It needs no open
/// file for that. A mapping that is only read may become one that is written.
///
/// # Errors
/// As [`has_open`].
fn has_mapped(folder: &Path, is_it: &impl Fn(&Metadata) -> bool) -> io::Result<bool> {
    let maps = fs::read(folder.join("maps"))?;
    for range in String::from_utf8_lossy(&maps).lines().filter_map(shared_range) {
        if looked_at(&folder.join("map_files").join(range), is_it)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Is it one of these? What is no longer there is none.
fn looked_at(link: &Path, is_it: &impl Fn(&Metadata) -> bool) -> io::Result<bool> {
    match fs::metadata(link) {
        Ok(about) => Ok(is_it(&about)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        Err(_) => Ok(false),
    }
}

/// Of a line of `/proc/PID/maps` about a shared mapping of a file, the name of it in `/proc/PID/map_files`:
/// `7f01a000-7f02a000 rw-s 00000000 00:05 310 /dev/sdb`.
fn shared_range(line: &str) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let is_shared = words.next()?.ends_with('s');
    let inode = words.nth(2)?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    (is_shared && inode != "0").then_some(format!("{:x}-{:x}", number(start)?, number(end)?))
}

/// What a process is called, as it may be shown.
fn command(pid: u32) -> String {
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    shown(String::from_utf8_lossy(&name).trim_end_matches('\n')).into_owned()
}

fn children(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A write lease (`fcntl(2)`): had only where nobody else has the file open, loop devices included. Whoever opens it
/// meanwhile waits until it is let go.
#[derive(Debug)]
pub struct Lease<'a> {
    file: &'a File,
}

impl<'a> Lease<'a> {
    fn take(file: &'a File) -> Result<Lease<'a>, RewriteRefusal> {
        /// `F_SETSIG` of `asm-generic/fcntl.h`. (`libc` has no name for it here.)
        const F_SETSIG: libc::c_int = 10;
        // Whoever wants the file makes the kernel send us a signal: one that is ignored, and not SIGIO, which ends us.
        control(file, F_SETSIG, libc::SIGURG).map_err(RewriteRefusal::NoLease)?;
        let begun = Instant::now();
        loop {
            match control(file, libc::F_SETLEASE, libc::F_WRLCK as libc::c_int) {
                Ok(()) => return Ok(Lease { file }),
                Err(error) if error.raw_os_error() != Some(libc::EAGAIN) => return Err(RewriteRefusal::NoLease(error)),
                Err(_) if begun.elapsed() < PASSING => thread::sleep(Duration::from_millis(10)),
                Err(_) => return Err(RewriteRefusal::Open),
            }
        }
    }
}

impl Lease<'_> {
    /// Does somebody wait for the file? The kernel lets him in after a while (`/proc/sys/fs/lease-break-time`: 45 s), so
    /// what was read must not be written for much longer.
    pub fn is_wanted(&self) -> bool {
        is_wanted(self.file)
    }
}

/// The same of a file whose lease was kept to its end.
pub fn is_wanted(file: &File) -> bool {
    // SAFETY: the command takes nothing and touches no memory; the descriptor is open.
    let kind = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) };
    kind != libc::F_WRLCK as libc::c_int
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // The lease ends with the file at the latest.
        let _ = control(self.file, libc::F_SETLEASE, libc::F_UNLCK as libc::c_int);
    }
}

fn control(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<()> {
    // SAFETY: both commands take a number and touch no memory; the descriptor is open.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_file_that_anybody_has_open_is_not_held() {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let place = KernelPlace::new(&file.as_file().metadata().unwrap()).unwrap();
        let lease = place.hold(file.as_file()).unwrap();
        assert!(lease.is_some());
        drop(lease);
        let reader = File::open(file.path()).unwrap();
        assert!(matches!(place.hold(file.as_file()), Err(RewriteRefusal::Open)));
        drop(reader);
        place.hold(file.as_file()).unwrap();
    }

    #[test]
    fn whoever_comes_later_waits_and_is_seen() {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let place = KernelPlace::new(&file.as_file().metadata().unwrap()).unwrap();
        let lease = place.hold(file.as_file()).unwrap().expect("a file's");
        assert!(!lease.is_wanted());
        let path = file.path().to_owned();
        let comer = thread::spawn(move || File::open(path).map(drop));
        while !lease.is_wanted() {
            thread::yield_now();
        }
        drop(lease);
        comer.join().unwrap().unwrap();
    }

    #[test]
    fn another_process_that_may_write_is_found() {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let about = file.as_file().metadata().unwrap();
        let is_it = |other: &Metadata| (other.dev(), other.ino()) == (about.dev(), about.ino());
        if matches!(writer(is_it), Err(RewriteRefusal::Unseen)) {
            return eprintln!("SKIPPED: only root sees what all programs have open");
        }
        // More than one look: what is open here the children of other tests have, too, until they are programs of their own.
        let is_seen = |wanted: Option<OtherWriter>| (0..100).any(|_| writer(is_it).unwrap() == wanted);
        assert!(is_seen(None), "we do not count");
        for (flags, is_found) in [("<", false), ("<>", true)] {
            let script = format!("exec 3{flags}'{}'; echo open >&2; exec cat", file.path().display());
            let mut child =
                Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut said = [0; 5];
            std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut said).unwrap();
            let is_right = is_seen(is_found.then_some(OtherWriter { pid: child.id(), is_mapped: false }));
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(is_right, "{flags}");
        }
    }

    /// What a process has mapped it may write, though it has closed the file.
    #[test]
    fn another_process_that_has_it_mapped_is_found() {
        const SCRIPT: &str = "import ctypes, os, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\n\
            mmap = ctypes.CDLL(None).mmap\nmmap.argtypes = [ctypes.c_long] * 6\nmmap(0, 4096, 3, 1, fd, 0)\n\
            os.close(fd)\nos.write(2, b'held!')\nsys.stdin.read()\n";
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.as_file().set_len(4096).unwrap();
        let about = file.as_file().metadata().unwrap();
        let is_it = |other: &Metadata| (other.dev(), other.ino()) == (about.dev(), about.ino());
        if matches!(writer(is_it), Err(RewriteRefusal::Unseen)) {
            return eprintln!("SKIPPED: only root sees what all programs have mapped");
        }
        let mut python = Command::new("python3");
        python.args(["-c", SCRIPT]).arg(file.path()).stdin(Stdio::piped()).stderr(Stdio::piped());
        let python = python.spawn();
        let Ok(mut child) = python else { return eprintln!("SKIPPED: no python3") };
        let mut said = [0; 5];
        std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut said).unwrap();
        let holder = Some(OtherWriter { pid: child.id(), is_mapped: true });
        let is_seen = (0..100).any(|_| writer(is_it).unwrap() == holder);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_seen, "{holder:?}");
    }

    #[test]
    fn shared_mappings_of_files_are_told_from_others() {
        for (line, range) in [
            ("00400000-00452000 rw-s 00000000 00:05 310 /dev/sdb", Some("400000-452000")),
            ("7f01a000-7f02a000 r--s 00001000 fd:01 1177 /a file (deleted)", Some("7f01a000-7f02a000")),
            ("7f01a000-7f02a000 rw-p 00001000 fd:01 1177 /usr/lib/libc.so.6", None),
            ("7ffc1000-7ffc2000 rw-s 00000000 00:00 0", None),
            ("nonsense", None),
        ] {
            assert_eq!(shared_range(line).as_deref(), range, "{line}");
        }
    }
}
