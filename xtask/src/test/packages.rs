//! The Debian packages that the lab needs: one table, and how to install them.

use std::path::Path;
use std::process::{Command, Stdio};

/// For a list of sums that is signed.
pub const SIGNED: &[&str] = &["openssh-client"]; // ssh-keygen

/// For a disk with bad sectors on this machine (tests/lab/faulty-disk), and its test.
pub const FAULTY_DISK: &[&str] = &[
    "nbdkit",            // the server; its plugin is the disk
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // headers of the C library
    "libnbd-bin",        // nbdfuse: the server's disk as a file
    "fuse3",             // fusermount3
    "mount",             // losetup: the file as a block device
    "jq",                // reads JSON
];

/// For disks that are measured, with fio for comparison.
pub const BENCH_DISK: &[&str] = &[
    "nbdkit",            // the server; its plugin is a slow disk (tests/lab/faulty-disk)
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // headers of the C library
    "libnbd-bin",        // nbdfuse: the server's disk as a file
    "fuse3",             // fusermount3
    "mount",             // losetup
    "fio",               // the measurement to compare with, and the foreground
    "jq",                // reads JSON
];

/// For reads of programs that fail, on file systems and a volume.
pub const FAILING: &[&str] = &[
    "nbdkit",            // the server; its plugin is a disk with bad sectors (tests/lab/faulty-disk)
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // headers of the C library
    "libnbd-bin",        // nbdfuse: the server's disk as a file; nbdcopy
    "fuse3",             // fusermount3
    "mount",             // losetup
    "e2fsprogs",         // mkfs.ext4, debugfs
    "btrfs-progs",       // mkfs.btrfs
    "jq",                // reads JSON
];

/// For what documents and help pages tell people to type (tests/typed).
pub const TYPED: &[&str] = &[
    "nbdkit",            // the server; its plugin is a disk (tests/lab/faulty-disk)
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // headers of the C library
    "libnbd-bin",        // nbdfuse, nbdcopy
    "fuse3",             // fusermount3
    "mount",             // losetup
    "util-linux",        // unshare
    "btrfs-progs",       // a btrfs to replace a device of
    "gdisk",             // sgdisk: copies a partition table
    "openssl",           // certificates
    "sqlite3",           // reads the history
    "xz-utils",          // compressed traces
    "bzip2",             // compressed traces
    "jq",                // reads JSON
    "make",              // its targets
];

/// For a served volume under the watch.
pub const WATCHED_VOLUME: &[&str] = &[
    "fio",     // writes to it, as a client
    "jq",      // reads JSON
    "sqlite3", // reads the history
];

/// For the watch with disks, a mail server and an HTTP receiver. (The mail server itself is installed by pip.)
pub const WATCHED: &[&str] = &[
    "nbdkit",            // the server; its plugin is a disk (tests/lab/faulty-disk)
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // headers of the C library
    "libnbd-bin",        // nbdfuse: the server's disk as a file
    "fuse3",             // fusermount3
    "mount",             // losetup
    "python3-venv",      // where pip installs the mail server
    "openssl",           // its certificates
    "sqlite3",           // reads the history independently
    "jq",                // reads JSON
];

/// For the Python package, in environments of its own.
pub const PYTHON: &[&str] = &[
    "python3-venv", // where pip installs the wheel, and its test tools
];

/// For the page in a browser. (node with npm comes from Debian or from elsewhere: without one the step is not run.)
pub const PAGE: &[&str] = &[
    "chromium",          // the browser
    "prometheus",        // promtool
    "nbdkit",            // the server; its plugin is a disk (tests/lab/faulty-disk)
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // headers of the C library
    "libnbd-bin",        // nbdfuse
    "fuse3",             // fusermount3
    "mount",             // losetup
    "curl",              // makes requests
    "jq",                // reads JSON
];

