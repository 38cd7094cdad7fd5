//! The kernel's word that something about devices changed, by its netlink socket.

use rustix::io::Errno;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The kernel's own messages, and those of udev when it has noted what it knows of the device.
const GROUPS: u32 = 1 | 2;
/// Longer messages are cut; what is looked for stands in the first hundred bytes or so.
const MESSAGE_MAX: usize = 8192;
/// After a message it is waited until nothing came for so long: what happens together is told together,
const QUIET: Duration = Duration::from_secs(1);
/// but no longer than this.
const QUIET_MAX: Duration = Duration::from_secs(10);
/// What matters: disks and arrays, bays, and power.
const SUBSYSTEMS: [&str; 3] = ["block", "enclosure", "power_supply"];

/// Hears that something changed; what, the next survey says. It needs no permission. A message that somebody made up costs a
/// survey, no more.
#[derive(Debug)]
pub struct UeventSocket(OwnedFd);

impl UeventSocket {
    /// Listens from now on.
    ///
    /// # Errors
    /// The kernel has no such socket, or a sandbox forbids it: then the pump looks every minute or so.
    pub fn open() -> io::Result<UeventSocket> {
        let socket =
            socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(KOBJECT_UEVENT))?;
        bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(UeventSocket(socket))
    }

    /// Waits until something about disks, arrays, bays or power has changed and is quiet again, or `timeout` is over: false.
    pub fn wait(&self, timeout: Duration) -> bool {
        if !self.hear(Instant::now() + timeout) {
            return false;
        }
        let last = Instant::now() + QUIET_MAX;
        while self.hear(last.min(Instant::now() + QUIET)) && Instant::now() < last {}
        true
    }

    /// Was something that matters heard before then?
    fn hear(&self, until: Instant) -> bool {
        let mut message = [0; MESSAGE_MAX];
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return false;
            }
            // None would wait for ever; less than a microsecond counts as none.
            let rest = rest.max(Duration::from_millis(1));
            let heard = set_socket_timeout(&self.0, Timeout::Recv, Some(rest))
                .and_then(|()| recv(&self.0, &mut message[..], RecvFlags::empty()));
            match heard {
                Ok((_, length)) if matters(&message[..length.min(MESSAGE_MAX)]) => return true,
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return false,
                Err(Errno::NOBUFS) => return true, // some were lost
                Err(_) => {
                    // It cannot be listened to any more: as if something had changed, but not faster than it was waited for.
                    std::thread::sleep(rest);
                    return true;
                }
            }
        }
    }
}

/// Is it about something that is looked at? Fields end in zeros, behind `ACTION@PATH`, or behind udev's binary head.
fn matters(message: &[u8]) -> bool {
    let subsystem = |field: &[u8]| {
        let name = field.strip_prefix(b"SUBSYSTEM=")?;
        Some(SUBSYSTEMS.iter().any(|wanted| wanted.as_bytes() == name))
    };
    // udev's head may be stuck to the first field, which is never the subsystem alone: its list begins with ACTION.
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
    fn what_is_not_waited_for_is_not_heard() {
        // A sandbox may forbid the socket; then there is nothing to try.
        if let Ok(socket) = UeventSocket::open() {
            assert!(!socket.wait(Duration::ZERO));
        }
    }
}
