//! Records what the web page would show of a modelled machine.
//! Its history is kept as the daemon keeps it, and its status at the last noon is answered as the daemon answers it.

use anyhow::Result;
use scrubjay_control::past::{SurfacePart, WatchSnapshot};
use scrubjay_control::{ReadingActivity, ReadingEntry, WatchDocument};
use scrubjay_core::scrub::ScrubReport;
use scrubjay_core::units::UnixSeconds;
use scrubjay_daemon::control::document::{LiveSessions, document};
use scrubjay_daemon::control::{DiskExtras, past_from};
use scrubjay_daemon::history::{HistoryDatabase, HistoryError};
use scrubjay_sim::host::calendar::DaylightCalendar;
use scrubjay_sim::host::fact::{HostFact, HostObserver};
use scrubjay_sim::host::setup::{EPOCH, HostSetup};
use scrubjay_watch::calendar::DAY;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::{DiskKey, SessionNews, SessionSubject, SmartReading};
use scrubjay_watch::passes::{PassHistory, SLICES};
use scrubjay_watch::rows::{DiskRow, RowKey, WatchRow};
use scrubjay_watch::status::DiskStanding;
use scrubjay_words::Wording;
use std::collections::BTreeMap;

/// The length of the past that is shown, in seconds.
const SPAN: u64 = 366 * DAY;

/// Records the data that a daemon would keep.
pub struct PageRecorder {
    host: String,
    history: HistoryDatabase,
    /// Rows that cause no events are written at the end.
    last: BTreeMap<RowKey, WatchRow>,
    keys: BTreeMap<String, DiskKey>,
    /// The last noon of the model; later events are not shown.
    last_noon: u64,
    status_at_noon: Option<WatchDocument>,
    trouble: Option<HistoryError>,
}

/// A model has no sessions besides those that the watch knows.
struct NoSessions;

impl LiveSessions for NoSessions {
    fn latest(&self, _: &SessionSubject) -> Option<ScrubReport> {
        None
    }

    fn foreign(&self, _: &DiskStanding) -> Option<u32> {
        None
    }
}

impl PageRecorder {
    /// A recorder of a host that is about to run.
    pub fn new(setup: &HostSetup) -> Result<PageRecorder> {
        let end = EPOCH + setup.seconds();
        Ok(PageRecorder {
            host: setup.settings.host.clone(),
            history: HistoryDatabase::in_memory()?,
            last: BTreeMap::new(),
            keys: BTreeMap::new(),
            // The end itself is not part of the model.
            last_noon: (end - 1).saturating_sub(DAY / 2) / DAY * DAY + DAY / 2,
            status_at_noon: None,
            trouble: None,
        })
    }

    /// The data of the page.
    pub fn snapshot(mut self) -> Result<WatchSnapshot> {
        let mut status = self.status_at_noon.take().unwrap_or_default();
        let now = UnixSeconds(status.time);
        let rows: Vec<WatchRow> = self.last.into_values().collect();
        self.history.keep(now, &rows, &[], &wording(&self.host))?;
        if let Some(trouble) = self.trouble {
            return Err(trouble.into());
        }
        let since = UnixSeconds(now.0.saturating_sub(SPAN));
        let mut past = past_from(&self.history, now, None, since, &surface_only)?;
        for disk in &mut past.disks {
            let key = disk.key.clone();
            let disk_past = past_from(&self.history, now, Some(&key), since, &surface_only)?;
            disk.detail = disk_past.disks.into_iter().next().and_then(|disk| disk.detail);
        }
        // No live session changes "waiting" into "reading", as the daemon's would.
        let is_begun = |reading: &ReadingEntry| reading.activity == ReadingActivity::Waiting;
        for disk in status.disks.iter_mut().filter(|disk| is_begun(&disk.reading)) {
            (disk.reading.activity, disk.reading.why) = (ReadingActivity::Reading, None);
        }
        Ok(WatchSnapshot { status, past })
    }

    fn note_trouble(&mut self, outcome: Result<(), HistoryError>) {
        if let Err(error) = outcome {
            self.trouble.get_or_insert(error);
        }
    }

