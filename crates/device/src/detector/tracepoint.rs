//! The tracepoints of the block layer: which of them this kernel has, and where their fields lie.
//!
//! Offsets are not built in but come from the `format` file of each tracepoint, because they moved before and will move
//! again. The tracepoints themselves changed, too:
//!
//! | Linux | arrival | completion |
//! |---|---|---|
//! | 6.11 and later | `block_io_start`, with the I/O class | `block_rq_complete`, with the I/O class |
//! | 6.5 to 6.10 | `block_io_start`, without the class | - |
//! | before | `block_getrq`, without the class | - |
//! | disks without request queue (md, dm, zram) | `block_bio_queue`, without the class | `block_bio_complete` if the scrub sends none |
//!
//! Without the class, the scrub's arrivals are recognised by the process. A completion runs in whatever process was
//! interrupted, so it can be recognised by the class alone, and without the class completions are not watched at all.
//! `block_io_done` would match `block_io_start` better, but it comes when the request has lost its bio, and with it the class:
//! on 6.18 it reported "none" for 300 out of 300 idle-class reads.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::{Refusal, RequestSources};
use crate::sysfs::DiskNode;

/// The tracepoints to watch on one disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Probes {
    /// Hit when a request reaches the disk.
    pub(super) arrival: Tracepoint,
    /// Hit when a request is completed. Reports the I/O class, unless the disk receives no scrub requests.
    pub(super) completion: Option<Tracepoint>,
}

impl Probes {
    /// The best tracepoints that this kernel has for `disk`.
    ///
    /// # Errors
    /// When tracefs can neither be found nor mounted, may not be read, or lacks these tracepoints.
    pub(super) fn choose(disk: &DiskNode, sources: RequestSources) -> Result<Probes, Refusal> {
        let events = Events::open()?;
        let find = |names: &[&'static str]| names.iter().find_map(|name| Tracepoint::read(events.folder(), name).ok());
        if !disk.folder().join("mq").exists() {
            let arrival = find(&["block_bio_queue"]).ok_or(Refusal::NoTracepoint)?;
            let completion = find(&["block_bio_complete"]).filter(|_| sources == RequestSources::OthersOnly);
            return Ok(Probes { arrival, completion });
        }
        let arrival = find(&["block_io_start", "block_getrq", "block_bio_queue"]).ok_or(Refusal::NoTracepoint)?;
        let completion =
            find(&["block_rq_complete"]).filter(|completion| completion.ioprio.is_some() && arrival.ioprio.is_some());
        Ok(Probes { arrival, completion })
    }

    /// Those of all disks with a request queue, if they have what is wanted.
    ///
    /// # Errors
    /// As for [`Probes::choose`]; the kernel is too old.
    pub(super) fn of_all(own: OwnBy) -> Result<Probes, Refusal> {
        let events = Events::open()?;
        let read = |name| Tracepoint::read(events.folder(), name).ok();
        let both = read("block_io_start").zip(read("block_rq_complete"));
        let has_all = |(arrival, completion): &(Tracepoint, Tracepoint)| match own {
            OwnBy::Class => arrival.ioprio.is_some() && completion.ioprio.is_some(),
            OwnBy::Thread => arrival.comm.is_some() && arrival.sector.is_some() && completion.sector.is_some(),
            OwnBy::Cgroup => arrival.sector.is_some() && completion.sector.is_some(),
        };
        let (arrival, completion) = both.filter(has_all).ok_or(match own {
            OwnBy::Class => Refusal::NoClass,
            OwnBy::Thread | OwnBy::Cgroup => Refusal::NoThread,
        })?;
        Ok(Probes { arrival, completion: Some(completion) })
    }

    /// A description of what is seen of `disk`.
    pub(super) fn describe(&self, disk: &DiskNode) -> String {
        let name = &disk.name;
        match self.completion {
            Some(_) => format!("every request of {name}, with its time"),
            None => format!("every arrival at {name}, with its time; completions from /sys/block/{name}/inflight"),
        }
    }
}

/// By what the work's own requests are told from those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnBy {
    /// The idle I/O class: these are marked.
    Class,
    /// The thread that sends them: its name is reported, and the first sector of each request.
    Thread,
    /// The cgroup of the thread that sends it: its number is reported, the first sector, and the idle class where that is seen.
    Cgroup,
}

/// One tracepoint and the offsets of the fields that are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tracepoint {
    /// Its number in perf.
    pub(crate) id: u64,
    /// The offset of the disk's number, `major << 20 | minor`, 4 bytes.
    pub(crate) dev: i16,
    /// The offset of the request's I/O priority, 2 bytes.
    pub(crate) ioprio: Option<i16>,
    /// The offset of the letters for the kind of the request; the first is `N` for a pass-through command.
    pub(crate) rwbs: i16,
    /// The offset of the first sector, 8 bytes.
    pub(crate) sector: Option<i16>,
    /// The offset of the name of the thread that sends it, 16 bytes.
    pub(crate) comm: Option<i16>,
}

