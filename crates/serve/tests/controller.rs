//! Commands to a volume on files, at inconvenient moments.

use scrubjay_core::buffer::Buffer;
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::units::{Nanos, UnixSeconds, VolumeOffset};
use scrubjay_core::volume::block::{BlockReply, BlockRequest, ReadPart, RequestId};
use scrubjay_core::volume::format::blank;
use scrubjay_core::volume::format::geometry::{ArrayParameters, Geometry};
use scrubjay_core::volume::format::superblock::Superblock;
use scrubjay_core::volume::format::uuid::Uuid;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::member::{ArrayMachine, DiskFault, MemberOpDone, OpKind};
use scrubjay_device::member::{Access, OpenMember, make};
use scrubjay_serve::control::{CommandHandler, CommandId};
use scrubjay_serve::ended::{Flushed, ServerEnded};
use scrubjay_serve::members::MemberTable;
use scrubjay_serve::server::ServerStop;
use scrubjay_serve::volume::VolumeController;
use scrubjay_serve::volume::commands::{CommandAnswer, Stopped, VolumeCommand};
use scrubjay_serve::volume::conditions::MemberCondition;
use scrubjay_serve::volume::gather::gather;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Makes a 2+1 volume on these files.
fn make_volume(paths: &[PathBuf]) {
    make_volume_called(paths, Uuid([1; 16]));
}

fn make_volume_called(paths: &[PathBuf], array: Uuid) {
    let layout = Layout::new(LayoutKind::Rotating, Shape { data: 2, parity: 1 }, 3).unwrap();
    let parameters = ArrayParameters { layout, scheme: Scheme::Stamp, chunk_bytes: 4096, block_bytes: 512 };
    let geometry = Geometry::fit(&parameters, 4 << 20, None).unwrap();
    let superblock = blank::superblock(geometry, array, "", UnixSeconds(1), &[10, 11, 12].map(|n| Uuid([n; 16])));
    let member = |path: &PathBuf| {
        File::create(path).unwrap().set_len(4 << 20).unwrap();
        OpenMember::open(path, Access::ReadWrite).unwrap()
    };
    make(&paths.iter().map(member).collect::<Vec<_>>(), &superblock).unwrap();
}

#[test]
fn a_member_that_a_broken_volume_needs_is_not_overwritten() {
    let mut rig = Rig::new();
    assert_eq!(rig.ask(a_write()), BlockReply::Done);
    rig.unresponsive = vec![0, 1];
    assert!(matches!(rig.ask(a_write()), BlockReply::Failed(_)));

    rig.unresponsive = vec![0];
    let path = rig.paths[1].display().to_string();
    let answer = rig.perform(&VolumeCommand::Replace { member: 1, path, force: true }).0;
    assert!(OpenMember::open(&rig.paths[1], Access::Inspect).unwrap().superblock().is_ok(), "{answer:?}");
    let Rig { folder: _folder, paths, controller, members, .. } = rig;
    drop((controller, members));
    assert!(gather(&paths, false).is_ok(), "all is well again");
}

fn a_write() -> BlockRequest {
    BlockRequest::Write { offset: VolumeOffset(0), data: Buffer::copy_of(&[7; 8192]), is_durable: true }
}

/// Serves a volume, writes to it while the members in `unresponsive` do not answer, and stops it.
fn stopped_after(unresponsive: &[usize], fails_member: bool) -> Stopped {
    let mut rig = Rig::new();
    if fails_member {
        rig.fail(2);
    }
    rig.unresponsive = unresponsive.to_vec();
    let writes_failed = u64::from(matches!(rig.ask(a_write()), BlockReply::Failed(_)));
    rig.controller.stop(rig.now);
    rig.pump();
    assert!(rig.controller.is_stopped());
    rig.controller.stopped(&ServerEnded {
        flush: Flushed::Done,
        is_stopped: true,
        writes_failed,
        ..ServerEnded::default()
    })
}

#[test]
fn the_stop_report_matches_the_state_in_which_the_volume_is_left() {
    assert_eq!(
        stopped_after(&[], false).words(),
        "stopped 01010101-0101-0101-0101-010101010101: nothing was found wrong"
    );
    let lost = stopped_after(&[1], false);
    assert!(
        lost.problems.is_empty()
            && lost.left.len() == 1
            && lost.words().contains("member 1 is out of use (it does not answer)"),
        "{lost:?}"
    );
    let asked = stopped_after(&[], true);
    assert!(
        asked.problems.is_empty()
            && asked.words().ends_with(": member 2 is out of use (taken out by the administrator)"),
        "{asked:?}"
    );
    let broken = stopped_after(&[0, 1], false);
    assert!(broken.problems[0].contains("it is broken"), "{broken:?}");
    assert!(
        broken.words().contains("was not stopped in order") && broken.words().contains("1 write failed"),
        "{broken:?}"
    );
}

