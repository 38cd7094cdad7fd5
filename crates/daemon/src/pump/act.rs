//! Carries out the watch's operations in order: none is begun before the rows in front of it are durable.

use super::state::{Daemon, mark_of};
use crate::channels::SenderFacts;
use crate::history::HistoryError;
use crate::sessions::{KeptPass, PassOrder};
use scrubjay_core::units::{Nanos, UnixSeconds};
use scrubjay_device::inventory;
use scrubjay_watch::events::{WatchEvent, WatchOp};
use scrubjay_watch::facts::{SessionNews, SessionSubject};
use scrubjay_watch::incident::IncidentSubject;
use scrubjay_watch::loss::LossKind;
use scrubjay_watch::rows::MessageRow;
use scrubjay_words::{Wording, hold_back};
use std::time::{Duration, Instant};

/// How long after a failed write of the data base it is tried again.
const KEEP_AGAIN: Duration = Duration::from_secs(5);

impl Daemon<'_> {
    /// Carries out operations until there is none left, or rows cannot be kept.
    pub(super) fn act(&mut self) {
        if self.kept.retry_keep_at.is_some_and(|at| at > Instant::now()) {
            return;
        }
        self.kept.retry_keep_at = None;
        while let Some(op) = self.kept.ops.pop_front() {
            match op {
                WatchOp::Keep(rows, dropped) => {
                    let wording = Wording { calendar: self.watch.calendar(), host: &self.settings.host };
                    if let Err(error) = self.kept.database.keep(self.clock.now(), &rows, &dropped, &wording) {
                        // Nothing goes on before the rows are durable: no message is sent that would be unknown after a
                        // restart.
                        self.set_trouble("history", Some(format!("{error}; tried again every {KEEP_AGAIN:?}")));
                        self.kept.ops.push_front(WatchOp::Keep(rows, dropped));
                        // Trying again does not mend it. (If nothing was rebuilt, it is tried again all the same.)
                        if matches!(error, HistoryError::Damaged { .. }) {
                            self.rebuild_history(LossKind::Damaged);
                        }
                        self.kept.retry_keep_at = Some(Instant::now() + KEEP_AGAIN);
                        return;
                    }
                    self.set_trouble("history", None);
                    self.kept.passes.extend(rows.iter().filter_map(mark_of));
                }
                WatchOp::ReadSmart(name) => {
                    if let (Some(disk), Some(key)) = (self.disk(&name), self.key_of(&name)) {
                        self.drives.enqueue(name, key.clone(), disk.device.clone());
                    }
                }
                WatchOp::BeginSession(subject, pass, begun, budget) => self.begin(subject, pass, begun, budget),
                WatchOp::StopSession(subject, why) => {
                    let name = self.display_name(&subject);
                    (self.say)(&format!("{name}: stopping: {}", hold_back(&why, self.watch.calendar())));
                    if !self.sessions.stop(&subject) {
                        // The session has ended meanwhile, or was another process's: the kept state is reported.
                        let event = self.kept(&subject).unwrap_or(WatchEvent::Session(subject, no_session()));
                        self.feed(event);
                    }
                }
                WatchOp::Send(message) if self.observe_message(&message) => {}
                WatchOp::Send(message) => {
                    let sender = self.sender_of(&message);
                    let text = self.kept.database.text(message.number);
                    self.outgoing.messengers.send(*message, text, sender);
                }
                WatchOp::Heartbeat => {
                    // A daemon that sees nothing must not report that all is well.
                    if !self.is_blind() && self.observation.is_none() {
                        self.outgoing.messengers.beat();
                    }
                    let thinned = self.kept.database.thin(self.clock.now());
                    self.report_history(thinned);
                }
            }
        }
    }

    fn begin(&mut self, subject: SessionSubject, pass: u32, begun: UnixSeconds, budget: Nanos) {
        // If the subject is absent, the watch will get the event that it is gone.
        let Some(key) = self.subject_key(&subject) else { return };
        let target = match &subject {
            SessionSubject::Disk(name) => self.disk(name).map(|disk| disk.device.clone()),
            SessionSubject::Array(key) => self.machine.survey.checks.get(key).map(|check| check.target.clone()),
        };
        let Some(target) = target else { return };
        let array = |key: &String| self.machine.survey.arrays.iter().find(|array| array.key == *key);
        let is_pool =
            matches!(&subject, SessionSubject::Array(key) if array(key).is_some_and(|array| array.pool.is_some()));
        // The settings may have changed since the survey.
        if is_pool && !self.config.zfs.scrub.iter().any(|name| target.as_os_str() == name.as_str()) {
            let news = SessionNews::Refused("the settings do not name it any more".to_owned());
            return self.feed(WatchEvent::Session(subject, news));
        }
        let media = match &subject {
            SessionSubject::Disk(name) => self.disk(name).map(|disk| disk.facts.media),
            SessionSubject::Array(_) => None,
        };
        let is_twin = matches!(&subject, SessionSubject::Disk(name) if self.is_twin(name));
        let name = self.display_name(&subject);
        let reading = if self.observation.is_some() { "would be read" } else { "reading" };
        (self.say)(&format!("{name}: {reading}, pass {pass}"));
        self.sessions.begin(PassOrder {
            subject,
            name,
            key,
            target,
            pass,
            begun,
            begun_by_system: self.clock.by_system(begun),
            pace: self.clock.pace(),
            is_twin,
            is_pool,
            budget,
            imagined: media.filter(|_| self.observation.is_some()),
        });
    }

    /// The report of the kept state of this disk or array, for the pass that the watch thinks is under way.
    pub(super) fn kept(&self, subject: &SessionSubject) -> Option<WatchEvent> {
        let key = self.subject_key(subject)?;
        let mark = *self.kept.passes.get(&key).filter(|mark| mark.begun.0 > 0)?;
        let (identity, sectors) = match subject {
            SessionSubject::Disk(name) => {
                let disk = self.disk(name).filter(|_| !self.is_twin(name))?;
                (inventory::identity(name)?, disk.facts.sectors)
            }
            SessionSubject::Array(key) => {
                let array = self.machine.survey.arrays.iter().find(|array| array.key == *key)?;
                (self.machine.survey.checks.get(key)?.identity.clone(), array.check_sectors?)
            }
        };
        let kept = KeptPass::of(&self.options.folder, &identity, sectors, self.clock.by_system(mark.begun));
        let KeptPass::UnderWay(mut report) = kept else { return None };
        (report.pass, report.begun) = (mark.pass, mark.begun);
        Some(WatchEvent::Session(subject.clone(), SessionNews::Stopped(report)))
    }

    /// Further facts for a message.
    fn sender_of(&self, message: &MessageRow) -> SenderFacts {
        let key = message.about.first();
        let disk = key.and_then(|key| match &key.subject {
            IncidentSubject::Disk(key) => {
                self.machine.survey.disks_meant(|disk| disk.facts.key == *key).into_iter().next()
            }
            IncidentSubject::Array(_) | IncidentSubject::Channel(_) | IncidentSubject::Watch => None,
        });
        let incidents = self.watch.status(self.clock.now()).incidents;
        let opened = incidents.iter().find(|incident| Some(&incident.key) == key).map(|incident| incident.opened);
        SenderFacts { host: self.settings.host.clone(), disk: disk.map(|disk| disk.facts.clone()), opened }
    }
}

/// The report for a session that does not exist.
fn no_session() -> SessionNews {
    SessionNews::Refused("no session of it runs".to_owned())
}
