#!/bin/bash
# What checking a mounted btrfs costs the foreground: by `btrfs scrub`, and by a scrub within its budget.
#
#   btrfs-load.sh [SECONDS]   SECONDS (40) of load for each figure, and three times as many beside a scrub, which has to learn first
#
# A RAID-1 of two disks with one head each (4 ms a seek, 60 MB/s), read in bursts: 20 reads of 4 KiB, then a pause of 400 ms. Prints
# the figures; checks the slowdown that the scrub reports against its budget, and against fio. Exit: 0 all checks hold, 1 one does not,
# 77 cannot be run here. Needs root, loop devices, mkfs.btrfs, fio, jq and what ./faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
grep -qw btrfs /proc/filesystems || modprobe btrfs 2>/dev/null || skip "no btrfs in this kernel"
needs root fuse mount loop mkfs.btrfs btrfs fio jq nbdkit nbdfuse gcc
seconds=${1:-40}
begin
export FAULTY_DIR=$work/disks
end_last() {
  for ((tries = 0; tries < 50; tries++)); do
    if ! mountpoint -q "$work/pool" || umount "$work/pool" 2>/dev/null; then break; fi
    sleep 0.1
  done
  for n in 0 1; do "$here/faulty-disk" destroy "l$n" 2>/dev/null || true; done
}
mkdir pool
disks=()
for n in 0 1; do disks+=("$("$here/faulty-disk" create "l$n" 1536M seek_us=4000 kbps=60000)"); done
mkfs.btrfs -q -f -d raid1 -m raid1 "${disks[@]}" >/dev/null 2>&1
mount "${disks[0]}" pool
echo "# writing 512 MiB"
fio --name=write --filename=pool/photos --rw=write --bs=1M --size=512M --end_fsync=1 >/dev/null
sync -f pool

load() { # NAME [SECONDS]: fio's figures
  fio --name=load --filename=pool/photos --readonly --direct=1 --rw=randread --bs=4k --ioengine=psync --thinktime=400ms --thinktime_blocks=20 \
    --thinktime_blocks_type=complete --time_based --runtime="${2:-$seconds}" --randrepeat=0 --output-format=json --output="$1.fio" >/dev/null
  jq -r '.jobs[0].read | [.total_ios, .clat_ns.mean, .clat_ns.percentile["99.000000"], .clat_ns.max] |
    "\(.[0]) requests, mean \(.[1] / 1e4 | round / 100) ms, p99 \(.[2] / 1e4 | round / 100), max \(.[3] / 1e4 | round / 100)"' "$1.fio"
}
scrubbed() { btrfs scrub status -R pool | awk '/data_bytes_scrubbed|tree_bytes_scrubbed/ {sum += $2} END {print sum + 0}'; }

echo "# alone:                $(load alone)"
btrfs scrub start pool >/dev/null
sleep 4
btrfs scrub cancel pool >/dev/null 2>&1 || true
echo "# btrfs scrub, nobody else: $(($(scrubbed) / 4000000)) MB/s"
(while :; do btrfs scrub start -B pool >/dev/null 2>&1 || sleep 0.1; done) &
theirs=$!
echo "# beside btrfs scrub:   $(load theirs)"
kill $theirs 2>/dev/null || true
wait $theirs 2>/dev/null || true
btrfs scrub cancel pool >/dev/null 2>&1 || true
echo "# alone, again:         $(load again)"
for budget in 1ms 3ms; do
  timeout -s INT $((3 * seconds)) "$scrubjay" scrub pool --slowdown $budget --json --no-progress --fresh --state "state.$budget" >"$budget.json" &
  scrubber=$!
  echo "# beside the scrub, $budget: $(load "beside$budget" $((3 * seconds)))"
  wait $scrubber || true
  jq -r '.targets[0] | "#   it checked \(.bytes_verified / 1e6 / .seconds * 100 | round / 100) MB/s in \(.seconds | round) s; says: " +
    "\(.slowdown.foreground_requests) requests lost \(.slowdown.mean_seconds * 1e5 | round / 100) ms each; \(.detector)"' "$budget.json"
  expect "a budget of $budget is kept" "$(jq ".targets[0].slowdown | .mean_seconds <= ${budget%ms} / 1000 * 1.05" "$budget.json")" true
  expect "$budget: who read is seen" "$(jq '.targets[0].slowdown.foreground_requests >= 100' "$budget.json")" true
  expect "$budget: something was checked" "$(jq '.targets[0].bytes_verified > 0' "$budget.json")" true
done
done_checking
