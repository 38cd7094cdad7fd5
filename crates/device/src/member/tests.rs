//! Files as members: access, detection of contents, making of volumes.

use super::*;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::index::MemberIndex;
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::units::{MemberOffset, UnixSeconds};
use scrubjay_core::volume::format::assemble::{SlotState, assemble};
use scrubjay_core::volume::format::blank;
use scrubjay_core::volume::format::geometry::{ArrayParameters, Geometry, MetadataArea};
use scrubjay_core::volume::format::superblock::{Superblock, SuperblockError};
use scrubjay_core::volume::format::uuid::Uuid;
use scrubjay_core::volume::format::{intent, written};
use scrubjay_core::volume::integrity::scheme::Scheme;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn image(folder: &TempDir, name: &str, bytes: u64) -> PathBuf {
    let path = folder.path().join(name);
    File::create(&path).unwrap().set_len(bytes).unwrap();
    path
}

fn refused(path: &Path, access: Access) -> String {
    OpenMember::open(path, access).expect_err("refused").to_string()
}

/// Makes a 2+1 volume on these members.
fn volume(members: &[OpenMember]) -> Superblock {
    let layout = Layout::new(LayoutKind::Rotating, Shape { data: 2, parity: 1 }, 3).unwrap();
    let parameters = ArrayParameters { layout, scheme: Scheme::Stamp, chunk_bytes: 4096, block_bytes: 4096 };
    let least = members.iter().map(|member| member.bytes).min().unwrap();
    let geometry = Geometry::fit(&parameters, least, None).unwrap();
    let names = [1, 2, 3].map(|name| Uuid([name; 16]));
    let superblock = blank::superblock(geometry, new_uuid().unwrap(), "photos", UnixSeconds(1), &names);
    make(members, &superblock).unwrap();
    superblock
}

#[test]
fn a_path_that_cannot_be_a_member_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.img");
    assert!(refused(&path, Access::ReadWrite).ends_with("a.img: no such file or device"));
    assert!(refused(folder.path(), Access::Inspect).contains("is a directory: name a block device or a file"));
    assert!(refused(Path::new("/dev/null"), Access::ReadWrite).contains("is a character device"));
}

#[test]
fn a_member_has_one_writer_or_several_readers_and_any_inspectors() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(&folder, "a.img", 1 << 20);
    let writer = OpenMember::open(&path, Access::ReadWrite).unwrap();
    for access in [Access::ReadWrite, Access::ReadOnly] {
        let text = refused(&path, access);
        assert!(text.contains("is named twice"), "{text}");
    }
    OpenMember::open(&path, Access::Inspect).unwrap();
    drop(writer);
    let readers = [(); 2].map(|()| OpenMember::open(&path, Access::ReadOnly).unwrap());
    refused(&path, Access::ReadWrite);
    drop(readers);
    OpenMember::open(&path, Access::ReadWrite).unwrap();
}

#[test]
fn contents_that_would_be_lost_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(&folder, "a.img", 4 << 20);
    let contents = || OpenMember::open(&path, Access::Inspect).unwrap().contents().unwrap();
    let with = |bytes: &[u8], at: u64| {
        File::create(&path).unwrap().set_len(4 << 20).unwrap();
        OpenOptions::new().write(true).open(&path).unwrap().write_all_at(bytes, at).unwrap();
        contents()
    };
    assert_eq!(contents(), None);
    assert_eq!(with(b"ext4", 1080), Some(Contents::Something));
    assert_eq!(with(&[1], (4 << 20) - 1), Some(Contents::Something));
    assert_eq!(with(b"EFI PART", 512), Some(Contents::Partitions));
    let mut mbr = [0; 512];
    (mbr[450], mbr[458], mbr[510], mbr[511]) = (0x83, 1, 0x55, 0xaa);
    assert_eq!(with(&mbr, 0), Some(Contents::Partitions));
    assert_eq!(with(&mbr[451..], 451), Some(Contents::Something), "no partition in it");
    assert_eq!(with(b"SCRUBJAY", 4096), Some(Contents::DamagedMember));
    let short = image(&folder, "short", 1000);
    assert_eq!(OpenMember::open(&short, Access::Inspect).unwrap().contents().unwrap(), None);
}

