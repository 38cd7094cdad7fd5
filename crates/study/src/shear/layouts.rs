//! Step 3 on many arrays: Figures 6, 10, 13, 17 and 18.

use super::bounds::Scan;
use super::draw::{boundaries, line, maps};
use super::effort::Effort;
use super::rig::{array, matrix};
use scrubjay_chart::Exhibit;
use scrubjay_core::layout::LayoutKind;
use scrubjay_core::probe::paper::layout::Matrix;
use scrubjay_core::probe::paper::level;
use scrubjay_sim::array::setup::{ArraySetup, Odd};

/// RAID-0 and the four layouts of RAID-5.
pub const FIVE: [LayoutKind; 5] =
    [LayoutKind::Raid0, LayoutKind::Raid5La, LayoutKind::Raid5Ls, LayoutKind::Raid5Ra, LayoutKind::Raid5Rs];

/// The names of the known layouts that fit a matrix.
pub fn names(matrix: &Matrix) -> Vec<&'static str> {
    level::fits(matrix, &matrix.classes().value).iter().map(|fit| fit.layout.kind().name()).collect()
}

/// The number of chunks in each class.
pub fn sizes(matrix: &Matrix) -> Vec<usize> {
    let classes = matrix.classes().value;
    let count = classes.iter().max().map_or(0, |most| most + 1);
    (0..count).map(|class| classes.iter().filter(|&&other| other == class).count()).collect()
}

/// Figure 6: RAID-0 and ZIGZAG.
pub fn figure_6(effort: Effort) -> Vec<Exhibit> {
    let [striped, zigzag] = [LayoutKind::Raid0, LayoutKind::ZigZag].map(|kind| matrix(&array(kind, 6, 8), effort));
    let caption = format!(
        "RAID-0: no two chunks on one disk, so the diagonal alone; known as {}. ZIGZAG: the second half of the pattern runs \
         back, so c1 + c2 = 11 is a second diagonal; known as {}.",
        names(&striped).join(", "),
        names(&zigzag).join(", ")
    );
    let panels = vec![("RAID-0".to_owned(), striped), ("ZIGZAG".to_owned(), zigzag)];
    vec![maps("shear-fig06", "Layout: 6 disks (its Figure 6)".into(), caption, panels)]
}

/// Figure 10: RAID-5 of six disks in its four layouts.
pub fn figure_10(effort: Effort) -> Vec<Exhibit> {
    use LayoutKind::{Raid5La, Raid5Ls, Raid5Ra, Raid5Rs};
    let panels: Vec<(String, Matrix)> = [Raid5Ls, Raid5La, Raid5Rs, Raid5Ra]
        .map(|kind| (kind.name().to_owned(), matrix(&array(kind, 6, 8), effort)))
        .into();
    let class_texts: Vec<String> = panels
        .iter()
        .map(|(name, matrix)| format!("{name}: {:?}, known as {}", sizes(matrix), names(matrix).join(", ")))
        .collect();
    let caption = format!(
        "Chunks of each class: {}. (The paper puts chunk 25 with 0, 5, 10, 15 and 20 of left-asymmetric; by its own map it lies \
         on the next disk, and so it does here.)",
        class_texts.join("; ")
    );
    vec![maps("shear-fig10", "Layout: RAID-5, 6 disks (its Figure 10)".into(), caption, panels)]
}

/// The third graph of Figure 13: chained declustering.
pub fn figure_13(effort: Effort) -> Exhibit {
    let matrix = matrix(&array(LayoutKind::Chained, 6, 8), effort);
    let [same, neighbours, far] = levels(&matrix);
    let caption = format!(
        "Three levels: {same:.2} s for a chunk with itself (two disks), {neighbours:.2} s for neighbours, the first and the last \
         among them (three), {far:.2} s for others (four); known as {}.",
        names(&matrix).join(", ")
    );
    maps(
        "shear-fig13-layout",
        "Layout: chained declustering, 6 disks (its Figure 13)".into(),
        caption,
        vec![("chained".to_owned(), matrix)],
    )
}

/// The mean times of a chunk with itself, with a neighbour round the circle, and with another.
pub fn levels(matrix: &Matrix) -> [f64; 3] {
    let count = matrix.rows.len();
    let level = |pair: (usize, usize)| match pair.0.abs_diff(pair.1).min(count - pair.0.abs_diff(pair.1)) {
        0 => 0,
        1 => 1,
        _ => 2,
    };
    [0, 1, 2].map(|wanted| {
        super::draw::mean(matrix.pairs().filter(|&(pair, _)| level(pair) == wanted).map(|(_, seconds)| seconds))
    })
}

