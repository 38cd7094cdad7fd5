//! Sockets, as far as the standard library does not know them: who may reach one, who is at its other end, and how long
//! is waited for that end.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// A listening socket at `path`, which those may connect to whom `mode` lets write; whatever the umask, nobody else ever
/// could.
///
/// # Errors
/// What the kernel says; or when the path is too long for a socket's.
pub fn listen_unix(path: &Path, mode: u32) -> io::Result<OwnedFd> {
    let address = address(path)?;
    let socket = unix_socket()?;
    // The file takes its mode from the socket's, less the umask: the wider mode comes after, by name.
    // SAFETY: the descriptor is live; the call touches no memory.
    checked(unsafe { libc::fchmod(socket.as_raw_fd(), mode) })?;
    // SAFETY: the pointer is to one whole address, which lives through the call.
    checked(unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of::<libc::sockaddr_un>() as u32)
    })?;
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    // SAFETY: the descriptor is live; the call touches no memory.
    checked(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
    Ok(socket)
}

/// Connects to a socket, if it has room for one more within `patience`; what is sent later waits no longer than that,
/// either.
///
/// # Errors
/// What the kernel says: EAGAIN when there was no room.
pub fn connect_unix(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let address = address(path)?;
    let stream = UnixStream::from(unix_socket()?);
    stream.set_write_timeout(Some(patience))?;
    // SAFETY: the pointer is to one whole address, which lives through the call.
    checked(unsafe {
        libc::connect(stream.as_raw_fd(), (&raw const address).cast(), size_of::<libc::sockaddr_un>() as u32)
    })?;
    Ok(stream)
}

/// The user at the other end of a Unix socket.
///
/// # Errors
/// What the kernel says.
pub fn peer_uid(socket: &impl AsFd) -> io::Result<u32> {
    // SAFETY: a ucred is three numbers, for which zeros are fine.
    let mut peer: libc::ucred = unsafe { zeroed() };
    let mut len = size_of::<libc::ucred>() as u32;
    // SAFETY: the pointers are to one ucred and to its size, both live and ours during the call.
    let result = unsafe {
        let fd = socket.as_fd().as_raw_fd();
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut peer).cast(), &raw mut len)
    };
    checked(result)?;
    Ok(peer.uid)
}

/// The user that we act as.
pub fn own_uid() -> u32 {
    // SAFETY: geteuid takes nothing, touches no memory and cannot fail.
    unsafe { libc::geteuid() }
}

/// Ends a TCP connection by itself whose other end has not been heard of for `patience`, or a few seconds more: it lost
/// power, or its network.
///
/// # Errors
/// What the kernel says, of a socket that is no TCP socket, too.
pub fn keep_alive(socket: &impl AsFd, patience: Duration) -> io::Result<()> {
    /// So often is asked before nobody is there.
    const PROBES: i32 = 3;
    let set = |level: i32, option: i32, value: i32| {
        // SAFETY: the pointer is to one number of the size that is said, which lives through the call.
        let result = unsafe {
            let fd = socket.as_fd().as_raw_fd();
            libc::setsockopt(fd, level, option, (&raw const value).cast(), size_of::<i32>() as u32)
        };
        checked(result)
    };
    let seconds = i32::try_from(patience.as_secs()).unwrap_or(i32::MAX).max(PROBES + 1);
    let millis = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    set(libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, millis)?;
    set(libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, seconds / 2)?;
    set(libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, (seconds / 2 / PROBES).max(1))?;
    set(libc::IPPROTO_TCP, libc::TCP_KEEPCNT, PROBES)?;
    set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)
}

fn unix_socket() -> io::Result<OwnedFd> {
    // SAFETY: the call takes plain numbers.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    checked(fd)?;
    // SAFETY: the kernel has just opened this descriptor for us, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn address(path: &Path) -> io::Result<libc::sockaddr_un> {
    let bytes = path.as_os_str().as_bytes();
    // SAFETY: a sockaddr_un is numbers, for which zeros are fine.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX as u16;
    if bytes.is_empty() || bytes.contains(&0) || bytes.len() >= address.sun_path.len() {
        let most = address.sun_path.len() - 1;
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("a socket's path has 1 to {most} bytes")));
    }
    for (place, byte) in address.sun_path.iter_mut().zip(bytes) {
        *place = *byte as libc::c_char;
    }
    Ok(address)
}

fn checked(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_is_as_open_as_it_is_meant_to_be() {
        let folder = tempfile::tempdir().unwrap();
        for mode in [0o600, 0o666] {
            let path = folder.path().join(format!("{mode:o}"));
            let listener = UnixListener::from(listen_unix(&path, mode).unwrap());
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, mode);
            let stream = connect_unix(&path, Duration::from_secs(10)).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            assert_eq!((peer_uid(&stream).unwrap(), peer_uid(&accepted).unwrap()), (own_uid(), own_uid()));
        }
        let long = folder.path().join("x".repeat(200));
        assert!(listen_unix(&long, 0o600).unwrap_err().to_string().contains("1 to 107 bytes"));
    }

    #[test]
    fn nobody_waits_for_ever_before_a_full_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("full");
        let _listener = listen_unix(&path, 0o600).unwrap();
        let patience = Duration::from_millis(1);
        let waiting: Vec<_> = std::iter::from_fn(|| connect_unix(&path, patience).ok()).take(1000).collect();
        assert!(waiting.len() < 1000);
        assert_eq!(connect_unix(&path, patience).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn only_tcp_is_kept_alive() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        keep_alive(&stream, Duration::from_secs(60)).unwrap();
        let (one, _other) = UnixStream::pair().unwrap();
        assert!(keep_alive(&one, Duration::from_secs(60)).is_err());
    }
}
