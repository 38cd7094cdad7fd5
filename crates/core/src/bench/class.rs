//! Classes of disks, and the latency and IOPS that each should reach at depth 1.

use std::fmt;

/// The class of a disk, as far as the disk reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediumClass {
    /// A hard disk.
    Rotating {
        /// Turns per minute, if the disk reports them.
        rpm: Option<u32>,
    },
    /// Flash behind SATA or SAS.
    SataSsd,
    /// Flash behind NVMe.
    Nvme,
    /// A card: SD, eMMC.
    Card,
    /// A hypervisor's disk: anything may lie below it.
    Virtual,
    /// A device made of others: loop, device mapper, md, ublk, nbd.
    Layered,
    /// A disk served by another host.
    Remote,
}

/// The expectation for small random reads at depth 1.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassExpectation {
    /// The class as it is named in a sentence: `7200 rpm`.
    pub name: String,
    /// The range of the mean latency, in seconds.
    pub latency: (f64, f64),
    /// The range of requests per second.
    pub iops: (f64, f64),
}

/// Turns per minute, range of the latency in ms, range of IOPS.
type RotatingRow = (u32, (f64, f64), (f64, f64));

/// The table of rotational speeds in "Understanding Storage Performance: IOPS and Latency" (2020).
const ROTATING: [RotatingRow; 4] = [
    (5400, (17.0, 18.0), (50.0, 60.0)),
    (7200, (12.0, 13.0), (75.0, 85.0)),
    (10_000, (7.0, 8.0), (120.0, 130.0)),
    (15_000, (5.0, 6.0), (150.0, 180.0)),
];

/// The mean rotational latency: the time of half a turn, in seconds.
pub const fn half_turn(rpm: u32) -> f64 {
    30.0 / rpm as f64
}

impl MediumClass {
    /// The expectation for this class; `None` if there is none.
    pub fn expected(self) -> Option<ClassExpectation> {
        let flash = |name: &str, low: f64, high: f64| {
            let name = name.to_owned();
            Some(ClassExpectation { name, latency: (low / 1e6, high / 1e6), iops: (1e6 / high, 1e6 / low) })
        };
        match self {
            MediumClass::Rotating { rpm } => rpm.map(rotating),
            // The same article: "even a cheap consumer SSD can at least sustain about 5000+ IOPS with only a 0.15 millisecond
            // latency". The best SATA drives take some 60 us; blocks that need not be read may be answered in 40 us.
            MediumClass::SataSsd => flash("a SATA or SAS SSD", 40.0, 200.0),
            // Flash pages take 40 to 90 us to read; Optane takes 8.
            MediumClass::Nvme => flash("an NVMe SSD", 8.0, 150.0),
            // The SD Association's classes A1 and A2 promise 1500 and 4000 random reads a second.
            MediumClass::Card => flash("a card", 150.0, 1500.0),
            MediumClass::Virtual | MediumClass::Layered | MediumClass::Remote => None,
        }
    }

    /// The shortest possible mean latency in seconds: a shorter one does not come from a medium of this class.
    pub fn least(self) -> f64 {
        match self {
            // Many bridges and virtual disks report rotation without a speed, which proves nothing about the medium.
            MediumClass::Rotating { rpm } => rpm.map_or(0.0, half_turn) * 0.9,
            // A command and its answer take some 20 us on SATA and SAS.
            MediumClass::SataSsd => 18e-6,
            MediumClass::Nvme => 4e-6,
            MediumClass::Card => 50e-6,
            MediumClass::Virtual | MediumClass::Layered | MediumClass::Remote => 0.0,
        }
    }
}

impl fmt::Display for MediumClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MediumClass::Rotating { rpm: Some(rpm) } => write!(f, "{rpm} rpm"),
            MediumClass::Rotating { rpm: None } => f.pad("a disk that rotates"),
            MediumClass::SataSsd => f.pad("SSD"),
            MediumClass::Nvme => f.pad("NVMe SSD"),
            MediumClass::Card => f.pad("card"),
            MediumClass::Virtual => f.pad("virtual disk"),
            MediumClass::Layered => f.pad("made of others"),
            MediumClass::Remote => f.pad("served by another host"),
        }
    }
}

/// The expectation at `rpm` turns per minute. Between the rows of the table it is interpolated by the time of a turn,
/// because the arm's speed is designed to match it.
fn rotating(rpm: u32) -> ClassExpectation {
    let turn = |rpm: u32| 1.0 / f64::from(rpm);
    let pair = ROTATING.windows(2).find(|pair| rpm <= pair[1].0).unwrap_or(&ROTATING[2..]);
    let ((rpm_low, latency_low, iops_low), (rpm_high, latency_high, iops_high)) = (pair[0], pair[1]);
    // 1 at the slower row, 0 at the faster one; extrapolated beyond the table.
    let share = ((turn(rpm) - turn(rpm_high)) / (turn(rpm_low) - turn(rpm_high))).clamp(-0.5, 2.0);
    let between = |low: f64, high: f64| high + (low - high) * share;
    ClassExpectation {
        name: format!("{rpm} rpm"),
        latency: (between(latency_low.0, latency_high.0) / 1e3, between(latency_low.1, latency_high.1) / 1e3),
        iops: (between(iops_low.0, iops_high.0).max(10.0), between(iops_low.1, iops_high.1).max(12.0)),
    }
}

/// The expectation of the table row whose latency is closest, by ratio, to `latency` in seconds.
pub fn nearest_rotating(latency: f64) -> ClassExpectation {
    let distance = |row: &RotatingRow| (latency * 2e3 / (row.1.0 + row.1.1)).ln().abs();
    let nearest = ROTATING.iter().min_by(|one, two| distance(one).total_cmp(&distance(two)));
    rotating(nearest.expect("there are four").0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_rows_are_reproduced_and_other_speeds_interpolated() {
        for (rpm, (low, high), iops) in ROTATING {
            let expected = rotating(rpm);
            assert!((expected.latency.0 * 1e3 - low).abs() < 1e-9 && (expected.latency.1 * 1e3 - high).abs() < 1e-9);
            assert!((expected.iops.0 - iops.0).abs() < 1e-9 && (expected.iops.1 - iops.1).abs() < 1e-9, "{rpm}");
        }
        let between = rotating(5900);
        assert!((15.0..16.5).contains(&(between.latency.0 * 1e3)) && between.iops.0 > 55.0, "{between:?}");
        let slow = rotating(4200);
        assert!(slow.latency.0 > 0.020 && slow.iops.0 < 40.0, "{slow:?}");
    }

    #[test]
    fn a_latency_finds_its_row() {
        let name = |millis: f64| nearest_rotating(millis / 1e3).name;
        let named = [5.0, 8.4, 12.7, 17.0, 25.0].map(name);
        assert_eq!(named, ["15000 rpm", "10000 rpm", "7200 rpm", "5400 rpm", "5400 rpm"]);
    }

    #[test]
    fn no_class_expects_what_it_calls_impossible() {
        let rotating = [None, Some(5400), Some(15_000)].map(|rpm| MediumClass::Rotating { rpm });
        for class in rotating.into_iter().chain([MediumClass::SataSsd, MediumClass::Nvme, MediumClass::Card]) {
            assert!(class.expected().is_none_or(|expected| class.least() < expected.latency.0), "{class}");
        }
    }
}
