//! Returns unused memory to the kernel.

/// Returns the allocator's free memory to the kernel. It searches the whole heap, so not for every turn of a loop.
pub fn release_memory() {
    // SAFETY: the call takes a plain number and touches only memory that is free.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
