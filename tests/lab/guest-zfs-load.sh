#!/bin/bash
# What a client of a ZFS mirror of two disks of 8 ms loses: alone, beside ZFS's own scrub, and beside ours at 2 ms, without and with
# --tune-zfs. Prints the table of docs/lab.md; checks nothing. In the virtual machine, which is emulated: only differences mean something.
# Usage: guest-zfs-load.sh [MIB]. Needs what ./guest and ./guest-zfs-setup need, fio, jq, and what ./faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
if [ "${1:-}" != --inside ]; then
  needs fio jq nbdkit
  zfs=$("$here/guest-zfs-setup")
  exec "$here/guest" -t 3000 -d 12G -M loop -M fuse -M ext4 env SCRUBJAY="$scrubjay" ZFS="$zfs" "$0" --inside "${1:-1500}"
fi
mib=$2
# shellcheck source=guest-zfs-start.sh
. "$here/guest-zfs-start.sh"
start_zfs
export FAULTY_DIR=/tmp/faulty
# The images lie on a disk of the machine: its memory is small.
mkdir -p /tmp/faulty
# shellcheck disable=SC2153 # set by ./guest
read -ra disks <<<"$DISKS"
mkfs.ext4 -q -F "${disks[0]}"
mount "${disks[0]}" /tmp/faulty
for disk in a b; do eval "$disk=\$(\"$here/faulty-disk\" create $disk 8G seek_us=8000 kbps=150000)"; done
# shellcheck disable=SC2154
zpool create -f -O primarycache=metadata -O compression=off -O atime=off tank mirror "$a" "$b"
zfs create -o recordsize=4k tank/client
dd if=/dev/urandom of=/tank/client/file bs=1M count=128 status=none
dd if=/dev/urandom of=/tank/big bs=1M count="$mib" status=none
sync
parameters=/sys/module/zfs/parameters
client() { # SECONDS
  fio --name=client --filename=/tank/client/file --rw=randread --bs=4k --ioengine=psync --thinktime=20000 --runtime="$1" --time_based \
    --output-format=json --output=fio.json >/dev/null
}
row() { # LABEL SECONDS SCRUBBED_MIB
  jq -r --arg name "$1" --arg seconds "$2" --arg mib "$3" '.jobs[0].read.clat_ns
    | "| \($name) | \(.mean / 1e4 | round / 100) | \(.percentile["99.000000"] / 1e5 | round / 10) | \(.max / 1e5 | round / 10) | \($seconds) | \($mib) |"' fio.json
}
issued() { zpool status -j --json-int tank | jq '.pools.tank.scan_stats | .issued / 1048576 | round'; }
echo "| beside it | mean ms | p99 | most | seconds | MiB scrubbed |"
echo "|---|---|---|---|---|---|"
begun=$SECONDS; zpool scrub tank; zpool wait -t scrub tank; echo "free, nobody else: $((SECONDS - begun)) s, $(issued) MiB"
client 60; row nothing 60 0
zpool scrub tank; client 60; row "zpool scrub" 60 "$(issued)"; zpool wait -t scrub tank
for options in "" --tune-zfs; do
  # shellcheck disable=SC2086
  "$scrubjay" scrub tank --slowdown 2ms -q $options --json >ours.json & ours=$!
  sleep 60
  client 180; row "scrubjay scrub --slowdown 2ms $options" 180 "$(issued)"
  kill -INT $ours 2>/dev/null; wait $ours || true
  jq -c '{"end": .end, ran_seconds, rests, mean: .slowdown.mean_seconds, most: .slowdown.max_seconds}' ours.json
  echo "parameters: $(cat $parameters/zfs_scan_vdev_limit $parameters/zfs_scrub_min_time_ms | tr '\n' ' ')"
  zpool scrub -s tank 2>/dev/null || true
done
