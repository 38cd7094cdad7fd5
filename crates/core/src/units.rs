//! A type for each quantity: a sector is not a byte, a duration is not a date.
//!
//! Only the arithmetic that makes sense exists. Operators panic on overflow, in release builds too: a wrapped address
//! would be a wrong byte.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Bytes in one [`Sector`]: the unit of Linux's block layer, whatever the disk's own block size.
pub const SECTOR_BYTES: u64 = 512;

/// A point in time or a span, in nanoseconds. As a point, its zero is the pump's choice (`CLOCK_MONOTONIC` on
/// real disks, the start of the run in the simulator).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The zero point, and the empty span.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than any event: "never".
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// The time of a whole number of milliseconds.
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis * 1_000_000)
    }

    /// The time of a whole number of seconds.
    pub const fn from_secs(secs: u64) -> Nanos {
        Nanos(secs * 1_000_000_000)
    }

    /// The time of a number of seconds; negative and NaN become zero.
    pub fn from_secs_f64(secs: f64) -> Nanos {
        Nanos((secs * 1e9).max(0.0) as u64)
    }

    /// The time in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time in milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The span from `earlier` to `self`, zero if `earlier` is later.
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// `self + span`; [`Nanos::MAX`], which means "never", on overflow.
    pub const fn saturating_add(self, span: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(span.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, span: Nanos) -> Nanos {
        Nanos(self.0.checked_add(span.0).expect("time overflows"))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, span: Nanos) {
        *self = *self + span;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.checked_sub(earlier.0).expect("time runs backwards"))
    }
}

/// A calendar instant: whole seconds since 1970-01-01 UTC. Zero means "never".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UnixSeconds(pub u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bytes(pub u64);

impl Bytes {
    /// A number of KiB.
    pub const fn kib(kib: u64) -> Bytes {
        Bytes(kib << 10)
    }

    /// A number of MiB.
    pub const fn mib(mib: u64) -> Bytes {
        Bytes(mib << 20)
    }

    /// A number of GiB.
    pub const fn gib(gib: u64) -> Bytes {
        Bytes(gib << 30)
    }

    /// The number in MiB, with fractions.
    pub fn as_mib_f64(self) -> f64 {
        self.0 as f64 / (1 << 20) as f64
    }

    /// The number of sectors in this many bytes.
    ///
    /// # Panics
    /// When it is not a whole number of sectors.
    pub const fn sectors(self) -> u64 {
        assert!(self.0.is_multiple_of(SECTOR_BYTES), "not a whole number of sectors");
        self.0 / SECTOR_BYTES
    }
}

/// As on the label of a disk, in powers of ten, with one decimal unless it is whole: `700 B`, `268.4 MB`, `16.0 TB`, `4 TB`. What is counted in
/// powers of two, as blocks, requests and chunks are, stays exact, in units that say so: whole KiB below 2 MiB (`4 KiB`,
/// `1280 KiB`) and whole MiB up to 64 MiB.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DECIMAL: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
        let text = match self.0 {
            bytes if bytes > 0 && bytes <= 64 << 20 && bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
            bytes if bytes > 0 && bytes < 2 << 20 && bytes % 1024 == 0 => format!("{} KiB", bytes >> 10),
            bytes @ 0..1000 => format!("{bytes} B"),
            bytes => {
                let scaled = DECIMAL.iter().zip(1..).map(|(unit, power)| (bytes as f64 / 1000f64.powi(power), unit));
                // 999.95 is shown as 1000.0.
                let (value, unit) = scaled.take_while(|(value, _)| *value >= 0.99995).last().unwrap_or((0.0, &"B"));
                let decimals = if value.fract() == 0.0 { 0 } else { 1 };
                format!("{value:.decimals$} {unit}")
            }
        };
        f.pad(&text)
    }
}