/// An array of Figure 17: four members; if misconfigured, the first two are halves of one disk.
pub fn four(kind: LayoutKind, is_misconfigured: bool) -> ArraySetup {
    ArraySetup { same: is_misconfigured.then_some((0, 1)), ..array(kind, 4, 8) }
}

/// Figure 17: five layouts, as they should be and misconfigured.
pub fn figure_17(effort: Effort) -> Vec<Exhibit> {
    let panels = |is_misconfigured: bool| FIVE.map(|kind| (kind, matrix(&four(kind, is_misconfigured), effort)));
    let (right, wrong) = (panels(false), panels(true));
    let unknown = wrong.iter().filter(|(_, matrix)| names(matrix).is_empty()).count();
    let known = right.iter().filter(|(kind, matrix)| names(matrix).contains(&kind.name())).count();
    let caption = format!(
        "First as they should be, then, called wrong, with members 0 and 1 on one disk. {known} of 5 that are right are known as what \
         they are; {unknown} of 5 that are wrong are like no known layout. Their classes are of unequal sizes: {}.",
        wrong.iter().map(|(_, matrix)| format!("{:?}", sizes(matrix))).collect::<Vec<_>>().join(", ")
    );
    let titled = |panels: [(LayoutKind, Matrix); 5], more: &'static str| {
        panels.into_iter().map(move |(kind, matrix)| (format!("{}{more}", kind.name()), matrix))
    };
    let all = titled(right, "").chain(titled(wrong, ", wrong")).collect();
    vec![maps("shear-fig17", "Layout: four members, two of them on one disk (its Figure 17)".into(), caption, all)]
}

/// The odd disk of Figure 18.
pub const ODD_DISK: usize = 2;

/// The arrays of Figure 18: one disk takes 0.75 or 1.5 times as long to turn or to seek. (The paper does not say by how
/// much.)
pub fn heterogeneous() -> [(&'static str, ArraySetup); 4] {
    let odd = |rotation: f64, seek: f64| ArraySetup {
        odd: vec![Odd { disk: ODD_DISK, rotation, seek }],
        ..array(LayoutKind::Raid0, 6, 8)
    };
    [
        ("fast rotating", odd(0.75, 1.0)),
        ("slow rotating", odd(1.5, 1.0)),
        ("fast seeking", odd(1.0, 0.75)),
        ("slow seeking", odd(1.0, 1.5)),
    ]
}

/// The mean time of a scan inside the odd disk's chunk, and inside the others, in seconds.
pub fn plateaus(scan: &Scan) -> (f64, f64) {
    let chunk = array(LayoutKind::Raid0, 6, 8).chunk_bytes;
    let inside = |is_odd: bool| {
        let is_inside = move |bytes: u64| !bytes.is_multiple_of(chunk) && (bytes / chunk == ODD_DISK as u64) == is_odd;
        super::draw::mean(scan.samples.iter().filter(|sample| is_inside(sample.bytes)).map(|sample| sample.seconds))
    };
    (inside(true), inside(false))
}

/// Figure 18: one disk differs from the others.
pub fn figure_18(effort: Effort) -> Vec<Exhibit> {
    let panels = heterogeneous().map(|(name, setup)| (name.to_owned(), matrix(&setup, effort)));
    let odd_ratio = |matrix: &Matrix| matrix.rows[ODD_DISK][ODD_DISK] / matrix.rows[0][0];
    let time_texts: Vec<String> =
        panels.iter().map(|(name, matrix)| format!("{name} {:.2}", odd_ratio(matrix))).collect();
    let caption = format!(
        "Disk {ODD_DISK} takes 0.75 or 1.5 of the time to turn or to seek; its own chunk then takes, in times of chunk 0: {}. (In \
         elevator order, seeks are short, so that they count less than turns.)",
        time_texts.join(", ")
    );
    let title = "Layout: one of six disks unlike the others (its Figure 18)".to_owned();
    let maps = maps("shear-fig18", title, caption, panels.into());
    let [(name, fast), ..] = heterogeneous();
    let scan = Scan::of(&fast, effort);
    let (odd, other) = plateaus(&scan);
    let caption = format!(
        "Found: chunks of {} KiB. Between its boundaries disk {ODD_DISK} takes {odd:.2} s, the others {other:.2} s.",
        scan.chunk_kib()
    );
    let title = format!("Boundaries: one disk {name} (its Figure 18)");
    vec![maps, boundaries("shear-fig18-boundary", title, caption, vec![line("", &scan.samples)])]
}
