#!/bin/bash
# `bench verify` on the kinds of disk of a virtual machine, and the read cache of a SCSI disk: disabled for the measurement, and
# restored afterwards, after `kill -9` by the next run. No check depends on timing; verdicts must claim nothing for emulated disks.
#
#   guest-bench.sh             starts the machine (./guest) and runs itself there
#   guest-bench.sh --inside    the checks
#
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs what ./guest needs, and jq in this machine's root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"

if [ "${1:-}" != --inside ]; then
  exec "$here/guest" -d 64M,if=sata -d 64M,if=nvme -d 64M -M 'scsi_debug dev_size_mb=64' -M sd_mod \
    env SCRUBJAY="$scrubjay" "$0" --inside
fi

work=$(mktemp -d)
cd "$work"
# shellcheck disable=SC2153 # set by ./guest
read -ra disks <<<"$DISKS"
of() { jq -c "$1" "$name.json" 2>&1 || true; }
verify() { # NAME DISK [OPTION...]
  name=$1 status=0
  shift
  "$scrubjay" bench verify "$@" --json --no-progress >"$name.json" 2>"$name.err" || status=$?
}
debug=$(basename "$(echo /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/*)")
cache() { cat /sys/block/"$debug"/device/scsi_disk/*/cache_type; }
before=$(cache)
echo "# scsi_debug is $debug, its cache: $before"

verify scsi "/dev/$debug"
expect "scsi: it was measured with the cache off and on" "$(of '[.times[] | select(.way == "scsi") | .read_cache]')" '[false,true]'
expect "scsi: each size of which there is room for four" "$(of '[.times[] | .sizes | length] | unique')" '[14]'
expect "scsi: no request failed" "$(of '[.times[].faults] | add')" 0
# It keeps nothing but memory: there is no turn to tell a cache by.
expect "scsi: no word of a medium that is none" "$(of '.verdicts[0].verdict != "reads-medium"')" true
expect "scsi: the cache is as it was" "$(cache)" "$before"
notes() { find /var/lib/scrubjay -name '*.read-cache-guard' 2>/dev/null | wc -l; }
expect "scsi: no note is left" "$(notes)" 0

verify kept "/dev/$debug" --keep-cache
expect "kept: the cache was not touched" "$(of '[.times[].read_cache] | unique')" '[null]'

# ---- killed amid its measurement with the cache off
XDG_STATE_HOME=$work/one "$scrubjay" bench verify "/dev/$debug" --json --no-progress >killed.json 2>&1 &
pid=$!
soon sh -c "[ \"\$(cat /sys/block/$debug/device/scsi_disk/*/cache_type)\" != '$before' ]"
kill -9 $pid
wait $pid 2>/dev/null || true
expect "killed: the cache is off" "$([ "$(cache)" != "$before" ] && echo off)" off
expect "killed: there is a note of it" "$(notes)" 1
# The next one may have a state folder of its own.
"$scrubjay" bench disk "/dev/$debug" --seconds 0.1 --depth 1 --state "$work/another" --no-progress >next.text 2>next.err || true
expect "killed: the next one puts it back" "$(cache)" "$before"
expect "killed: and says so" "$(grep -c 'its read cache was off, after a measurement that was killed: it is on again' next.err)" 1
expect "killed: no note is left" "$(notes)" 0

# ---- a stop puts it back, too
"$scrubjay" bench verify "/dev/$debug" --json --no-progress >stopped.json 2>&1 &
pid=$!
soon sh -c "[ \"\$(cat /sys/block/$debug/device/scsi_disk/*/cache_type)\" != '$before' ]"
kill -INT $pid
status=0 && wait $pid || status=$?
expect "stopped: exit code" "$status" 130
expect "stopped: the cache is as it was" "$(cache)" "$before"

for n in 0 1 2; do
  bus=$(echo sata nvme virtio | cut -d' ' -f$((n + 1)))
  verify "$bus" "${disks[n]}"
  echo "# $bus: $status $(of '[.verdicts[] | [.way, .verdict]]') $(of .cache_note) $(of '[.missing[].way]')"
  expect "$bus: reads were measured" "$(of '[.times[] | select(.way == "read")] | length > 0')" true
  expect "$bus: nothing is said to read a medium that is a file" "$(of '[.verdicts[].verdict] | index("reads-medium")')" null
done
expect "virtio: it has no VERIFY, and says so" "$(of '[(.verdicts | length), (.missing | length)]')" '[0,3]'
done_checking
