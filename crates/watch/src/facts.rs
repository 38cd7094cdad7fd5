//! Facts about disks and arrays, from the pump: values as the kernel and the drives give them.

use crate::attributes::{self, AttributeMeaning};
use crate::pool::{MemberGroup, PoolLack, ZpoolFacts};
use crate::worded;
use scrubjay_core::layout::Layout;
use scrubjay_core::units::{SectorRange, UnixSeconds};
use std::fmt;

/// The permanent identity of a disk: its WWN or serial number. Kernel names such as `sda` are only its present place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DiskKey(pub String);

impl DiskKey {
    /// The WWN if there is one, else the serial number, else the place: without both a disk is identified by its socket.
    pub fn of(wwn: Option<&str>, serial: Option<&str>, place: &str) -> DiskKey {
        let given = |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        DiskKey(given(wwn).or_else(|| given(serial)).unwrap_or_else(|| format!("at {place}")))
    }

    /// A number from 0 to 1 that is the same on every machine and in every version: FNV-1a (Fowler, Noll & Vo, 1991),
    /// then a mix of its high bits into the low ones.
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

/// The permanent identity of what is read in passes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SubjectKey {
    /// A disk.
    Disk(DiskKey),
    /// An array, by its UUID: its own checker reads it.
    Array(String),
}

/// The subject of a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionSubject {
    /// The disk that has this kernel name now.
    Disk(String),
    /// The array with this UUID: its own checker reads it.
    Array(String),
}

/// Whether a disk has moving parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MediaKind {
    /// A hard disk.
    Spinning,
    /// A solid-state disk.
    #[default]
    Flash,
}

worded!(MediaKind { Spinning = "spinning", Flash = "flash", });

/// A disk that is present.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DiskFacts {
    /// Its identity.
    pub key: DiskKey,
    /// Its present kernel name, by which events and operations call it.
    pub name: String,
    /// Its model, as the drive reports it.
    pub model: String,
    /// The serial number as printed on the drive's label, by which people find it. `None`: not known.
    pub serial: Option<String>,
    /// Its bay, if the enclosure reports it.
    pub bay: Option<String>,
    /// The controller that it is attached to, if it shares that with other disks.
    pub controller: Option<String>,
    /// Spinning or flash.
    pub media: MediaKind,
    /// Its size in sectors; 0 if not known.
    pub sectors: u64,
    /// Where it is attached, as far as that is known: it tells disks apart that give one serial number and one size.
    pub place: Option<String>,
}

/// How virtual disks are called by those who make them.
const VIRTUAL_MODELS: [&str; 8] =
    ["QEMU", "VMware", "Virtual disk", "Virtual Disk", "VBOX", "Virtual HD", "XENSRC", "Msft Virtual"];

/// Is a disk with this model made by a virtual machine's host?
pub fn is_virtual_model(model: &str) -> bool {
    VIRTUAL_MODELS.iter().any(|known| model.contains(known))
}

impl DiskFacts {
    /// Is it a disk of a virtual machine? What it is made of, only the host can tell.
    pub fn is_virtual(&self) -> bool {
        self.name.starts_with("vd") || self.name.starts_with("xvd") || is_virtual_model(&self.model)
    }

    /// What people find it by: the serial number on its label, else its identity.
    pub fn serial_shown(&self) -> &str {
        self.serial.as_deref().map(str::trim).filter(|serial| !serial.is_empty()).unwrap_or(&self.key.0)
    }
}

/// What an array is doing on its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrayActivity {
    /// Nothing.
    #[default]
    Idle,
    /// Its own check is running.
    Checking,
    /// It fills a new member, or resyncs after a crash.
    Rebuilding,
}

worded!(ArrayActivity { Idle = "idle", Checking = "checking", Rebuilding = "rebuilding", });

/// A member's place in an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ArrayMember {
    /// The kernel's name of the disk there; `None`: the place is empty.
    pub disk: Option<String>,
    /// Does it hold the data that it should?
    pub is_in_sync: bool,
    /// The sector of the disk at which the member's data begin.
    pub data_start: u64,
}

