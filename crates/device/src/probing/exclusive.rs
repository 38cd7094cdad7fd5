//! Checks that no other program writes to a device or file before its blocks are rewritten: such writes would be undone.
//!
//! A block device is claimed (`O_EXCL`) and a file locked when they are opened (`member`). Some programs heed neither: those that
//! opened a device plainly or mapped it, a second loop device on the same file, writers below a loop device. So the files of
//! all processes are checked, which only root outside of all containers can do. It remains a check at one moment: later
//! programs, other hosts, targets in the kernel and raw commands to the disk are not noticed.

use crate::member::{MemberHolder, find_holder};
use crate::sysfs::DiskNode;
use scrubjay_core::shown::shown;
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The longest wait for a program that opens a file only for a moment: one that has just ended or was just started, an
/// indexer. On a busy machine these take their time.
const LEASE_TIMEOUT: Duration = Duration::from_secs(3);

/// Why blocks are not rewritten.
#[derive(Debug, thiserror::Error)]
pub enum RewriteRefusal {
    /// The kernel refuses all writes.
    #[error("is read-only, so nothing can be rewritten")]
    ReadOnly,
    /// It has partitions, each of which may be in use.
    #[error("has partitions ({0}): name one of them")]
    Partitioned(String),
    /// It is a zoned device.
    #[error("is a zoned device, where blocks cannot be rewritten")]
    Zoned,
    /// Another loop device is on the same file.
    #[error("has its bytes in {file}, which is the disk behind /dev/{other}, too: detach that first (losetup -d)")]
    Twin {
        /// The file.
        file: PathBuf,
        /// The other loop device.
        other: String,
    },
    /// The file or device below a loop device is in use.
    #[error("has its bytes in {file}, which {holder}")]
    Below {
        /// The file or device.
        file: PathBuf,
        /// Its holder.
        holder: MemberHolder,
    },
    /// A program may write to it.
    #[error("is open for writing in process {pid} ({command}): end that first")]
    Writer {
        /// Its process ID.
        pid: u32,
        /// Its name.
        command: String,
    },
    /// A program has it mapped.
    #[error("is mapped into the memory of process {pid} ({command}), which may write to it: end that first")]
    Mapped {
        /// Its process ID.
        pid: u32,
        /// Its name.
        command: String,
    },
    /// This process does not see all processes of the host.
    #[error(
        "is a device, and in a container (a PID namespace of its own) other writers cannot be seen: run on the host"
    )]
    Contained,
    /// Not root: the open files of other users' programs cannot be seen.
    #[error("is a device, and only root can see other writers: run as root")]
    Unseen,
    /// The file is open elsewhere.
    #[error("is open in another program, or a second time: close it there first")]
    Open,
    /// The file system grants no lease.
    #[error("cannot be kept from others here, which its owner or root can on a local file system ({0})")]
    NoLease(#[source] io::Error),
}

/// A device or file to be rewritten, as the kernel identifies it.
#[derive(Clone, Debug)]
pub struct KernelPlace {
    is_block_device: bool,
    /// Numbers of the device and of the disk that it is a part of; empty for a file.
    devices: BTreeSet<u64>,
    /// Device and inode of files below loop devices.
    files: BTreeSet<(u64, u64)>,
    /// Whether partitions may be overwritten.
    partitions_too: bool,
}

impl KernelPlace {
    /// Checks a device before it is opened for writing.
    ///
    /// # Errors
    /// [`RewriteRefusal`], when it should not be written to.
    pub fn new(metadata: &Metadata) -> Result<KernelPlace, RewriteRefusal> {
        KernelPlace::of(metadata, false)
    }

    /// Checks a device before it is opened for writing; it may have partitions if `partitions_too`.
    ///
    /// # Errors
    /// [`RewriteRefusal`], when it should not be written to.
    pub fn of(metadata: &Metadata, partitions_too: bool) -> Result<KernelPlace, RewriteRefusal> {
        let is_block_device = metadata.file_type().is_block_device();
        let mut place =
            KernelPlace { is_block_device, devices: BTreeSet::new(), files: BTreeSet::new(), partitions_too };
        if is_block_device {
            if !sees_all_processes() {
                return Err(RewriteRefusal::Contained);
            }
            place.add_device(metadata.rdev())?;
            place.check()?;
        }
        Ok(place)
    }

