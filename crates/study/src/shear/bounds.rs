//! Step 2 on many arrays: Figures 5 and 19, and the second graphs of Figures 8, 11, 12, 13 and 18.

use super::draw::{boundaries, dashed, line, mean};
use super::effort::Effort;
use super::rig::{KIB, array, boundary_scan, one_disk, pattern_bytes};
use scrubjay_chart::Exhibit;
use scrubjay_core::layout::LayoutKind;
use scrubjay_core::probe::paper::ScanPoint;
use scrubjay_core::probe::paper::boundary::{self, Boundaries};
use scrubjay_core::probe::paper::pattern::PatternScan;
use scrubjay_core::units::Nanos;
use scrubjay_sim::array::setup::ArraySetup;

/// A scan and its interpretation.
#[derive(Clone, Debug)]
pub struct Scan {
    /// A point for each block of the pattern.
    pub samples: Vec<ScanPoint>,
    /// The boundaries found, if any.
    pub found: Option<Boundaries>,
}

impl Scan {
    /// Scans this array.
    pub fn of(setup: &ArraySetup, effort: Effort) -> Scan {
        let (samples, bytes) = (boundary_scan(setup, effort), pattern_bytes(setup));
        let pattern = PatternScan { bytes, seconds: one_disk(setup, effort), confidence: 1.0 };
        Scan { found: boundary::boundaries(&samples, &pattern), samples }
    }

    /// The chunk size in KiB; 0 without boundaries.
    pub fn chunk_kib(&self) -> u64 {
        self.found.as_ref().map_or(0, |found| found.chunk_bytes / KIB)
    }

    /// The boundaries in KiB.
    pub fn places_kib(&self) -> Vec<u64> {
        self.found.iter().flat_map(|found| &found.places).map(|place| place / KIB).collect()
    }

    /// The mean time at boundaries, divided by the mean time elsewhere.
    pub fn contrast(&self) -> f64 {
        let places = self.places_kib();
        let is_fast = |sample: &&ScanPoint| places.contains(&(sample.bytes / KIB));
        let fast = mean(self.samples.iter().filter(is_fast).map(|sample| sample.seconds));
        fast / mean(self.samples.iter().filter(|sample| !is_fast(sample)).map(|sample| sample.seconds))
    }

    /// The caption: `Found: chunks of 8 KiB, boundaries at ...`
    fn found_text(&self) -> String {
        let places = self.places_kib();
        let (first, more) = (&places[..places.len().min(12)], places.len().saturating_sub(12));
        let names: Vec<String> = first.iter().map(u64::to_string).collect();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("Found: chunks of {} KiB, boundaries at {} KiB{more}.", self.chunk_kib(), names.join(", "))
    }
}

/// Figure 5: patterns of 64 KiB on four, eight and sixteen disks, and ZIGZAG.
pub fn figure_5(effort: Effort) -> Vec<Exhibit> {
    let striped = |disks: usize, chunk: u64| {
        let setup = array(LayoutKind::Raid0, disks, chunk);
        let scan = Scan::of(&setup, effort);
        let mut caption = format!("{} There is one every {chunk} KiB", scan.found_text());
        caption.push_str(match chunk {
            4 => ": a chunk is one block, so all places are as fast as only boundaries are above.",
            _ => ".",
        });
        let title = format!("Boundaries: RAID-0, {disks} disks, {chunk} KiB (its Figure 5)");
        boundaries(&format!("shear-fig05-{disks}"), title, caption, vec![line("", &scan.samples)])
    };
    let mut exhibits: Vec<Exhibit> = [(4, 16), (8, 8), (16, 4)].map(|(disks, chunk)| striped(disks, chunk)).into();
    let setup = array(LayoutKind::ZigZag, 6, 8);
    let scan = Scan::of(&setup, effort);
    let caption = format!(
        "{} None where the direction turns, at 0 and 48 KiB: the first and the last chunk of a stripe look twice as long.",
        scan.found_text()
    );
    let title = "Boundaries: ZIGZAG, 6 disks, 8 KiB (its Figure 5)".to_owned();
    exhibits.push(boundaries("shear-fig05-zigzag", title, caption, vec![line("", &scan.samples)]));
    exhibits
}

