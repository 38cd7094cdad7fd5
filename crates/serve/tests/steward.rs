//! Commands to a volume on files, at the wrong moment.

use scrubjay_core::block::{Reply, Request, RequestId};
use scrubjay_core::buffer::Buffer;
use scrubjay_core::format::blank;
use scrubjay_core::format::geometry::{Geometry, Parameters};
use scrubjay_core::format::uuid::Uuid;
use scrubjay_core::integrity::scheme::Scheme;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::member::{Array, Done, Fault, OpKind};
use scrubjay_core::plan::Shape;
use scrubjay_core::units::{Nanos, UnixSeconds};
use scrubjay_device::member::{Access, Member, make};
use scrubjay_serve::control::{CommandId, Controller};
use scrubjay_serve::members::Members;
use scrubjay_serve::server::Stop;
use scrubjay_serve::volume::Steward;
use scrubjay_serve::volume::commands::Command;
use scrubjay_serve::volume::gather::gather;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A 2+1 volume on these files.
fn make_volume(paths: &[PathBuf]) {
    let layout = Layout::new(LayoutKind::Rotating, Shape { data: 2, parity: 1 }, 3).unwrap();
    let parameters = Parameters { layout, scheme: Scheme::Stamp, chunk_bytes: 4096, block_bytes: 512 };
    let geometry = Geometry::fit(&parameters, 4 << 20, None).unwrap();
    let superblock =
        blank::superblock(geometry, Uuid([1; 16]), "", UnixSeconds(1), &[10, 11, 12].map(|n| Uuid([n; 16])));
    let member = |path: &PathBuf| {
        File::create(path).unwrap().set_len(4 << 20).unwrap();
        Member::open(path, Access::ReadWrite).unwrap()
    };
    make(&paths.iter().map(member).collect::<Vec<_>>(), &superblock).unwrap();
}

/// Does what the volume wants done; members in `gone` do not answer.
fn pump(steward: &mut Steward, members: &Members, gone: &[usize]) {
    while let Some(op) = steward.poll_op(Nanos(0)) {
        let file = members.file(op.member).filter(|_| !gone.contains(&op.member));
        let (buffer, result) = match (op.kind, file) {
            (OpKind::Read { offset, mut buffer }, Some(file)) => {
                file.file().read_exact_at(&mut buffer, offset).unwrap();
                (Some(buffer), Ok(()))
            }
            (OpKind::Write { offset, buffer, .. }, Some(file)) => {
                file.file().write_all_at(&buffer, offset).unwrap();
                (Some(buffer), Ok(()))
            }
            (kind, file) => (kind.buffer(), if file.is_some() { Ok(()) } else { Err(Fault::Gone) }),
        };
        steward.handle(Nanos(0), Done { id: op.id, buffer, result });
    }
}

#[test]
fn a_member_that_a_broken_volume_needs_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..3).map(|slot| folder.path().join(format!("{slot}.img"))).collect();
    make_volume(&paths);
    let gathered = gather(&paths, false).unwrap();
    let volume = gathered.start(false, UnixSeconds(2));
    let mut steward = Steward::new(volume, gathered.paths.clone(), Stop::new().unwrap());
    let mut members = gathered.members;
    pump(&mut steward, &members, &[]);
    let mut write = |gone: &[usize]| {
        let request = Request::Write { offset: 0, data: Buffer::copy_of(&[7; 8192]), is_durable: true };
        steward.submit(Nanos(0), RequestId(1), request);
        pump(&mut steward, &members, gone);
        steward.poll_reply().expect("it was answered").1
    };
    assert_eq!(write(&[]), Reply::Done);
    assert!(matches!(write(&[0, 1]), Reply::Failed(_)));

    let path = paths[1].display().to_string();
    let command = serde_json::to_string(&Command::Replace { member: 1, path, force: true }).unwrap();
    let answer = steward.command(Nanos(0), CommandId(0), &command, &mut members);
    pump(&mut steward, &members, &[0]);
    assert!(Member::open(&paths[1], Access::Look).unwrap().superblock().is_ok(), "{answer:?}");
    drop((steward, members));
    assert!(gather(&paths, false).is_ok(), "all is well again");
}
