//! Parses smartctl's output: bytes and an exit status in, a value out. No process, no file.
//!
//! smartctl leaves out what a drive does not report, and its fields differ between versions, so every field is looked
//! up by itself: one that is missing or of the wrong type hides no other.

use super::exit::SmartctlExit;
use super::obstacle::SmartObstacle;
use scrubjay_watch::counters::{self, CounterKind};
use scrubjay_watch::facts::{AtaAttribute, NvmeLog, ScsiLog, SmartFacts, SmartReading};
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

    /// The reading for the watch.
    pub fn reading(&self) -> SmartReading {
        match &self.outcome {
            Ok(facts) => SmartReading::Facts(facts.clone()),
            Err(obstacle) => obstacle.reading(),
        }
    }
}

/// Further facts about smartctl, the drive's identity, and its use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SmartAbout {
    /// The version of smartctl, such as `7.3`.
    pub version: Option<String>,
    /// Its exit status; `None`: it was killed, or the status is not known.
    pub exit: Option<SmartctlExit>,
    /// Its model, as the drive reports it.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Its firmware's version.
    pub firmware: Option<String>,
    /// Its size in bytes.
    pub bytes: Option<u64>,
    /// Revolutions a minute; 0 for flash.
    pub rotation: Option<u64>,
    /// Hours for which it was switched on.
    pub power_on_hours: Option<u64>,
    /// The drive's own verdict as it gave it; [`SmartFacts::passed`] also considers its thresholds.
    pub own_verdict: Option<bool>,
    /// Attributes that are at or below the drive's own thresholds now, by smartctl's names.
    pub below_threshold: Vec<String>,
    /// Facts that drives of this kind usually report and this one does not.
    pub missing: Vec<&'static str>,
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

/// The first version with `--json`.
const MAJOR_MIN: u32 = 7;
/// Characters of smartctl's messages that are repeated, at most.
const MESSAGE_MAX: usize = 120;

/// One line without control characters.
fn clean(text: &str) -> String {
    text.chars().take(MESSAGE_MAX).map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect()
}

/// The JSON object.
struct SmartDocument(Value);

impl SmartDocument {
    fn at(&self, pointer: &str) -> Option<&Value> {
        self.0.pointer(pointer)
    }

    fn number(&self, pointer: &str) -> Option<u64> {
        self.at(pointer)?.as_u64()
    }