/// An array that is present: of md, a btrfs, a pool of ZFS, or a volume of Scrubjay.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ArrayFacts {
    /// Its identity: the UUID.
    pub key: String,
    /// Its name for people: `md0`, `tank`.
    pub name: String,
    /// Its RAID level for people: `RAID6`.
    pub level: String,
    /// How many members may be missing before data are lost, counted from all present.
    pub redundancy: u32,
    /// The places of its members.
    pub members: Vec<ArrayMember>,
    /// What it is doing.
    pub activity: ArrayActivity,
    /// The layout of its chunks, if known, and the sectors of a chunk.
    pub layout: Option<(Layout, u64)>,
    /// The sectors that its own checker covers in one pass; `None`: it has no checker that the pump can drive.
    pub check_sectors: Option<u64>,
    /// What a pool of ZFS says of itself; `None`: it is no pool.
    pub pool: Option<ZpoolFacts>,
    /// The stripes of a volume of Scrubjay that hold lost data (count), by its own register; `None`: it is no volume, or does not say.
    pub lost_stripes: Option<u64>,
}

/// Whose array it is: what its check counts, and what its findings mean, depends on that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayKind {
    /// md's: mismatches are sectors, those that a member's list of bad blocks keeps from being compared among them.
    Md,
    /// A btrfs: counts are blocks.
    Btrfs,
    /// A volume of Scrubjay: counts are rows.
    Volume,
    /// A pool of ZFS: the watch runs no check of it.
    Zfs,
}

impl ArrayKind {
    /// The kind of an array with this level for people.
    pub fn of_level(level: &str) -> ArrayKind {
        match level.split_once(' ').map_or(level, |(first, _)| first) {
            "btrfs" => ArrayKind::Btrfs,
            "volume" => ArrayKind::Volume,
            "ZFS" => ArrayKind::Zfs,
            _ => ArrayKind::Md,
        }
    }
}

impl ArrayFacts {
    /// Whose array it is.
    pub fn kind(&self) -> ArrayKind {
        ArrayKind::of_level(&self.level)
    }

    /// How many more members, whichever they are, may be lost; negative: too many are lost. If the layout is known,
    /// lost members count together only where they meet in a stripe: each of several mirrored pairs may lose one. Of a pool,
    /// those of one top-level vdev do.
    pub fn redundancy_left(&self) -> i64 {
        let groups = self.pool.iter().flat_map(|pool| &pool.groups);
        let lost_of = |places: &[usize]| {
            let is_lost = |place: &&usize| self.members.get(**place).is_some_and(|member| !member.is_in_sync);
            places.iter().filter(is_lost).count() as i64
        };
        // What is being filled may be in any group that has redundancy.
        let is_filling = self.pool.as_ref().is_some_and(|pool| pool.lack == PoolLack::Filling);
        let filling = |group: &MemberGroup| i64::from(is_filling && group.redundancy > 0);
        let left_in = |group: &MemberGroup| i64::from(group.redundancy) - lost_of(&group.places) - filling(group);
        if let Some(left) = groups.map(left_in).min() {
            return left;
        }
        let is_lost = |member: &ArrayMember| !member.is_in_sync;
        let lost = self.members.iter().filter(|member| is_lost(member)).count();
        let layout =
            self.layout.as_ref().map(|(layout, _)| layout).filter(|layout| layout.disks() == self.members.len());
        let lost_in_stripe = layout.map(|layout| {
            let of_stripe = |stripe| {
                let slots = 0..layout.shape().width();
                slots.filter(|&slot| is_lost(&self.members[layout.place(stripe, slot).disk])).count()
            };
            (0..layout.period()).map(of_stripe).max().unwrap_or(lost)
        });
        i64::from(self.redundancy) - lost_in_stripe.unwrap_or(lost) as i64
    }

