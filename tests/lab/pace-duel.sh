#!/bin/bash
# What a client of a disk of 8 ms loses beside sha256sum, and what that reads: alone, free, in the idle I/O class under three
# schedulers, and paced. Prints the table of docs/pace.md; checks nothing.
# Usage: pace-duel.sh [SECONDS [THINK_MS...]]. Needs root, fio, jq, and what ./faulty-disk needs. An idle machine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
seconds=${1:-40}
shift || true
thinks=("$@")
[ ${#thinks[@]} -gt 0 ] || thinks=(20 50 200)
needs root fuse loop fio jq nbdkit
begin
name=pace-duel-$$
end_last() {
  umount "$work/mnt" 2>/dev/null || true
  "$here/faulty-disk" destroy "$name"
}
disk=$("$here/faulty-disk" create "$name" 16G seek_us=8000 kbps=150000)
queue=/sys/block/$(basename "$disk")/queue
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 -F "$disk"
mkdir "$work/mnt"
mount "$disk" "$work/mnt"
dd if=/dev/urandom of="$work/mnt/big" bs=1M count=2048 status=none
umount "$work/mnt"
mount -o ro,noload "$disk" "$work/mnt"
echo 128 >"$queue/read_ahead_kb"

sectors() { awk '{print $3}' "/sys/block/$(basename "$disk")/stat"; }
client() { # THINK_MS SECONDS
  fio --name=client --filename="$disk" --direct=1 --rw=randread --bs=4k --ioengine=psync --thinktime=$(($1 * 1000)) --runtime="$2" \
    --time_based --size=8G --offset=6G --randrepeat=0 --output-format=json --output="$work/fio.json" >/dev/null
}
# shellcheck disable=SC2016 # the loop is for the inner shell
reads=(sh -c 'while :; do sha256sum "$0"; echo 1 >/proc/sys/vm/drop_caches; done' "$work/mnt/big")
cell() { # THINK_MS LABEL COMMAND...
  local think=$1 label=$2 before sent
  shift 2
  echo 1 >/proc/sys/vm/drop_caches
  before=$(sectors)
  if [ $# -gt 0 ]; then
    timeout "$seconds" "$@" "${reads[@]}" >/dev/null 2>"$work/said" &
  fi
  client "$think" "$seconds"
  sent=$(jq '.jobs[0].read.total_ios' "$work/fio.json")
  jq -r --arg name "$label" --arg think "$think" --argjson sectors $(($(sectors) - before)) --argjson seconds "$seconds" '
    .jobs[0].read | .clat_ns as $t
    | "| \($think) ms | \($name) | \($t.mean / 1e4 | round / 100) | \($t.percentile["99.000000"] / 1e5 | round / 10) | \($t.max / 1e5 | round / 10) | \(($sectors * 512 - .io_bytes) / 1e5 / $seconds | round / 10) |"' "$work/fio.json"
  wait || true
  [ "$sent" -gt 0 ]
}

before=$(sectors)
timeout 15 "${reads[@]}" >/dev/null 2>&1 || true
echo "sha256sum with the disk to itself: $((($(sectors) - before) * 512 / 15 / 100000)) x 0.1 MB/s"
echo "| the client thinks for | beside it | mean ms | p99 | most | MB/s |"
echo "|---|---|---|---|---|---|"
for think in "${thinks[@]}"; do
  echo none >"$queue/scheduler"
  cell "$think" "nothing"
  cell "$think" "sha256sum" env
  for scheduler in none mq-deadline bfq; do
    echo "$scheduler" >"$queue/scheduler" 2>/dev/null || continue
    cell "$think" "ionice -c3, $scheduler" ionice -c3
  done
  echo none >"$queue/scheduler"
  for goal in 1ms 2ms; do
    cell "$think" "pace --slowdown $goal" "$scrubjay" pace -q --slowdown "$goal" --json "$work/paced.json" --
  done
done
