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
use scrubjay_serve::ended::{Ended, Flushed};
use scrubjay_serve::members::Members;
use scrubjay_serve::server::Stop;
use scrubjay_serve::volume::Steward;
use scrubjay_serve::volume::commands::{Command, Stopped};
use scrubjay_serve::volume::gather::gather;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use tempfile::TempDir;

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

/// A volume that is being served, and its members.
struct Served {
    _folder: TempDir,
    paths: Vec<PathBuf>,
    steward: Steward,
    members: Members,
}

impl Served {
    fn new() -> Served {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = (0..3).map(|slot| folder.path().join(format!("{slot}.img"))).collect();
        make_volume(&paths);
        let gathered = gather(&paths, false).unwrap();
        let volume = gathered.start(false, UnixSeconds(2)).unwrap();
        let steward = Steward::new(volume, gathered.paths.clone(), Stop::new().unwrap());
        let mut served = Served { _folder: folder, paths, steward, members: gathered.members };
        served.pump(&[]);
        served
    }

    /// Does what the volume wants done; members in `gone` do not answer.
    fn pump(&mut self, gone: &[usize]) {
        while let Some(op) = self.steward.poll_op(Nanos(0)) {
            let file = self.members.file(op.member).filter(|_| !gone.contains(&op.member));
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
            self.steward.handle(Nanos(0), Done { id: op.id, buffer, result });
        }
    }

    fn write(&mut self, gone: &[usize]) -> Reply {
        let request = Request::Write { offset: 0, data: Buffer::copy_of(&[7; 8192]), is_durable: true };
        self.steward.submit(Nanos(0), RequestId(1), request);
        self.pump(gone);
        self.steward.poll_reply().expect("it was answered").1
    }

    fn tell(&mut self, command: &Command) -> Option<String> {
        let line = serde_json::to_string(command).unwrap();
        self.steward.command(Nanos(0), CommandId(0), &line, &mut self.members)
    }
}

#[test]
fn a_member_that_a_broken_volume_needs_is_not_overwritten() {
    let mut served = Served::new();
    assert_eq!(served.write(&[]), Reply::Done);
    assert!(matches!(served.write(&[0, 1]), Reply::Failed(_)));

    let path = served.paths[1].display().to_string();
    let answer = served.tell(&Command::Replace { member: 1, path, force: true });
    served.pump(&[0]);
    assert!(Member::open(&served.paths[1], Access::Look).unwrap().superblock().is_ok(), "{answer:?}");
    let Served { _folder, paths, steward, members } = served;
    drop((steward, members));
    assert!(gather(&paths, false).is_ok(), "all is well again");
}

/// Serves a volume, writes to it without the members in `gone`, and stops it.
fn left_after(gone: &[usize], does_fail: bool) -> Stopped {
    let mut served = Served::new();
    if does_fail {
        served.tell(&Command::Fail { member: 2 }).unwrap();
    }
    let writes_failed = u64::from(matches!(served.write(gone), Reply::Failed(_)));
    served.steward.stop(Nanos(0));
    served.pump(gone);
    assert!(served.steward.is_stopped());
    served.steward.stopped(&Ended { flush: Flushed::Done, is_stopped: true, writes_failed, ..Ended::default() })
}

#[test]
fn a_volume_is_said_to_be_left_as_it_is() {
    assert_eq!(left_after(&[], false).words(), "stopped 01010101-0101-0101-0101-010101010101: nothing was found wrong");
    let lost = left_after(&[1], false);
    assert!(lost.problems.len() == 1 && lost.words().contains("member 1 is failed (it does not answer)"), "{lost:?}");
    let asked = left_after(&[], true);
    assert!(
        asked.problems.is_empty() && asked.words().ends_with(": member 2 is failed (somebody said so)"),
        "{asked:?}"
    );
    let broken = left_after(&[0, 1], false);
    assert!(broken.problems[0].contains("it is broken"), "{broken:?}");
    assert!(
        broken.words().contains("was not stopped in order") && broken.words().contains("1 write failed"),
        "{broken:?}"
    );
}
