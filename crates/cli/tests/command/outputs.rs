//! Files that the command writes: never through a link, never onto a disk, and as root never where other users could interfere.

use crate::bench::{Bench, RunResult};
use crate::probe::Loop;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

/// The id of another user.
const OTHER_USER: u32 = 54_321;

fn is_root() -> bool {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        eprintln!("SKIPPED: only root can give files away");
    }
    is_root
}

/// All commands that write a file, here `name`.
fn writers(name: &str) -> [Vec<&str>; 3] {
    [
        vec!["trace", "generate", "--model", "mid-read", "--hours", "1", "--save", name, "--force"],
        vec!["trace", "generate", "--model", "mid-read", "--hours", "1", name, "--to", "msr", "--force"],
        vec!["tune", "trace.csv", "--min-requests", "1", "--config", name, "--force"],
    ]
}

fn with_trace() -> Bench {
    let bench = Bench::with_image(1);
    let ran = bench.run(&["trace", "generate", "--model", "mid-read", "--hours", "1", "trace.csv"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    bench
}

fn exits_with_usage(ran: &RunResult, words: &str) {
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains(words), "`{words}` in {ran:?}");
}

#[test]
fn an_output_is_not_written_onto_a_disk() {
    let bench = with_trace();
    let Some(device) = Loop::on(&bench.image(), &[]) else { return };
    for arguments in writers(&device.0) {
        exits_with_usage(&bench.run(&arguments), &format!("{} is a disk: name a file", device.0));
    }
    assert!(fs::read(bench.image()).unwrap().iter().all(|byte| *byte == 0xa5), "not a byte was written");
}

#[test]
fn an_output_is_not_written_through_a_link() {
    let bench = with_trace();
    symlink(bench.image(), bench.folder.path().join("link")).unwrap();
    for arguments in writers("link") {
        exits_with_usage(&bench.run(&arguments), "link is a link");
    }
    bench.run(&["scrub", "disk.img", "--record", "link"]).refused(2, "link is a link");
    assert!(fs::read(bench.image()).unwrap().iter().all(|byte| *byte == 0xa5), "not a byte was written");
}

#[test]
fn an_output_is_replaced_as_a_whole_by_a_new_file() {
    let bench = with_trace();
    for arguments in writers("out") {
        let out = bench.folder.path().join("out");
        fs::write(&out, "old").unwrap();
        let before = fs::File::open(&out).unwrap();
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(std::io::read_to_string(before).unwrap(), "old", "whoever has it open still has the old one");
        assert!(fs::metadata(&out).unwrap().len() > 100);
    }
    let left = fs::read_dir(bench.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with('.')), "nothing is left beside");
}

/// In the state folder, every name that a scrub has ever used is a link.
#[test]
fn the_state_is_not_written_through_links() {
    let bench = Bench::with_image(1);
    let victim = bench.folder.path().join("victim");
    let scrub = ["scrub", "disk.img", "--policy", "none"];
    assert_eq!(bench.run(&scrub).code, Some(0));
    let state = bench.state_file("scrub").unwrap();
    fs::write(&victim, "precious").unwrap();
    for ending in [".probe", ".new", ".hasty", ""] {
        let link = format!("{}{ending}", state.display());
        let _ = fs::remove_file(&link);
        symlink(&victim, &link).unwrap();
        let ran = bench.run(&scrub);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{ending}: {ran:?}");
        let _ = fs::remove_file(&link);
    }
}

#[test]
fn root_keeps_no_state_in_a_folder_that_another_user_controls() {
    let bench = Bench::with_image(1);
    if !is_root() {
        return;
    }
    let refused = |words: &str| {
        let ran = bench.run(&["scrub", "disk.img", "--policy", "none"]);
        ran.refused(1, words);
        assert!(ran.stderr.contains("--state DIR"), "{ran:?}");
    };
    // A folder of another user, and root's folder in it.
    fs::create_dir(bench.state()).unwrap();
    chown(bench.state(), Some(OTHER_USER), None).unwrap();
    refused("belongs to user 54321");
    fs::create_dir_all(bench.state().join("scrubjay")).unwrap();
    refused("belongs to user 54321");
    // A path through a link of another user.
    let elsewhere = bench.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::remove_dir_all(bench.state()).unwrap();
    symlink(&elsewhere, bench.state()).unwrap();
    std::os::unix::fs::lchown(bench.state(), Some(OTHER_USER), None).unwrap();
    refused("belongs to user 54321");
    fs::remove_file(bench.state()).unwrap();
    // Root's folder, in which any user may exchange files.
    fs::create_dir(bench.state()).unwrap();
    fs::set_permissions(bench.state(), fs::Permissions::from_mode(0o777)).unwrap();
    refused("may be written by others");
    fs::set_permissions(bench.state(), fs::Permissions::from_mode(0o1777)).unwrap();
    assert_eq!(bench.run(&["scrub", "disk.img", "--policy", "none"]).code, Some(0), "as /tmp is");
    assert!(Path::new(&bench.state().join("scrubjay")).is_dir());
}

/// The names of manual pages can be predicted.
#[test]
fn the_manual_is_not_written_through_links() {
    let bench = Bench::with_image(1);
    let folder = bench.folder.path().join("man");
    fs::create_dir(&folder).unwrap();
    symlink(bench.image(), folder.join("scrubjay-scrub.1")).unwrap();
    exits_with_usage(&bench.run(&["generate", "man", "man"]), "scrubjay-scrub.1 is a link");
    assert!(fs::read(bench.image()).unwrap().iter().all(|byte| *byte == 0xa5));
}
