//! The Debian packages that the lab needs: one table, and how to get them.

use std::path::Path;
use std::process::{Command, Stdio};

/// A disk with bad sectors on this machine (tests/lab/faulty-disk) and how its test reads results.
pub const FAULTY_DISK: &[&str] = &[
    "nbdkit",            // the server whose plugin is the disk
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // likewise
    "libnbd-bin",        // nbdfuse: the server's disk as a file
    "fuse3",             // fusermount3
    "mount",             // losetup: the file as a block device
    "jq",                // reads the scrubber's JSON
];

/// Disks that are measured, and who measures beside.
pub const BENCH_DISK: &[&str] = &[
    "nbdkit",            // the server whose plugin is a slow disk (tests/lab/faulty-disk)
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // likewise
    "libnbd-bin",        // nbdfuse: the server's disk as a file
    "fuse3",             // fusermount3
    "mount",             // losetup
    "fio",               // the other engine, and who else uses a disk
    "jq",                // reads the JSON
];

/// What a served volume under the watch needs.
pub const WATCHED_VOLUME: &[&str] = &[
    "fio",     // writes to it, as a client
    "jq",      // reads our JSON
    "sqlite3", // reads the history
];

/// The watch with disks, a mail server and an HTTP receiver. (The mail server itself comes by pip.)
pub const WATCHED: &[&str] = &[
    "nbdkit",            // the server whose plugin is a disk (tests/lab/faulty-disk)
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // likewise
    "libnbd-bin",        // nbdfuse: the server's disk as a file
    "fuse3",             // fusermount3
    "mount",             // losetup
    "python3-venv",      // where pip puts the mail server
    "openssl",           // its certificates
    "sqlite3",           // looks at the history from outside
    "jq",                // reads the answers
];

/// The Python package in environments of its own.
pub const PYTHON: &[&str] = &[
    "python3-venv", // where pip puts the wheel, and what tries it
];

/// The page in a browser. (node with npm comes from Debian or from elsewhere: where there is none the step is not run.)
pub const PAGE: &[&str] = &[
    "chromium",          // the browser
    "prometheus",        // promtool
    "nbdkit",            // the server whose plugin is a disk (tests/lab/faulty-disk)
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // likewise
    "libnbd-bin",        // nbdfuse
    "fuse3",             // fusermount3
    "mount",             // losetup
    "curl",              // asks
    "jq",                // reads the answers
];

/// The page as an enemy meets it.
pub const PAGE_SECURITY: &[&str] = &[
    "curl",       // asks
    "python3",    // asks as no browser would
    "openssl",    // a certificate
    "util-linux", // setpriv
    "jq",         // reads and writes recordings
];

/// What tries what is in contrib/.
pub const CONTRIB: &[&str] = &[
    "prometheus", // promtool
    "curl",       // asks
    "jq",         // reads
];

/// What the test of the capture runs.
pub const CAPTURE: &[&str] = &[
    "fio",   // makes the requests, and counts them
    "mount", // losetup: a file as a block device
    "jq",    // reads the counts
];

/// Other people's clients of network block devices.
pub const CLIENTS: &[&str] = &[
    "libnbd-bin",     // nbdinfo, nbdcopy
    "python3-libnbd", // nbdsh, and the client that remembers
    "qemu-utils",     // qemu-img, qemu-io
    "fio",            // its nbd engine
    "mount",          // losetup: members whose requests the kernel counts
    "jq",             // reads JSON
];

/// Arrays of disks that have one head each, as `probe` sees them.
pub const ARRAYS: &[&str] = &[
    "nbdkit",            // the server whose plugin is a disk (tests/lab/faulty-disk)
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // likewise
    "libnbd-bin",        // nbdfuse: a disk as a file, and a volume as one
    "fuse3",             // fusermount3
    "mount",             // losetup
    "fio",               // fills the volume
    "jq",                // reads the answers
];

/// Arrays that are a file system of their own (tests/lab/array.c), as `probe` sees and rewrites them.
pub const ARRAYS_OF_OURS: &[&str] = &[
    "gcc",            // compiles it
    "libc6-dev",      // its headers
    "linux-libc-dev", // FUSE's
    "mount",          // losetup
    "util-linux",     // addpart
    "fio",            // the stranger
    "jq",             // reads the answers
];

/// File systems on a volume, as a loop device over a FUSE file over NBD.
pub const FILE_SYSTEMS: &[&str] = &[
    "libnbd-bin",  // nbdfuse
    "fuse3",       // fusermount3
    "mount",       // losetup
    "e2fsprogs",   // mkfs.ext4, e2fsck
    "btrfs-progs", // mkfs.btrfs, and its scrub
    "jq",          // reads findings
];

/// A btrfs on loop devices.
pub const BTRFS: &[&str] = &[
    "mount",       // losetup
    "btrfs-progs", // mkfs.btrfs, its scrub, btrfs-map-logical
    "e2fsprogs",   // filefrag: where a file lies
    "fio",         // somebody else
    "jq",          // reads the scrubber's JSON
];

