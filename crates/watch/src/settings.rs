//! What a person may set, and what is assumed if not.

use crate::calendar::{DAY, HOUR};
use crate::facts::MediaKind;
use crate::hours::DailyHours;
use scrubjay_core::units::Nanos;

/// Where messages go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertChannel {
    /// Names it: `email`, `ntfy`.
    pub name: String,
    /// Changes with any of its settings: what was proven of others is not proven of these.
    pub fingerprint: u64,
}

/// The settings of the watch.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchSettings {
    /// What the machine is called in messages.
    pub host: String,
    /// Every sector is read within so many seconds: 35 days (the seed of the idea, Louwrentius 2020, says once a month; TrueNAS'
    /// threshold is 35 days).
    pub every: u64,
    /// Only within these hours of the day, if any are given.
    pub between: Option<DailyHours>,
    /// Messages wait for the end of these hours, unless a disk is to be replaced or data are lost.
    pub quiet: Option<DailyHours>,
    /// Disks that are read at a time behind one controller.
    pub controller_max: usize,
    /// No hard disk is read that is hotter, in degrees Celsius.
    pub celsius_max: i32,
    /// Nor a flash disk that is hotter than this.
    pub celsius_max_flash: i32,
    /// Seconds between two readings of SMART: 4 hours. More often, and some drives never fall asleep, for each reading starts
    /// their timer anew. A disk that is being read is asked once an hour: it is awake, and may become too hot.
    pub smart_every: u64,
    /// Where messages go.
    pub channels: Vec<AlertChannel>,
    /// So many seconds of the calendar pass while something answers that takes a second: 1 but in tests with a fast calendar. How
    /// long answers are waited for is multiplied by it.
    pub pace: u64,
    /// What codes are made of: any number, the same as long as the machine is.
    pub secret: u64,
}

impl Default for WatchSettings {
    /// 35 days, at any hour, 8 disks behind one controller (a SAS adapter of eight lanes carries them at full speed), 50 degrees;
    /// flash 70, which is where SATA ones are specified to end and NVMe ones begin to slow down (a judgement).
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
            secret: 0,
        }
    }
}

/// The latency that a session may add to requests of others, as a mean over all of them: a tenth of what Louwrentius ("IOPS
/// and latency", 2020) calls acceptable in all, 20 ms of a hard disk and a few of flash.
pub fn budget(media: MediaKind) -> Nanos {
    match media {
        MediaKind::Spinning => Nanos(2_000_000),
        MediaKind::Flash => Nanos(200_000),
    }
}
