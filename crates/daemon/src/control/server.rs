//! The server end of the daemon's sockets: one thread listens, and each of few connections has a thread for a short time.

use scrubjay_control::{WatchAnswer, WatchRequest};
use scrubjay_device::completion::{listen_unix, own_uid, peer_uid};
use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

/// Bytes of a request, at most.
const LINE_MAX: u64 = 16 << 10;
/// Connections at the same time, at most; further ones are asked to come back.
const CONNECTIONS_MAX: usize = 16;
/// How long a client may neither send nor receive before its connection is closed.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an answer of the pump is awaited: it takes milliseconds, but longer while the pump waits for a full disk.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A request, and the sender of its answer.
#[derive(Debug)]
pub struct PendingAnswer {
    /// The request.
    pub request: WatchRequest,
    answer: Sender<WatchAnswer>,
}

impl PendingAnswer {
    /// Sends the answer. The client may be gone.
    pub fn answer(self, answer: WatchAnswer) {
        let _ = self.answer.send(answer);
    }
}

/// Why the daemon cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Another daemon listens.
    #[error("{0}: another watch is running: stop it first (systemctl stop scrubjay)")]
    Taken(PathBuf),
    /// The kernel reports an error.
    #[error("{path}: {source}")]
    Io {
        /// The path of the socket.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

/// Which clients may send which requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlAccess {
    /// A socket for the daemon's user and root: all requests.
    Verbs,
    /// A socket for the web page: requests that [`WatchRequest::is_for_page`] accepts. The group of this number may
    /// open it; `None`: only the daemon's user.
    Page(Option<u32>),
    /// A socket for monitoring: the status, and nothing else. The same of the group.
    Status(Option<u32>),
}

impl ControlAccess {
    fn mode(self) -> u32 {
        match self {
            _ if self.group().is_some() => 0o660,
            _ => 0o600,
        }
    }

    /// May a client of this user send any request here? A group's socket is protected by its mode.
    fn admits(self, user: u32) -> bool {
        user == 0 || user == own_uid() || self.group().is_some()
    }

    fn group(self) -> Option<u32> {
        match self {
            ControlAccess::Verbs => None,
            ControlAccess::Page(group) | ControlAccess::Status(group) => group,
        }
    }

    fn accepts(self, request: &WatchRequest) -> bool {
        match self {
            ControlAccess::Verbs => true,
            ControlAccess::Page(_) => request.is_for_page(),
            ControlAccess::Status(_) => *request == WatchRequest::Status,
        }
    }
}

/// Listens at a socket until it is dropped.
#[derive(Debug)]
pub struct ControlServer {
    path: PathBuf,
}

impl ControlServer {
    /// Listens at `path`; `on_request` receives the requests. A socket that another daemon left is removed if nothing
    /// listens at it.
    ///
    /// # Errors
    /// Another daemon listens, or the kernel reports an error.
    pub fn listen(
        path: &Path,
        access: ControlAccess,
        on_request: impl Fn(PendingAnswer) + Clone + Send + 'static,
    ) -> Result<ControlServer, ServerError> {
        let fail = |source| ServerError::Io { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().mode(0o700).recursive(true).create(folder).map_err(fail)?;
        }
        match UnixStream::connect(path) {
            Ok(_) => return Err(ServerError::Taken(path.to_owned())),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(fail)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(fail(error)),
        }
        // The group is set before its permission is given.
        let listener = UnixListener::from(listen_unix(path, 0o600).map_err(fail)?);
        if let Some(group) = access.group() {
            chown(path, None, Some(group)).map_err(fail)?;
        }
        fs::set_permissions(path, Permissions::from_mode(access.mode())).map_err(fail)?;
        let open_connections = Arc::new(AtomicUsize::new(0));
        let builder = thread::Builder::new().name("control".into());
        builder
            .spawn(move || {
                for stream in listener.incoming() {
                    let Ok(stream) = stream else {
                        thread::sleep(Duration::from_millis(100)); // too many open files: connections are closed after a while
                        continue;
                    };
                    let (open_connections, on_request) = (Arc::clone(&open_connections), on_request.clone());
                    if open_connections.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS_MAX {
                        open_connections.fetch_sub(1, Ordering::SeqCst);
                        let _ = send_answer(&stream, &refused("too many ask at a time: ask again"));
                        continue;
                    }
                    let serving = Arc::clone(&open_connections);
                    let spawned = thread::Builder::new().name("asked".into()).spawn(move || {
                        let _ = serve(&stream, access, &on_request);
                        serving.fetch_sub(1, Ordering::SeqCst);
                    });
                    if spawned.is_err() {
                        open_connections.fetch_sub(1, Ordering::SeqCst);
                    }
                }
            })
            .map_err(fail)?;
        Ok(ControlServer { path: path.to_owned() })
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        // No other daemon can have taken the path while this one listened.
        let _ = fs::remove_file(&self.path);
    }
}

