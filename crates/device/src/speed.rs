//! How fast a disk answers, kept beside the state of its scrub: the visits of the pass under way, and the maps of whole passes.
//!
//! ```text
//! NAME.scrub.visits   "SJvisit1", sectors, sectors a region, sectors a segment, when the pass began (8 bytes each, the lowest first),
//!                     how many days of earlier passes follow (8 bytes), room for 7 of them (64 bytes each),
//!                     the visits, 6 bytes each: those to segment 0 of all regions, to segment 1, ...
//! NAME.scrub.maps     maps one behind the other, the oldest first (core::surface::map): the first three, and the newest ones
//! ```
//!
//! Visits are written in place, and not synced: what a crash loses or tears is one measurement of sixteen. Nothing here decides which sectors are
//! read, so whatever is damaged here is begun anew, silently.

use crate::output::{Existing, OutputFile};
use rustix::fs::OFlags;
use scrubjay_core::scrub::tour::{Grid, SegmentPlace};
use scrubjay_core::surface::ReadTime;
use scrubjay_core::surface::daily::{DAYS, DailyTimes, PARTS, PartTimes};
use scrubjay_core::surface::map::SpeedMap;
use scrubjay_core::surface::slow::{PassPlaces, lasting, slow_places};
use scrubjay_core::surface::visit::{PassVisits, Visit};
use scrubjay_core::units::UnixSeconds;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"SJvisit1";
/// Bytes in front of the visits.
const HEAD: usize = 8 + 5 * 8 + DAYS * PARTS;
/// Maps that are kept, at most: the first ones, which are the disk's past, and those of two years of months.
const FIRST_MAPS: usize = 3;
const MAPS_MAX: usize = FIRST_MAPS + 24;
/// Passes before the newest one that are asked whether a place was slow then, too.
const EARLIER: usize = 6;
/// Visits that are read at once.
const CHUNK: usize = 1 << 14;

/// Visits to be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisitBatch {
    /// The division of the disk; `None`: there are no visits.
    pub grid: Option<Grid>,
    /// When the pass began.
    pub begun: UnixSeconds,
    /// The visits.
    pub visits: Vec<(SegmentPlace, Visit)>,
}

/// The two files of one disk.
#[derive(Clone, Debug)]
pub struct SpeedStore {
    visits: PathBuf,
    maps: PathBuf,
}

/// What is known of how fast a disk answers.
#[derive(Clone, Debug, Default)]
pub struct KnownSpeed {
    /// The pass under way, or the last one.
    pub pass: Option<PassVisits>,
    /// The maps of whole passes, the oldest first.
    pub maps: Vec<SpeedMap>,
}

/// What is compared of a disk: some KiB, whatever its size.
#[derive(Clone, Debug, Default)]
pub struct SpeedSummary {
    /// The last days on which it was read.
    pub days: DailyTimes,
    /// Its first whole passes.
    pub past: Vec<PartTimes>,
    /// The places that are slow pass after pass (count).
    pub places: usize,
}

impl SpeedStore {
    /// The files of a disk whose state is in `state`.
    pub fn beside(state: &Path) -> SpeedStore {
        let with = |ending: &str| {
            let mut name = state.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        SpeedStore { visits: with(".visits"), maps: with(".maps") }
    }

    /// Keeps visits. Those of another pass, or of another division of the disk, are given up for them.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn add(&self, batch: &VisitBatch) -> io::Result<()> {
        let Some(grid) = batch.grid.filter(|_| !batch.visits.is_empty()) else { return Ok(()) };
        let Some(file) = self.visits_of(&grid, batch.begun)? else { return Ok(()) };
        let index = |visit: &(SegmentPlace, Visit)| PassVisits::index(&grid, visit.0);
        // A staggered pass comes to regions in their order: most visits lie one behind the other.
        for run in batch.visits.chunk_by(|one, next| index(one) + 1 == index(next)) {
            let at = HEAD as u64 + index(&run[0]) * Visit::BYTES as u64;
            let mut bytes = vec![0; run.len() * Visit::BYTES];
            file.read_exact_at(&mut bytes, at)?;
            for (saved, (_, visit)) in bytes.chunks_exact_mut(Visit::BYTES).zip(run) {
                let before = Visit::of_bytes(saved.try_into().expect("a visit"));
                saved.copy_from_slice(&before.joined(*visit).to_bytes());
            }
            file.write_all_at(&bytes, at)?;
        }
        Ok(())
    }

