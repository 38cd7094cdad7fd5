//! `scrubjay volume create` and `inspect`: what they make, refuse, and leave alone.

use crate::bench::{Bench, RunResult};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;

const NAMES: [&str; 6] = ["a.img", "b.img", "c.img", "d.img", "e.img", "f.img"];
const CREATE: [&str; 6] = ["volume", "create", "--data", "4", "--parity", "2"];

/// Six empty files of 16 MiB.
fn bench() -> Bench {
    let bench = Bench { folder: tempfile::tempdir().expect("a temporary folder") };
    for name in NAMES {
        File::create(bench.folder.path().join(name)).unwrap().set_len(16 << 20).unwrap();
    }
    bench
}

fn write(bench: &Bench, name: &str, bytes: &[u8], at: u64) {
    let file = OpenOptions::new().write(true).open(bench.folder.path().join(name)).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

/// Is the file as `bench` made it?
fn is_untouched(bench: &Bench, name: &str) -> bool {
    fs::read(bench.folder.path().join(name)).unwrap().iter().all(|&byte| byte == 0)
}

fn json(ran: &RunResult) -> Value {
    let document: Value = serde_json::from_str(&ran.stdout).expect("JSON and nothing else");
    assert_eq!(document["schema"], 1);
    document
}

#[test]
fn a_volume_is_made_and_found_again_in_any_order() {
    let bench = bench();
    let ran = bench.run(&[&CREATE[..], &["--name", "photos"], &NAMES].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stdout.starts_with("volume photos "), "{ran:?}");
    assert!(ran.stdout.contains("4 data and 2 parity chunks of 64 KiB a stripe, layout rotating, scheme stamp"));
    let mut names = NAMES;
    names.reverse();
    let ran = bench.run(&[&["volume", "inspect"], &names[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("f.img (16 MiB) is member 5 of volume photos "), "{ran:?}");
    assert!(ran.stdout.ends_with("together: complete\n"), "{ran:?}");
    let ran = bench.run(&["volume", "inspect", "a.img", "b.img", "c.img", "e.img"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.ends_with("together: degraded: member 3 (not here), 5 (not here)\n"), "{ran:?}");
    let ran = bench.run(&["volume", "inspect", "e.img", "a.img"]);
    let named = "named: 2 of 6 members: 0, 4 (to serve it, name all; it can do without 2)\n";
    assert!(ran.code == Some(0) && ran.stdout.ends_with(named), "{ran:?}");
    let ran = bench.run(&["volume", "inspect", "a.img"]);
    assert_eq!(ran.code, Some(0), "one member may be looked at");
    assert!(ran.stdout.contains("  metadata: intents from byte "), "{ran:?}");
    assert!(ran.stdout.contains("\nnamed: 1 of 6 members: 0 (") && !ran.stdout.contains("too few"), "{ran:?}");
}

#[test]
fn the_json_has_every_promised_field() {
    let bench = bench();
    let created = json(&bench.run(&[&CREATE[..], &["--json", "--chunk", "4KiB", "--size", "10MiB"], &NAMES].concat()));
    assert_eq!((&created["bytes"], &created["data"], &created["parity"]), (&(10 << 20).into(), &4.into(), &2.into()));
    assert_eq!(
        (&created["chunk_bytes"], &created["scheme"], &created["layout"]),
        (&4096.into(), &"stamp".into(), &"rotating".into())
    );
    assert_eq!((&created["stripes"], &created["members"][5]["path"]), (&640.into(), &"f.img".into()));
    let inspected = json(&bench.run(&[&["volume", "inspect", "--json"], &NAMES[..]].concat()));
    assert_eq!(
        (&inspected["complete"], &inspected["startable"], &inspected["error"]),
        (&true.into(), &true.into(), &Value::Null)
    );
    let superblock = &inspected["members"][2]["superblock"];
    let areas: Vec<&str> =
        superblock["areas"].as_array().unwrap().iter().filter_map(|area| area["name"].as_str()).collect();
    assert_eq!(areas, ["intents", "while-out", "map"], "{superblock}");
    assert_eq!(
        (&superblock["volume"], &superblock["slot"], &superblock["generation"]),
        (&created["volume"], &2.into(), &1.into())
    );
    assert_eq!((&superblock["clean"], &superblock["geometry"]["bytes"]), (&true.into(), &created["bytes"]));
    assert_eq!(superblock["members"][2]["uuid"], created["members"][2]["uuid"]);
    assert_eq!(superblock["members"][0]["state"], "active");
}

#[test]
fn existing_data_are_not_overwritten_unless_the_member_is_named() {
    let bench = bench();
    write(&bench, "b.img", b"precious", 1 << 10);
    write(&bench, "d.img", b"EFI PART", 512);
    let create = [&CREATE[..], &NAMES].concat();
    let text = "b.img is not empty, d.img has partitions: to overwrite them, add --force b.img --force d.img";
    bench.run(&create).refused(2, text);
    assert!(is_untouched(&bench, "a.img"));
    let forced = |names: &[&'static str]| {
        let forces = names.iter().flat_map(|name| ["--force", *name]).collect::<Vec<_>>();
        bench.run(&[&create[..], &forces].concat())
    };
    forced(&["b.img"]).refused(2, "d.img has partitions: to overwrite it, add --force d.img");
    forced(&["b.img", "d.img", "x.img"]).refused(2, "--force x.img: no member is called so");
    assert!(NAMES.iter().filter(|name| !["b.img", "d.img"].contains(name)).all(|name| is_untouched(&bench, name)));
    assert_eq!(forced(&["b.img", "d.img"]).code, Some(0));
    assert_eq!(fs::read(bench.folder.path().join("b.img")).unwrap()[1 << 10..][..8], [0; 8], "the head is wiped");
    let ran = bench.run(&[&create[..], &["--force", "a.img"]].concat());
    ran.refused(2, "b.img is member 1 of volume");
}

#[test]
fn nothing_is_written_when_anything_is_wrong() {
    let bench = bench();
    let refused = |arguments: &[&str], words| bench.run(&[&["volume", "create"], arguments].concat()).refused(2, words);
    let shape = ["--data", "4", "--parity", "2"];
    let six = |arguments: &[&str], words| refused(&[&shape[..], arguments, &NAMES].concat(), words);
    refused(
        &[&shape[..], &NAMES[..5], &["g.img"]].concat(),
        "g.img: no such file or device (a file is made with: truncate -s",
    );
    refused(&[&shape[..], &NAMES[..5]].concat(), "4+2 needs 6 members, and 5 were named");
    refused(&[&shape[..], &NAMES[..5], &["a.img"]].concat(), "is named twice");
    refused(&[&shape[..], &NAMES[..5], &["."]].concat(), "is a directory: name a block device or a file");
    six(&["--chunk", "3KiB"], "a chunk of 3072 bytes: it must be a power of two");
    six(&["--size", "1GiB"], "the members hold a volume of");
    six(&["--layout", "raid5-ls"], "raid5-ls takes one parity");
    six(&["--name", "two\nlines"], "--name is 64 bytes of text at the most");
    File::options().write(true).open(bench.folder.path().join("c.img")).unwrap().set_len(1 << 20).unwrap();
    six(&[], "the smallest member is too small for a single stripe");
    assert!(NAMES.iter().all(|name| is_untouched(&bench, name)));
}

#[test]
fn problems_among_members_are_reported_and_set_the_exit_code() {
    let bench = bench();
    assert_eq!(bench.run(&[&CREATE[..], &NAMES].concat()).code, Some(0));
    // All four copies of one member's superblock are overwritten, and another file is no member.
    for at in [4096, 20_480, (16 << 20) - 32_768, (16 << 20) - 16_384] {
        write(&bench, "a.img", &[0xee; 64], at + 100);
    }
    fs::write(bench.folder.path().join("z.img"), vec![0; 1 << 20]).unwrap();
    let ran = bench.run(&["volume", "inspect", "a.img", "z.img"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("a.img is a member of a volume, but all its superblocks are damaged"), "{ran:?}");
    assert!(ran.stdout.contains("z.img is no member of a volume"), "{ran:?}");
    bench.run(&["volume", "inspect", "nowhere"]).refused(2, "nowhere: no such file or device");
    fs::copy(bench.folder.path().join("b.img"), bench.folder.path().join("copy.img")).unwrap();
    let ran = bench.run(&["volume", "inspect", "b.img", "copy.img", "c.img", "d.img", "e.img"]);
    assert!(ran.code == Some(3) && ran.stdout.contains("b.img and copy.img are the same member (1)"), "{ran:?}");
}

/// Names may come from other users, and a terminal executes control sequences in them.
#[test]
fn no_name_sends_commands_to_the_terminal() {
    let bench = bench();
    let hostile = "\u{1b}[2Jx\u{9b}31m.img";
    fs::rename(bench.folder.path().join("f.img"), bench.folder.path().join(hostile)).unwrap();
    let members = [&NAMES[..5], &[hostile]].concat();
    let created = bench.run(&[&CREATE[..], &["--name", "\u{202e}photos"], &members].concat());
    let inspected = bench.run(&[&["volume", "inspect"], &members[..]].concat());
    for ran in [&created, &inspected] {
        assert!(ran.code == Some(0) && ran.stdout.contains("\\e[2Jx\\x9b31m.img"), "{ran:?}");
        assert!(!ran.stdout.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{ran:?}");
    }
    fs::write(bench.folder.path().join(hostile), vec![0; 1 << 20]).unwrap();
    let stranger = bench.run(&["volume", "inspect", hostile, "\u{1b}c"]);
    stranger.refused(2, "\\ec: no such file or device");
    let stranger = bench.run(&["volume", "inspect", hostile]);
    assert!(stranger.stdout.starts_with("\\e[2Jx\\x9b31m.img is no member of a volume"), "{stranger:?}");
}
