//! A server on a thread of its own, for one test.

use scrubjay_core::volume::member::ArrayMachine;
use scrubjay_device::completion::IoRing;
use scrubjay_serve::control::CommandHandler;
use scrubjay_serve::ended::ServerEnded;
use scrubjay_serve::nbd::Export;
use scrubjay_serve::server::{Address, Server, ServerStop};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;
use tempfile::TempDir;

/// A running server, and a folder for it and its test.
pub struct Host<V> {
    pub folder: TempDir,
    stop: ServerStop,
    thread: JoinHandle<(V, ServerEnded)>,
}

impl<V: ArrayMachine + CommandHandler + Send + 'static> Host<V> {
    /// Serves a volume, after `prepare` has changed the server. `None`: this machine has no io_uring.
    pub fn start(mut volume: V, prepare: impl FnOnce(&mut Server)) -> Option<Host<V>> {
        if let Err(error) = IoRing::<()>::new(8) {
            eprintln!("NOT TESTED: no io_uring here ({error})");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let stop = ServerStop::new().unwrap();
        let mut server = Server::new(Export::new("vol", volume.size(), 65536, false));
        server.listen(&Address::Unix(folder.path().join("nbd"))).unwrap();
        server.listen_for_commands(&Address::Unix(folder.path().join("control"))).unwrap();
        prepare(&mut server);
        let flag = stop.clone();
        let thread = std::thread::spawn(move || {
            let ended = server.run(&mut volume, &flag).unwrap();
            (volume, ended)
        });
        Some(Host { folder, stop, thread })
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Its address for third-party clients.
    pub fn uri(&self) -> String {
        format!("nbd+unix:///vol?socket={}", self.path("nbd").display())
    }

    /// A plain NBD connection.
    pub fn connect(&self) -> UnixStream {
        UnixStream::connect(self.path("nbd")).unwrap()
    }

    /// Asks the server to stop.
    pub fn stop(&self) {
        self.stop.request();
    }

    /// Stops it, and returns the volume.
    pub fn end(self) -> V {
        self.end_with_report().0
    }

    /// Stops it, and returns the volume and how the run ended.
    pub fn end_with_report(self) -> (V, ServerEnded) {
        self.stop.request();
        let ended = self.thread.join().expect("the server ended well");
        assert!(!self.folder.path().join("nbd").exists(), "its socket is gone");
        ended
    }
}
