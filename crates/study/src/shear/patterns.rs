//! Step 1 on many arrays: Figures 3 and 9, and the first graphs of Figures 8, 11, 12 and 13.

use super::draw::{at, dashed, line, patterns};
use super::effort::Effort;
use super::rig::{KIB, array, pattern_bytes, pattern_scan};
use scrubjay_chart::{Exhibit, Series};
use scrubjay_core::layout::LayoutKind;
use scrubjay_core::probe::paper::{ScanPoint, pattern};
use scrubjay_sim::array::map::ChunkMap;
use scrubjay_sim::array::setup::ArraySetup;

/// The pattern size found in a scan, in KiB; 0 if none.
pub fn found_kib(samples: &[ScanPoint]) -> u64 {
    pattern::pattern(samples).map_or(0, |found| found.bytes / KIB)
}

/// Figure 3: RAID-0 of four, six and eight disks.
pub fn figure_3(effort: Effort) -> Vec<Exhibit> {
    let scans: Vec<(usize, Vec<ScanPoint>)> =
        [4, 6, 8].map(|disks| (disks, pattern_scan(&array(LayoutKind::Raid0, disks, 16), effort, 256 * KIB))).into();
    let found: Vec<String> = scans.iter().map(|(_, scan)| found_kib(scan).to_string()).collect();
    let (_, four) = &scans[0];
    let caption = format!(
        "Found: {} KiB (there 64, 96, 128). With four disks a stride of 8 KiB takes {:.2} s, 32 KiB, which is two disks, {:.2} \
         s, and 64 KiB, which is one, {:.2} s.",
        found.join(", "),
        at(four, 8),
        at(four, 32),
        at(four, 64)
    );
    let series = scans.iter().map(|(disks, scan)| line(format!("{disks} disks"), scan)).collect();
    vec![patterns("shear-fig03", "Pattern size: RAID-0, chunks of 16 KiB (its Figure 3)".into(), caption, series)]
}

/// Figure 9: RAID-5 of six disks in its four layouts.
pub fn figure_9(effort: Effort) -> Vec<Exhibit> {
    use LayoutKind::{Raid5La, Raid5Ls, Raid5Ra, Raid5Rs};
    let name = |kind| match kind {
        Raid5Ls => "left-symmetric",
        Raid5La => "left-asymmetric",
        Raid5Rs => "right-symmetric",
        _ => "right-asymmetric",
    };
    let figure = |kind: LayoutKind| {
        let setup = array(kind, 6, 8);
        let scan = pattern_scan(&setup, effort, 512 * KIB);
        let truth = pattern_bytes(&setup) / KIB;
        let (peak, next) = (at(&scan, truth), confuser(&scan, truth));
        let mut caption = format!(
            "Found: {} KiB (there {truth}). The slowest size that is no multiple of it takes {:.2} of the time of one that is: by \
             the map, up to {:.2} of its reads are one disk's.",
            found_kib(&scan),
            next / peak,
            share_max(&setup.map)
        );
        if kind != Raid5Ls {
            caption.push_str(
                " What the paper calls apparent noise is the map: how many disks a size meets, and how evenly, is another thing \
                 at each place of the pattern. More places help, not more requests.",
            );
        }
        let title = format!("Pattern size: RAID-5 {}, 6 disks, 8 KiB (its Figure 9)", name(kind));
        patterns(&format!("shear-fig09-{}", &kind.name()[6..]), title, caption, vec![line("", &scan)])
    };
    [Raid5Ls, Raid5La, Raid5Rs, Raid5Ra].map(figure).into()
}

/// The time of the slowest size that is not a multiple of the pattern, in seconds.
pub fn confuser(samples: &[ScanPoint], pattern_kib: u64) -> f64 {
    let others = samples.iter().filter(|sample| !sample.bytes.is_multiple_of(pattern_kib * KIB));
    others.map(|sample| sample.seconds).fold(0.0, f64::max)
}

/// The largest share of the reads that falls on one disk for a size that is not a multiple of the pattern, averaged
/// over all places in it. Step 1 must distinguish this from the pattern.
pub fn share_max(map: &ChunkMap) -> f64 {
    let disks = map.pattern();
    let share = |size: usize, place: usize| {
        // After as many steps as there are chunks, every chunk that is visited was visited equally often.
        let mut counts = vec![0; map.disks()];
        (0..disks.len()).for_each(|step| counts[disks[(place + step * size) % disks.len()]] += 1);
        f64::from(counts.into_iter().max().unwrap_or(0)) / disks.len() as f64
    };
    let mean = |size: usize| (0..size).map(|place| share(size, place)).sum::<f64>() / size as f64;
    (1..disks.len()).map(mean).fold(0.0, f64::max)
}

/// The first graph of Figure 8, 11, 12 or 13: six disks, chunks of 8 KiB; the last two figures also show RAID-0.
pub fn of_six(figure: &str, kind: LayoutKind, name: &str, effort: Effort) -> Exhibit {
    let (setup, bytes_max) = (array(kind, 6, 8), 144 * KIB);
    let scan = pattern_scan(&setup, effort, bytes_max);
    let truth = pattern_bytes(&setup) / KIB;
    let worst = |scan: &[ScanPoint]| scan.iter().map(|sample| sample.seconds).fold(0.0, f64::max);
    let mut series = vec![line(name, &scan)];
    let mut caption =
        format!("Found: {} KiB (there {truth}). At worst a trial takes {:.2} s.", found_kib(&scan), worst(&scan));
    match kind {
        LayoutKind::Raid0 => {
            caption.push_str(" (There 2.0 s; of 500 requests, in turn and without an elevator, 4.8 s.)")
        }
        LayoutKind::Raid1 | LayoutKind::Chained | LayoutKind::Near => {
            let base = base(effort, bytes_max);
            caption.push_str(&format!(
                " RAID-0 takes {:.2} s, {:.2} times as long (there 2.0 s instead of 1.0 for RAID-1): two disks share the reads of \
                 a chunk. (An elevator has longer ways among fewer requests.)",
                worst(&base),
                worst(&base) / worst(&scan)
            ));
            series.push(against(&base));
        }
        _ => {}
    }
    let title = format!("Pattern size: {name}, 6 disks, 8 KiB (its Figure {})", figure.trim_start_matches('0'));
    patterns(&format!("shear-fig{figure}-pattern"), title, caption, series)
}

fn base(effort: Effort, bytes_max: u64) -> Vec<ScanPoint> {
    let setup: ArraySetup = array(LayoutKind::Raid0, 6, 8);
    pattern_scan(&setup, effort, bytes_max)
}

fn against(base: &[ScanPoint]) -> Series {
    dashed("RAID-0", base)
}
