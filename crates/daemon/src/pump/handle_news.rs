//! Passes news on to the watch, and records it in the history.

use super::news::{DaemonNews, DiskFailed};
use super::state::Daemon;
use crate::channels::{DeliveryError, DeliveryReceipt};
use crate::discovery::{SystemRoot, behind};
use crate::sessions::SessionMessage;
use crate::smartctl::parse::SmartctlAnswer;
use scrubjay_control::DeliveryEntry;
use scrubjay_device::sysfs::DiskNode;
use scrubjay_device::{claim, inventory};
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::{DiskKey, PassReport, SessionNews, SessionSubject, SubjectKey};
use signal_hook::consts::SIGHUP;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What a session's requests met is told within so long after its end.
const ENDED_LATELY: Duration = Duration::from_secs(5);

impl Daemon<'_> {
    /// Takes news.
    pub(super) fn handle_news(&mut self, news: DaemonNews) {
        match news {
            DaemonNews::Smart { name, key, answer } => self.handle_drive(name, &key, &answer),
            DaemonNews::Session(message) => self.handle_session(message),
            DaemonNews::Delivered { number, channel, outcome, refused } => {
                if let Some(refused) = refused {
                    self.feed(WatchEvent::Recipients(channel.clone(), refused));
                }
                self.handle_delivery(number, channel, outcome)
            }
            DaemonNews::Heartbeat(result) => self.set_trouble("heartbeat", result.err().map(|error| error.to_string())),
            DaemonNews::Request(pending) => self.answer(pending),
            DaemonNews::Signal(SIGHUP) => {
                let outcome = self.reload();
                (self.say)(&outcome.unwrap_or_else(|why| format!("the settings stay as they were: {why}")));
            }
            DaemonNews::Signal(_) => self.ending.is_ending = true,
            DaemonNews::Survey(seen) => self.handle_survey(*seen),
            DaemonNews::Failed(disks, lost) => self.handle_failures(disks, lost),
            DaemonNews::Placed(name, key, failed) => {
                // The name may be another disk's by now.
                if self.key_of(&name) == Some(&key) {
                    self.feed(WatchEvent::Failures(name, failed));
                }
            }
            DaemonNews::Speeds(disks) => {
                for (name, key, slowness) in disks {
                    if self.key_of(&name) == Some(&key) {
                        self.feed(WatchEvent::Slow(name, slowness));
                    }
                }
                self.speeds_judged();
            }
            DaemonNews::LinkResets(places, losses) => {
                if losses > self.machine.log_losses {
                    self.machine.log_losses = losses;
                    (self.say)("records of the kernel's log were lost: resets of links among them were not seen");
                }
                let names = || self.machine.survey.disks.iter().map(|disk| disk.facts.name.as_str());
                let reset = places.iter().flat_map(|place| behind(&SystemRoot::default(), names(), place));
                for disk in reset.collect::<BTreeSet<String>>() {
                    (self.say)(&format!("{disk}: its link was reset"));
                    self.feed(WatchEvent::LinkReset(disk));
                }
            }
            DaemonNews::DevicesChanged => self.machine.surveyor.request(),
        }
    }

    /// Takes requests that failed, without those of the daemon's own sessions.
    fn handle_failures(&mut self, disks: Vec<DiskFailed>, lost: u64) {
        if lost > self.machine.failures_lost {
            self.machine.failures_lost = lost;
            (self.say)(&format!("{lost} requests that failed were not seen: too many at once"));
        }
        for DiskFailed { disk: (major, minor), others, idle_class } in disks {
            let Ok(node) = DiskNode::of_device(major, minor) else { continue };
            if self.disk(&node.name).is_none() {
                continue;
            }
            // Where the class is not seen, what a look-up meets counts: rather too many than some of a program's left out.
            let is_looked_up = || self.machine.is_class_seen && self.is_looked_up(&node.name);
            let looked_up = || is_looked_up().then(|| SessionSubject::Disk(node.name.clone()));
            let all = match self.reader_of(&node.name).or_else(looked_up) {
                None => {
                    let both = [others, idle_class].into_iter().flatten();
                    both.reduce(|mut all, more| {
                        all.add(more);
                        all
                    })
                }
                // A session's errors are told by the session. Before Linux 6.11 the class is not seen, so nothing that fails beside one
                // counts; what an array's own checker reads has no class.
                Some(SessionSubject::Disk(_)) if self.machine.is_class_seen => others,
                Some(_) => None,
            };
            if let Some(failed) = all {
                (self.say)(&format!(
                    "{}: {} reads and {} writes of programs failed",
                    node.name, failed.reads, failed.writes
                ));
                self.place_failures(node.name, failed);
            }
        }
    }

    /// What is scrubbed here with this disk: itself, or an array that it is a member of; by a session of the daemon, or by a person.
    fn reader_of(&self, name: &str) -> Option<SessionSubject> {
        let is_member = |key: &str| {
            let array = self.machine.survey.arrays.iter().find(|array| array.key == key);
            array.is_some_and(|array| array.members.iter().any(|member| member.disk.as_deref() == Some(name)))
        };
        let ended = self.machine.ended_sessions.iter().filter(|(_, at)| at.elapsed() < ENDED_LATELY);
        let mut all = self.sessions.subjects().chain(ended.map(|(subject, _)| subject));
        let own = all.find(|subject| match subject {
            SessionSubject::Disk(disk) => disk == name,
            SessionSubject::Array(key) => is_member(key),
        });
        let is_claimed = || inventory::identity(name).is_some_and(|identity| claim::holder(&identity.key()).is_some());
        own.cloned().or_else(|| is_claimed().then(|| SessionSubject::Disk(name.to_owned())))
    }

    /// Takes a drive's answer, unless the name belongs to another drive by now.
    fn handle_drive(&mut self, name: String, key: &DiskKey, answer: &SmartctlAnswer) {
        if self.key_of(&name) != Some(key) {
            return;
        }
        if let Ok(facts) = &answer.outcome {
            let written = self.kept.database.note_smart(self.clock.now(), key, facts);
            self.report_history(written);
        }
        self.feed(WatchEvent::Smart(name, answer.reading()));
    }

    fn handle_session(&mut self, message: SessionMessage) {
        if let Some(glance) = self.sessions.glance(&message.subject) {
            self.observe_glance(&message.subject, &glance);
        }
        if !self.sessions.ended(&message) {
            return; // its disk is gone, or another session has replaced it
        }
        let SessionMessage { subject, key, news, .. } = message;
        self.machine.ended_sessions.retain(|(_, at)| at.elapsed() < ENDED_LATELY);
        self.machine.ended_sessions.push((subject.clone(), Instant::now()));
        let name = self.display_name(&subject);
        (self.say)(&format!("{name}: {}", news_text(&news)));
        if let SessionNews::Finished(report) = &news {
            self.observe_pass(&name);
            let now = self.clock.now();
            let begun = self.kept.passes.get(&key).map_or(now, |mark| mark.begun);
            let written = match &key {
                SubjectKey::Disk(key) => self.kept.database.note_pass(now, key, report, begun),
                SubjectKey::Array(_) => self.kept.database.note_check(now, &name, report),
            };
            self.report_history(written);
            self.hurry_speeds();
        }
        self.feed(WatchEvent::Session(subject, news));
    }

    fn handle_delivery(&mut self, number: u64, channel: String, outcome: Result<DeliveryReceipt, DeliveryError>) {
        let at = self.clock.now();
        let (is_accepted, text, took) = match outcome {
            Ok(receipt) => (true, receipt.reply, receipt.took),
            Err(error) => (false, error.to_string(), Duration::ZERO),
        };
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let outcome = if is_accepted { "accepted" } else { "not accepted" };
        (self.say)(&format!("message {number} by {channel}: {outcome}: {text}"));
        self.outgoing
            .deliveries
            .insert(channel, DeliveryEntry { message: number, at: at.0, is_accepted, said: text, millis });
        if is_accepted {
            let written = self.kept.database.note_delivered(at, number);
            self.report_history(written);
            self.feed(WatchEvent::MessageSent(number));
        } else {
            self.feed(WatchEvent::MessageFailed(number));
        }
    }
}

/// The news in words for the journal.
fn news_text(news: &SessionNews) -> String {
    let unreadable_text = |report: &PassReport| match report.unreadable.iter().map(|run| run.count()).sum() {
        0 => String::new(),
        1 => ", 1 unreadable sector".to_owned(),
        count => format!(", {count} unreadable sectors"),
    };
    match news {
        SessionNews::Progress(report) => format!("{} sectors read", report.done),
        SessionNews::Finished(report) => format!("the pass is over{}", unreadable_text(report)),
        SessionNews::Stopped(report) => {
            format!("stopped after {} sectors of this pass{}", report.done, unreadable_text(report))
        }
        SessionNews::Failed(report) => format!("it answers no reads{}", unreadable_text(report)),
        SessionNews::Refused(why) => format!("not read: {why}"),
    }
}