/// The second graph of Figure 8, 11, 12 or 13: six disks, chunks of 8 KiB.
pub fn of_six(figure: &str, kind: LayoutKind, name: &str, effort: Effort) -> Exhibit {
    let setup = array(kind, 6, 8);
    let scan = Scan::of(&setup, effort);
    let ratio = scan.contrast();
    let note = match kind {
        LayoutKind::Chained => " (there 2:3): three disks instead of two, as the copies are shared with neighbours.",
        LayoutKind::Raid1 => " (there 1:2): four disks instead of two.",
        _ => " (there 1:2): two disks instead of one.",
    };
    let caption = format!("{} A boundary takes {ratio:.2} of the time of another place{note}", scan.found_text());
    let mut series = vec![line(name, &scan.samples)];
    if matches!(kind, LayoutKind::Raid1 | LayoutKind::Chained | LayoutKind::Near) {
        series.push(dashed("RAID-0", &boundary_scan(&array(LayoutKind::Raid0, 6, 8), effort)));
    }
    let title = format!("Boundaries: {name}, 6 disks, 8 KiB (its Figure {})", figure.trim_start_matches('0'));
    boundaries(&format!("shear-fig{figure}-boundary"), title, caption, series)
}

/// The array of Figure 19: Linux's RAID-5 of ten disks.
pub fn ten(lost: Option<usize>, rebuild_time: Nanos) -> ArraySetup {
    ArraySetup { lost, rebuild_time, ..array(LayoutKind::Raid5Ls, 10, 16) }
}

/// The index of the disk that was pulled: the fifth.
pub const PULLED: usize = 4;

/// The host's time to reconstruct a lost block; blocks are done one after another. Chosen to stand for all costs beyond
/// the disks: less than the 4 to 5 ms of a read behind an elevator is hidden by the disks, and the plateau of the lost
/// disk is then equal, not higher.
pub const REBUILD_TIME: Nanos = Nanos(6_000_000);

/// Figure 19: the boundaries before and after a disk was pulled.
pub fn figure_19(effort: Effort) -> Vec<Exhibit> {
    let (whole, lost) = (ten(None, Nanos::ZERO), ten(Some(PULLED), REBUILD_TIME));
    let (before, after) = (Scan::of(&whole, effort), boundary_scan(&lost, effort));
    let plateaus = Plateaus::of(&after);
    let title = |state: &str| format!("Boundaries: RAID-5 left-symmetric, 10 disks, {state} (its Figure 19)");
    let caption = format!(
        "The dips on both sides of the pulled disk's chunk are gone: {:.2} and {:.2} s, where the others are at {:.2} s. Its reads \
         go to all other disks, so its neighbours have twice as much to do as well. The plateau is {:.2} s instead of {:.2}: \
         that needs {} ms a block in the host, one after the other; the disks alone leave it equal.",
        plateaus.edges.0,
        plateaus.edges.1,
        plateaus.dips,
        plateaus.lost,
        plateaus.other_chunks,
        REBUILD_TIME.as_millis_f64()
    );
    vec![
        boundaries("shear-fig19-whole", title("all there"), before.found_text(), vec![line("", &before.samples)]),
        boundaries("shear-fig19-lost", title("the fifth pulled"), caption, vec![line("", &after)]),
    ]
}

/// The levels in Figure 19, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Plateaus {
    /// The times at the beginning and at the end of the lost disk's chunk.
    pub edges: (f64, f64),
    /// The mean time inside that chunk.
    pub lost: f64,
    /// The mean time at the other boundaries.
    pub dips: f64,
    /// The mean time inside the other chunks.
    pub other_chunks: f64,
}

impl Plateaus {
    /// The levels in a scan of [`ten`] without [`PULLED`].
    pub fn of(scan: &[ScanPoint]) -> Plateaus {
        let setup = ten(None, Nanos::ZERO);
        let chunk = setup.chunk_bytes;
        let lost = setup.map.pattern().iter().position(|&disk| disk == PULLED).expect("it holds data") as u64;
        let is_edge = |sample: &&ScanPoint| sample.bytes.is_multiple_of(chunk);
        let is_in_chunk = |index: u64| move |sample: &&ScanPoint| sample.bytes / chunk == index;
        let seconds_at =
            |bytes: u64| scan.iter().find(|sample| sample.bytes == bytes).map_or(f64::NAN, |sample| sample.seconds);
        let seconds = |samples: &mut dyn Iterator<Item = &ScanPoint>| mean(samples.map(|sample| sample.seconds));
        let is_far = |sample: &&ScanPoint| sample.bytes != lost * chunk && sample.bytes != (lost + 1) * chunk;
        Plateaus {
            edges: (seconds_at(lost * chunk), seconds_at((lost + 1) * chunk)),
            lost: seconds(&mut scan.iter().filter(|sample| is_in_chunk(lost)(sample) && !is_edge(sample))),
            dips: seconds(&mut scan.iter().filter(|sample| is_edge(sample) && is_far(sample))),
            other_chunks: seconds(&mut scan.iter().filter(|sample| !is_in_chunk(lost)(sample) && !is_edge(sample))),
        }
    }
}
