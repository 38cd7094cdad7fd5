#!/bin/bash
# `bench disk` on devices that are slow, broken, shared, small or absent, and beside fio: checks counts and messages, never speed.
#
#   bench-disk.sh              the checks; a minute
#   bench-disk.sh --measure [fast|slow] [OPTION...]
#                              compared with fio, on a fast file and on a disk of 8 ms, medians of 5 (./bench-fio.py, whose options
#                              follow): prints figures, and checks nothing
#
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, FUSE, loop devices, fio, jq and what faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount loop losetup gcc fio jq python3
loop=
end_last() {
  local left
  [ -z "$loop" ] || losetup -d "$loop" || true
  for left in "$FAULTY_DIR"/*/; do
    [ ! -d "$left" ] || "$here/faulty-disk" destroy "$(basename "$left")"
  done
}
begin
export FAULTY_DIR=$work/disks XDG_STATE_HOME=$work/state
dd if=/dev/urandom of=fast.img bs=1M count=128 oflag=direct status=none

if [ "${1:-}" = --measure ]; then
  targets=() which=both
  case "${2:-}" in fast | slow) which=$2 && shift ;; esac
  if [ $which != slow ]; then
    dd if=/dev/urandom of=fast.img bs=1M count=2048 oflag=direct status=none
    targets+=("$(losetup -f --show --direct-io=on fast.img)")
    loop=${targets[0]}
  fi
  [ $which = fast ] || targets+=("$("$here/faulty-disk" create slow 256M seek_us=8000 kbps=150000)")
  SCRUBJAY=$scrubjay "$here/bench-fio.py" "${@:2}" "${targets[@]}"
  exit
fi

bench() { # NAME TARGET [OPTION...]: leaves its JSON in NAME.json, and $status
  name=$1 status=0
  shift
  "$scrubjay" bench disk "$@" --json --no-progress --seconds 0.5 --depth 1,4 >"$name.json" 2>"$name.err" || status=$?
}
of() { jq -c "$1" "$name.json" 2>&1 || true; }

# ---- a disk of 8 ms with bad sectors
disk=$("$here/faulty-disk" create slow 64M seek_us=8000 kbps=150000 bad=2048+2,90000 err_ms=10)
bench slow "$disk"
expect "slow: exit code" "$status" 3
expect "slow: it came to its end" "$(of .state)" '"complete"'
expect "slow: each depth" "$(of '[.random[].depth], [.sequential[].depth]')" "$(printf '[1,4]\n[1,4]')"
expect "slow: what was met is told with its errno" "$(of '[.sequential[], .random[] | .fault_places[].errno] | unique')" '[5]'
expect "slow: and places hold the bad sectors" \
  "$(of '[.sequential[], .random[] | .fault_places[] | select((.offset <= 1048576 and .offset + .bytes > 1048576) or (.offset <= 46080000 and .offset + .bytes > 46080000) | not)] | length')" 0
expect "slow: requests at depth 1 take 8 ms at least" "$(of '.random[0].p50_seconds >= 0.008')" true
expect "slow: a disk that rotates, by what it does" "$(of '(.verdict == "alike" and (.sentence | test(": as a disk of "))) or .verdict == "slow" or (.sentence | test("others used|No figures"))')" true
expect "slow: who answers is named, and there is no verdict as if it were a disk" \
  "$(of '[.disk.intermediary, (.sentence | test("no verdict, because the disk is a loop device"))]')" '["loop",true]'
expect "slow: the budget of one" "$(of .budget_seconds)" 0.02
expect "slow: it was made of something" "$(of '.disk.below | length')" 1

# ---- as an owner runs it, on a terminal: all is answered within 40 s, with figures within 3 s. How long it took is printed; what
# decides are limits that only a fault exceeds.
owned=$("$here/faulty-disk" create owned 256M seek_us=8000 kbps=150000)
loop=$(losetup -f --show --direct-io=on fast.img)
"$here/bench-live.py" owned.shown "$scrubjay" bench disk "$owned" --no-history >owned.json &
timed=$!
"$here/bench-live.py" fast.shown "$scrubjay" bench disk "$loop" --no-history >fast.json
wait $timed
losetup -d "$loop"
loop=
for name in owned fast; do
  echo "# $name: first figures after $(of .first) s, all after $(of .all) s"
  expect "$name: it came to its end" "$(of .code)" 0
  expect "$name: there were figures on the way" "$(of '.first != null and .first < 20 and .first < .all')" true
  expect "$name: it comes to an end" "$(of '.all < 120')" true
done
"$here/faulty-disk" destroy owned

# ---- a disk that somebody else uses
fio --name=other --filename="$disk" --readonly --direct=1 --rw=randread --bs=4k --time_based --runtime=60 >fio.log 2>&1 &
soon sh -c "[ \"\$(awk '{print \$9}' /sys/block/${disk#/dev/}/stat)\" -gt 0 ]"
bench shared "$disk"
kill %1 && wait %1 2>/dev/null || true
expect "shared: others are told" "$(of '[.warnings[].code] | index("others") != null')" true
expect "shared: no verdict" "$(of .verdict)" '"unknown"'
expect "shared: nor is it kept" "$(jq -s length state/scrubjay/bench-results.jsonl 2>/dev/null || echo 0)" \
  "$(jq -s '[.[] | select(.id | test("slow"))] | length' state/scrubjay/bench-results.jsonl 2>/dev/null || echo 0)"

# ---- a stop keeps what is known
"$scrubjay" bench disk "$disk" --json --no-progress --seconds 60 >stopped.json 2>stopped.err &
pid=$!
before=$(awk '{print $1}' "/sys/block/${disk#/dev/}/stat")
soon sh -c "[ \$(awk '{print \$1}' /sys/block/${disk#/dev/}/stat) -gt $((before + 30)) ]"
kill -INT $pid
status=0 && wait $pid || status=$?
name=stopped
expect "stopped: exit code" "$status" 130
expect "stopped: it says so, with what is known" "$(of '[.state, (.random[0].requests > 10), .random[0].is_complete]')" '["stopped",true,false]'

# A deep queue is not waited for: 256 requests of 8 ms would take two seconds.
"$scrubjay" bench disk "$disk" --json --no-progress --seconds 60 --depth 256 >deep.json 2>deep.err &
pid=$!
before=$(awk '{print $1}' "/sys/block/${disk#/dev/}/stat")
soon sh -c "[ \$(awk '{print \$1}' /sys/block/${disk#/dev/}/stat) -gt $((before + 300)) ]"
begun=$EPOCHREALTIME
kill -INT $pid
status=0 && wait $pid || status=$?
name=deep
echo "# deep: stopped after $(awk "BEGIN {print $EPOCHREALTIME - $begun}") s"
expect "deep: exit code" "$status" 130
expect "deep: what is known" "$(of '[.state, (.random[0].requests > 0), .random[0].is_complete, (.random[0].others_share != null)]')" \
  '["stopped",true,false,true]'

# ---- files: whole, sparse, short, empty, in memory
bench file fast.img
expect "file: exit code" "$status" 0
expect "file: nothing failed" "$(of '[.random[], .sequential[] | .faults] | add')" 0
expect "file: requests at a time are rate times latency" "$(of '[.random[] | .iops * .mean_seconds / .depth | . > 0.5 and . < 1.5] | all')" true
truncate -s 16M holes.img
bench holes holes.img
expect "holes: no verdict, and why" "$(of '[.verdict, ([.warnings[].code] | index("holes") != null)]')" '["unknown",true]'
head -c 1024 fast.img >short.img
bench short short.img
expect "short: requests of what there is" "$(of '[.random[0].request_bytes, .random[0].is_repeating]')" '[1024,true]'
: >empty.img
bench empty empty.img
expect "empty: exit code" "$status" 2
expect "empty: in one line" "$(cat empty.err)" "scrubjay: empty.img is empty: there is nothing to read"
cp short.img /dev/shm/scrubjay-bench-short.img
bench memory /dev/shm/scrubjay-bench-short.img
rm /dev/shm/scrubjay-bench-short.img
expect "memory: exit code" "$status" 2
expect "memory: it says that it is" "$(grep -c 'memory would be measured' memory.err)" 1

# ---- blocks of 4 KiB
loop=$(losetup -f --show --direct-io=on --sector-size 4096 fast.img)
bench blocks "$loop"
expect "4 KiB blocks: no request fails" "$(of '[.disk.logical_block_bytes, ([.random[], .sequential[] | .faults] | add)]')" '[4096,0]'

# ---- writes: only for who says what is lost, and not below a user
sum=$(sha256sum <fast.img)
for wrong in "--write" "--write --i-know else"; do
  # shellcheck disable=SC2086
  bench refused fast.img $wrong
  expect "refused: $wrong" "$status" 2
done
expect "refused: nothing was written" "$(sha256sum <fast.img)" "$sum"
bench in-use fast.img --write --i-know fast.img
expect "a file below a loop device is not written" "$status" 2
expect "in use: nothing was written" "$(sha256sum <fast.img)" "$sum"
losetup -d "$loop"
loop=
cp fast.img written.img
bench written written.img --write --i-know written.img
expect "written: exit code" "$status" 0
expect "written: writes, and no verdict on them" "$(of '[.is_write, .verdict, (.random[0].requests > 0)]')" '[true,"unknown",true]'
expect "written: the file has its length" "$(stat -c %s written.img)" $((128 << 20))
# Two 512-byte pieces are never equal; written again is what fits.
pieces() { python3 -c 'import sys; data = open(sys.argv[1], "rb").read(); print(len({data[at : at + 512] for at in range(0, len(data), 512)}))' "$1"; }
expect "written: no two pieces are alike" "$(pieces written.img)" $((128 << 11))
expect "written: what was there is lost" "$([ "$(sha256sum <written.img)" != "$sum" ] && echo yes)" yes

# Whoever comes meanwhile ends it, and is told of.
cp fast.img wanted.img
"$scrubjay" bench disk wanted.img --write --i-know wanted.img --seconds 60 --depth 1 --json --no-progress >wanted.json 2>wanted.err &
pid=$!
writes() { [ "$(awk '/^write_bytes/ {print $2}' "/proc/$1/io" 2>/dev/null || echo 0)" -gt $((4 << 20)) ]; }
soon writes $pid
head -c 1 wanted.img >/dev/null
status=0 && wait $pid || status=$?
name=wanted
expect "wanted: exit code" "$status" 1
expect "wanted: what is known" "$(of '[.state, (.random[0].requests > 0)]')" '["stopped",true]'
expect "wanted: who ended it" "$(grep -c 'wanted.img was opened by another program, which waits for it. So the measurement was ended' wanted.err)" 1
loop=$(losetup -f --show --direct-io=on wanted.img)
before=$(awk '{print $5}' "/sys/block/${loop#/dev/}/stat") # of all that had this number
"$scrubjay" bench disk "$loop" --write --i-know "${loop#/dev/}" --seconds 2 --depth 1,2 --json --no-progress >taken.json 2>taken.err &
pid=$!
soon sh -c "[ \"\$(awk '{print \$5}' /sys/block/${loop#/dev/}/stat)\" -gt $((before + 100)) ]"
exec 9<>"$loop"
status=0 && wait $pid || status=$?
exec 9>&-
name=taken
expect "taken: exit code" "$status" 1
expect "taken: who ended it" "$(grep -c "is open for writing in process $$ .*So the measurement was ended" taken.err)" 1
losetup -d "$loop"
loop=

# ---- fio as the engine, and its formats
bench fio fast.img --engine fio
expect "fio: exit code" "$status" 0
expect "fio: the same document" "$(of '[(.engine | startswith("fio-")), [.random[].depth], (.random[0].requests > 0)]')" '[true,[1,4],true]'
"$scrubjay" bench disk fast.img --seconds 0.2 --depth 1,2 --no-progress --page page --fio-logs logs >text 2>said
expect "page: figures" "$(find page -name '*.svg' | wc -l)" 7
expect "logs: as bench-fio names them" "$(find logs -name 'randread-*-1.json' | wc -l)" 2
expect "logs: json that fio-plot knows" \
  "$(jq -c '[."jobs"[0]."job options".rw, ."jobs"[0]."job options".iodepth, (."jobs"[0].read.iops > 0), (."jobs"[0].read.lat_ns.mean > 0)]' logs/randread-2-1.json)" \
  '["randread","2",true,true]'
expect "logs: time, value, direction, bytes, offset" "$(grep -cvE '^[0-9]+, [0-9]+, 0, 4096, 0$' logs/randread-iodepth-2-numjobs-1_lat.1.log)" 0
expect "text: the sentence first" "$(head -1 text | grep -c 'IOPS at .* (depth 1): ')" 1
done_checking
