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
fn judge(folder: &Path, disks: Vec<SpeedRequest>) -> Vec<(String, Slowness)> {
    let known = |disk: &SpeedRequest| {
        let id = inventory::identity(&disk.name).filter(|id| id.is_certain)?;
        Some(JudgedDisk::of(&StateStore::at(folder, &id.key(), None).speed()))
    };
    judged(disks.into_iter().filter_map(|disk| known(&disk).map(|judged| (disk, judged))).collect())
}

/// Compares the disks.
fn judged(known: Vec<(SpeedRequest, JudgedDisk)>) -> Vec<(String, Slowness)> {
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
            let _ = news.send(DaemonNews::Speeds(judge(&folder, disks)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::scrub::tour::{Grid, REGION_BYTES, SEGMENT_BYTES, SegmentPlace};
    use scrubjay_core::surface::ReadTime;
    use scrubjay_core::surface::daily::PARTS;
    use scrubjay_core::surface::visit::Visit;
    use scrubjay_core::units::{Bytes, UnixSeconds};
    use scrubjay_device::speed::VisitBatch;
    use scrubjay_watch::slowness::SlowBeside;

    fn request(name: &str, model: &str, controller: &str) -> SpeedRequest {
        let (name, model, controller) = (name.to_owned(), (model.to_owned(), 9), Some(controller.to_owned()));
        SpeedRequest { name, model, controller, was_slow: false }
    }

    /// A disk whose reads take step `code` each day, and took `past`.
    fn disk(code: u8, past: u8) -> JudgedDisk {
        let parts = |code: u8| PartTimes([ReadTime::of_code(code); PARTS]);
        let mut days = DailyTimes::default();
        (0..7).for_each(|_| days.push(parts(code)));
        JudgedDisk { days, past: vec![parts(past)], places: 2 }
    }

    #[test]
    fn a_slow_disk_is_told_from_a_slow_controller() {
        let said = |disks: Vec<(SpeedRequest, JudgedDisk)>| -> Vec<Option<SlowBeside>> {
            judged(disks).into_iter().map(|(_, slowness)| slowness.whole.map(|(_, beside)| beside)).collect()
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
        assert_eq!(two, [("sda".to_owned(), Slowness { whole: None, places: 2 })]);
    }

    /// What judging 60 disks of 20 TB takes, with the maps of two years: `--nocapture` shows it.
    #[test]
    fn sixty_disks_of_twenty_terabytes() {
        let folder = tempfile::tempdir().unwrap();
        let store = SpeedStore::beside(&folder.path().join("one.scrub"));
        let grid = Grid::new(20_000_000_000_000 / 512, REGION_BYTES.sectors(), SEGMENT_BYTES.sectors());
        let time = ReadTime::of_nanos(5e6);
        let visit = |hour: u16| Visit { typical: time, slowest: time, stalls: 0, requests: 8, hour };
        for pass in 1..=27 {
            for segment in 0..grid.segments_per_region() {
                let places = (0..grid.region_count()).map(|region| SegmentPlace { region, segment });
                let visits = places.map(|place| (place, visit(place.segment as u16 * 40))).collect();
                let begun = UnixSeconds(pass * 2_600_000);
                store.add(&VisitBatch { grid: Some(grid), begun, visits }).unwrap();
            }
            store.end_pass(UnixSeconds(pass * 2_600_000 + 2_000_000)).unwrap();
        }
        let files: u64 =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        let begun = Instant::now();
        let known: Vec<_> =
            (0..60).map(|number| (request(&format!("sd{number}"), "M", "a"), JudgedDisk::of(&store))).collect();
        let said = judged(known);
        let took = begun.elapsed();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let most = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
        assert_eq!(said.len(), 60);
        assert!(files < 30_000_000, "{files} bytes a disk");
        println!("{} disks: {took:?}, {} of files each, {most}", said.len(), Bytes(files));
    }
}
