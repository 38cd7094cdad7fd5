//! `explain` on every recording of smartctl: the verdict, the exit code, the words.

use crate::bench::{Bench, RunResult};
use std::fs;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../daemon/tests/fixtures");

/// Recordings, with the state of the disk, the exit code, and words that the output must contain.
const VERDICTS: [(&str, &str, i32, &str); 30] = [
    ("recorded/sata.json", "ok", 0, "a quarter of those that fail gave none"),
    ("recorded/nvme.json", "ok", 0, "media errors 0"),
    ("recorded/self-test-passed.json", "ok", 0, "remapped sectors (5) 0"),
    ("recorded/scsi-debug.json", "unknown", 3, "shows no counter that foretells failures"),
    ("recorded/scsi-hd.json", "virtual", 3, "only the host knows how its disks are"),
    ("recorded/virtio.json", "unknown", 3, "no SMART"),
    ("recorded/no-permission.json", "unknown", 4, "Record it again as root"),
    ("recorded/disk-group-nvme.json", "unknown", 4, "Record it again as root"),
    ("recorded/disk-group-sata.json", "unknown", 3, "the drive did not even identify itself"),
    ("recorded/absent.json", "missing", 3, "not there any more"),
    ("recorded/sat-on-scsi.json", "asleep", 3, "was not woken"),
    ("altered/standby.json", "asleep", 3, "was not woken"),
    ("altered/packed.json", "ok", 0, "command time-outs (188) 12, transfer errors (199) 87, 26 °C"),
    ("altered/pending.json", "replace", 3, "74 times as often"),
    ("altered/failing.json", "replace", 3, "at or below its own threshold: Reallocated_Sector_Ct (5)"),
    ("altered/self-test.json", "replace", 3, "its own self-test"),
    ("altered/testing.json", "ok", 0, "it is testing itself now"),
    ("altered/nvme-failing.json", "replace", 3, "only 3 % of the spare blocks left"),
    ("altered/nvme-worn.json", "worn", 3, "97 % of its endurance used"),
    ("made/sas.json", "ok", 0, "on for 12,437 h"),
    ("made/sas-errors.json", "replace", 3, "remapped sectors"),
    ("made/sas-failing.json", "replace", 3, "the drive itself says that it is failing"),
    ("made/old-errors.json", "ok", 0, "smartctl notes: the drive's error log has entries"),
    ("made/usb-bridge.json", "unknown", 3, "--device-type TYPE, with TYPE sat, sntjmicron or usbjmicron"),
    ("made/raid-controller.json", "unknown", 3, "megaraid,N"),
    ("made/smartctl-6.6.txt", "unknown", 3, "smartctl 6.6 is too old, 7.0 is needed"),
    ("made/switched-off.json", "unknown", 3, "smartctl -s on"),
    ("made/standby-7.4.json", "asleep", 3, "was not woken"),
    ("made/bad-checksum.json", "unknown", 3, "invalid SMART checksum"),
    ("made/cut-off.json", "unknown", 3, "makes no sense"),
];

/// Runs `explain` on a recording.
fn explain(bench: &Bench, name: &str, arguments: &[&str]) -> RunResult {
    let file = format!("{FOLDER}/{name}");
    bench.run(&[&["explain", "--smart", &file], arguments].concat())
}

#[test]
fn every_recording_has_its_verdict_and_an_unknown_disk_is_never_ok() {
    let bench = Bench::with_image(1);
    for (name, state, code, words) in VERDICTS {
        let ran = explain(&bench, name, &[]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""), "{name}: {ran:?}");
        let flat = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{name}: {}", ran.stdout);
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{name}: {}", ran.stdout);
        let ran = explain(&bench, name, &["--json"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""), "{name}: {ran:?}");
        let document: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON and nothing else");
        assert_eq!((&document["schema"], &document["state"]), (&1.into(), &state.into()), "{name}: {document}");
        assert_eq!(code == 0, state == "ok", "{name}");
        assert_eq!(
            document["smartctl"]["obstacle"].is_null(),
            !matches!(state, "unknown" | "virtual" | "asleep" | "missing"),
            "{name}"
        );
    }
}

#[test]
fn no_recording_is_left_out() {
    let files = fs::read_to_string(format!("{FOLDER}/exit-status.txt")).unwrap();
    for name in files.lines().filter_map(|line| line.split(' ').next()) {
        // This recording shows how smartctl refuses an option (as 6.6 does).
        let is_tried = name == "recorded/unknown-option.txt" || VERDICTS.iter().any(|(tried, ..)| *tried == name);
        assert!(is_tried, "{name}");
    }
}

#[test]
fn reasons_carry_base_rates_and_sources() {
    let bench = Bench::with_image(1);
    let ran = explain(&bench, "altered/pending.json", &["--json"]);
    let document: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["reasons"].as_array().unwrap().len(), 2);
    for reason in document["reasons"].as_array().unwrap() {
        assert!(reason["source"].as_str().unwrap().contains("Backblaze"), "{reason}");
    }
    assert_eq!(document["drive_passed"], true, "the drive sees nothing in it");
    assert_eq!(document["serial"], "lab-0");
    assert!(document["not_known"][0].as_str().unwrap().contains("growth"));
}

#[test]
fn names_of_no_disk_or_recording_are_refused_in_one_line() {
    let bench = Bench::with_image(1);
    assert_eq!(bench.run(&["explain"]).code, Some(2));
    bench.run(&["explain", "nosuchdisk"]).refused(2, "nosuchdisk: no such disk");
    bench.run(&["explain", "disk.img"]).refused(2, "disk.img is a file, not a disk");
    bench.run(&["explain", "--smart", "nowhere"]).refused(2, "nowhere: ");
    bench.run(&["explain", "--smart", "."]).refused(2, ".: ");
    let large = bench.run(&["explain", "--smart", "disk.img"]);
    assert_eq!(large.code, Some(3), "a MiB of nonsense is nonsense: {large:?}");
    fs::write(bench.folder.path().join("large"), vec![b' '; (1 << 20) + 1]).unwrap();
    bench.run(&["explain", "--smart", "large"]).refused(2, "large has more than 1048576 bytes");
}

#[test]
fn names_of_no_sector_or_device_are_refused_in_one_line() {
    let bench = Bench::with_image(1);
    for (sector, words) in [
        ("here", "`here` is no sector: write a number"),
        ("0x10", "is no sector"),
        ("8+", "is no sector"),
        ("18446744073709551616", "is no sector"),
        ("5+0", "is no sector at all"),
        ("5+2049", "ask about 2048 of them at a time"),
    ] {
        bench.run(&["explain", "disk.img", sector]).refused(2, words);
    }
    bench.run(&["explain", "disk.img", "5"]).refused(2, "disk.img is a file, not a disk");
    bench.run(&["explain", ".", "5", "--json"]).refused(2, ". is a folder, not a disk");
    bench.run(&["explain", "nosuchdisk", "5"]).refused(2, "nosuchdisk: no such disk");
    assert_eq!(bench.run(&["explain", "--smart", "disk.img", "disk", "5"]).code, Some(2));
}