    fn record_event(&mut self, now: UnixSeconds, event: &WatchEvent) {
        let outcome = match event {
            WatchEvent::DiskSeen(facts) => {
                self.keys.insert(facts.name.clone(), facts.key.clone());
                // A disk that was never seen is entered with its row.
                let is_known = self.history.events(1, Some(&facts.key)).is_ok_and(|events| !events.is_empty());
                if is_known { self.history.note_presence(now, &facts.key, true) } else { Ok(()) }
            }
            WatchEvent::DiskGone(name) | WatchEvent::DiskPulled(name) => match self.keys.get(name) {
                Some(key) => self.history.note_presence(now, key, false),
                None => Ok(()),
            },
            WatchEvent::Smart(name, SmartReading::Facts(facts)) => match self.keys.get(name) {
                Some(key) => self.history.note_smart(now, key, facts),
                None => Ok(()),
            },
            WatchEvent::Session(SessionSubject::Disk(name), news) => match (self.keys.get(name), news) {
                (Some(key), SessionNews::Finished(report)) => self.history.note_pass(now, key, report, report.begun),
                (Some(key), SessionNews::Progress(report)) if !report.unreadable.is_empty() => {
                    self.history.note_findings(now, key, &report.unreadable)
                }
                _ => Ok(()),
            },
            WatchEvent::MessageSent(number) => self.history.note_delivered(now, *number),
            _ => Ok(()),
        };
        self.note_trouble(outcome);
    }

    fn record_rows(&mut self, now: UnixSeconds, rows: &[WatchRow], dropped: &[RowKey]) {
        let causes_events = |row: &WatchRow| {
            matches!(row, WatchRow::Incident(_) | WatchRow::Message(_) | WatchRow::Channel(_) | WatchRow::Array(_))
        };
        let mut changed: Vec<WatchRow> = Vec::new();
        for row in rows {
            // A disk's row causes events only if its facts change.
            let is_new = match (row, self.last.get(&row.key())) {
                (WatchRow::Disk(new), Some(WatchRow::Disk(old))) => new.facts != old.facts,
                (WatchRow::Disk(_), _) => true,
                _ => causes_events(row),
            };
            changed.extend(is_new.then(|| row.clone()));
            self.last.insert(row.key(), row.clone());
        }
        dropped.iter().for_each(|key| drop(self.last.remove(key)));
        if !changed.is_empty() || !dropped.is_empty() {
            let outcome = self.history.keep(now, &changed, dropped, &wording(&self.host));
            self.note_trouble(outcome);
        }
    }
}

impl HostObserver for PageRecorder {
    fn observe(&mut self, at: u64, fact: &HostFact<'_>) {
        if self.status_at_noon.is_some() {
            return;
        }
        let now = UnixSeconds(at);
        match fact {
            HostFact::Event(event) => self.record_event(now, event),
            HostFact::Kept(rows, dropped) => self.record_rows(now, rows, dropped),
            HostFact::Noon(status) if at >= self.last_noon => {
                let document = document((*status).clone(), now, &DaylightCalendar, &NoSessions);
                let settings_file = "/etc/scrubjay/config.toml".to_owned();
                let folder = "/var/lib/scrubjay".to_owned();
                self.status_at_noon =
                    Some(WatchDocument { host: self.host.clone(), settings_file, folder, ..document });
            }
            _ => {}
        }
    }
}

/// The words of a modelled machine.
fn wording(host: &str) -> Wording<'_> {
    Wording { calendar: &DaylightCalendar, host }
}

/// The model has no benchmark results.
fn surface_only(_: &DiskRow, passes: Option<&PassHistory>) -> DiskExtras {
    DiskExtras { surface: surface(passes), ..DiskExtras::default() }
}

/// The surface: the model reads from the first sector to the last, so each slice of a pass is one part.
fn surface(passes: Option<&PassHistory>) -> Vec<SurfacePart> {
    let Some(passes) = passes else { return Vec::new() };
    let (known, sectors) = (passes.known_unreadable(), passes.sectors);
    let part = |slice: usize| {
        let place = |slice: usize| (u128::from(sectors) * slice as u128 / SLICES as u128) as u64;
        let inside = place(slice)..place(slice + 1);
        let unreadable = known.iter().filter(|run| inside.contains(&run.start.0)).map(|run| run.count()).sum();
        SurfacePart { read: passes.read[slice].0, unreadable }
    };
    (0..SLICES).map(part).collect()
}
