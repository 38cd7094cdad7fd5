//! Why a disk is not being read just now, in words.

use crate::calendar::{Calendar, show_date, show_time};
use scrubjay_core::units::UnixSeconds;

/// What holds a scrub back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldBack {
    /// Its next pass is not due to begin before this time.
    NotDue(UnixSeconds),
    /// A person asked for a pause until this time.
    Paused(UnixSeconds),
    /// It is outside of the hours in which it may be read; they begin at this time.
    WindowClosed(UnixSeconds),
    /// The array of this name lacks members, and needs those it has.
    Degraded(String),
    /// The array of this name is being rebuilt.
    Rebuilding(String),
    /// The array of this name runs a check that the watch did not begin, which reads this disk.
    OtherCheck(String),
    /// The drive runs a long self-test.
    SelfTest,
    /// The machine runs on battery.
    OnBattery,
    /// It has this temperature, in degrees Celsius, which is too hot.
    TooHot(i32),
    /// It sleeps, and will be woken at this time at the latest.
    Asleep(UnixSeconds),
    /// Another member of the array of this name is being read.
    MemberBusy(String),
    /// The array of this name is being read by its own checker, on behalf of the watch.
    ArrayBusy(String),
    /// The permitted number of disks behind its controller are being read.
    ControllerBusy,
    /// It does not answer reads; the next attempt is at this time.
    NoReads(UnixSeconds),
    /// It could not be scrubbed, for this reason, which does not concern the disk; the next attempt is at this time.
    Refused(String, UnixSeconds),
    /// Its size is not known.
    SizeUnknown,
    /// Its size has changed: its pass begins again.
    Resized,
    /// Its session does not answer.
    Hangs,
    /// It is absent.
    Missing,
}

impl HoldBack {
    /// When it ends, if that is known.
    pub fn until(&self) -> Option<UnixSeconds> {
        match *self {
            HoldBack::NotDue(at)
            | HoldBack::Paused(at)
            | HoldBack::WindowClosed(at)
            | HoldBack::Asleep(at)
            | HoldBack::NoReads(at)
            | HoldBack::Refused(_, at) => Some(at),
            _ => None,
        }
    }

    /// The reason in words for people.
    pub fn words(&self, calendar: &dyn Calendar) -> String {
        let time = |at: &UnixSeconds| show_time(calendar, *at);
        match self {
            HoldBack::NotDue(at) => format!("next pass begins {}", time(at)),
            HoldBack::Paused(until) => format!("paused until {}", time(until)),
            HoldBack::WindowClosed(opens) => format!("outside of its hours; they begin {}", time(opens)),
            HoldBack::Degraded(array) => format!("array {array} is degraded"),
            HoldBack::Rebuilding(array) => format!("array {array} is being rebuilt"),
            HoldBack::OtherCheck(array) => format!("array {array} is being checked by its own checker"),
            HoldBack::SelfTest => "the drive is at a long self-test".to_owned(),
            HoldBack::OnBattery => "the machine runs on battery".to_owned(),
            HoldBack::TooHot(celsius) => format!("too hot: {celsius} °C"),
            HoldBack::Asleep(latest) => {
                format!("asleep; read when it wakes, and woken {} at the latest", show_date(calendar, *latest))
            }
            HoldBack::MemberBusy(array) => format!("another member of array {array} is being read"),
            HoldBack::ArrayBusy(array) => format!("array {array} is being checked"),
            HoldBack::ControllerBusy => "enough disks of its controller are being read".to_owned(),
            HoldBack::NoReads(retry_at) => format!("it does not answer reads; next attempt {}", time(retry_at)),
            HoldBack::Refused(reason, retry_at) => format!("{reason}; next attempt {}", time(retry_at)),
            HoldBack::SizeUnknown => "its size is not known".to_owned(),
            HoldBack::Resized => "its size has changed, so its pass starts over".to_owned(),
            HoldBack::Hangs => "its session does not answer".to_owned(),
            HoldBack::Missing => "it is not there".to_owned(),
        }
    }
}
