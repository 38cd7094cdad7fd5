//! Judges how fast the disks answer, by the maps of their scrubs, in a thread of its own: reading them takes a moment for each disk.

use super::news::DaemonNews;
use super::state::Daemon;
use scrubjay_core::surface::daily::{ComparedDisk, slow_disks};
use scrubjay_device::inventory;
use scrubjay_device::speed::SpeedSummary;
use scrubjay_device::store::StateStore;
use scrubjay_watch::calendar::HOUR;
use scrubjay_watch::facts::DiskKey;
use scrubjay_watch::slowness::Slowness;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

/// How often the disks are judged, and after each pass.
const EVERY: Duration = Duration::from_secs(6 * HOUR);
/// A disk to be judged.
pub(super) struct SpeedRequest {
    pub(super) name: String,
    pub(super) key: DiskKey,
    pub(super) model: (String, u64),
    pub(super) controller: Option<String>,
    pub(super) was_slow: bool,
}

/// Judges the disks, which are read one after the other.
fn judge(folder: &Path, disks: Vec<SpeedRequest>) -> Vec<(String, DiskKey, Slowness)> {
    let known = |disk: &SpeedRequest| {
        let id = inventory::identity(&disk.name).filter(|id| id.is_certain)?;
        Some(StateStore::at(folder, &id.key(), None).speed().summary())
    };
    judged(disks.into_iter().filter_map(|disk| known(&disk).map(|judged| (disk, judged))).collect())
}

/// Compares the disks.
fn judged(known: Vec<(SpeedRequest, SpeedSummary)>) -> Vec<(String, DiskKey, Slowness)> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut number = |text: String| {
        let next = numbers.len();
        *numbers.entry(text).or_insert(next)
    };
    let compared: Vec<ComparedDisk<'_>> = known
        .iter()
        .map(|(disk, judged)| ComparedDisk {
            days: &judged.days,
            past: &judged.past,
            kind: number(format!("model {} {}", disk.model.0, disk.model.1)),
            was_slow: disk.was_slow,
            way: disk.controller.as_ref().map(|controller| number(format!("way {controller}"))),
        })
        .collect();
    let slow = slow_disks(&compared);
    let named = |((disk, judged), slow): (&(SpeedRequest, SpeedSummary), _)| {
        (disk.name.clone(), disk.key.clone(), Slowness::of(slow, judged.places))
    };
    known.iter().zip(slow).map(named).collect()
}

impl Daemon<'_> {
    /// Has the disks judged, if it is time.
    pub(super) fn judge_speeds(&mut self) {
        let is_due = self.machine.speeds_due.is_some_and(|due| due <= Instant::now());
        if !is_due || self.observation.is_some() {
            return;
        }
        self.machine.speeds_due = None; // until the thread answers
        let disks: Vec<SpeedRequest> = self
            .machine
            .survey
            .disks
            .iter()
            .map(|disk| SpeedRequest {
                name: disk.facts.name.clone(),
                key: self.key_of(&disk.facts.name).unwrap_or(&disk.facts.key).clone(),
                model: (disk.facts.model.clone(), disk.facts.sectors),
                controller: disk.facts.controller.clone(),
                was_slow: self.watch.slowness(&disk.facts.name).whole.is_some(),
            })
            .collect();
        let (folder, news): (_, Sender<DaemonNews>) = (self.options.folder.clone(), self.machine.news.clone());
        let spawned = thread::Builder::new().name("speeds".into()).spawn(move || {
            // Without an answer nothing would ever be judged again.
            let said = panic::catch_unwind(AssertUnwindSafe(|| judge(&folder, disks)));
            let _ = news.send(DaemonNews::Speeds(said.unwrap_or_default()));
        });
        if spawned.is_err() {
            self.speeds_judged();
        }
    }

    /// The next time is later.
    pub(super) fn speeds_judged(&mut self) {
        let wait =
            if std::mem::take(&mut self.machine.is_pass_over) { Duration::ZERO } else { self.clock.period(EVERY) };
        self.machine.speeds_due = Some(Instant::now() + wait);
    }

    /// A pass is over: judged at once.
    pub(super) fn hurry_speeds(&mut self) {
        self.machine.is_pass_over = self.machine.speeds_due.is_none(); // judged before it was over
        self.machine.speeds_due = self.machine.speeds_due.map(|_| Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::surface::ReadTime;
    use scrubjay_core::surface::daily::{DailyTimes, PARTS, PartTimes};
    use scrubjay_watch::slowness::SlowBeside;

    fn request(name: &str, model: &str, controller: &str) -> SpeedRequest {
        let (name, model, controller) = (name.to_owned(), (model.to_owned(), 9), Some(controller.to_owned()));
        SpeedRequest { key: DiskKey(name.clone()), name, model, controller, was_slow: false }
    }

    /// A disk whose reads take step `code` each day, and took `past`.
    fn disk(code: u8, past: u8) -> SpeedSummary {
        let parts = |code: u8| PartTimes([ReadTime::of_code(code); PARTS]);
        let mut days = DailyTimes::default();
        (0..7).for_each(|_| days.push(parts(code)));
        SpeedSummary { days, past: vec![parts(past)], places: 2 }
    }

    #[test]
    fn a_slow_disk_is_told_from_a_slow_controller() {
        let said = |disks: Vec<(SpeedRequest, SpeedSummary)>| -> Vec<Option<SlowBeside>> {
            judged(disks).into_iter().map(|(.., slowness)| slowness.whole.map(|(_, beside)| beside)).collect()
        };
        let one = vec![
            (request("sda", "M", "a"), disk(106, 100)),
            (request("sdb", "M", "a"), disk(100, 100)),
            (request("sdc", "M", "b"), disk(100, 100)),
        ];
        assert_eq!(said(one), [Some(SlowBeside::Siblings(2)), None, None]);
        let other_models = vec![(request("sda", "M", "a"), disk(106, 100)), (request("sdb", "N", "b"), disk(100, 100))];
        assert_eq!(said(other_models), [Some(SlowBeside::Past), None]);
        let all = vec![(request("sda", "M", "a"), disk(106, 100)), (request("sdb", "N", "a"), disk(107, 100))];
        assert_eq!(said(all), [Some(SlowBeside::Way(2)); 2]);
        let two = judged(vec![(request("sda", "M", "a"), disk(100, 100))]);
        assert_eq!(two, [("sda".to_owned(), DiskKey("sda".to_owned()), Slowness { whole: None, places: 2 })]);
    }
}
