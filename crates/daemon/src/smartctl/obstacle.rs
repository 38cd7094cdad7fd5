//! Why there are no SMART data: each reason has a name, words for people, and what to do.

use scrubjay_watch::facts::{SmartReading, SmartRefusal};

/// Why there are no SMART data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SmartObstacle {
    /// The disk sleeps, and was not woken.
    Asleep,
    /// This process lacks the permission.
    NoPermission,
    /// The device no longer exists.
    Absent,
    /// smartctl is not installed.
    NoProgram,
    /// smartctl is older than 7.0, the first version with JSON. Its version, if it printed one.
    TooOld(Option<String>),
    /// smartctl does not know how to reach the drive behind a bridge or controller.
    TypeNeeded {
        /// The USB bridge's vendor and product as smartctl prints it: `0x152d:0x0578 (0x100)`.
        usb: Option<String>,
        /// The type that smartctl itself proposes.
        proposed: Option<String>,
    },
    /// The drive, or the bridge before it, has no SMART.
    NotSupported,
    /// The drive could, but SMART is switched off.
    SwitchedOff,
    /// The drive reports that it passed, and shows no counter that foretells failures.
    NoCounters,
    /// The device could be opened, but the drive did not identify itself: this happens to users who may read disks, but
    /// may send them no commands.
    Silent,
    /// The drive did not answer within this many seconds.
    TimedOut(u64),
    /// A command failed, with this message of smartctl.
    Failed(String),
    /// smartctl's output makes no sense; its beginning.
    Nonsense(String),
}

/// Vendors of USB bridges that need a type: which for a SATA disk, which for an NVMe one (smartctl(8), option `-d`;
/// bridges by the list in smartmontools' drivedb.h).
const BRIDGES: [(&str, &str); 7] = [
    ("0x152d", "sat, sntjmicron or usbjmicron"), // JMicron
    ("0x0bda", "sat or sntrealtek"),             // Realtek
    ("0x174c", "sat or sntasmedia"),             // ASMedia
    ("0x04b4", "usbcypress"),                    // Cypress
    ("0x067b", "usbprolific"),                   // Prolific
    ("0x04fc", "usbsunplus"),                    // SunPlus
    ("0x13fd", "sat"),                           // Initio
];
/// Types that most bridges understand: SCSI/ATA translation, then the three ways to NVMe.
const ANY_BRIDGE: &str = "sat, sntasmedia, sntjmicron or sntrealtek";

