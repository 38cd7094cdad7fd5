//! What befalls an odd host: it is suspended, its history is lost, and servers refuse recipients.

use super::fact::HostFact;
use super::life::HostEvent;
use super::run::ModelledHost;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{DAY, HOUR};
use scrubjay_watch::events::{PersonCommand, WatchEvent};
use scrubjay_watch::incident::IncidentSubject;
use scrubjay_watch::loss::{HistoryLoss, LossKind};
use scrubjay_watch::rows::{RowKey, WatchRow};

impl ModelledHost<'_> {
    /// Suspends the machine, for `span` seconds: nothing happens meanwhile. The pump knows from the kernel how long it took.
    pub(super) fn suspend(&mut self, span: u64) {
        // A host that forgets the time has a clock that is wrong for other reasons.
        if self.watch.is_none() || self.setup.forgets_time {
            return;
        }
        self.places.clone().into_iter().for_each(|number| self.read(number));
        self.observe(&HostFact::Power(false));
        self.now += span;
        for disk in self.disks.iter_mut().filter(|disk| disk.session.is_some()) {
            disk.session = Some(self.now);
        }
        self.observe(&HostFact::Power(true));
        let starts = self.starts;
        self.send(WatchEvent::Suspended(span));
        self.send(WatchEvent::Tick);
        let status = self.watch.as_ref().filter(|_| starts == self.starts).map(|watch| watch.status(self.clock()));
        status.iter().for_each(|status| self.observe(&HostFact::Woken(status)));
    }

    /// The history's file is lost while the watch runs, which notices that, and writes it anew from memory. If it is killed before,
    /// the next start notices it.
    pub(super) fn lose_history(&mut self, kind: usize) {
        if self.watch.is_none() {
            return self.plan(self.now + HOUR, HostEvent::LoseHistory(kind));
        }
        self.observe(&HostFact::HistoryLost);
        let loss = HistoryLoss { at: UnixSeconds(0), kind: LossKind::ALL[kind], aside: None, is_rebuilt: true };
        self.send(WatchEvent::HistoryLost(loss));
        self.send(WatchEvent::Tick);
        match self.watch.is_some() || self.knows_of_loss() {
            true => self.plan_within(HOUR, 20 * DAY, HostEvent::AcceptHistory),
            false => self.plan(self.now + HOUR, HostEvent::LoseHistory(kind)),
        }
    }

    /// Do the watch's durable rows have a loss?
    fn knows_of_loss(&self) -> bool {
        matches!(self.rows.get(&RowKey::Host), Some(WatchRow::Host(host)) if host.history_lost.is_some())
    }

    /// A person takes note of the loss; who gets no answer does it again.
    pub(super) fn accept_history(&mut self) {
        self.send(WatchEvent::Command(PersonCommand::Accept(IncidentSubject::Watch)));
        match self.knows_of_loss() {
            true => self.plan(self.now + HOUR, HostEvent::AcceptHistory),
            false => self.observe(&HostFact::Accepted(&IncidentSubject::Watch)),
        }
    }

    /// A channel's server refuses one of its recipients from now on, or takes all again. The pump says so with each delivery.
    pub(super) fn refuse_recipients(&mut self, channel: usize, are_refused: bool) {
        let Some(name) = self.setup.settings.channels.get(channel).map(|channel| channel.name.clone()) else { return };
        if self.watch.is_none() {
            return self.plan(self.now + HOUR, HostEvent::Recipients(channel, are_refused));
        }
        if are_refused {
            self.observe(&HostFact::RecipientsRefused(&name, true));
        }
        let refused = are_refused.then(|| ("ops@example.org".to_owned(), "550 no such user".to_owned()));
        self.send(WatchEvent::Recipients(name.clone(), refused.into_iter().collect()));
        let row = self.rows.get(&RowKey::Channel(name.clone()));
        let is_kept = matches!(row, Some(WatchRow::Channel(row)) if row.refused.is_empty() != are_refused);
        if !is_kept {
            return self.plan(self.now + HOUR, HostEvent::Recipients(channel, are_refused));
        }
        if !are_refused {
            self.observe(&HostFact::RecipientsRefused(&name, false));
        }
    }
}
