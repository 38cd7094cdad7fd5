//! smartctl's JSON, field by field: what a drive of any kind says of itself, by what it means.

use super::exit::SmartctlExit;
use super::obstacle::SmartObstacle;
use scrubjay_core::units::SECTOR_BYTES;
use scrubjay_watch::attributes;
use scrubjay_watch::counters;
use scrubjay_watch::facts::{AtaAttribute, NvmeLog, ScsiLog, ScsiSense, SmartFacts, SpareBlocks};
use serde_json::Value;

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

/// The first version with `--json`.
pub const MAJOR_MIN: u32 = 7;
/// Characters of smartctl's messages that are repeated, at most.
const MESSAGE_MAX: usize = 120;

/// One line without control characters.
pub fn clean(text: &str) -> String {
    text.chars().take(MESSAGE_MAX).map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect()
}

/// The JSON object.
pub struct SmartDocument(pub Value);

impl SmartDocument {
    fn at(&self, pointer: &str) -> Option<&Value> {
        self.0.pointer(pointer)
    }

    pub fn number(&self, pointer: &str) -> Option<u64> {
        self.at(pointer)?.as_u64()
    }

    pub fn flag(&self, pointer: &str) -> Option<bool> {
        self.at(pointer)?.as_bool()
    }

    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.at(pointer)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn messages(&self) -> impl Iterator<Item = &str> {
        self.list("/smartctl/messages").iter().filter_map(|message| message.get("string")?.as_str())
    }