impl SmartObstacle {
    /// Its name for programs.
    pub fn key(&self) -> &'static str {
        match self {
            SmartObstacle::Asleep => "asleep",
            SmartObstacle::NoPermission => "no-permission",
            SmartObstacle::Absent => "absent",
            SmartObstacle::NoProgram => "no-smartctl",
            SmartObstacle::TooOld(_) => "smartctl-too-old",
            SmartObstacle::TypeNeeded { .. } => "device-type-needed",
            SmartObstacle::NotSupported => "not-supported",
            SmartObstacle::SwitchedOff => "switched-off",
            SmartObstacle::NoCounters => "no-counters",
            SmartObstacle::Silent => "silent",
            SmartObstacle::TimedOut(_) => "timed-out",
            SmartObstacle::Failed(_) => "failed",
            SmartObstacle::Nonsense(_) => "nonsense",
        }
    }

    /// What is wrong, in words for people, without a full stop.
    pub fn words(&self) -> String {
        match self {
            SmartObstacle::Asleep => "the disk sleeps, and was not woken".to_owned(),
            SmartObstacle::NoPermission => "SMART may not be read: no permission".to_owned(),
            SmartObstacle::Absent => "the device is not there any more".to_owned(),
            SmartObstacle::NoProgram => "SMART cannot be read: smartctl is not installed".to_owned(),
            SmartObstacle::TooOld(Some(version)) => {
                format!("SMART cannot be read: smartctl {version} is too old, 7.0 is needed")
            }
            SmartObstacle::TooOld(None) => "SMART cannot be read: smartctl is too old, 7.0 is needed".to_owned(),
            SmartObstacle::TypeNeeded { usb: Some(usb), .. } => {
                format!("smartctl does not know the USB bridge {usb}")
            }
            SmartObstacle::TypeNeeded { .. } => "smartctl does not know how to reach the drive".to_owned(),
            SmartObstacle::NotSupported => "no SMART: the drive, or what stands before it, has none".to_owned(),
            SmartObstacle::SwitchedOff => "SMART is switched off in this drive".to_owned(),
            SmartObstacle::NoCounters => {
                "the drive says PASSED, but shows no counter that foretells failures".to_owned()
            }
            SmartObstacle::Silent => "the drive did not even identify itself".to_owned(),
            SmartObstacle::TimedOut(seconds) => format!("smartctl did not answer within {seconds} s, and was ended"),
            SmartObstacle::Failed(message) => format!("SMART was not answered: {message}"),
            SmartObstacle::Nonsense(output) => format!("what smartctl said makes no sense: {output}"),
        }
    }

    /// What to do, in words for people. `device` is the user's name for the disk.
    pub fn advice(&self, device: &str) -> String {
        match self {
            SmartObstacle::Asleep => {
                "ask again when it is awake; `scrubjay scrub` would wake it, this command does not".to_owned()
            }
            SmartObstacle::NoPermission | SmartObstacle::Silent => {
                "run it as root; in a container also give it the device and CAP_SYS_RAWIO (SATA, SCSI) or CAP_SYS_ADMIN \
                 (NVMe)"
                    .to_owned()
            }
            SmartObstacle::Absent => "look at its cable and power, then at `dmesg`".to_owned(),
            SmartObstacle::NoProgram => {
                "install the package smartmontools (Debian: apt install smartmontools)".to_owned()
            }
            SmartObstacle::TooOld(_) => "install smartmontools 7.0 or later (2018)".to_owned(),
            SmartObstacle::TypeNeeded { usb, proposed } => {
                let vendor = usb.as_deref().and_then(|usb| usb.split(':').next());
                let by_vendor = BRIDGES.iter().find(|(id, _)| Some(*id) == vendor).map(|(_, types)| *types);
                let types = proposed.as_deref().or(by_vendor).unwrap_or(ANY_BRIDGE);
                format!("say what it is: scrubjay explain {device} --device-type TYPE, with TYPE {types}")
            }
            SmartObstacle::NotSupported | SmartObstacle::NoCounters => {
                format!("have every sector read each month: scrubjay scrub {device}")
            }
            SmartObstacle::SwitchedOff => format!("switch it on: smartctl -s on {device}"),
            SmartObstacle::TimedOut(_) => "try again when the disk is less busy; look at `dmesg`".to_owned(),
            SmartObstacle::Failed(_) => format!("see what `smartctl -a {device}` says; look at `dmesg`"),
            SmartObstacle::Nonsense(_) => format!("report it, with what `smartctl --json -a {device}` prints"),
        }
    }

    /// The reading for the watch.
    pub fn reading(&self) -> SmartReading {
        SmartReading::Refused(match self {
            SmartObstacle::Asleep => return SmartReading::Asleep,
            SmartObstacle::NoPermission => SmartRefusal::NoPermission,
            SmartObstacle::NoProgram | SmartObstacle::TooOld(_) => SmartRefusal::NoProgram,
            SmartObstacle::TypeNeeded { .. } | SmartObstacle::NotSupported | SmartObstacle::SwitchedOff => {
                SmartRefusal::NotSupported
            }
            SmartObstacle::NoCounters => SmartRefusal::NoCounters,
            SmartObstacle::Absent
            | SmartObstacle::Silent
            | SmartObstacle::TimedOut(_)
            | SmartObstacle::Failed(_)
            | SmartObstacle::Nonsense(_) => SmartRefusal::NoAnswer,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_for_an_unknown_bridge_lists_the_types_to_try() {
        let advice_for = |usb: Option<&str>, proposed: Option<&str>| {
            let (usb, proposed) = (usb.map(str::to_owned), proposed.map(str::to_owned));
            SmartObstacle::TypeNeeded { usb, proposed }.advice("sdb")
        };
        assert!(advice_for(Some("0x152d:0x0578 (0x100)"), None).ends_with("TYPE sat, sntjmicron or usbjmicron"));
        assert!(advice_for(Some("0xffff:0x0001"), None).ends_with(ANY_BRIDGE));
        assert!(advice_for(None, Some("megaraid,N")).ends_with("TYPE megaraid,N"));
    }
}
