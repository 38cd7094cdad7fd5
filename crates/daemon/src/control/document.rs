//! The status document for verbs and pages: the watch's status, with the latest reports of sessions.

use crate::sessions::{SessionRemarks, bytes_of};
use scrubjay_control::{
    ArrayEntry, ChannelEntry, DiskEntry, DoNowEntry, ForecastEntry, IncidentEntry, LightEntry, ObservedDocument,
    PoolEntry, ReadingActivity, ReadingEntry, SCHEMA, ToDoEntry, WatchDocument,
};
use scrubjay_core::scrub::{ScrubActivity, ScrubReport};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::channel::{ChannelRow, ProofState};
use scrubjay_watch::facts::{ArrayFacts, SessionSubject};
use scrubjay_watch::health::HealthState;
use scrubjay_watch::incident::{IncidentKey, IncidentRow, IncidentSubject};
use scrubjay_watch::pool::{LastScrub, PoolLosses, ZpoolFacts};
use scrubjay_watch::status::{
    ArrayStanding, DiskStanding, LightColour, LightName, ReadingStanding, ToDo, ToDoList, WatchStatus,
};
use scrubjay_words::doing;
use scrubjay_words::{self as words, NotKnownWhy, Said};

/// The latest state of sessions, fresher than the last report to the watch.
pub trait LiveSessions {
    /// The last report of the session on this subject.
    fn latest(&self, subject: &SessionSubject) -> Option<ScrubReport>;

    /// What that session says of itself.
    fn remarks(&self, _subject: &SessionSubject) -> SessionRemarks {
        SessionRemarks::default()
    }

    /// The id of a process, other than the daemon, that scrubs this disk.
    fn foreign(&self, disk: &DiskStanding) -> Option<u32>;
}

/// The watch's status as a document; the caller adds what the watch does not know: versions, files, troubles.
pub fn document(
    status: WatchStatus,
    now: UnixSeconds,
    calendar: &dyn Calendar,
    live: &dyn LiveSessions,
) -> WatchDocument {
    let worst = status.disks.iter().map(|disk| disk.health).max();
    let do_now = do_now_entry(&status.to_do, &status.incidents, calendar);
    WatchDocument {
        schema: SCHEMA,
        version: scrubjay_control::version::version().to_owned(),
        time: now.0,
        verdict: worst,
        sentence: words::verdict(&status.verdict, calendar),
        lights: status
            .lights
            .iter()
            .map(|light| LightEntry { name: light.name, colour: light.colour, words: words::light(light, calendar) })
            .collect(),
        to_do: to_do_lines(&do_now),
        do_now,
        arrays: status.arrays.into_iter().map(|array| array_entry(array, now, calendar, live)).collect(),
        disks: status.disks.into_iter().map(|disk| disk_entry(disk, now, calendar, live)).collect(),
        incidents: status.incidents.iter().map(|incident| incident_entry(incident, calendar)).collect(),
        channels: status.channels.iter().map(|channel| channel_entry(channel, now, calendar)).collect(),
        messages_waiting: status.waiting.len(),
        paused_until: status.paused_until.map(|until| until.0),
        ..WatchDocument::default()
    }
}

/// Marks a document as blind, if nothing new is kept: good states become unknown, problems stand.
pub fn undecided(document: WatchDocument, why: NotKnownWhy) -> WatchDocument {
    let mut document = blinded(document);
    document.sentence = words::not_known(why);
    for light in document.lights.iter_mut().filter(|light| light.colour == LightColour::Green) {
        light.colour = LightColour::Grey;
        light.words = words::of_before(std::mem::take(&mut light.words));
    }
    document
}

/// Marks a document as blind, if nothing new is seen: the disks are not known to be well. Its sentence and lights say so already.
pub fn blinded(mut document: WatchDocument) -> WatchDocument {
    document.is_blind = true;
    let healths = document.disks.iter_mut().map(|disk| &mut disk.health);
    let is_good = |health: &&mut HealthState| matches!(health, HealthState::Ok | HealthState::Asleep);
    for health in healths.chain(&mut document.verdict).filter(is_good) {
        *health = HealthState::Unknown;
    }
    document
}

