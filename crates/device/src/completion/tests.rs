//! The ring on real files and sockets: every operation is done in full or ends with an error, whatever ends when.

use super::*;
use scrubjay_core::rng::Rng;
use scrubjay_core::volume::member::DiskFault;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

/// A block size that every file system accepts with O_DIRECT.
const BLOCK: usize = 4096;
const BLOCKS: usize = 64;

/// A ring. Where this machine supports none, these tests cannot run, and print a note.
fn ring() -> Option<IoRing<u64>> {
    IoRing::new(256).inspect_err(|error| eprintln!("NOT TESTED: no io_uring here ({error})")).ok()
}

fn next(ring: &mut IoRing<u64>) -> Completion<u64> {
    loop {
        if let Some(completion) = ring.poll() {
            return completion;
        }
        assert!(ring.in_flight() > 0, "something is under way");
        ring.wait(None).unwrap();
    }
}

fn disk_end(ring: &mut IoRing<u64>) -> (u64, Option<Buffer>, Result<(), DiskFault>) {
    match next(ring) {
        Completion { name, end: IoEnd::Disk { buffer, result } } => (name, buffer, result),
        other => panic!("{other:?} is no end of a disk's"),
    }
}

fn socket(stream: UnixStream) -> Socket {
    Arc::new(OwnedFd::from(stream))
}

fn block(value: u8, blocks: usize) -> Buffer {
    Buffer::copy_of(&vec![value; blocks * BLOCK])
}

/// The same empty file on every I/O path that this machine has, with its folder.
fn files() -> Vec<(MemberFile, tempfile::TempDir)> {
    let mut files = Vec::new();
    for (folder, flags, io_path) in [
        (std::env::temp_dir(), libc::O_DIRECT, FileIoPath::Waits),
        (std::env::temp_dir(), 0, FileIoPath::Cached),
        ("/dev/shm".into(), 0, FileIoPath::Memory),
    ] {
        let Ok(folder) = tempfile::tempdir_in(folder) else { continue };
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(flags)
            .open(folder.path().join("disk"));
        let Ok(file) = opened else { continue };
        file.set_len((BLOCKS * BLOCK) as u64).unwrap();
        let file = MemberFile::new(file);
        if file.io_path() != io_path {
            eprintln!("NOT TESTED: {io_path:?} ({} is something else)", folder.path().display());
        }
        files.push((file, folder));
    }
    assert!(!files.is_empty(), "files can be made somewhere");
    files
}

#[test]
fn written_data_are_read_back_on_every_io_path() {
    let Some(mut ring) = ring() else { return };
    for (file, _folder) in files() {
        for index in 0..BLOCKS as u64 {
            ring.write(index, &file, index * BLOCK as u64, block(index as u8 + 1, 1), index % 8 == 0);
        }
        let mut ends = BTreeMap::new();
        while ends.len() < BLOCKS {
            let (name, buffer, result) = disk_end(&mut ring);
            assert!(result.is_ok() && buffer.is_some() && ends.insert(name, ()).is_none());
        }
        ring.flush(1000, &file);
        assert!(matches!(disk_end(&mut ring), (1000, None, Ok(()))));
        ring.discard(1001, &file, 0..BLOCK as u64);
        assert!(matches!(disk_end(&mut ring), (1001, None, Ok(()))));
        ring.read(1002, &file, 0, block(0xff, BLOCKS));
        let (_, buffer, result) = disk_end(&mut ring);
        let buffer = buffer.unwrap();
        assert_eq!(result, Ok(()));
        for (index, bytes) in buffer.chunks(BLOCK).enumerate() {
            let expected = if index == 0 { 0 } else { index as u8 + 1 };
            assert!(bytes.iter().all(|&byte| byte == expected), "{:?}: block {index}", file.io_path());
        }
        assert_eq!((ring.in_flight(), ring.room()), (0, 256));
    }
}

