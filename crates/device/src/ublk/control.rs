//! Commands to the ublk driver, one at a time, by a small ring of their own, because its entries must be big ones.

use super::abi::{self, ControlCommand, INFO_BYTES, UblkInfo, UblkParameters, feature};
use super::error::UblkError;
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;

/// The device that takes commands.
const CONTROL: &str = "/dev/ublk-control";
/// The folder that lists the driver's devices: `ublkcN`.
const DEVICES: &str = "/sys/class/ublk-char";

/// The driver.
pub struct UblkControl {
    file: File,
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
}

impl UblkControl {
    /// Opens the driver, if it is loaded and has the required features.
    ///
    /// # Errors
    /// [`UblkError::NoDriver`], [`UblkError::TooOld`], or the kernel's error.
    pub fn open() -> Result<UblkControl, UblkError> {
        let file = OpenOptions::new().read(true).write(true).open(CONTROL).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => UblkError::NoDriver,
            _ => UblkError::Refused { what: CONTROL.to_owned(), source },
        })?;
        let ring =
            IoUring::builder().build(2).map_err(|source| UblkError::Refused { what: "io_uring".into(), source })?;
        let mut control = UblkControl { file, ring };
        let features = control.features().map_err(|_| UblkError::TooOld)?; // this command exists since Linux 6.5 only
        if features & feature::REQUIRED != feature::REQUIRED {
            return Err(UblkError::TooOld);
        }
        Ok(control)
    }

    /// All devices of the driver.
    pub fn devices(&mut self) -> io::Result<Vec<UblkInfo>> {
        let entries = match fs::read_dir(DEVICES) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix("ublkc")?.parse().ok();
        let mut numbers: Vec<u32> = entries.flatten().filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers.into_iter().filter_map(|number| self.device(number).ok()).collect())
    }

    /// The driver's description of a device.
    pub fn device(&mut self, number: u32) -> io::Result<UblkInfo> {
        let mut bytes = [0; INFO_BYTES];
        self.send_with_memory(abi::GET_DEVICE, number, &mut bytes)?;
        Ok(UblkInfo::of_bytes(&bytes))
    }

    /// Makes a device; its number may be `abi::ANY_NUMBER`. Returns its description.
    pub fn add(&mut self, info: UblkInfo) -> io::Result<UblkInfo> {
        let mut bytes = info.to_bytes();
        self.send_with_memory(abi::ADD_DEVICE, info.number, &mut bytes)?;
        Ok(UblkInfo::of_bytes(&bytes))
    }

    /// Sets the parameters of a device that was not started yet.
    pub fn set_parameters(&mut self, number: u32, parameters: UblkParameters) -> io::Result<()> {
        self.send_with_memory(abi::SET_PARAMETERS, number, &mut parameters.to_bytes())
    }

    /// Sends a command that has no data.
    pub fn send(&mut self, command: u32, number: u32) -> io::Result<()> {
        self.send_number(command, number, 0)
    }

    /// Sends a command with one number as data.
    pub fn send_number(&mut self, command: u32, number: u32, data: u64) -> io::Result<()> {
        self.call(command, ControlCommand { number, data, ..ControlCommand::default() }, &mut [])
    }

    fn features(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.send_with_memory(abi::GET_FEATURES, 0, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    fn send_with_memory(&mut self, command: u32, number: u32, memory: &mut [u8]) -> io::Result<()> {
        self.call(command, ControlCommand { number, ..ControlCommand::default() }, memory)
    }

    /// Sends a command, with memory that the driver reads and writes, and waits for its end.
    fn call(&mut self, command: u32, control: ControlCommand, memory: &mut [u8]) -> io::Result<()> {
        let (address, len) = (memory.as_mut_ptr() as u64, memory.len() as u16);
        let control = ControlCommand { address: if memory.is_empty() { 0 } else { address }, len, ..control };
        let entry = opcode::UringCmd80::new(types::Fd(self.file.as_raw_fd()), command).cmd(control.to_bytes()).build();
        // SAFETY: the file is `self`'s, and the memory is borrowed from the caller until the kernel has ended the command.
        unsafe { self.ring.submission().push(&entry) }.expect("the queue is empty between commands");
        loop {
            let waited = self.ring.submit_and_wait(1);
            let ended = { self.ring.completion().next() };
            match (ended, waited) {
                (Some(ended), _) if ended.result() < 0 => return Err(io::Error::from_raw_os_error(-ended.result())),
                (Some(_), _) => return Ok(()),
                (None, Err(error)) if !is_transient(&error) => panic!("a ring that lost a command: {error}"),
                (None, _) => (),
            }
        }
    }
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}
