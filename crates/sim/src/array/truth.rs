//! What a prober should find of an array, and how much of it it found.

use super::map::{ChunkMap, MapRedundancy, Raid10Kind};
use super::setup::{ArraySetup, MirrorRead};
use scrubjay_core::layout::{Layout, LayoutKind, Shape};
use scrubjay_core::probe::known::{Claim, KnownArray, LevelRefusal, ProbeFinding};
use scrubjay_core::probe::library::{self, canonical};
use std::collections::BTreeSet;

/// Members are alike if their times differ by less than this factor.
const ALIKE_FACTOR_MAX: f64 = 1.05;

/// The facts that a prober should find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// The least distance, in bytes, at which all blocks lie on the same disk again; one block where there is one disk;
    /// zero without a pattern.
    pub pattern_bytes: u64,
    /// The size of a chunk and the first byte at which one begins; `None`: there is one disk, or no pattern.
    pub chunk: Option<(u64, u64)>,
    /// The class of each chunk of the pattern, from that byte on.
    pub classes: Vec<usize>,
    /// Disks that hold each chunk and share its reads.
    pub copies: usize,
    /// Disks that answer reads.
    pub disks: usize,
}

/// Which of the facts were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Is the pattern's size right?
    pub pattern: bool,
    /// Are chunk and phase right?
    pub chunk: bool,
    /// Is the class of each chunk right?
    pub classes: bool,
    /// Is the number of copies right?
    pub copies: bool,
    /// Is the number of disks right?
    pub disks: bool,
    /// Is the true layout among those that are said to fit, or, if no layout fits, none?
    pub layout: bool,
    /// Are all findings about members true, and is each member named that is slow, fast, lost or shared?
    pub findings: bool,
    /// Was a wrong layout accepted?
    pub is_layout_wrong: bool,
}

/// A statement of a prober, compared with the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statement {
    /// Its subject.
    pub about: &'static str,
    /// Its stated probability, 0 to 1.
    pub confidence: f64,
    /// Is it true?
    pub is_true: bool,
}

impl Agreement {
    /// Each part by name, and whether it is right.
    pub fn parts(&self) -> [(&'static str, bool); 7] {
        [
            ("pattern", self.pattern),
            ("chunk, phase", self.chunk),
            ("classes", self.classes),
            ("copies", self.copies),
            ("disks", self.disks),
            ("layout", self.layout),
            ("findings", self.findings),
        ]
    }

    /// Is everything right?
    pub fn is_whole(&self) -> bool {
        self.parts().iter().all(|(_, is_right)| *is_right)
    }
}

impl Truth {
    /// The truth about an array.
    pub fn of(setup: &ArraySetup) -> Truth {
        let disks: Vec<usize> = setup.map.pattern().into_iter().map(|disk| setup.spindle_of(disk)).collect();
        let count = disks.len();
        let disks_seen = match setup.map.redundancy() {
            MapRedundancy::Copies(_) if setup.mirror_read != MirrorRead::First => {
                (0..setup.map.disks()).map(|disk| setup.spindle_of(disk)).collect::<BTreeSet<usize>>().len()
            }
            _ => disks.iter().copied().collect::<BTreeSet<usize>>().len(),
        };
        let repeats = |size: &usize| count.is_multiple_of(*size) && (0..count).all(|i| disks[i] == disks[i % size]);
        let count = (1..=count).find(repeats).unwrap_or(count);
        let copies = match setup.map.redundancy() {
            // Only copies that share the reads can be seen.
            MapRedundancy::Copies(copies) if setup.mirror_read != MirrorRead::First => copies,
            _ => 1,
        };
        if count == 0 {
            return Truth { pattern_bytes: 0, chunk: None, classes: Vec::new(), copies, disks: setup.map.disks() };
        }
        // A pair without one member is one disk.
        let is_lone_disk = setup.lost.is_some() && setup.map.disks() == 2;
        let (copies, disks_seen) = if is_lone_disk { (1, 1) } else { (copies, disks_seen) };
        // If the copies lie on all members, all chunks are of one class, wherever their first copies lie.
        let is_one_class = copies > 1 && copies == setup.map.disks() && setup.same.is_none();
        if count == 1 || is_one_class || is_lone_disk {
            return Truth {
                pattern_bytes: setup.block_bytes,
                chunk: None,
                classes: vec![0],
                copies,
                disks: disks_seen,
            };
        }
        let chunk = setup.chunk_bytes;
        let first = setup.phase_bytes.div_ceil(chunk);
        let classes: Vec<usize> = (0..count).map(|i| disks[(first as usize + i) % count]).collect();
        let phase = first * chunk - setup.phase_bytes;
        Truth {
            pattern_bytes: count as u64 * chunk,
            chunk: Some((chunk, phase)),
            classes: canonical(&classes),
            copies,
            disks: disks_seen,
        }
    }

