//! What to do with what is known: arguments for mkfs, LVM and the partition table.

use scrubjay_core::probe::known::{Known, Level};
use scrubjay_core::probe::library::Fit;

/// Partitions begin there or later: room for boot loaders and tables, as every partitioner leaves it.
const START_MIN: u64 = 1 << 20;

/// One way in which the array may be understood, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The layouts that are read so: `raid0`.
    pub layouts: Vec<&'static str>,
    /// Data chunks of a stripe.
    pub data: u64,
    /// The first chunk, counted from the phase, at which a stripe begins; nothing where that cannot be seen.
    pub stripe_start: Option<u64>,
}

/// Every way in which it may be understood, those with the same stripes together.
pub fn readings(known: &Known) -> Vec<Reading> {
    let mut readings: Vec<Reading> = Vec::new();
    for fit in fits(known) {
        let shape = fit.layout.shape();
        // Stripes of one chunk and its copy: what a stripe is to a file system is a chunk on each disk.
        let data = match known.classes.as_ref() {
            Some(classes) if shape.data == 1 => classes.value.iter().max().map_or(1, |most| *most as u64 + 1),
            _ => shape.data as u64,
        };
        // Where all rotations of the layout look alike, the start of a stripe cannot be seen.
        let is_seen = fit.layout.pattern() > fit.layout.disks() as u64;
        let stripe_start = is_seen.then(|| (data - fit.shift % data) % data);
        let name = fit.layout.kind().name();
        match readings.iter_mut().find(|other| (other.data, other.stripe_start) == (data, stripe_start)) {
            Some(other) if other.layouts.contains(&name) => {}
            Some(other) => other.layouts.push(name),
            None => readings.push(Reading { layouts: vec![name], data, stripe_start }),
        }
    }
    readings
}

/// The layouts that fit the classes and, where that is known, the redundancy.
pub fn fits(known: &Known) -> Vec<Fit> {
    let level = known.level.as_ref().map(|claim| claim.value);
    let is_of_level = |fit: &&Fit| match level {
        None => true,
        Some(Level::Mirror(copies)) => scrubjay_core::probe::library::copies_of(&fit.layout) == copies,
        Some(level) => {
            let parities = fit.layout.shape().parity - (scrubjay_core::probe::library::copies_of(&fit.layout) - 1);
            parities == [Level::Raid0, Level::Raid5, Level::Raid6].iter().position(|other| *other == level).unwrap_or(0)
        }
    };
    let fits = known.fits.as_ref().map_or(&[][..], |claim| &claim.value);
    fits.iter().filter(is_of_level).copied().collect()
}

/// Lines to be typed, with words before those that hold for one reading only.
pub fn lines(known: &Known, device: &str) -> Vec<String> {
    let (Some(chunk), Some(phase)) = (&known.chunk_bytes, &known.phase_bytes) else { return Vec::new() };
    let (chunk, phase) = (chunk.value, phase.value);
    let readings = readings(known);
    let mut lines = Vec::new();
    for reading in &readings {
        if readings.len() > 1 {
            lines.push(format!("# if it is {}:", reading.layouts.join(" or ")));
        }
        lines.extend(of_reading(reading, chunk, phase, device));
    }
    lines
}

fn of_reading(reading: &Reading, chunk: u64, phase: u64, device: &str) -> Vec<String> {
    let width = chunk * reading.data;
    let mut lines = Vec::new();
    if chunk.is_multiple_of(4096) {
        let stride = chunk / 4096;
        lines.push(format!("mkfs.xfs -d su={}k,sw={} {device}", chunk >> 10, reading.data));
        lines.push(format!("mke2fs -t ext4 -E stride={stride},stripe_width={} {device}", stride * reading.data));
    }
    if width.is_multiple_of(1024) {
        lines.push(format!("pvcreate --dataalignment {}k {device}", width >> 10));
    }
    // The first boundary from 1 MiB on: of a stripe where it can be seen, of a chunk else.
    let first = phase + reading.stripe_start.unwrap_or(0) * chunk;
    let start = first + START_MIN.saturating_sub(first).div_ceil(width) * width;
    lines.push(format!("sfdisk {device} <<< 'start={}'", start / 512));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::probe::known::Claim;
    use scrubjay_core::probe::library;

    fn known(classes: &[usize], chunk: u64, phase: u64) -> Known {
        Known {
            chunk_bytes: Some(Claim::new(chunk, 1.0)),
            phase_bytes: Some(Claim::new(phase, 1.0)),
            classes: Some(Claim::new(classes.to_vec(), 1.0)),
            fits: Some(Claim::new(library::fits(classes, Some(1)), 1.0)),
            ..Known::default()
        }
    }

    #[test]
    fn stripes_of_each_reading_are_told() {
        let known = known(&[0, 1, 2, 3], 64 << 10, 0);
        let lines = lines(&known, "/dev/sdb");
        assert_eq!(lines[0], "# if it is raid0:");
        assert_eq!(lines[1], "mkfs.xfs -d su=64k,sw=4 /dev/sdb");
        assert_eq!(lines[2], "mke2fs -t ext4 -E stride=16,stripe_width=64 /dev/sdb");
        assert_eq!(lines[3..5], ["pvcreate --dataalignment 256k /dev/sdb", "sfdisk /dev/sdb <<< 'start=2048'"]);
        assert_eq!(lines[5], "# if it is raid5-ls:");
        assert!(lines.contains(&"mkfs.xfs -d su=64k,sw=3 /dev/sdb".to_owned()));
    }

    #[test]
    fn what_writes_told_leaves_one_reading() {
        let known = Known { level: Some(Claim::new(Level::Raid5, 1.0)), ..known(&[0, 1, 2, 3], 64 << 10, 0) };
        assert_eq!(readings(&known), [Reading { layouts: vec!["raid5-ls"], data: 3, stripe_start: None }]);
        assert!(lines(&known, "/dev/sdb").iter().all(|line| !line.starts_with('#')));
    }

    #[test]
    fn a_partition_begins_where_a_stripe_does_where_that_can_be_seen() {
        // Left-asymmetric RAID-5 of three disks, from its second chunk on: the next stripe begins one chunk later.
        let layout = library::candidates(6, Some(1));
        let la = layout.into_iter().find(|fit| fit.layout.kind().name() == "raid5-la" && fit.shift == 1).unwrap();
        let known = known(&la.classes(), 64 << 10, 512);
        let reading = readings(&known).into_iter().find(|reading| reading.layouts == ["raid5-la"]).unwrap();
        assert_eq!((reading.data, reading.stripe_start), (2, Some(1)));
        let lines = lines(&known, "/dev/sdb");
        let start = lines.iter().find_map(|line| line.strip_prefix("sfdisk /dev/sdb <<< 'start=")).unwrap();
        let start: u64 = start.trim_end_matches('\'').parse().unwrap();
        assert!(start * 512 >= 1 << 20 && (start * 512 - 512 - 65_536).is_multiple_of(131_072), "{start}");
    }

    #[test]
    fn where_nothing_is_known_nothing_is_advised() {
        assert_eq!(lines(&Known::default(), "/dev/sdb"), Vec::<String>::new());
    }
}
