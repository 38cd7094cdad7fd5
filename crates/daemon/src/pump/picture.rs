//! The present status: the watch's, with what only the daemon knows.

use super::state::Daemon;
use crate::channels::ChannelProof;
use crate::control::document::{self, LiveSessions, channel_entry};
use crate::sessions::SessionRemarks;
use scrubjay_control::{AlertDocument, ChannelEntry, SCHEMA, WatchDocument};
use scrubjay_core::scrub::ScrubReport;
use scrubjay_core::units::UnixSeconds;
use scrubjay_device::{claim, inventory};
use scrubjay_watch::channel::{ChannelRow, ProofState};
use scrubjay_watch::facts::SessionSubject;
use scrubjay_watch::status::DiskStanding;
use scrubjay_words::NotKnownWhy;

impl Daemon<'_> {
    /// The status document.
    pub(super) fn picture(&self) -> WatchDocument {
        let now = self.clock.now();
        // The survey's warnings are among the troubles already, joined into one.
        let other_troubles = self.troubles.iter().filter(|(topic, _)| **topic != "survey");
        let mut troubles: Vec<String> = other_troubles.map(|(topic, trouble)| format!("{topic}: {trouble}")).collect();
        troubles.extend(self.machine.survey.warnings.iter().cloned());
        let mut document = document::document(self.watch.status(now), now, self.watch.calendar(), self);
        if self.is_blind() {
            document = document::blinded(document);
        } else if self.kept.retry_keep_at.is_some() {
            document = document::undecided(document, NotKnownWhy::HistoryNotWritten);
        }
        if let Some(observation) = &self.observation {
            document = document::observed(document, observation.document());
        }
        for channel in &mut document.channels {
            channel.last = self.outgoing.deliveries.get(&channel.name).cloned();
        }
        WatchDocument {
            host: self.settings.host.clone(),
            settings_file: self.options.config.display().to_string(),
            // What is observed lies inside of the folder of what is true.
            folder: match &self.observation {
                Some(_) => self.options.folder.parent().unwrap_or(&self.options.folder),
                None => &self.options.folder,
            }
            .display()
            .to_string(),
            troubles,
            others: self.machine.survey.others.iter().map(|other| format!("{}: {}", other.who, other.what)).collect(),
            ..document
        }
    }

    /// The document of the channels.
    pub(super) fn alerts(&self) -> AlertDocument {
        let now = self.clock.now();
        let status = self.watch.status(now);
        AlertDocument {
            schema: SCHEMA,
            time: now.0,
            channels: match self.observation {
                Some(_) => Vec::new(),
                None => status.channels.iter().map(|channel| self.channel(channel, now)).collect(),
            },
            waiting: status.waiting,
        }
    }

    fn channel(&self, channel: &ChannelRow, now: UnixSeconds) -> ChannelEntry {
        let last = self.outgoing.deliveries.get(&channel.name).cloned();
        // For root alone: a weak password can be guessed by it.
        let proven = channel.proven.filter(|_| matches!(channel.proof(now), ProofState::Proven(_)));
        let proof = proven.and_then(|on| ChannelProof::new(&channel.name, channel.fingerprint, on));
        let proof_line = proof.map(|proof| proof.to_string());
        ChannelEntry { last, proof_line, ..channel_entry(channel, now, self.watch.calendar()) }
    }
}

impl LiveSessions for Daemon<'_> {
    fn latest(&self, subject: &SessionSubject) -> Option<ScrubReport> {
        self.sessions.latest(subject)
    }

    fn remarks(&self, subject: &SessionSubject) -> SessionRemarks {
        self.sessions.remarks(subject)
    }

    fn foreign(&self, disk: &DiskStanding) -> Option<u32> {
        let name = disk.name.as_deref().filter(|_| !disk.reading.is_read)?;
        let identity = inventory::identity(name)?;
        claim::holder(&identity.key()).filter(|&pid| pid != std::process::id())
    }
}