impl Tracepoint {
    /// Reads the description of the tracepoint `name` in the folder `events`.
    ///
    /// # Errors
    /// When there is no such tracepoint, or it lacks a required field.
    pub(crate) fn read(events: &Path, name: &str) -> io::Result<Tracepoint> {
        let text = fs::read_to_string(events.join(name).join("format"))?;
        Tracepoint::parse(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Parses a `format` file. `None` when it does not describe such a tracepoint.
    fn parse(text: &str) -> Option<Tracepoint> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let field = |name, size| Field::find(text, name).filter(|field| field.size == size).map(|field| field.offset);
        Some(Tracepoint {
            id,
            dev: field("dev", 4)?,
            ioprio: field("ioprio", 2),
            rwbs: Field::find(text, "rwbs")?.offset,
            sector: field("sector", 8),
            comm: field("comm", 16),
        })
    }
}

/// The folder of the block layer's tracepoints.
#[derive(Debug)]
pub(crate) struct Events {
    folder: PathBuf,
    /// Where tracefs was not mounted: a private mount, which ends with this value.
    _mount: Option<OwnedFd>,
}

impl Events {
    /// Finds tracefs where it is usually mounted, or mounts it for this process alone (Linux 5.2, CAP_SYS_ADMIN).
    ///
    /// # Errors
    /// When tracefs can neither be found nor mounted, or may not be read.
    pub(crate) fn open() -> Result<Events, Refusal> {
        const FOLDERS: [&str; 2] = ["/sys/kernel/tracing/events/block", "/sys/kernel/debug/tracing/events/block"];
        let mut refusal = None;
        for folder in FOLDERS.map(PathBuf::from) {
            match fs::read_dir(&folder) {
                Ok(_) => return Ok(Events { folder, _mount: None }),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    refusal = Some(Refusal::Tracefs(error));
                }
                Err(_) => {}
            }
        }
        match (refusal, Events::mount()) {
            (_, Ok(events)) => Ok(events),
            (Some(refusal), Err(_)) => Err(refusal),
            (None, Err(error)) => Err(Refusal::NoTracefs(error)),
        }
    }

    /// Mounts tracefs at no path: it is reached through the descriptor.
    fn mount() -> io::Result<Events> {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(context.as_fd())?;
        let mount = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
        let folder = PathBuf::from(format!("/proc/self/fd/{}/events/block", mount.as_raw_fd()));
        fs::read_dir(&folder)?;
        Ok(Events { folder, _mount: Some(mount) })
    }

    /// A folder for each tracepoint, with its `format` file.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Offset and size, in bytes, of a field in the record of a tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) offset: i16,
    pub(crate) size: u16,
}

impl Field {
    /// Finds the line of the field, such as `field:char rwbs[10]; offset:34; size:10; signed:0;` (with tabs).
    pub(crate) fn find(text: &str, name: &str) -> Option<Field> {
        text.lines().find_map(|line| {
            let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
            let declared = parts.next()?.split_ascii_whitespace().last()?.split('[').next()?;
            if declared != name {
                return None;
            }
            let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
            let size = parts.next()?.strip_prefix("size:")?.parse().ok()?;
            Some(Field { offset, size })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A private mount has the same tracepoints, and is invisible to other processes.
    #[test]
    fn a_private_mount_of_tracefs_is_invisible_to_other_processes() {
        let mounts = || fs::read_to_string("/proc/self/mounts").expect("proc(5)").matches(" tracefs ").count();
        let before = mounts();
        let events = match Events::mount() {
            Ok(events) => events,
            Err(error) => {
                eprintln!("not run: mounting tracefs: {error}");
                return;
            }
        };
        Tracepoint::read(events.folder(), "block_rq_complete").expect("every kernel has it");
        assert_eq!(mounts(), before);
    }

    /// Linux 6.18, `block_io_start`.
    const IO_START: &str = "name: block_io_start\nID: 2102\nformat:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;
\tfield:unsigned short ioprio;\toffset:32;\tsize:2;\tsigned:0;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;
\tfield:char comm[16];\toffset:44;\tsize:16;\tsigned:0;
\tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;

print fmt: \"%d,%d %s\", ((unsigned int) ((REC->dev) >> 20))\n";

    /// Linux 6.1, `block_getrq`: without the class.
    const GETRQ: &str = "name: block_getrq\nID: 1137\nformat:
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:char rwbs[8];\toffset:28;\tsize:8;\tsigned:0;
\tfield:char comm[16];\toffset:36;\tsize:16;\tsigned:0;\n";

    #[test]
    fn offsets_come_from_the_format_file() {
        let start = Tracepoint { id: 2102, dev: 8, ioprio: Some(32), rwbs: 34, sector: Some(16), comm: Some(44) };
        assert_eq!(Tracepoint::parse(IO_START), Some(start));
        let getrq = Tracepoint { id: 1137, dev: 8, ioprio: None, rwbs: 28, sector: Some(16), comm: Some(36) };
        assert_eq!(Tracepoint::parse(GETRQ), Some(getrq));
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        assert_eq!(Field::find(IO_START, "sector"), Some(Field { offset: 16, size: 8 }));
        assert_eq!(Field::find(IO_START, "nr_sector"), Some(Field { offset: 24, size: 4 }));
        assert_eq!(Field::find(IO_START, "cmd"), Some(Field { offset: 60, size: 4 }));
        assert_eq!(Field::find(IO_START, "char"), None);
        assert_eq!(Field::find(IO_START, "prio"), None);
    }

    #[test]
    fn a_description_of_no_block_tracepoint_is_refused() {
        assert_eq!(Tracepoint::parse(""), None);
        assert_eq!(Tracepoint::parse("name: x\nID: 7\nformat:\n"), None);
        assert_eq!(Tracepoint::parse(&IO_START.replace("ID: 2102", "ID: many")), None);
        assert_eq!(Tracepoint::parse(&IO_START.replace("dev;\toffset:8;\tsize:4", "dev;\toffset:8;\tsize:8")), None);
    }
}
