//! The machine: its parts, and its rows.

use crate::calendar::Calendar;
use crate::clock::ClockTrust;
use crate::events::{WatchBug, WatchOp};
use crate::facts::{DiskKey, SmartRefusal};
use crate::health::{self, HealthSign, HealthState};
use crate::incident_book::IncidentBook;
use crate::known::DiskState;
use crate::outgoing::OutgoingMail;
use crate::pending::Pending;
use crate::rows::{HostRow, RowKey, WatchRow};
use crate::seen::Seen;
use crate::settings::WatchSettings;
use crate::timing::Timing;
use scrubjay_core::units::UnixSeconds;

/// The machine that watches over disks. See the crate's documentation.
#[derive(Debug)]
pub struct Watch {
    pub(crate) settings: WatchSettings,
    pub(crate) calendar: Box<dyn Calendar>,
    pub(crate) clock: ClockTrust,
    pub(crate) host: HostRow,
    /// What is seen of the machine.
    pub(crate) seen: Seen,
    /// What is told of it.
    pub(crate) book: IncidentBook,
    /// By which way, and what is on its way.
    pub(crate) outgoing: OutgoingMail,
    /// What is to be kept and done.
    pub(crate) pending: Pending,
    /// When it acts.
    pub(crate) timing: Timing,
    #[cfg(feature = "planted")]
    pub(crate) planted: Option<WatchBug>,
}

impl Watch {
    /// Is this mistake planted?
    #[cfg(feature = "planted")]
    pub(crate) fn is_planted(&self, mistake: WatchBug) -> bool {
        self.planted == Some(mistake)
    }

    /// No mistake can be planted.
    #[cfg(not(feature = "planted"))]
    pub(crate) const fn is_planted(&self, _: WatchBug) -> bool {
        false
    }

    /// Plants a mistake, or none.
    #[cfg(feature = "planted")]
    pub fn plant(&mut self, mistake: Option<WatchBug>) {
        self.planted = mistake;
    }

    /// The identity of the disk that has this kernel name now: of disks that give one, each has its own.
    pub fn disk_key(&self, name: &str) -> Option<&DiskKey> {
        self.seen.names.get(name)
    }

    /// The row of a key; `None`: it no longer exists.
    fn row(&self, key: &RowKey) -> Option<WatchRow> {
        Some(match key {
            RowKey::Host => WatchRow::Host(self.host.clone()),
            RowKey::Disk(disk) => WatchRow::Disk(Box::new(self.seen.disks.get(disk)?.row.clone())),
            RowKey::Reading(key) => WatchRow::Reading(key.clone(), Box::new(self.reading(key)?.row.clone())),
            RowKey::Idle(key) => WatchRow::Idle(key.clone(), Box::new(self.reading(key)?.idle.clone())),
            RowKey::Array(array) => WatchRow::Array(self.seen.arrays.get(array)?.facts.clone()),
            RowKey::Incident(incident) => WatchRow::Incident(Box::new(self.book.incidents.get(incident)?.clone())),
            RowKey::Past(incident) => WatchRow::Past(Box::new(self.book.past.get(incident)?.clone())),
            RowKey::Message(number) => WatchRow::Message(Box::new(self.outgoing.outbox.get(number)?.clone())),
            RowKey::Channel(name) => WatchRow::Channel(self.outgoing.channels.get(name)?.clone()),
        })
    }

    /// All rows: what a new history has to have.
    pub fn rows(&self) -> Vec<WatchRow> {
        let subjects = self.subjects().map(|subject| subject.key());
        let keys = std::iter::once(RowKey::Host)
            .chain(self.seen.disks.keys().cloned().map(RowKey::Disk))
            .chain(self.seen.arrays.keys().cloned().map(RowKey::Array))
            .chain(subjects.flat_map(|key| [RowKey::Reading(key.clone()), RowKey::Idle(key)]))
            .chain(self.book.incidents.keys().cloned().map(RowKey::Incident))
            .chain(self.book.past.keys().cloned().map(RowKey::Past))
            .chain(self.outgoing.outbox.keys().copied().map(RowKey::Message))
            .chain(self.outgoing.channels.keys().cloned().map(RowKey::Channel));
        keys.filter_map(|key| self.row(&key)).collect()
    }

    /// Emits the rows that changed, in front of the operations that must follow them.
    pub(crate) fn flush(&mut self) {
        let (changed, dropped) = self.pending.take_keys();
        let rows: Vec<WatchRow> = changed.iter().filter_map(|key| self.row(key)).collect();
        // The pump puts a letter in words once.
        self.outgoing.outbox.values_mut().for_each(|row| row.letter = None);
        let dropped: Vec<RowKey> = dropped.into_iter().filter(|key| self.row(key).is_none()).collect();
        let keep = (!rows.is_empty() || !dropped.is_empty()).then_some(WatchOp::Keep(rows, dropped));
        let is_kept_first = !self.is_planted(WatchBug::SendBeforeKeep);
        self.pending.queue(keep, is_kept_first);
    }

    /// The state of a disk, and its signs.
    pub(crate) fn health(&self, disk: &DiskState, now: UnixSeconds) -> (HealthState, Vec<HealthSign>) {
        let mut signs = disk.signs(now);
        signs.extend(self.failures_sign(disk, now));
        let gravest = health::gravest(&signs);
        let live = &disk.live;
        let state = match gravest {
            _ if live.name.is_none() => HealthState::Missing,
            Some(state) => state,
            None if live.asleep.is_some() => HealthState::Asleep,
            None if disk.row.facts.is_virtual()
                && matches!(live.refused, Some(SmartRefusal::NotSupported | SmartRefusal::NoCounters)) =>
            {
                HealthState::Virtual
            }
            None if live.refused.is_some() => HealthState::Unknown,
            None if disk.is_stale(now) && !self.is_planted(WatchBug::GreenWhenStale) => HealthState::Unknown,
            None => HealthState::Ok,
        };
        (state, signs)
    }
}