/// Reads these blocks, all at once or each by itself: the end of each, with its contents.
fn read_blocks(ring: &mut IoRing<u64>, file: &MemberFile, reads: &[(u64, usize)], is_together: bool) -> Vec<IoEnd> {
    let mut ends = BTreeMap::new();
    for (name, &(offset, len)) in reads.iter().enumerate() {
        ring.read(name as u64, file, offset, Buffer::copy_of(&vec![0xff; len]));
        if !is_together {
            let Completion { name, end } = next(ring);
            ends.insert(name, end);
        }
    }
    while ends.len() < reads.len() {
        let Completion { name, end } = next(ring);
        assert!(ends.insert(name, end).is_none(), "a read ends once");
    }
    assert_eq!((ring.in_flight(), ring.at_disk()), (0, 0));
    ends.into_values().collect()
}

#[test]
fn reads_in_one_run_end_as_they_do_one_at_a_time() {
    let Some(mut ring) = ring() else { return };
    for (file, _folder) in files() {
        for index in 0..BLOCKS as u64 {
            ring.write(index, &file, index * BLOCK as u64, block(index as u8 + 1, 1), false);
        }
        (0..BLOCKS).for_each(|_| assert_eq!(disk_end(&mut ring).2, Ok(())));
        let mut rng = Rng::new(1);
        for round in 0..50 {
            // Runs of every length, holes, the same blocks twice; some behind the end of the file, and some of a length
            // that O_DIRECT refuses, so that the call for the whole run fails.
            let mut reads: Vec<(u64, usize)> = Vec::new();
            while reads.len() < 60 {
                let first = rng.below(BLOCKS as u64);
                let run = (first..first + 1 + rng.below(40)).take(60 - reads.len());
                reads.extend(run.map(|index| (index * BLOCK as u64, BLOCK)));
                if round % 2 == 1 {
                    reads.last_mut().unwrap().1 = 100;
                }
            }
            let together = read_blocks(&mut ring, &file, &reads, true);
            let single = read_blocks(&mut ring, &file, &reads, false);
            for ((read, together), single) in reads.iter().zip(together).zip(single) {
                let IoEnd::Disk { buffer: Some(buffer), result } = together else { panic!("{together:?}") };
                let IoEnd::Disk { buffer: Some(expected_buffer), result: expected } = single else {
                    panic!("{single:?}")
                };
                assert_eq!(result, expected, "{:?} {read:?}", file.io_path());
                assert!(result.is_err() || buffer == expected_buffer && buffer[0] == (read.0 / BLOCK as u64) as u8 + 1);
                assert!(read.1 != BLOCK || result.is_err() == (read.0 >= (BLOCKS * BLOCK) as u64));
            }
        }
    }
}

/// The result of a run is made up: the test has no disk with an unreadable sector.
#[test]
fn a_run_that_fails_or_is_short_costs_no_read_but_the_bad_one() {
    let Some(mut ring) = ring() else { return };
    for (file, _folder) in files() {
        ring.write(0, &file, 0, block(5, 8), false);
        assert_eq!(disk_end(&mut ring).2, Ok(()));
        for kernel_result in [-libc::EIO, -libc::EAGAIN, 0, 1, BLOCK as i32, 3 * BLOCK as i32 + 7, 8 * BLOCK as i32] {
            let slots: Vec<usize> = (0..8)
                .map(|index| {
                    let transfer = Transfer {
                        file: file.clone(),
                        direction: IoDirection::Read,
                        offset: index * BLOCK as u64,
                        // The bytes that the kernel claims to have read are there.
                        buffer: block(5, 1),
                        done: 0,
                    };
                    ring.at_disk += 1;
                    ring.hold(index, Operation::transfer(transfer))
                })
                .collect();
            ring.runs.push(Some(ReadRun { slots, slices: Vec::new() }));
            ring.end_run(ring.runs.len() - 1, kernel_result);
            let whole = kernel_result.max(0) as usize / BLOCK;
            assert_eq!(
                (ring.ended.len(), ring.at_disk()),
                (whole, 8 - whole),
                "{kernel_result}: the others are asked for again"
            );
            for _ in 0..8 {
                let (_, buffer, result) = disk_end(&mut ring);
                assert_eq!((buffer.unwrap(), result), (block(5, 1), Ok(())));
            }
            assert_eq!((ring.in_flight(), ring.at_disk()), (0, 0));
        }
    }
}

