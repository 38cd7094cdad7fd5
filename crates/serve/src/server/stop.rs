//! How a server is asked to stop, by a signal or by another thread.

use scrubjay_device::completion::Socket;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that wakes the server. Clones share it.
#[derive(Clone, Debug)]
pub struct ServerStop {
    flag: Arc<AtomicBool>,
    waker: Arc<UnixStream>,
    woken: Socket,
}

impl ServerStop {
    /// A flag that is not set yet.
    ///
    /// # Errors
    /// When there are no more file descriptors.
    pub fn new() -> io::Result<ServerStop> {
        let (waker, woken) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        Ok(ServerStop { flag: Arc::default(), waker: Arc::new(waker), woken: Arc::new(OwnedFd::from(woken)) })
    }

    /// Asks the server to stop. Requests under way end first, as far as they end soon.
    pub fn request(&self) {
        self.flag.store(true, Ordering::Release);
        let _ = (&*self.waker).write(&[1]); // a full socket: the server is being woken already
    }

    /// Was a stop requested?
    pub fn is_requested(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }

    /// The flag, for `signal_hook::flag::register`; to be registered before [`ServerStop::waker`].
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// The waker, for `signal_hook::low_level::pipe::register`.
    ///
    /// # Errors
    /// When there are no more file descriptors.
    pub fn waker(&self) -> io::Result<UnixStream> {
        self.waker.try_clone()
    }

    /// The socket that becomes readable when the flag is to be checked.
    pub(super) fn woken(&self) -> &Socket {
        &self.woken
    }
}