    /// Keeps others from opening a file while the returned lease is held (they wait), or checks a device for writers. To be
    /// called before each batch of rewrites.
    ///
    /// # Errors
    /// [`RewriteRefusal`], when another program uses it.
    pub fn hold<'a>(&self, file: &'a File) -> Result<Option<Lease<'a>>, RewriteRefusal> {
        if !self.is_block_device {
            return Lease::take(file).map(Some);
        }
        self.check()?;
        Ok(None)
    }

    /// Checks a device for other programs that may write to it. (For a file, the lease shows them.)
    ///
    /// # Errors
    /// [`RewriteRefusal`], when another program uses it.
    pub fn check(&self) -> Result<(), RewriteRefusal> {
        if !self.is_block_device {
            return Ok(());
        }
        let is_match = |metadata: &Metadata| {
            let is_device = metadata.file_type().is_block_device() && self.devices.contains(&metadata.rdev());
            is_device || self.files.contains(&(metadata.dev(), metadata.ino()))
        };
        match writer(is_match)? {
            Some(OtherWriter { pid, is_mapped: false }) => Err(RewriteRefusal::Writer { pid, command: command(pid) }),
            Some(OtherWriter { pid, is_mapped: true }) => Err(RewriteRefusal::Mapped { pid, command: command(pid) }),
            None => Ok(()),
        }
    }

    fn add_device(&mut self, number: u64) -> Result<(), RewriteRefusal> {
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
        self.check_below(&disk)
    }

    /// Checks what lies below: the kernel guards devices below devices, but not what lies below a loop device.
    fn check_below(&mut self, disk: &DiskNode) -> Result<(), RewriteRefusal> {
        for below in children(&disk.folder().join("slaves")) {
            let dev = fs::read_to_string(disk.folder().join("slaves").join(below).join("dev")).unwrap_or_default();
            let numbers =
                dev.trim().split_once(':').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
            let below = numbers.and_then(|(major, minor)| DiskNode::of_device(major, minor).ok());
            below.map_or(Ok(()), |below| self.check_below(&below))?;
        }
        let Some(file) = disk.attribute("loop/backing_file").map(PathBuf::from) else { return Ok(()) };
        let identity = |path: &Path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
        let backing_id = identity(&file);
        let twin = children(Path::new("/sys/block")).into_iter().filter(|name| *name != disk.name).find(|name| {
            let other_backing = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).unwrap_or_default();
            let other_backing = Path::new(other_backing.trim_end_matches('\n'));
            other_backing == file || (backing_id.is_some() && identity(other_backing) == backing_id)
        });
        if let Some(other) = twin {
            return Err(RewriteRefusal::Twin { file, other });
        }
        let Ok(metadata) = fs::metadata(&file) else { return Ok(()) };
        if !metadata.file_type().is_block_device() {
            self.files.extend(backing_id);
            return Ok(());
        }
        if let Some(holder) = find_holder(&file, &metadata) {
            return Err(RewriteRefusal::Below { file, holder });
        }
        self.add_device(metadata.rdev())
    }
}

/// Whether this process sees every process of this host. The first PID namespace has this number since there are namespaces
/// (`PROC_PID_INIT_INO` of `linux/proc_ns.h`).
fn sees_all_processes() -> bool {
    const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;
    fs::metadata("/proc/self/ns/pid").is_ok_and(|metadata| metadata.ino() == FIRST_NAMESPACE)
}

/// Another process that may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OtherWriter {
    pid: u32,
    /// Through a mapping, without an open file.
    is_mapped: bool,
}

