//! The idle I/O class: how a thread of ours marks its requests, so that everybody can tell them from the foreground.
//!
//! BFQ and mq-deadline (since Linux 5.14) serve this class after all others; `none` and kyber ignore it. The foreground
//! detector leaves it out under every scheduler: that is what makes our own reads invisible to ourselves.

use std::io;

/// The number of the idle class (`IOPRIO_CLASS_IDLE` in `linux/ioprio.h`).
pub(crate) const IDLE_CLASS: u16 = 3;

/// The class is what stands above these bits of a priority (`IOPRIO_CLASS_SHIFT` in `linux/ioprio.h`).
pub(crate) const CLASS_SHIFT: u16 = 13;

/// Every priority of the idle class is at least this one. No class above it exists.
pub(crate) const IDLE_MIN: u16 = IDLE_CLASS << CLASS_SHIFT;

/// `who` of `ioprio_set(2)` is a thread; 0 is the calling one (`IOPRIO_WHO_PROCESS` in `linux/ioprio.h`).
const WHO_THREAD: libc::c_int = 1;

/// Puts all further I/O of the calling thread into the idle class.
///
/// It holds for what the thread hands to the kernel itself and for the io_uring workers it spawns *afterwards*; it does
/// not hold for pass-through commands (`SG_IO`), which carry no priority at all. Needs no privilege.
///
/// # Errors
/// When the kernel was built without I/O priorities, or a security module forbids it.
pub fn enter_idle_class() -> io::Result<()> {
    enter(IDLE_CLASS)
}

/// Puts the calling thread into `class`, at its highest level.
pub(crate) fn enter(class: u16) -> io::Result<()> {
    let priority = libc::c_int::from(class << CLASS_SHIFT);
    // SAFETY: the call takes three plain numbers and touches no memory of ours.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_THREAD, 0, priority) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The class of a thread.
#[cfg(test)]
pub(crate) fn class_of(thread: libc::pid_t) -> io::Result<u16> {
    // SAFETY: the call takes two plain numbers and touches no memory of ours.
    let priority = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_THREAD, thread) };
    if priority < 0 { Err(io::Error::last_os_error()) } else { Ok((priority >> CLASS_SHIFT) as u16) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_is_in_the_idle_class_afterwards() {
        // Its own thread: the class must not stick to one that the test harness uses again.
        let class = std::thread::spawn(|| {
            enter_idle_class().unwrap();
            class_of(0).unwrap()
        });
        assert_eq!(class.join().unwrap(), IDLE_CLASS);
    }
}
