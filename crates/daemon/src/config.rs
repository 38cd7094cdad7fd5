//! The watch's settings file: TOML; each key has a default. An empty file is valid.

use crate::channels::ChannelSettings;
use scrubjay_core::quantity;
use scrubjay_jobs::{JobError, config};
use scrubjay_watch::calendar::{DAY, MINUTE};
use scrubjay_watch::hours::DailyHours;
use scrubjay_watch::settings::WatchSettings;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use toml::Value;

/// Flash may be hotter than hard disks by this many degrees Celsius.
const FLASH_HOTTER: i32 = 20;

/// The default path of the settings file.
pub const CONFIG_FILE: &str = "/etc/scrubjay/config.toml";

/// All keys of the file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct WatchConfig {
    /// The machine's name in messages; the default is its host name.
    pub host: Option<String>,
    /// Devices that are watched though they are not disks of this machine, such as `/dev/loop7`.
    pub also: Vec<PathBuf>,
    /// Disks that are not watched, by serial number, WWN or name.
    pub never: Vec<String>,
    /// Reads nothing and sends nothing, and says what it would have done.
    pub observe: bool,
    /// Messages may name the files that lie where requests of programs failed.
    pub name_files: bool,
    /// Notices wait for the end of these hours.
    #[serde(deserialize_with = "hours")]
    pub quiet: Option<DailyHours>,
    /// When disks are read.
    pub scrub: ScrubTimes,
    /// When drives are asked for SMART data.
    pub smart: SmartTimes,
    /// What is done with pools of ZFS.
    pub zfs: ZfsSettings,
    /// The channels for messages.
    pub alert: ChannelSettings,
}

/// The table `[zfs]`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ZfsSettings {
    /// The pools whose own scrubs the watch begins, holds and lets go.
    #[serde(deserialize_with = "names")]
    pub scrub: Vec<String>,
}

/// The table `[scrub]`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScrubTimes {
    /// Every sector is read within this time, in seconds.
    #[serde(deserialize_with = "span")]
    pub every: u64,
    /// Disks are read only within these hours of the day.
    #[serde(deserialize_with = "hours")]
    pub between: Option<DailyHours>,
    /// A hard disk above this temperature is not read, in degrees Celsius.
    pub max_temperature: i32,
    /// Disks of one controller that are read at the same time, at most.
    pub at_once: usize,
}

impl Default for ScrubTimes {
    fn default() -> ScrubTimes {
        let WatchSettings { every, between, celsius_max, controller_max, .. } = WatchSettings::default();
        ScrubTimes { every, between, max_temperature: celsius_max, at_once: controller_max }
    }
}

/// The table `[smart]`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SmartTimes {
    /// The time between two readings, in seconds.
    #[serde(deserialize_with = "span")]
    pub every: u64,
}

impl Default for SmartTimes {
    fn default() -> SmartTimes {
        SmartTimes { every: WatchSettings::default().smart_every }
    }
}

/// Deserializes `35d`, `4h` into seconds.
fn span<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = match Value::deserialize(from)? {
        Value::String(text) => text,
        Value::Integer(number) => {
            let error = format!("{number} has no unit: write \"{number}d\", \"{number}h\" or \"{number}m\"");
            return Err(D::Error::custom(error));
        }
        _ => return Err(D::Error::custom("this is no span of time: write \"35d\", \"4h\" or \"30m\"")),
    };
    let seconds = quantity::span(&text).map_err(D::Error::custom)?;
    if (MINUTE..=10 * 365 * DAY).contains(&seconds) {
        return Ok(seconds);
    }
    Err(D::Error::custom(format!("`{text}` is not between 1m and 3650d")))
}

/// Deserializes a name or a list of names.
fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let wrong = || D::Error::custom("this is no name of a pool: write \"tank\" or [\"tank\", \"backup\"]");
    let name_of = |value: Value| if let Value::String(name) = value { Ok(name) } else { Err(wrong()) };
    match Value::deserialize(from)? {
        Value::Array(names) => names.into_iter().map(name_of).collect(),
        Value::String(name) if name.is_empty() => Ok(Vec::new()),
        value => Ok(vec![name_of(value)?]),
    }
}