/// Another process that has a matching file open for writing, or mapped.
///
/// # Errors
/// [`RewriteRefusal::Unseen`].
fn writer(is_match: impl Fn(&Metadata) -> bool) -> Result<Option<OtherWriter>, RewriteRefusal> {
    // If other users' processes are hidden, process 1 is.
    fs::read_dir("/proc/1/fd").map_err(|_| RewriteRefusal::Unseen)?;
    let pids = children(Path::new("/proc")).into_iter().filter_map(|name| name.parse::<u32>().ok());
    for pid in pids.filter(|pid| *pid != std::process::id()) {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let find_open_or_mapped = || -> io::Result<Option<OtherWriter>> {
            // Each thread may have files of its own, and outlive the first.
            for thread in children(&folder.join("task")) {
                if has_open(&folder.join("task").join(thread), &is_match)? {
                    return Ok(Some(OtherWriter { pid, is_mapped: false }));
                }
            }
            Ok(has_mapped(&folder, &is_match)?.then_some(OtherWriter { pid, is_mapped: true }))
        };
        match find_open_or_mapped() {
            Ok(None) => (),
            Ok(writer) => return Ok(writer),
            // Process 1 may refuse even root. It does not write to disks.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && pid != 1 => {
                return Err(RewriteRefusal::Unseen);
            }
            Err(_) => (), // it has ended
        }
    }
    Ok(None)
}