    /// Compares what a prober knows with the truth.
    pub fn agreement(&self, setup: &ArraySetup, known: &KnownArray) -> Agreement {
        let value = |claim: &Option<Claim<u64>>| claim.as_ref().map(|claim| claim.value);
        let fits = known.fits.as_ref().map_or(&[][..], |claim| &claim.value[..]);
        let classes = known.classes.as_ref().is_some_and(|claim| claim.value == self.classes);
        let named = self.layout(setup);
        if self.is_joined() {
            let nothing = known.pattern_bytes.is_none();
            return Agreement {
                pattern: nothing,
                chunk: known.chunk_bytes.is_none(),
                classes: known.classes.is_none(),
                copies: known.copies.is_none(),
                disks: known.disks.as_ref().is_some_and(|claim| claim.value == self.disks),
                layout: known.fits.is_none(),
                findings: known.findings.is_empty(),
                is_layout_wrong: !fits.is_empty(),
            };
        }
        // A map drawn at random may be that of a layout: of six chunks on three disks one in some thirty is RAID-5's.
        let random_fits = match setup.map {
            ChunkMap::Free(_) if setup.same.is_none() => library::fits(&self.classes, Some(self.copies)),
            _ => Vec::new(),
        };
        Agreement {
            pattern: value(&known.pattern_bytes) == Some(self.pattern_bytes),
            chunk: value(&known.chunk_bytes).zip(value(&known.phase_bytes)) == self.chunk,
            classes,
            copies: known.copies.as_ref().is_some_and(|claim| claim.value == self.copies),
            disks: known.disks.as_ref().is_some_and(|claim| claim.value == self.disks),
            layout: match named {
                // With one parity or two, a rotating layout has another name, too; with none it has no name.
                Some(layout) if layout.kind() == LayoutKind::Rotating => {
                    library::fits(&self.classes, Some(self.copies)).iter().eq(fits)
                }
                Some(layout) => fits.iter().any(|fit| fit.layout == layout),
                None => fits.iter().eq(&random_fits),
            },
            findings: classes && self.are_findings_right(setup, known),
            is_layout_wrong: !fits.is_empty() && (named.is_none() && fits != random_fits || !classes),
        }
    }

    /// The layout as which reads should show it: mirrors of which only the first copies are read look like striping.
    fn layout(&self, setup: &ArraySetup) -> Option<Layout> {
        let make = |kind, data, parity, disks| Layout::new(kind, Shape { data, parity }, disks).ok();
        let is_striped = self.classes.iter().copied().eq(0..self.classes.len());
        match &setup.map {
            _ if setup.same.is_some() => None,
            ChunkMap::Layout(_) | ChunkMap::Raid10 { .. }
                if setup.mirror_read == MirrorRead::First && setup.map.redundancy() != MapRedundancy::None =>
            {
                match setup.map.redundancy() {
                    MapRedundancy::Copies(_) => {
                        make(LayoutKind::Raid0, self.classes.len(), 0, self.classes.len()).filter(|_| is_striped)
                    }
                    _ => self.plain(&setup.map),
                }
            }
            ChunkMap::Raid10 { copies: 2, disks, .. } if setup.map.pattern().len() * 2 == *disks => {
                make(LayoutKind::Raid1, 1, 1, *disks)
            }
            ChunkMap::Raid10 { kind: Raid10Kind::Near, copies: 2, disks } => make(LayoutKind::Near, 1, 1, *disks),
            // Parities are never read.
            ChunkMap::Raid4 { disks } => make(LayoutKind::Raid0, disks - 1, 0, disks - 1),
            map => self.plain(map),
        }
    }

    fn plain(&self, map: &ChunkMap) -> Option<Layout> {
        if let ChunkMap::Layout(layout) = map { Some(*layout) } else { None }
    }

    /// The class of the chunks that a member holds; `None`: it holds none.
    pub fn class_of(&self, setup: &ArraySetup, disk: usize) -> Option<usize> {
        let list = setup.map.pattern();
        let first = setup.phase_bytes.div_ceil(setup.chunk_bytes) as usize;
        (0..self.classes.len()).find(|i| list[(first + i) % list.len()] == disk).map(|i| self.classes[i])
    }

    /// The disks that hold the chunks of a class, and those copies that are read.
    fn members_of(&self, setup: &ArraySetup, class: usize) -> BTreeSet<usize> {
        let first = setup.phase_bytes.div_ceil(setup.chunk_bytes);
        let data = setup.map.data() as u64;
        let of_chunk = |chunk: u64| {
            let slots = if self.copies > 1 { self.copies } else { 1 };
            (0..slots).map(move |copy| match data {
                1 => setup.map.place(chunk, copy).disk,
                _ => setup.map.place(chunk / data, (chunk % data) as usize).disk,
            })
        };
        let of_class = (0..self.classes.len()).filter(|&i| self.classes[i] == class);
        of_class.flat_map(|i| of_chunk(first + i as u64)).map(|disk| setup.spindle_of(disk)).collect()
    }