/// Defines the type of a byte address in one kind of address space.
macro_rules! offset {
    ($(#[$doc:meta])* $offset:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $offset(pub u64);

        impl $offset {
            /// The number of bytes before it.
            pub const fn get(self) -> u64 {
                self.0
            }
        }

        impl Add<u64> for $offset {
            type Output = $offset;
            fn add(self, bytes: u64) -> $offset {
                $offset(self.0.checked_add(bytes).expect("an address overflows"))
            }
        }

        /// The number of bytes from the other one.
        impl Sub for $offset {
            type Output = u64;
            fn sub(self, other: $offset) -> u64 {
                self.0.checked_sub(other.0).expect("it lies before the other one")
            }
        }

        impl fmt::Display for $offset {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $offset {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

offset! {
    /// The address of a byte on a member's disk.
    MemberOffset
}

offset! {
    /// The address of a byte of a volume, as its clients see it.
    VolumeOffset
}

/// The address of a 512-byte sector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sector(pub u64);

impl Sector {
    /// The address of the sector's first byte.
    pub const fn byte(self) -> u64 {
        self.0 * SECTOR_BYTES
    }
}

impl fmt::Display for Sector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A half-open run of sectors, `start..end`. It may be empty; it never runs backwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectorRange {
    /// The first sector.
    pub start: Sector,
    /// One past the last sector.
    pub end: Sector,
}

impl SectorRange {
    /// `start..end`.
    ///
    /// # Panics
    /// When `end < start`.
    pub const fn new(start: u64, end: u64) -> SectorRange {
        assert!(start <= end, "a range runs forwards");
        SectorRange { start: Sector(start), end: Sector(end) }
    }

    /// `count` sectors from `start` on.
    pub const fn at(start: u64, count: u64) -> SectorRange {
        SectorRange::new(start, start + count)
    }

    /// The number of sectors.
    pub const fn count(self) -> u64 {
        self.end.0 - self.start.0
    }

    /// The size in bytes.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.count() * SECTOR_BYTES)
    }

    /// Whether the range has no sectors.
    pub const fn is_empty(self) -> bool {
        self.start.0 == self.end.0
    }

    /// The sectors in both ranges; empty, at the later start, when they do not overlap.
    pub fn intersection(self, other: SectorRange) -> SectorRange {
        let start = self.start.max(other.start);
        SectorRange { start, end: self.end.min(other.end).max(start) }
    }

    /// Whether `sector` lies in the range.
    pub fn contains(self, sector: Sector) -> bool {
        self.start <= sector && sector < self.end
    }
}

impl fmt::Display for SectorRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.start, self.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_labels_and_blocks_stay_exact() {
        let shown = |bytes| Bytes(bytes).to_string();
        assert_eq!(shown(0), "0 B");
        assert_eq!(shown(512), "512 B");
        assert_eq!(shown(65536), "64 KiB");
        assert_eq!(
            (shown(1280 << 10), shown(9 << 20), shown(16 << 20)),
            ("1280 KiB".into(), "9 MiB".into(), "16 MiB".into())
        );
        assert_eq!((shown(2560 << 10), shown(65 << 20)), ("2.6 MB".into(), "68.2 MB".into()));
        assert_eq!((shown((10 << 20) + 1024), shown((1280 << 10) + 1)), ("10.5 MB".into(), "1.3 MB".into()));
        assert_eq!((shown(999), shown(1000), shown(1023)), ("999 B".into(), "1 kB".into(), "1.0 kB".into()));
        assert_eq!((shown(999_949_999), shown(999_950_000)), ("999.9 MB".into(), "1.0 GB".into()));
        assert_eq!((shown(4_000_787_030_016), shown(16_000_900_661_248)), ("4.0 TB".into(), "16.0 TB".into()));
        assert_eq!((shown(4_000_000_000_000), shown(u64::MAX)), ("4 TB".into(), "18.4 EB".into()));
    }

    #[test]
    fn ranges_that_do_not_overlap_have_an_empty_intersection() {
        let range = SectorRange::new(10, 20);
        assert_eq!(range.intersection(SectorRange::new(15, 30)), SectorRange::new(15, 20));
        assert!(range.intersection(SectorRange::new(30, 40)).is_empty());
        assert!(range.intersection(SectorRange::new(0, 5)).is_empty());
        assert!(range.contains(Sector(10)) && !range.contains(Sector(20)));
    }
}
