//! Memory that is not needed any more goes back to the kernel.

/// Gives back what the allocator keeps for later. It looks through all that it has: not for every turn of a loop.
pub fn release_memory() {
    // SAFETY: the call takes a plain number and touches only memory that nobody owns.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
