#!/bin/bash
# What a scrub costs a bursty foreground on a disk with a hard disk's timing, and what it reads meanwhile: a measurement,
# not a test (timings decide nothing on a busy machine).
#
#   budget.sh [SECONDS [OPTIONS]...]    e.g. budget.sh 60 '--slowdown 1ms' '--policy none'
#
# The foreground is fio: bursts of 50 random 4 KiB reads, one at a time, then 400 ms of thought; or of BLOCKS, then THINK
# (BLOCKS=1 THINK=50ms: an even beat). First alone, then beside a scrub with each of the OPTIONS. Needs root, fio, jq and
# what ./faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scrubjay=${SCRUBJAY:-$here/../../target/release/scrubjay}
seconds=${1:-60}; shift || true
[ $# -gt 0 ] || set -- '--slowdown 1ms' '--policy none'

work=$(mktemp -d)
trap '"$here/faulty-disk" destroy budget; rm -rf "$work"' EXIT
disk=$("$here/faulty-disk" create budget 8G seek_us=8000 kbps=100000)
echo 1 >"/sys/block/${disk#/dev/}/queue/rotational"

foreground() { # RESULT
  fio --name=foreground --filename="$disk" --readonly --rw=randread --bs=4k --direct=1 --ioengine=psync --iodepth=1 \
    --time_based --runtime="$seconds" --thinktime="${THINK:-400ms}" --thinktime_blocks="${BLOCKS:-50}" \
    --output-format=json >"$1"
}
mean() { jq '.jobs[0].read.clat_ns.mean / 1e6' "$1"; }
scrub() { # SECONDS RESULT OPTION...
  local limit=$1 result=$2; shift 2
  timeout --signal=TERM "$limit" "$scrubjay" scrub "$disk" --fresh --state "$work/state" --json --no-progress "$@" >"$result" || true
}

# The rate of a scrub that has the disk for itself, and the share of the time that the foreground leaves.
scrub 8 "$work/alone.json" --policy none
alone=$(jq '.targets[0] | .bytes_requested / .seconds / 1e6' "$work/alone.json")
foreground "$work/without.json"
scrub "$seconds" "$work/watch.json" --policy delay --delay 1h --request 4KiB &
foreground "$work/watched.json"; wait
idle=$(jq '.targets[0] | .idle_seconds / .seconds' "$work/watch.json")
printf 'alone: scrub %.1f MB/s; foreground %.2f ms on average, disk idle %.0f %% of the time\n' \
  "$alone" "$(mean "$work/without.json")" "$(jq -n "$idle * 100")"

for options; do
  # shellcheck disable=SC2086 # options are words
  scrub $((seconds + 2)) "$work/scrub.json" $options &
  sleep 1
  foreground "$work/with.json"; wait
  jq -r --arg options "$options" --argjson alone "$alone" --argjson idle "$idle" \
    --argjson without "$(mean "$work/without.json")" --argjson with "$(mean "$work/with.json")" '
    def ms: . * 100 | round / 100;
    .targets[0] | (.bytes_requested / .seconds / 1e6) as $rate
    | "\($options): foreground +\($with - $without | ms) ms (the scrub says \(.slowdown.mean_seconds * 1e3 | ms), "
    + "at most \(.slowdown.max_seconds * 1e3 | ms)); \($rate | ms) MB/s, "
    + "\($rate / ($alone * $idle) * 100 | round) % of the idle time alone; "
    + "wait \(.wait_seconds * 1e3 | ms) ms, request \(.request_bytes / 1024) KiB, \(.detector)"' "$work/scrub.json"
done
