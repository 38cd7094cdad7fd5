//! People on a modelled host: they read messages, accept, and pause.

use super::fact::HostFact;
use super::life::HostEvent;
use super::run::ModelledHost;
use scrubjay_watch::calendar::{DAY, HOUR};
use scrubjay_watch::events::{PersonCommand, WatchEvent};
use scrubjay_watch::incident::{IncidentKind, IncidentSubject, MessageReason, Urgency};
use scrubjay_watch::rows::{MessageRow, RowKey, WatchRow};

impl ModelledHost<'_> {
    /// Delivers a message to a person, who may do something about it.
    pub(super) fn deliver(&mut self, row: &MessageRow) {
        let text = self.texts.of(row.number);
        self.observe(&HostFact::Delivered(row, &text));
        if row.reason == MessageReason::Test || row.reason == MessageReason::Report {
            let code = text.body().split_whitespace().last().unwrap_or_default().to_owned();
            if self.rng.below(5) > 0 {
                self.codes.push((row.channel.clone(), code));
                self.plan_within(HOUR, 2 * DAY, HostEvent::Confirm(self.codes.len() - 1));
            }
        }
        for key in &row.about {
            let IncidentSubject::Disk(disk) = &key.subject else { continue };
            let Some(number) = self.disks.iter().position(|known| known.facts.key == *disk) else { continue };
            let later = DAY + self.rng.below(25 * DAY);
            match (key.kind, row.urgency, self.rng.below(4)) {
                (IncidentKind::Health, Urgency::Replace, 0) => self.plan(self.now + later, HostEvent::Replace(number)),
                (IncidentKind::Health | IncidentKind::Unknown, _, 1) => {
                    self.plan(self.now + HOUR, HostEvent::Accept(number))
                }
                _ => {}
            }
        }
    }

    /// A person accepts the state of a disk.
    pub(super) fn accept(&mut self, number: usize) {
        let subject = IncidentSubject::Disk(self.disks[number].facts.key.clone());
        self.send(WatchEvent::Command(PersonCommand::Accept(subject.clone())));
        // If the watch is killed meanwhile, the person gets no answer, and does it again, unless all is accepted as it is
        // (what was accepted before, and has grown, is not).
        let about = self.rows.values().filter_map(|row| match row {
            WatchRow::Incident(row) if row.key.subject == subject => Some(row.is_accepted && !row.is_grown()),
            _ => None,
        });
        let is_kept = about.reduce(|all, is_kept| all && is_kept) == Some(true);
        match self.watch.is_some() || is_kept {
            true => self.observe(&HostFact::Accepted(&subject)),
            false => self.plan(self.now + HOUR, HostEvent::Accept(number)),
        }
    }

    /// A person pauses all reading for `span` seconds, which counts if the watch has made it durable.
    pub(super) fn pause(&mut self, span: u64) {
        self.send(WatchEvent::Command(PersonCommand::PauseFor(span)));
        let is_kept = |row: &WatchRow| matches!(row, WatchRow::Host(host) if host.paused_for == span);
        if self.rows.get(&RowKey::Host).is_some_and(is_kept) {
            self.observe(&HostFact::Paused(span));
        }
    }
}
