//! Decides which block device a volume gets: a new one, or the one that waits since its last server was killed.

use super::abi::{self, UblkInfo, UblkParameters, UblkState, feature};
use super::control::UblkControl;
use super::error::UblkError;
use super::lifecycle;
use super::queue::{UblkQueue, queue_path};
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Requests in flight, at most: as many as the kernel sends over NBD.
pub const DEPTH: u16 = 128;

/// The longest request in bytes; the kernel splits longer ones. All together hold 64 MiB, and at least four stripes of the
/// usual chunks fit into one.
const REQUEST_BYTES_MAX: u32 = 512 << 10;

/// The longest discard or write of zeros, in bytes.
const ZEROS_BYTES_MAX: u32 = 1 << 30;

/// The block in bytes that is best written as a whole: the block of the lists of every scheme.
const BLOCK: u32 = 4096;

/// The longest wait for a device whose server was killed. The kernel first ends the server's requests: soon, but if all requests
/// were with the server, before Linux 6.16 only when a request is 30 s old, which it checks once in 30 s.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(90);
/// The longest wait for a server that is alive: it may be about to be killed.
const DEATH_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between two checks.
const PAUSE: Duration = Duration::from_millis(20);

/// What a device is made for.
#[derive(Clone, Copy, Debug)]
pub struct UblkPurpose {
    /// A number that identifies its owner.
    pub mark: u64,
    /// Its size in bytes, a multiple of 512.
    pub size: u64,
    /// The multiple that requests should have, in bytes: a power of two.
    pub preferred: u32,
    /// Whether writes are refused.
    pub is_read_only: bool,
}

/// The steps to get a device. None of them is done yet.
pub struct UblkPlan {
    control: UblkControl,
    purpose: UblkPurpose,
    /// The number that the device has or is to have; `None`: any.
    number: Option<u32>,
    action: UblkAction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UblkAction {
    /// There is no device.
    Make,
    /// There is a device that was never started, because its maker was killed.
    Remake,
    /// There is a device without a server.
    Recover,
}

/// A device whose queue is open; it is neither started nor recovered yet.
pub struct UblkDevice {
    number: u32,
    queue: UblkQueue,
    is_recovered: bool,
}

impl UblkPlan {
    /// Looks for the device that belongs to `purpose`. `wanted`: the number that it must have. Waits for a device whose server was
    /// killed just now.
    ///
    /// # Errors
    /// [`UblkError`]: among others, when the number belongs to another device, or another process serves the device.
    pub fn new(mut control: UblkControl, wanted: Option<u32>, purpose: UblkPurpose) -> Result<UblkPlan, UblkError> {
        let devices = control.devices().map_err(|source| refused("ublk's devices", source))?;
        let own = judge(&devices, wanted, &purpose)?;
        let action = match own {
            None => UblkAction::Make,
            Some(info) if info.state == UblkState::Dead => UblkAction::Remake,
            Some(info) => {
                await_release(&mut control, info.number)?;
                UblkAction::Recover
            }
        };
        Ok(UblkPlan { control, purpose, number: own.map(|info| info.number).or(wanted), action })
    }

    /// Makes the device, or begins to recover it, and opens its queue. All its requests must then be fetched at once, because a
    /// device whose recovery was begun and not ended cannot be recovered again.
    ///
    /// # Errors
    /// [`UblkError`].
    pub fn carry_out(mut self) -> Result<UblkDevice, UblkError> {
        if self.action == UblkAction::Remake
            && let Some(number) = self.number
        {
            let deleted = self.control.send(abi::DELETE_DEVICE, number);
            deleted.map_err(|source| refused(&lifecycle::path(number).display().to_string(), source))?;
        }
        let number = match (self.action, self.number) {
            (UblkAction::Recover, Some(number)) => {
                self.control.send(abi::START_RECOVERY, number).map_err(|source| match source.raw_os_error() {
                    Some(libc::EINVAL) => UblkError::Unrecoverable(number),
                    Some(libc::EBUSY) => UblkError::Held(number),
                    _ => refused(&lifecycle::path(number).display().to_string(), source),
                })?;
                number
            }
            _ => self.make()?,
        };
        let queue = UblkQueue::open(number, DEPTH).map_err(|source| refused(&queue_path(number), source));
        if queue.is_err() && self.action != UblkAction::Recover {
            let _ = self.control.send(abi::DELETE_DEVICE, number);
        }
        Ok(UblkDevice { number, queue: queue?, is_recovered: self.action == UblkAction::Recover })
    }

    fn make(&mut self) -> Result<u32, UblkError> {
        let info = UblkInfo {
            number: self.number.unwrap_or(abi::ANY_NUMBER),
            state: UblkState::Dead,
            queues: 1,
            depth: DEPTH,
            request_bytes_max: REQUEST_BYTES_MAX,
            server: -1,
            features: feature::REQUIRED,
            mark: self.purpose.mark,
        };
        let device = self.control.add(info).map_err(|source| refused("a new ublk device", source))?;
        let parameters = UblkParameters {
            size: self.purpose.size,
            request_bytes_max: REQUEST_BYTES_MAX,
            zeros_bytes_max: ZEROS_BYTES_MAX,
            block: BLOCK,
            preferred: self.purpose.preferred.max(BLOCK),
            is_read_only: self.purpose.is_read_only,
        };
        if let Err(source) = self.control.set_parameters(device.number, parameters) {
            let _ = self.control.send(abi::DELETE_DEVICE, device.number);
            return Err(refused(&lifecycle::path(device.number).display().to_string(), source));
        }
        Ok(device.number)
    }
}

impl UblkDevice {
    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Path of the block device.
    pub fn path(&self) -> PathBuf {
        lifecycle::path(self.number)
    }

