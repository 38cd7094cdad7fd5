#!/bin/bash
# `qualify` on a disk with bad sectors: what was sent, seen and found; never how long it took.
#
#   qualify.sh             the checks; half a minute
#   qualify.sh --measure   its client beside fio's, alone and beside a scrub, in turns: prints figures, and checks nothing
#
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, FUSE, loop devices, fio, jq and what faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount loop losetup gcc fio jq
end_last() { "$here/faulty-disk" destroy disk; }
begin
export FAULTY_DIR=$work/disks XDG_STATE_HOME=$work/state

if [ "${1:-}" = --measure ]; then
  disk=$("$here/faulty-disk" create disk 8G seek_us=8000 kbps=150000)
  fios() {
    fio --name=client --filename="$disk" --readonly --direct=1 --rw=randread --bs=4k --ioengine=psync --rate_iops=20 --time_based \
      --runtime=12s --randrepeat=0 --allow_file_create=0 --output-format=json | jq -r '.jobs[0].read | "\(.clat_ns.mean / 1e6) ms of \(.total_ios)"'
  }
  ours() { "$scrubjay" qualify --client even --seconds 12 "$disk" | jq -r '"\(.mean_seconds * 1e3) ms of \(.requests)"'; }
  for _ in 1 2 3 4 5; do
    echo "alone: fio $(fios), ours $(ours)"
    for client in fios ours; do
      rm -rf "$work/scrub"
      "$scrubjay" scrub "$disk" --slowdown 3ms --json --no-progress --state "$work/scrub" >scrub.json 2>/dev/null &
      scrub=$!
      sleep 0.3
      seen=$($client)
      kill -INT $scrub
      wait $scrub || true
      echo "beside a scrub: $client $seen; the scrub says $(jq '.targets[0].slowdown.mean_seconds * 1e3' scrub.json) ms"
    done
  done
  exit
fi

# Bad sectors lie so close that the client meets some.
bad=$(for place in $(seq 0 64 130000); do printf '%d+2,' "$place"; done)
disk=$("$here/faulty-disk" create disk 64M seek_us=2000 kbps=300000 err_ms=1 bad="${bad%,}")
status=0
# A place of its own for what is temporary: another qualify may be at work beside this test.
mkdir temporary
TMPDIR=$work/temporary "$scrubjay" qualify "$disk" --minutes 0.3 --goals 1ms --out out.json --page page --no-progress >out.txt 2>err.txt || status=$?
of() { jq -c "$1" out.json 2>&1 || true; }
expect "it came to its end" "$((status == 0 || status == 3)) $(of .is_complete)" "1 true"
expect "each load beside the goal" "$(of '[.rounds[] | [.load, .goal_seconds]]')" '[["even",0.001],["random",0.001],["bursty",0.001]]'
expect "what is emulated is said to be" "$(of .disk.is_emulated) $(grep -c 'This disk is emulated' out.txt)" "true 1"
expect "the client reads before, beside and after" "$(of '[.rounds[] | .alone[0].requests, .alone[1].requests, .beside.requests | . > 0] | all')" true
expect "its errors are counted" "$(of '[.rounds[] | .beside.errors] | add > 0')" true
expect "the scrub saw what it sent, and no more than twice that" \
  "$(of '[.rounds[] | (.beside.requests + .beside.errors) as $sent | .scrub.foreground_requests | . >= 0.9 * $sent and . <= 2 * $sent] | all')" true
expect "the scrub found bad sectors" "$(of '[.rounds[].scrub.unreadable_sectors] | max > 0')" true
expect "a page" "$(grep -c 'What a client feels of a scrub' page/index.html)" 2
expect "nothing is written over" "$("$scrubjay" qualify "$disk" --out out.json 2>&1 | grep -c -- '--force replaces')" 1
expect "what is no disk is refused" "$("$scrubjay" qualify nosuchdisk 2>&1 | wc -l)" 1
expect "nothing is left" "$(ls temporary)" ""

# Ctrl-C: what was measured is shown
"$scrubjay" qualify "$disk" --minutes 10 --json --no-progress >stopped.json 2>/dev/null &
qualify=$!
sleep 2
kill -INT $qualify
pkill -INT -P $qualify || true
status=0
wait $qualify || status=$?
expect "stopped: the exit code, and what is known" "$status $(jq -c '[.is_complete, .rounds]' stopped.json)" "130 [false,[]]"
done_checking
