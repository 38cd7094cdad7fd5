//! The detectors on a real loop device. The tests need root and `losetup`, and print a note when they are not run.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

use scrubjay_core::scrub::machine::Event;
use scrubjay_core::units::Nanos;

use super::tracepoint::{Events, Probes, Tracepoint};
use super::*;
use crate::{clock, ioprio};

/// Every event to be reported is reported within this time.
const LONG: Duration = Duration::from_secs(60);

/// `IOPRIO_CLASS_BE`: the class of the foreground.
const BEST_EFFORT: u16 = 2;

/// A loop device over an empty file; removed when dropped.
struct Loop {
    path: String,
    node: DiskNode,
    _file: tempfile::NamedTempFile,
}

impl Loop {
    /// `None`, with a note, where it cannot be made.
    fn new() -> Option<Loop> {
        Loop::attach().inspect_err(|error| skip(&format!("not run: needs root and losetup ({error})"))).ok()
    }

    fn attach() -> io::Result<Loop> {
        let file = tempfile::NamedTempFile::new()?;
        file.as_file().set_len(64 << 20)?;
        let output = Command::new("losetup").args(["--find", "--show"]).arg(file.path()).output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        // Where udev runs, it reads a new disk; that is foreground, but not the foreground that is counted here.
        let _ = Command::new("udevadm").arg("settle").status();
        let number = std::fs::metadata(&path)?.rdev();
        let node = DiskNode::of_device(libc::major(number), libc::minor(number))?;
        Ok(Loop { path, node, _file: file })
    }

    /// Reads `count` blocks of `bytes` past the page cache, on a thread in `class`, and waits for them.
    fn read(&self, class: u16, count: u64, bytes: usize) {
        let disk = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&self.path).unwrap();
        let reader = thread::spawn(move || {
            ioprio::enter(class).unwrap();
            for index in 0..count {
                read_direct(&disk, bytes, index * bytes as u64);
            }
        });
        reader.join().unwrap();
    }

    /// Reads as above, but from another process, in the default class of processes, and on one CPU.
    fn read_from_outside(&self, count: u64, bytes: usize) {
        // SAFETY: the call takes nothing and only reads.
        let cpu = unsafe { libc::sched_getcpu() };
        let mut dd = Command::new("taskset");
        dd.args(["--cpu-list", &cpu.to_string(), "dd", &format!("if={}", self.path), "of=/dev/null", "iflag=direct"]);
        dd.args([format!("bs={bytes}"), format!("count={count}")]);
        assert!(dd.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.path]).status();
    }
}

/// One read past the page cache, which requires aligned memory.
fn read_direct(disk: &File, bytes: usize, offset: u64) {
    let mut memory = vec![0_u8; bytes + 4096];
    let skip = memory.as_ptr().align_offset(4096);
    let aligned = &mut memory[skip..skip + bytes];
    // SAFETY: the pointer and the length are those of a live, writable slice.
    let done = unsafe { libc::pread(disk.as_raw_fd(), aligned.as_mut_ptr().cast(), bytes, offset as libc::off_t) };
    assert_eq!(done, bytes as isize, "{}", io::Error::last_os_error());
}

/// Prints on the terminal, past the test harness, that a test was not run.
fn skip(reason: &str) {
    let _ = writeln!(io::stderr(), "{}: {reason}", thread::current().name().unwrap_or("test"));
}

/// Drains until the foreground is drained or nothing is expected, and checks that time never runs backwards.
fn drain(detector: &mut dyn Detector, own: OwnTraffic, expect: bool) -> Vec<Event> {
    let deadline = Instant::now() + LONG;
    let mut events = Vec::new();
    loop {
        detector.drain(own, &mut events);
        let drained = matches!(events.last(), Some(Event::ForegroundDrained { .. }));
        if drained || !expect || Instant::now() > deadline {
            assert!(events.is_sorted_by_key(at), "{events:?}");
            return events;
        }
    }
}

fn at(event: &Event) -> Nanos {
    match *event {
        Event::ForegroundArrived { at, .. }
        | Event::ForegroundCompleted { at, .. }
        | Event::ForegroundDrained { at }
        | Event::ForegroundCounted { at } => at,
        _ => panic!("a detector only tells of the foreground: {event:?}"),
    }
}

/// Arrivals, completions and drained events.
fn count(events: &[Event]) -> (u32, u32, u32) {
    events.iter().fold((0, 0, 0), |(arrived, completed, drained), event| match *event {
        Event::ForegroundArrived { count, .. } => (arrived + count, completed, drained),
        Event::ForegroundCompleted { count, .. } => (arrived, completed + count, drained),
        Event::ForegroundDrained { .. } => (arrived, completed, drained + 1),
        _ => (arrived, completed, drained),
    })
}

