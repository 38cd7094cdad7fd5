//! Signals as values: those that this process receives while it runs a program.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// What is received, in place of its usual effect, unless this process was started with it ignored (`nohup`).
const RECEIVED: [libc::c_int; 8] = [
    libc::SIGCHLD,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
];

/// A signal that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) signal: i32,
    /// Was it sent to this process by another, not by the terminal to all of its group?
    pub(super) is_sent: bool,
}

/// Receives signals.
pub(super) struct Signals {
    fd: OwnedFd,
    /// What was blocked before.
    before: SignalMask,
}

/// Blocked signals.
#[derive(Clone, Copy)]
pub(super) struct SignalMask(libc::sigset_t);

impl SignalMask {
    /// Blocks these, and no others. May be called after `fork(2)`.
    pub(super) fn set(&self) {
        // SAFETY: a valid set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

impl Signals {
    /// Blocks them for this thread, and for what it starts from now on.
    pub(super) fn receive() -> io::Result<Signals> {
        // SAFETY: a set of signals is plain memory, which `sigemptyset` initialises.
        let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: both sets are valid, and all signals exist.
        unsafe {
            libc::sigemptyset(&raw mut set);
            // Without this children would leave no status where it was ignored.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            for signal in RECEIVED {
                let mut action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, std::ptr::null(), &raw mut action);
                if action.sa_sigaction != libc::SIG_IGN {
                    libc::sigaddset(&raw mut set, signal);
                }
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut before);
        }
        // SAFETY: `set` is valid.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made this descriptor for this call.
        Ok(Signals { fd: unsafe { OwnedFd::from_raw_fd(fd) }, before: SignalMask(before) })
    }

    /// What was blocked before.
    pub(super) fn before(&self) -> SignalMask {
        self.before
    }

    /// Waits for one for at most so long; those that have come.
    pub(super) fn wait(&self, timeout: Duration) -> Vec<Received> {
        let mut wanted = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let timeout = libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: timeout.subsec_nanos() as libc::c_long,
        };
        // SAFETY: one valid structure and a valid time; no mask.
        unsafe { libc::ppoll(&raw mut wanted, 1, &raw const timeout, std::ptr::null()) };
        std::iter::from_fn(|| self.next()).collect()
    }

    fn next(&self) -> Option<Received> {
        // SAFETY: the structure is plain memory.
        let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
        let bytes = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes at most `bytes` into `info`.
        let read = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), bytes) };
        let is_sent = info.ssi_code <= 0;
        (read == bytes as isize).then_some(Received { signal: info.ssi_signo as i32, is_sent })
    }
}

/// Stops this process as the terminal would, until it is continued; nothing happens where nobody could continue it.
pub(super) fn stop_self() {
    // SAFETY: a set of signals is plain memory; all calls take valid sets.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGTSTP);
        libc::raise(libc::SIGTSTP);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Is this process the leader of its session? Then a terminal that is closed tells it alone.
pub(super) fn is_session_leader() -> bool {
    // SAFETY: plain numbers.
    unsafe { libc::getsid(0) == libc::getpid() }
}

/// A child that has changed its state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changed {
    pub(super) pid: i32,
    /// As `wait(2)` has it.
    pub(super) status: i32,
    /// Bytes that it, and all that it waited for, caused to be read from disks; if it has ended.
    pub(super) read: u64,
    /// Bytes that it, and all that it waited for, wrote, to the page cache or to disks; if it has ended.
    pub(super) written: u64,
}

/// The next child that has changed its state, if any.
pub(super) fn changed_child() -> Option<Changed> {
    let mut status = 0;
    // SAFETY: the structure is plain memory.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let options = libc::WNOHANG | libc::WUNTRACED | libc::WCONTINUED;
    // SAFETY: both pointers are valid.
    let pid = unsafe { libc::wait4(-1, &raw mut status, options, &raw mut usage) };
    let bytes = |blocks: libc::c_long| 512 * blocks.max(0) as u64;
    let (read, written) = (bytes(usage.ru_inblock), bytes(usage.ru_oublock));
    (pid > 0).then_some(Changed { pid, status, read, written })
}