    /// Each statement that a prober made, and whether it is true.
    pub fn statements(&self, setup: &ArraySetup, known: &KnownArray) -> Vec<Statement> {
        let found = self.agreement(setup, known);
        let chunk = known.chunk_bytes.as_ref().map(|claim| Some(claim.value) == self.chunk.map(|chunk| chunk.0));
        let phase = known.phase_bytes.as_ref().map(|claim| Some(claim.value) == self.chunk.map(|chunk| chunk.1));
        // One disk is one disk, whatever layout is stated.
        let layout = found.layout || self.chunk.is_none() && found.classes;
        let confidence_of = |claim: &Option<Claim<u64>>| claim.as_ref().map(|claim| claim.confidence);
        let mut all: Vec<Statement> = [
            ("pattern", confidence_of(&known.pattern_bytes), found.pattern),
            ("chunk", confidence_of(&known.chunk_bytes), chunk == Some(true)),
            ("phase", confidence_of(&known.phase_bytes), phase == Some(true)),
            ("copies", known.copies.as_ref().map(|claim| claim.confidence), found.copies),
            ("classes", known.classes.as_ref().map(|claim| claim.confidence), found.classes),
            ("disks", known.disks.as_ref().map(|claim| claim.confidence), found.disks),
            ("layout", known.fits.as_ref().map(|claim| claim.confidence), layout),
        ]
        .into_iter()
        .filter_map(|(about, confidence, is_true)| Some(Statement { about, confidence: confidence?, is_true }))
        .collect();
        all.extend(known.joined.iter().map(|claim| Statement {
            about: "joined",
            confidence: claim.confidence,
            is_true: self.is_joined() && is_near(&claim.value, &starts(setup)),
        }));
        all.extend(known.findings.iter().map(|claim| Statement {
            about: "findings",
            confidence: claim.confidence,
            is_true: found.classes && self.is_true(setup, &claim.value),
        }));
        all
    }

    /// Do its disks lie one behind the other?
    fn is_joined(&self) -> bool {
        self.classes.is_empty()
    }

    fn are_findings_right(&self, setup: &ArraySetup, known: &KnownArray) -> bool {
        let findings = || known.findings.iter().map(|claim| &claim.value);
        let is_named = |disk: usize, is: &dyn Fn(&ProbeFinding) -> Option<usize>| {
            findings().any(|finding| is(finding).is_some_and(|class| self.class_of(setup, disk) == Some(class)))
        };
        let odd = |finding: &ProbeFinding| match finding {
            ProbeFinding::Slow { class, .. } | ProbeFinding::Fast { class, .. } => Some(*class),
            _ => None,
        };
        let lost =
            |finding: &ProbeFinding| if let ProbeFinding::Lost { class } = finding { Some(*class) } else { None };
        findings().all(|finding| self.is_true(setup, finding))
            && setup.odd.iter().all(|member| is_named(member.disk, &odd))
            && setup.lost.is_none_or(|disk| is_named(disk, &lost))
            && (setup.same.is_none() || findings().any(|finding| matches!(finding, ProbeFinding::Unequal { .. })))
    }