    /// The file for the visits of this pass, made if need be; `None`: a map of this grid is not kept.
    fn visits_of(&self, grid: &Grid, begun: UnixSeconds) -> io::Result<Option<File>> {
        if !PassVisits::is_bounded(grid) {
            return Ok(None);
        }
        if let Ok(file) = open(&self.visits, true)
            && let Some(head) = VisitsHead::read(&file)
            && (head.grid, head.begun) == (*grid, begun)
        {
            return Ok(Some(file));
        }
        let days =
            self.known_pass().map(|(pass, days)| days.followed_by(DailyTimes::of_visits(&pass))).unwrap_or_default();
        let mut output = OutputFile::create(&self.visits, Existing::Replaced)?;
        output.write_all(&head_of(grid, begun, &days))?;
        output.file().set_len((HEAD + grid.step_count() as usize * Visit::BYTES) as u64)?;
        output.commit_unsynced()?;
        open(&self.visits, true).map(Some)
    }

    /// A pass is over: keeps its map, if visits of it were kept.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn end_pass(&self, grid: &Grid, begun: UnixSeconds, ended: UnixSeconds) -> io::Result<()> {
        let is_it = |pass: &PassVisits| (pass.grid(), pass.begun()) == (grid, begun);
        let Some((pass, _)) = self.known_pass().filter(|(pass, _)| is_it(pass)) else { return Ok(()) };
        let mut maps = self.maps();
        maps.retain(|map| map.begun != pass.begun());
        maps.push(pass.map(ended));
        if maps.len() > MAPS_MAX {
            maps.remove(FIRST_MAPS);
        }
        let mut output = OutputFile::create(&self.maps, Existing::Replaced)?;
        maps.iter().try_for_each(|map| output.write_all(&map.encode()))?;
        Ok(output.commit()?)
    }

    /// What is compared of the disk. Reads what is needed of it, one file and one map after the other.
    pub fn summary(&self) -> SpeedSummary {
        let days = self.days();
        let Some(maps) = KeptMaps::open(&self.maps) else { return SpeedSummary { days, ..SpeedSummary::default() } };
        let past = maps.all().take(FIRST_MAPS).map(|map| PartTimes::of_map(&map)).collect();
        let mut newest_first = maps.newest_first();
        let newest = newest_first.next().map(|map| slow_places(&map)).unwrap_or_default();
        let before = newest_first.take(if newest.places.is_empty() { 0 } else { EARLIER });
        let before: Vec<PassPlaces> = before.map(|map| slow_places(&map)).collect();
        SpeedSummary { days, past, places: lasting(&newest, before.iter()).len() }
    }

    /// All that is known. What is damaged is not.
    pub fn known(&self) -> KnownSpeed {
        KnownSpeed { pass: self.known_pass().map(|(pass, _)| pass), maps: self.maps() }
    }

    /// The last days on which the disk was read.
    pub fn days(&self) -> DailyTimes {
        self.known_pass().map(|(pass, days)| days.followed_by(DailyTimes::of_visits(&pass))).unwrap_or_default()
    }

    /// The maps of whole passes, the oldest first: those that are whole, of the last division of the disk.
    pub fn maps(&self) -> Vec<SpeedMap> {
        KeptMaps::open(&self.maps).map(|maps| maps.all().collect()).unwrap_or_default()
    }

    /// The pass whose visits are kept, and the days of those before.
    fn known_pass(&self) -> Option<(PassVisits, DailyTimes)> {
        let file = open(&self.visits, false).ok()?;
        let VisitsHead { grid, begun, days } = VisitsHead::read(&file)?;
        let mut pass = PassVisits::new(grid, begun)?;
        let mut bytes = vec![0; CHUNK * Visit::BYTES];
        for (number, chunk) in pass.visits_mut().chunks_mut(CHUNK).enumerate() {
            let bytes = &mut bytes[..chunk.len() * Visit::BYTES];
            file.read_exact_at(bytes, (HEAD + number * CHUNK * Visit::BYTES) as u64).ok()?;
            let saved = bytes.chunks_exact(Visit::BYTES).map(|of| Visit::of_bytes(of.try_into().expect("a visit")));
            chunk.iter_mut().zip(saved).for_each(|(visit, saved)| *visit = saved);
        }
        Some((pass, days))
    }
}