/// The detector of this kind for `disk`; `None`, with a note, where this machine does not support it.
fn open_exactly(disk: &Loop, kind: DetectorKind) -> Option<Box<dyn Detector>> {
    let opened = open(Some(&disk.node), Some(kind), RequestSources::All);
    if opened.kind != kind {
        skip(&format!("not run: {}", opened.why));
        return None;
    }
    Some(opened.detector)
}

/// 500 foreground reads among 300 scrub reads: every foreground arrival is seen, and no scrub read.
fn foreground_is_distinguished_exactly(kind: DetectorKind) {
    let Some(disk) = Loop::new() else { return };
    let Some(mut detector) = open_exactly(&disk, kind) else { return };
    let traced = Probes::choose(&disk.node, RequestSources::All).is_ok_and(|probes| probes.completion.is_some());
    if !traced {
        return skip("not run: this kernel's tracepoints do not tell the I/O class");
    }
    assert_eq!(drain(&mut *detector, OwnTraffic::default(), false), []);
    let begin = clock::now();
    thread::scope(|scope| {
        scope.spawn(|| disk.read(ioprio::IDLE_CLASS, 300, 4096));
        scope.spawn(|| disk.read(BEST_EFFORT, 500, 4096));
    });
    let events = drain(&mut *detector, OwnTraffic::default(), true);
    let (arrived, completed, drained) = count(&events);
    assert_eq!((arrived, drained), (500, 1));
    // A CPU does not run a BPF program while it runs one: a completion that interrupts one is missed, one in thousands.
    let missed_max = if kind == DetectorKind::Bpf { 5 } else { 0 };
    assert!((500 - missed_max..=500).contains(&completed), "{completed} completions");
    assert!(at(&events[0]) >= begin && at(events.last().unwrap()) <= clock::now(), "times are CLOCK_MONOTONIC");
    disk.read(ioprio::IDLE_CLASS, 300, 4096);
    assert_eq!(drain(&mut *detector, OwnTraffic::default(), false), []);
    assert_eq!(detector.lost(), 0);
}

#[test]
fn bpf_distinguishes_foreground_from_scrub_requests_exactly() {
    foreground_is_distinguished_exactly(DetectorKind::Bpf);
}

#[test]
fn perf_distinguishes_foreground_from_scrub_requests_exactly() {
    foreground_is_distinguished_exactly(DetectorKind::Perf);
}

/// What older kernels offer: an arrival without the class, and no completions.
fn arrivals_are_distinguished_by_process<D: Detector>(open: fn(&DiskNode, &Probes) -> Result<D, Refusal>) {
    let Some(disk) = Loop::new() else { return };
    let Ok(arrival) = Events::open().and_then(|events| {
        Tracepoint::read(events.folder(), "block_getrq").map_err(Refusal::failed("has no block_getrq"))
    }) else {
        return skip("not run: needs tracefs and block_getrq");
    };
    let probes = Probes { arrival: Tracepoint { ioprio: None, ..arrival }, completion: None };
    let mut detector = match open(&disk.node, &probes) {
        Ok(detector) => detector,
        Err(refusal) => return skip(&format!("not run: {refusal}")),
    };
    disk.read(BEST_EFFORT, 100, 4096);
    assert_eq!(drain(&mut detector, OwnTraffic::default(), false), []);
    disk.read_from_outside(50, 4096);
    assert_eq!(count(&drain(&mut detector, OwnTraffic::default(), true)), (50, 0, 1));
}

#[test]
fn bpf_distinguishes_arrivals_by_process_on_older_kernels() {
    arrivals_are_distinguished_by_process(bpf::Bpf::with_probes);
}

#[test]
fn perf_distinguishes_arrivals_by_process_on_older_kernels() {
    arrivals_are_distinguished_by_process(perf::Perf::with_probes);
}

/// A ring that is not drained fills up: lost events are counted, and the rest are reported in order.
fn records_that_do_not_fit_are_counted(kind: DetectorKind, reads: u64) {
    let Some(disk) = Loop::new() else { return };
    let Some(mut detector) = open_exactly(&disk, kind) else { return };
    disk.read_from_outside(reads, 512);
    let (arrived, _, drained) = count(&drain(&mut *detector, OwnTraffic::default(), true));
    assert!(arrived > 1000 && drained == 1, "{arrived} arrivals, {drained} drained");
    // Perf reports a loss with the next sample that fits on that CPU, and no test is pinned to one.
    let lossy = (0..1000).any(|_| {
        disk.read_from_outside(1, 512);
        detector.drain(OwnTraffic::default(), &mut Vec::new());
        detector.lost() > 0
    });
    assert!(lossy, "{arrived} of {reads} arrivals were seen and none is lost");
}

