//! The sessions of a modelled host: what they read, when they end, and what they report.

use super::calendar::DaylightCalendar;
use super::fact::HostFact;
use super::life::HostEvent;
use super::run::ModelledHost;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{Calendar, HOUR};
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::{PassReport, SessionNews, SessionSubject};

impl ModelledHost<'_> {
    /// The number of the disk of a session; `None`: it is an array, whose checkers the model lacks.
    pub(super) fn by_subject(&self, subject: &SessionSubject) -> Option<usize> {
        match subject {
            SessionSubject::Disk(name) => self.by_name(name),
            SessionSubject::Array(_) => None,
        }
    }

    pub(super) fn by_name(&self, name: &str) -> Option<usize> {
        let is_named = |number: &&usize| self.disks[**number].is_seen && self.disks[**number].facts.name == name;
        self.places.iter().find(is_named).copied()
    }

    pub(super) fn begin_session(&mut self, number: usize, is_new: bool) {
        let clock = self.clock();
        self.disks[number].session = Some(self.now);
        self.observe(&HostFact::SessionBegun(number));
        if self.disks[number].fails_reads {
            self.plan(self.now + HOUR / 2, HostEvent::NoReads(number, self.starts));
        } else if is_new {
            let key = &self.disks[number].facts.key;
            let status = self.watch.as_ref().map(|watch| watch.status(clock));
            let entry = status.iter().flat_map(|status| &status.disks).find(|disk| disk.key == *key);
            if let Some(forecast) = entry.and_then(|disk| disk.reading.forecast) {
                let true_time = |at: UnixSeconds| (at.0 as i64 - self.ahead) as u64;
                let (low, high) = (true_time(forecast.low), true_time(forecast.high));
                self.observe(&HostFact::Forecast(number, low, high));
            }
        }
    }

    /// Accounts for what a session has read since the last time.
    pub(super) fn read(&mut self, number: usize) {
        let Some(since) = self.disks[number].session.filter(|_| !self.disks[number].fails_reads) else { return };
        let week_hour = DaylightCalendar.local(UnixSeconds(since)).week_hour();
        let useful = self.disks[number].share(since / HOUR, week_hour) * (self.now - since) as f64;
        let before = self.disks[number].read(useful);
        self.disks[number].session = Some(self.now);
        let done = self.disks[number].done;
        self.observe(&HostFact::Read(number, before, done, since, self.now));
    }

    /// The report of a session; the evidence in it is about to reach the watch.
    pub(super) fn report(&mut self, number: usize) -> PassReport {
        let report = self.disks[number].report();
        if !report.unreadable.is_empty() {
            self.observe(&HostFact::Evidence(number, true));
            self.observe(&HostFact::Unreadable(number, &report.unreadable));
        }
        report
    }

    /// Ends a session that has read its whole disk; if it was cut off first, the next session ends as soon as it begins.
    pub(super) fn finish_if_done(&mut self, number: usize) -> Option<WatchEvent> {
        let is_over = self.disks[number].session.is_some() && self.disks[number].done >= 1.0;
        is_over.then(|| {
            let (name, report) = (self.disks[number].facts.name.clone(), self.report(number));
            self.end_session(number);
            self.observe(&HostFact::PassOver(number));
            WatchEvent::Session(SessionSubject::Disk(name), SessionNews::Finished(report))
        })
    }

    pub(super) fn end_session(&mut self, number: usize) {
        if self.disks[number].session.take().is_some() {
            self.observe(&HostFact::SessionEnded(number));
        }
    }
}