#[test]
fn a_read_that_was_held_back_is_freed_with_the_ring() {
    let Some(mut ring) = ring() else { return };
    let (file, _folder) = files().remove(0);
    ring.read(1, &file, 0, block(0, 1));
    ring.read(2, &file, BLOCK as u64, block(0, 1));
    assert_eq!((ring.in_flight(), ring.at_disk()), (2, 2));
    assert!(ring.poll().is_none());
    drop(ring);
    assert_eq!(file.holders(), 1, "nothing is leaked");
}

#[test]
fn a_partial_read_is_an_error_and_errnos_become_faults() {
    let Some(mut ring) = ring() else { return };
    for (file, _folder) in files() {
        ring.read(1, &file, ((BLOCKS - 1) * BLOCK) as u64, block(0, 2));
        let (_, buffer, result) = disk_end(&mut ring);
        assert_eq!((buffer.unwrap().len(), result), (2 * BLOCK, Err(DiskFault::Gone)), "{:?}", file.io_path());
    }
    let full = MemberFile::new(OpenOptions::new().write(true).open("/dev/full").unwrap());
    ring.write(2, &full, 0, block(0, 1), false);
    assert_eq!(disk_end(&mut ring).2, Err(DiskFault::Medium), "ENOSPC");
    ring.read(3, &full, 0, block(0, 1));
    assert_eq!(disk_end(&mut ring).2, Err(DiskFault::Gone), "EBADF: it is open for writing only");
}

#[test]
fn a_file_is_open_until_the_last_request_has_ended() {
    let Some(mut ring) = ring() else { return };
    for (file, folder) in files() {
        ring.write(1, &file, 0, block(7, BLOCKS), true);
        drop(file);
        assert_eq!(disk_end(&mut ring).2, Ok(()));
        let mut bytes = Vec::new();
        File::open(folder.path().join("disk")).unwrap().read_to_end(&mut bytes).unwrap();
        assert!(bytes.iter().all(|&byte| byte == 7));
    }
}