    /// Is one of its members missing, or not in sync yet?
    pub fn is_degraded(&self) -> bool {
        self.members.iter().any(|member| !member.is_in_sync)
            || self.pool.as_ref().is_some_and(|pool| pool.lack != PoolLack::Nothing)
    }

    /// Is a disk of this name a member?
    pub fn has_member(&self, name: &str) -> bool {
        self.members.iter().any(|member| member.disk.as_deref() == Some(name))
    }
}

/// One line of an ATA drive's attribute table, unprocessed: the raw value may be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtaAttribute {
    /// Its number, such as 5 or 197.
    pub id: u8,
    /// smartctl's name of it, which says what it means on this drive.
    pub name: String,
    /// The normalized value, 1 to 253, as far as it is known.
    pub value: Option<u8>,
    /// The raw value, 48 bits.
    pub raw: u64,
}

impl AtaAttribute {
    /// One with the meaning that its number has on most drives.
    pub fn usual(id: u8, raw: u64) -> AtaAttribute {
        AtaAttribute { id, name: attributes::usual_name(id).to_owned(), value: None, raw }
    }
}

/// An NVMe drive's health log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvmeLog {
    /// Bits of `critical_warning`.
    pub critical_warning: u8,
    /// Spare blocks left, percent.
    pub spare: u8,
    /// The percentage of spare blocks below which they are too few.
    pub spare_threshold: u8,
    /// Endurance used, percent; may exceed 100.
    pub used: u8,
    /// Unrecovered data errors.
    pub media_errors: u64,
}

/// A SCSI drive's error logs; at least one of them was read. A log that was not is no zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScsiLog {
    /// Sectors that were remapped since it left the factory.
    pub grown_defects: Option<u64>,
    /// Reads, writes and verifications with errors that could not be corrected.
    pub uncorrected: Option<u64>,
}

/// A drive's spare blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpareBlocks {
    /// How many are left, percent.
    pub left: u8,
    /// The percentage below which they are too few.
    pub threshold: u8,
}

/// What a SCSI drive warns of, or foretells: its additional sense code and the qualifier (SPC-5, annex F).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ScsiSense {
    /// 0x0B: a warning; 0x5D: a failure is foretold.
    pub asc: u8,
    /// What of.
    pub ascq: u8,
}

impl ScsiSense {
    /// Is a failure foretold? (0xFF is a test of the foretelling.)
    pub fn is_failure(self) -> bool {
        self.asc == 0x5d && self.ascq != 0xff
    }

    /// Does it warn of its temperature: the specified one, the highest critical, or the highest operating one?
    pub fn is_heat(self) -> bool {
        self.asc == 0x0b && matches!(self.ascq, 0x01 | 0x0a | 0x0c)
    }

    /// Does it warn of something else that concerns its medium, its cache or its place?
    pub fn is_warning(self) -> bool {
        self.asc == 0x0b && matches!(self.ascq, 0x02..=0x08)
    }
}

/// SMART data as they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SmartFacts {
    /// The drive's own verdict by what it means, if it gives one: false is "failing". Heat is no failure.
    pub passed: Option<bool>,
    /// An ATA drive's attribute table.
    pub attributes: Vec<AtaAttribute>,
    /// An NVMe drive's log.
    pub nvme: Option<NvmeLog>,
    /// A SCSI drive's logs.
    pub scsi: Option<ScsiLog>,
    /// What a SCSI drive warns of.
    pub sense: Option<ScsiSense>,
    /// Endurance used, percent, where the drive or smartctl says it outside of the NVMe log; may exceed 100.
    pub used: Option<u8>,
    /// Spare blocks, where they are given outside of the NVMe log.
    pub spare: Option<SpareBlocks>,
    /// Degrees Celsius, if the drive reports it outside of its table.
    pub celsius: Option<i32>,
    /// The temperature that the drive gives as its own highest, in degrees Celsius.
    pub celsius_max: Option<i32>,
    /// Did its last self-test fail?
    pub is_self_test_failed: bool,
    /// The first sector that the failed self-test could not read.
    pub self_test_lba: Option<u64>,
    /// Did it fail more than ten weeks of the drive's running time ago, and was none completed since?
    pub is_self_test_old: bool,
    /// Is a long self-test running?
    pub is_self_testing: bool,
}

