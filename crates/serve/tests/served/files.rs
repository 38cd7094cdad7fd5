//! A volume of one real file: through the page cache, direct, or in memory.

use crate::file_array::FileArray;
use crate::fio::verify;
use crate::host::Host;
use scrubjay_core::index::MemberIndex;
use scrubjay_device::completion::MemberFile;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The size of the file in bytes: 16 MiB.
const SIZE: u64 = 16 << 20;

/// `O_DIRECT` of x86-64.
const DIRECT: i32 = 0o40000;

fn check(folder: &Path, flags: i32) {
    let folder = tempfile::tempdir_in(folder).unwrap();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).custom_flags(flags);
    let Ok(file) = options.open(folder.path().join("disk")) else {
        return eprintln!("NOT TESTED: direct I/O in {}", folder.path().display());
    };
    file.set_len(SIZE).unwrap();
    let prepare =
        |server: &mut scrubjay_serve::server::Server| server.members.set(MemberIndex(0), Some(MemberFile::new(file)));
    let Some(host) = Host::start(FileArray::new(SIZE), prepare) else { return };
    verify(&host.uri(), &["--verify=crc32c", "--do_verify=1", "--bs=4k", "--fsync=64"]);
    verify(&host.uri(), &["--verify=crc32c", "--do_verify=1", "--bs=128k"]);
    host.end();
}

#[test]
fn a_file_in_the_page_cache_keeps_what_it_is_given() {
    check(&std::env::temp_dir(), 0);
}

#[test]
fn a_file_without_the_page_cache_keeps_what_it_is_given() {
    check(&std::env::temp_dir(), DIRECT);
}

#[test]
fn a_file_in_memory_keeps_what_it_is_given() {
    check(Path::new("/dev/shm"), 0);
}
