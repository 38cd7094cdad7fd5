//! The addresses that a server listens at: a socket's path, or a host and port.

use scrubjay_device::completion::{Socket, connect_unix, listen_unix};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait for the socket of a killed server. The kernel releases it only when the I/O of that process has ended,
/// some time after the process is gone; until then connections are accepted, and never answered. (A running server sends
/// bytes at once.)
const CLOSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Time between two attempts to connect to such a socket.
const PAUSE: Duration = Duration::from_millis(20);

/// An address to listen at: `unix:PATH` or `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A host's name or IP address, and a port; port 0: any free one.
    Tcp(String),
}

/// Why an address cannot be listened at.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another server listens there.
    #[error("{0}: another server listens there")]
    Taken(Address),
    /// The path exists, and is not a socket.
    #[error("{0}: there is something else, which is no socket")]
    NoSocket(Address),
    /// The kernel refused it.
    #[error("{address}: {source}")]
    Refused {
        /// The address, as it was given.
        address: Address,
        /// The kernel's error.
        source: io::Error,
    },
}

/// A text that is no address.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is neither unix:PATH nor HOST:PORT")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Address::Unix(path.into()));
        }
        // A host with colons is an IPv6 address, in brackets.
        let is_host =
            |host: &str| !host.is_empty() && (!host.contains(':') || host.starts_with('[') && host.ends_with(']'));
        let port = text.rsplit_once(':').filter(|(host, _)| is_host(host)).map(|(_, port)| port.parse::<u16>());
        match port {
            Some(Ok(_)) => Ok(Address::Tcp(text.to_owned())),
            _ => Err(AddressError(text.to_owned())),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(text) => f.write_str(text),
        }
    }
}

impl Address {
    /// Do all clients that can reach it run on this machine? A host name that cannot be resolved counts as not local.
    pub fn is_local(&self) -> bool {
        match self {
            Address::Unix(_) => true,
            Address::Tcp(text) => {
                text.to_socket_addrs().is_ok_and(|mut all| all.all(|address| address.ip().to_canonical().is_loopback()))
            }
        }
    }
}

/// A listening socket. Dropping it removes its path.
#[derive(Debug)]
pub(super) struct Listener {
    pub socket: Socket,
    pub address: Address,
    /// Device and inode of the socket at its path: only that file is removed.
    file: Option<(u64, u64)>,
}

impl Listener {
    /// Listens at `address`; a socket's path gets the permissions `mode`. A socket that a dead server left behind is replaced.
    pub fn bind(address: &Address, mode: u32) -> Result<Listener, BindError> {
        Listener::bind_within(address, mode, CLOSE_TIMEOUT)
    }

