//! Why something is not being read just now, and what a pool does of its own accord.

use crate::date::{show_date, show_time};
use crate::sentence::{Said, sentences};
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::hold::{HoldBack, SessionFault};
use scrubjay_watch::pool::PoolScan;

sentences! {
    pub(crate) HoldWords: "Why a disk or an array is not being read" {
        NotDue { time: String = "12 Mar 2026 03:41" } => "next pass begins {time}",
        Paused { time: String = "12 Mar 2026 03:41" } => "paused until {time}",
        WindowClosed { time: String = "12 Mar 2026 22:00" } => "outside its hours; they begin {time}",
        Degraded { array: String = "md0" } => "array {array} is degraded",
        Rebuilding { array: String = "md0" } => "array {array} is being rebuilt",
        OtherCheck { array: String = "md0" } => "array {array} is being checked by its own checker",
        SelfTest => "the drive runs a long self-test",
        OnBattery => "the machine runs on battery",
        TooHot { celsius: i32 = 61i32 } => "too hot: {celsius} °C",
        Asleep { date: String = "12 Mar 2026" } => "asleep; read when it wakes, and woken {date} at the latest",
        MemberBusy { array: String = "md0" } => "another member of array {array} is being read",
        ArrayBusy { array: String = "md0" } => "array {array} is being checked",
        ControllerBusy => "enough disks of its controller are being read",
        NoReads { time: String = "12 Mar 2026 03:41" } => "it does not answer reads; next attempt {time}",
        Refused { fault: Said = FaultWords::EndedByItself, time: String = "12 Mar 2026 03:41" } => "{fault}; next attempt {time}",
        SizeUnknown => "its size is not known",
        Resized => "its size has changed, so its pass starts over",
        Hangs => "its session does not answer",
        Missing => "it is not there",
    }
}

sentences! {
    pub(crate) FaultWords: "Why a session ended, or did not begin" {
        EndedByItself => "its session ended by itself",
        Said { what: String = "/var/lib/scrubjay: No space left on device (os error 28)" } => "{what}",
    }
}

sentences! {
    pub(crate) ScanWords: "What a pool of ZFS does of its own accord" {
        Idle => "",
        Scrub => "scrub",
        ScrubAt { percent: u8 = 40u8 } => "scrub {percent} %",
        Paused => "scrub paused",
        PausedAt { percent: u8 = 40u8 } => "scrub paused at {percent} %",
        Resilver => "resilver",
        ResilverAt { percent: u8 = 40u8 } => "resilver {percent} %",
        Moving => "data are moved",
    }
}

/// Why something is not being read.
pub fn hold_back(hold: &HoldBack, calendar: &dyn Calendar) -> Said {
    let time = |at| show_time(calendar, at);
    let words = match hold.clone() {
        HoldBack::NotDue(at) => HoldWords::NotDue { time: time(at) },
        HoldBack::Paused(until) => HoldWords::Paused { time: time(until) },
        HoldBack::WindowClosed(opens) => HoldWords::WindowClosed { time: time(opens) },
        HoldBack::Degraded(array) => HoldWords::Degraded { array },
        HoldBack::Rebuilding(array) => HoldWords::Rebuilding { array },
        HoldBack::OtherCheck(array) => HoldWords::OtherCheck { array },
        HoldBack::SelfTest => HoldWords::SelfTest,
        HoldBack::OnBattery => HoldWords::OnBattery,
        HoldBack::TooHot(celsius) => HoldWords::TooHot { celsius },
        HoldBack::Asleep(latest) => HoldWords::Asleep { date: show_date(calendar, latest) },
        HoldBack::MemberBusy(array) => HoldWords::MemberBusy { array },
        HoldBack::ArrayBusy(array) => HoldWords::ArrayBusy { array },
        HoldBack::ControllerBusy => HoldWords::ControllerBusy,
        HoldBack::NoReads(retry_at) => HoldWords::NoReads { time: time(retry_at) },
        HoldBack::Refused(fault, retry_at) => HoldWords::Refused { fault: session_fault(&fault), time: time(retry_at) },
        HoldBack::SizeUnknown => HoldWords::SizeUnknown,
        HoldBack::Resized => HoldWords::Resized,
        HoldBack::Hangs => HoldWords::Hangs,
        HoldBack::Missing => HoldWords::Missing,
    };
    words.into()
}

/// Why a session ended, or did not begin.
pub fn session_fault(fault: &SessionFault) -> Said {
    match fault {
        SessionFault::EndedByItself => FaultWords::EndedByItself.into(),
        SessionFault::Said(what) => FaultWords::Said { what: what.clone() }.into(),
    }
}

/// What a pool does of its own accord; empty: nothing.
pub fn pool_scan(scan: PoolScan) -> Said {
    let words = match scan {
        PoolScan::Idle => ScanWords::Idle,
        PoolScan::Scrub(None) => ScanWords::Scrub,
        PoolScan::Scrub(Some(percent)) => ScanWords::ScrubAt { percent },
        PoolScan::Paused(None) => ScanWords::Paused,
        PoolScan::Paused(Some(percent)) => ScanWords::PausedAt { percent },
        PoolScan::Resilver(None) => ScanWords::Resilver,
        PoolScan::Resilver(Some(percent)) => ScanWords::ResilverAt { percent },
        PoolScan::Moving => ScanWords::Moving,
    };
    words.into()
}
