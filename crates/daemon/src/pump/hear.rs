//! Passes news on to the watch, and records it in the history.

use super::news::DaemonNews;
use super::state::Daemon;
use crate::channels::{DeliveryError, DeliveryReceipt};
use crate::sessions::SessionMessage;
use crate::smartctl::parse::SmartctlAnswer;
use scrubjay_jobs::control::DeliveryEntry;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::{DiskKey, PassReport, SessionNews, SubjectKey};
use signal_hook::consts::SIGHUP;
use std::time::Duration;

impl Daemon<'_> {
    /// Takes news.
    pub(super) fn hear(&mut self, news: DaemonNews) {
        match news {
            DaemonNews::Smart { name, key, answer } => self.hear_drive(name, &key, &answer),
            DaemonNews::Session(told) => self.hear_session(told),
            DaemonNews::Delivered { number, channel, outcome } => self.hear_delivery(number, channel, outcome),
            DaemonNews::Beaten(outcome) => self.trouble("heartbeat", outcome.err().map(|error| error.to_string())),
            DaemonNews::Asked(pending) => self.answer(pending),
            DaemonNews::Signal(SIGHUP) => {
                let said = self.reload();
                (self.say)(&said.unwrap_or_else(|why| format!("the settings stay as they were: {why}")));
            }
            DaemonNews::Signal(_) => self.is_ending = true,
            DaemonNews::Surveyed(seen) => self.surveyed(*seen),
            DaemonNews::Changed => self.surveyor.look(),
        }
    }

    /// Takes a drive's answer, unless the name belongs to another drive by now.
    fn hear_drive(&mut self, name: String, key: &DiskKey, answer: &SmartctlAnswer) {
        if self.key_of(&name) != Some(key) {
            return;
        }
        if let Ok(facts) = &answer.outcome {
            let noted = self.history.note_smart(self.clock.now(), key, facts);
            self.noted(noted);
        }
        self.tell(WatchEvent::Smart(name, answer.reading()));
    }

    fn hear_session(&mut self, told: SessionMessage) {
        if !self.sessions.ended(&told) {
            return; // its disk is gone, or another session has replaced it
        }
        let SessionMessage { subject, key, news, .. } = told;
        let name = self.shown(&subject);
        (self.say)(&format!("{name}: {}", word_of_news(&news)));
        if let SessionNews::Finished(report) = &news {
            let now = self.clock.now();
            let begun = self.marks.get(&key).map_or(now, |mark| mark.begun);
            let noted = match &key {
                SubjectKey::Disk(key) => self.history.note_pass(now, key, report, begun),
                SubjectKey::Array(_) => self.history.note_check(now, &name, report),
            };
            self.noted(noted);
        }
        self.tell(WatchEvent::Session(subject, news));
    }

    fn hear_delivery(&mut self, number: u64, channel: String, outcome: Result<DeliveryReceipt, DeliveryError>) {
        let at = self.clock.now();
        let (is_accepted, said, took) = match outcome {
            Ok(receipt) => (true, receipt.said, receipt.took),
            Err(error) => (false, error.to_string(), Duration::ZERO),
        };
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let outcome = if is_accepted { "accepted" } else { "not accepted" };
        (self.say)(&format!("message {number} by {channel}: {outcome}: {said}"));
        self.deliveries.insert(channel, DeliveryEntry { message: number, at: at.0, is_accepted, said, millis });
        if is_accepted {
            let noted = self.history.note_delivered(at, number);
            self.noted(noted);
            self.tell(WatchEvent::MessageSent(number));
        } else {
            self.tell(WatchEvent::MessageFailed(number));
        }
    }
}

/// The news in words for the journal.
fn word_of_news(news: &SessionNews) -> String {
    let bad = |report: &PassReport| match report.unreadable.iter().map(|run| run.count()).sum() {
        0 => String::new(),
        1 => ", 1 unreadable sector".to_owned(),
        count => format!(", {count} unreadable sectors"),
    };
    match news {
        SessionNews::Progress(report) => format!("{} sectors read", report.done),
        SessionNews::Finished(report) => format!("the pass is over{}", bad(report)),
        SessionNews::Stopped(report) => {
            format!("stopped after {} sectors of this pass{}", report.done, bad(report))
        }
        SessionNews::Failed(report) => format!("it answers no reads{}", bad(report)),
        SessionNews::Refused(why) => format!("not read: {why}"),
    }
}
