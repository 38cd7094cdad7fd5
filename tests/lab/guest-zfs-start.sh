# Starts OpenZFS in the virtual machine, for lab tests, to be sourced. Expects $ZFS: what ./guest-zfs-setup printed.
# shellcheck shell=bash disable=SC2154
start_zfs() {
  export PATH=$ZFS/programs/sbin:$ZFS/programs/usr/sbin:$PATH
  export LD_LIBRARY_PATH=$ZFS/programs/lib/x86_64-linux-gnu:$ZFS/programs/usr/lib/x86_64-linux-gnu
  insmod "$ZFS/modules/spl.ko"
  insmod "$ZFS/modules/zfs.ko"
  # zpool waits for the links of partitions that udev makes.
  /lib/systemd/systemd-udevd --daemon 2>/dev/null
  udevadm trigger
  udevadm settle
  work=$(mktemp -d)
  cd "$work"
}
