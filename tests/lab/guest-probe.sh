#!/bin/bash
# What `probe` tells of the kernel's own arrays: md and dm over disks with one head each, in a virtual machine.
#
#   guest-probe.sh [long]           starts the machine (./guest) and runs itself there
#   guest-probe.sh --inside LENGTH  the checks: of dm, or of md's arrays, too
#
# What is said with 99 % must be right. Whether anything is said is for people to read: on a busy machine, in software, disks have
# times of their own, and an array may be declined. No timing decides a test.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs what ./guest and ./faulty-disk need, and in this
# machine's root, which the virtual one shares: jq mdadm dmsetup.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"

if [ "${1:-}" != --inside ]; then
  needs jq mdadm dmsetup nbdkit nbdfuse gcc
  # What plays a disk is built before: the machine is slow at it.
  exec "$here/guest" -t 900 -M loop -M fuse -M raid10 -M raid456 -M dm-mod env SCRUBJAY="$scrubjay" "$0" --inside "${1:-short}"
fi
length=$2

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
probe() { # DEVICE
  "$scrubjay" probe "$1" --json --seed 1 --budget 90s >"$work/probe.json" 2>"$work/probe.err" || true
}
said() { jq -c "$1" "$work/probe.json" 2>&1 || true; }
told() { said '[.chunk_bytes, .disks, .copies, .layout, .joined]'; }
# What is said with 99 % and more: chunk, disks, copies; null where it is less or nothing.
surely='[(if .confidence.chunk >= 0.99 then .chunk_bytes else null end),
         (if .confidence.disks >= 0.99 then .disks else null end),
         (if .confidence.copies >= 0.99 then .copies else null end)]'
# Is each of these what it is, or not said?
right() { # WHAT CHUNK DISKS COPIES
  echo "# $1: $(told), $(said .ios) requests, $(said '.seconds | round') s, $(said .unmeasurable)"
  expect "$1: it answered" "$(said .schema)" 1
  expect "$1: nothing sure is wrong" "$(said "$surely | [., [$2, $3, $4]] | transpose | all(.[0] == null or .[0] == .[1])")" true
}

if [ "$length" = long ]; then
  array 6 "" 5
  probe /dev/md0
  right "md RAID-6 of 5 disks" 65536 5 1
  end_array

  # Far copies are read as striping over all disks.
  array 10 f2 4
  probe /dev/md0
  right "md RAID-10, far copies, of 4 disks" 65536 4 1
  end_array

  array 10 n2 4
  probe /dev/md0
  right "md RAID-10, near copies, of 4 disks" 65536 4 2
  end_array
fi

add_disks 3
sectors=$(blockdev --getsz "${disks[0]}")
for n in 0 1 2; do echo "$((n * sectors)) $sectors linear ${disks[n]} 0"; done | dmsetup create joined
dmsetup mknodes
probe /dev/mapper/joined
right "dm, 3 disks one behind the other" null 3 null
near='[.joined // [] | to_entries[] | .value - .key * 268435456 | . >= -1048576 and . <= 1048576] | all'
expect "dm, 3 disks one behind the other: where they begin, to a MiB" "$(said "$near")" true
dmsetup remove joined
done_checking
