# A mounted btrfs on two loop devices.
# shellcheck shell=bash disable=SC2154,SC2034
make_loop a 512M && A=$made
make_loop b 512M && B=$made
make_loop new 512M && NEW=$made
OLD=$A POOL=$work/pool
mkdir -p "$POOL"
mkfs.btrfs -q -f -d raid1 -m raid1 "/dev/$A" "/dev/$B" >/dev/null 2>&1
mount "/dev/$A" "$POOL" && head -c 4M /dev/urandom >"$POOL/photos" && sync -f "$POOL"
# A disk with a partition table, and another one.
tables() {
  sgdisk -n 1 "/dev/$B" >/dev/null
}
clear() { umount "$POOL"; }
