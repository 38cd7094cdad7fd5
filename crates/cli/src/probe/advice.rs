//! Advice from the results of a probe: arguments for mkfs, LVM and the partition table.

use scrubjay_core::layout::LayoutKind;
use scrubjay_core::probe::known::{KnownArray, RedundancyLevel};
use scrubjay_core::probe::library::{LayoutFit, copies_of};

/// The first byte of a partition, at least: room for boot loaders and tables, as every partitioner leaves it.
const START_MIN: u64 = 1 << 20;

/// The least confidence of claims from which advice is given.
pub const SURE_MIN: f64 = 0.9;

/// The device that is to be formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatPlace {
    /// Its name on a command line.
    pub name: String,
    /// Bytes of a sector in its partition table: its logical block, and 512 for a file.
    pub sector_bytes: u64,
    /// Is it a partition? Then it is not partitioned itself.
    pub is_partition: bool,
}

impl FormatPlace {
    /// The place of a modelled array.
    pub fn modelled() -> FormatPlace {
        FormatPlace { name: "DEVICE".to_owned(), sector_bytes: 512, is_partition: false }
    }

    /// The name of its first partition.
    fn partition(&self) -> String {
        match self.name.chars().last() {
            _ if !self.name.starts_with("/dev/") && self.name != "DEVICE" => "PARTITION".to_owned(),
            Some(last) if last.is_ascii_digit() => format!("{}p1", self.name),
            _ => format!("{}1", self.name),
        }
    }
}

/// One interpretation of the array, with its consequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutCase {
    /// The layouts with this interpretation, such as `raid0`.
    pub layouts: Vec<&'static str>,
    /// Data chunks of a stripe.
    pub data: u64,
    /// The first chunk, counted from the phase, at which a stripe begins; `None`: it cannot be seen.
    pub stripe_start: Option<u64>,
}

/// All interpretations; those with the same stripes are joined.
pub fn cases(known: &KnownArray) -> Vec<LayoutCase> {
    let mut cases: Vec<LayoutCase> = Vec::new();
    for fit in fits(known) {
        let shape = fit.layout.shape();
        // For stripes of one chunk and its copy, a file system's stripe is one chunk on each disk.
        let data = match known.classes.as_ref() {
            Some(classes) if copies_of(&fit.layout) > 1 => {
                classes.value.iter().max().map_or(1, |most| *most as u64 + 1)
            }
            _ => shape.data as u64,
        };
        // If all rotations of the layout look alike, the start of a stripe cannot be seen.
        let is_seen = fit.layout.pattern() > fit.layout.disks() as u64;
        let stripe_start = is_seen.then(|| (data - fit.shift % data) % data);
        let name = fit.layout.kind().name();
        match cases.iter_mut().find(|other| (other.data, other.stripe_start) == (data, stripe_start)) {
            Some(other) if other.layouts.contains(&name) => {}
            Some(other) => other.layouts.push(name),
            None => cases.push(LayoutCase { layouts: vec![name], data, stripe_start }),
        }
    }
    cases
}

/// The layouts that fit the classes and, if it is known, the redundancy.
pub fn fits(known: &KnownArray) -> Vec<LayoutFit> {
    let fits = known.fits.as_ref().map_or(&[][..], |claim| &claim.value);
    let level = known.level.as_ref().map(|claim| claim.value);
    let parities = |fit: &LayoutFit| fit.layout.shape().parity - (copies_of(&fit.layout) - 1);
    let is_of_level = |fit: &&LayoutFit| match level {
        None => true,
        Some(RedundancyLevel::Mirror(copies)) => copies_of(&fit.layout) == copies,
        // RAID-4's parity disk is never read, so its layout looks like striping.
        Some(RedundancyLevel::Raid0 | RedundancyLevel::Raid4) => parities(fit) == 0,
        Some(RedundancyLevel::Raid5) => parities(fit) == 1,
        Some(RedundancyLevel::Raid6) => parities(fit) == 2,
    };
    let matching: Vec<LayoutFit> = fits.iter().filter(is_of_level).copied().collect();
    match level {
        // Mirrors that are read from their first copies only look like striping.
        Some(RedundancyLevel::Mirror(_)) if matching.is_empty() => {
            fits.iter().filter(|fit| fit.layout.kind() == LayoutKind::Raid0).copied().collect()
        }
        _ => matching,
    }
}

