#!/bin/bash
# What `probe` tells of the kernel's own arrays: md and dm over disks with one head each, in a virtual machine.
#
#   guest-probe.sh             starts the machine (./guest) and runs itself there
#   guest-probe.sh --inside    the checks
#
# An array that the prober knows must come out right; of one that it declines nothing may be said with 90 % that is wrong.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs what ./guest and ./faulty-disk need, and in this
# machine's root, which the virtual one shares: jq mdadm dmsetup.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"

if [ "${1:-}" != --inside ]; then
  needs jq mdadm dmsetup nbdkit nbdfuse gcc
  # What plays a disk is built before: the machine is slow at it.
  exec "$here/guest" -t 900 -M loop -M fuse -M raid10 -M raid456 -M dm-mod env SCRUBJAY="$scrubjay" "$0" --inside
fi

begin
export FAULTY_DIR=$work/disks
disks=()
# Disks with ways of 10 ms: what the machine itself takes is little beside that.
add_disks() { # COUNT
  local n disk
  disks=()
  for ((n = 0; n < $1; n++)); do
    disk=$("$here/faulty-disk" create "d$n" 256M seek_us=10000 kbps=200000)
    echo 1 >"/sys/block/$(basename "$disk")/queue/rotational"
    disks+=("$disk")
  done
}
remove_disks() {
  local n
  for n in "${!disks[@]}"; do "$here/faulty-disk" destroy "d$n"; done
}
end_last() { remove_disks 2>/dev/null; }
array() { # LEVEL LAYOUT COUNT
  add_disks "$3"
  mdadm --create /dev/md0 --run --assume-clean --level="$1" ${2:+--layout="$2"} --raid-devices="$3" --chunk=64 "${disks[@]}" >"$work/mdadm.out" 2>&1
}
end_array() {
  mdadm --stop /dev/md0 >>"$work/mdadm.out" 2>&1
  remove_disks
}
probe() { # DEVICE [OPTION...]
  "$scrubjay" probe "$1" --json --seed "${seed:-1}" "${@:2}" >"$work/probe.json" 2>"$work/probe.err" || true
}
said() { jq -c "$1" "$work/probe.json" 2>&1 || true; }
told() { said '[.chunk_bytes, .disks, .copies, .layout, .joined]'; }
# What is said with 90 % and more: chunk, disks, copies; null where it is less or nothing.
surely='[(if .confidence.chunk > 0.9 then .chunk_bytes else null end),
         (if .confidence.disks > 0.9 then .disks else null end),
         (if .confidence.copies > 0.9 then .copies else null end)]'

array 6 "" 5
probe /dev/md0
echo "# md RAID-6 of 5: $(told), $(said .ios) requests, $(said '.seconds | round') s"
expect "md RAID-6 of 5 disks" "$(said '[.chunk_bytes, .disks, .copies]')" "[65536,5,1]"
expect "md RAID-6 of 5 disks: md's own layout" "$(said '.layout | contains("raid6-md")')" true
end_array

array 10 f2 4
probe /dev/md0
echo "# md RAID-10, far copies, of 4: $(told), $(said .ios) requests"
expect "md RAID-10, far copies, of 4 disks: read as striping over all" "$(said '[.chunk_bytes, .disks, .copies]')" "[65536,4,1]"
end_array

array 10 n2 4
probe /dev/md0
echo "# md RAID-10, near copies, of 4: $(told), $(said .ios) requests, surely $(said "$surely")"
expect "md RAID-10, near copies, of 4 disks: nothing sure is wrong" \
  "$(said "$surely | (.[0] == null or .[0] == 65536) and (.[1] == null or .[1] == 4) and (.[2] == null or .[2] == 2)")" true
end_array

add_disks 3
sectors=$(blockdev --getsz "${disks[0]}")
for n in 0 1 2; do echo "$((n * sectors)) $sectors linear ${disks[n]} 0"; done | dmsetup create joined
dmsetup mknodes
# It may decline now and then: the machine's own times are in it.
for seed in 1 2 3; do
  probe /dev/mapper/joined
  echo "# dm, 3 disks one behind the other: $(told), $(said .ios) requests, $(said .unmeasurable)"
  [ "$(said .disks)" = null ] || break
done
expect "dm, one behind the other: how many" "$(said .disks)" 3
near='[.joined // [] | to_entries[] | .value - .key * 268435456 | . >= -1048576 and . <= 1048576]'
expect "dm, one behind the other: where they begin, to a MiB" "$(said "$near")" "[true,true,true]"
dmsetup remove joined
done_checking