    fn flag(&self, pointer: &str) -> Option<bool> {
        self.at(pointer)?.as_bool()
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.at(pointer)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn messages(&self) -> impl Iterator<Item = &str> {
        self.list("/smartctl/messages").iter().filter_map(|message| message.get("string")?.as_str())
    }

    fn about(&self, status: Option<u8>) -> SmartAbout {
        let cleaned = |pointer| self.text(pointer).map(clean);
        let version: Vec<String> =
            self.list("/smartctl/version").iter().filter_map(Value::as_u64).map(|part| part.to_string()).collect();
        let reported = || self.number("/smartctl/exit_status").and_then(|status| u8::try_from(status).ok());
        SmartAbout {
            version: (!version.is_empty()).then(|| version.join(".")),
            exit: status.or_else(reported).map(SmartctlExit),
            model: cleaned("/model_name").or_else(|| cleaned("/scsi_model_name")),
            serial: cleaned("/serial_number"),
            firmware: cleaned("/firmware_version").or_else(|| cleaned("/scsi_revision")),
            bytes: self.number("/user_capacity/bytes"),
            rotation: self.number("/rotation_rate"),
            power_on_hours: self.number("/power_on_time/hours"),
            own_verdict: self.flag("/smart_status/passed"),
            below_threshold: self.below_threshold(),
            missing: self.missing(),
        }
    }

    fn outcome(&self, about: &SmartAbout) -> Result<SmartFacts, SmartObstacle> {
        if self.number("/smartctl/version/0").is_some_and(|major| major < u64::from(MAJOR_MIN)) {
            return Err(SmartObstacle::TooOld(about.version.clone()));
        }
        if self.is_asleep() {
            return Err(SmartObstacle::Asleep);
        }
        let facts = self.facts(about);
        if facts.passed == Some(false) {
            return Ok(facts);
        }
        // Values of a corrupt table are no evidence.
        if let Some(message) = self.messages().find(|message| message.contains("invalid SMART checksum")) {
            return Err(SmartObstacle::Failed(clean(message)));
        }
        let is_evidence = counters::decode(&facts).into_keys().any(CounterKind::is_of_medium);
        if is_evidence { Ok(facts) } else { Err(self.obstacle(about)) }
    }

    /// Does the disk sleep? With `-n standby` smartctl does not wake it and prints that, with the exit status of a
    /// failure. 7.4 has a field for it as well.
    fn is_asleep(&self) -> bool {
        let is_standby = |message: &str| message.starts_with("Device is in ") && message.contains(" mode, exit(");
        let is_mode = |mode: &str| mode.starts_with("STANDBY") || mode.starts_with("SLEEP");
        self.messages().any(is_standby) || self.text("/power_mode/name").is_some_and(is_mode)
    }

    fn facts(&self, about: &SmartAbout) -> SmartFacts {
        let is_failing = about.exit.is_some_and(|exit| exit.has(SmartctlExit::FAILING));
        SmartFacts {
            passed: if is_failing || !about.below_threshold.is_empty() { Some(false) } else { about.own_verdict },
            attributes: self.list(ATA_TABLE).iter().filter_map(attribute).collect(),
            nvme: self.nvme(),
            scsi: self.scsi(),
            celsius: self.celsius(),
            is_self_test_failed: self.is_self_test_failed(),
            is_self_testing: self.is_self_testing(),
        }
    }

    /// Attributes below their thresholds: such a drive is failing by its own measure. Only attributes of the kind that
    /// foretells failures count (smartctl's bit 4): the others measure use.
    fn below_threshold(&self) -> Vec<String> {
        let failing_name = |line: &Value| {
            let is_now = line.get("when_failed")?.as_str()? == "now";
            let is_prefailure = line.pointer("/flags/prefailure")?.as_bool()?;
            let name = format!("{} ({})", line.get("name")?.as_str()?, line.get("id")?.as_u64()?);
            (is_now && is_prefailure).then(|| clean(&name))
        };
        self.list(ATA_TABLE).iter().filter_map(failing_name).collect()
    }

    fn nvme(&self) -> Option<NvmeLog> {
        let log = |field: &str| self.number(&format!("/nvme_smart_health_information_log/{field}"));
        let byte = |field: &str| log(field).map(|number| u8::try_from(number).unwrap_or(u8::MAX));
        Some(NvmeLog {
            critical_warning: byte("critical_warning")?,
            spare: byte("available_spare")?,
            spare_threshold: byte("available_spare_threshold")?,
            used: byte("percentage_used")?,
            media_errors: log("media_errors")?,
        })
    }

    /// Grown defects, and errors that could not be corrected. One of them alone is still evidence;
    /// [`SmartAbout::missing`] names the other.
    fn scsi(&self) -> Option<ScsiLog> {
        let grown = self.number(SCSI_GROWN);
        let uncorrected =
            SCSI_ERRORS.map(|pointer| self.number(pointer)).into_iter().flatten().reduce(u64::saturating_add);
        (grown.is_some() || uncorrected.is_some()).then_some(ScsiLog { grown_defects: grown, uncorrected })
    }

    fn missing(&self) -> Vec<&'static str> {
        let is_ata = !self.list(ATA_TABLE).is_empty();
        let has = |id: u64| self.list(ATA_TABLE).iter().any(|line| line.get("id").and_then(Value::as_u64) == Some(id));
        let is_scsi = self.scsi().is_some();
        let all = [
            (is_ata && !has(5), "remapped sectors (5)"),
            (is_ata && !has(187), "reported uncorrectable errors (187)"),
            (is_ata && !has(197), "pending sectors (197)"),
            (is_ata && !has(198), "uncorrectable sectors (198)"),
            (is_scsi && self.number(SCSI_GROWN).is_none(), "the list of grown defects"),
            (is_scsi && SCSI_ERRORS.iter().all(|pointer| self.number(pointer).is_none()), "the error counters"),
        ];
        all.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, name)| name).collect()
    }

    /// The temperature in degrees Celsius; a SCSI drive without a sensor reports 0.
    fn celsius(&self) -> Option<i32> {
        let celsius = i32::try_from(self.at("/temperature/current")?.as_i64()?).ok()?;
        (celsius != 0 || self.text("/device/protocol") != Some("SCSI")).then_some(celsius)
    }

    /// Did the last completed self-test fail, by the log; without a log, by the status of the last test?
    fn is_self_test_failed(&self) -> bool {
        let of_ata =
            ATA_TESTS.iter().flat_map(|log| self.list(log)).filter_map(|test| test.pointer("/status/value")?.as_u64());
        let of_nvme = self
            .list("/nvme_self_test_log/table")
            .iter()
            .filter_map(|test| test.pointer("/self_test_result/value")?.as_u64());
        let of_scsi = (0..20).filter_map(|number| self.number(&format!("/scsi_self_test_{number}/result/value")));
        // ATA8-ACS, self-test execution status, high half: 1 and 2 were stopped, 15 is running, 3 to 8 failed.
        let mut ata = of_ata.map(|status| status >> 4).filter(|status| !matches!(status, 1 | 2 | 15));
        // NVMe 1.4, figure 199: 1 to 4, 8 and 9 were stopped, 15 is an empty line, 5 to 7 failed.
        let mut nvme = of_nvme.filter(|result| matches!(result, 0 | 5..=7));
        // SPC-4, self-test results: 1 and 2 were stopped, 15 is running, 3 to 7 failed.
        let mut scsi = of_scsi.filter(|result| matches!(result, 0 | 3..=7));
        let last = ata.next().or_else(|| nvme.next()).or_else(|| scsi.next());
        let status = || self.number(ATA_TEST_STATUS).map(|status| status >> 4);
        last.or_else(status).is_some_and(|status| matches!(status, 3..=8))
    }

    fn is_self_testing(&self) -> bool {
        let of_nvme = self.number("/nvme_self_test_log/current_self_test_operation/value");
        self.number(ATA_TEST_STATUS).is_some_and(|status| status >> 4 == 15)
            || of_nvme.is_some_and(|operation| operation != 0)
            || self.number("/scsi_self_test_0/result/value") == Some(15)
    }

    /// Why there are no data to judge by.
    fn obstacle(&self, about: &SmartAbout) -> SmartObstacle {
        let has_message = |part: &str| self.messages().any(|message| message.contains(part));
        let text_after =
            |part: &str| self.messages().find_map(|message| message.split_once(part).map(|(_, rest)| rest));
        if has_message("Permission denied") || has_message("Operation not permitted") {
            return SmartObstacle::NoPermission;
        }
        if has_message("failed: No such ") {
            return SmartObstacle::Absent;
        }
        if let Some(rest) = text_after("Unknown USB bridge") {
            let usb = rest.split_once('[').and_then(|(_, id)| id.split_once(']')).map(|(id, _)| clean(id));
            return SmartObstacle::TypeNeeded { usb, proposed: None };
        }
        // `DELL or MegaRaid controller, please try adding '-d megaraid,N'`
        if let Some((proposed, _)) = text_after("'-d ").and_then(|rest| rest.split_once('\'')) {
            return SmartObstacle::TypeNeeded { usb: None, proposed: Some(clean(proposed)) };
        }
        let support = |field| self.flag(&format!("/smart_support/{field}"));
        if support("available") == Some(false) || has_message("Unable to detect device type") {
            return SmartObstacle::NotSupported;
        }
        if self.text("/device/protocol") == Some("ATA") && support("enabled") == Some(false) {
            return SmartObstacle::SwitchedOff;
        }
        if about.own_verdict == Some(true) {
            return SmartObstacle::NoCounters;
        }
        let first_message = self.messages().next().map(clean);
        let by_exit = || about.exit?.words(SmartctlExit::UNDONE).first().map(|&words| words.to_owned());
        let is_silent = about.model.is_none() && about.serial.is_none() && self.at("/smart_support").is_none();
        match first_message.or_else(by_exit) {
            Some(message) => SmartObstacle::Failed(message),
            None if is_silent => SmartObstacle::Silent,
            None => SmartObstacle::NotSupported,
        }
    }
}

