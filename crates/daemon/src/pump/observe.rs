//! Observes: takes what would have been read and told, in place of reading and telling.

use super::observation::Observation;
use super::state::Daemon;
use crate::sessions::SessionGlance;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::HOUR;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::SessionSubject;
use scrubjay_watch::incident::IncidentSubject;
use scrubjay_watch::rows::MessageRow;

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
        let text = self.kept.database.text(message.number);
        let Some(observation) = &mut self.observation else { return false };
        // A channel that does not exist is no news.
        let is_about = |key: &IncidentSubject| !matches!(key, IncidentSubject::Channel(_));
        if message.about.iter().any(|key| is_about(&key.subject)) {
            observation.document.add_message(text.subject(), message.reason);
            (self.say)(&format!("would have been sent: {}", text.subject()));
        }
        self.feed(WatchEvent::MessageSent(message.number));
        true
    }

    /// Tells what was observed, when it is time, and saves it.
    pub(super) fn observe_turn(&mut self) {
        let now = self.clock.now();
        let Some(observation) = &mut self.observation else { return };
        let is_told = observation.document.is_to_be_told(now.0);
        let lines = if is_told { observation.document.lines(now.0) } else { Vec::new() };
        if is_told || observation.is_to_be_saved() {
            self.save_observation();
        }
        lines.iter().for_each(|line| (self.say)(&format!("observed: {line}")));
    }

    /// Saves what was observed.
    pub(super) fn save_observation(&mut self) {
        let saved = self.observation.as_mut().map(Observation::save);
        let failed = saved.and_then(Result::err).map(|error| error.to_string());
        self.set_trouble("what was observed", failed);
    }
}
