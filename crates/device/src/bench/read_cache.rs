//! The read cache of a drive: finds whether it is on, switches it off for a while, and puts it back, even after a kill.
//!
//! A SCSI drive has the bit RCD in its caching mode page, which the kernel's `cache_type` shows and sets; an ATA drive the feature
//! "read look-ahead". Each change is recorded in a guard file beforehand, and the next measurement puts it back. All guards lie
//! in one folder, whatever state folder is named, because a killed process may have named another one.
//!
//! ```text
//! scrubjay read-cache guard 1
//! key naa.5000c500a1b2c3d4 ZL2ABCDE
//! ata                                or: scsi write back
//! ```

use crate::claim::{self, DiskClaim};
use crate::inventory;
use crate::output::{Existing, OutputFile};
use crate::owner;
use crate::sg::{self, SgDevice};
use crate::store;
use crate::sysfs::DiskNode;
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::units::Nanos;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

const MAGIC: &str = "scrubjay read-cache guard 1";
/// Folder of the guards. (Only root can switch a cache. A container has a folder of its own: changes of a process that is killed
/// there are put back from there.)
const FOLDER: &str = "/var/lib/scrubjay";
/// End of the names of guards.
const ENDING: &str = ".read-cache-guard";
/// Time-out of a command that switches a drive's cache.
const TIMEOUT: Nanos = Nanos::from_secs(30);
/// SET FEATURES, and its subcommands for read look-ahead (ACS-4, 7.45).
const SET_FEATURES: u8 = 0xef;
const LOOK_AHEAD_ON: u8 = 0xaa;
const LOOK_AHEAD_OFF: u8 = 0x55;

/// The kernel's names of the four states of a SCSI drive's caches (`sd_cache_types` of `drivers/scsi/sd.c`): each name with the
/// read cache on, and the one with it off.
const WORDS: [(&str, &str); 2] = [("write back", "write back, no read (daft)"), ("write through", "none")];

/// The switch of a read cache, with its former state.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CacheSwitch {
    /// The kernel's `cache_type` of a SCSI drive.
    Scsi {
        /// The former state, in the kernel's words.
        before: String,
    },
    /// Read look-ahead of an ATA drive, which was on.
    Ata,
}

/// A read cache that is off until this is dropped.
#[derive(Debug)]
pub struct ReadCacheOff {
    disk: DiskNode,
    switch: CacheSwitch,
    guard: PathBuf,
}

/// Why a read cache is not switched off.
#[derive(Debug, thiserror::Error)]
pub enum ReadCacheError {
    /// There is no switch.
    #[error("the read cache cannot be switched here: {0}")]
    NoSwitch(String),
    /// It is off already.
    #[error("the read cache is off already")]
    OffAlready,
    /// The guard could not be written, so nothing was changed.
    #[error("{path}: {source}: the read cache stays as it is, because it could not be put back if we are killed")]
    Guard {
        /// Path of the guard.
        path: PathBuf,
        /// The error of the system or library below.
        source: io::Error,
    },
}

impl ReadCacheOff {
    /// Records the state of a disk's read cache and switches it off.
    ///
    /// # Errors
    /// [`ReadCacheError`]; nothing was changed then.
    pub fn switch(disk: &DiskNode, key: &str) -> Result<ReadCacheOff, ReadCacheError> {
        let switch = CacheSwitch::find(disk)?;
        let folder = Path::new(FOLDER);
        let guard = folder.join(format!("{}{ENDING}", store::file_name(key)));
        let word = match &switch {
            CacheSwitch::Scsi { before } => format!("scsi {before}"),
            CacheSwitch::Ata => "ata".to_owned(),
        };
        let noted = fs::create_dir_all(folder).and_then(|()| {
            let mut file = OutputFile::create(&guard, Existing::Replaced).map_err(io::Error::other)?;
            write!(file, "{MAGIC}\nkey {key}\n{word}\n")?;
            // Durable: a SCSI drive may keep the setting through a loss of power.
            file.commit().map_err(io::Error::other)
        });
        noted.map_err(|source| ReadCacheError::Guard { path: guard.clone(), source })?;
        let off = ReadCacheOff { disk: disk.clone(), switch, guard };
        match off.set(false) {
            Ok(()) => Ok(off),
            // Dropping `off` puts it back, though nothing was changed.
            Err(error) => Err(ReadCacheError::NoSwitch(error.to_string())),
        }
    }