/// The maps in a file, each of which is read when it is asked for.
struct KeptMaps {
    file: File,
    /// Where each begins, and its length.
    places: Vec<(u64, usize)>,
    /// The division of the disk by the last one: only maps of one division can be compared.
    like: (u64, u64),
}

impl KeptMaps {
    /// `None`: there is none.
    fn open(path: &Path) -> Option<KeptMaps> {
        let file = open(path, false).ok()?;
        let (mut places, mut at) = (Vec::new(), 0);
        let mut head = [0; SpeedMap::HEAD];
        while places.len() <= MAPS_MAX
            && file.read_exact_at(&mut head, at).is_ok()
            && let Some(length) = SpeedMap::length_of(&head)
        {
            places.push((at, length));
            at += length as u64;
        }
        let mut maps = KeptMaps { file, places, like: (0, 0) };
        let last = (0..maps.places.len()).rev().find_map(|number| maps.read(number))?;
        maps.like = (last.sectors, last.region_sectors);
        Some(maps)
    }

    /// The map of this number; `None`: it is damaged.
    fn read(&self, number: usize) -> Option<SpeedMap> {
        let (at, length) = self.places[number];
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at).ok()?;
        SpeedMap::decode(&bytes)
    }

    /// Those of one division, the oldest first.
    fn all(&self) -> impl Iterator<Item = SpeedMap> + '_ {
        (0..self.places.len()).filter_map(|number| self.comparable(number))
    }

    fn newest_first(&self) -> impl Iterator<Item = SpeedMap> + '_ {
        (0..self.places.len()).rev().filter_map(|number| self.comparable(number))
    }

    fn comparable(&self, number: usize) -> Option<SpeedMap> {
        self.read(number).filter(|map| (map.sectors, map.region_sectors) == self.like)
    }
}

fn open(path: &Path, is_to_write: bool) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().read(true).write(is_to_write).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file")) }
}

fn head_of(grid: &Grid, begun: UnixSeconds, days: &DailyTimes) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    let numbers =
        [grid.disk().count(), grid.region_sectors(), grid.segment_sectors(), begun.0, days.all().len() as u64];
    numbers.iter().for_each(|number| head.extend_from_slice(&number.to_le_bytes()));
    days.all().iter().for_each(|day| head.extend(day.0.map(ReadTime::code)));
    head.resize(HEAD, 0);
    head
}

/// What stands in front of the visits.
struct VisitsHead {
    grid: Grid,
    begun: UnixSeconds,
    /// The days of earlier passes.
    days: DailyTimes,
}

