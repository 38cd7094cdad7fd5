//! Resets of the way to a drive, from the kernel's log: of a SATA link, an NVMe controller, a SCSI device.
//!
//! What is lost by a reset is tried again, so programs only wait; but a link that is reset again and again is a bad cable, port or power supply.
//! Not of USB: its bridges are also reset when they wake up, or because they are asked what they do not know.

use crate::kmsg::{LogReader, LogRecord};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Resets so long after the machine woke up belong to that.
const AWAKE_AFTER: u64 = 30_000_000;

/// What in a line means a reset, and what the line begins with.
struct ResetLine {
    /// Before the place.
    before: &'static str,
    /// Behind the place, and the colon or the blank that ends it.
    behind: &'static [&'static str],
    /// The place in the path of the device.
    place: fn(&str) -> Option<&str>,
}

/// The lines: drivers/ata/libata-eh.c, drivers/nvme/host/pci.c, drivers/scsi/scsi_error.c.
const LINES: [ResetLine; 3] = [
    // All drives behind a port multiplier share the link.
    ResetLine {
        before: "ata",
        behind: &["hard resetting link", "soft resetting link"],
        place: |place| place.split('.').next().filter(|port| is_number(&port[3..])),
    },
    ResetLine {
        before: "nvme nvme",
        behind: &["I/O ", "controller is down; will reset"],
        place: |place| Some(&place[5..]).filter(|name| is_number(&name[4..])),
    },
    ResetLine {
        before: "sd ",
        behind: &["Power-on or device reset occurred"],
        place: |place| Some(&place[3..]).filter(|address| address.split(':').count() == 4),
    },
];

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The part of a device's path in sysfs that was reset, such as `ata3`, `nvme0` or `6:0:0:0`; `None`: this line tells of no reset.
fn reset_place(text: &str) -> Option<&str> {
    LINES.iter().find_map(|line| {
        let (place, rest) = text.split_once(": ").filter(|(place, _)| place.starts_with(line.before))?;
        let is_reset = line.behind.iter().any(|behind| rest.starts_with(behind));
        // "I/O tag 5 (1005) opcode 0x2 (I/O Cmd) QID 2 timeout, reset controller"
        let is_reset = is_reset && (!rest.starts_with("I/O ") || rest.ends_with("reset controller"));
        (line.place)(place).filter(|place| is_reset && !place.is_empty())
    })
}

/// Follows the sleep of the machine and its drives, so that what waking up does is not told.
#[derive(Clone, Copy, Debug, Default)]
struct Sleep {
    is_asleep: bool,
    awake_since: Option<u64>,
}

impl Sleep {
    /// What a record says of resets, if the machine was awake.
    fn reset(&mut self, record: &LogRecord) -> Option<String> {
        if record.text.starts_with("PM: suspend entry") || record.text.starts_with("PM: hibernation: hibernation entry")
        {
            self.is_asleep = true;
        }
        if record.text.starts_with("PM: suspend exit") || record.text.starts_with("PM: hibernation: hibernation exit") {
            *self = Sleep { is_asleep: false, awake_since: Some(record.micros) };
        }
        // A drive that sleeps (hdparm -Y) is woken by a reset.
        if record.text.starts_with("ata") && record.text.contains("waking up from sleep") {
            self.awake_since = Some(record.micros);
        }
        let is_waking = self.awake_since.is_some_and(|since| record.micros.saturating_sub(since) < AWAKE_AFTER);
        reset_place(&record.text).filter(|_| !self.is_asleep && !is_waking).map(str::to_owned)
    }
}

/// The kernel's log, asked for resets.
#[derive(Debug)]
pub struct LinkLog {
    reader: LogReader,
    sleep: Sleep,
}

impl LinkLog {
    /// Opens it; what came before is not seen.
    ///
    /// # Errors
    /// As [`LogReader::open`].
    pub fn open() -> io::Result<LinkLog> {
        Ok(LinkLog { reader: LogReader::open()?, sleep: Sleep::default() })
    }

    /// The places that were reset since the last call, each as a part of the path of a device in sysfs.
    pub fn drain(&mut self) -> Vec<String> {
        let mut places = Vec::new();
        let LinkLog { reader, sleep } = self;
        reader.drain(|record| places.extend(sleep.reset(&record)));
        places
    }

    /// How often records were lost.
    pub fn losses(&self) -> u64 {
        self.reader.losses()
    }
}

impl AsFd for LinkLog {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_resets_name_the_place() {
        for (line, place) in [
            ("ata3: hard resetting link", "ata3"),
            ("ata12: soft resetting link", "ata12"),
            ("ata3.15: hard resetting link", "ata3"),
            ("nvme nvme0: I/O 5 QID 2 timeout, reset controller", "nvme0"),
            ("nvme nvme1: I/O tag 5 (1005) opcode 0x2 (I/O Cmd) QID 2 timeout, reset controller", "nvme1"),
            ("nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10", "nvme0"),
            ("sd 6:0:12:0: Power-on or device reset occurred", "6:0:12:0"),
        ] {
            assert_eq!(reset_place(line), Some(place), "{line}");
        }
        for line in [
            "ata3: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
            "ata3.00: exception Emask 0x10 SAct 0x0 SErr 0x40d0202 action 0xe frozen",
            "ata3.00: failed command: READ FPDMA QUEUED",
            "ataraid: hard resetting link",
            "ata: hard resetting link",
            "usb 2-1.4: reset SuperSpeed USB device number 2 using xhci_hcd",
            "nvme nvme0: I/O 5 QID 2 timeout, aborting",
            "nvme nvme0: I/O tag 5 (1005) opcode 0x2 (I/O Cmd) QID 2 timeout, completion polled",
            "nvme nvme0: 8/0/0 default/read/poll queues",
            "sd 6:0:12:0: [sdm] Synchronizing SCSI cache",
            "sd 6:0: Power-on or device reset occurred",
            "",
        ] {
            assert_eq!(reset_place(line), None, "{line}");
        }
    }

    #[test]
    fn what_a_machine_does_when_it_wakes_up_is_no_news() {
        let mut sleep = Sleep::default();
        let mut reset = |seconds: u64, text: &str| {
            sleep.reset(&LogRecord { micros: seconds * 1_000_000, text: text.into() }).is_some()
        };
        let link = "ata3: hard resetting link";
        assert!(reset(100, link));
        assert!(!reset(200, "PM: suspend entry (deep)") && !reset(201, link));
        assert!(!reset(202, "PM: suspend exit") && !reset(210, link), "drives come back one after the other");
        assert!(reset(233, link));
        assert!(!reset(250, "ata3.00: waking up from sleep") && !reset(251, link) && reset(281, link));
        assert!(!reset(300, "PM: hibernation: hibernation entry") && !reset(301, link));
    }
}