    /// Its queue of requests.
    pub fn queue(&self) -> &UblkQueue {
        &self.queue
    }

    /// Whether it had another server before.
    pub fn is_recovered(&self) -> bool {
        self.is_recovered
    }

    /// Removes the device, which has been stopped, or was never started. No other process may have its queue open.
    ///
    /// # Errors
    /// [`UblkError`].
    pub fn delete(self) -> Result<(), UblkError> {
        let UblkDevice { number, queue, .. } = self;
        drop(queue); // the kernel waits until it is closed
        lifecycle::delete(number)
    }
}

/// The device of this purpose among all devices.
fn judge(devices: &[UblkInfo], wanted: Option<u32>, purpose: &UblkPurpose) -> Result<Option<UblkInfo>, UblkError> {
    let own = devices.iter().find(|info| info.mark == purpose.mark);
    match (own, wanted) {
        (Some(own), Some(wanted)) if own.number != wanted => {
            return Err(UblkError::Elsewhere { has: own.number, wanted });
        }
        (None, Some(wanted)) if devices.iter().any(|info| info.number == wanted) => {
            return Err(UblkError::Stranger(wanted));
        }
        _ => (),
    }
    let Some(own) = own else { return Ok(None) };
    let has_expected_properties = own.queues == 1
        && own.depth == DEPTH
        && own.request_bytes_max == REQUEST_BYTES_MAX
        && own.features & feature::REQUIRED == feature::REQUIRED;
    let has_same_size_and_access =
        || has_size(own.number, purpose.size) && has_access(own.number, purpose.is_read_only);
    if own.state != UblkState::Dead && !(has_expected_properties && has_same_size_and_access()) {
        return Err(UblkError::Changed(own.number));
    }
    Ok(Some(*own))
}

/// Whether the block device has this size in bytes. (False if its size cannot be read.)
fn has_size(number: u32, size: u64) -> bool {
    let text = std::fs::read_to_string(format!("/sys/block/ublkb{number}/size")).unwrap_or_default();
    text.trim().parse::<u64>().is_ok_and(|sectors| sectors == size >> 9)
}

/// Whether the block device is read-only or writable as required: its users might lose writes otherwise.
fn has_access(number: u32, is_read_only: bool) -> bool {
    let text = std::fs::read_to_string(format!("/sys/block/ublkb{number}/ro")).unwrap_or_default();
    text.trim() == if is_read_only { "1" } else { "0" }
}

/// Waits until the kernel has released a device whose server was killed.
fn await_release(control: &mut UblkControl, number: u32) -> Result<(), UblkError> {
    let begun = Instant::now();
    loop {
        let info =
            control.device(number).map_err(|source| refused(&lifecycle::path(number).display().to_string(), source))?;
        match info.state {
            // Its queue can only be opened by one process at a time.
            UblkState::Quiesced if OpenOptions::new().read(true).open(queue_path(number)).is_ok() => return Ok(()),
            UblkState::Quiesced | UblkState::Live => (),
            UblkState::Dead | UblkState::Other(_) => return Err(UblkError::Unrecoverable(number)),
        }
        if info.state == UblkState::Live && begun.elapsed() >= DEATH_TIMEOUT && is_alive(info.server) {
            return Err(UblkError::Served { number, server: info.server });
        }
        if begun.elapsed() >= RELEASE_TIMEOUT {
            return Err(UblkError::Held(number));
        }
        thread::sleep(PAUSE);
    }
}

/// Whether this process is alive, not merely a zombie.
fn is_alive(process: i32) -> bool {
    Path::new(&format!("/proc/{process}/exe")).read_link().is_ok()
}

fn refused(subject: &str, source: io::Error) -> UblkError {
    UblkError::Refused { what: subject.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURPOSE: UblkPurpose = UblkPurpose { mark: 77, size: 1 << 30, preferred: 65536, is_read_only: false };

    fn device(number: u32, state: UblkState, mark: u64) -> UblkInfo {
        UblkInfo {
            number,
            state,
            queues: 1,
            depth: DEPTH,
            request_bytes_max: REQUEST_BYTES_MAX,
            server: 1,
            features: feature::REQUIRED,
            mark,
        }
    }

    #[test]
    fn a_device_is_known_by_its_mark() {
        let number = 999_999; // does not exist
        let own = device(number, UblkState::Dead, 77);
        let devices = [device(0, UblkState::Quiesced, 78), own];
        assert_eq!(judge(&devices, None, &PURPOSE).unwrap(), Some(own));
        assert_eq!(judge(&devices, Some(number), &PURPOSE).unwrap(), Some(own));
        assert!(matches!(judge(&devices, Some(0), &PURPOSE), Err(UblkError::Elsewhere { has: 999_999, wanted: 0 })));
        assert!(matches!(judge(&devices[..1], Some(0), &PURPOSE), Err(UblkError::Stranger(0))));
        assert_eq!(judge(&devices[..1], Some(3), &PURPOSE).unwrap(), None);
        assert_eq!(judge(&[], None, &PURPOSE).unwrap(), None);
    }

    #[test]
    fn a_device_with_other_properties_is_not_taken_over() {
        let other = UblkInfo { depth: 64, ..device(999_999, UblkState::Quiesced, 77) };
        assert!(matches!(judge(&[other], None, &PURPOSE), Err(UblkError::Changed(999_999))));
        let of_another_size = device(999_999, UblkState::Quiesced, 77);
        assert!(matches!(judge(&[of_another_size], None, &PURPOSE), Err(UblkError::Changed(_))));
    }

    #[test]
    fn a_live_process_is_distinguished_from_one_that_is_gone() {
        assert!(is_alive(std::process::id() as i32));
        assert!(!is_alive(i32::MAX));
    }
}
