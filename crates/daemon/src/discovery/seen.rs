//! What a survey tells: disks, arrays, power, and who else scrubs.

use scrubjay_device::target::TargetIdentity;
use scrubjay_watch::facts::{ArrayFacts, DiskFacts};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A disk that is there, with what the pump needs besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenDisk {
    /// For the watch.
    pub facts: DiskFacts,
    /// Where to open it: `/dev/sda`.
    pub device: PathBuf,
    /// The name of its place that udev keeps in `/dev/disk/by-path`.
    pub by_path: Option<String>,
    /// Its serial number, if it gives one that can be true.
    pub serial: Option<String>,
    /// The file that makes the light of its bay blink ([`super::bays::locate`]).
    pub locate: Option<PathBuf>,
}

/// How an array's own checker is driven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckWay {
    /// What to scrub for it: the control socket of a volume's server.
    pub target: PathBuf,
    /// What its scrub keeps its state under.
    pub identity: TargetIdentity,
}

/// Somebody else who reads disks or arrays through, regularly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherScrubber {
    /// Its name: that of the timer, or of the file in which it is told to.
    pub who: String,
    /// What it does, and which subjects it touches.
    pub what: String,
    /// When, as its file says it; empty: it does not say.
    pub when: String,
    /// What to do about it.
    pub advice: String,
}

/// All that was found at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSurvey {
    /// The disks, by kernel name.
    pub disks: Vec<SeenDisk>,
    /// The arrays, by kind and name.
    pub arrays: Vec<ArrayFacts>,
    /// How the checkers of those are driven that can be, by the arrays' UUIDs.
    pub checks: BTreeMap<String, CheckWay>,
    /// Are these all arrays, as far as can be told? Not where there are ZFS pools, or arrays that do not run.
    pub are_arrays_known: bool,
    /// Does the machine run on battery?
    pub is_on_battery: bool,
    /// Who else scrubs.
    pub others: Vec<OtherScrubber>,
    /// What a person should know of what could not be told, one sentence each.
    pub warnings: Vec<String>,
}
