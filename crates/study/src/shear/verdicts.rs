//! The results of all four steps on each array: right or wrong.

use super::effort::Effort;
use super::rig::{KIB, all_steps, array, pattern_bytes};
use crate::say::count;
use scrubjay_chart::{Exhibit, Table};
use scrubjay_core::layout::LayoutKind;
use scrubjay_core::probe::known::{Claim, KnownArray, RedundancyLevel};
use scrubjay_core::probe::paper::TrialParameters;
use scrubjay_sim::array::map::ChunkMap;
use scrubjay_sim::array::setup::ArraySetup;
use scrubjay_sim::array::truth::Truth;

/// The arrays of section 3, and Linux's RAID-6: six disks, chunks of 8 KiB.
pub const KINDS: [LayoutKind; 10] = [
    LayoutKind::Raid0,
    LayoutKind::Raid5Ls,
    LayoutKind::Raid5La,
    LayoutKind::Raid5Rs,
    LayoutKind::Raid5Ra,
    LayoutKind::Raid6Pq,
    LayoutKind::Raid6Md,
    LayoutKind::Raid1,
    LayoutKind::Chained,
    LayoutKind::ZigZag,
];

/// Whether the result for an array is right: pattern, chunk, phase and classes, and the layout if it was asked for.
pub fn is_right(setup: &ArraySetup, known: &KnownArray) -> bool {
    is_layout_right(setup, known)
        && match (&setup.map, &known.level) {
            (ChunkMap::Layout(layout), Some(_)) => {
                known.fits.as_ref().is_some_and(|fits| fits.value.iter().any(|fit| fit.layout == *layout))
            }
            _ => known.write_ratio.is_none(),
        }
}

/// Whether the result is right apart from the redundancy, as far as reads alone can show.
pub fn is_layout_right(setup: &ArraySetup, known: &KnownArray) -> bool {
    let found = Truth::of(setup).agreement(setup, known);
    found.pattern && found.chunk && found.classes
}

fn claimed(claim: &Option<Claim<u64>>) -> Option<u64> {
    claim.as_ref().map(|claim| claim.value)
}

/// The table.
pub fn table(effort: Effort) -> Vec<Exhibit> {
    let found: Vec<(LayoutKind, ArraySetup, KnownArray, u64)> = KINDS
        .iter()
        .map(|&kind| {
            let setup = array(kind, 6, 8);
            let parameters = TrialParameters { pattern_bytes_max: 512 * KIB, ..effort.parameters() };
            let (known, requests, _) = all_steps(&setup, parameters);
            (kind, setup, known, requests)
        })
        .collect();
    let right = found.iter().filter(|(_, setup, known, ..)| is_right(setup, known)).count();
    let head = ["array", "pattern (KiB)", "truth", "chunk (KiB)", "ratio", "level", "known as", "right", "requests"];
    vec![Exhibit::Table(Table {
        name: "shear-verdicts".into(),
        title: "All four steps on arrays of six disks, 8 KiB".into(),
        caption: format!(
            "{right} of {} arrays are told right, with nothing looked at by eye: pattern, chunk, classes and level. Linux' RAID-6 has a \
             pattern of 24 chunks, not the six of the paper's P+Q.",
            found.len()
        ),
        head: head.map(String::from).into(),
        rows: found.iter().map(row).collect(),
    })]
}

fn row((kind, setup, known, requests): &(LayoutKind, ArraySetup, KnownArray, u64)) -> Vec<String> {
    let kib = |claim: &Option<Claim<u64>>| claimed(claim).map_or("-".into(), |bytes| (bytes / KIB).to_string());
    let fits = known
        .fits
        .iter()
        .flat_map(|claim| &claim.value)
        .map(|fit| format!("{} of {}", fit.layout.kind(), fit.layout.disks()));
    let mut fits: Vec<String> = fits.collect();
    fits.dedup();
    vec![
        kind.name().to_owned(),
        kib(&known.pattern_bytes),
        (pattern_bytes(setup) / KIB).to_string(),
        kib(&known.chunk_bytes),
        known.write_ratio.as_ref().map_or("-".into(), |claim| format!("{:.2}", claim.value)),
        known.level.as_ref().map_or("-".into(), |claim| name(claim.value)),
        fits.join(", "),
        if is_right(setup, known) { "yes" } else { "no" }.to_owned(),
        count(*requests as f64),
    ]
}

fn name(level: RedundancyLevel) -> String {
    match level {
        RedundancyLevel::Raid0 => "RAID-0".to_owned(),
        RedundancyLevel::Mirror(copies) => format!("{copies} copies"),
        RedundancyLevel::Raid4 => "RAID-4".to_owned(),
        RedundancyLevel::Raid5 => "RAID-5".to_owned(),
        RedundancyLevel::Raid6 => "RAID-6".to_owned(),
    }
}
