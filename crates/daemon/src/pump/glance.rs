//! A look at sessions and disks, now and then: how far they are, how busy they were.

use super::state::Daemon;
use crate::sessions::SessionGlance;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::HOUR;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::SessionNews;
use std::path::Path;

impl Daemon<'_> {
    /// The kernel's count of milliseconds in which a disk had a request: the tenth number of its `stat`.
    fn busy_millis(&self, name: &str) -> Option<u64> {
        let stat = self.root.text(&Path::new("/sys/block").join(name).join("stat"))?;
        stat.split_whitespace().nth(9)?.parse().ok()
    }

    /// Looks how far sessions are and what disks do, and tells.
    pub(super) fn glance(&mut self) {
        let names: Vec<String> = self.survey.disks.iter().map(|disk| disk.facts.name.clone()).collect();
        for name in names {
            let glance = self.sessions.glance(&name);
            let is_running = self.sessions.is_running(&name);
            let share = glance.as_ref().and_then(|glance| glance.share);
            let busy = self.busy_millis(&name);
            if !is_running || share.is_some() {
                self.hours.note(&name, busy, share);
            }
            if let Some(SessionGlance { pass, is_worse, .. }) = glance {
                if let (true, Some(key)) = (is_worse, self.key_of(&name).cloned()) {
                    let noted = self.history.note_findings(self.clock.now(), &key, &pass.unreadable);
                    self.noted(noted);
                }
                self.tell(WatchEvent::Session(name, SessionNews::Progress(pass)));
            }
        }
        if let Some((hour, shares)) = self.hours.end(self.clock.now()) {
            let week_hour = self.watch.calendar().local(UnixSeconds(hour * HOUR)).week_hour();
            for (name, share) in shares {
                self.tell(WatchEvent::IdleHour(name, week_hour, share));
            }
        }
    }
}
