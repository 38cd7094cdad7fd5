//! Parses smartctl's output: bytes and an exit status in, a value out. No process, no file.
//!
//! smartctl leaves out what a drive does not report, and its fields differ between versions, so every field is looked
//! up by itself: one that is missing or of the wrong type hides no other.

use super::document::{MAJOR_MIN, SmartAbout, SmartDocument, clean};
use super::exit::SmartctlExit;
use super::obstacle::SmartObstacle;
use scrubjay_watch::counters;
use scrubjay_watch::facts::{SmartFacts, SmartReading};
use serde_json::Value;

/// The result of one call of smartctl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmartctlAnswer {
    /// The data, or why there are none.
    pub outcome: Result<SmartFacts, SmartObstacle>,
    /// Further facts in its output.
    pub about: SmartAbout,
}

impl SmartctlAnswer {
    /// A result without data and facts.
    pub fn refused(obstacle: SmartObstacle) -> SmartctlAnswer {
        SmartctlAnswer { outcome: Err(obstacle), about: SmartAbout::default() }
    }

    /// Why it cannot be judged whether the drive is well: there are no data, or none that would show it.
    pub fn obstacle(&self) -> Option<&SmartObstacle> {
        match &self.outcome {
            Ok(facts) if counters::has_evidence(facts) || facts.passed == Some(false) => None,
            Ok(_) => Some(&SmartObstacle::NoCounters),
            Err(obstacle) => Some(obstacle),
        }
    }

    /// The reading for the watch.
    pub fn reading(&self) -> SmartReading {
        match &self.outcome {
            Ok(facts) => SmartReading::Facts(facts.clone()),
            Err(obstacle) => obstacle.reading(),
        }
    }
}

/// Parses smartctl's standard output with its exit status (`None`: not known, or killed; then the status in the output
/// counts).
pub fn answer(output: &[u8], status: Option<u8>) -> SmartctlAnswer {
    let document = serde_json::from_slice::<Value>(output).ok().filter(|document| document.get("smartctl").is_some());
    let Some(document) = document else {
        let exit = status.map(SmartctlExit);
        return SmartctlAnswer {
            outcome: Err(without_json(output)),
            about: SmartAbout { exit, ..SmartAbout::default() },
        };
    };
    let document = SmartDocument(document);
    let about = document.about(status);
    let outcome = document.outcome(&about);
    SmartctlAnswer { outcome, about }
}

/// For how long a drive may try to read a bad sector (SCT Error Recovery Control, of ATA drives).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryLimit {
    /// It gives up after this many tenths of a second.
    Deciseconds(u64),
    /// No limit is set, or the drive does not support one: it may take minutes.
    Unlimited,
    /// It is not an ATA drive, so smartctl cannot report a limit.
    NotReported,
}

/// Parses the output of `smartctl --json -l scterc`.
///
/// # Errors
/// The drive was not asked, or did not answer.
pub fn recovery_limit(output: &[u8], status: u8) -> Result<RecoveryLimit, SmartObstacle> {
    let Ok(document) = serde_json::from_slice::<Value>(output) else { return Err(without_json(output)) };
    let document = SmartDocument(document);
    if document.is_asleep() {
        return Err(SmartObstacle::Asleep);
    }
    match document.text("/device/protocol") {
        // Bits 0 and 1 say that the drive could not be opened or asked; bit 2 is set if the log is not supported.
        _ if status & 0b11 != 0 => Err(document.obstacle(&document.about(Some(status)))),
        None => Err(document.obstacle(&document.about(Some(status)))),
        Some("ATA") => Ok(match document.flag("/ata_sct_erc/read/enabled") {
            Some(true) => document
                .number("/ata_sct_erc/read/deciseconds")
                .map_or(RecoveryLimit::Unlimited, RecoveryLimit::Deciseconds),
            _ => RecoveryLimit::Unlimited,
        }),
        Some(_) => Ok(RecoveryLimit::NotReported),
    }
}