/// Whether this thread has a matching file open for writing.
///
/// # Errors
/// When it has ended, or may not be inspected.
fn has_open(folder: &Path, is_match: &impl Fn(&Metadata) -> bool) -> io::Result<bool> {
    /// The last two bits of a file's flags (`O_ACCMODE`); zero is read-only.
    const ACCESS: u32 = 3;
    for file in fs::read_dir(folder.join("fd"))?.flatten() {
        if !link_matches(&file.path(), is_match)? {
            continue;
        }
        let fdinfo = fs::read_to_string(folder.join("fdinfo").join(file.file_name())).unwrap_or_default();
        let flags = fdinfo.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
        if flags.is_some_and(|flags| flags & ACCESS != 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether this process has mapped a matching file, so that its writes to memory reach the file. It needs no open
/// file for that. A mapping that is only read now may be written to later.
///
/// # Errors
/// When it has ended, or may not be inspected.
fn has_mapped(folder: &Path, is_match: &impl Fn(&Metadata) -> bool) -> io::Result<bool> {
    let maps = fs::read(folder.join("maps"))?;
    for range in String::from_utf8_lossy(&maps).lines().filter_map(shared_range) {
        if link_matches(&folder.join("map_files").join(range), is_match)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the file is a matching one. One that does not exist any more is not.
fn link_matches(link: &Path, is_match: &impl Fn(&Metadata) -> bool) -> io::Result<bool> {
    match fs::metadata(link) {
        Ok(metadata) => Ok(is_match(&metadata)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        Err(_) => Ok(false),
    }
}

/// The name in `/proc/PID/map_files` of a shared mapping of a file in a line of `/proc/PID/maps`:
/// `7f01a000-7f02a000 rw-s 00000000 00:05 310 /dev/sdb`.
fn shared_range(line: &str) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let is_shared = words.next()?.ends_with('s');
    let inode = words.nth(2)?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    (is_shared && inode != "0").then_some(format!("{:x}-{:x}", number(start)?, number(end)?))
}

/// The name of a process, escaped for display.
fn command(pid: u32) -> String {
    let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    shown(String::from_utf8_lossy(&name).trim_end_matches('\n')).into_owned()
}

fn children(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A write lease (`fcntl(2)`): granted only while the file is not open elsewhere, loop devices included. A program that opens
/// the file meanwhile waits until the lease is released.
#[derive(Debug)]
pub struct Lease<'a> {
    file: &'a File,
}

impl<'a> Lease<'a> {
    fn take(file: &'a File) -> Result<Lease<'a>, RewriteRefusal> {
        /// `F_SETSIG` of `asm-generic/fcntl.h`. (`libc` has no name for it here.)
        const F_SETSIG: libc::c_int = 10;
        // The kernel sends a signal when another program opens the file: one that is ignored, not SIGIO, which would end this process.
        control(file, F_SETSIG, libc::SIGURG).map_err(RewriteRefusal::NoLease)?;
        let begun = Instant::now();
        loop {
            match control(file, libc::F_SETLEASE, libc::F_WRLCK as libc::c_int) {
                Ok(()) => return Ok(Lease { file }),
                Err(error) if error.raw_os_error() != Some(libc::EAGAIN) => return Err(RewriteRefusal::NoLease(error)),
                Err(_) if begun.elapsed() < LEASE_TIMEOUT => thread::sleep(Duration::from_millis(10)),
                Err(_) => return Err(RewriteRefusal::Open),
            }
        }
    }
}

impl Lease<'_> {
    /// Whether a program waits for the file. The kernel lets it in after a while (`/proc/sys/fs/lease-break-time`: 45 s), so
    /// blocks that were read must not be rewritten for much longer.
    pub fn has_waiter(&self) -> bool {
        has_waiter(self.file)
    }
}

/// Whether a program waits for a file whose lease is kept as long as it is open.
pub fn has_waiter(file: &File) -> bool {
    // SAFETY: the command takes nothing and touches no memory; the descriptor is open.
    let kind = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) };
    kind != libc::F_WRLCK as libc::c_int
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        // If this fails, the lease ends with the file.
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
    fn no_lease_is_granted_on_a_file_that_is_open_elsewhere() {
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
    fn a_program_that_opens_a_leased_file_waits_and_is_seen() {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let place = KernelPlace::new(&file.as_file().metadata().unwrap()).unwrap();
        let lease = place.hold(file.as_file()).unwrap().expect("a file's");
        assert!(!lease.has_waiter());
        let path = file.path().to_owned();
        let opener = thread::spawn(move || File::open(path).map(drop));
        while !lease.has_waiter() {
            thread::yield_now();
        }
        drop(lease);
        opener.join().unwrap().unwrap();
    }

    #[test]
    fn another_process_that_may_write_is_found() {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let metadata = file.as_file().metadata().unwrap();
        let is_match = |other: &Metadata| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino());
        if matches!(writer(is_match), Err(RewriteRefusal::Unseen)) {
            return eprintln!("SKIPPED: only root sees what all programs have open");
        }
        // Several checks: children of other tests share the files that are open here until they execute their programs.
        let is_seen = |wanted: Option<OtherWriter>| (0..100).any(|_| writer(is_match).unwrap() == wanted);
        assert!(is_seen(None), "we do not count");
        for (flags, is_found) in [("<", false), ("<>", true)] {
            let script = format!("exec 3{flags}'{}'; echo open >&2; exec cat", file.path().display());
            let mut child =
                Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut ready = [0; 5];
            std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut ready).unwrap();
            let is_right = is_seen(is_found.then_some(OtherWriter { pid: child.id(), is_mapped: false }));
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(is_right, "{flags}");
        }
    }

    /// A process may write to what it has mapped, even after it closed the file.
    #[test]
    fn another_process_that_has_the_file_mapped_is_found() {
        const SCRIPT: &str = "import ctypes, os, sys\nfd = os.open(sys.argv[1], os.O_RDWR)\n\
            mmap = ctypes.CDLL(None).mmap\nmmap.argtypes = [ctypes.c_long] * 6\nmmap(0, 4096, 3, 1, fd, 0)\n\
            os.close(fd)\nos.write(2, b'held!')\nsys.stdin.read()\n";
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.as_file().set_len(4096).unwrap();
        let metadata = file.as_file().metadata().unwrap();
        let is_match = |other: &Metadata| (other.dev(), other.ino()) == (metadata.dev(), metadata.ino());
        if matches!(writer(is_match), Err(RewriteRefusal::Unseen)) {
            return eprintln!("SKIPPED: only root sees what all programs have mapped");
        }
        let mut python = Command::new("python3");
        python.args(["-c", SCRIPT]).arg(file.path()).stdin(Stdio::piped()).stderr(Stdio::piped());
        let python = python.spawn();
        let Ok(mut child) = python else { return eprintln!("SKIPPED: no python3") };
        let mut ready = [0; 5];
        std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut ready).unwrap();
        let holder = Some(OtherWriter { pid: child.id(), is_mapped: true });
        let is_seen = (0..100).any(|_| writer(is_match).unwrap() == holder);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_seen, "{holder:?}");
    }

    #[test]
    fn shared_file_mappings_are_distinguished_from_other_mappings() {
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