/// A served volume, and its disks.
struct Rig {
    folder: TempDir,
    paths: Vec<PathBuf>,
    controller: VolumeController,
    members: MemberTable,
    /// Members that do not answer.
    unresponsive: Vec<usize>,
    now: Nanos,
}

impl Rig {
    fn new() -> Rig {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = (0..3).map(|slot| folder.path().join(format!("{slot}.img"))).collect();
        make_volume(&paths);
        std::fs::copy(&paths[2], folder.path().join("older")).unwrap();
        let gathered = gather(&paths, false).unwrap();
        let volume = gathered.start(false, UnixSeconds(2)).unwrap();
        let controller = VolumeController::new(volume, gathered.paths.clone(), ServerStop::new().unwrap());
        let mut rig =
            Rig { folder, paths, controller, members: gathered.members, unresponsive: Vec::new(), now: Nanos(0) };
        rig.pump();
        rig
    }

    /// Performs the volume's operations. Returns the bytes written, by member.
    fn pump(&mut self) -> [usize; 3] {
        let mut written = [0; 3];
        while let Some(op) = self.controller.poll_op(self.now) {
            let file = self.members.file(op.member).filter(|_| !self.unresponsive.contains(&op.member.get()));
            let (buffer, result) = match (op.kind, file) {
                (OpKind::Read { offset, mut buffer }, Some(file)) => {
                    file.file().read_exact_at(&mut buffer, offset.get()).unwrap();
                    (Some(buffer), Ok(()))
                }
                (OpKind::Write { offset, buffer, .. }, Some(file)) => {
                    file.file().write_all_at(&buffer, offset.get()).unwrap();
                    written[op.member.get()] += buffer.len();
                    (Some(buffer), Ok(()))
                }
                (kind, file) => (kind.buffer(), if file.is_some() { Ok(()) } else { Err(DiskFault::Gone) }),
            };
            self.controller.handle(self.now, MemberOpDone { id: op.id, buffer, result });
        }
        written
    }

    fn ask(&mut self, request: BlockRequest) -> BlockReply {
        self.controller.submit(self.now, RequestId(1), request);
        self.pump();
        self.controller.poll_reply().expect("it was answered").1
    }

    /// Waits until no region counts as dirty any more.
    fn wait_until_clean(&mut self) {
        for _ in 0..60 {
            self.now = self.now.saturating_add(Nanos::from_secs(1));
            self.pump();
        }
    }

    /// Fills `len` bytes from `offset` on with `byte`.
    fn fill(&mut self, offset: u64, len: u64, byte: u8) {
        for offset in (offset..offset + len).step_by(8192) {
            let data = Buffer::copy_of(&[byte; 8192]);
            assert_eq!(
                self.ask(BlockRequest::Write { offset: VolumeOffset(offset), data, is_durable: false }),
                BlockReply::Done
            );
        }
        assert_eq!(self.ask(BlockRequest::Flush), BlockReply::Done);
    }

    /// Is every byte of this range `byte`?
    fn holds(&mut self, offset: u64, len: u64, byte: u8) -> bool {
        (offset..offset + len).step_by(8192).all(|offset| {
            let BlockReply::Read(parts) = self.ask(BlockRequest::Read { offset: VolumeOffset(offset), len: 8192 })
            else {
                return false;
            };
            parts.iter().all(
                |part| matches!(part, ReadPart::Data(data, at) if data[at.clone()].iter().all(|found| *found == byte)),
            )
        })
    }

    /// Gives a command; returns its result, and the bytes written, by member.
    fn perform(&mut self, command: &VolumeCommand) -> (Result<(), String>, [usize; 3]) {
        let line = serde_json::to_string(command).unwrap();
        let answer = self.controller.command(self.now, CommandId(0), &line, &mut self.members).unwrap();
        let written = self.pump();
        let result = match serde_json::from_str(&answer).unwrap() {
            CommandAnswer::Done => Ok(()),
            CommandAnswer::Error(why) => Err(why),
            CommandAnswer::Occupied(occupied) => Err(occupied.to_string()),
            answer => panic!("{answer:?}"),
        };
        (result, written)
    }

    fn fail(&mut self, member: usize) {
        assert_eq!(self.perform(&VolumeCommand::Fail { member }).0, Ok(()));
    }