#[test]
fn sockets_accept_receive_and_send_more_than_they_hold() {
    let Some(mut ring) = ring() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener: Socket = Arc::new(UnixListener::bind(&path).unwrap().into());
    ring.accept(1, &listener);
    let mut client = UnixStream::connect(&path).unwrap();
    let Completion { name: 1, end: IoEnd::Accepted(Ok(accepted)) } = next(&mut ring) else { panic!("no client") };
    let server: Socket = Arc::new(accepted);

    ring.receive(2, &server, Buffer::zeroed(100), 10..20);
    client.write_all(b"hello, you").unwrap();
    client.write_all(b"!").unwrap();
    let Completion { name: 2, end: IoEnd::Received { buffer, result } } = next(&mut ring) else { panic!("no bytes") };
    assert_eq!((result.unwrap(), &buffer[10..20], &buffer[20..30]), (10, &b"hello, you"[..], &[0; 10][..]));
    ring.receive(2, &server, buffer, 0..100);
    let Completion { name: 2, end: IoEnd::Received { buffer, result } } = next(&mut ring) else { panic!("no bytes") };
    assert_eq!((result.unwrap(), &buffer[..1]), (1, &b"!"[..]));

    // Many slices, more than are sent at a time, and more bytes than the socket holds.
    let mut outgoing = Outgoing::default();
    for index in 0..1500u32 {
        outgoing.push_copy(&index.to_be_bytes());
        outgoing.push_buffer(Buffer::copy_of(&[index as u8; 3000]), 1000..3000);
    }
    outgoing.push_zeros(200_000);
    let expected = outgoing.slices().collect::<Vec<_>>().concat();
    let reader = std::thread::spawn(move || {
        let mut bytes = vec![0; expected.len()];
        client.read_exact(&mut bytes).unwrap();
        assert!(bytes == expected, "in order, all of it");
    });
    let (len, mut sent, mut ends) = (outgoing.len(), 0, 0);
    while sent < len {
        ring.send(3, &server, outgoing, sent);
        let Completion { name: 3, end: IoEnd::Sent { outgoing: back, result } } = next(&mut ring) else {
            panic!("no end")
        };
        (sent, ends) = (sent + result.unwrap(), ends + 1);
        outgoing = back;
    }
    assert_eq!((sent, ends), (len, len.div_ceil(1 << 20)), "an end for each MiB");
    let mut buffers = 0;
    outgoing.clear(|_| buffers += 1);
    assert_eq!(buffers, 1500);
    reader.join().unwrap();

    ring.receive(4, &server, buffer, 0..100);
    let Completion { name: 4, end: IoEnd::Received { result, .. } } = next(&mut ring) else { panic!("no end") };
    assert_eq!(result.unwrap(), 0, "the client is gone");
    let mut last_message = Outgoing::default();
    last_message.push_copy(b"anyone?");
    ring.send(5, &server, last_message, 0);
    let Completion { name: 5, end: IoEnd::Sent { result, .. } } = next(&mut ring) else { panic!("no end") };
    assert!(result.is_err());
}

#[test]
fn a_wait_ends_at_its_timeout_and_a_dropped_ring_frees_the_socket() {
    let Some(mut ring) = ring() else { return };
    let (local, mut remote) = UnixStream::pair().unwrap();
    let local = socket(local);
    ring.receive(1, &local, Buffer::zeroed(10), 0..10);
    ring.wait(Some(Nanos::from_millis(1))).unwrap();
    assert!(ring.poll().is_none());
    drop((ring, local));
    assert_eq!(remote.read(&mut [0; 10]).unwrap(), 0, "nobody holds the other end open");
}

#[test]
fn operations_on_a_hanging_disk_are_given_up_and_make_room() {
    let Ok(mut ring) = IoRing::<u64>::new(8) else { return };
    let (hangs, mut writer) = std::io::pipe().unwrap();
    let hangs = MemberFile::new(File::from(std::os::fd::OwnedFd::from(hangs)));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sound");
    std::fs::write(&path, [7; 512]).unwrap();
    let sound = MemberFile::new(File::open(&path).unwrap());
    (0..8).for_each(|name| ring.read(name, &hangs, 8192 * name, Buffer::zeroed(512)));
    ring.wait(Some(Nanos(1))).unwrap();
    ring.age();
    assert_eq!(ring.room(), 0, "they may be slow");
    ring.age();
    assert_eq!((ring.room(), ring.in_flight()), (8, 8));
    (0..8).for_each(|name| ring.read(100 + name, &sound, 0, Buffer::zeroed(512)));
    assert_eq!(ring.room(), 0);
    let mut ends = |count: usize| {
        let mut names = Vec::new();
        while names.len() < count {
            ring.wait(Some(Nanos::from_secs(60))).unwrap();
            while let Some(Completion { name, end: IoEnd::Disk { result, .. } }) = ring.poll() {
                assert_eq!(result, Ok(()));
                names.push(name);
            }
        }
        names.sort_unstable();
        (names, ring.room())
    };
    assert_eq!(ends(8), ((100..108).collect(), 8));
    writer.write_all(&[1; 8 * 512]).unwrap();
    assert_eq!(ends(8), ((0..8).collect(), 8), "late, and no room too many");
}