fn refused(why: &str) -> WatchAnswer {
    WatchAnswer::Refused { why: why.to_owned() }
}

fn send_answer(mut stream: &UnixStream, answer: &WatchAnswer) -> io::Result<()> {
    stream.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    let mut line = serde_json::to_vec(answer).map_err(io::Error::other)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Serves one connection: its requests, one after the other.
fn serve(stream: &UnixStream, access: ControlAccess, on_request: &impl Fn(PendingAnswer)) -> io::Result<()> {
    stream.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    let peer = peer_uid(&stream)?;
    if !access.admits(peer) {
        return send_answer(stream, &refused("only root may ask"));
    }
    let mut lines = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let length = lines.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') {
            return send_answer(stream, &refused("the request has no end, or is too long"));
        }
        let answer = match serde_json::from_slice(&line) {
            Ok(request) if !access.accepts(&request) => refused("the web page may not ask for that"),
            Ok(request) => {
                let (sender, receiver): (_, Receiver<WatchAnswer>) = mpsc::channel();
                on_request(PendingAnswer { request, answer: sender });
                receiver.recv_timeout(ANSWER_MAX).unwrap_or_else(|_| refused("the watch is busy, or ends: ask again"))
            }
            Err(_) => refused("no such request: is this another version?"),
        };
        send_answer(stream, &answer)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_control::{WatchClient, WatchClientError};
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn requests_are_answered_and_nonsense_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/watch");
        let server = ControlServer::listen(&path, ControlAccess::Verbs, |pending: PendingAnswer| {
            let text = format!("{:?}", pending.request);
            pending.answer(WatchAnswer::Done { said: text });
        })
        .unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let mut client = WatchClient::connect(&path).unwrap();
        for request in [WatchRequest::Resume, WatchRequest::Accept { subject: "sd\n\"a".into() }] {
            let answer = client.ask(&request).unwrap();
            assert_eq!(answer, WatchAnswer::Done { said: format!("{request:?}") });
        }
        let raw = |bytes: &[u8]| {
            let mut stream = UnixStream::connect(&path).unwrap();
            stream.write_all(bytes).unwrap();
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line).unwrap();
            line
        };
        assert!(raw(b"rm -rf\n").contains("no such request"));
        assert!(raw(&vec![b'x'; LINE_MAX as usize]).contains("too long"));
        let taken = ControlServer::listen(&path, ControlAccess::Verbs, |_| {});
        assert!(matches!(taken, Err(ServerError::Taken(_))));
        drop(server);
        assert!(!path.exists());
    }

    #[test]
    fn the_page_may_read_and_act_but_not_forget_a_disk_or_reload() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page");
        let done = |pending: PendingAnswer| pending.answer(WatchAnswer::Done { said: "done".into() });
        let group = fs::metadata(folder.path()).unwrap().gid();
        let _server = ControlServer::listen(&path, ControlAccess::Page(Some(group)), done).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        let mut client = WatchClient::connect(&path).unwrap();
        let is_done = |answer| matches!(answer, WatchAnswer::Done { .. });
        for request in [
            WatchRequest::Status,
            WatchRequest::Past { since: 0 },
            WatchRequest::Pause { seconds: 60 },
            WatchRequest::ScrubNow { subject: "sda".into() },
        ] {
            assert!(is_done(client.ask(&request).unwrap()), "{request:?}");
        }
        for request in [WatchRequest::Reload, WatchRequest::Forget { subject: "sda".into() }] {
            assert!(!is_done(client.ask(&request).unwrap()), "{request:?}");
        }
        assert!(!ControlAccess::Verbs.admits(own_uid() + 1) && !ControlAccess::Page(None).admits(own_uid() + 1));
    }

    #[test]
    fn monitoring_may_read_the_status_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("status");
        let done = |pending: PendingAnswer| pending.answer(WatchAnswer::Done { said: "done".into() });
        let group = fs::metadata(folder.path()).unwrap().gid();
        let _server = ControlServer::listen(&path, ControlAccess::Status(Some(group)), done).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        let mut client = WatchClient::connect(&path).unwrap();
        let is_done = |answer| matches!(answer, WatchAnswer::Done { .. });
        assert!(is_done(client.ask(&WatchRequest::Status).unwrap()));
        for request in [
            WatchRequest::Past { since: 0 },
            WatchRequest::Pause { seconds: 60 },
            WatchRequest::Alerts,
            WatchRequest::Accept { subject: "sda".into() },
            WatchRequest::Confirm { code: "123456".into() },
        ] {
            assert!(!is_done(client.ask(&request).unwrap()), "{request:?}");
        }
        assert!(!ControlAccess::Status(None).admits(own_uid() + 1));
    }

    #[test]
    fn the_socket_of_a_killed_daemon_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("watch");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        ControlServer::listen(&path, ControlAccess::Verbs, |pending| pending.answer(refused("no"))).unwrap();
        assert!(matches!(WatchClient::connect(&folder.path().join("none")), Err(WatchClientError::Absent(_))));
    }
}
