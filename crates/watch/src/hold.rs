//! Why a disk is not being read just now.

use scrubjay_core::units::UnixSeconds;

/// What holds a scrub back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
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
    Refused(SessionFault, UnixSeconds),
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
}

/// Why a session ended, or did not begin.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(from = "String", into = "String"))]
pub enum SessionFault {
    /// It ended, and was not told to.
    EndedByItself,
    /// What the program that runs sessions, or the kernel, said.
    Said(String),
}

/// As rows keep it: empty for one that ended by itself.
impl From<String> for SessionFault {
    fn from(said: String) -> SessionFault {
        if said.is_empty() { SessionFault::EndedByItself } else { SessionFault::Said(said) }
    }
}

impl From<SessionFault> for String {
    fn from(fault: SessionFault) -> String {
        match fault {
            SessionFault::EndedByItself => String::new(),
            SessionFault::Said(said) => said,
        }
    }
}
