//! How things stand, as verbs and pages are told: what the machine says, and what sessions are at just now.

use super::state::Daemon;
use crate::control::{
    AlertDocument, ArrayEntry, ChannelEntry, DiskEntry, ForecastEntry, IncidentEntry, LightEntry, SCHEMA, WatchDocument,
};
use crate::sessions::bytes_of;
use scrubjay_core::scrub::{ScrubActivity, ScrubReport};
use scrubjay_core::units::UnixSeconds;
use scrubjay_device::{claim, inventory};
use scrubjay_jobs::doing::doing;
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::channel::ChannelRow;
use scrubjay_watch::facts::{ArrayActivity, ArrayFacts, MediaKind};
use scrubjay_watch::hold::HoldBack;
use scrubjay_watch::incident::{IncidentRow, IncidentSubject};
use scrubjay_watch::settings::budget;
use scrubjay_watch::status::{DiskStanding, LightColour, WatchStatus};

impl Daemon<'_> {
    /// How things stand.
    pub(super) fn picture(&self) -> WatchDocument {
        let now = self.clock.now();
        let status: WatchStatus = self.watch.status(now);
        let calendar = self.watch.calendar();
        let worst = status.disks.iter().map(|disk| disk.health).max();
        let mut troubles: Vec<String> = self.troubles.iter().map(|(about, what)| format!("{about}: {what}")).collect();
        troubles.extend(self.survey.warnings.iter().cloned());
        troubles.dedup();
        WatchDocument {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: self.settings.host.clone(),
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
            arrays: status.arrays.iter().map(|(facts, is_there)| array_entry(facts, *is_there)).collect(),
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
        let report = disk.name.as_deref().filter(|_| disk.is_read).and_then(|name| self.sessions.latest(name));
        let (activity, why) = activity(&disk, report.as_ref(), calendar);
        let slowdown = report.as_ref().filter(|report| report.foreground_requests > 0);
        let scrubbed_by = self.foreign(&disk);
        // Fresher than what the machine was told last.
        let pass_share = report.as_ref().map(ScrubReport::share_done).or(disk.pass_share);
        let facts = disk.facts;
        let is_late = disk.lateness.is_none_or(|lateness| lateness > 0) && disk.due.0 > now.0;
        let mut reasons: Vec<String> = disk.signs.iter().map(|sign| sign.words()).collect();
        reasons.extend(disk.due.0.le(&now.0).then(|| "some of its sectors are overdue to be read".to_owned()));
        DiskEntry {
            key: facts.key.0,
            name: disk.name,
            model: facts.model,
            bay: facts.bay,
            bytes: bytes_of(facts.sectors).0,
            media: if facts.media == MediaKind::Spinning { "spinning" } else { "flash" }.to_owned(),
            health: disk.health.word().to_owned(),
            reasons,
            oldest_read: disk.oldest_read.map(|read| read.0),
            due: disk.due.0,
            unreadable: disk.unreadable,
            activity: activity.to_owned(),
            why,
            pass_share,
            slowdown_nanos: slowdown.map(|report| report.slowdown.total.0 / report.foreground_requests.max(1)),
            budget_nanos: budget(facts.media).0,
            forecast: disk.forecast.map(|forecast| ForecastEntry {
                low: forecast.low.0,
                likely: forecast.likely.0,
                high: forecast.high.0,
            }),
            lateness: if is_late { disk.lateness } else { disk.lateness.map(|_| now.0.saturating_sub(disk.due.0)) },
            scrubbed_by,
        }
    }

    /// A process that scrubs this disk, and is not this one.
    fn foreign(&self, disk: &DiskStanding) -> Option<u32> {
        let name = disk.name.as_deref().filter(|_| !disk.is_read)?;
        let identity = inventory::identity(name)?;
        claim::holder(&identity.key()).filter(|&pid| pid != std::process::id())
    }
}

/// What a disk's scrub does, and why it does no more.
fn activity(
    disk: &DiskStanding,
    report: Option<&ScrubReport>,
    calendar: &dyn Calendar,
) -> (&'static str, Option<String>) {
    match (disk.is_read, report) {
        (true, Some(report)) if report.activity == ScrubActivity::Waiting => ("waiting", Some(doing(report))),
        (true, Some(_)) => ("reading", None),
        (true, None) => ("waiting", Some("its scrub begins".to_owned())),
        (false, _) => ("held", disk.held.as_ref().map(|held: &HoldBack| held.words(calendar))),
    }
}

fn array_entry(facts: &ArrayFacts, is_there: bool) -> ArrayEntry {
    ArrayEntry {
        key: facts.key.clone(),
        name: facts.name.clone(),
        level: facts.level.clone(),
        members: facts.members.iter().map(|member| member.disk.clone()).collect(),
        redundancy_left: facts.redundancy_left(),
        activity: match facts.activity {
            ArrayActivity::Idle => "idle",
            ArrayActivity::Checking => "checking",
            ArrayActivity::Rebuilding => "rebuilding",
        }
        .to_owned(),
        is_there,
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
        LightColour::Yellow => "yellow",
        LightColour::Red => "red",
    }
}
