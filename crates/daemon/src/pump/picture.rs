//! How things stand, as verbs and pages are told: what the machine says, and what sessions are at just now.

use super::state::Daemon;
use crate::control::{
    AlertDocument, ArrayEntry, ChannelEntry, DiskEntry, ForecastEntry, IncidentEntry, LightEntry, ReadingEntry, SCHEMA,
    WatchDocument,
};
use crate::sessions::bytes_of;
use scrubjay_core::scrub::{ScrubActivity, ScrubReport};
use scrubjay_core::units::UnixSeconds;
use scrubjay_device::{claim, inventory};
use scrubjay_jobs::doing::doing;
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::channel::ChannelRow;
use scrubjay_watch::facts::{ArrayActivity, MediaKind, SessionSubject};
use scrubjay_watch::hold::HoldBack;
use scrubjay_watch::incident::{IncidentRow, IncidentSubject};
use scrubjay_watch::status::{ArrayStanding, DiskStanding, LightColour, ReadingStanding, WatchStatus};

impl Daemon<'_> {
    /// How things stand.
    pub(super) fn picture(&self) -> WatchDocument {
        let now = self.clock.now();
        let status: WatchStatus = self.watch.status(now);
        let calendar = self.watch.calendar();
        let worst = status.disks.iter().map(|disk| disk.health).max();
        // What the survey warns of stands there, too, all in one.
        let others = self.troubles.iter().filter(|(about, _)| **about != "survey");
        let mut troubles: Vec<String> = others.map(|(about, what)| format!("{about}: {what}")).collect();
        troubles.extend(self.survey.warnings.iter().cloned());
        WatchDocument {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: self.settings.host.clone(),
            settings_file: self.options.config.display().to_string(),
            folder: self.options.folder.display().to_string(),
            time: now.0,
            verdict: worst.map_or("none", |health| health.word()).to_owned(),
            sentence: status.sentence,
            lights: status
                .lights
                .into_iter()
                .map(|light| LightEntry {
                    name: light.name.to_owned(),
                    colour: colour_word(light.colour).to_owned(),
                    words: light.words,
                })
                .collect(),
            to_do: status.to_do,
            arrays: status.arrays.into_iter().map(|array| self.array_entry(array, now, calendar)).collect(),
            disks: status.disks.into_iter().map(|disk| self.disk_entry(disk, now, calendar)).collect(),
            incidents: status.incidents.iter().map(incident_entry).collect(),
            channels: status.channels.iter().map(|channel| self.channel_entry(channel, now)).collect(),
            messages_waiting: status.waiting.len(),
            paused_until: status.paused_until.map(|until| until.0),
            troubles,
            others: self.survey.others.iter().map(|other| format!("{}: {}", other.who, other.what)).collect(),
        }
    }

    /// How the channels stand.
    pub(super) fn alerts(&self) -> AlertDocument {
        let now = self.clock.now();
        let status = self.watch.status(now);
        AlertDocument {
            schema: SCHEMA,
            time: now.0,
            channels: status.channels.iter().map(|channel| self.channel_entry(channel, now)).collect(),
            waiting: status.waiting,
        }
    }

    fn channel_entry(&self, channel: &ChannelRow, now: UnixSeconds) -> ChannelEntry {
        ChannelEntry {
            name: channel.name.clone(),
            proof: channel.words(now, self.watch.calendar()),
            proven: channel.proven.map(|on| on.0),
            delivered: channel.delivered.map(|on| on.0),
            failing_since: channel.failing_since.map(|since| since.0),
            last: self.deliveries.get(&channel.name).cloned(),
        }
    }

    fn disk_entry(&self, disk: DiskStanding, now: UnixSeconds, calendar: &dyn Calendar) -> DiskEntry {
        let scrubbed_by = self.foreign(&disk);
        let subject = disk.name.clone().map(SessionSubject::Disk);
        let reading = self.reading_entry(subject.as_ref(), &disk.reading, now, calendar);
        let facts = disk.facts;
        let mut reasons: Vec<String> = disk.signs.iter().map(|sign| sign.words()).collect();
        reasons.extend((reading.due <= now.0).then(|| "some of its sectors are overdue to be read".to_owned()));
        DiskEntry {
            key: facts.key.0,
            name: disk.name,
            last_name: facts.name,
            serial: facts.serial,
            model: facts.model,
            bay: facts.bay,
            bytes: bytes_of(facts.sectors).0,
            media: if facts.media == MediaKind::Spinning { "spinning" } else { "flash" }.to_owned(),
            health: disk.health.word().to_owned(),
            reasons,
            reading,
            scrubbed_by,
        }
    }

    fn array_entry(&self, array: ArrayStanding, now: UnixSeconds, calendar: &dyn Calendar) -> ArrayEntry {
        let ArrayStanding { facts, is_there, reading } = array;
        let subject = Some(SessionSubject::Array(facts.key.clone())).filter(|_| is_there);
        let check = reading.map(|reading| self.reading_entry(subject.as_ref(), &reading, now, calendar));
        ArrayEntry {
            redundancy_left: facts.redundancy_left(),
            members: facts.members.iter().map(|member| member.disk.clone()).collect(),
            key: facts.key,
            name: facts.name,
            level: facts.level,
            activity: match facts.activity {
                ArrayActivity::Idle => "idle",
                ArrayActivity::Checking => "checking",
                ArrayActivity::Rebuilding => "rebuilding",
            }
            .to_owned(),
            is_there,
            check,
        }
    }

    /// How the reading of a disk, or of an array by its own checker, stands: fresher than what the machine was told last.
    fn reading_entry(
        &self,
        subject: Option<&SessionSubject>,
        reading: &ReadingStanding,
        now: UnixSeconds,
        calendar: &dyn Calendar,
    ) -> ReadingEntry {
        let report = subject.filter(|_| reading.is_read).and_then(|subject| self.sessions.latest(subject));
        let (activity, why) = activity(reading, report.as_ref(), calendar);
        let slowdown = report.as_ref().filter(|report| report.foreground_requests > 0);
        let is_late = reading.lateness.is_none_or(|lateness| lateness > 0) && reading.due.0 > now.0;
        ReadingEntry {
            oldest_read: reading.oldest_read.map(|read| read.0),
            due: reading.due.0,
            unreadable: reading.unreadable,
            corrected: reading.flaws.corrected,
            mismatched: reading.flaws.mismatched,
            activity: activity.to_owned(),
            why,
            pass_share: report.as_ref().map(ScrubReport::share_done).or(reading.pass_share),
            slowdown_nanos: slowdown.map(|report| report.slowdown.total.0 / report.foreground_requests.max(1)),
            budget_nanos: reading.budget.0,
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

    /// A process that scrubs this disk, and is not this one.
    fn foreign(&self, disk: &DiskStanding) -> Option<u32> {
        let name = disk.name.as_deref().filter(|_| !disk.reading.is_read)?;
        let identity = inventory::identity(name)?;
        claim::holder(&identity.key()).filter(|&pid| pid != std::process::id())
    }
}

/// What a scrub does, and why it does no more.
fn activity(
    reading: &ReadingStanding,
    report: Option<&ScrubReport>,
    calendar: &dyn Calendar,
) -> (&'static str, Option<String>) {
    match (reading.is_read, report) {
        (true, Some(report)) if report.activity == ScrubActivity::Waiting => ("waiting", Some(doing(report))),
        (true, Some(_)) => ("reading", None),
        (true, None) => ("waiting", Some("its scrub begins".to_owned())),
        (false, _) => ("held", reading.held.as_ref().map(|held: &HoldBack| held.words(calendar))),
    }
}

fn incident_entry(incident: &IncidentRow) -> IncidentEntry {
    IncidentEntry {
        subject: match &incident.key.subject {
            IncidentSubject::Disk(key) => key.0.clone(),
            IncidentSubject::Array(key) => key.clone(),
            IncidentSubject::Channel(name) => name.clone(),
        },
        kind: incident.key.kind.word().to_owned(),
        urgency: incident.condition.urgency.word().to_owned(),
        headline: incident.condition.headline.clone(),
        since: incident.opened.0,
        is_accepted: incident.is_accepted,
    }
}

fn colour_word(colour: LightColour) -> &'static str {
    match colour {
        LightColour::Green => "green",
        LightColour::Grey => "grey",
        LightColour::None => "none",
        LightColour::Yellow => "yellow",
        LightColour::Red => "red",
    }
}