/// For attacks on the page.
pub const PAGE_SECURITY: &[&str] = &[
    "curl",       // makes requests
    "python3",    // makes requests that no browser makes
    "openssl",    // a certificate
    "util-linux", // setpriv
    "jq",         // reads and writes recordings
    "procps",     // pgrep
];

/// What `cargo xtask dist` needs: the image has Debian's smartctl, and tools come from PyPI.
pub const DIST: &[&str] = &["mmdebstrap", "python3-venv", "xz-utils"];

/// A virtual machine of 64-bit Arm.
pub const GUEST_ARM: &[&str] = &["mmdebstrap", "qemu-system-arm", "busybox-static", "kmod", "xz-utils", "jq"];

/// Clean systems, and what installs on them.
pub const SUITES: &[&str] = &[
    "mmdebstrap",
    "rpm",
    "busybox-static",
    "bubblewrap",
    "qemu-user-static",
    "jq",
    "gcc",
    "libc6-dev",
    "nbdkit",
    "libnbd-bin",
    "nbdkit-plugin-dev",
    "fuse3",
    "mount",
];

/// For the tests of contrib/.
pub const CONTRIB: &[&str] = &[
    "prometheus", // promtool
    "curl",       // makes requests
    "jq",         // reads JSON
    "sudo",       // visudo, which reads what sudo reads
    "util-linux", // setpriv
];

/// For the test of the capture.
pub const CAPTURE: &[&str] = &[
    "fio",   // makes the requests, and counts them
    "mount", // losetup: a file as a block device
    "jq",    // reads the counts
];

/// For third-party clients of network block devices.
pub const CLIENTS: &[&str] = &[
    "libnbd-bin",     // nbdinfo, nbdcopy
    "python3-libnbd", // nbdsh, and the client that records acknowledged writes
    "qemu-utils",     // qemu-img, qemu-io
    "fio",            // its nbd engine
    "mount",          // losetup: members whose requests the kernel counts
    "jq",             // reads JSON
];

/// For `probe` on arrays of disks with one head each.
pub const ARRAYS: &[&str] = &[
    "nbdkit",            // the server; its plugin is a disk (tests/lab/faulty-disk)
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // headers of the C library
    "libnbd-bin",        // nbdfuse: a disk as a file, and a volume as one
    "fuse3",             // fusermount3
    "mount",             // losetup
    "fio",               // fills the volume
    "jq",                // reads JSON
];

/// For `probe` on arrays that are file systems of this project's own (tests/lab/array.c).
pub const ARRAYS_ON_FUSE: &[&str] = &[
    "gcc",            // compiles it
    "libc6-dev",      // headers of the C library
    "linux-libc-dev", // headers of FUSE
    "mount",          // losetup
    "util-linux",     // addpart
    "fio",            // the foreground
    "jq",             // reads JSON
];

/// For file systems on a volume, as a loop device over a FUSE file over NBD.
pub const FILE_SYSTEMS: &[&str] = &[
    "libnbd-bin",  // nbdfuse
    "fuse3",       // fusermount3
    "mount",       // losetup
    "e2fsprogs",   // mkfs.ext4, e2fsck
    "btrfs-progs", // mkfs.btrfs, and its scrub
    "jq",          // reads findings
];

/// For a btrfs on loop devices.
pub const BTRFS: &[&str] = &[
    "mount",       // losetup
    "btrfs-progs", // mkfs.btrfs, its scrub, btrfs-map-logical
    "e2fsprogs",   // filefrag: where a file lies
    "fio",         // the foreground
    "jq",          // reads JSON
];

/// For a mounted btrfs on disks with one head each (tests/lab/faulty-disk), and a foreground.
pub const BTRFS_UNDER_LOAD: &[&str] = &[
    "nbdkit",            // the server; its plugin is a disk
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // headers of the C library
    "libnbd-bin",        // nbdfuse: the server's disk as a file
    "fuse3",             // fusermount3
    "mount",             // losetup
    "btrfs-progs",       // mkfs.btrfs, its scrub
    "fio",               // the foreground
    "jq",                // reads JSON
];

