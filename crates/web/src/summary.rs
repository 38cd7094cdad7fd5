//! `/api/v1/summary`: a few numbers for tiles on other dashboards (Homepage, Home Assistant, Uptime Kuma).

use crate::feed::SeenPicture;
use scrubjay_control::wording::date;
use scrubjay_control::{DiskEntry, ReadingActivity, ReadingEntry, WatchDocument};
use scrubjay_watch::health::HealthState;
use scrubjay_watch::incident::Urgency;
use scrubjay_watch::status::LightColour;
use serde::Serialize;
use std::collections::BTreeMap;

/// The answer: schema 1. Dates are in seconds since 1970, UTC, as in `scrubjay status --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageSummary {
    schema: u32,
    host: String,
    /// When this was the status; null: the watch has never answered.
    time: Option<u64>,
    /// Is it the present status? If not, nothing in here is proof that anything is well.
    is_fresh: bool,
    /// Is it a recording, and not of a running watch? Then it is not fresh.
    is_recording: bool,
    /// The worst word of any disk; `problem` if disks are well and something else is not; `unknown` if it is not fresh.
    verdict: String,
    /// The answer to "Am I safe?", or why it is not known.
    text: String,
    /// Open incidents that nobody has accepted.
    problems: ProblemCounts,
    /// The colours of the lights by name; green is `grey` if it is not fresh.
    lights: BTreeMap<&'static str, &'static str>,
    disks: StateCounts,
    arrays: ArrayCounts,
    scrub: ScrubSummary,
    alerts: AlertSummary,
    /// The age of the status in seconds; null: the watch has never answered.
    data_age_s: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct ProblemCounts {
    notice: usize,
    replace: usize,
    loss: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct StateCounts {
    ok: usize,
    watch: usize,
    worn: usize,
    hot: usize,
    replace: usize,
    asleep: usize,
    /// Disks of a virtual machine that have no SMART.
    #[serde(rename = "virtual")]
    of_host: usize,
    unknown: usize,
    missing: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct ArrayCounts {
    /// Arrays whose members are all present and in sync.
    healthy: usize,
    degraded: usize,
    /// Arrays that were healthy when the watch last saw them.
    unknown: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct ScrubSummary {
    /// When the oldest sector of all was read; null: some were never read.
    oldest_read: Option<u64>,
    /// When the first sector is due.
    due: Option<u64>,
    /// When the last of the passes under way ends, most likely; null: none is under way, or no end is in sight.
    eta: Option<u64>,
    /// How many disks and arrays are being read, or only wait for the foreground.
    running: usize,
    /// What the first of those that wait waits for.
    waiting_reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct AlertSummary {
    /// When a channel was last proven; null: none ever was.
    proven: Option<u64>,
    /// The error of the first channel that fails.
    last_error: Option<String>,
}

impl PageSummary {
    /// The summary of a picture.
    pub fn of(picture: &SeenPicture) -> PageSummary {
        let Some(status) = picture.status.as_deref() else {
            let text = picture.trouble.clone().unwrap_or_else(|| "the watch has not answered yet".to_owned());
            return PageSummary { schema: 1, verdict: "unknown".to_owned(), text, ..PageSummary::default() };
        };
        let is_fresh = picture.is_fresh();
        PageSummary {
            schema: 1,
            host: status.host.clone(),
            time: Some(status.time),
            is_fresh,
            is_recording: picture.is_recording,
            verdict: if is_fresh { verdict(status) } else { "unknown".to_owned() },
            text: match &picture.trouble {
                _ if picture.is_recording => format!("A recording of {}: {}", date(status.time), status.sentence),
                Some(why) => format!("This is old: {why}"),
                None if status.is_blind => status.sentence.clone().into(),
                None if !is_fresh => "This is old: the watch does not answer in time".to_owned(),
                None => status.sentence.clone().into(),
            },
            problems: problems(status),
            lights: lights(status, is_fresh),
            disks: disks(&status.disks, is_fresh),
            arrays: arrays(status, is_fresh),
            scrub: scrub(status, is_fresh),
            alerts: alerts(status),
            data_age_s: Some(picture.age()),
        }
    }
}

fn problems(status: &WatchDocument) -> ProblemCounts {
    let is_open = |urgency: Urgency| {
        status.incidents.iter().filter(|incident| !incident.is_accepted && incident.urgency == urgency).count()
    };
    ProblemCounts { notice: is_open(Urgency::Notice), replace: is_open(Urgency::Replace), loss: is_open(Urgency::Loss) }
}

/// The verdict. Arrays and alerts count, too: disks that are well do not make all well.
fn verdict(status: &WatchDocument) -> String {
    let open = problems(status);
    let is_bad = open.replace + open.loss > 0 || status.lights.iter().any(|light| light.colour == LightColour::Red);
    match status.verdict {
        None | Some(HealthState::Ok | HealthState::Asleep) if is_bad => "problem",
        None => "none",
        Some(health) => health.word(),
    }
    .to_owned()
}

fn lights(status: &WatchDocument, is_fresh: bool) -> BTreeMap<&'static str, &'static str> {
    let colour = |colour| if is_fresh || colour != LightColour::Green { colour } else { LightColour::Grey };
    status.lights.iter().map(|light| (light.name.word(), colour(light.colour).word())).collect()
}

/// The counts of disks by state; in an old picture good states are unknown.
fn disks(disks: &[DiskEntry], is_fresh: bool) -> StateCounts {
    let count = |health| disks.iter().filter(|disk| disk.health == health).count();
    let (ok, asleep, unknown) = (count(HealthState::Ok), count(HealthState::Asleep), count(HealthState::Unknown));
    let counts = StateCounts {
        watch: count(HealthState::Watch),
        worn: count(HealthState::Worn),
        hot: count(HealthState::Hot),
        of_host: count(HealthState::Virtual),
        replace: count(HealthState::Replace),
        missing: count(HealthState::Missing),
        ..StateCounts::default()
    };
    match is_fresh {
        true => StateCounts { ok, asleep, unknown, ..counts },
        false => StateCounts { unknown: ok + asleep + unknown, ..counts },
    }
}

fn arrays(status: &WatchDocument, is_fresh: bool) -> ArrayCounts {
    let is_whole = |left: i64, all: u64| left >= i64::try_from(all).unwrap_or(i64::MAX);
    let healthy = status
        .arrays
        .iter()
        .filter(|array| array.is_there && is_whole(array.redundancy_left, array.redundancy))
        .count();
    let degraded = status.arrays.len() - healthy;
    match is_fresh {
        true => ArrayCounts { healthy, degraded, unknown: 0 },
        false => ArrayCounts { healthy: 0, degraded, unknown: healthy },
    }
}

fn scrub(status: &WatchDocument, is_fresh: bool) -> ScrubSummary {
    let disks = status.disks.iter().filter(|disk| disk.name.is_some()).map(|disk| &disk.reading);
    let arrays = status.arrays.iter().filter(|array| array.is_there).filter_map(|array| array.check.as_ref());
    let all: Vec<&ReadingEntry> = disks.chain(arrays).collect();
    let is_running = |reading: &&&ReadingEntry| is_fresh && reading.activity != ReadingActivity::Held;
    let running: Vec<&&ReadingEntry> = all.iter().filter(is_running).collect();
    let waits = running.iter().find(|reading| reading.activity == ReadingActivity::Waiting);
    ScrubSummary {
        // `None` is less than `Some`: a subject that was never read is the oldest.
        oldest_read: all.iter().map(|reading| reading.oldest_read).min().flatten(),
        due: all.iter().map(|reading| reading.due).min(),
        // Where one has no end in sight, neither has the last of them.
        eta: running
            .iter()
            .map(|reading| reading.forecast.map(|forecast| forecast.likely))
            .collect::<Option<Vec<_>>>()
            .and_then(|ends| ends.into_iter().max()),
        running: running.len(),
        waiting_reason: waits.and_then(|reading| reading.why.clone().map(String::from)),
    }
}

fn alerts(status: &WatchDocument) -> AlertSummary {
    let failing = status.channels.iter().find(|channel| channel.failing_since.is_some());
    AlertSummary {
        proven: status.channels.iter().filter_map(|channel| channel.proven).max(),
        last_error: failing.map(|channel| match &channel.last {
            Some(last) if !last.is_accepted => format!("{}: {}", channel.name, last.said),
            _ => format!("{}: nothing is accepted", channel.name),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_control::LightEntry;
    use scrubjay_watch::status::LightName;
    use std::sync::Arc;
    use std::time::Instant;

    fn picture(trouble: Option<&str>) -> SeenPicture {
        let disk = |health, oldest_read| DiskEntry {
            name: Some("sda".into()),
            health,
            reading: ReadingEntry { oldest_read, due: 9, activity: ReadingActivity::Held, ..ReadingEntry::default() },
            ..DiskEntry::default()
        };
        let disks =
            vec![disk(HealthState::Ok, Some(5)), disk(HealthState::Ok, Some(3)), disk(HealthState::Watch, Some(4))];
        let status = WatchDocument {
            verdict: Some(HealthState::Watch),
            sentence: "1 problem: x".into(),
            disks,
            ..Default::default()
        };
        SeenPicture {
            status: Some(Arc::new(status)),
            answered: Some(Instant::now()),
            trouble: trouble.map(str::to_owned),
            ..SeenPicture::default()
        }
    }

    /// Programs that read the summary rely on each of these fields.
    #[test]
    fn the_summary_has_exactly_the_promised_fields() {
        let json = serde_json::to_value(PageSummary::of(&picture(None))).unwrap();
        let expected = serde_json::json!({
            "schema": 1, "host": "", "time": 0, "is_fresh": true, "is_recording": false, "verdict": "watch", "text": "1 problem: x",
            "problems": {"notice": 0, "replace": 0, "loss": 0}, "lights": {},
            "disks": {"ok": 2, "watch": 1, "worn": 0, "hot": 0, "replace": 0, "asleep": 0, "virtual": 0, "unknown": 0, "missing": 0},
            "arrays": {"healthy": 0, "degraded": 0, "unknown": 0},
            "scrub": {"oldest_read": 3, "due": 9, "eta": null, "running": 0, "waiting_reason": null},
            "alerts": {"proven": null, "last_error": null}, "data_age_s": 0
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn good_disks_do_not_hide_other_problems() {
        let light = |colour| LightEntry { name: LightName::Redundancy, colour, words: "".into() };
        let incident = |urgency: &str| {
            let json = serde_json::json!({"subject": "u", "kind": "degraded", "urgency": urgency, "headline": "x", "since": 1, "is_accepted": false});
            serde_json::from_value::<scrubjay_control::IncidentEntry>(json).unwrap()
        };
        let of = |lights, incidents, trouble: Option<&str>| {
            let status = WatchDocument { verdict: Some(HealthState::Ok), lights, incidents, ..Default::default() };
            let picture = SeenPicture { status: Some(Arc::new(status)), ..picture(trouble) };
            serde_json::to_value(PageSummary::of(&picture)).unwrap()
        };
        let green = of(vec![light(LightColour::Green)], vec![incident("notice")], None);
        assert_eq!((&green["verdict"], &green["lights"]["Redundancy"]), (&"ok".into(), &"green".into()));
        assert_eq!(of(vec![light(LightColour::Red)], vec![], None)["verdict"], "problem");
        let loss = of(vec![], vec![incident("loss")], None);
        assert_eq!((&loss["verdict"], &loss["problems"]["loss"]), (&"problem".into(), &1.into()));
        assert_eq!(of(vec![light(LightColour::Green)], vec![], Some("gone"))["lights"]["Redundancy"], "grey");
    }

    #[test]
    fn a_recording_is_marked_as_one_and_reports_nothing_as_good() {
        let json = serde_json::to_value(PageSummary::of(&SeenPicture { is_recording: true, ..picture(None) })).unwrap();
        assert_eq!((&json["is_recording"], &json["is_fresh"]), (&true.into(), &false.into()));
        assert_eq!((&json["verdict"], &json["disks"]["ok"]), (&"unknown".into(), &0.into()));
        assert_eq!(json["text"], "A recording of 1 Jan 1970: 1 problem: x");
    }

    #[test]
    fn an_old_picture_reports_nothing_as_good() {
        let json = serde_json::to_value(PageSummary::of(&picture(Some("not running")))).unwrap();
        assert_eq!(
            (&json["verdict"], &json["disks"]["ok"], &json["disks"]["unknown"]),
            (&"unknown".into(), &0.into(), &2.into())
        );
        assert_eq!(json["text"], "This is old: not running");
        let json = serde_json::to_value(PageSummary::of(&SeenPicture::default())).unwrap();
        assert_eq!(json["data_age_s"], serde_json::Value::Null);
        assert_eq!((&json["verdict"], &json["time"]), (&"unknown".into(), &serde_json::Value::Null));
    }
}
