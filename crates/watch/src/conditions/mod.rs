//! Present problems: the condition of every incident that should be open, as facts.

mod array;
mod causes;
mod channel;
mod disk;
mod failures;
mod pool;
mod reading;

use crate::events::WatchBug;
use crate::facts::ArrayFacts;
use crate::incident::{Condition, IncidentKey, IncidentKind, IncidentSubject, Urgency};
use crate::known::{ArrayState, DiskState};
use crate::problem::{ArrayCard, DiskCard, Problem, SubjectCard};
use crate::state::Watch;
use crate::subject::WatchedSubject;
use scrubjay_core::units::UnixSeconds;
use std::collections::{BTreeMap, BTreeSet};

/// Present problems.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    /// The condition of each incident that should be open.
    pub found: BTreeMap<IncidentKey, Condition>,
    /// Incidents that stay as they were: they cannot be judged now.
    pub unjudged: BTreeSet<IncidentKey>,
    /// Incidents that send no messages, because the disk is not there and that is reported, or known to be short.
    pub held: BTreeSet<IncidentKey>,
}

impl Conditions {
    /// Adds a condition of this subject.
    fn add(&mut self, subject: &IncidentSubject, condition: Condition) {
        let key = IncidentKey { subject: subject.clone(), kind: condition.problem.kind() };
        self.found.insert(key, condition);
    }

    /// Leaves incidents of these kinds as they were.
    fn leave(&mut self, subject: &IncidentSubject, kinds: impl IntoIterator<Item = IncidentKind>) {
        let key = |kind| IncidentKey { subject: subject.clone(), kind };
        self.unjudged.extend(kinds.into_iter().map(key));
    }
}

impl Watch {
    /// Checks everything for problems.
    pub(crate) fn conditions(&mut self, now: UnixSeconds) -> Conditions {
        let mut conditions = Conditions::default();
        self.refresh_foreseen(now);
        for disk in self.seen.disks.values() {
            self.check_disk(disk, now, &mut conditions);
        }
        for array in self.seen.arrays.values() {
            self.check_array(array, now, &mut conditions);
        }
        let loss = self.host.history_lost.clone();
        if let Some(loss) = loss.filter(|_| !self.is_planted(WatchBug::HistoryLossUnreported)) {
            // Each loss is news.
            let amounts = vec![(loss.kind.word().to_owned(), loss.at.0)];
            let condition = Condition::of(Urgency::Notice, Problem::History(loss)).with_amounts(amounts);
            conditions.add(&IncidentSubject::Watch, condition);
        }
        self.check_channels(now, &mut conditions);
        self.list_consequences(&mut conditions.found);
        conditions
    }

    /// Since when something is missing that was not seen since `unseen`: a start of the machine does not make it later.
    fn missing_since(&self, subject: &IncidentSubject, unseen: UnixSeconds) -> UnixSeconds {
        let key = IncidentKey { subject: subject.clone(), kind: IncidentKind::Missing };
        self.book.incidents.get(&key).map_or(unseen, |incident| unseen.min(incident.opened))
    }
}

impl DiskState {
    /// What identifies it for people.
    pub(crate) fn card(&self) -> DiskCard {
        let facts = &self.row.facts;
        DiskCard {
            key: facts.key.clone(),
            name: self.live.name.clone(),
            model: facts.model.clone(),
            serial: facts.serial_shown().to_owned(),
            bay: facts.bay.clone(),
            sectors: facts.sectors,
        }
    }
}

impl ArrayFacts {
    /// What identifies it for people.
    pub(crate) fn card(&self) -> ArrayCard {
        let (name, level) = (self.name.clone(), self.level.clone());
        ArrayCard { name, level, members: self.members.len() as u64, redundancy: self.redundancy }
    }
}

impl ArrayState {
    /// What identifies it for people.
    pub(crate) fn card(&self) -> ArrayCard {
        self.facts.card()
    }
}

impl WatchedSubject<'_> {
    /// What identifies it for people.
    pub(crate) fn card(self) -> SubjectCard {
        match self {
            WatchedSubject::Disk(disk) => SubjectCard::Disk(disk.card()),
            WatchedSubject::Array(array, _) => SubjectCard::Array(array.card()),
        }
    }
}