    fn set(&self, is_on: bool) -> io::Result<()> {
        match &self.switch {
            CacheSwitch::Scsi { before } => {
                let off = WORDS.iter().find(|(on, _)| on == before).map(|(_, off)| *off);
                let path = cache_type(&self.disk).ok_or(io::ErrorKind::NotFound)?;
                fs::write(path, if is_on { before } else { off.ok_or(io::ErrorKind::InvalidData)? })
            }
            CacheSwitch::Ata => {
                let file = File::open(Path::new("/dev").join(&self.disk.name))?;
                let feature = if is_on { LOOK_AHEAD_ON } else { LOOK_AHEAD_OFF };
                let reply = sg::send(&mut SgDevice::new(file, TIMEOUT), &set_features(feature))?;
                match reply.judge() {
                    VerifyOutcome::Clean => Ok(()),
                    outcome => Err(io::Error::other(format!("the drive refuses it ({outcome:?})"))),
                }
            }
        }
    }
}

impl Drop for ReadCacheOff {
    /// Puts it back. If that fails, the guard stays for the next process.
    fn drop(&mut self) {
        if self.set(true).is_ok() {
            let _ = fs::remove_file(&self.guard);
        }
    }
}

impl CacheSwitch {
    fn find(disk: &DiskNode) -> Result<CacheSwitch, ReadCacheError> {
        let none = |reason: &str| ReadCacheError::NoSwitch(reason.to_owned());
        let Some(path) = cache_type(disk) else { return Err(none("it is no SCSI or ATA disk")) };
        // For an ATA drive the kernel shows a mode page of its own making, in which the read cache cannot be changed.
        if disk.attribute("device/vendor").as_deref() == Some("ATA") {
            let file = File::open(Path::new("/dev").join(&disk.name)).map_err(|error| none(&error.to_string()))?;
            return match look_ahead(&file) {
                Some((true, true)) => Ok(CacheSwitch::Ata),
                Some((true, false)) => Err(ReadCacheError::OffAlready),
                _ => Err(none("the drive has no switch for its read look-ahead")),
            };
        }
        let before = fs::read_to_string(&path).map_err(|error| none(&error.to_string()))?.trim().to_owned();
        if WORDS.iter().any(|(on, _)| *on == before) {
            return Ok(CacheSwitch::Scsi { before });
        }
        if WORDS.iter().any(|(_, off)| *off == before) { Err(ReadCacheError::OffAlready) } else { Err(none(&before)) }
    }
}

/// The kernel's file that shows and sets the caches of a SCSI disk.
fn cache_type(disk: &DiskNode) -> Option<PathBuf> {
    let folder = fs::read_dir(disk.folder().join("device/scsi_disk")).ok()?.flatten().next()?.path();
    Some(folder.join("cache_type")).filter(|path| path.exists())
}

/// SET FEATURES through ATA PASS-THROUGH(16): protocol 3 (non-data).
fn set_features(feature: u8) -> [u8; 16] {
    [0x85, 3 << 1, 0, 0, feature, 0, 0, 0, 0, 0, 0, 0, 0, 0, SET_FEATURES, 0]
}

/// Whether an ATA drive has read look-ahead, and whether it is on: words 82 and 85 of IDENTIFY DEVICE, bit 6.
fn look_ahead(file: &File) -> Option<(bool, bool)> {
    /// `HDIO_GET_IDENTITY` of `linux/hdreg.h`.
    const HDIO_GET_IDENTITY: libc::c_ulong = 0x030d;
    let mut words = [0u16; 256];
    // SAFETY: the call writes 512 bytes to the pointer, which is to as many that live; the descriptor is open.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), HDIO_GET_IDENTITY as _, words.as_mut_ptr()) };
    let bit = |word: usize| words[word] & 1 << 6 != 0;
    (result == 0).then(|| (bit(82), bit(85)))
}

