//! The JSON of `explain --json`: schema 1.

use super::explained::Explained;
use super::text;
use scrubjay_control::ArrayEntry;
use scrubjay_control::past::SurfaceSpeed;
use scrubjay_daemon::smartctl::exit::SmartctlExit;
use scrubjay_watch::counters;
use scrubjay_watch::health::HealthSign;
use scrubjay_words::{Said, base_rate, counter};
use serde::Serialize;

/// The explanation of one disk.
#[derive(Serialize)]
pub struct ExplainDocument {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    /// The path, such as `/dev/sda`; null: only a recording was judged.
    path: Option<String>,
    model: Option<String>,
    serial: Option<String>,
    firmware: Option<String>,
    bytes: Option<u64>,
    rotational: Option<bool>,
    power_on_hours: Option<u64>,
    /// ok, watch, replace, asleep, unknown or missing.
    state: &'static str,
    reasons: Vec<ReasonDocument>,
    /// Further reasons of the watch; empty: there are none, or it does not run.
    watch_reasons: Vec<String>,
    /// The drive's own verdict; null: it gave none.
    drive_passed: Option<bool>,
    /// Attributes at or below the drive's own thresholds.
    below_threshold: Vec<String>,
    self_testing: bool,
    counters: Vec<CounterDocument>,
    /// Facts that drives of this kind usually report and this one does not.
    not_told: Vec<&'static str>,
    celsius: Option<i32>,
    nvme: Option<NvmeDocument>,
    smartctl: SmartctlDocument,
    /// The records of Scrubjay's scrubs; null: no disk was named.
    scrub: Option<FoundDocument>,
    /// How fast its places answer; null: no disk was named, or it cannot be told from others.
    speed: Option<SurfaceSpeed>,
    /// The pools of ZFS that it is a member of.
    pools: Vec<ArrayEntry>,
    /// What one reading cannot show.
    not_known: Vec<String>,
    to_do: Vec<String>,
}

#[derive(Serialize)]
struct ReasonDocument {
    words: Said,
    /// The state that this sign alone means for the disk.
    state: &'static str,
    base_rate: Option<Said>,
    source: Option<Said>,
}

#[derive(Serialize)]
struct CounterDocument {
    words: Said,
    value: u64,
    /// Is it a counter of the medium, and not of the cable or of time-outs?
    medium: bool,
}

#[derive(Serialize)]
struct NvmeDocument {
    critical_warning: u8,
    spare_percent: u8,
    spare_threshold_percent: u8,
    used_percent: u8,
}

#[derive(Serialize)]
struct SmartctlDocument {
    version: Option<String>,
    exit_status: Option<u8>,
    /// Bits 2 and 5 to 7 of the exit status in words: they do not affect the state.
    notes: Vec<&'static str>,
    /// Why there are no SMART data, as one word; null: there are data.
    obstacle: Option<&'static str>,
    /// The obstacle in words.
    error: Option<String>,
}

#[derive(Serialize)]
struct FoundDocument {
    oldest_read_seconds: Option<u64>,
    bad_sectors: Option<u64>,
    first_bad_share: Option<f64>,
    retries: u64,
    scrubbed_by: Option<u32>,
}

impl ExplainDocument {
    pub fn of(explained: &Explained) -> ExplainDocument {
        let (about, facts) = (&explained.answer.about, explained.answer.outcome.as_ref().ok());
        let counters = facts.map(counters::decode).unwrap_or_default();
        ExplainDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            path: explained.disk.as_ref().map(|disk| disk.path.display().to_string()),
            model: explained.model().map(str::to_owned),
            serial: explained.serial().map(str::to_owned),
            firmware: about.firmware.clone(),
            bytes: explained.bytes(),
            rotational: explained.is_spinning(),
            power_on_hours: about.power_on_hours,
            state: explained.state.word(),
            reasons: explained.signs.iter().map(reason).collect(),
            watch_reasons: explained.watch_reasons(),
            drive_passed: about.own_verdict,
            below_threshold: about.below_threshold.clone(),
            self_testing: facts.is_some_and(|facts| facts.is_self_testing),
            counters: counters
                .into_iter()
                .map(|(kind, value)| CounterDocument { words: counter(kind), value, medium: kind.is_of_medium() })
                .collect(),
            not_told: about.missing.clone(),
            celsius: facts.and_then(counters::celsius),
            nvme: facts.and_then(|facts| facts.nvme).map(|log| NvmeDocument {
                critical_warning: log.critical_warning,
                spare_percent: log.spare,
                spare_threshold_percent: log.spare_threshold,
                used_percent: log.used,
            }),
            smartctl: SmartctlDocument {
                version: about.version.clone(),
                exit_status: about.exit.map(|exit| exit.0),
                notes: about.exit.map(|exit| exit.words(SmartctlExit::NOTES)).unwrap_or_default(),
                obstacle: explained.obstacle().map(|obstacle| obstacle.key()),
                error: explained.obstacle().map(|obstacle| obstacle.words()),
            },
            scrub: explained.record.as_ref().map(|record| FoundDocument {
                oldest_read_seconds: record.oldest_read_seconds,
                bad_sectors: record.bad_sectors,
                first_bad_share: record.first_bad_share,
                retries: record.retries,
                scrubbed_by: record.scrubbed_by,
            }),
            speed: explained.speed.clone(),
            pools: explained.pools.clone(),
            not_known: text::unknown(explained),
            to_do: explained.to_do(),
        }
    }
}

fn reason(sign: &HealthSign) -> ReasonDocument {
    let (rate, source) = sign.base_rate().map(base_rate).unzip();
    ReasonDocument { words: scrubjay_words::sign(sign), state: sign.state().word(), base_rate: rate, source }
}