impl SmartFacts {
    /// Endurance used, percent, by whatever says it.
    pub fn endurance_used(&self) -> Option<u8> {
        let left = |attribute: &AtaAttribute| match attributes::meaning(&attribute.name) {
            Some(AttributeMeaning::LifeLeft) => attribute.value.filter(|value| *value <= 100),
            _ => None,
        };
        let of_table = || self.attributes.iter().filter_map(left).min().map(|left| 100 - left);
        self.nvme.map(|log| log.used).or(self.used).or_else(of_table)
    }

    /// Spare blocks, by whatever says them.
    pub fn spare_blocks(&self) -> Option<SpareBlocks> {
        self.nvme.map(|log| SpareBlocks { left: log.spare, threshold: log.spare_threshold }).or(self.spare)
    }
}

/// Why there are no SMART data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum SmartRefusal {
    /// This process lacks the permission.
    NoPermission,
    /// The drive, or the bridge before it, has none.
    NotSupported,
    /// There are data, but none by which it could be judged.
    NoCounters,
    /// There is no program to read them with, or it is too old.
    NoProgram,
    /// The drive did not answer in time, or its answer made no sense.
    NoAnswer,
}

/// The result of reading SMART.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SmartReading {
    /// The data.
    Facts(SmartFacts),
    /// The disk sleeps, and was not woken.
    Asleep,
    /// There are no data, for this reason.
    Refused(SmartRefusal),
}

/// A session's report about its pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassReport {
    /// The number of the pass with which the session was begun; 0 if another program or a person began it.
    pub pass: u32,
    /// Nothing that this report counts was read before this date: for a session of the watch the date from
    /// `BeginSession` when this pass began, or if it found the pass read by others, the date when they began. 0 if not
    /// known: then the report counts only while the session runs, and for a session of others only its findings count.
    pub begun: UnixSeconds,
    /// Did the watch's session read none of this pass, because it found it read by others?
    pub is_found: bool,
    /// Sectors of this pass with a verdict, earlier runs of the same pass included.
    pub done: u64,
    /// The unreadable sectors, in runs, ascending.
    pub unreadable: Vec<SectorRange>,
    /// Reads of this pass that failed first and succeeded later.
    pub retries: u64,
    /// For an array: rows or copies that were wrong in this pass, and were repaired from the others, or right when read again.
    pub corrected: u64,
    /// For an array: sectors whose copies or parity disagreed in this pass, or could not be compared, and were left as they are.
    pub mismatched: u64,
    /// Mean rate of the disk while it was read, in bytes a second; 0 if not measured.
    pub bytes_per_second: u64,
    /// Mean time of one read of the usual size, in nanoseconds; 0 if not measured.
    pub service_nanos: u64,
}

/// News of a session. A running session sends some at least once an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionNews {
    /// It goes on.
    Progress(PassReport),
    /// Every sector has a verdict: the pass and the session are over.
    Finished(PassReport),
    /// It has stopped, as requested.
    Stopped(PassReport),
    /// The disk answers, but not to reads: nothing is known of its medium.
    Failed(PassReport),
    /// It could not begin, for this reason (in words), which does not concern the disk.
    Refused(String),
}

impl SessionNews {
    /// The report about the pass; `None`: the session did not begin.
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
    fn the_kind_of_an_array_follows_from_its_level() {
        let levels = ["RAID6", "RAID1, 2 disks", "btrfs raid1", "volume 4+2"];
        let kinds = [ArrayKind::Md, ArrayKind::Md, ArrayKind::Btrfs, ArrayKind::Volume];
        assert_eq!(levels.map(ArrayKind::of_level), kinds);
    }

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
