//! The guardian: a process that lets the program go on if this one dies, or is silent for too long while it holds it.
//!
//! It is told through a pipe, in records of five bytes: a letter and a number. The end of the pipe is the end of this process. It calls
//! only what may be called after `fork(2)`, and keeps no file but the pipe and the cgroup's switch.

use super::tree::send;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

/// Processes that it can remember; more are let go at once.
const PROCESSES_MAX: usize = 4096;

/// This process's end of the pipe.
pub(super) struct Guardian {
    pid: i32,
    pipe: File,
    silence_max: Duration,
}

impl Guardian {
    /// Starts it. `switch`: where writing 0 lets the program go. `silence_max`: the longest time for which it may hear nothing while the
    /// program is held. To be called while this process has one thread.
    ///
    /// # Errors
    /// Of `pipe(2)` and `fork(2)`.
    pub(super) fn start(switch: Option<&File>, silence_max: Duration) -> io::Result<Guardian> {
        let (reader, writer) = io::pipe()?;
        let (reader, writer) = (OwnedFd::from(reader), OwnedFd::from(writer));
        let switch = switch.map(AsRawFd::as_raw_fd);
        // SAFETY: the child calls only functions that are safe after a fork, allocates nothing, and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(writer);
                guard(reader, switch, silence_max)
            }
            pid => {
                let guardian = Guardian { pid, pipe: File::from(writer), silence_max };
                drop(reader);
                Ok(guardian)
            }
        }
    }

    /// Starts another one in its place.
    pub(super) fn again(&mut self, switch: Option<&File>) -> io::Result<()> {
        *self = Guardian::start(switch, self.silence_max)?;
        Ok(())
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// The program is about to be held, or still is.
    pub(super) fn held(&mut self) -> io::Result<()> {
        self.tell(b'h', 0)
    }

    /// This process is about to be stopped.
    pub(super) fn will_stop(&mut self, pid: i32) -> io::Result<()> {
        self.tell(b'p', pid)
    }

    /// All goes on.
    pub(super) fn let_go(&mut self) -> io::Result<()> {
        self.tell(b'g', 0)
    }

    fn tell(&mut self, letter: u8, number: i32) -> io::Result<()> {
        let [a, b, c, d] = number.to_ne_bytes();
        self.pipe.write_all(&[letter, a, b, c, d])
    }
}

/// The guardian's life.
fn guard(pipe: OwnedFd, switch: Option<RawFd>, silence_max: Duration) -> ! {
    // A session of its own: signals of the terminal are not for it. (Those that the parent blocks stay blocked.)
    // SAFETY: plain numbers only.
    unsafe { libc::setsid() };
    close_others(pipe.as_raw_fd(), switch);
    let mut pipe = File::from(pipe);
    let (mut stopped, mut count) = ([0; PROCESSES_MAX], 0);
    let mut held_at: Option<Instant> = None;
    let let_go = |stopped: &mut [i32]| {
        if let Some(switch) = switch {
            // SAFETY: one byte of a constant; the descriptor is the cgroup's, and stays open.
            unsafe { libc::write(switch, b"0".as_ptr().cast(), 1) };
        }
        stopped.iter().for_each(|&pid| drop(send(pid, libc::SIGCONT)));
    };
    loop {
        let left = held_at.map(|at| silence_max.saturating_sub(at.elapsed()));
        let timeout = left.map_or(-1, |left| left.as_millis().min(i32::MAX as u128) as i32);
        let mut wanted = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid structure.
        let ready = unsafe { libc::poll(&raw mut wanted, 1, timeout) };
        if ready == 0 {
            let_go(&mut stopped[..count]);
            (held_at, count) = (None, 0);
            continue;
        }
        let mut record = [0; 5];
        if ready < 0 || pipe.read_exact(&mut record).is_err() {
            if ready < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
                continue;
            }
            let_go(&mut stopped[..count]);
            // SAFETY: ends this process without running anything of the parent's.
            unsafe { libc::_exit(0) };
        }
        let [letter, a, b, c, d] = record;
        match letter {
            b'h' => held_at = Some(Instant::now()),
            b'p' if count < PROCESSES_MAX => {
                stopped[count] = i32::from_ne_bytes([a, b, c, d]);
                count += 1;
            }
            b'p' => drop(send(i32::from_ne_bytes([a, b, c, d]), libc::SIGCONT)),
            _ => (held_at, count) = (None, 0),
        }
    }
}

/// Closes all descriptors but these two: the program's pipes must end with the program.
fn close_others(pipe: RawFd, switch: Option<RawFd>) {
    let mut kept = [pipe, switch.unwrap_or(pipe)];
    kept.sort_unstable();
    let mut from = 0;
    for fd in kept {
        if fd > from {
            // SAFETY: plain numbers; nothing of this process uses these descriptors any more.
            unsafe { libc::syscall(libc::SYS_close_range, from as libc::c_uint, (fd - 1) as libc::c_uint, 0) };
        }
        from = fd + 1;
    }
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_close_range, from as libc::c_uint, libc::c_uint::MAX, 0) };
}