/// For a member of a volume whose backend can be stopped.
pub const HANGING: &[&str] = &[
    "nbdkit",         // the backend
    "libnbd-bin",     // nbdfuse: the backend as a file
    "mount",          // losetup: the file as a member
    "python3-libnbd", // the client that records acknowledged writes
    "fuse3",          // fusermount3
    "jq",             // reads JSON
];

/// As [`GUEST_ZFS`], and md beside it.
pub const GUEST_FAILURES: &[&str] = &[
    "qemu-system-x86", // the machine
    "busybox-static",  // its first file system
    "kmod",            // modprobe, depmod
    "xz-utils",        // unpacks kernel modules
    "zstd",            // unpacks the kernel
    "binutils",        // readelf: checks the unpacked kernel; strip
    "udev",            // makes the links that zpool waits for, inside
    "gcc",             // compiles ZFS's module
    "make",            // the same
    "fio",             // the foreground
    "jq",              // reads JSON
    "mdadm",           // a mirror, inside
    "python3",         // resets a SCSI device
];

/// For a virtual machine with a pool of ZFS, which its test gets and compiles.
pub const GUEST_ZFS: &[&str] = &[
    "qemu-system-x86", // the machine
    "busybox-static",  // its first file system
    "kmod",            // modprobe, depmod
    "xz-utils",        // unpacks kernel modules
    "zstd",            // unpacks the kernel
    "binutils",        // readelf: checks the unpacked kernel; strip
    "udev",            // makes the links that zpool waits for, inside
    "gcc",             // compiles ZFS's module
    "make",            // the same
    "fio",             // the foreground
    "jq",              // reads JSON
];
/// For a virtual machine with this machine's files (tests/lab/guest), and its test inside.
pub const GUEST: &[&str] = &[
    "qemu-system-x86", // the machine
    "busybox-static",  // its first file system
    "kmod",            // modprobe, depmod
    "xz-utils",        // unpacks kernel modules
    "zstd",            // unpacks the kernel
    "binutils",        // readelf: checks the unpacked kernel
    "dmsetup",         // dm-integrity, inside
    "cryptsetup-bin",  // integritysetup, inside
    "jq",              // reads JSON
];

/// For a btrfs in a virtual machine.
pub const GUEST_BTRFS: &[&str] = &[
    "qemu-system-x86", // the machine
    "busybox-static",  // its first file system
    "kmod",            // modprobe, depmod
    "xz-utils",        // unpacks kernel modules
    "zstd",            // unpacks the kernel
    "binutils",        // readelf: checks the unpacked kernel
    "btrfs-progs",     // mkfs.btrfs, btrfs, btrfs-map-logical
    "e2fsprogs",       // filefrag
    "fio",             // the foreground
    "jq",              // reads JSON
];

/// For file systems on arrays in a virtual machine.
pub const GUEST_FILE_SYSTEMS: &[&str] = &[
    "qemu-system-x86", // the machine
    "busybox-static",  // its first file system
    "kmod",            // modprobe, depmod
    "xz-utils",        // unpacks kernel modules
    "zstd",            // unpacks the kernel
    "binutils",        // readelf: checks the unpacked kernel
    "mdadm",           // md arrays, inside
    "dmsetup",         // devices of the device mapper, inside
    "fdisk",           // sfdisk: partitions, inside
    "e2fsprogs",       // mkfs.ext4, debugfs
    "xfsprogs",        // mkfs.xfs, xfs_db
    "perl",            // finds the file independently
    "jq",              // reads JSON
];