impl VisitsHead {
    /// `None`: the file is none of visits, or cut short.
    fn read(file: &File) -> Option<VisitsHead> {
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, 0).ok()?;
        let number = |at: usize| u64::from_le_bytes(head[8 + 8 * at..16 + 8 * at].try_into().expect("eight bytes"));
        let [sectors, region, segment, begun, count] = [0, 1, 2, 3, 4].map(number);
        let is_grid = sectors > 0 && segment > 0 && segment <= region && sectors.div_ceil(region) <= Grid::REGIONS_MAX;
        if &head[..8] != MAGIC || !is_grid || count > DAYS as u64 {
            return None;
        }
        let grid = Grid::new(sectors, region, segment);
        let is_whole = |length: u64| {
            PassVisits::is_bounded(&grid) && length == HEAD as u64 + grid.step_count() * Visit::BYTES as u64
        };
        file.metadata().ok().filter(|about| is_whole(about.len()))?;
        let mut days = DailyTimes::default();
        for day in head[48..].chunks_exact(PARTS).take(count as usize) {
            days.push(PartTimes(std::array::from_fn(|part| ReadTime::of_code(day[part]))));
        }
        Some(VisitsHead { grid, begun: UnixSeconds(begun), days })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(grid: Grid, begun: u64, code: u8) -> VisitBatch {
        let time = ReadTime::of_code(code);
        let visit = Visit { typical: time, slowest: time, stalls: 0, requests: 4, hour: 1 };
        let places = (0..grid.region_count()).map(|region| SegmentPlace { region, segment: 0 });
        VisitBatch { grid: Some(grid), begun: UnixSeconds(begun), visits: places.map(|place| (place, visit)).collect() }
    }

    #[test]
    fn visits_of_a_pass_become_a_map_and_its_days_are_known_in_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let store = SpeedStore::beside(&folder.path().join("wwn-1.scrub"));
        let grid = Grid::new(2000, 16, 1);
        assert!(store.known().pass.is_none() && store.known().maps.is_empty());
        store.add(&VisitBatch::default()).unwrap();
        for pass in 1..=40 {
            store.add(&batch(grid, pass * 1000, 100)).unwrap();
            store.add(&batch(grid, pass * 1000, 120)).unwrap();
            store.end_pass(&grid, UnixSeconds(pass * 1000), UnixSeconds(pass * 1000 + 500)).unwrap();
            store.end_pass(&grid, UnixSeconds(pass * 1000), UnixSeconds(pass * 1000 + 600)).unwrap(); // as after a kill
        }
        let known = store.known();
        assert_eq!(known.maps.len(), MAPS_MAX);
        let begun: Vec<u64> = known.maps.iter().map(|map| map.begun.0 / 1000).collect();
        assert_eq!((&begun[..4], begun.last()), (&[1, 2, 3, 17][..], Some(&40)));
        assert_eq!(known.maps[5].regions[7].typical.code(), 100);
        assert_eq!(store.days().all().len(), DAYS, "one of each pass");
        assert_eq!(known.pass.unwrap().all().count() as u64, grid.region_count());
        // Another division of the disk: the old maps say nothing of its regions.
        let other = Grid::new(2000, 20, 2);
        store.add(&batch(other, 90_000, 7)).unwrap();
        store.end_pass(&other, UnixSeconds(90_001), UnixSeconds(90_500)).unwrap();
        assert_eq!(store.known().maps.len(), MAPS_MAX, "nothing is kept of that pass");
        store.end_pass(&other, UnixSeconds(90_000), UnixSeconds(90_500)).unwrap();
        assert_eq!(store.known().maps.len(), 1);
    }

    #[test]
    fn what_is_damaged_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let store = SpeedStore::beside(&folder.path().join("wwn-1.scrub"));
        let grid = Grid::new(2000, 16, 1);
        for damage in [&b"SJvisit1 and not much more"[..], &[0xff; 9000], b""] {
            std::fs::write(&store.visits, damage).unwrap();
            std::fs::write(&store.maps, damage).unwrap();
            assert!(store.known().pass.is_none() && store.known().maps.is_empty());
            store.add(&batch(grid, 5, 100)).unwrap();
            store.end_pass(&grid, UnixSeconds(5), UnixSeconds(9)).unwrap();
            assert_eq!((store.known().maps.len(), store.known().pass.is_some()), (1, true));
        }
    }
}
