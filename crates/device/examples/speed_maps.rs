//! What judging how fast 60 disks of 20 TB answer takes, with the maps of two years (docs/slow.md).
//!
//! ```text
//! cargo run --release -p scrubjay-device --example speed_maps
//! ```

use scrubjay_core::grid::{Grid, REGION_BYTES, SEGMENT_BYTES, SegmentPlace};
use scrubjay_core::surface::ReadTime;
use scrubjay_core::surface::daily::{ComparedDisk, slow_disks};
use scrubjay_core::surface::visit::Visit;
use scrubjay_core::units::{Bytes, UnixSeconds};
use scrubjay_device::speed::{SpeedStore, VisitBatch};
use std::fs;
use std::time::Instant;

const DISKS: usize = 60;
const PASSES: u64 = 27;
const MONTH: u64 = 2_600_000;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SpeedStore::beside(&folder.path().join("one.scrub"));
    let grid = Grid::new(20_000_000_000_000 / 512, REGION_BYTES.sectors(), SEGMENT_BYTES.sectors());
    for pass in 1..=PASSES {
        for segment in 0..grid.segments_per_region() {
            let visit = |region: u64| {
                let time = ReadTime::of_nanos(4e6 * (1.0 + region as f64 / grid.region_count() as f64));
                Visit { typical: time, slowest: time, stalls: 0, requests: 8, hour: segment as u16 * 40 }
            };
            let places = (0..grid.region_count()).map(|region| (SegmentPlace { region, segment }, visit(region)));
            let begun = UnixSeconds(pass * MONTH);
            let batch = VisitBatch { grid: Some(grid), begun, visits: places.collect() };
            store.add(&batch).expect("room for the visits");
        }
        store
            .end_pass(&grid, UnixSeconds(pass * MONTH), UnixSeconds(pass * MONTH + MONTH / 2))
            .expect("room for the map");
    }
    let files = fs::read_dir(folder.path()).expect("the folder").flatten();
    let bytes: u64 = files.map(|file| file.metadata().map_or(0, |about| about.len())).sum();
    let _ = fs::write("/proc/self/clear_refs", "5"); // the peak so far was of what made the files
    let begun = Instant::now();
    let known: Vec<_> = (0..DISKS).map(|_| store.summary()).collect();
    let compared: Vec<ComparedDisk<'_>> = known
        .iter()
        .map(|disk| ComparedDisk { days: &disk.days, past: &disk.past, kind: 0, was_slow: false, way: Some(0) })
        .collect();
    let slow = slow_disks(&compared).into_iter().flatten().count();
    println!("{DISKS} disks, {slow} slow: {:?}; files of {} a disk", begun.elapsed(), Bytes(bytes));
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("-"));
}