/// For the contents of a sector of a file system or of a volume's member, on this machine.
pub const HOST_SECTORS: &[&str] = &[
    "mount",       // losetup
    "btrfs-progs", // mkfs.btrfs
    "e2fsprogs",   // mkfs.ext4, debugfs
    "xfsprogs",    // mkfs.xfs, xfs_db, xfs_logprint
    "libnbd-bin",  // nbdcopy: fills the volume
    "perl",        // finds the file independently
    "jq",          // reads JSON
];

/// For arrays of disks with one head each, in a virtual machine.
pub const GUEST_ARRAYS: &[&str] = &[
    "qemu-system-x86",   // the machine
    "busybox-static",    // its first file system
    "kmod",              // modprobe, depmod
    "xz-utils",          // unpacks kernel modules
    "zstd",              // unpacks the kernel
    "binutils",          // readelf: checks the unpacked kernel
    "nbdkit",            // the server; its plugin is a disk, inside
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // headers of the C library
    "libnbd-bin",        // nbdfuse, inside
    "fuse3",             // fusermount3, inside
    "mount",             // losetup, inside
    "mdadm",             // md arrays, inside
    "gddrescue",         // copies a weak disk, inside
    "bsdutils",          // script: a terminal at which a question is answered, inside
    "dmsetup",           // disks one behind the other, inside
    "fio",               // a load beside a check, inside
    "jq",                // reads JSON
    "e2fsprogs",         // mkfs.ext4, inside
    "openssl",           // makes the contents of an array, inside
];

/// For a volume as a block device, in a virtual machine.
pub const GUEST_VOLUME: &[&str] = &[
    "qemu-system-x86", // the machine
    "busybox-static",  // its first file system
    "kmod",            // modprobe, depmod
    "xz-utils",        // unpacks kernel modules
    "zstd",            // unpacks the kernel
    "binutils",        // readelf: checks the unpacked kernel
    "e2fsprogs",       // mkfs.ext4, e2fsck, inside
    "util-linux",      // fstrim, blkdiscard, inside
    "fio",             // the load, inside
    "nbd-client",      // the other block device, inside
    "openssl",         // certificates, inside
    "jq",              // reads JSON
];

/// The packages of `wanted` that are not installed, each once.
pub fn missing(wanted: &[&'static str]) -> Vec<&'static str> {
    let mut missing: Vec<&str> = wanted.iter().copied().filter(|package| !is_installed(package)).collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}

/// Installs `packages` when this is root on Debian; otherwise prints the command.
pub fn install(packages: &[&str]) {
    if packages.is_empty() {
        return;
    }
    if !(is_root() && Path::new("/usr/bin/apt-get").exists()) {
        println!("Some tests need Debian packages that are not installed. As root:");
        println!("    {}", install_line(packages));
        return;
    }
    println!("{}", install_line(packages));
    if !apt_install(packages) {
        // There are no package lists yet, or they are stale.
        let _ = apt(&["update", "-q"]);
        let _ = apt_install(packages);
    }
}

/// The command that installs `packages`.
pub fn install_line(packages: &[&str]) -> String {
    format!("apt-get install --no-install-recommends {}", packages.join(" "))
}

fn is_installed(package: &str) -> bool {
    let status =
        Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Abbrev}", package]).stderr(Stdio::null()).output();
    status.is_ok_and(|status| status.stdout.starts_with(b"ii"))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

fn apt_install(packages: &[&str]) -> bool {
    apt(&[&["install", "-y", "-q", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0"], packages].concat())
}

/// Runs apt-get, quiet unless it fails.
fn apt(arguments: &[&str]) -> bool {
    let output = Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive").output();
    match output {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            println!("{}", String::from_utf8_lossy(&output.stderr).trim_end());
            false
        }
        Err(error) => {
            println!("apt-get: {error}");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_packages_are_named_once() {
        let nowhere = "no-package-has-this-name";
        assert_eq!(missing(&[nowhere, nowhere]), [nowhere]);
        assert_eq!(install_line(&["a", "b"]), "apt-get install --no-install-recommends a b");
    }
}