#[test]
fn a_made_volume_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = [4 << 20, (5 << 20) + 700, 6 << 20];
    let paths = [0, 1, 2].map(|slot| image(&folder, &format!("{slot}.img"), sizes[slot]));
    let members = || paths.each_ref().map(|path| OpenMember::open(path, Access::ReadWrite).unwrap());
    for (member, byte) in members().iter().zip(1..) {
        let mut old = Buffer::zeroed(member.bytes as usize);
        old.fill(byte);
        member.write(MemberOffset(0), &old).unwrap();
    }
    let made = volume(&members());
    let members = members();
    let given = members.each_ref().map(OpenMember::given);
    let assembly = assemble(&given).unwrap();
    assert_eq!(assembly.superblock.of_member(MemberIndex(0)), made);
    assert_eq!(assembly.members, [0, 1, 2].map(SlotState::Active));

    let (mut dirty, mut map) = (intent::Union::new(&made.geometry), written::WrittenMap::new(&made.geometry));
    for member in &members {
        let mut page = member.read(made.geometry.page_offset(MetadataArea::Intents, 0, 0), 4096).unwrap();
        page.truncate(made.geometry.block_bytes as usize);
        dirty.add(&intent::IntentPage::decode(&page, made.array, intent::IntentBit::Dirty, 0).unwrap());
        let page = member.read(made.geometry.page_offset(MetadataArea::WrittenMap, 0, 1), 4096).unwrap();
        map.add(&made.geometry, &written::WrittenPage::decode(&page, made.array, 0).unwrap());
        let other = member.read(made.geometry.page_offset(MetadataArea::WrittenMap, 0, 2), 4096).unwrap();
        assert!(written::WrittenPage::decode(&other, made.array, 0).is_err());
        assert!(member.read(MemberOffset(0), 4096).unwrap().iter().all(|&byte| byte == 0), "the head is empty");
    }
    assert_eq!((dirty.dirty().count(), map.stripes.count()), (0, 0));
    let contents = members[1].contents().unwrap();
    assert_eq!(contents, Some(Contents::Member { volume: "photos".to_owned(), member: 1 }));
}

#[test]
fn one_sound_copy_of_the_superblock_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [0, 1, 2].map(|slot| image(&folder, &format!("{slot}.img"), 4 << 20));
    let members = paths.each_ref().map(|path| OpenMember::open(path, Access::ReadWrite).unwrap());
    let made = volume(&members);
    let [start, end] = made.places(4 << 20);
    let zeros = Buffer::zeroed(4096);
    members[0].write(start, &zeros).unwrap();
    assert_eq!(members[0].superblock(), Ok(made.clone()));
    let mut damaged = members[0].read(end, 4096).unwrap();
    damaged[100] ^= 1;
    members[0].write(end, &damaged).unwrap();
    assert_eq!(members[0].superblock(), Err(SuperblockError::Damaged));
}

#[test]
fn a_write_past_the_end_fails_and_leaves_the_file_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(&folder, "a.img", 1 << 20);
    let member = OpenMember::open(&path, Access::ReadWrite).unwrap();
    assert!(member.write(MemberOffset((1 << 20) - 4096), &Buffer::zeroed(8192)).is_err());
    assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 20);
}

#[test]
fn a_file_that_moved_to_greater_blocks_goes_through_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let mut member = OpenMember::open(&image(&folder, "a.img", 1 << 20), Access::ReadWrite).unwrap();
    member.block_bytes = 4096;
    member.use_block(4096).unwrap();
    member.use_block(512).unwrap();
    assert_eq!((member.block_bytes, member.is_direct, member.block_to_make()), (512, false, 512));
    member.write(MemberOffset(512), &Buffer::zeroed(512)).unwrap();
    // At an address that direct I/O would refuse.
    member.file.read_exact_at(&mut [0; 100], 13).unwrap();
}

/// A loop device on a file, removed when dropped. `None`: not supported here.
struct Loop(PathBuf);

impl Loop {
    fn on(file: &Path) -> Option<Loop> {
        let made = Command::new("losetup").args(["-f", "--show"]).arg(file).output().ok()?;
        if !made.status.success() {
            eprintln!("NOT TESTED: loop devices ({})", String::from_utf8_lossy(&made.stderr).trim());
            return None;
        }
        Some(Loop(PathBuf::from(String::from_utf8(made.stdout).unwrap().trim())))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.0).status();
    }
}

#[test]
fn a_file_and_the_loop_device_on_it_have_one_holder() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(&folder, "a.img", 4 << 20);
    let writer = OpenMember::open(&path, Access::ReadWrite).unwrap();
    let Some(device) = Loop::on(&path) else { return };
    for access in [Access::ReadWrite, Access::ReadOnly] {
        let text = refused(&device.0, access);
        assert!(text.contains("is named twice"), "{text}");
    }
    OpenMember::open(&device.0, Access::Inspect).unwrap();
    drop(writer);
    let Some(other) = Loop::on(&path) else { return };
    let served = OpenMember::open(&device.0, Access::ReadWrite).unwrap().into_file();
    assert!(refused(&other.0, Access::ReadWrite).contains("is named twice"), "another device on the same file");
    drop(served);
    OpenMember::open(&other.0, Access::ReadWrite).unwrap();
}
