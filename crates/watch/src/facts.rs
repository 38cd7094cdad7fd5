//! What the pump tells of disks and arrays: values as the kernel and the drives gave them.

use scrubjay_core::layout::Layout;
use scrubjay_core::units::{SectorRange, UnixSeconds};
use std::fmt;

/// Names a disk for good: its WWN or serial number. Names such as `sda` are only where it is now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiskKey(pub String);

impl DiskKey {
    /// The WWN if there is one, else the serial number, else the place: a disk that has neither is as good as its socket.
    pub fn of(wwn: Option<&str>, serial: Option<&str>, place: &str) -> DiskKey {
        let given = |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        DiskKey(given(wwn).or_else(|| given(serial)).unwrap_or_else(|| format!("at {place}")))
    }

    /// A number that is the same on every machine and in every version: FNV-1a (Fowler, Noll & Vo, 1991), then a mix of its
    /// high bits into the low ones, as 0 to 1.
    pub fn spread(&self) -> f64 {
        let hash = self
            .0
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mixed = (hash ^ (hash >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl fmt::Display for DiskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names for good what is read in passes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SubjectKey {
    /// A disk.
    Disk(DiskKey),
    /// An array, by its UUID: its own checker goes over it.
    Array(String),
}

/// What a session is on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionSubject {
    /// The disk that the kernel calls so now.
    Disk(String),
    /// The array with this UUID: its own checker goes over it.
    Array(String),
}

/// Whether it has moving parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    /// A hard disk.
    Spinning,
    /// A solid-state disk.
    Flash,
}

/// A disk that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskFacts {
    /// Its identity.
    pub key: DiskKey,
    /// The kernel's name for it now: what events and operations call it.
    pub name: String,
    /// What the drive calls its model.
    pub model: String,
    /// The serial number, as it stands on the drive's label: people find it by that. None: it is not known.
    pub serial: Option<String>,
    /// Where it sits, if the enclosure says so.
    pub bay: Option<String>,
    /// The controller that it hangs on, if it shares it with others.
    pub controller: Option<String>,
    /// What it is made of.
    pub media: MediaKind,
    /// Its size; 0 if that cannot be told.
    pub sectors: u64,
}

impl DiskFacts {
    /// What people find it by: the serial number on its label, else its identity.
    pub fn serial_shown(&self) -> &str {
        self.serial.as_deref().map(str::trim).filter(|serial| !serial.is_empty()).unwrap_or(&self.key.0)
    }
}

/// What an array is doing by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayActivity {
    /// Nothing.
    Idle,
    /// Its own check is running.
    Checking,
    /// It fills a new member, or what a crash left.
    Rebuilding,
}

/// A member's place in an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayMember {
    /// The kernel's name of the disk there; none if the place is empty.
    pub disk: Option<String>,
    /// Does it hold what it should?
    pub is_in_sync: bool,
    /// The sector of the disk at which the member's data begin.
    pub data_start: u64,
}

/// An array that is there: md, btrfs or a volume of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayFacts {
    /// Its identity: the UUID.
    pub key: String,
    /// What people call it: `md0`, `tank`.
    pub name: String,
    /// `RAID6`, as people say it.
    pub level: String,
    /// How many members may be missing before data are lost, when all are there.
    pub redundancy: u32,
    /// The places of its members.
    pub members: Vec<ArrayMember>,
    /// What it is doing.
    pub activity: ArrayActivity,
    /// Where its chunks lie, if that is known, and how many sectors each has.
    pub layout: Option<(Layout, u64)>,
    /// The sectors that its own checker goes over in one pass; none: there is none that the pump can drive.
    pub check_sectors: Option<u64>,
}

impl ArrayFacts {
    /// How many more members may be lost, whichever they are; negative: some too many are. Where the layout is known, those count
    /// that meet in a stripe: of mirrored pairs one each may be lost.
    pub fn redundancy_left(&self) -> i64 {
        let is_lost = |member: &ArrayMember| !member.is_in_sync;
        let all = self.members.iter().filter(|member| is_lost(member)).count();
        let layout =
            self.layout.as_ref().map(|(layout, _)| layout).filter(|layout| layout.disks() == self.members.len());
        let met = layout.map(|layout| {
            let of_stripe = |stripe| {
                let slots = 0..layout.shape().slots();
                slots.filter(|&slot| is_lost(&self.members[layout.place(stripe, slot).disk])).count()
            };
            (0..layout.period()).map(of_stripe).max().unwrap_or(all)
        });
        i64::from(self.redundancy) - met.unwrap_or(all) as i64
    }

    /// Is one of its members missing or not in sync yet?
    pub fn is_degraded(&self) -> bool {
        self.members.iter().any(|member| !member.is_in_sync)
    }

    /// Is a disk of this name a member?
    pub fn has(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.disk.as_deref() == Some(name))
    }
}

/// One line of an ATA drive's table, as it stands there: the raw value may be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtaAttribute {
    /// Its number, such as 5 or 197.
    pub id: u8,
    /// The raw value, 48 bits.
    pub raw: u64,
}

/// What an NVMe drive says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvmeLog {
    /// Bits of `critical_warning`.
    pub critical_warning: u8,
    /// Spare blocks left, percent,
    pub spare: u8,
    /// and below what it counts as too few.
    pub spare_threshold: u8,
    /// Endurance used, percent; may go beyond 100.
    pub used: u8,
    /// Unrecovered data errors.
    pub media_errors: u64,
}