/// Marks a document of a watch that only observes: what it would have read was not read, and what would be well is not known.
pub fn observed(document: WatchDocument, observed: &ObservedDocument) -> WatchDocument {
    let mut document = undecided(document, NotKnownWhy::OnlyObserves);
    for light in &mut document.lights {
        light.words = match light.name {
            LightName::Read => words::observed_reads(),
            LightName::Alerts => words::observed_sends(),
            _ => continue,
        };
        light.colour = LightColour::Grey;
    }
    let checks = document.arrays.iter_mut().filter_map(|array| array.check.as_mut());
    for reading in document.disks.iter_mut().map(|disk| &mut disk.reading).chain(checks) {
        (reading.oldest_read, reading.pass_share, reading.slowdown_nanos) = (None, None, None);
        if reading.activity == ReadingActivity::Reading {
            reading.activity = ReadingActivity::Waiting;
            reading.why = Some(words::would_be_read());
        }
    }
    // The one that there is sends nothing.
    document.channels.clear();
    document.observed = Some(observed.clone());
    document
}

/// The entry of a channel; the caller adds the result of the last attempt.
pub fn channel_entry(channel: &ChannelRow, now: UnixSeconds, calendar: &dyn Calendar) -> ChannelEntry {
    ChannelEntry {
        name: channel.name.clone(),
        proof: words::proof(channel.proof(now), calendar),
        is_proven: Some(matches!(channel.proof(now), ProofState::Proven(_))),
        proven: channel.proven.map(|on| on.0),
        proof_line: None,
        delivered: channel.delivered.map(|on| on.0),
        failing_since: channel.failing_since.map(|since| since.0),
        last: None,
    }
}

fn disk_entry(disk: DiskStanding, now: UnixSeconds, calendar: &dyn Calendar, live: &dyn LiveSessions) -> DiskEntry {
    let scrubbed_by = live.foreign(&disk);
    let subject = disk.name.clone().map(SessionSubject::Disk);
    let reading = reading_entry(subject.as_ref(), &disk.reading, now, calendar, live);
    let facts = disk.facts;
    let mut reasons: Vec<Said> = disk.signs.iter().map(words::sign).collect();
    reasons.extend((reading.due <= now.0).then(words::overdue));
    DiskEntry {
        key: facts.key.0,
        name: disk.name,
        last_name: facts.name,
        serial: facts.serial,
        model: facts.model,
        bay: facts.bay,
        bytes: bytes_of(facts.sectors).0,
        media: facts.media,
        health: disk.health,
        reasons,
        reading,
        scrubbed_by,
    }
}

fn array_entry(array: ArrayStanding, now: UnixSeconds, calendar: &dyn Calendar, live: &dyn LiveSessions) -> ArrayEntry {
    let ArrayStanding { facts, is_there, reading, exposure } = array;
    let subject = Some(SessionSubject::Array(facts.key.clone())).filter(|_| is_there);
    let check = reading.map(|reading| reading_entry(subject.as_ref(), &reading, now, calendar, live));
    let exposure = exposure.map(|exposure| words::exposure(&exposure, now));
    ArrayEntry { exposure, ..entry_of(facts, is_there, check) }
}

/// The entry of an array that is here, without a watch.
pub fn unwatched_array_entry(facts: ArrayFacts) -> ArrayEntry {
    entry_of(facts, true, None)
}

fn entry_of(facts: ArrayFacts, is_there: bool, check: Option<ReadingEntry>) -> ArrayEntry {
    ArrayEntry {
        redundancy: facts.redundancy.into(),
        redundancy_left: facts.redundancy_left(),
        is_degraded: facts.is_degraded(),
        members: facts.members.iter().map(|member| member.disk.clone()).collect(),
        key: facts.key,
        name: facts.name,
        level: facts.level,
        activity: facts.activity,
        is_there,
        check,
        pool: facts.pool.map(pool_entry),
        lost_stripes: facts.lost_stripes,
        exposure: None,
    }
}

