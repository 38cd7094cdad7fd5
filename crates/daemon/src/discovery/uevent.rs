//! Notifications of device changes by the kernel's netlink socket.

use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The multicast groups: the kernel's own messages, and those of udev when it has recorded its facts about the device.
const GROUPS: u32 = 1 | 2;
/// Bytes of a message that are read; the field that matters is in the first hundred or so.
const MESSAGE_MAX: usize = 8192;
/// After a message, the wait lasts until none came for this time, so that simultaneous changes are reported once.
const QUIET: Duration = Duration::from_secs(1);
/// The longest such wait.
const QUIET_MAX: Duration = Duration::from_secs(10);
/// The subsystems that matter: disks and arrays, bays, and power.
const SUBSYSTEMS: [&str; 3] = ["block", "enclosure", "power_supply"];

/// Waits for notifications that something changed; the next survey finds out what. It needs no permission. A forged
/// message costs a survey, no more.
#[derive(Debug)]
pub struct UeventSocket(OwnedFd);

impl UeventSocket {
    /// Listens from now on.
    ///
    /// # Errors
    /// The kernel has no such socket, or a sandbox forbids it: then the pump surveys at intervals only.
    pub fn open() -> io::Result<UeventSocket> {
        let socket =
            socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(KOBJECT_UEVENT))?;
        bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(UeventSocket(socket))
    }

    /// Waits until something about disks, arrays, bays or power has changed and is quiet again. False: `timeout` is over.
    pub fn wait(&self, timeout: Duration) -> bool {
        if !self.receive(Instant::now() + timeout) {
            return false;
        }
        let last = Instant::now() + QUIET_MAX;
        while self.receive(last.min(Instant::now() + QUIET)) && Instant::now() < last {}
        true
    }

    /// Did a message that matters arrive before that time?
    fn receive(&self, until: Instant) -> bool {
        let mut message = [0; MESSAGE_MAX];
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return false;
            }
            // A zero time-out would wait for ever, and less than a microsecond counts as zero.
            let rest = rest.max(Duration::from_millis(1));
            let received = set_socket_timeout(&self.0, Timeout::Recv, Some(rest))
                .and_then(|()| recv(&self.0, &mut message[..], RecvFlags::empty()));
            match received {
                Ok((_, length)) if matters(&message[..length.min(MESSAGE_MAX)]) => return true,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return false,
                Err(Errno::NOBUFS) => return true, // some messages were lost
                Err(_) => {
                    // The socket failed: act as if something had changed, but no faster than the time-out.
                    std::thread::sleep(rest);
                    return true;
                }
            }
        }
    }
}

/// Does a message concern one of [`SUBSYSTEMS`]? Fields end in zeros, behind `ACTION@PATH`, or behind udev's binary head.
fn matters(message: &[u8]) -> bool {
    let subsystem = |field: &[u8]| {
        let name = field.strip_prefix(b"SUBSYSTEM=")?;
        Some(SUBSYSTEMS.iter().any(|wanted| wanted.as_bytes() == name))
    };
    // udev's head may be joined to the first field, which is never SUBSYSTEM alone: its list begins with ACTION.
    message.split(|byte| *byte == 0).find_map(subsystem).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_disks_bays_and_power_matter() {
        let kernel = |subsystem: &str| {
            format!("add@/devices/x\0ACTION=add\0DEVPATH=/devices/x\0SUBSYSTEM={subsystem}\0SEQNUM=1\0").into_bytes()
        };
        assert!(matters(&kernel("block")) && matters(&kernel("enclosure")) && matters(&kernel("power_supply")));
        assert!(!matters(&kernel("net")) && !matters(&kernel("blocks")) && !matters(b"") && !matters(b"SUBSYSTEM=bl"));
        let mut udev = b"libudev\0\xfe\xed\xca\xfe\x28\0\0\0\x28\0\0\0\x10\x02\0\0".to_vec();
        udev.extend(b"ACTION=change\0DEVPATH=/devices/x\0SUBSYSTEM=block\0");
        assert!(matters(&udev));
    }

    #[test]
    fn a_wait_of_zero_time_returns_false() {
        // A sandbox may forbid the socket; then nothing can be tested.
        if let Ok(socket) = UeventSocket::open() {
            assert!(!socket.wait(Duration::ZERO));
        }
    }
}
