//! What an errno of a member's disk means for the volume.

use scrubjay_core::volume::member::DiskFault;

/// Sorts an errno. What speaks of the bytes asked for is [`DiskFault::Medium`]; what speaks of the disk as a whole is
/// [`DiskFault::Gone`]. An errno that says neither is taken for the milder one: the disk is asked again for other bytes,
/// and a disk that is really gone says so soon.
pub fn fault(errno: i32) -> DiskFault {
    match errno {
        // The block layer's names for an unreadable sector (EIO, ENODATA), failed protection information (EILSEQ), an
        // error inside the target (EREMOTEIO); and no room, of a file that was never written in full.
        libc::EIO | libc::ENODATA | libc::EILSEQ | libc::EREMOTEIO | libc::ENOSPC => DiskFault::Medium,
        // Unplugged (ENODEV, ENXIO), closed (EBADF), shut down (ESHUTDOWN, ENOLINK), or no longer ours to use.
        libc::ENODEV | libc::ENXIO | libc::EBADF | libc::ESHUTDOWN | libc::ENOLINK => DiskFault::Gone,
        libc::EACCES | libc::EPERM | libc::EROFS | libc::EBADE => DiskFault::Gone,
        _ => DiskFault::Medium,
    }
}

/// Says nothing about disk or client: to be asked again.
pub(super) fn is_passing(errno: i32) -> bool {
    matches!(errno, libc::EAGAIN | libc::EINTR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errnos_are_sorted_as_the_block_layer_means_them() {
        for medium in [libc::EIO, libc::ENODATA, libc::EILSEQ, libc::EREMOTEIO, libc::ENOSPC, libc::EINVAL] {
            assert_eq!(fault(medium), DiskFault::Medium, "{medium}");
        }
        for gone in [libc::ENODEV, libc::ENXIO, libc::EBADF, libc::ESHUTDOWN, libc::EROFS] {
            assert_eq!(fault(gone), DiskFault::Gone, "{gone}");
        }
    }
}