    pub fn about(&self, status: Option<u8>) -> SmartAbout {
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

    pub fn outcome(&self, about: &SmartAbout) -> Result<SmartFacts, SmartObstacle> {
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
        // A drive without a counter by which it could be judged still says how hot, how worn and how tested it is.
        match self.obstacle(about) {
            SmartObstacle::NoCounters => Ok(facts),
            _ if counters::has_evidence(&facts) || !facts.attributes.is_empty() || facts.is_self_test_failed => {
                Ok(facts)
            }
            obstacle => Err(obstacle),
        }
    }

    /// Does the disk sleep? With `-n standby` smartctl does not wake it and prints that, with the exit status of a
    /// failure. 7.4 has a field for it as well.
    pub fn is_asleep(&self) -> bool {
        let is_standby = |message: &str| message.starts_with("Device is in ") && message.contains(" mode, exit(");
        let is_mode = |mode: &str| mode.starts_with("STANDBY") || mode.starts_with("SLEEP");
        self.messages().any(is_standby) || self.text("/power_mode/name").is_some_and(is_mode)
    }

    fn facts(&self, about: &SmartAbout) -> SmartFacts {
        SmartFacts {
            passed: self.passed(about),
            attributes: self.list(ATA_TABLE).iter().filter_map(attribute).collect(),
            nvme: self.nvme(),
            scsi: self.scsi(),
            sense: self.sense(),
            used: self.used(),
            spare: self.spare(),
            celsius: self.celsius(),
            celsius_max: self.celsius_max(),
            is_self_test_failed: self.is_self_test_failed(),
            self_test_lba: self.self_test_lba(),
            is_self_test_old: self.self_test_age().is_some_and(|hours| hours > OLD_TEST_HOURS),
            is_self_testing: self.is_self_testing(),
        }
    }

    /// The drive's verdict by what it means. smartctl says `passed: false`, with its exit bit 3, also where an NVMe or a SCSI
    /// drive only warns of its temperature (nvmeprint.cpp, scsiprint.cpp): what they warn of decides.
    fn passed(&self, about: &SmartAbout) -> Option<bool> {
        if let Some(warning) = self.nvme_warning() {
            return Some(warning & !NVME_TEMPERATURE == 0);
        }
        if let Some(sense) = self.sense() {
            return Some(!sense.is_failure());
        }
        let is_failing = about.exit.is_some_and(|exit| exit.has(SmartctlExit::FAILING));
        if is_failing || !about.below_threshold.is_empty() { Some(false) } else { about.own_verdict }
    }

    fn nvme_warning(&self) -> Option<u64> {
        self.number("/nvme_smart_health_information_log/critical_warning")
            .or_else(|| self.number("/smart_status/nvme/value"))
    }

    fn sense(&self) -> Option<ScsiSense> {
        let byte = |pointer| self.number(pointer).and_then(|number| u8::try_from(number).ok());
        Some(ScsiSense { asc: byte("/smart_status/scsi/asc")?, ascq: byte("/smart_status/scsi/ascq")? })
    }

    /// Endurance used, where the drive or smartctl (from 7.4 on, of every kind of drive) says it.
    fn used(&self) -> Option<u8> {
        let used = USED.iter().find_map(|pointer| self.number(pointer))?;
        Some(u8::try_from(used).unwrap_or(u8::MAX))
    }

    fn spare(&self) -> Option<SpareBlocks> {
        let percent = |field: &str| u8::try_from(self.number(&format!("/spare_available/{field}"))?).ok();
        Some(SpareBlocks { left: percent("current_percent")?, threshold: percent("threshold_percent")? })
    }

    /// The drive's own highest temperature: where a SCSI drive trips, and the limit of an ATA drive's operation (SCT).
    fn celsius_max(&self) -> Option<i32> {
        let limit =
            ["/temperature/drive_trip", "/temperature/op_limit_max"].iter().find_map(|pointer| self.number(pointer))?;
        i32::try_from(limit).ok().filter(|limit| CELSIUS_LIMITS.contains(limit))
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
        let table: Vec<AtaAttribute> = self.list(ATA_TABLE).iter().filter_map(attribute).collect();
        let is_ata = !table.is_empty();
        // Of this number, or under another one with the same meaning.
        let has = |id: u8| {
            let meant = attributes::meaning(attributes::usual_name(id));
            table.iter().any(|line| attributes::meaning(&line.name) == meant)
        };
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

    /// The last self-test of an ATA drive's log that came to an end, and its status (ATA8-ACS, self-test execution status, high half:
    /// 1 and 2 were stopped, 15 is running).
    fn last_ata_test(&self) -> Option<(u64, &Value)> {
        let tests = ATA_TESTS.iter().flat_map(|log| self.list(log));
        let mut with_status = tests.filter_map(|test| Some((test.pointer("/status/value")?.as_u64()? >> 4, test)));
        with_status.find(|(status, _)| !matches!(status, 1 | 2 | 15))
    }

    /// The first sector (of 512 bytes) that the last completed self-test could not read. Drives count in their logical blocks.
    fn self_test_lba(&self) -> Option<u64> {
        let lba_of_ata = self.last_ata_test().filter(|(status, _)| *status == ATA_READ_FAILURE);
        let lba_of_ata = lba_of_ata.and_then(|(_, test)| test.get("lba")?.as_u64());
        let of_nvme = || {
            let result = |test: &&Value| test.pointer("/self_test_result/value").and_then(Value::as_u64);
            let is_over = |test: &&Value| result(test).is_some_and(|result| matches!(result, 0 | 5..=7));
            let ended = self.list("/nvme_self_test_log/table").iter().find(is_over)?;
            ended.get("lba").or_else(|| ended.get("failing_lba"))?.as_u64()
        };
        let of_scsi = || {
            let mut results = (0..20).map(|number| format!("/scsi_self_test_{number}"));
            let is_over = |test: &String| {
                self.number(&format!("{test}/result/value")).is_some_and(|result| matches!(result, 0 | 3..=7))
            };
            let test = results.find(is_over)?;
            self.number(&format!("{test}/lba_first_failure/value"))
        };
        let block = self.number("/logical_block_size").unwrap_or(SECTOR_BYTES).max(SECTOR_BYTES);
        lba_of_ata.or_else(of_nvme).or_else(of_scsi)?.checked_mul(block / SECTOR_BYTES)
    }

    /// How many hours of the drive's running time ago the last completed self-test of an ATA drive was, if both are known. Its log
    /// counts 16 bits.
    fn self_test_age(&self) -> Option<u64> {
        let (_, last) = self.last_ata_test()?;
        let then = last.get("lifetime_hours")?.as_u64()?;
        let now = self.number("/power_on_time/hours")?;
        // One that is ahead of a counter which has not wrapped makes no sense.
        (then <= now || now > 0xffff).then(|| now.wrapping_sub(then) & 0xffff)
    }

    /// Did the last completed self-test fail, by the log; without a log, by the status of the last test?
    fn is_self_test_failed(&self) -> bool {
        let of_nvme = self
            .list("/nvme_self_test_log/table")
            .iter()
            .filter_map(|test| test.pointer("/self_test_result/value")?.as_u64());
        let of_scsi = (0..20).filter_map(|number| self.number(&format!("/scsi_self_test_{number}/result/value")));
        // NVMe 1.4, figure 199: 1 to 4, 8 and 9 were stopped, 15 is an empty line, 5 to 7 failed.
        let mut nvme = of_nvme.filter(|result| matches!(result, 0 | 5..=7));
        // SPC-4, self-test results: 1 and 2 were stopped, 15 is running, 3 to 7 failed.
        let mut scsi = of_scsi.filter(|result| matches!(result, 0 | 3..=7));
        let ata = self.last_ata_test().map(|(status, _)| status);
        let last = ata.or_else(|| nvme.next()).or_else(|| scsi.next());
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
    pub fn obstacle(&self, about: &SmartAbout) -> SmartObstacle {
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
/// Hours from which on a failed self-test is old: ten weeks, after which one error says nothing of more (Schroeder et al., FAST'10).
const OLD_TEST_HOURS: u64 = 70 * 24;
/// ATA8-ACS, self-test execution status, high half: the test came upon a sector that it could not read.
const ATA_READ_FAILURE: u64 = 7;
/// Where endurance used is found, outside of the NVMe log.
const USED: [&str; 2] = ["/endurance_used/current_percent", "/scsi_percentage_used_endurance_indicator"];
/// NVMe's warning bit for temperature.
const NVME_TEMPERATURE: u64 = 0x02;
/// Limits of a temperature that make sense: some drives report 0 or 255 for "none".
const CELSIUS_LIMITS: std::ops::RangeInclusive<i32> = 40..=110;
/// The bits of an attribute's raw value.
const RAW_BITS: u32 = 48;

fn attribute(line: &Value) -> Option<AtaAttribute> {
    let id = u8::try_from(line.get("id")?.as_u64()?).ok()?;
    let raw = line.pointer("/raw/value")?.as_u64()?;
    let raw = raw & ((1 << RAW_BITS) - 1);
    // Without smartctl's name the number has to do.
    let Some(name) = line.get("name").and_then(Value::as_str) else { return Some(AtaAttribute::usual(id, raw)) };
    let value = line.get("value").and_then(Value::as_u64).and_then(|value| u8::try_from(value).ok());
    Some(AtaAttribute { id, name: clean(name), value, raw })
}

#[cfg(test)]
mod tests {
    use crate::smartctl::parse::answer;
    use scrubjay_watch::facts::{MediaKind, ScsiSense, SmartFacts};
    use scrubjay_watch::health::{HealthState, OwnEvidence};
    use scrubjay_watch::single;
    use serde_json::{Value, json};

    fn facts(document: &Value, exit: u8) -> SmartFacts {
        answer(document.to_string().as_bytes(), Some(exit)).outcome.unwrap()
    }

    fn judged(document: &Value, exit: u8, media: MediaKind) -> HealthState {
        let answer = answer(document.to_string().as_bytes(), Some(exit));
        single::judge(&answer.reading(), media, &OwnEvidence::default()).0
    }

    fn table(lines: &[(u8, &str, u8, u64)]) -> Value {
        let line = |&(id, name, value, raw): &(u8, &str, u8, u64)| {
            json!({"id": id, "name": name, "value": value, "raw": {"value": raw}, "when_failed": "",
                "flags": {"prefailure": false}})
        };
        json!({"table": lines.iter().map(line).collect::<Vec<_>>()})
    }

    fn ata(lines: &[(u8, &str, u8, u64)]) -> Value {
        json!({"smartctl": {"version": [7, 4]}, "device": {"protocol": "ATA"}, "smart_status": {"passed": true},
            "ata_smart_attributes": table(lines)})
    }

    fn nvme(warning: u64, celsius: i64) -> Value {
        json!({"smartctl": {"version": [7, 4]}, "device": {"protocol": "NVMe"}, "temperature": {"current": celsius},
            "smart_status": {"passed": warning == 0, "nvme": {"value": warning}},
            "nvme_smart_health_information_log": {"critical_warning": warning, "available_spare": 100,
            "available_spare_threshold": 10, "percentage_used": 1, "media_errors": 0}})
    }

    /// smartctl says `passed: false`, and sets its exit bit 3, for any bit of the warning.
    #[test]
    fn a_hot_nvme_drive_is_hot_and_not_failing() {
        assert_eq!(facts(&nvme(2, 84), 8).passed, Some(true));
        assert_eq!(judged(&nvme(2, 84), 8, MediaKind::Flash), HealthState::Hot);
        assert_eq!(judged(&nvme(8, 35), 8, MediaKind::Flash), HealthState::Replace, "it can only be read");
        assert_eq!(judged(&nvme(0, 40), 0, MediaKind::Flash), HealthState::Ok);
    }

    #[test]
    fn a_scsi_drive_is_judged_by_its_sense() {
        let scsi = |asc: u64, ascq: u64| {
            json!({"smartctl": {"version": [7, 4]}, "device": {"protocol": "SCSI"}, "scsi_grown_defect_list": 0,
                "smart_status": {"passed": false, "scsi": {"asc": asc, "ascq": ascq}},
                "temperature": {"current": 66, "drive_trip": 85}})
        };
        assert_eq!(facts(&scsi(0x0b, 1), 8).sense, Some(ScsiSense { asc: 0x0b, ascq: 1 }));
        assert_eq!(judged(&scsi(0x0b, 1), 8, MediaKind::Spinning), HealthState::Hot);
        assert_eq!(judged(&scsi(0x5d, 0x10), 8, MediaKind::Spinning), HealthState::Replace);
        assert_eq!(judged(&scsi(0x5d, 0xff), 8, MediaKind::Spinning), HealthState::Ok, "a test of the foretelling");
        assert_eq!(judged(&scsi(0x0b, 5), 8, MediaKind::Spinning), HealthState::Watch);
    }

    #[test]
    fn attributes_count_by_their_names() {
        let crucial = [(5, "Reallocate_NAND_Blk_Cnt", 100, 0), (197, "Current_Pending_ECC_Cnt", 100, 1)];
        assert_eq!(judged(&ata(&crucial), 0, MediaKind::Flash), HealthState::Ok);
        let indilinx = [(197, "Total_Unc_Read_Failures", 100, 0), (198, "Host_Reads_GiB", 100, 5211)];
        assert_eq!(judged(&ata(&indilinx), 0, MediaKind::Flash), HealthState::Ok);
        let not_in_use = [(197, "Not_In_Use", 100, 0)];
        assert_eq!(judged(&ata(&not_in_use), 0, MediaKind::Flash), HealthState::Unknown, "no evidence for ok");
    }

    #[test]
    fn a_drive_without_counters_still_says_how_hot_how_worn_and_how_tested_it_is() {
        let mut drive = ata(&[(9, "Power_On_Hours", 100, 9000), (231, "SSD_Life_Left", 60, 60)]);
        assert_eq!(judged(&drive, 0, MediaKind::Flash), HealthState::Unknown);
        drive["temperature"] = json!({"current": 91});
        assert_eq!(judged(&drive, 0, MediaKind::Flash), HealthState::Hot);
        let worn = ata(&[(231, "SSD_Life_Left", 2, 2)]);
        assert_eq!(
            (facts(&worn, 0).endurance_used(), judged(&worn, 0, MediaKind::Flash)),
            (Some(98), HealthState::Worn)
        );
        drive["ata_smart_self_test_log"] =
            json!({"standard": {"table": [{"status": {"value": 0x79}, "lba": 1234567}]}});
        assert_eq!(
            (facts(&drive, 0).self_test_lba, judged(&drive, 0, MediaKind::Flash)),
            (Some(1234567), HealthState::Replace)
        );
        drive["logical_block_size"] = json!(4096);
        assert_eq!(facts(&drive, 0).self_test_lba, Some(8 * 1234567), "drives count in their own blocks");
    }

    #[test]
    fn a_self_test_that_failed_long_ago_is_to_be_watched() {
        let judged_at = |then: u64| {
            let mut drive = ata(&[(5, "Reallocated_Sector_Ct", 100, 0)]);
            drive["power_on_time"] = json!({"hours": 70_000});
            let test = json!({"status": {"value": 0x79}, "lba": 7, "lifetime_hours": then});
            drive["ata_smart_self_test_log"] = json!({"standard": {"table": [test]}});
            judged(&drive, 0, MediaKind::Spinning)
        };
        assert_eq!(judged_at(70_000 - 65_536 - 100), HealthState::Replace, "100 hours ago: the log counts 16 bits");
        assert_eq!(judged_at(1000), HealthState::Watch);
    }

    #[test]
    fn endurance_and_spare_of_every_kind_of_drive_count() {
        let mut sata = ata(&[(5, "Reallocated_Sector_Ct", 100, 0), (202, "Percent_Lifetime_Remain", 60, 40)]);
        assert_eq!(facts(&sata, 0).endurance_used(), Some(40));
        sata["endurance_used"] = json!({"current_percent": 100});
        assert_eq!(judged(&sata, 0, MediaKind::Flash), HealthState::Worn);
        sata["endurance_used"] = json!({"current_percent": 3});
        sata["spare_available"] = json!({"current_percent": 4, "threshold_percent": 10});
        assert_eq!(judged(&sata, 0, MediaKind::Flash), HealthState::Replace);
        let sas = json!({"smartctl": {"version": [7, 4]}, "device": {"protocol": "SCSI"}, "scsi_grown_defect_list": 0,
            "smart_status": {"passed": true}, "scsi_percentage_used_endurance_indicator": 103});
        assert_eq!(judged(&sas, 0, MediaKind::Flash), HealthState::Worn);
    }
}