fn pool_entry(pool: ZpoolFacts) -> PoolEntry {
    let (lost_blocks, damaged_files, unknown_why) = match pool.losses {
        PoolLosses::None => (Some(0), Vec::new(), None),
        PoolLosses::Lost { blocks, files } => (Some(blocks), files, None),
        PoolLosses::Unknown(why) => (None, Vec::new(), Some(why)),
    };
    PoolEntry {
        failed: pool.failed,
        lost_blocks,
        unknown_why,
        damaged_files,
        member_errors: pool.errors,
        scrubbed: match pool.scrubbed {
            LastScrub::Unknown => None,
            LastScrub::Never => Some(0),
            LastScrub::Ended(at) => Some(at.0),
        },
        scan: words::pool_scan(pool.scan),
    }
}

/// The entry of reading a disk, or an array by its own checker, with the latest report of its session.
fn reading_entry(
    subject: Option<&SessionSubject>,
    reading: &ReadingStanding,
    now: UnixSeconds,
    calendar: &dyn Calendar,
    live: &dyn LiveSessions,
) -> ReadingEntry {
    let report = subject.filter(|_| reading.is_read).and_then(|subject| live.latest(subject));
    let remarks = subject.filter(|_| report.is_some()).map(|subject| live.remarks(subject)).unwrap_or_default();
    let (activity, why) = activity(reading, report.as_ref(), calendar);
    let slowdown = report.as_ref().filter(|report| report.foreground_requests > 0);
    let is_late = reading.lateness.is_none_or(|lateness| lateness > 0) && reading.due.0 > now.0;
    ReadingEntry {
        oldest_read: reading.oldest_read.map(|read| read.0),
        due: reading.due.0,
        unreadable: reading.unreadable,
        corrected: reading.flaws.corrected,
        mismatched: reading.flaws.mismatched,
        activity,
        why,
        pass_share: report.as_ref().map(ScrubReport::share_done).or(reading.pass_share),
        slowdown_nanos: slowdown.map(|report| report.slowdown.lost().0 / report.foreground_requests.max(1)),
        budget_nanos: reading.budget.0,
        is_blind: remarks.is_blind,
        notes: remarks.notes,
        forecast: reading.forecast.map(|forecast| ForecastEntry {
            low: forecast.low.0,
            likely: forecast.likely.0,
            high: forecast.high.0,
        }),
        lateness: match is_late {
            true => reading.lateness,
            false => reading.lateness.map(|_| now.0.saturating_sub(reading.due.0)),
        },
    }
}

/// What a scrub does now, and what it waits for.
fn activity(
    reading: &ReadingStanding,
    report: Option<&ScrubReport>,
    calendar: &dyn Calendar,
) -> (ReadingActivity, Option<Said>) {
    match (reading.is_read, report) {
        (true, Some(report)) if report.activity == ScrubActivity::Waiting => {
            (ReadingActivity::Waiting, Some(doing(report)))
        }
        (true, Some(_)) => (ReadingActivity::Reading, None),
        (true, None) => (ReadingActivity::Waiting, Some(words::scrub_begins())),
        (false, _) => (ReadingActivity::Held, reading.held.as_ref().map(|held| words::hold_back(held, calendar))),
    }
}

fn incident_entry(incident: &IncidentRow, calendar: &dyn Calendar) -> IncidentEntry {
    IncidentEntry {
        subject: match &incident.key.subject {
            IncidentSubject::Disk(key) => key.0.clone(),
            IncidentSubject::Array(key) => key.clone(),
            IncidentSubject::Channel(name) => name.clone(),
            IncidentSubject::Watch => "history".to_owned(),
        },
        kind: incident.key.kind,
        urgency: incident.condition.urgency,
        headline: words::headline(&incident.condition, calendar),
        since: incident.opened.0,
        is_accepted: incident.is_accepted,
    }
}