/// Deserializes hours of the day; an empty text is any hour.
fn hours<'de, D: Deserializer<'de>>(from: D) -> Result<Option<DailyHours>, D::Error> {
    let text = String::deserialize(from)?;
    (!text.trim().is_empty()).then(|| DailyHours::from_str(&text)).transpose().map_err(D::Error::custom)
}

impl WatchConfig {
    /// Reads a file. An absent file counts as empty, unless it was asked for.
    ///
    /// # Errors
    /// The file cannot be read or understood; the text has file, line and key.
    pub fn read(path: &Path, is_required: bool) -> Result<WatchConfig, JobError> {
        let name = path.display();
        match fs::read_to_string(path) {
            Ok(text) => WatchConfig::parse(&text).map_err(|problem| JobError::Input(format!("{name}{problem}"))),
            Err(error) if error.kind() == ErrorKind::NotFound && !is_required => Ok(WatchConfig::default()),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                Err(JobError::Io { what: format!("cannot read {name}"), error })
            }
            Err(error) => Err(JobError::Input(format!("{name}: {error}"))),
        }
    }

    /// Parses the text of a settings file.
    ///
    /// # Errors
    /// `:LINE: KEY: WHAT`, in one line.
    pub fn parse(text: &str) -> Result<WatchConfig, String> {
        let config: WatchConfig = config::parse_as(text)?;
        let Some(problem) = config.problem_of_values() else { return Ok(config) };
        Err(format!(": {problem}"))
    }

    /// What is wrong with values that can be parsed.
    fn problem_of_values(&self) -> Option<String> {
        let ScrubTimes { every, at_once, max_temperature, .. } = self.scrub;
        if self.also.iter().any(|device| device.as_os_str().is_empty()) {
            return Some("also: an empty name is no device: write also = [\"/dev/loop7\"]".to_owned());
        }
        if every < DAY {
            return Some("scrub.every: less than a day: a disk is not read as often as that".to_owned());
        }
        if at_once == 0 {
            return Some("scrub.at-once: 0 disks at a time would never be read: write 1 or more".to_owned());
        }
        if !(20..=100).contains(&max_temperature) {
            return Some(format!("scrub.max-temperature: {max_temperature} is not between 20 and 100 degrees Celsius"));
        }
        if !(10 * MINUTE..=DAY).contains(&self.smart.every) {
            return Some("smart.every: not between 10m and 24h: what is older than a day is not known".to_owned());
        }
        None
    }

    /// The watch's settings. The caller adds the channels.
    pub fn settings(&self, host_name: &str, secret: u64) -> WatchSettings {
        WatchSettings {
            host: self.host.clone().filter(|host| !host.is_empty()).unwrap_or_else(|| host_name.to_owned()),
            every: self.scrub.every,
            between: self.scrub.between,
            quiet: self.quiet,
            controller_max: self.scrub.at_once,
            celsius_max: self.scrub.max_temperature,
            celsius_max_flash: self.scrub.max_temperature + FLASH_HOTTER,
            smart_every: self.smart.every,
            channels: Vec::new(),
            pace: 1,
            run: 0,
            secret,
        }
    }
}