/// What a SCSI drive says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScsiLog {
    /// Sectors that were remapped since it left the factory.
    pub grown_defects: u64,
    /// Reads, writes and verifications that could not be corrected.
    pub uncorrected: u64,
}

/// SMART data as they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SmartFacts {
    /// The drive's own verdict, if it gives one: false is "failing".
    pub passed: Option<bool>,
    /// An ATA drive's table.
    pub attributes: Vec<AtaAttribute>,
    /// An NVMe drive's log.
    pub nvme: Option<NvmeLog>,
    /// A SCSI drive's logs.
    pub scsi: Option<ScsiLog>,
    /// Degrees Celsius, if the drive says so outside of its table.
    pub celsius: Option<i32>,
    /// Did its last self-test fail?
    pub is_self_test_failed: bool,
    /// Is a long self-test running?
    pub is_self_testing: bool,
}

impl SmartFacts {
    /// Is there anything in it that says how the drive is? Its heat does not.
    pub fn says_something(&self) -> bool {
        let has_log = self.nvme.is_some() || self.scsi.is_some();
        self.passed.is_some() || !self.attributes.is_empty() || has_log || self.is_self_test_failed
    }
}

/// Why there are no SMART data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmartRefusal {
    /// We may not ask.
    NoPermission,
    /// The drive, or the bridge before it, has none.
    NotSupported,
    /// There is no program to read them with, or it is too old.
    NoProgram,
    /// It did not answer in time, or with nonsense.
    NoAnswer,
}

impl SmartRefusal {
    /// For people: what is wrong, and what to do.
    pub fn words(self) -> &'static str {
        match self {
            SmartRefusal::NoPermission => "SMART may not be read: no permission (run as root)",
            SmartRefusal::NotSupported => "no SMART: the drive or its USB bridge has none",
            SmartRefusal::NoProgram => "SMART cannot be read: install smartctl 7.0 or later",
            SmartRefusal::NoAnswer => "SMART was not answered",
        }
    }
}

/// What came of reading SMART.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SmartReading {
    /// The data.
    Facts(SmartFacts),
    /// The disk sleeps, and was not woken.
    Asleep,
    /// None.
    Refused(SmartRefusal),
}

/// What a session says of the pass that it is at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassReport {
    /// Which pass, by the number that the session was begun with; 0 if it was begun by somebody else, such as a person.
    pub pass: u32,
    /// Nothing that this report counts was read before: of a session of ours what `BeginSession` gave it when this pass began, or
    /// where it found all of it read by others, when that began. 0
    /// if that is not known: then it counts only while the session runs, and of somebody else's only what it found.
    pub begun: UnixSeconds,
    /// A session of ours has read none of it: it was found read.
    pub is_found: bool,
    /// Sectors of this pass with a verdict, earlier runs of the same pass included.
    pub done: u64,
    /// The unreadable ones, in runs, ascending.
    pub unreadable: Vec<SectorRange>,
    /// Reads of this pass that failed first and went well later.
    pub retries: u64,
    /// Of an array: rows or copies that were wrong in this pass, and were made right from the others.
    pub corrected: u64,
    /// Of an array: sectors whose copies or parity disagreed in this pass, and were left as they are.
    pub mismatched: u64,
    /// What the disk gave while it was being read, bytes a second; 0 if not measured.
    pub bytes_per_second: u64,
    /// What one read of the usual size took, as a mean, in nanoseconds; 0 if not measured.
    pub service_nanos: u64,
}

/// What happened to a session. While one runs, something is told of it at least once an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionNews {
    /// It is going on.
    Progress(PassReport),
    /// Every sector has a verdict: the pass is over, and so is the session.
    Finished(PassReport),
    /// It has stopped, as it was told to.
    Stopped(PassReport),
    /// The disk answers, but not to reads: nothing is known of its medium.
    Failed(PassReport),
    /// It could not begin, for a reason that says nothing about the disk: in words.
    Refused(String),
}

impl SessionNews {
    /// What it says of the pass; none: it did not begin.
    pub fn report(&self) -> Option<&PassReport> {
        match self {
            SessionNews::Progress(report)
            | SessionNews::Finished(report)
            | SessionNews::Stopped(report)
            | SessionNews::Failed(report) => Some(report),
            SessionNews::Refused(_) => None,
        }
    }

    /// Is the session over?
    pub fn is_end(&self) -> bool {
        !matches!(self, SessionNews::Progress(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_is_wwn_then_serial_then_place() {
        assert_eq!(DiskKey::of(Some("5000c5"), Some("ZL2"), "usb-1"), DiskKey("5000c5".into()));
        assert_eq!(DiskKey::of(Some(" "), Some("ZL2"), "usb-1"), DiskKey("ZL2".into()));
        assert_eq!(DiskKey::of(None, Some(""), "usb-1"), DiskKey("at usb-1".into()));
    }

    #[test]
    fn the_spread_of_keys_is_even_and_never_changes() {
        let spread: Vec<f64> = (0..1000).map(|number| DiskKey(format!("ZL2{number:04}")).spread()).collect();
        let mean = spread.iter().sum::<f64>() / 1000.0;
        assert!((mean - 0.5).abs() < 0.03, "{mean}");
        assert!((0..10).all(|tenth| spread.iter().filter(|&&s| (s * 10.0) as u32 == tenth).count() > 60));
        assert_eq!(
            (DiskKey("ZL2ABCDE".into()).spread() * 1e6) as u64,
            (DiskKey("ZL2ABCDE".into()).spread() * 1e6) as u64
        );
    }
}