/// What to do, each with the place of its incident in the document.
fn do_now_entry(to_do: &ToDoList, incidents: &[IncidentRow], calendar: &dyn Calendar) -> DoNowEntry {
    let place = |key: &IncidentKey| incidents.iter().position(|incident| incident.key == *key);
    let entry = |thing: &ToDo| {
        let (words, command) = words::to_do(thing, calendar);
        let incident = if let ToDo::Incident(key, _) = thing { place(key) } else { None };
        ToDoEntry { incident, words, command }
    };
    DoNowEntry { first: to_do.first.iter().map(entry).collect(), more: to_do.more }
}

/// One line each, and one that says how many more there are.
fn to_do_lines(to_do: &DoNowEntry) -> Vec<Said> {
    let more = (to_do.more > 0).then(|| words::and_more(to_do.more));
    let line = |thing: &ToDoEntry| words::to_do_line(&thing.words, thing.command.as_deref());
    to_do.first.iter().map(line).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_observed_is_neither_read_nor_well() {
        let light = |name| LightEntry { name, colour: LightColour::Green, words: "the oldest 3 d ago".into() };
        let reading = ReadingEntry {
            oldest_read: Some(7),
            pass_share: Some(0.5),
            slowdown_nanos: Some(1),
            activity: ReadingActivity::Reading,
            ..ReadingEntry::default()
        };
        let disk = DiskEntry { health: HealthState::Ok, reading, ..DiskEntry::default() };
        let at = UnixSeconds(1);
        let channel =
            channel_entry(&ChannelRow::new("nobody".into(), 0, at), at, &scrubjay_watch::calendar::UtcCalendar);
        let document = WatchDocument {
            verdict: Some(HealthState::Ok),
            lights: vec![light(LightName::Read), light(LightName::Alerts)],
            disks: vec![disk],
            channels: vec![channel],
            ..WatchDocument::default()
        };
        let document = observed(document, &ObservedDocument::default());
        let reading = &document.disks[0].reading;
        assert_eq!((reading.oldest_read, reading.pass_share, reading.slowdown_nanos), (None, None, None));
        assert_eq!((reading.activity, document.disks[0].health), (ReadingActivity::Waiting, HealthState::Unknown));
        assert!(
            document
                .lights
                .iter()
                .all(|light| light.colour == LightColour::Grey && light.words.starts_with("only observed"))
        );
        assert!(document.channels.is_empty() && document.is_blind && document.sentence.contains("only observes"));
    }

    #[test]
    fn a_blind_document_shows_nothing_as_good() {
        let light = |colour| LightEntry { name: LightName::Disks, colour, words: "all".into() };
        let disk = |health| DiskEntry { health, ..DiskEntry::default() };
        let seen = WatchDocument {
            verdict: Some(HealthState::Ok),
            sentence: "All is well.".into(),
            lights: vec![light(LightColour::Green), light(LightColour::Red)],
            disks: vec![disk(HealthState::Ok), disk(HealthState::Asleep), disk(HealthState::Replace)],
            ..WatchDocument::default()
        };
        let blind = undecided(seen.clone(), NotKnownWhy::HistoryNotWritten);
        assert!(blind.is_blind);
        assert_eq!(
            (blind.verdict, &*blind.sentence),
            (
                Some(HealthState::Unknown),
                "Not known now: the history cannot be written, and nothing is decided meanwhile"
            )
        );
        let unseen = blinded(seen);
        assert_eq!(
            (unseen.verdict, unseen.disks[0].health, &*unseen.sentence),
            (Some(HealthState::Unknown), HealthState::Unknown, "All is well.")
        );
        let lights: Vec<LightColour> = blind.lights.iter().map(|light| light.colour).collect();
        assert_eq!(
            (lights, &*blind.lights[0].words),
            (vec![LightColour::Grey, LightColour::Red], "not known now; was: all")
        );
        let healths: Vec<HealthState> = blind.disks.iter().map(|disk| disk.health).collect();
        assert_eq!(healths, [HealthState::Unknown, HealthState::Unknown, HealthState::Replace]);
    }
}
