//! Judges how fast the disks answer, by the maps of their scrubs, in a thread of its own: reading them takes a moment for each disk.

use super::news::DaemonNews;
use super::state::Daemon;
use scrubjay_core::surface::daily::{ComparedDisk, DailyTimes, PartTimes, slow_disks};
use scrubjay_core::surface::slow::{PassPlaces, lasting, slow_places};
use scrubjay_device::inventory;
use scrubjay_device::speed::SpeedStore;
use scrubjay_device::store::StateStore;
use scrubjay_watch::calendar::HOUR;
use scrubjay_watch::slowness::Slowness;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

/// How often the disks are judged, and after each pass.
const EVERY: Duration = Duration::from_secs(6 * HOUR);
/// Passes before the newest one that are asked whether a place was slow then, too.
const EARLIER: usize = 6;
/// Whole passes that are a disk's past.
const PAST: usize = 3;

/// A disk to be judged.
pub(super) struct SpeedRequest {
    pub(super) name: String,
    pub(super) model: (String, u64),
    pub(super) controller: Option<String>,
    pub(super) was_slow: bool,
}

/// What is compared of a disk: some KiB, whatever its size.
struct JudgedDisk {
    days: DailyTimes,
    past: Vec<PartTimes>,
    places: usize,
}

impl JudgedDisk {
    fn of(store: &SpeedStore) -> JudgedDisk {
        let days = store.days();
        let maps = store.maps();
        let newest = maps.last().map(slow_places).unwrap_or_default();
        let before = maps.iter().rev().skip(1).take(if newest.places.is_empty() { 0 } else { EARLIER });
        let before: Vec<PassPlaces> = before.map(slow_places).collect();
        let places = lasting(&newest, before.iter()).len();
        JudgedDisk { days, past: maps.iter().take(PAST).map(PartTimes::of_map).collect(), places }
    }
}

/// Judges the disks, which are read one after the other.
fn judge(folder: &Path, disks: &[SpeedRequest]) -> Vec<(String, Slowness)> {
    let known = |disk: &SpeedRequest| {
        let id = inventory::identity(&disk.name).filter(|id| id.is_certain)?;
        Some(JudgedDisk::of(&StateStore::at(folder, &id.key(), None).speed()))
    };
    let known: Vec<(&SpeedRequest, JudgedDisk)> = disks.iter().filter_map(|disk| Some((disk, known(disk)?))).collect();
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
    known
        .iter()
        .zip(slow)
        .map(|((disk, judged), slow)| (disk.name.clone(), Slowness::of(slow, judged.places)))
        .collect()
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
                model: (disk.facts.model.clone(), disk.facts.sectors),
                controller: disk.facts.controller.clone(),
                was_slow: self.watch.slowness(&disk.facts.name).whole.is_some(),
            })
            .collect();
        let (folder, news): (_, Sender<DaemonNews>) = (self.options.folder.clone(), self.machine.news.clone());
        let spawned = thread::Builder::new().name("speeds".into()).spawn(move || {
            let _ = news.send(DaemonNews::Speeds(judge(&folder, &disks)));
        });
        if spawned.is_err() {
            self.speeds_judged();
        }
    }

    /// The next time is later.
    pub(super) fn speeds_judged(&mut self) {
        self.machine.speeds_due = Some(Instant::now() + self.clock.period(EVERY));
    }

    /// A pass is over: judged at once.
    pub(super) fn hurry_speeds(&mut self) {
        self.machine.speeds_due = self.machine.speeds_due.map(|_| Instant::now());
    }
}