/// Command lines, with words before those that hold for one interpretation only. None if the layout is not certain
/// enough to align a file system with it.
pub fn lines(known: &KnownArray, place: &FormatPlace) -> Vec<String> {
    let (Some(chunk), Some(phase)) = (&known.chunk_bytes, &known.phase_bytes) else { return Vec::new() };
    if known.fits.as_ref().is_none_or(|fits| fits.confidence < SURE_MIN) || chunk.confidence < SURE_MIN {
        return Vec::new();
    }
    let (chunk, phase) = (chunk.value, phase.value);
    let cases = cases(known);
    let mut lines = Vec::new();
    for case in &cases {
        if cases.len() > 1 {
            lines.push(format!("# if it is {}:", case.layouts.join(" or ")));
        }
        lines.extend(lines_of_case(case, chunk, phase, place));
    }
    lines
}

fn lines_of_case(case: &LayoutCase, chunk: u64, phase: u64, place: &FormatPlace) -> Vec<String> {
    let width = chunk * case.data;
    // The first byte at which a stripe begins; if that cannot be seen, a chunk.
    let first = phase + case.stripe_start.unwrap_or(0) * chunk;
    let is_aligned = first.is_multiple_of(width);
    let name = &place.name;
    let mut lines = Vec::new();
    let has_parity =
        case.layouts.iter().any(|layout| !matches!(*layout, "raid0" | "raid1" | "raid10-near" | "chained" | "zigzag"));
    if has_parity && case.stripe_start.is_none() && !is_aligned {
        lines.push("# (chunks will be in place; where a stripe begins cannot be seen)".to_owned());
    }
    // At 1 MiB or later.
    let start = first + START_MIN.saturating_sub(first).div_ceil(width) * width;
    let table = format!("sfdisk {name} <<< 'start={}'", start / place.sector_bytes);
    let target = match (is_aligned, place.is_partition) {
        (true, _) => name.clone(),
        (false, true) => {
            let later = first % width / place.sector_bytes;
            lines.push(format!("# first begin this partition {later} sectors later, or all of it lies across chunks:"));
            name.clone()
        }
        (false, false) => {
            lines.push(table.clone());
            place.partition()
        }
    };
    if chunk.is_multiple_of(4096) {
        let (stride, data) = (chunk / 4096, case.data);
        lines.push(format!("mkfs.xfs -d su={}k,sw={data} {target}", chunk >> 10));
        lines.push(format!("mke2fs -t ext4 -b 4096 -E stride={stride},stripe_width={} {target}", stride * data));
    }
    if width.is_multiple_of(1024) {
        lines.push(format!("pvcreate --dataalignment {}k {target}", width >> 10));
    }
    if is_aligned && !place.is_partition {
        lines.push(table);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::probe::known::Claim;
    use scrubjay_core::probe::library;

    fn sdb() -> FormatPlace {
        FormatPlace { name: "/dev/sdb".to_owned(), sector_bytes: 512, is_partition: false }
    }

    fn known(classes: &[usize], chunk: u64, phase: u64) -> KnownArray {
        KnownArray {
            chunk_bytes: Some(Claim::new(chunk, 1.0)),
            phase_bytes: Some(Claim::new(phase, 1.0)),
            classes: Some(Claim::new(classes.to_vec(), 1.0)),
            fits: Some(Claim::new(library::fits(classes, Some(1)), 1.0)),
            ..KnownArray::default()
        }
    }

    #[test]
    fn each_case_is_listed_with_its_stripes() {
        let known = known(&[0, 1, 2, 3], 64 << 10, 0);
        let lines = lines(&known, &sdb());
        assert_eq!(lines[0], "# if it is raid0:");
        assert_eq!(lines[1], "mkfs.xfs -d su=64k,sw=4 /dev/sdb");
        assert_eq!(lines[2], "mke2fs -t ext4 -b 4096 -E stride=16,stripe_width=64 /dev/sdb");
        assert_eq!(lines[3..5], ["pvcreate --dataalignment 256k /dev/sdb", "sfdisk /dev/sdb <<< 'start=2048'"]);
        assert_eq!(lines[5], "# if it is raid5-ls:");
        assert!(lines.contains(&"mkfs.xfs -d su=64k,sw=3 /dev/sdb".to_owned()));
    }

    #[test]
    fn a_level_known_from_writes_leaves_one_case() {
        let known =
            KnownArray { level: Some(Claim::new(RedundancyLevel::Raid5, 1.0)), ..known(&[0, 1, 2, 3], 64 << 10, 0) };
        assert_eq!(cases(&known), [LayoutCase { layouts: vec!["raid5-ls"], data: 3, stripe_start: None }]);
        assert!(lines(&known, &sdb()).iter().all(|line| !line.starts_with('#')));
    }

    #[test]
    fn a_partition_begins_at_a_stripe_if_its_start_can_be_seen() {
        // A left-asymmetric RAID-5 of three disks, from its second chunk on: the next stripe begins one chunk later.
        let fits = library::candidates(6, Some(1));
        let fit = fits.into_iter().find(|fit| fit.layout.kind().name() == "raid5-la" && fit.shift == 1).unwrap();
        let known = known(&fit.classes(), 64 << 10, 512);
        let case = cases(&known).into_iter().find(|case| case.layouts == ["raid5-la"]).unwrap();
        assert_eq!((case.data, case.stripe_start), (2, Some(1)));
        let lines = lines(&known, &sdb());
        let start = lines.iter().find_map(|line| line.strip_prefix("sfdisk /dev/sdb <<< 'start=")).unwrap();
        let start: u64 = start.trim_end_matches('\'').parse().unwrap();
        assert!(start * 512 >= 1 << 20 && (start * 512 - 512 - 65_536).is_multiple_of(131_072), "{start}");
    }

    #[test]
    fn unaligned_chunks_need_a_partition_first() {
        let known = KnownArray {
            level: Some(Claim::new(RedundancyLevel::Raid0, 1.0)),
            ..known(&[0, 1, 2, 3], 12 << 10, 11_264)
        };
        assert_eq!(
            lines(&known, &sdb()),
            [
                // 11,264 + 22 stripes of 48 KiB: 1,092,608 = 2134 sectors.
                "sfdisk /dev/sdb <<< 'start=2134'",
                "mkfs.xfs -d su=12k,sw=4 /dev/sdb1",
                "mke2fs -t ext4 -b 4096 -E stride=3,stripe_width=12 /dev/sdb1",
                "pvcreate --dataalignment 48k /dev/sdb1",
            ]
        );
        let partition = FormatPlace { name: "/dev/nvme0n1p2".to_owned(), is_partition: true, ..sdb() };
        let part_lines = lines(&known, &partition);
        assert_eq!(part_lines[0], "# first begin this partition 22 sectors later, or all of it lies across chunks:");
        assert!(part_lines[1..].iter().all(|line| line.ends_with(" /dev/nvme0n1p2") && !line.contains("sfdisk")));
        // Sectors of 4 KiB: 8192 + 22 stripes of 48 KiB are 1,089,536 bytes.
        let native = FormatPlace { name: "/dev/nvme0n1".to_owned(), sector_bytes: 4096, ..sdb() };
        let known = KnownArray { phase_bytes: Some(Claim::new(8192, 1.0)), ..known };
        let native_lines = lines(&known, &native);
        assert_eq!(native_lines[0], "sfdisk /dev/nvme0n1 <<< 'start=266'");
        assert!(native_lines[1].ends_with(" /dev/nvme0n1p1"), "{native_lines:?}");
    }

    #[test]
    fn chunks_below_4_kib_get_only_the_advice_that_applies() {
        let level = Some(Claim::new(RedundancyLevel::Raid0, 1.0));
        let known = |chunk| KnownArray { level: level.clone(), ..known(&[0, 1, 2], chunk, 0) };
        assert_eq!(lines(&known(512), &sdb()), ["sfdisk /dev/sdb <<< 'start=2049'"]);
        let lines = lines(&known(2048), &sdb());
        assert_eq!(lines, ["pvcreate --dataalignment 6k /dev/sdb", "sfdisk /dev/sdb <<< 'start=2052'"]);
    }

    #[test]
    fn parities_are_not_counted_as_copies() {
        // A stripe has one chunk of data and two parities, so its width is one chunk, whatever its classes.
        let known =
            KnownArray { level: Some(Claim::new(RedundancyLevel::Raid6, 1.0)), ..known(&[0, 1, 2], 64 << 10, 0) };
        assert!(cases(&known).iter().all(|case| case.data == 1), "{:?}", cases(&known));
        // Mirrors in stripes: a chunk on each pair.
        let classes = [0, 1, 2];
        let known = KnownArray { fits: Some(Claim::new(library::fits(&classes, Some(2)), 1.0)), ..known };
        let known = KnownArray { level: Some(Claim::new(RedundancyLevel::Mirror(2), 1.0)), ..known };
        assert!(cases(&known).iter().all(|case| case.data == 3), "{:?}", cases(&known));
    }

    #[test]
    fn copies_and_parities_that_are_never_read_do_not_change_the_stripes() {
        for (level, word) in [(RedundancyLevel::Raid4, "raid4"), (RedundancyLevel::Mirror(2), "raid10-far-or-offset")] {
            let known = KnownArray { level: Some(Claim::new(level, 1.0)), ..known(&[0, 1, 2], 64 << 10, 0) };
            assert!(cases(&known).iter().all(|case| case.data == 3), "{:?}", cases(&known));
            assert_eq!(crate::probe::words::layout(&known, "|").as_deref(), Some(word));
        }
    }

    #[test]
    fn an_unknown_array_gets_no_advice() {
        assert_eq!(lines(&KnownArray::default(), &sdb()), Vec::<String>::new());
    }
}
