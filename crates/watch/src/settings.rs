//! The settings of the watch, with their defaults.

use crate::calendar::{DAY, HOUR};
use crate::facts::MediaKind;
use crate::hours::DailyHours;
use scrubjay_core::units::{Nanos, UnixSeconds};

/// A channel for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertChannel {
    /// Its name: `email`, `ntfy`.
    pub name: String,
    /// Changes with any of its settings: a proof of other settings does not hold for these.
    pub fingerprint: u64,
    /// When a person last confirmed a code that came by these settings on another machine.
    pub proven_elsewhere: Option<UnixSeconds>,
}

/// The settings of the watch.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchSettings {
    /// The machine's name in messages.
    pub host: String,
    /// Every sector is read within this many seconds: 35 days (the seed of the idea, Louwrentius 2020, says once a
    /// month; TrueNAS' threshold is 35 days).
    pub every: u64,
    /// Disks are read only within these hours of the day; `None`: at any hour.
    pub between: Option<DailyHours>,
    /// Messages wait for the end of these hours, unless a disk is to be replaced or data are lost.
    pub quiet: Option<DailyHours>,
    /// Disks that are read at a time behind one controller, at most.
    pub controller_max: usize,
    /// A hard disk above this temperature is not read, in degrees Celsius.
    pub celsius_max: i32,
    /// A flash disk above this temperature is not read, in degrees Celsius.
    pub celsius_max_flash: i32,
    /// Seconds between two readings of SMART: 4 hours. If it were read more often, some drives would never fall asleep,
    /// because each reading restarts their timer. A disk that is being read is asked once an hour: it is awake, and may
    /// become too hot.
    pub smart_every: u64,
    /// The channels for messages.
    pub channels: Vec<AlertChannel>,
    /// Seconds of the calendar that pass while an answer takes one second: 1 except in tests with a fast calendar. Time
    /// limits for answers are multiplied by it.
    pub pace: u64,
    /// A random number, another one at each start: what makes messages' identifiers unique.
    pub run: u64,
    /// The seed of codes: any number that does not change on this machine.
    pub secret: u64,
}

impl Default for WatchSettings {
    /// 35 days, at any hour, 8 disks behind one controller (a SAS adapter of eight lanes carries them at full speed),
    /// 50 degrees Celsius; for flash 70, where SATA drives are specified to end and NVMe drives begin to slow down (a
    /// judgement).
    fn default() -> WatchSettings {
        WatchSettings {
            host: "localhost".to_owned(),
            every: 35 * DAY,
            between: None,
            quiet: None,
            controller_max: 8,
            celsius_max: 50,
            celsius_max_flash: 70,
            smart_every: 4 * HOUR,
            channels: Vec::new(),
            pace: 1,
            run: 0,
            secret: 0,
        }
    }
}

/// The goal for the mean slowdown of foreground requests by a session: a tenth of the latency that Louwrentius ("IOPS
/// and latency", 2020) calls acceptable in all, 20 ms for a hard disk and a few for flash.
pub fn budget(media: MediaKind) -> Nanos {
    match media {
        MediaKind::Spinning => Nanos(2_000_000),
        MediaKind::Flash => Nanos(200_000),
    }
}