/// A mounted btrfs on disks with one head each (tests/lab/faulty-disk), and somebody who reads it.
pub const BTRFS_BESIDE_LOAD: &[&str] = &[
    "nbdkit",            // the server whose plugin is a disk
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // likewise
    "libnbd-bin",        // nbdfuse: the server's disk as a file
    "fuse3",             // fusermount3
    "mount",             // losetup
    "btrfs-progs",       // mkfs.btrfs, its scrub
    "fio",               // who reads
    "jq",                // reads the scrubber's JSON
];

/// A member of a volume whose backend can be stopped.
pub const HANGING: &[&str] = &[
    "nbdkit",         // the backend
    "libnbd-bin",     // nbdfuse: the backend as a file
    "mount",          // losetup: the file as a member
    "python3-libnbd", // the client that remembers
    "fuse3",          // fusermount3
    "jq",             // reads JSON
];

/// A virtual machine with this machine's files (tests/lab/guest) and what its test runs inside.
pub const GUEST: &[&str] = &[
    "qemu-system-x86", // the machine
    "busybox-static",  // its first file system
    "kmod",            // modprobe, depmod
    "xz-utils",        // unpacks kernel modules
    "zstd",            // unpacks the kernel
    "binutils",        // readelf: is it unpacked?
    "dmsetup",         // dm-integrity, inside
    "cryptsetup-bin",  // integritysetup, inside
    "jq",              // reads the scrubber's JSON
];

/// A btrfs in a virtual machine.
pub const GUEST_BTRFS: &[&str] = &[
    "qemu-system-x86", // the machine
    "busybox-static",  // its first file system
    "kmod",            // modprobe, depmod
    "xz-utils",        // unpacks kernel modules
    "zstd",            // unpacks the kernel
    "binutils",        // readelf: is it unpacked?
    "btrfs-progs",     // mkfs.btrfs, btrfs, btrfs-map-logical
    "e2fsprogs",       // filefrag
    "fio",             // somebody else
    "jq",              // reads the answers
];

/// The same, for file systems on arrays.
pub const GUEST_FILE_SYSTEMS: &[&str] = &[
    "qemu-system-x86", // the machine
    "busybox-static",  // its first file system
    "kmod",            // modprobe, depmod
    "xz-utils",        // unpacks kernel modules
    "zstd",            // unpacks the kernel
    "binutils",        // readelf: is it unpacked?
    "mdadm",           // md arrays, inside
    "dmsetup",         // devices of the device mapper, inside
    "fdisk",           // sfdisk: partitions, inside
    "e2fsprogs",       // mkfs.ext4, debugfs
    "xfsprogs",        // mkfs.xfs, xfs_db
    "perl",            // looks for the truth
    "jq",              // reads the answers
];

/// What lies at a sector of a btrfs and of a volume's member.
pub const HOST_SECTORS: &[&str] = &[
    "mount",       // losetup
    "btrfs-progs", // mkfs.btrfs
    "e2fsprogs",   // mkfs.ext4, debugfs
    "xfsprogs",    // mkfs.xfs, xfs_db, xfs_logprint
    "libnbd-bin",  // nbdcopy: fills the volume
    "perl",        // looks for the truth
    "jq",          // reads the answers
];

/// The same, for arrays of disks that have one head each.
pub const GUEST_ARRAYS: &[&str] = &[
    "qemu-system-x86",   // the machine
    "busybox-static",    // its first file system
    "kmod",              // modprobe, depmod
    "xz-utils",          // unpacks kernel modules
    "zstd",              // unpacks the kernel
    "binutils",          // readelf: is it unpacked?
    "nbdkit",            // the server whose plugin is a disk, inside
    "nbdkit-plugin-dev", // its header
    "gcc",               // compiles the plugin
    "libc6-dev",         // likewise
    "libnbd-bin",        // nbdfuse, inside
    "fuse3",             // fusermount3, inside
    "mount",             // losetup, inside
    "mdadm",             // md arrays, inside
    "dmsetup",           // disks one behind the other, inside
    "fio",               // a load beside a check, inside
    "jq",                // reads the answers
    "e2fsprogs",         // mkfs.ext4, inside
    "openssl",           // makes what fills an array, inside
];

/// The same, for a volume as a block device there.
pub const GUEST_VOLUME: &[&str] = &[
    "qemu-system-x86", // the machine
    "busybox-static",  // its first file system
    "kmod",            // modprobe, depmod
    "xz-utils",        // unpacks kernel modules
    "zstd",            // unpacks the kernel
    "binutils",        // readelf: is it unpacked?
    "e2fsprogs",       // mkfs.ext4, e2fsck, inside
    "util-linux",      // fstrim, blkdiscard, inside
    "fio",             // the load, inside
    "nbd-client",      // the other block device, inside
    "jq",              // reads JSON
];

/// Those of `wanted` that are not installed, each once.
pub fn missing(wanted: &[&'static str]) -> Vec<&'static str> {
    let mut missing: Vec<&str> = wanted.iter().copied().filter(|package| !is_installed(package)).collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}

/// Installs `packages` when this is root on Debian; otherwise says what would.
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
        // No package lists yet, or stale ones.
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
    fn what_is_missing_is_named_once() {
        let nowhere = "no-package-has-this-name";
        assert_eq!(missing(&[nowhere, nowhere]), [nowhere]);
        assert_eq!(install_line(&["a", "b"]), "apt-get install --no-install-recommends a b");
    }
}
