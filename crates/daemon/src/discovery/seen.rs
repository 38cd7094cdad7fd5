//! The result of a survey: disks, arrays, power, and other scrubbers.

use scrubjay_device::target::TargetIdentity;
use scrubjay_watch::facts::{ArrayFacts, DiskFacts};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A disk that is present, with further facts for the pump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenDisk {
    /// The facts for the watch.
    pub facts: DiskFacts,
    /// The path with which to open it: `/dev/sda`.
    pub device: PathBuf,
    /// Its name in `/dev/disk/by-path`.
    pub by_path: Option<String>,
    /// Its serial number, if it gives a plausible one.
    pub serial: Option<String>,
    /// The file that makes the light of its bay blink ([`super::bays::locate`]).
    pub locate: Option<PathBuf>,
}

/// How an array's own checker is driven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckWay {
    /// The target of its scrub: the control socket of a volume's server, the device of an md array, the mount point
    /// of a btrfs, or the name of a pool of ZFS.
    pub target: PathBuf,
    /// The identity under which its scrub keeps its state.
    pub identity: TargetIdentity,
}

/// Another program that regularly reads disks or arrays through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherScrubber {
    /// Its name: that of the timer, or of the file that starts it.
    pub who: String,
    /// What it does, and to which subjects.
    pub what: String,
    /// When it runs, as its file says; empty: the file does not say.
    pub when: String,
    /// What to do about it.
    pub advice: String,
}

/// All that was found in one survey.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSurvey {
    /// The disks, by kernel name.
    pub disks: Vec<SeenDisk>,
    /// Disks that the kernel has taken offline: they do not count as present, but their bays and labels are known.
    pub offline: Vec<SeenDisk>,
    /// The arrays, by kind and name.
    pub arrays: Vec<ArrayFacts>,
    /// The names of imported pools of ZFS. They are among the arrays once [`super::zfs::add_pools`] has added them.
    pub pools: Vec<String>,
    /// How checkers are driven, by the arrays' UUIDs; only for those that can be.
    pub checks: BTreeMap<String, CheckWay>,
    /// Are these all arrays, as far as is known? Not if there are some that do not run, or pools of which nothing is known yet.
    pub are_arrays_known: bool,
    /// The names of devices on which a file system is mounted.
    pub mounted: BTreeSet<String>,
    /// Does the machine run on battery?
    pub is_on_battery: bool,
    /// Other scrubbers.
    pub others: Vec<OtherScrubber>,
    /// What could not be determined and a person should know, one sentence each.
    pub warnings: Vec<String>,
}

impl HostSurvey {
    /// The disks that are meant, or if none of them is present, those that are offline.
    pub fn disks_meant(&self, is_meant: impl Fn(&SeenDisk) -> bool) -> Vec<&SeenDisk> {
        let present: Vec<&SeenDisk> = self.disks.iter().filter(|disk| is_meant(disk)).collect();
        match present.is_empty() {
            true => self.offline.iter().filter(|disk| is_meant(disk)).collect(),
            false => present,
        }
    }
}