#[test]
fn bpf_counts_records_that_do_not_fit() {
    records_that_do_not_fit_are_counted(DetectorKind::Bpf, 36_000);
}

#[test]
fn perf_counts_records_that_do_not_fit() {
    records_that_do_not_fit_are_counted(DetectorKind::Perf, 12_000);
}

#[test]
fn stat_counts_foreground_requests_and_not_the_scrubs() {
    let Some(disk) = Loop::new() else { return };
    let Some(mut detector) = open_exactly(&disk, DetectorKind::Stat) else { return };
    let first = drain(&mut *detector, OwnTraffic::default(), false);
    assert!(matches!(first[..], [Event::ForegroundCounted { .. }]), "{first:?}");
    let mut own = OwnTraffic::default();
    for _ in 0..200 {
        disk.read(ioprio::IDLE_CLASS, 1, 1 << 20);
        own = OwnTraffic { sectors: own.sectors + 2048, requests: own.requests + 1, in_flight: 0 };
        assert_eq!(drain(&mut *detector, own, false), []);
    }
    disk.read(BEST_EFFORT, 20, 4096);
    let (arrived, completed, drained) = count(&drain(&mut *detector, own, true));
    assert!(arrived >= 1 && completed >= 1 && drained == 1, "{arrived} arrived, {completed} completed");
}

#[test]
fn stat_reports_nothing_while_a_scrub_read_is_at_the_disk() {
    let Some(disk) = Loop::new() else { return };
    let Some(mut detector) = open_exactly(&disk, DetectorKind::Stat) else { return };
    let first = drain(&mut *detector, OwnTraffic::default(), false);
    assert!(matches!(first[..], [Event::ForegroundCounted { .. }]), "{first:?}");
    let own = OwnTraffic { sectors: 0, requests: 0, in_flight: 1 };
    thread::scope(|scope| {
        let reader = scope.spawn(|| disk.read(ioprio::IDLE_CLASS, 1, 16 << 20));
        while !reader.is_finished() {
            assert_eq!(drain(&mut *detector, own, false), []);
        }
    });
    let own = OwnTraffic { sectors: (16 << 20) / 512, requests: 1, in_flight: 0 };
    assert_eq!(drain(&mut *detector, own, false), []);
}

#[test]
fn without_a_disk_nothing_is_seen_and_the_reason_is_given() {
    let mut opened = open(None, Some(DetectorKind::Bpf), RequestSources::All);
    assert_eq!(opened.kind, DetectorKind::Blind);
    assert_eq!(drain(&mut *opened.detector, OwnTraffic::default(), false), []);
    assert!(opened.why.starts_with("none: no block device"), "{}", opened.why);
}

#[test]
fn a_wish_is_a_ceiling_and_the_reason_names_the_failed_detector() {
    let missing_disk = DiskNode { name: "no-such-disk".into(), major: 4095, minor: 0 };
    let opened = open(Some(&missing_disk), Some(DetectorKind::Stat), RequestSources::All);
    assert_eq!(opened.kind, DetectorKind::Blind);
    assert_eq!(
        opened.why,
        "none: other users of no-such-disk cannot be seen, because stat cannot read the counters (ENOENT)"
    );
    let opened = open(Some(&missing_disk), Some(DetectorKind::Blind), RequestSources::All);
    assert_eq!(opened.why, "none: other users of no-such-disk are not watched, as you wished");
}

#[test]
fn reasons_read_as_sentences() {
    let denied = || io::Error::from_raw_os_error(libc::EPERM);
    let needs = Refusal::of_call("CAP_BPF", "cannot load its program", denied());
    assert_eq!(needs.to_string(), "needs CAP_BPF (EPERM)");
    let failed = Refusal::of_call("CAP_BPF", "cannot load its program", io::Error::from_raw_os_error(libc::EINVAL));
    assert_eq!(failed.to_string(), "cannot load its program (EINVAL)");
    let refused = |kind, reason: &str| (kind, reason.to_owned());
    let both = [refused(DetectorKind::Bpf, "x"), refused(DetectorKind::Perf, "y")];
    assert_eq!(because(&both), ", because bpf x and perf y");
    let both = [refused(DetectorKind::Bpf, "needs x"), refused(DetectorKind::Perf, "needs x")];
    assert_eq!(because(&both), ", because bpf needs x, perf too");
}
