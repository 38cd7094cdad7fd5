//! A watch that only observes: what it would have read, delayed and told is kept in a folder of its own, apart from what is true.

use super::state::Daemon;
use crate::sessions::SessionGlance;
use scrubjay_core::units::UnixSeconds;
use scrubjay_device::output::{Existing, OutputFile};
use scrubjay_jobs::control::ObservedDocument;
use scrubjay_watch::calendar::HOUR;
use scrubjay_watch::events::{PersonCommand, WatchEvent};
use scrubjay_watch::facts::SessionSubject;
use scrubjay_watch::incident::IncidentSubject;
use scrubjay_watch::rows::MessageRow;
use scrubjay_watch::settings::AlertChannel;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folder, inside of the watch's own.
const FOLDER: &str = "observed";
/// The file in it.
const FILE: &str = "observed.json";
/// The only channel, by which nothing is sent.
const CHANNEL: &str = "nobody";
/// The interval between saves.
const SAVE_EVERY: Duration = Duration::from_secs(600);

/// What it would have done.
pub(super) struct Observation {
    document: ObservedDocument,
    file: PathBuf,
    saved: Instant,
    is_proven: bool,
}

/// The folder of a watch that observes.
pub(super) fn folder_in(folder: &Path) -> PathBuf {
    folder.join(FOLDER)
}

/// The channel by which it sends nothing.
pub(super) fn channel() -> AlertChannel {
    AlertChannel { name: CHANNEL.to_owned(), fingerprint: 0, proven_elsewhere: None }
}

impl Observation {
    /// What an earlier run observed, or nothing yet.
    pub(super) fn restore(folder: &Path, now: UnixSeconds) -> Observation {
        let file = folder.join(FILE);
        let kept = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let document = kept.unwrap_or_else(|| ObservedDocument { since: now.0, ..ObservedDocument::default() });
        Observation { document, file, saved: Instant::now(), is_proven: false }
    }

    /// What it observed.
    pub(super) fn document(&self) -> &ObservedDocument {
        &self.document
    }

    fn save(&mut self) -> std::io::Result<()> {
        self.saved = Instant::now();
        let mut file = OutputFile::create_private(&self.file, Existing::Replaced).map_err(std::io::Error::other)?;
        file.write_all(&serde_json::to_vec(&self.document)?)?;
        file.commit().map_err(std::io::Error::other)
    }
}

impl Daemon<'_> {
    /// Adds what a session would have read since the last look.
    pub(super) fn observe_glance(&mut self, subject: &SessionSubject, glance: &SessionGlance) {
        let (now, name) = (self.clock.now(), self.display_name(subject));
        let hour = self.watch.calendar().local(UnixSeconds(now.0 / HOUR * HOUR)).week_hour() % 24;
        if let Some(observation) = &mut self.observation {
            observation.document.add(&name, &glance.work, hour);
        }
    }

    /// Counts a pass that would be over.
    pub(super) fn observe_pass(&mut self, name: &str) {
        if let Some(observation) = &mut self.observation {
            observation.document.add_pass(name);
        }
    }

    /// Takes a message in place of its channel. True: nothing may be sent.
    pub(super) fn observe_message(&mut self, message: &MessageRow) -> bool {
        let Some(observation) = &mut self.observation else { return false };
        // A channel that does not exist is no news.
        let is_about = |key: &IncidentSubject| !matches!(key, IncidentSubject::Channel(_));
        if message.about.iter().any(|key| is_about(&key.subject)) {
            observation.document.add_message(&message.subject);
            (self.say)(&format!("would have been sent: {}", message.subject));
        }
        self.feed(WatchEvent::MessageSent(message.number));
        true
    }

    /// Proves the channel that does not exist, so that nothing is told of that; tells what was observed, when it is time; saves it.
    pub(super) fn observe_turn(&mut self) {
        let now = self.clock.now();
        let Some(observation) = &mut self.observation else { return };
        let is_told = observation.document.is_to_be_told(now.0);
        let lines = if is_told { observation.document.lines(now.0) } else { Vec::new() };
        let is_first = self.is_ready && !std::mem::replace(&mut observation.is_proven, self.is_ready);
        if is_told || observation.saved.elapsed() >= SAVE_EVERY {
            self.save_observation();
        }
        lines.iter().for_each(|line| (self.say)(&format!("observed: {line}")));
        if is_first {
            self.command(PersonCommand::TestAlerts);
            let channels = self.watch.status(self.clock.now()).channels;
            if let Some(code) = channels.into_iter().find_map(|channel| channel.code) {
                self.command(PersonCommand::Confirm(code));
            }
        }
    }

    /// Saves what was observed.
    pub(super) fn save_observation(&mut self) {
        let saved = self.observation.as_mut().map(Observation::save);
        let failed = saved.and_then(Result::err).map(|error| error.to_string());
        self.set_trouble("what was observed", failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_jobs::control::SessionWork;

    #[test]
    fn what_was_observed_survives_a_restart_and_lies_apart() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder_in(folder.path());
        assert!(place != folder.path() && place.starts_with(folder.path()));
        fs::create_dir(&place).unwrap();
        let mut first = Observation::restore(&place, UnixSeconds(1_796_000_000));
        first.document.add("sda", &SessionWork { bytes: 7, ..SessionWork::default() }, 3);
        first.save().unwrap();
        let again = Observation::restore(&place, UnixSeconds(1_796_900_000));
        assert_eq!(again.document(), first.document());
        assert_eq!(again.document().since, 1_796_000_000);
        fs::write(place.join(FILE), "half").unwrap();
        assert_eq!(Observation::restore(&place, UnixSeconds(5)).document().since, 5, "it begins anew");
    }
}
