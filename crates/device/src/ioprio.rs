//! The idle I/O class, which marks the requests of a scrub's thread so that they can be told from the foreground.
//!
//! BFQ and mq-deadline (since Linux 5.14) serve this class after all others; `none` and kyber ignore it. The foreground
//! detector ignores this class under every scheduler, so a scrub does not take its own reads for foreground.

use std::io;

/// The number of the idle class (`IOPRIO_CLASS_IDLE` in `linux/ioprio.h`).
pub(crate) const IDLE_CLASS: u16 = 3;

/// The class is the part of a priority above this many low bits (`IOPRIO_CLASS_SHIFT` in `linux/ioprio.h`).
pub(crate) const CLASS_SHIFT: u16 = 13;

/// The lowest priority value of the idle class. No class has greater values.
pub(crate) const IDLE_MIN: u16 = IDLE_CLASS << CLASS_SHIFT;

/// `which` of `ioprio_set(2)`: a thread; `who` 0 is then the calling one (`IOPRIO_WHO_PROCESS` in `linux/ioprio.h`).
const WHO_THREAD: libc::c_int = 1;

/// Puts all further I/O of the calling thread into the idle class.
///
/// Applies to I/O that the thread submits to the kernel itself and to the io_uring workers it spawns *afterwards*, but not
/// to pass-through commands (`SG_IO`), which carry no priority at all. Needs no privilege.
///
/// # Errors
/// When the kernel was built without I/O priorities, or a security module forbids it.
pub fn enter_idle_class() -> io::Result<()> {
    enter(IDLE_CLASS)
}

/// Puts the calling thread into `class`, at its highest level.
pub(crate) fn enter(class: u16) -> io::Result<()> {
    let priority = libc::c_int::from(class << CLASS_SHIFT);
    // SAFETY: the call takes three plain numbers and touches no memory of this process.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_THREAD, 0, priority) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The I/O class of a thread.
#[cfg(test)]
pub(crate) fn class_of(thread: libc::pid_t) -> io::Result<u16> {
    // SAFETY: the call takes two plain numbers and touches no memory of this process.
    let priority = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_THREAD, thread) };
    if priority < 0 { Err(io::Error::last_os_error()) } else { Ok((priority >> CLASS_SHIFT) as u16) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_is_in_the_idle_class_afterwards() {
        // On a thread of its own: the class must not stick to a thread that the test harness reuses.
        let class = std::thread::spawn(|| {
            enter_idle_class().unwrap();
            class_of(0).unwrap()
        });
        assert_eq!(class.join().unwrap(), IDLE_CLASS);
    }
}
