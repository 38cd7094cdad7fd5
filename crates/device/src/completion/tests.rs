//! The ring on real files and sockets: all of it is done, or an error; nothing is lost, whatever ends when.

use super::*;
use scrubjay_core::member::Fault;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

/// A block that every file system takes with O_DIRECT.
const BLOCK: usize = 4096;
const BLOCKS: usize = 64;

/// A ring, where this machine gives one. Where it does not, these tests cannot run, and say so.
fn ring() -> Option<Ring<u64>> {
    Ring::new(256).inspect_err(|error| eprintln!("NOT TESTED: no io_uring here ({error})")).ok()
}

fn next(ring: &mut Ring<u64>) -> Completion<u64> {
    loop {
        if let Some(completion) = ring.poll() {
            return completion;
        }
        assert!(ring.in_flight() > 0, "something is under way");
        ring.wait(None).unwrap();
    }
}

fn disk_end(ring: &mut Ring<u64>) -> (u64, Option<Buffer>, Result<(), Fault>) {
    match next(ring) {
        Completion { name, end: End::Disk { buffer, result } } => (name, buffer, result),
        other => panic!("{other:?} is no end of a disk's"),
    }
}

fn socket(stream: UnixStream) -> Socket {
    Arc::new(OwnedFd::from(stream))
}

fn block(value: u8, blocks: usize) -> Buffer {
    Buffer::copy_of(&vec![value; blocks * BLOCK])
}

/// The same empty file of every habit that this machine has, with its folder.
fn files() -> Vec<(MemberFile, tempfile::TempDir)> {
    let mut files = Vec::new();
    for (folder, flags, habit) in [
        (std::env::temp_dir(), libc::O_DIRECT, Habit::Waits),
        (std::env::temp_dir(), 0, Habit::Cached),
        ("/dev/shm".into(), 0, Habit::Memory),
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
        if file.habit() != habit {
            eprintln!("NOT TESTED: {habit:?} ({} is something else)", folder.path().display());
        }
        files.push((file, folder));
    }
    assert!(!files.is_empty(), "files can be made somewhere");
    files
}

#[test]
fn what_was_written_is_read_whatever_the_file() {
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
            assert!(bytes.iter().all(|&byte| byte == expected), "{:?}: block {index}", file.habit());
        }
        assert_eq!((ring.in_flight(), ring.room()), (0, 256));
    }
}

#[test]
fn a_part_is_an_error_and_what_the_kernel_says_is_sorted() {
    let Some(mut ring) = ring() else { return };
    for (file, _folder) in files() {
        ring.read(1, &file, ((BLOCKS - 1) * BLOCK) as u64, block(0, 2));
        let (_, buffer, result) = disk_end(&mut ring);
        assert_eq!((buffer.unwrap().len(), result), (2 * BLOCK, Err(Fault::Gone)), "{:?}", file.habit());
    }
    let full = MemberFile::new(OpenOptions::new().write(true).open("/dev/full").unwrap());
    ring.write(2, &full, 0, block(0, 1), false);
    assert_eq!(disk_end(&mut ring).2, Err(Fault::Medium), "ENOSPC");
    ring.read(3, &full, 0, block(0, 1));
    assert_eq!(disk_end(&mut ring).2, Err(Fault::Gone), "EBADF: it is open for writing only");
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
    let Completion { name: 1, end: End::Accepted(Ok(accepted)) } = next(&mut ring) else { panic!("no client") };
    let server: Socket = Arc::new(accepted);

    ring.receive(2, &server, Buffer::zeroed(100), 10..20);
    client.write_all(b"hello, you").unwrap();
    client.write_all(b"!").unwrap();
    let Completion { name: 2, end: End::Received { buffer, result } } = next(&mut ring) else { panic!("no bytes") };
    assert_eq!((result.unwrap(), &buffer[10..20], &buffer[20..30]), (10, &b"hello, you"[..], &[0; 10][..]));
    ring.receive(2, &server, buffer, 0..100);
    let Completion { name: 2, end: End::Received { buffer, result } } = next(&mut ring) else { panic!("no bytes") };
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
    ring.send(3, &server, outgoing);
    let Completion { name: 3, end: End::Sent { mut outgoing, result } } = next(&mut ring) else { panic!("not sent") };
    result.unwrap();
    let mut buffers = 0;
    outgoing.clear(|_| buffers += 1);
    assert_eq!(buffers, 1500);
    reader.join().unwrap();

    ring.receive(4, &server, buffer, 0..100);
    let Completion { name: 4, end: End::Received { result, .. } } = next(&mut ring) else { panic!("no end") };
    assert_eq!(result.unwrap(), 0, "the client is gone");
    let mut farewell = Outgoing::default();
    farewell.push_copy(b"anyone?");
    ring.send(5, &server, farewell);
    let Completion { name: 5, end: End::Sent { result, .. } } = next(&mut ring) else { panic!("no end") };
    assert!(result.is_err());
}

#[test]
fn a_wait_ends_with_its_time_and_a_dropped_ring_lets_go() {
    let Some(mut ring) = ring() else { return };
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let ours = socket(ours);
    ring.receive(1, &ours, Buffer::zeroed(10), 0..10);
    ring.wait(Some(Nanos::from_millis(1))).unwrap();
    assert!(ring.poll().is_none());
    drop((ring, ours));
    assert_eq!(theirs.read(&mut [0; 10]).unwrap(), 0, "nobody holds the other end open");
}
