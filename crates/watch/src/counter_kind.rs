//! The kinds of SMART counters that mean something.

use crate::worded;

/// The counters. The first five kinds predict failures (Backblaze, "What SMART Stats Tell Us About Hard Drives", 2016:
/// 5, 187, 197, 198; NVMe has one, and SCSI two, with the same meaning); the last two concern cables and patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterKind {
    /// ATA 5: sectors that were remapped. SCSI: the grown defect list.
    Reallocated,
    /// ATA 187: reads that the drive could not answer. SCSI: uncorrected errors.
    Reported,
    /// ATA 197: sectors that wait to be remapped.
    Pending,
    /// ATA 198: sectors that the drive's own test could not read.
    Uncorrectable,
    /// NVMe: unrecovered data errors.
    MediaErrors,
    /// ATA 188: commands that took too long.
    TimedOut,
    /// ATA 199: transfers that the cable spoilt. Never reset.
    CableErrors,
}

worded!(CounterKind {
    Reallocated = "reallocated",
    Reported = "reported",
    Pending = "pending",
    Uncorrectable = "uncorrectable",
    MediaErrors = "media-errors",
    TimedOut = "timed-out",
    CableErrors = "cable-errors",
});

impl CounterKind {
    /// The stable name in the amounts of incidents and in JSON; the tables of counters have [`CounterKind::word`].
    pub fn key(self) -> &'static str {
        match self {
            CounterKind::Reallocated => "reallocated",
            CounterKind::Reported => "reported",
            CounterKind::Pending => "pending",
            CounterKind::Uncorrectable => "uncorrectable",
            CounterKind::MediaErrors => "media errors",
            CounterKind::TimedOut => "timed out",
            CounterKind::CableErrors => "cable errors",
        }
    }

    /// Is it a counter of the medium?
    pub fn is_of_medium(self) -> bool {
        !matches!(self, CounterKind::TimedOut | CounterKind::CableErrors)
    }

    /// Does it rise when a read meets a bad sector?
    pub fn counts_bad_reads(self) -> bool {
        matches!(self, CounterKind::Pending | CounterKind::Reported | CounterKind::Uncorrectable)
    }

    /// Does it only rise during the drive's life? The others fall when a sector is overwritten.
    pub fn only_rises(self) -> bool {
        !matches!(self, CounterKind::Pending | CounterKind::Uncorrectable)
    }

    /// From this value on, one such counter predicts as much as two (study of Backblaze's data of 2026-Q1, 351,000
    /// drives). NVMe has no such figure.
    pub fn high_limit(self) -> Option<u64> {
        match self {
            CounterKind::Reallocated => Some(102),
            CounterKind::Reported => Some(40),
            CounterKind::Pending => Some(16),
            CounterKind::Uncorrectable => Some(8),
            _ => None,
        }
    }
}