    fn readd(&mut self, path: &Path) -> (Result<(), String>, [usize; 3]) {
        self.perform(&VolumeCommand::Readd { path: path.display().to_string() })
    }

    /// Checks that a disk is not taken back, with these words, and that it is neither written to nor kept open.
    fn refuses(&mut self, path: &Path, words: &str) {
        let before = std::fs::read(path).unwrap();
        let why = self.readd(path).0.expect_err("it is not to be taken back");
        assert!(why.contains(words), "{why}");
        assert!(std::fs::read(path).unwrap() == before, "{words}: it was written to");
    }

    fn state(&mut self, member: usize) -> (MemberCondition, bool) {
        let status = self.controller.status().members.swap_remove(member);
        (status.state, status.may_return)
    }
}

#[test]
fn a_member_that_was_out_is_taken_back_with_what_it_had() {
    let mut rig = Rig::new();
    let size = rig.controller.size() / 8192 * 8192;
    rig.fill(0, size, 7);
    rig.wait_until_clean();
    rig.fail(2);
    assert_eq!(rig.state(2), (MemberCondition::Failed, true));
    rig.fill(16384, 8192, 8);
    let path = rig.paths[2].clone();
    let (result, written) = rig.readd(&path);
    assert_eq!(result, Ok(()));
    assert_eq!(rig.state(2), (MemberCondition::Active, false));
    assert!(written[2] < 1 << 20, "{written:?}: all of it was rebuilt");
    // Without member 0, the member that came back is needed: it has everything.
    rig.fail(0);
    assert!(rig.holds(0, 16384, 7) && rig.holds(16384, 8192, 8) && rig.holds(24576, size - 24576, 7));
    assert!(OpenMember::open(&path, Access::ReadWrite).is_err(), "the volume has it alone");
}

#[test]
fn readd_refuses_every_disk_but_the_unchanged_member_and_leaves_it_untouched() {
    let mut rig = Rig::new();
    let older = rig.folder.path().join("older");
    let stranger = rig.folder.path().join("stranger");
    let strangers: Vec<PathBuf> = ["s0", "s1", "stranger"].map(|name| rig.folder.path().join(name)).to_vec();
    make_volume_called(&strangers, Uuid([2; 16]));
    let blank = rig.folder.path().join("blank");
    File::create(&blank).unwrap().set_len(4 << 20).unwrap();
    rig.fill(0, 1 << 20, 7);
    let own = rig.paths.clone();
    rig.refuses(&own[2], "it is in use (member 2)");

    rig.fail(2);
    rig.refuses(&own[0], "it is in use (member 0)");
    rig.refuses(&stranger, "it is no member of this volume; the status says");
    rig.refuses(&blank, "is no member of a volume");
    rig.refuses(&older, "older than what was there when it left; replace member 2 by it, by force");
    for free in [&stranger, &blank, &older] {
        assert!(OpenMember::open(free, Access::ReadWrite).is_ok(), "nobody has it");
    }

    // Another disk takes its place, and is taken out again.
    let replace = VolumeCommand::Replace { member: 2, path: blank.display().to_string(), force: false };
    assert_eq!(rig.perform(&replace).0, Ok(()));
    rig.refuses(&own[2], "another disk has its place (member 2)");
    rig.fail(2);
    rig.refuses(&own[2], "its place is taken, or was taken by another one since; replace member 2 by it, by force");
    assert_eq!(rig.readd(&blank).0, Ok(()));
    assert_eq!(rig.state(2).0, MemberCondition::Active);
    rig.fail(0);
    assert!(rig.holds(0, 1 << 20, 7));
}

#[test]
fn metadata_are_verified_though_the_first_stripe_was_never_written() {
    let mut rig = Rig::new();
    let copy = Superblock::offsets(4 << 20).unwrap()[0];
    let file = File::options().write(true).open(&rig.paths[1]).unwrap();
    file.write_all_at(&[0xaa; 200], (copy + 8).get()).unwrap();
    let verify = serde_json::to_string(&VolumeCommand::Verify { start: 0, end: 8 }).unwrap();
    let answer = rig.controller.command(rig.now, CommandId(3), &verify, &mut rig.members);
    assert_eq!(answer, None, "it takes a while");
    rig.pump();
    let (id, answer) = rig.controller.poll_answer().expect("it was answered");
    let CommandAnswer::Verified(verified) = serde_json::from_str(&answer).unwrap() else { panic!("{answer}") };
    assert_eq!((id, verified.read, verified.corrected), (CommandId(3), 0, 1));
}
