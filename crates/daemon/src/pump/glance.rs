//! Regular checks of sessions and disks: how far they are, how busy they were.

use super::state::Daemon;
use crate::sessions::SessionGlance;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::HOUR;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::{SessionNews, SessionSubject, SubjectKey};
use std::path::Path;

impl Daemon<'_> {
    /// The kernel's count of milliseconds in which a disk had a request: the tenth number of its `stat`.
    fn busy_millis(&self, name: &str) -> Option<u64> {
        let stat = self.machine.root.text(&Path::new("/sys/block").join(name).join("stat"))?;
        stat.split_whitespace().nth(9)?.parse().ok()
    }

    /// Checks sessions and disks, and reports to the watch.
    pub(super) fn glance(&mut self) {
        let disks = self.machine.survey.disks.iter().map(|disk| SessionSubject::Disk(disk.facts.name.clone()));
        let arrays = self.machine.survey.checks.keys().cloned().map(SessionSubject::Array);
        for subject in disks.chain(arrays).collect::<Vec<_>>() {
            let glance = self.sessions.glance(&subject);
            let is_running = self.sessions.is_running(&subject);
            let share = glance.as_ref().and_then(|glance| glance.share);
            match &subject {
                SessionSubject::Disk(name) if !is_running || share.is_some() => {
                    let busy = self.busy_millis(name);
                    self.hours.note(&subject, busy, share);
                }
                SessionSubject::Disk(_) => {}
                // The usable share of the time of an array is known only while it is checked.
                SessionSubject::Array(_) if is_running => self.hours.note(&subject, share.map(|_| 0), share),
                SessionSubject::Array(_) => self.hours.note(&subject, None, None),
            }
            if let Some(glance) = &glance {
                self.observe_glance(&subject, glance);
            }
            if let Some(SessionGlance { pass, is_worse, new_notes, .. }) = glance {
                let name = self.display_name(&subject);
                new_notes.iter().for_each(|note| (self.say)(&format!("{name}: {note}")));
                if let (true, Some(SubjectKey::Disk(key))) = (is_worse, self.subject_key(&subject)) {
                    let written = self.kept.database.note_findings(self.clock.now(), &key, &pass.unreadable);
                    self.report_history(written);
                }
                self.feed(WatchEvent::Session(subject, SessionNews::Progress(pass)));
            }
        }
        self.observe_turn();
        if let Some((hour, shares)) = self.hours.end_hour(self.clock.now()) {
            let week_hour = self.watch.calendar().local(UnixSeconds(hour * HOUR)).week_hour();
            for (subject, share) in shares {
                self.feed(WatchEvent::IdleHour(subject, week_hour, share));
            }
        }
    }
}