const ATA_TABLE: &str = "/ata_smart_attributes/table";
const ATA_TESTS: [&str; 2] = ["/ata_smart_self_test_log/extended/table", "/ata_smart_self_test_log/standard/table"];
const ATA_TEST_STATUS: &str = "/ata_smart_data/self_test/status/value";
const SCSI_GROWN: &str = "/scsi_grown_defect_list";
const SCSI_ERRORS: [&str; 3] = [
    "/scsi_error_counter_log/read/total_uncorrected_errors",
    "/scsi_error_counter_log/write/total_uncorrected_errors",
    "/scsi_error_counter_log/verify/total_uncorrected_errors",
];
/// The bits of an attribute's raw value.
const RAW_BITS: u32 = 48;

fn attribute(line: &Value) -> Option<AtaAttribute> {
    let id = u8::try_from(line.get("id")?.as_u64()?).ok()?;
    let raw = line.pointer("/raw/value")?.as_u64()?;
    Some(AtaAttribute { id, raw: raw & ((1 << RAW_BITS) - 1) })
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(facts.attributes[1], AtaAttribute { id: 197, raw: (1 << 48) - 1 });
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
        assert_eq!(parsed(ata(true, &[(9, 100)])).outcome, Err(SmartObstacle::NoCounters));
        assert_eq!(parsed(ata(true, &[(188, 0), (199, 0)])).outcome, Err(SmartObstacle::NoCounters), "a good cable");
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
