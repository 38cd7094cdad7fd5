//! What documents say of the program holds. (That what they tell people to type can be typed, `cargo xtask typed` tries.)

use crate::bench::Bench;
use crate::nbd::Nbd;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;

const INSTALL: &str = include_str!("../../../../docs/install.md");
const VOLUME: &str = include_str!("../../../../docs/volume.md");

#[test]
fn the_services_keep_to_the_memory_that_docs_install_states() {
    let limit = |unit: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix("MemoryMax=")).expect("a limit");
        line.replace('G', " GiB").replace('M', " MiB")
    };
    let watch = limit(include_str!("../../../../packaging/systemd/scrubjay.service"));
    let page = limit(include_str!("../../../../packaging/systemd/scrubjay-web.service"));
    let stated = format!("The service is limited to {watch} of memory, its page to {page}");
    assert!(INSTALL.split_whitespace().collect::<Vec<_>>().join(" ").contains(&stated), "{stated}");
}

/// The volume's commands in docs/volume.md, one after the other, on files.
#[test]
fn the_commands_of_docs_volume_succeed_to_the_last() {
    let bench = Bench::with_image(1);
    for name in ["a.img", "b.img", "c.img", "d.img", "e.img", "f.img", "new.img"] {
        std::fs::File::create(bench.folder.path().join(name)).unwrap().set_len(64 << 20).unwrap();
    }
    let run = bench.folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    let block = VOLUME.split("```").find(|block| block.contains("volume create")).expect("a block");
    let (mut server, mut is_damaged) = (None, false);
    for line in block.lines() {
        if line.starts_with("nbdcopy ") {
            let mut nbd = Nbd::connect(&bench.folder.path().join("photos.sock")).unwrap();
            nbd.write(0, &[7; 40 << 10]).unwrap();
            nbd.flush().unwrap();
            nbd.disconnect().unwrap();
        }
        if line.starts_with("dd if=/dev/zero of=b.img bs=1M seek=1 count=8 ") {
            let member = OpenOptions::new().write(true).open(bench.folder.path().join("b.img")).unwrap();
            member.write_all_at(&vec![0; 8 << 20], 1 << 20).unwrap();
            is_damaged = true;
        }
        let Some(line) = line.strip_prefix("scrubjay ") else { continue };
        let words: Vec<&str> = line.split(" #").next().unwrap().trim_end_matches(" &").split_whitespace().collect();
        let mut command = bench.command(&words);
        command.env("SCRUBJAY_RUN", &run);
        if words[1] == "serve" {
            let mut child = command.spawn().unwrap();
            let mut messages = BufReader::new(child.stderr.take().expect("a pipe")).lines();
            let first = messages.next().expect("it says what it serves").unwrap();
            assert!(first.starts_with("serving photos"), "{first}");
            server = Some((child, messages));
            continue;
        }
        let output = command.output().unwrap();
        // A degraded volume (now or before) is a problem found by a scrub; nothing else may fail.
        let code = output.status.code();
        let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
        assert!(code == Some(0) || words[0] == "scrub" && code == Some(3), "{words:?}: {code:?} {text}");
        if words[0] == "scrub" {
            assert!(is_damaged && text.contains("WRONG, rebuilt") && text.contains("(b.img)"), "{text}");
            is_damaged = false;
        }
    }
    let (mut server, messages) = server.expect("it was served");
    let code = server.wait().unwrap().code();
    assert_eq!(code, Some(0), "{:?}", messages.map(Result::unwrap).collect::<Vec<_>>());
}
