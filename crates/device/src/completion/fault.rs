//! The meaning of an errno of a member's disk for the volume.

use scrubjay_core::volume::member::DiskFault;

/// The fault for an errno. One about the requested bytes is [`DiskFault::Medium`]; one about the disk as a whole is
/// [`DiskFault::Gone`]. An errno that could be either is taken for the milder one: the disk gets further requests, and
/// a disk that is really gone soon fails with a clear errno.
pub fn fault(errno: i32) -> DiskFault {
    match errno {
        // The block layer's errnos for an unreadable sector (EIO, ENODATA), failed protection information (EILSEQ), an
        // error inside the target (EREMOTEIO); and no space, for a file that was never written in full.
        libc::EIO | libc::ENODATA | libc::EILSEQ | libc::EREMOTEIO | libc::ENOSPC => DiskFault::Medium,
        // Unplugged (ENODEV, ENXIO), closed (EBADF), shut down (ESHUTDOWN, ENOLINK), or not permitted any more.
        libc::ENODEV | libc::ENXIO | libc::EBADF | libc::ESHUTDOWN | libc::ENOLINK => DiskFault::Gone,
        libc::EACCES | libc::EPERM | libc::EROFS | libc::EBADE => DiskFault::Gone,
        _ => DiskFault::Medium,
    }
}

/// Whether an errno is transient, about neither disk nor client: the request is to be repeated.
pub(super) fn is_transient(errno: i32) -> bool {
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
