#!/bin/bash
# What md's check costs the foreground of an array: as the kernel runs it by itself, and as a scrub drives it within its budget.
#
#   guest-md-load.sh [SECONDS]   starts the machine (./guest) and measures there, SECONDS (60) of load for each figure, and three times
#                                as many beside a scrub, which has to learn first, and again beside one that begins with what that learnt
#
# Two arrays, read in bursts (20 reads of 4 KiB, then a pause of 400 ms): a RAID-1 of two disks without seeks, and a RAID-5 of four with
# one head each (4 ms a seek, 60 MB/s). Prints the figures, and what steps of a check could read at the most; checks the slowdown that the scrub reports against its budget. Exit: 0 all
# checks hold, 1 one does not, 77 cannot be run here. Needs what ./guest needs, and in this machine's root, which the virtual machine
# shares: jq mdadm fio and what ./faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"

if [ "${1:-}" != --inside ]; then
  needs jq mdadm fio nbdkit nbdfuse gcc
  seconds=${1:-60}
  exec "$here/guest" -t $((seconds * 40 + 600)) -d 512M -d 512M -M raid1 -M raid456 -M loop -M fuse \
    env SCRUBJAY="$scrubjay" "$0" --inside "$seconds"
fi

seconds=$2
begin
mkfifo "$work/never" && exec 9<>"$work/never"
export FAULTY_DIR=$work/disks
md=/sys/block/md0/md
end_last() {
  mdadm --stop /dev/md0 >/dev/null 2>&1 || true
  for n in 0 1 2 3; do "$here/faulty-disk" destroy "f$n" 2>/dev/null || true; done
}
array() { # OPTION...
  mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --data-offset=1M --bitmap=none "$@" >"$work/mdadm.out" 2>&1 ||
    { cat "$work/mdadm.out"; exit 1; }
}
load() { # NAME [SECONDS]: fio's mean, 99th percentile and maximum in ms
  fio --name=load --filename=/dev/md0 --readonly --direct=1 --rw=randread --bs=4k --ioengine=psync --thinktime=400ms --thinktime_blocks=20 \
    --thinktime_blocks_type=complete --time_based --runtime="${2:-$seconds}" --randrepeat=0 --output-format=json --output="$work/$1.fio" >/dev/null
  jq -r '.jobs[0].read | [.total_ios, .clat_ns.mean, .clat_ns.percentile["99.000000"], .clat_ns.max] |
    "\(.[0]) requests, mean \(.[1] / 1e4 | round / 100) ms, p99 \(.[2] / 1e4 | round / 100), max \(.[3] / 1e4 | round / 100)"' "$work/$1.fio"
}
checked() { # how far the check is, in sectors
  awk '{ print ($1 == "none") ? 0 : $1 }' "$md/sync_completed"
}
rate() { awk -v sectors="$1" -v seconds="$2" 'BEGIN { printf "%.2f MB/s of each member\n", sectors * 512 / 1e6 / seconds }'; }
end_check() {
  echo idle >"$md/sync_action"
  sleep 1
}
now() { echo $((${EPOCHREALTIME/./} / 1000)); } # in ms
wait_until_at() { # SECTOR: the check is there
  local at
  while read -r at _ <"$md/sync_completed" && { [ "$at" = none ] || [ "$at" -lt "$1" ]; }; do read -rt 0.002 -u 9 || true; done
}
floor() { # BURST_MS: what steps of a check cost, one after the other with nobody beside, and what they could read in pauses of 400 ms between bursts
  local position=128 size step from times median
  echo 0 >"$md/sync_min"
  echo $position >"$md/sync_max"
  echo check >"$md/sync_action"
  wait_until_at $position
  for size in 64 256 1024 4096 8192; do
    times=()
    for step in 1 2 3 4 5; do
      from=$(now) position=$((position + 2 * size))
      echo $position >"$md/sync_max"
      wait_until_at $position
      times+=($(($(now) - from)))
    done
    median=$(printf '%s\n' "${times[@]}" | sort -n | sed -n 3p)
    echo "# step of $size KiB: $median ms, so at most $(awk -v kib="$size" -v ms="$median" -v burst="$1" \
      'BEGIN { printf "%.2f", int(400 / (ms > 1 ? ms : 1)) * kib * 1.024 / (400 + burst) }') MB/s in pauses"
  done
  end_check
  echo max >"$md/sync_max"
}
measure() { # NAME BURST_MS
  local name=$1 checker scrubber run budget knows rest size
  echo "# $name"
  echo "# alone:                 $(load alone)"
  # The kernel's own, at its usual speeds, without anybody beside it.
  echo check >"$md/sync_action"
  sleep 4
  echo "# md's check, nobody else: $(rate "$(checked)" 4)"
  end_check
  floor "$2"
  # One check after the other, as long as the load lasts.
  (
    rounds=0
    trap 'echo "$rounds" >"$work/rounds"; exit' TERM
    while :; do
      [ "$(cat "$md/sync_action")" != idle ] || { echo check >"$md/sync_action" && rounds=$((rounds + 1)); }
      sleep 0.05
    done
  ) &
  checker=$!
  echo "# beside md's check:     $(load check)"
  kill -TERM $checker
  wait $checker || true
  rest=$(checked) size=$(($(cat /sys/block/md0/md/component_size) * 2))
  echo "# md's check meanwhile:  $(rate $((($(cat "$work/rounds") - 1) * size + rest)) "$seconds")"
  end_check
  echo "# alone, again:          $(load again)"
  # The second time with what it learnt in the first.
  for run in 1ms 3ms "1ms again" "3ms again"; do
    read -r budget knows <<<"$run"
    timeout -s INT $((3 * seconds)) "$scrubjay" scrub /dev/md0 --slowdown "$budget" --json --no-progress $([ "$knows" ] || echo --fresh) --state "$work/state.$budget" >"$work/$budget.json" &
    scrubber=$!
    echo "# beside the scrub, $run: $(load "beside$budget$knows" $((3 * seconds)))"
    wait $scrubber || true
    jq -r '.targets[0] | "#   it checked \(.bytes_verified / 1e6 / .seconds * 100 | round / 100) MB/s of each member, in \(.seconds | round) s; says: " +
      "\(.slowdown.foreground_requests) requests lost \(.slowdown.mean_seconds * 1e5 | round / 100) ms each; " +
      "\(.detector), wait \(.wait_seconds * 1000 | round) ms, steps of \(.request_bytes / 1024) KiB"' "$work/$budget.json"
    expect "$name: a budget of $run is kept" "$(jq ".targets[0].slowdown | .mean_seconds <= ${budget%ms} / 1000 * 1.05" "$work/$budget.json")" true
    expect "$name: who read is seen, $run" "$(jq '.targets[0].slowdown.foreground_requests >= 100' "$work/$budget.json")" true
  done
  mdadm --stop /dev/md0 >"$work/mdadm.out" 2>&1
}

# shellcheck disable=SC2153 # set by ./guest
read -ra disks <<<"$DISKS"
array --level=1 --raid-devices=2 "${disks[@]}"
measure "RAID-1 of two disks without seeks" 8
disks=()
for n in 0 1 2 3; do disks+=("$("$here/faulty-disk" create "f$n" 160M seek_us=4000 kbps=60000)"); done
array --level=5 --raid-devices=4 --chunk=64 "${disks[@]}"
measure "RAID-5 of four disks with one head each" 121
done_checking