/// Puts back what killed measurements have left, as their guards record it. Returns a line for each. Disks that are being
/// measured now are left alone.
pub fn put_back_all() -> Vec<String> {
    let folder = Path::new(FOLDER);
    let is_trusted = !owner::is_root() || owner::meddler(folder).is_ok_and(|meddler| meddler.is_none());
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().filter(|_| is_trusted);
    let guards = entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(ENDING));
    guards
        .filter_map(|path| {
            put_back(path, |key| {
                let disks = inventory::disks().unwrap_or_default().into_iter();
                let named = disks
                    .filter(|disk| disk.id.key() == key)
                    .find_map(|disk| disk.path.file_name().map(ToOwned::to_owned))?;
                DiskNode::of_folder(&Path::new("/sys/block").join(named)).ok()
            })
        })
        .collect()
}

fn put_back(path: PathBuf, find: impl Fn(&str) -> Option<DiskNode>) -> Option<String> {
    let text = fs::read_to_string(&path).unwrap_or_default();
    let Some((key, switch)) = parse(&text) else {
        let _ = fs::remove_file(&path);
        return Some(format!(
            "{}: makes no sense, and is removed: see to the read caches of your disks",
            path.display()
        ));
    };
    let _claim = DiskClaim::take(&claim::name_of(&key)).ok()?;
    if !path.exists() {
        return None; // it has just ended in order
    }
    let Some(disk) = find(&key) else {
        return Some(format!(
            "the read cache of {key} was off when we were killed: it is put back when that disk is here again"
        ));
    };
    let name = disk.name.clone();
    let off = ReadCacheOff { disk, switch, guard: path.clone() };
    drop(off);
    Some(match path.exists() {
        false => format!("{name}: its read cache was off, after a measurement that was killed: it is on again"),
        true => format!(
            "{name}: its read cache is off, after a measurement that was killed, and cannot be put back: run this as root"
        ),
    })
}

fn parse(text: &str) -> Option<(String, CacheSwitch)> {
    let mut lines = text.lines();
    (lines.next()? == MAGIC).then_some(())?;
    let key = lines.next()?.strip_prefix("key ")?.to_owned();
    let switch = match lines.next()? {
        "ata" => CacheSwitch::Ata,
        line => CacheSwitch::Scsi { before: line.strip_prefix("scsi ")?.to_owned() },
    };
    // Only the kernel's own words are ever written to its file.
    let is_known = |switch: &CacheSwitch| match switch {
        CacheSwitch::Ata => true,
        CacheSwitch::Scsi { before } => WORDS.iter().any(|(on, _)| on == before),
    };
    is_known(&switch).then_some((key, switch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_read_back_and_anything_else_is_rejected() {
        let ata = format!("{MAGIC}\nkey naa.5 ZL2\nata\n");
        assert_eq!(parse(&ata), Some(("naa.5 ZL2".to_owned(), CacheSwitch::Ata)));
        let scsi = format!("{MAGIC}\nkey k\nscsi write back\n");
        assert_eq!(parse(&scsi), Some(("k".to_owned(), CacheSwitch::Scsi { before: "write back".to_owned() })));
        for invalid in ["", "nonsense", &format!("{MAGIC}\nkey k\nscsi rm -rf\n"), &format!("{MAGIC}\nata\n")] {
            assert_eq!(parse(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn a_leftover_guard_is_reported_and_an_invalid_one_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("x{ENDING}"));
        fs::write(&path, "nonsense").unwrap();
        assert!(put_back(path.clone(), |_| None).unwrap().contains("makes no sense") && !path.exists());
        fs::write(&path, format!("{MAGIC}\nkey test of {}\nata\n", std::process::id())).unwrap();
        assert!(put_back(path.clone(), |_| None).unwrap().contains("when that disk is here again") && path.exists());
    }

    #[test]
    fn the_command_block_is_that_of_the_standard() {
        assert_eq!(set_features(LOOK_AHEAD_OFF), [0x85, 6, 0, 0, 0x55, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xef, 0]);
    }
}
