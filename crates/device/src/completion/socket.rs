//! Socket functions that the standard library lacks: access rights, the user at the other end, and time-outs for the
//! other end.

use rustix::fs::{FileType, Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;
/// The longest path of a socket in bytes (`sun_path` of `unix(7)`, without its terminating zero).
const PATH_BYTES_MAX: usize = 107;

/// A listening socket at `path`. Those to whom `mode` grants writing may connect, whatever the umask; no other user could at
/// any time.
///
/// # Errors
/// The kernel's error; or when the path is too long for a socket's.
pub fn listen_unix(path: &Path, mode: u32) -> io::Result<OwnedFd> {
    let address = address(path)?;
    let socket = unix_socket()?;
    // The file gets its mode from the socket's, less the umask; the wider mode is set afterwards, by name.
    rustix::fs::fchmod(&socket, Mode::from_raw_mode(mode))?;
    rustix::net::bind(&socket, &address)?;
    widen(path, mode)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Sets the mode of the socket at this path. Anything that has replaced it meanwhile, such as a link, keeps its mode.
fn widen(path: &Path, mode: u32) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) != FileType::Socket {
        return Err(io::Error::other("something else is in the place of the socket that was just made"));
    }
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::set_permissions(link, PermissionsExt::from_mode(mode))
}

/// Connects to a socket, if it has room for one more connection within `patience`, which is also the time-out of later
/// writes.
///
/// # Errors
/// The kernel's error: EAGAIN when there was no room.
pub fn connect_unix(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let address = address(path)?;
    let stream = UnixStream::from(unix_socket()?);
    stream.set_write_timeout(Some(patience))?;
    rustix::net::connect(&stream, &address)?;
    Ok(stream)
}

/// The user at the other end of a Unix socket.
///
/// # Errors
/// The kernel's error.
pub fn peer_uid(socket: &impl AsFd) -> io::Result<u32> {
    Ok(sockopt::socket_peercred(socket)?.uid.as_raw())
}

/// The effective user of this process.
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes the kernel end a TCP connection whose other end was silent for `patience`, or a few seconds more: it lost power, or
/// its network.
///
/// # Errors
/// The kernel's error, which also comes for a socket that is no TCP socket.
pub fn keep_alive(socket: &impl AsFd, patience: Duration) -> io::Result<()> {
    /// Unanswered probes before the connection ends.
    const PROBES: u32 = 3;
    /// The longest interval in seconds that the kernel accepts (`MAX_TCP_KEEPIDLE` of `net/tcp.h`).
    const LONGEST: u64 = 32_767;
    let half = (patience.as_secs() / 2).min(LONGEST);
    let seconds = |count: u64| Duration::from_secs(count.max(1));
    sockopt::set_tcp_user_timeout(socket, patience.as_millis().min(i32::MAX as u128) as u32)?; // more than that is EINVAL
    sockopt::set_tcp_keepidle(socket, seconds(half))?;
    sockopt::set_tcp_keepintvl(socket, seconds(half / u64::from(PROBES)))?;
    sockopt::set_tcp_keepcnt(socket, PROBES)?;
    sockopt::set_socket_keepalive(socket, true)?;
    Ok(())
}

fn unix_socket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

fn address(path: &Path) -> io::Result<SocketAddrUnix> {
    let address = SocketAddrUnix::new(path).ok().filter(|_| (1..=PATH_BYTES_MAX).contains(&path.as_os_str().len()));
    let error =
        || io::Error::new(io::ErrorKind::InvalidInput, format!("a socket's path has 1 to {PATH_BYTES_MAX} bytes"));
    address.ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_gets_the_requested_mode() {
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
    fn connecting_to_a_full_socket_does_not_wait_for_ever() {
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
        let (unix_stream, _other) = UnixStream::pair().unwrap();
        assert!(keep_alive(&unix_stream, Duration::from_secs(60)).is_err());
    }

    #[test]
    fn a_file_in_the_place_of_the_socket_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let (secret, path) = (folder.path().join("secret"), folder.path().join("socket"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::write(&secret, "").unwrap();
        fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&secret, &path).unwrap();
        assert!(widen(&path, 0o666).is_err());
        assert_eq!(mode(&secret), 0o600);
        fs::remove_file(&path).unwrap();
        let _listener = UnixListener::bind(&path).unwrap();
        widen(&path, 0o606).unwrap();
        assert_eq!(mode(&path), 0o606);
    }
}