/// The obstacle if smartctl wrote no JSON.
fn without_json(output: &[u8]) -> SmartObstacle {
    let text = String::from_utf8_lossy(output);
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing");
    // `smartctl 6.6 2017-11-05 r4594 [x86_64-linux-4.19.0] (local build)`
    let version = first.strip_prefix("smartctl ").and_then(|rest| rest.split_whitespace().next());
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    if major.is_some_and(|major| major < MAJOR_MIN)
        || text.lines().any(|line| line.trim_end().ends_with("UNRECOGNIZED OPTION: json"))
    {
        return SmartObstacle::TooOld(version.map(clean));
    }
    SmartObstacle::Nonsense(clean(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_watch::facts::{AtaAttribute, ScsiLog};
    use serde_json::json;

    fn parsed(document: Value) -> SmartctlAnswer {
        answer(document.to_string().as_bytes(), None)
    }

    fn ata(passed: bool, table: &[(u8, u64)]) -> Value {
        let table: Vec<Value> = table.iter().map(|&(id, raw)| json!({"id": id, "raw": {"value": raw}})).collect();
        json!({"smartctl": {"version": [7, 3], "exit_status": 0}, "device": {"protocol": "ATA"},
            "smart_status": {"passed": passed}, "ata_smart_attributes": {"table": table}})
    }

    #[test]
    fn a_field_that_makes_no_sense_hides_no_other() {
        let mut document = ata(true, &[(5, 3), (197, u64::MAX)]);
        document["ata_smart_attributes"]["table"][1]["name"] = json!([1, 2]);
        document["temperature"] = json!("warm");
        document["serial_number"] = json!({"of": "what"});
        document["smartctl"]["messages"] = json!(["no object", {"string": 7}]);
        let answer = parsed(document);
        let facts = answer.outcome.unwrap();
        assert_eq!(facts.attributes[1], AtaAttribute::usual(197, (1 << 48) - 1));
        assert_eq!((facts.passed, facts.celsius, answer.about.serial), (Some(true), None, None));
    }

    #[test]
    fn the_recovery_limit_is_only_what_the_drive_reports() {
        let parsed = |document: &Value, status| recovery_limit(document.to_string().as_bytes(), status);
        let drive =
            |erc: Value| json!({"smartctl": {"version": [7, 3]}, "device": {"protocol": "ATA"}, "ata_sct_erc": erc});
        let on =
            drive(json!({"read": {"enabled": true, "deciseconds": 70}, "write": {"enabled": true, "deciseconds": 70}}));
        assert_eq!(parsed(&on, 0), Ok(RecoveryLimit::Deciseconds(70)));
        assert_eq!(parsed(&drive(json!({"read": {"enabled": false}})), 0), Ok(RecoveryLimit::Unlimited));
        assert_eq!(parsed(&drive(json!(null)), 4), Ok(RecoveryLimit::Unlimited), "a drive that knows none");
        let other = json!({"smartctl": {"version": [7, 3]}, "device": {"protocol": "SCSI"}});
        assert_eq!(parsed(&other, 0), Ok(RecoveryLimit::NotReported));
        let asleep = json!({"smartctl": {"messages": [{"string": "Device is in STANDBY mode, exit(2)"}]},
            "device": {"protocol": "ATA"}});
        assert_eq!(parsed(&asleep, 2), Err(SmartObstacle::Asleep));
        assert!(parsed(&drive(json!(null)), 2).is_err(), "it could not be opened");
        assert!(recovery_limit(b"smartctl 6.6 2017", 1).is_err());
    }

    #[test]
    fn passed_without_a_counter_is_not_ok_and_failed_without_one_is_failed() {
        assert_eq!(parsed(ata(true, &[(9, 100)])).obstacle(), Some(&SmartObstacle::NoCounters));
        let cable = parsed(ata(true, &[(188, 0), (199, 0)]));
        assert_eq!(cable.obstacle(), Some(&SmartObstacle::NoCounters), "a good cable");
        assert_eq!(cable.outcome.unwrap().attributes.len(), 2, "what it says is kept");
        assert_eq!(parsed(ata(false, &[])).outcome.unwrap().passed, Some(false));
    }

    #[test]
    fn the_bits_of_the_exit_status_count_where_the_document_is_silent() {
        let mut document = ata(true, &[(5, 0)]);
        document.as_object_mut().unwrap().remove("smart_status");
        assert_eq!(parsed(document.clone()).outcome.unwrap().passed, None);
        for (status, passed) in [(8, Some(false)), (16, Some(false)), (32, None), (64, None), (128, None)] {
            let answer = answer(document.to_string().as_bytes(), Some(status));
            assert_eq!(answer.outcome.unwrap().passed, passed, "{status}");
        }
    }

    #[test]
    fn a_table_with_a_wrong_checksum_is_no_evidence() {
        let mut document = ata(true, &[(5, 0)]);
        let message = "Warning! SMART Attribute Data Structure error: invalid SMART checksum.";
        document["smartctl"]["messages"] = json!([{"string": message, "severity": "warning"}]);
        assert_eq!(parsed(document).outcome, Err(SmartObstacle::Failed(message.to_owned())));
    }

    #[test]
    fn only_the_last_self_test_that_came_to_an_end_counts() {
        let failed = |statuses: &[u64]| {
            let mut document = ata(true, &[(5, 0)]);
            let table: Vec<Value> = statuses.iter().map(|status| json!({"status": {"value": status}})).collect();
            document["ata_smart_self_test_log"] = json!({"standard": {"table": table}});
            parsed(document).outcome.unwrap().is_self_test_failed
        };
        assert!(failed(&[0x79, 0]));
        assert!(!failed(&[0, 0x79]), "it was mended since");
        assert!(failed(&[0x19, 0xf9, 0x79]), "stopped ones say nothing");
        let nvme = json!({"smartctl": {}, "nvme_self_test_log": {"current_self_test_operation": {"value": 2},
            "table": [{"self_test_result": {"value": 1}}, {"self_test_result": {"value": 7}}]},
            "nvme_smart_health_information_log": {"critical_warning": 0, "available_spare": 100,
            "available_spare_threshold": 10, "percentage_used": 300, "media_errors": 0}});
        let facts = parsed(nvme).outcome.unwrap();
        assert!(facts.is_self_test_failed && facts.is_self_testing);
        assert_eq!(facts.nvme.unwrap().used, 255);
    }

    #[test]
    fn a_scsi_drive_with_half_its_logs_lists_the_missing_half() {
        let half = parsed(json!({"smartctl": {}, "scsi_grown_defect_list": 4}));
        assert_eq!(half.outcome.unwrap().scsi, Some(ScsiLog { grown_defects: Some(4), uncorrected: None }));
        assert_eq!(half.about.missing, ["the error counters"]);
    }

    #[test]
    fn output_that_is_not_json_is_an_obstacle() {
        let parsed = |text: &str| answer(text.as_bytes(), Some(1)).outcome.unwrap_err();
        assert_eq!(parsed(""), SmartObstacle::Nonsense("nothing".into()));
        assert_eq!(parsed("{}"), SmartObstacle::Nonsense("{}".into()));
        assert_eq!(parsed("[7]\u{1b}[31m"), SmartObstacle::Nonsense("[7]\u{fffd}[31m".into()));
        let old = "smartctl 6.6 2017-11-05 r4594 [x86_64-linux] (local build)\n\n=======> UNRECOGNIZED OPTION: json\n";
        assert_eq!(parsed(old), SmartObstacle::TooOld(Some("6.6".into())));
        assert_eq!(parsed("smartctl 5.43 2012"), SmartObstacle::TooOld(Some("5.43".into())));
    }

    #[test]
    fn a_type_that_smartctl_proposes_is_repeated() {
        let message =
            "Smartctl open device: /dev/sda failed: DELL or MegaRaid controller, please try adding '-d megaraid,N'";
        let document = json!({"smartctl": {"messages": [{"string": message}], "exit_status": 2}});
        let proposed = Some("megaraid,N".to_owned());
        assert_eq!(parsed(document).outcome, Err(SmartObstacle::TypeNeeded { usb: None, proposed }));
    }
}