    /// Is a finding true, for an array whose classes were found?
    fn is_true(&self, setup: &ArraySetup, finding: &ProbeFinding) -> bool {
        // The time of a class follows from what all its members do in a second. Where all classes differ, slow means
        // slower than some, and fast, faster than some.
        let slowness = |disk: usize| {
            let odd = setup.odd.iter().filter(|odd| odd.disk == disk);
            odd.map(|odd| (odd.rotation * odd.seek).sqrt()).product::<f64>()
        };
        let time = |class: usize| {
            1.0 / self.members_of(setup, class).into_iter().map(|disk| 1.0 / slowness(disk)).sum::<f64>()
        };
        let count = self.classes.iter().max().map_or(0, |most| most + 1);
        let times = || (0..count).map(time);
        match finding {
            ProbeFinding::Unequal { .. } => {
                let size = |class: usize| self.classes.iter().filter(|other| **other == class).count();
                self.classes.iter().any(|class| size(*class) != size(0))
            }
            ProbeFinding::Slow { class, .. } => time(*class) > ALIKE_FACTOR_MAX * times().fold(f64::MAX, f64::min),
            ProbeFinding::Fast { class, .. } => time(*class) * ALIKE_FACTOR_MAX < times().fold(0.0, f64::max),
            ProbeFinding::Lost { class } => setup.lost.is_some_and(|disk| self.class_of(setup, disk) == Some(*class)),
            ProbeFinding::LostCopy { class } => {
                let is_lost_copy =
                    |disk: usize| self.class_of(setup, disk).or(self.class_of(setup, disk ^ 1)) == Some(*class);
                setup.map.redundancy() == MapRedundancy::Copies(2) && setup.lost.is_some_and(is_lost_copy)
            }
            ProbeFinding::NoLevel { why } => match why {
                LevelRefusal::WriteCache => setup.write_cache_bytes.is_some(),
                LevelRefusal::Degraded => setup.lost.is_some(),
                LevelRefusal::NoLayout | LevelRefusal::Unlike => true,
            },
            ProbeFinding::Unknown => library::fits(&self.classes, Some(self.copies)).is_empty(),
        }
    }
}

/// Where each disk of a concatenation begins, in bytes of the device.
fn starts(setup: &ArraySetup) -> Vec<u64> {
    let ChunkMap::Concatenated { disks, rows } = setup.map else { return Vec::new() };
    let start = |disk: usize| (disk as u64 * rows * setup.chunk_bytes).saturating_sub(setup.phase_bytes);
    (0..disks).map(start).filter(|start| *start < setup.bytes()).collect()
}

/// Are the stated places right to 4 MiB? The prober gives them in MiB.
fn is_near(stated: &[u64], starts: &[u64]) -> bool {
    stated.len() == starts.len() && stated.iter().zip(starts).all(|(stated, start)| stated.abs_diff(*start) <= 4 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::layout::Layout;
    use scrubjay_core::layout::Shape;
    use scrubjay_core::probe::library;

    fn setup(kind: LayoutKind, data: usize, parity: usize, disks: usize, phase_bytes: u64) -> ArraySetup {
        let map = ChunkMap::Layout(Layout::new(kind, Shape { data, parity }, disks).unwrap());
        ArraySetup { phase_bytes, ..ArraySetup::new(map, 32 << 10) }
    }

    #[test]
    fn the_expected_facts_count_from_where_the_device_begins() {
        let truth = Truth::of(&setup(LayoutKind::Raid5La, 2, 1, 3, 512));
        assert_eq!((truth.pattern_bytes, truth.chunk), (6 * (32 << 10), Some((32 << 10, (32 << 10) - 512))));
        // Data disks 0 1, 0 2, 1 2, from the second chunk on.
        assert_eq!((&truth.classes[..], truth.copies), (&[0, 1, 2, 0, 2, 1][..], 1));
        let doubled = ArraySetup { same: Some((0, 1)), ..setup(LayoutKind::Raid0, 4, 0, 4, 0) };
        assert_eq!(Truth::of(&doubled).classes, [0, 0, 1, 2]);
        assert_eq!(Truth::of(&setup(LayoutKind::Raid1, 1, 1, 2, 0)).chunk, None, "one pair is one class");
    }

    #[test]
    fn each_fact_is_compared_with_the_truth() {
        let setup = setup(LayoutKind::Raid0, 4, 0, 4, 0);
        let truth = Truth::of(&setup);
        assert!(!truth.agreement(&setup, &KnownArray::default()).is_whole());
        let classes = vec![0, 1, 2, 3];
        let mut known = KnownArray {
            pattern_bytes: Some(Claim::new(128 << 10, 1.0)),
            chunk_bytes: Some(Claim::new(32 << 10, 1.0)),
            phase_bytes: Some(Claim::new(0, 1.0)),
            copies: Some(Claim::new(1, 1.0)),
            disks: Some(Claim::new(4, 1.0)),
            fits: Some(Claim::new(library::fits(&classes, Some(1)), 1.0)),
            classes: Some(Claim::new(classes, 1.0)),
            ..KnownArray::default()
        };
        assert!(truth.agreement(&setup, &known).is_whole());
        known.classes = Some(Claim::new(vec![0, 1, 0, 1], 1.0));
        let found = truth.agreement(&setup, &known);
        assert!(!found.classes && found.is_layout_wrong && !found.is_whole());
    }

    #[test]
    fn a_random_map_may_be_reported_as_a_layout_only_if_it_is_one() {
        let found = |map: Vec<usize>| {
            let setup = ArraySetup::new(ChunkMap::Free(map), 32 << 10);
            let truth = Truth::of(&setup);
            let right_asymmetric = library::fits(&[0, 1, 2, 1, 2, 0], Some(1));
            assert_eq!(right_asymmetric.len(), 1);
            let known = KnownArray {
                fits: Some(Claim::new(right_asymmetric, 1.0)),
                classes: Some(Claim::new(truth.classes.clone(), 1.0)),
                ..KnownArray::default()
            };
            let found = truth.agreement(&setup, &known);
            (found.layout, found.is_layout_wrong)
        };
        assert_eq!(found(vec![0, 1, 2, 1, 2, 0]), (true, false));
        assert_eq!(found(vec![0, 1, 2, 2, 1, 0]), (false, true));
    }
}
