//! The commands in README.md are accepted by this binary.

use crate::bench::Bench;
use crate::nbd::Nbd;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;

const README: &str = include_str!("../../../../README.md");

/// The words of each `scrubjay` command in a fenced block, without prompt, `sudo`, comment and `&`.
fn commands() -> Vec<Vec<&'static str>> {
    let blocks = README.split("```").skip(1).step_by(2);
    let lines = blocks.filter(|block| !block.starts_with("text")).flat_map(str::lines);
    let commands = lines.filter_map(|line| {
        let line = line.trim_start_matches("$ ").trim_start_matches("sudo ");
        let words = line.strip_prefix("scrubjay").filter(|rest| rest.is_empty() || rest.starts_with(' '))?;
        let words = words.split(" #").next().unwrap_or_default().trim().trim_end_matches('&');
        Some(words.split_whitespace().collect())
    });
    commands.collect()
}

#[test]
fn every_command_of_the_readme_is_accepted() {
    let (bench, commands) = (Bench::with_image(1), commands());
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        // Wrong words are refused before the help is printed.
        let ran = bench.run(&[&command[..], &["--help"]].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{command:?}");
    }
    let wrong = bench.run(&["scrub", "/dev/sda", "--slowdwn", "1ms", "--help"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let wrong = bench.run(&["scrub", "/dev/sda", "--slowdown", "soon", "--help"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}

#[test]
fn the_services_keep_to_the_memory_that_the_readme_states() {
    let limit = |unit: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix("MemoryMax=")).expect("a limit");
        line.replace('G', " GiB").replace('M', " MiB")
    };
    let watch = limit(include_str!("../../../../packaging/systemd/scrubjay.service"));
    let page = limit(include_str!("../../../../packaging/systemd/scrubjay-web.service"));
    let stated = format!("the service is limited to {watch} of memory, its page to {page}");
    assert!(README.split_whitespace().collect::<Vec<_>>().join(" ").contains(&stated), "{stated}");
}

/// The volume's commands in the README, one after the other, on files.
#[test]
fn the_volume_commands_of_the_readme_succeed_to_the_last() {
    let bench = Bench::with_image(1);
    for name in ["a.img", "b.img", "c.img", "d.img", "e.img", "f.img", "new.img"] {
        std::fs::File::create(bench.folder.path().join(name)).unwrap().set_len(64 << 20).unwrap();
    }
    let run = bench.folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    let block = README.split("```").find(|block| block.contains("volume create")).expect("a block");
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
