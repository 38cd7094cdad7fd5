#!/bin/bash
# The capture on a block device of this machine: it records exactly the requests of fio, and none of the idle class.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, fio and jq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root losetup loop fio jq
grep -q '__traceiter_block_io_start$' /proc/kallsyms || skip "no block_io_start (Linux 6.5)"
end_last() { losetup -d "$disk"; }
begin
truncate -s 64M "$work/image"
disk=$(losetup -f --show "$work/image")

# Captures while fio runs with these options, and ends the capture by a signal.
capture() { # NAME FIO-OPTION...
  local name=$1 pid
  shift
  "$scrubjay" trace capture "$disk" --for 5m "$work/$name.parquet" 2>"$work/$name.err" &
  pid=$!
  # It says so once it listens.
  until grep -qs '^capturing ' "$work/$name.err"; do kill -0 $pid || break; sleep 0.05; done
  fio --name="$name" --filename="$disk" --direct=1 --output-format=json --output="$work/$name.fio" "$@" >/dev/null
  kill -INT $pid
  status=0
  wait $pid || status=$?
  "$scrubjay" trace info --json "$work/$name.parquet" >"$work/$name.json" || true
}
seen() { jq -c ".$2" "$work/$1.json"; }
made() { jq -c ".jobs[0].$2" "$work/$1.fio"; }

capture mixed --rw=randrw --bs=4k --io_size=32m --size=64m --ioengine=libaio --iodepth=8
expect "mixed: exit code after a signal" "$status" 0
expect "mixed: reads" "$(seen mixed reads.requests)" "$(made mixed read.total_ios)"
expect "mixed: writes" "$(seen mixed writes.requests)" "$(made mixed write.total_ios)"
expect "mixed: bytes" "$(seen mixed bytes)" $(($(made mixed read.io_bytes) + $(made mixed write.io_bytes)))
expect "mixed: nothing is lost" "$(grep -c 'were lost' "$work/mixed.err" || true)" 0
# Perf may withhold a completion now and then.
expect "mixed: 99 of 100 have a response time" "$(seen mixed 'response.count >= (0.99 * .requests)')" true

capture large --rw=read --bs=1m --size=16m --ioengine=psync
expect "large: bytes" "$(seen large bytes)" $((16 << 20))

if ! grep -q 'idle I/O class are captured too' "$work/mixed.err"; then
  capture idle --rw=randread --bs=4k --size=64m --io_size=4m --ioengine=psync --prioclass=3
  expect "idle class: not seen" "$(seen idle reads.requests)" 0
fi

done_checking
