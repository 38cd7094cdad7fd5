//! Reads the kernel's log (`/dev/kmsg`), record by record, from when it is opened.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// The longest record, in bytes (Linux, kernel/printk: `PRINTKRB_RECORD_MAX` and its prefix).
const RECORD_MAX: usize = 8192;
/// Records that are read in one go, at most.
const RECORDS_MAX: usize = 10_000;

/// A record: `6,1234,567890,-;md/raid:md0: read error corrected (...)`, and lines with its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// Since the machine started, in microseconds, without the time that it was suspended.
    pub micros: u64,
    /// What the kernel says.
    pub text: String,
}

impl LogRecord {
    /// The record in this text; `None`: it is none, or a program wrote it and not the kernel.
    pub fn parse(record: &str) -> Option<LogRecord> {
        let (prefix, rest) = record.split_once(';')?;
        let mut fields = prefix.split(',');
        let (level, micros) = (fields.next()?.parse::<u32>().ok()?, fields.nth(1)?.parse().ok()?);
        // The kernel's facility is 0; programs cannot choose it.
        let text = rest.lines().next().filter(|_| level < 8)?;
        Some(LogRecord { micros, text: text.to_owned() })
    }
}

/// The log, from when it was opened.
#[derive(Debug)]
pub struct LogReader {
    file: File,
    record: Vec<u8>,
    losses: u64,
}

impl LogReader {
    /// Opens it.
    ///
    /// # Errors
    /// Without CAP_SYSLOG where `kernel.dmesg_restrict` is 1, or where a sandbox forbids it.
    pub fn open() -> io::Result<LogReader> {
        let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg")?;
        file.seek(SeekFrom::End(0))?;
        Ok(LogReader { file, record: vec![0; RECORD_MAX], losses: 0 })
    }

    /// Passes on the records since the last call.
    pub fn drain(&mut self, mut each: impl FnMut(LogRecord)) {
        for _ in 0..RECORDS_MAX {
            match self.file.read(&mut self.record) {
                Ok(bytes) => {
                    LogRecord::parse(&String::from_utf8_lossy(&self.record[..bytes])).into_iter().for_each(&mut each);
                }
                // The kernel has overwritten records that were not read in time.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => self.losses += 1,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }

    /// How often the kernel overwrote records that were not read in time.
    pub fn losses(&self) -> u64 {
        self.losses
    }
}

impl AsFd for LogReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_the_kernels_and_has_its_time() {
        let record = LogRecord::parse("6,1234,567890,-;ata3: hard resetting link\n SUBSYSTEM=scsi\n").unwrap();
        assert_eq!((record.micros, record.text.as_str()), (567_890, "ata3: hard resetting link"));
        assert_eq!(LogRecord::parse("12,1234,567890,-;ata3: hard resetting link\n"), None, "a program wrote it");
        for none in ["", "6,1,2", "x,1,2,-;a", "6,1,x,-;a", "6,1,2,-;"] {
            assert_eq!(LogRecord::parse(none), None, "{none}");
        }
    }
}
