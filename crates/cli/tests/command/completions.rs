//! What a shell completes, by running it.

use crate::served::{NAMES, Served};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// What bash offers for the last of these words, in the order of the alphabet.
fn offered(served: &Served, words: &[&str]) -> Vec<String> {
    let folder = served.bench.folder.path();
    let script = folder.join("completions.bash");
    if !script.exists() {
        fs::write(&script, served.run(&["generate", "completions", "bash"]).stdout).unwrap();
    }
    let (last, before) = words.split_last().expect("a word");
    let ask = "source ./completions.bash; program=$1; shift; COMP_WORDS=(\"$program\" \"$@\"); COMP_CWORD=$#
        _scrubjay_and_values \"$program\" \"${!#}\" \"${COMP_WORDS[COMP_CWORD-1]}\"
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let program = env!("CARGO_BIN_EXE_scrubjay");
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", ask, "bash", program]).args(before).arg(last).current_dir(folder);
    let output = bash.env("SCRUBJAY_RUN", folder.join("run")).stdin(Stdio::null()).output().expect("bash starts");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    let mut offers: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    offers.sort();
    offers
}

#[test]
fn bash_completes_targets_volumes_and_names() {
    let mut served = Served::new();
    let nobody = offered(&served, &["volume", "stop", ""]);
    assert_eq!(nobody, [""]);
    served.serve(&NAMES[..6]);
    let offers = |words: &[&str]| offered(&served, words);
    let targets = offers(&["scrub", ""]);
    let has = |name: &str| targets.iter().any(|offer| offer == name);
    assert!(has("photos") && has("new") && !has("--policy"), "{targets:?}");
    let a_disk = fs::read_dir("/sys/class/block").into_iter().flatten().filter_map(|entry| {
        let path = entry.ok()?.path();
        let is_there = fs::read_to_string(path.join("size")).ok()?.trim() != "0";
        let name = path.file_name()?.to_str()?.replace('!', "/");
        (is_there && !name.contains("ram")).then(|| format!("/dev/{name}"))
    });
    for disk in a_disk.filter(|disk| Path::new(disk).exists()) {
        assert!(has(&disk), "{disk} in {targets:?}");
    }
    assert_eq!(offers(&["scrub", "--policy", "budget", "--no-progress", "pho"]), ["photos"]);
    assert_eq!(offers(&["scrub", "a", "ne"]), ["new"]);
    assert!(offers(&["scrub", "--sl"]).contains(&"--slowdown".to_owned()));
    assert_eq!(offers(&["scrub", "a", "--slowdown", ""]), [""]);
    assert_eq!(offers(&["scrub", "a", "--policy", "w"]), ["waiting"]);
    assert_eq!(offers(&["scrub", "a", "--record", "co"]), ["completions.bash"]);
    for verb in [&["volume", "status"][..], &["volume", "stop"], &["volume", "fail", "2", "--volume"]] {
        assert_eq!(offers(&[verb, &[""]].concat()), ["photos"], "{verb:?}");
    }
    assert_eq!(offers(&["volume", "fail", "2", "--volume", "=", "ph"]), ["photos"]);
    assert_eq!(offers(&["volume", "inspect", "n"]), ["nbd.sock", "new"]);
    assert_eq!(offers(&["trace", "generate", "--model", "mid-"]), ["mid-read", "mid-write"]);
    assert_eq!(offers(&["tune", "x.csv", "--disk", ""]), ["ultrastar-15k450"]);
    assert_eq!(offers(&["generate", "completions", "z"]), ["zsh"]);
    assert!(offers(&["vol"]).contains(&"volume".to_owned()));
}

#[test]
fn zsh_and_fish_are_told_of_volumes_too() {
    let served = Served::new();
    let script = |shell| served.run(&["generate", "completions", shell]).stdout;
    let zsh = script("zsh");
    assert!(zsh.contains(":VOLUME:_scrubjay_volumes'") && zsh.contains(":_scrubjay_targets' \\"), "{zsh}");
    let fish = script("fish");
    assert!(fish.contains("-l volume ") && fish.contains("-a \"(__scrubjay_volumes)\""), "{fish}");
}
