//! Claims: two scrubs of one disk would only be in each other's way, so the second is told who holds it.
//!
//! A claim is a listening socket in Linux's abstract namespace, named after the disk's device number. It leaves nothing
//! behind, whatever ends its holder, and the kernel itself says who that is. (Containers with a network namespace of
//! their own do not see each other's claims.)

use std::io;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// Holds the disk until it is dropped.
#[derive(Debug)]
pub struct Claim {
    _listener: UnixListener,
}

/// Why there is no claim.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Another process holds it.
    #[error("is being scrubbed already, by process {pid} ({command}): let it finish, or stop it (a stop is a pause)")]
    Held {
        /// Whose.
        pid: u32,
        /// Its command line.
        command: String,
    },
    /// This very process holds it.
    #[error("lies on the same disk as another target of this command: scrub them one after the other")]
    HeldByUs,
    /// The kernel refuses.
    #[error("cannot be claimed: {0}")]
    Io(#[from] io::Error),
}

impl Claim {
    /// Claims what `name` stands for, one holder at a time on this machine. At most 80 bytes.
    ///
    /// # Errors
    /// [`ClaimError::Held`] when somebody does already.
    pub fn take(name: &str) -> Result<Claim, ClaimError> {
        let address = SocketAddr::from_abstract_name(format!("scrubjay/claim/{name}"))?;
        match UnixListener::bind_addr(&address) {
            Ok(listener) => Ok(Claim { _listener: listener }),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(held_by(&address)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Who listens there?
fn held_by(address: &SocketAddr) -> ClaimError {
    let pid = match UnixStream::connect_addr(address).and_then(|stream| peer(&stream)) {
        Ok(pid) => pid,
        Err(error) => return ClaimError::Io(error),
    };
    if pid == std::process::id() {
        return ClaimError::HeldByUs;
    }
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = line.split(|&byte| byte == 0).filter(|w| !w.is_empty()).map(String::from_utf8_lossy).collect();
    ClaimError::Held { pid, command: words.join(" ") }
}

fn peer(stream: &UnixStream) -> io::Result<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of the live struct, to the pointer.
    let result = unsafe {
        let place = (&raw mut credentials).cast();
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut length)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(credentials.pid as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let name = format!("test/{}", std::process::id());
        let claim = Claim::take(&name).unwrap();
        assert!(matches!(Claim::take(&name), Err(ClaimError::HeldByUs)));
        drop(claim);
        Claim::take(&name).unwrap();
    }
}
