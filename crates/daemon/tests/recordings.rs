//! What is understood of each recording of smartctl in `fixtures/`.

use scrubjay_daemon::smartctl::obstacle::SmartObstacle;
use scrubjay_daemon::smartctl::parse::{self, SmartctlAnswer};
use scrubjay_watch::counters::{self, CounterKind};
use scrubjay_watch::facts::{NvmeLog, ScsiLog, SmartFacts};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures"))
}

/// The exit status of each recording, by its path.
fn statuses() -> BTreeMap<String, u8> {
    let text = fs::read_to_string(folder().join("exit-status.txt")).unwrap();
    let parsed = |line: &str| line.split_once(' ').map(|(name, status)| (name.to_owned(), status.parse().unwrap()));
    text.lines().map(|line| parsed(line).unwrap()).collect()
}

fn answer(name: &str) -> SmartctlAnswer {
    parse::answer(&fs::read(folder().join(name)).unwrap(), Some(statuses()[name]))
}

fn facts(name: &str) -> SmartFacts {
    answer(name).outcome.unwrap_or_else(|obstacle| panic!("{name}: {obstacle:?}"))
}

fn obstacle(name: &str) -> SmartObstacle {
    answer(name).obstacle().cloned().expect(name)
}

#[test]
fn every_recording_has_its_exit_status_and_parses_the_same_without_it() {
    let statuses = statuses();
    let mut found = Vec::new();
    for kind in ["recorded", "altered", "made"] {
        for file in fs::read_dir(folder().join(kind)).unwrap() {
            found.push(format!("{kind}/{}", file.unwrap().file_name().to_str().unwrap()));
        }
    }
    found.sort();
    assert_eq!(found, statuses.keys().cloned().collect::<Vec<_>>());
    for (name, status) in &statuses {
        let without_status = parse::answer(&fs::read(folder().join(name)).unwrap(), None);
        assert_eq!(without_status.outcome, answer(name).outcome, "{name}");
        if name.ends_with(".json") && name != "made/cut-off.json" {
            assert_eq!(without_status.about.exit.unwrap().0, *status, "{name}");
        }
    }
}

#[test]
fn the_table_and_the_identity_of_a_sata_disk_are_parsed() {
    let answer = answer("recorded/sata.json");
    let about = &answer.about;
    assert_eq!(about.version.as_deref(), Some("7.3"));
    assert_eq!(about.model.as_deref(), Some("QEMU HARDDISK"));
    assert_eq!(about.serial.as_deref(), Some("lab-0"));
    assert_eq!((about.bytes, about.power_on_hours, about.own_verdict), (Some(64 << 20), Some(1), Some(true)));
    assert_eq!(about.missing.len(), 3, "{:?}", about.missing);
    let facts = answer.outcome.unwrap();
    assert_eq!(counters::decode(&facts), BTreeMap::from([(CounterKind::Reallocated, 0)]));
    assert_eq!((facts.passed, counters::celsius(&facts)), (Some(true), Some(31)));
    assert!(!facts.is_self_test_failed && !facts.is_self_testing);
}

#[test]
fn the_log_of_an_nvme_disk_is_parsed() {
    let nvme = |name: &str| facts(name).nvme.unwrap();
    let sound = NvmeLog { critical_warning: 0, spare: 0, spare_threshold: 0, used: 0, media_errors: 0 };
    assert_eq!(nvme("recorded/nvme.json"), sound, "the emulated one has no spare blocks, and wants none");
    let failing = NvmeLog { critical_warning: 5, spare: 3, spare_threshold: 10, used: 0, media_errors: 7 };
    assert_eq!(nvme("altered/nvme-failing.json"), failing);
    assert_eq!(facts("altered/nvme-failing.json").passed, Some(false));
    assert_eq!(nvme("altered/nvme-worn.json").used, 97);
}

#[test]
fn grown_defects_and_uncorrected_errors_of_a_sas_disk_are_parsed() {
    let scsi = |name: &str| facts(name).scsi.unwrap();
    assert_eq!(
        scsi("made/sas.json"),
        ScsiLog { grown_defects: Some(0), uncorrected: Some(0) },
        "corrected ones are no sign"
    );
    assert_eq!(scsi("made/sas-errors.json"), ScsiLog { grown_defects: Some(12), uncorrected: Some(3) });
    assert_eq!(facts("made/sas-failing.json").passed, Some(false));
}

#[test]
fn packed_values_are_unpacked() {
    let facts = facts("altered/packed.json");
    let decoded = counters::decode(&facts);
    assert_eq!(decoded[&CounterKind::TimedOut], 12);
    assert_eq!(decoded[&CounterKind::CableErrors], 87);
    assert_eq!(counters::celsius(&facts), Some(26));
}

#[test]
fn failing_and_testing_drives_are_seen() {
    assert_eq!(facts("altered/failing.json").passed, Some(false));
    assert_eq!(answer("altered/failing.json").about.below_threshold, ["Reallocated_Sector_Ct (5)"]);
    assert!(facts("altered/self-test.json").is_self_test_failed);
    assert!(facts("altered/testing.json").is_self_testing);
    let passed = facts("recorded/self-test-passed.json");
    assert!(!passed.is_self_test_failed && !passed.is_self_testing);
    let old = answer("made/old-errors.json");
    assert_eq!((old.outcome.unwrap().passed, old.about.below_threshold.len()), (Some(true), 0));
}

#[test]
fn each_reason_for_having_no_data_is_an_obstacle_of_its_own() {
    assert_eq!(obstacle("altered/standby.json"), SmartObstacle::Asleep);
    assert_eq!(obstacle("made/standby-7.4.json"), SmartObstacle::Asleep);
    // smartctl takes a refused question after the power mode for a sleeping disk.
    assert_eq!(obstacle("recorded/sat-on-scsi.json"), SmartObstacle::Asleep);
    assert_eq!(obstacle("recorded/no-permission.json"), SmartObstacle::NoPermission);
    assert_eq!(obstacle("recorded/disk-group-nvme.json"), SmartObstacle::NoPermission);
    assert_eq!(obstacle("recorded/disk-group-sata.json"), SmartObstacle::Silent, "smartctl exits with 0 all the same");
    assert_eq!(obstacle("recorded/absent.json"), SmartObstacle::Absent);
    assert_eq!(obstacle("recorded/virtio.json"), SmartObstacle::NotSupported);
    assert_eq!(obstacle("recorded/scsi-hd.json"), SmartObstacle::NotSupported);
    assert_eq!(obstacle("recorded/scsi-debug.json"), SmartObstacle::NoCounters);
    let usb = Some("0x152d:0x0578 (0x100)".to_owned());
    assert_eq!(obstacle("made/usb-bridge.json"), SmartObstacle::TypeNeeded { usb, proposed: None });
    let proposed = Some("megaraid,N".to_owned());
    assert_eq!(obstacle("made/raid-controller.json"), SmartObstacle::TypeNeeded { usb: None, proposed });
    assert_eq!(obstacle("made/smartctl-6.6.txt"), SmartObstacle::TooOld(Some("6.6".to_owned())));
    assert_eq!(obstacle("made/switched-off.json"), SmartObstacle::SwitchedOff);
    assert!(matches!(obstacle("made/bad-checksum.json"), SmartObstacle::Failed(_)));
    assert!(matches!(obstacle("made/cut-off.json"), SmartObstacle::Nonsense(_)));
    assert!(matches!(obstacle("recorded/unknown-option.txt"), SmartObstacle::Nonsense(_)), "7.3 is not too old");
}
