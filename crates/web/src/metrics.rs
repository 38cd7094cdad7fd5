//! The metrics in the text format of Prometheus, version 0.0.4.
//!
//! Written by hand, not by prometheus-client: that library writes OpenMetrics, whose `info` type, `# EOF` and names of
//! counters neither node_exporter's textfile collector nor `promtool check metrics` accept, and it keeps counters of
//! its own, while here each answer is made from the watch's status. What a library would save is two escapes.

use crate::feed::SeenPicture;
use scrubjay_control::past::DiskPast;
use scrubjay_control::{ArrayEntry, ChannelEntry, DiskEntry, ReadingActivity, WatchDocument};
use scrubjay_watch::health::HealthState;
use scrubjay_watch::incident::Urgency;
use std::fmt::Write as _;

/// The content type of the answer.
pub const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A text that is being written, one family after the other.
#[derive(Default)]
struct MetricsText(String);

/// Labels of a sample.
type Labels<'l> = &'l [(&'l str, &'l str)];

impl MetricsText {
    /// Writes a family; samples that are not known are left out, and so is a family without samples.
    fn family(&mut self, name: &str, kind: &str, help: &str, samples: impl FnOnce(&mut dyn FnMut(Labels<'_>, f64))) {
        let mut lines = String::new();
        samples(&mut |labels, value| {
            let _ = write!(lines, "scrubjay_{name}");
            for (number, (label, text)) in labels.iter().enumerate() {
                let before = if number == 0 { "{" } else { "," };
                let _ = write!(lines, "{before}{label}=\"{}\"", escaped(text));
            }
            let end = if labels.is_empty() { "" } else { "}" };
            let _ = writeln!(lines, "{end} {value}");
        });
        if !lines.is_empty() {
            let _ = write!(self.0, "# HELP scrubjay_{name} {help}\n# TYPE scrubjay_{name} {kind}\n{lines}");
        }
    }

    /// Writes a gauge of things with one label: each thing's name, and its value if known.
    fn gauges<'a, T: 'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        all: impl IntoIterator<Item = &'a T>,
        of: impl Fn(&'a T) -> Option<(&'a str, f64)>,
    ) {
        self.typed("gauge", name, help, label, all, of);
    }

    fn typed<'a, T: 'a>(
        &mut self,
        kind: &str,
        name: &str,
        help: &str,
        label: &str,
        all: impl IntoIterator<Item = &'a T>,
        of: impl Fn(&'a T) -> Option<(&'a str, f64)>,
    ) {
        self.family(name, kind, help, |sample| {
            all.into_iter().filter_map(of).for_each(|(text, value)| sample(&[(label, text)], value));
        });
    }
}

/// Escapes a label's value.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The metrics of a picture.
pub fn of(picture: &SeenPicture) -> String {
    let mut text = MetricsText::default();
    let version = scrubjay_control::version::version();
    text.family("build_info", "gauge", "The version of the program that answers.", |sample| {
        sample(&[("version", version)], 1.0)
    });
    text.family(
        "watch_up",
        "gauge",
        "Whether the watch answers: 0 if what follows is old, or nothing follows.",
        |sample| {
            sample(&[], f64::from(u8::from(picture.is_fresh())));
        },
    );
    let help = "Whether this is a recording (web --recorded): then nothing in it is so anywhere now.";
    text.family("recording", "gauge", help, |sample| sample(&[], f64::from(u8::from(picture.is_recording))));
    let Some(status) = picture.status.as_deref() else { return text.0 };
    let help = "When the watch last answered, by its clock.";
    text.family("poll_timestamp_seconds", "gauge", help, |sample| sample(&[], status.time as f64));
    disks(&mut text, status, picture.is_fresh());
    reading(&mut text, &status.disks);
    arrays(&mut text, &status.arrays, picture.is_fresh());
    alerts(&mut text, status, picture.is_fresh());
    if picture.past.is_some() || picture.past_trouble.is_some() {
        let help = "Whether the history can be read: if not, nothing is said of what drives said, of passes, and of temperatures.";
        let is_up = f64::from(u8::from(picture.past_trouble.is_none()));
        text.family("history_up", "gauge", help, |sample| sample(&[], is_up));
        text.family("history_trouble", "gauge", "Why the history cannot be read. Absent: it can.", |sample| {
            picture.past_trouble.iter().for_each(|why| sample(&[("why", why)], 1.0));
        });
    }
    if let Some(past) = picture.past.as_deref() {
        drives(&mut text, &past.disks, picture.is_fresh());
    }
    text.0
}

fn disks(text: &mut MetricsText, status: &WatchDocument, is_fresh: bool) {
    let help = "A disk; joined by its label disk, which names it for good.";
    text.family("disk_info", "gauge", help, |sample| {
        for disk in &status.disks {
            let device = disk.name.as_deref().unwrap_or_default();
            let serial = disk.serial.as_deref().unwrap_or_default();
            let bay = disk.bay.as_deref().unwrap_or_default();
            let labels = [
                ("disk", disk.key.as_str()),
                ("device", device),
                ("model", &disk.model),
                ("serial", serial),
                ("bay", bay),
                ("host", &status.host),
            ];
            sample(&labels, 1.0);
        }
    });
    text.family("disk_state", "gauge", "How a disk is: 1 for the word that is so. What is old is unknown.", |sample| {
        for disk in &status.disks {
            let is_well = matches!(disk.health, HealthState::Ok | HealthState::Asleep);
            let health = if is_fresh || !is_well { disk.health } else { HealthState::Unknown };
            for state in HealthState::ALL {
                sample(&[("disk", &disk.key), ("state", state.word())], f64::from(u8::from(health == state)));
            }
        }
    });
    text.gauges("disk_size_bytes", "The size of a disk.", "disk", &status.disks, |disk: &DiskEntry| {
        Some((disk.key.as_str(), disk.bytes as f64))
    });
}

fn reading(text: &mut MetricsText, disks: &[DiskEntry]) {
    type OfDisk = fn(&DiskEntry) -> Option<f64>;
    let gauges: [(&str, &str, OfDisk); 7] = [
        (
            "scrub_oldest_read_timestamp_seconds",
            "When the sector of the disk that was read longest ago was read. Absent: some never were.",
            |disk| disk.reading.oldest_read.map(|read| read as f64),
        ),
        ("scrub_due_timestamp_seconds", "When the first of its sectors is due to be read.", |disk| {
            Some(disk.reading.due as f64)
        }),
        ("scrub_covered_ratio", "The share of the pass under way that is read. Absent: none is.", |disk| {
            disk.reading.pass_share
        }),
        (
            "scrub_unreadable_sectors",
            "Sectors that could not be read. Absent: not all of it was read yet, and none was found.",
            |disk| {
                (disk.reading.unreadable > 0 || disk.reading.oldest_read.is_some())
                    .then_some(disk.reading.unreadable as f64)
            },
        ),
        (
            "scrub_reading",
            "Whether a scrub of the disk is under way: it reads, or waits until the disk is idle.",
            |disk| Some(f64::from(u8::from(disk.reading.activity != ReadingActivity::Held))),
        ),
        (
            "latency_budget_seconds",
            "The limit of the mean delay that the scrub may cause to foreground requests.",
            |disk| Some(disk.reading.budget_nanos as f64 / 1e9),
        ),
        (
            "latency_added_seconds",
            "The mean delay that it caused to foreground requests in this session. Absent: there were none.",
            |disk| disk.reading.slowdown_nanos.map(|nanos| nanos as f64 / 1e9),
        ),
    ];
    for (name, help, value) in gauges {
        text.gauges(name, help, "disk", disks, |disk: &DiskEntry| Some((disk.key.as_str(), value(disk)?)));
    }
}

/// Is a value written? An old picture must not state that anything is well.
fn is_written(name: &str, value: f64, is_fresh: bool) -> bool {
    is_fresh
        || value == 0.0
        || !matches!(name, "array_present" | "smart_passed" | "array_lost_blocks" | "array_member_errors")
}

fn arrays(text: &mut MetricsText, arrays: &[ArrayEntry], is_fresh: bool) {
    text.family("array_info", "gauge", "An array; joined by its label array, its UUID.", |sample| {
        for array in arrays {
            sample(&[("array", &array.key), ("name", &array.name), ("level", &array.level)], 1.0);
        }
    });
    type OfArray = fn(&ArrayEntry) -> Option<f64>;
    let gauges: [(&str, &str, OfArray); 9] = [
        ("array_present", "Whether the array is there.", |array| Some(f64::from(u8::from(array.is_there)))),
        ("array_redundancy_left", "How many more members may be lost; below zero: too many are.", |array| {
            Some(array.redundancy_left as f64)
        }),
        ("array_redundancy_designed", "How many members may be lost when all are there.", |array| {
            Some(array.redundancy as f64)
        }),
        (
            "array_corrected_blocks",
            "Rows or copies that its last check found corrupt, and that are right now.",
            |array| array.check.as_ref().map(|check| check.corrected as f64),
        ),
        (
            "array_corrupt_blocks",
            "What its last check found wrong and left: sectors that disagree, or were not compared; of a btrfs blocks, of a volume rows.",
            |array| array.check.as_ref().map(|check| check.mismatched as f64),
        ),
        ("array_unreadable_sectors", "Sectors that its last check could neither read nor rebuild.", |array| {
            array.check.as_ref().map(|check| check.unreadable as f64)
        }),
        (
            "array_oldest_check_timestamp_seconds",
            "When the part that was checked longest ago was checked. Absent: some never were, or nothing here checks it.",
            |array| match &array.pool {
                Some(pool) => pool.scrubbed.filter(|scrubbed| *scrubbed > 0).map(|scrubbed| scrubbed as f64),
                None => array.check.as_ref()?.oldest_read.map(|read| read as f64),
            },
        ),
        (
            "array_lost_blocks",
            "Blocks of a pool of ZFS that are lost for good; of a volume, stripes that hold lost data. Absent: it is neither, or that is \
             not known.",
            |array| {
                let lost = array.pool.as_ref().map_or(array.lost_stripes, |pool| pool.lost_blocks);
                lost.map(|lost| lost as f64)
            },
        ),
        (
            "array_member_errors",
            "Errors that a pool of ZFS has counted at its devices since they were last cleared. Absent: as above.",
            |array| {
                let pool = array.pool.as_ref().filter(|pool| pool.lost_blocks.is_some())?;
                Some(pool.member_errors.iter().fold(0.0, |sum, (_, count)| sum + *count as f64))
            },
        ),
    ];
    for (name, help, value) in gauges {
        text.gauges(name, help, "array", arrays, |array: &ArrayEntry| {
            let value = value(array).filter(|value| is_written(name, *value, is_fresh))?;
            Some((array.key.as_str(), value))
        });
    }
}

fn alerts(text: &mut MetricsText, status: &WatchDocument, is_fresh: bool) {
    type OfChannel = fn(&ChannelEntry) -> Option<f64>;
    let gauges: [(&str, &str, OfChannel); 3] = [
        (
            "alert_proven_timestamp_seconds",
            "When a code that came this way was last confirmed. Absent: never.",
            |channel| channel.proven.map(|at| at as f64),
        ),
        (
            "alert_last_delivered_timestamp_seconds",
            "When a message was last accepted. Absent: none ever was.",
            |channel| channel.delivered.map(|at| at as f64),
        ),
        ("alert_failing", "Whether the last attempt by this way failed.", |channel| {
            Some(f64::from(u8::from(channel.failing_since.is_some())))
        }),
    ];
    for (name, help, value) in gauges {
        text.gauges(name, help, "channel", &status.channels, |channel: &ChannelEntry| {
            Some((channel.name.as_str(), value(channel)?))
        });
    }
    let channels = status.channels.len() as f64;
    text.family("alert_channels", "gauge", "Ways for messages.", |sample| sample(&[], channels));
    let waiting = status.messages_waiting as f64;
    text.family("alert_messages_waiting", "gauge", "Messages that no way has accepted yet.", |sample| {
        sample(&[], waiting)
    });
    let open = |urgency: Urgency| {
        let is_open =
            |incident: &&scrubjay_control::IncidentEntry| !incident.is_accepted && incident.urgency == urgency;
        status.incidents.iter().filter(is_open).count() as f64
    };
    text.family("incidents", "gauge", "Open problems that were not accepted.", |sample| {
        for urgency in Urgency::ALL {
            if is_fresh || open(urgency) > 0.0 {
                sample(&[("urgency", urgency.word())], open(urgency));
            }
        }
    });
}

fn drives(text: &mut MetricsText, disks: &[DiskPast], is_fresh: bool) {
    type OfPast = fn(&DiskPast) -> Option<f64>;
    let gauges: [(&str, &str, &str, OfPast); 8] = [
        ("gauge", "disk_temperature_celsius", "What the drive last said.", |disk| disk.drive.celsius.map(f64::from)),
        (
            "gauge",
            "smart_last_read_timestamp_seconds",
            "When the drive was last asked how it is. Absent: never.",
            |disk| (disk.drive.read > 0).then_some(disk.drive.read as f64),
        ),
        ("gauge", "smart_passed", "The drive's own verdict. Absent: it gives none.", |disk| {
            disk.drive.passed.map(|passed| f64::from(u8::from(passed)))
        }),
        ("gauge", "nvme_percentage_used_ratio", "Endurance used. Absent: the drive does not say.", |disk| {
            disk.drive.used_percent.map(|percent| f64::from(percent) / 100.0)
        }),
        (
            "gauge",
            "scrub_last_pass_timestamp_seconds",
            "When the last pass over the disk ended. Absent: none has.",
            |disk| (disk.last_pass > 0).then_some(disk.last_pass as f64),
        ),
        ("counter", "scrub_passes_total", "Passes that are over.", |disk| Some(disk.passes_finished as f64)),
        ("counter", "scrub_read_bytes_total", "What all passes have read.", |disk| Some(disk.bytes_read as f64)),
        ("gauge", "scrub_retried_reads", "Reads of the last pass that went well only the second time.", |disk| {
            Some(disk.retries as f64)
        }),
    ];
    for (kind, name, help, value) in gauges {
        text.typed(kind, name, help, "disk", disks, |disk: &DiskPast| {
            let value = value(disk).filter(|value| is_written(name, *value, is_fresh))?;
            Some((disk.key.as_str(), value))
        });
    }
    text.family(
        "smart_raw",
        "gauge",
        "A counter of the drive, decoded; attr is its number for ATA drives, else its name.",
        |sample| {
            for disk in disks {
                for counter in &disk.drive.counters {
                    let attr = match counter.key.as_str() {
                        "reallocated" => "5",
                        "reported" => "187",
                        "timed out" => "188",
                        "pending" => "197",
                        "uncorrectable" => "198",
                        "cable errors" => "199",
                        other => other,
                    };
                    sample(&[("disk", &disk.key), ("attr", attr)], counter.value as f64);
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_control::{PoolEntry, ReadingEntry};
    use std::sync::Arc;
    use std::time::Instant;

    fn picture(health: HealthState, trouble: Option<String>) -> SeenPicture {
        let disk = DiskEntry {
            key: "a\"b\\c".into(),
            health,
            reading: ReadingEntry { due: 7, ..ReadingEntry::default() },
            ..DiskEntry::default()
        };
        let status = WatchDocument { disks: vec![disk], ..WatchDocument::default() };
        SeenPicture {
            status: Some(Arc::new(status)),
            answered: Some(Instant::now()),
            trouble,
            ..SeenPicture::default()
        }
    }

    #[test]
    fn unknown_values_are_absent_and_labels_are_escaped() {
        let text = of(&picture(HealthState::Ok, None));
        assert!(text.contains("scrubjay_disk_state{disk=\"a\\\"b\\\\c\",state=\"ok\"} 1\n"), "{text}");
        assert!(!text.contains("scrub_unreadable_sectors"), "not all of it was read: {text}");
        assert!(text.contains("scrubjay_watch_up 1\n"));
        let text = of(&SeenPicture::default());
        assert!(text.contains("scrubjay_watch_up 0\n") && !text.contains("disk_state"), "{text}");
    }

    #[test]
    fn an_endurance_of_zero_is_written_and_an_unknown_one_is_absent() {
        let of_drive = |used_percent| {
            let drive = scrubjay_control::past::DriveReported { used_percent, ..Default::default() };
            let disks = vec![DiskPast { key: "a".into(), drive, ..DiskPast::default() }];
            let past = scrubjay_control::past::PastDocument { disks, ..Default::default() };
            of(&SeenPicture { past: Some(Arc::new(past)), ..picture(HealthState::Ok, None) })
        };
        assert!(of_drive(Some(0)).contains("scrubjay_nvme_percentage_used_ratio{disk=\"a\"} 0\n"));
        assert!(of_drive(Some(7)).contains("scrubjay_nvme_percentage_used_ratio{disk=\"a\"} 0.07\n"));
        assert!(!of_drive(None).contains("nvme_percentage"));
    }

    /// A picture in which everything is known.
    fn whole_picture() -> SeenPicture {
        use scrubjay_control::past::{CounterEntry, DriveReported, PastDocument};
        let some = Some(1);
        let reading =
            ReadingEntry { oldest_read: some, pass_share: Some(0.5), slowdown_nanos: some, ..ReadingEntry::default() };
        let disk = DiskEntry { key: "a".into(), reading: reading.clone(), ..DiskEntry::default() };
        let array = ArrayEntry { key: "b".into(), check: Some(reading), ..ArrayEntry::default() };
        let pool = PoolEntry { lost_blocks: Some(2), scrubbed: some, ..PoolEntry::default() };
        let pool = ArrayEntry { key: "p".into(), pool: Some(pool), ..ArrayEntry::default() };
        let volume = ArrayEntry { key: "v".into(), lost_stripes: Some(3), ..ArrayEntry::default() };
        let channel = ChannelEntry {
            name: "c".into(),
            proof: "proven".into(),
            proven: some,
            is_proven: Some(true),
            proof_line: None,
            delivered: some,
            failing_since: None,
            last: None,
        };
        let drive = DriveReported {
            read: 1,
            passed: Some(true),
            celsius: Some(30),
            used_percent: Some(1),
            counters: vec![CounterEntry { key: "pending".into(), ..CounterEntry::default() }],
        };
        let past = DiskPast { key: "a".into(), drive, last_pass: 1, ..DiskPast::default() };
        let status = WatchDocument {
            disks: vec![disk],
            arrays: vec![array, pool, volume],
            channels: vec![channel],
            ..WatchDocument::default()
        };
        SeenPicture {
            status: Some(Arc::new(status)),
            past: Some(Arc::new(PastDocument { disks: vec![past], ..PastDocument::default() })),
            past_trouble: Some("it is locked".into()),
            answered: Some(Instant::now()),
            ..SeenPicture::default()
        }
    }

    /// Compares the table of docs/web.md with the metrics: a metric without a row, a row without a metric, another
    /// label or another text is a failure.
    #[test]
    fn the_documentation_has_each_metric_with_its_labels_and_its_text() {
        let text = of(&whole_picture());
        let mut rows: Vec<String> = Vec::new();
        for family in text.split("# HELP scrubjay_").skip(1) {
            let (name, rest) = family.split_once(' ').expect("a name and a text");
            let (help, samples) = rest.split_once('\n').expect("a line of its own");
            let sample = samples.lines().nth(1).expect("a type, and a sample");
            let labels = sample.split_once('{').map_or("", |(_, labels)| labels);
            let labels: Vec<String> = labels
                .split("\",")
                .filter(|label| label.contains('='))
                .map(|label| label.split('=').next())
                .map(|name| format!("`{}`", name.unwrap_or_default()))
                .collect();
            rows.push(format!("| `{name}` | {} | {help} |", labels.join(", ")));
        }
        rows.sort();
        let documented: Vec<&str> = include_str!("../../../docs/web.md")
            .lines()
            .skip_while(|line| !line.starts_with("| metric"))
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .collect();
        assert!(
            text.contains("array_lost_blocks{array=\"p\"} 2\n") && text.contains("array_lost_blocks{array=\"v\"} 3\n")
        );
        assert_eq!(documented, rows, "docs/web.md and what /metrics says");
    }

    #[test]
    fn an_old_picture_shows_good_disks_as_unknown_and_bad_ones_as_bad() {
        let state = |health: HealthState, word: &str| {
            let text = of(&picture(health, Some("gone".into())));
            text.contains(&format!("state=\"{word}\"}} 1\n"))
        };
        assert!(
            state(HealthState::Ok, "unknown")
                && state(HealthState::Asleep, "unknown")
                && state(HealthState::Replace, "replace")
        );
    }
}