    /// [`Listener::bind`], with a limit of its own to the wait for a server that does not answer.
    fn bind_within(address: &Address, mode: u32, patience: Duration) -> Result<Listener, BindError> {
        let refused = |source| BindError::Refused { address: address.clone(), source };
        let (socket, address) = match address {
            Address::Unix(path) => {
                remove_stale(path, address, patience)?;
                (listen_unix(path, mode).map_err(refused)?, address.clone())
            }
            Address::Tcp(host) => {
                let listener = TcpListener::bind(host).map_err(|source| match source.kind() {
                    io::ErrorKind::AddrInUse => BindError::Taken(address.clone()),
                    _ => refused(source),
                })?;
                let local = listener.local_addr().map_err(refused)?;
                (OwnedFd::from(listener), Address::Tcp(local.to_string()))
            }
        };
        let file = if let Address::Unix(path) = &address { file_at(path) } else { None };
        Ok(Listener { socket: Arc::new(socket), address, file })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path) = &self.address
            && self.file == file_at(path)
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Device and inode of the file at a path.
fn file_at(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Removes a socket without a server. Fails if a server answers there, or does not release it within `patience`.
fn remove_stale(path: &Path, address: &Address, patience: Duration) -> Result<(), BindError> {
    let Ok(metadata) = path.symlink_metadata() else { return Ok(()) };
    if !metadata.file_type().is_socket() {
        return Err(BindError::NoSocket(address.clone()));
    }
    let refused = |source| BindError::Refused { address: address.clone(), source };
    let until = Instant::now() + patience;
    loop {
        match connect_unix(path, patience) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return std::fs::remove_file(path).map_err(refused);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(BindError::Taken(address.clone())),
            Err(source) => return Err(refused(source)),
            Ok(stream) if is_answered(&stream, until) || Instant::now() >= until => {
                return Err(BindError::Taken(address.clone()));
            }
            Ok(_) => thread::sleep(PAUSE),
        }
    }
}

/// Does a server send anything before `until`? NBD servers greet by themselves; control sockets answer an empty command.
fn is_answered(mut stream: &UnixStream, until: Instant) -> bool {
    let patience = until.saturating_duration_since(Instant::now()).max(PAUSE);
    let _ = stream.set_read_timeout(Some(patience)).and_then(|()| stream.write_all(b"\n"));
    stream.read(&mut [0; 1]).is_ok_and(|count| count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// Longer than any test here takes.
    const LONG: Duration = Duration::from_secs(600);

    fn bind(address: &Address) -> Result<Listener, BindError> {
        Listener::bind(address, 0o600)
    }

    #[test]
    fn addresses_are_printed_as_they_are_parsed() {
        for text in ["unix:/run/x.sock", "unix:relative", "localhost:10809", "127.0.0.1:0", "[::1]:10809"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        let wrong = ["", "unix:", "localhost", ":10809", "localhost:port", "localhost:70000", "/run/x.sock"];
        for text in wrong.into_iter().chain(["tcp:127.0.0.1:10809", "::1:10809", "[::1:10809"]) {
            assert!(text.parse::<Address>().unwrap_err().to_string().contains("unix:PATH"), "{text}");
        }
    }

    #[test]
    fn only_loopback_and_paths_are_local() {
        for text in ["unix:/run/x.sock", "127.0.0.1:10809", "127.9.9.9:1", "[::1]:0", "[::ffff:127.0.0.1]:1"] {
            assert!(text.parse::<Address>().unwrap().is_local(), "{text}");
        }
        for text in ["0.0.0.0:10809", "[::]:10809", "192.0.2.1:10809", "[2001:db8::1]:1", "[::ffff:192.0.2.1]:1"] {
            assert!(!text.parse::<Address>().unwrap().is_local(), "{text}");
        }
    }

    #[test]
    fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let address = Address::Unix(path.clone());
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "left behind");
        let listener = bind(&address).unwrap();
        let error = Listener::bind_within(&address, 0o600, PAUSE).unwrap_err().to_string();
        assert!(error.contains("another server listens there"), "{error}");
        drop(listener);
        assert!(!path.exists());

        std::fs::write(&path, "precious").unwrap();
        let error = bind(&address).unwrap_err().to_string();
        assert!(error.contains("no socket"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }

    #[test]
    fn a_server_that_dies_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let dying = UnixListener::bind(&path).unwrap();
        // The dying server still has the socket open, never answers, and closes it after the first connection.
        let death = thread::spawn(move || drop((dying.accept(), dying)));
        let listener = Listener::bind_within(&Address::Unix(path), 0o600, LONG).unwrap();
        death.join().unwrap();
        drop(listener);
    }

    #[test]
    fn a_server_that_ends_does_not_take_the_next_ones_socket_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let address = Address::Unix(path.clone());
        let first = bind(&address).unwrap();
        std::fs::remove_file(&path).unwrap();
        let second = bind(&address).unwrap();
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn binding_a_taken_port_reports_another_server() {
        let Ok(listener) = bind(&Address::Tcp("127.0.0.1:0".into())) else { return };
        let error = bind(&listener.address).unwrap_err().to_string();
        assert!(error.contains("another server listens there"), "{error}");
    }
}