/// The text of a new file: every key with its default, as a comment.
pub const COMMENTED: &str = include_str!("config.toml");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::CHANNEL_KINDS;

    #[test]
    fn an_empty_file_is_the_default_and_so_is_the_commented_one() {
        assert_eq!(WatchConfig::parse(""), Ok(WatchConfig::default()));
        assert_eq!(WatchConfig::parse(COMMENTED), Ok(WatchConfig::default()));
        let settings = WatchConfig::default().settings("nas1", 7);
        let expected = WatchSettings { host: "nas1".into(), secret: 7, ..WatchSettings::default() };
        assert_eq!(settings, expected);
    }

    /// The commented file, with its comments removed: each key has the default that it shows.
    #[test]
    fn the_commented_file_shows_the_true_defaults_and_every_key() {
        let bare: String = COMMENTED
            .lines()
            .filter_map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).or(Some(line)))
            .filter(|line| !line.starts_with("# "))
            .map(|line| format!("{line}\n"))
            .collect();
        let config = WatchConfig::parse(&bare).unwrap_or_else(|problem| panic!("{problem} in\n{bare}"));
        let plain = WatchConfig::default();
        assert_eq!((config.scrub, config.smart, config.quiet), (plain.scrub, plain.smart, plain.quiet));
        for key in ["host", "also", "never", "every", "between", "max-temperature", "at-once", "quiet"] {
            assert!(bare.lines().any(|line| line.starts_with(&format!("{key} = "))), "{key} in\n{bare}");
        }
        // The channels are shown, not set; uncommented they are valid settings, with each kind among them.
        let shown =
            COMMENTED.lines().skip_while(|line| !line.contains("[alert.")).filter_map(|line| line.strip_prefix('#'));
        let shown = shown.collect::<Vec<_>>().join("\n");
        WatchConfig::parse(&shown).expect("good settings");
        let table: toml::Table = shown.parse().expect("TOML");
        for kind in CHANNEL_KINDS.iter().chain(&["heartbeat"]) {
            assert!(table["alert"].get(kind).is_some(), "{kind} is shown there, too");
        }
    }

    #[test]
    fn a_report_for_strangers_knows_the_names_of_all_kinds_of_channels() {
        for kind in CHANNEL_KINDS {
            assert!(scrubjay_jobs::report::is_harmless(kind), "{kind}: OUR_WORDS of jobs/src/report/shape.rs lacks it");
        }
    }

    #[test]
    fn pools_are_named_alone_or_in_a_list_and_none_by_default() {
        let pools = |text| WatchConfig::parse(text).unwrap().zfs.scrub;
        assert_eq!(pools("[zfs]\nscrub = \"tank\"\n"), ["tank"]);
        assert_eq!(pools("[zfs]\nscrub = [\"tank\", \"backup\"]\n"), ["tank", "backup"]);
        assert_eq!((pools(""), pools("[zfs]\nscrub = \"\"\n")), (Vec::new(), Vec::<String>::new()));
    }

    #[test]
    fn errors_name_line_and_key() {
        for (text, expected) in [
            ("[scrub]\nevery = \"35\"\n", ":2: every: `35` is no span of time: write 35d"),
            ("[scrub]\nevery = 60\n", ":2: every: 60 has no unit: write \"60d\", \"60h\" or \"60m\""),
            ("[scrub]\nevery = true\n", ":2: every: this is no span of time"),
            ("[scrub]\nevery = \"1h\"\n", ": scrub.every: less than a day"),
            ("[scrub]\nbetween = \"night\"\n", ":2: between: `night` are no hours of the day: write 01:00-07:00"),
            ("[scrub]\nat-once = 0\n", ": scrub.at-once: 0 disks at a time"),
            ("[scrub]\nslowdown = \"1ms\"\n", ":2: unknown field `slowdown`, expected one of `every`, `between`"),
            ("[smart]\nevery = \"3d\"\n", ": smart.every: not between 10m and 24h"),
            ("[zfs]\nscrub = true\n", ":2: scrub: this is no name of a pool: write \"tank\" or [\"tank\", \"backup\"]"),
            ("[zfs]\ntune = true\n", ":2: unknown field `tune`, expected `scrub`"),
            ("also = [\"\"]\n", ": also: an empty name is no device"),
            ("hosts = \"a\"\n", ":1: unknown field `hosts`, expected one of `host`, `also`"),
        ] {
            let found = WatchConfig::parse(text).unwrap_err();
            assert!(found.starts_with(expected), "{found}");
            assert!(!found.contains('\n'), "{found}");
        }
    }
}
