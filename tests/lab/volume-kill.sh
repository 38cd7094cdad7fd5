#!/bin/bash
# A volume whose server is killed again and again while two clients write: fio, which verifies its writes as it goes, and a client
# (./acked.py) that records which writes were acknowledged, and checks them after each kill.
# Usage: volume-kill.sh [TIMES [CHUNK]]. Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs jq, fio and
# python3-libnbd; no root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs fio jq libnbd
times=${1:-3} chunk=${2:-4KiB}
begin
# shellcheck source=volume.sh
. "$here/volume.sh"

make_volume 24M --chunk "$chunk" --size 64MiB

lost=0 unclean=0 wrong=0
for ((round = 1; round <= times; round++)); do
  start
  /usr/bin/python3 "$here/acked.py" write "$uri" "$work/acked" $round >"$work/acked.out" 2>&1 &
  client=$!
  sleep "0.$((RANDOM % 8 + 2))"
  kill_server
  wait $client || fail "round $round: the client: $(tail -1 "$work/acked.out")"
  start
  /usr/bin/python3 "$here/acked.py" verify "$uri" "$work/acked" >"$work/acked.out" 2>&1 || {
    lost=$((lost + 1))
    cat "$work/acked.out"
  }
  stop
  [ "$(dirty_stripes)" = 0 ] || unclean=$((unclean + 1))
done
expect "$times kills: every acknowledged write is there" $lost 0
expect "$times kills: the check after each is clean" $unclean 0

make_volume 24M --chunk "$chunk" --size 64MiB
for ((round = 1; round <= times; round++)); do
  start
  fio --name=job --ioengine=nbd --uri="$uri" --rw=randwrite --bs=4k --iodepth=16 --size=64M \
    --randseed=$round --verify=crc32c --verify_backlog=64 --verify_fatal=1 --time_based --runtime=60 \
    --output=fio.out >fio.err 2>&1 &
  fio=$!
  sleep "0.$((RANDOM % 8 + 2))"
  kill_server
  wait $fio 2>/dev/null || true
  if grep -q '^verify: bad' "$work/fio.out" "$work/fio.err"; then
    wrong=$((wrong + 1))
    grep -h '^verify: bad' "$work/fio.out" "$work/fio.err" | head -3
  fi
  # The same job again over what the kill left, to its end: writes, then a pass that verifies everything.
  start
  fio --name=job --ioengine=nbd --uri="$uri" --rw=randrw --bs=4k --iodepth=16 --size=64M --io_size=8M \
    --randseed=$round --verify=crc32c --verify_fatal=1 --output=fio.out >fio.err 2>&1 || {
    wrong=$((wrong + 1))
    tail -3 "$work/fio.err"
  }
  stop
  [ "$(dirty_stripes)" = 0 ] || unclean=$((unclean + 1))
done
expect "$times kills under fio: no verify error" $wrong 0
expect "$times kills under fio: the check after each is clean" $unclean 0
done_checking
