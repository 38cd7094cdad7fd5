#!/bin/bash
# `probe` on arrays of md and dm over disks with one head each, in a virtual machine.
#
#   guest-probe.sh [long|writes]    starts the machine (./guest) and runs itself there
#   guest-probe.sh --inside LENGTH  the checks: of dm; long: of md arrays, too; writes: of what the probe's writes leave on md's members
#
# What is claimed with 99 % must be right, and no byte may change. Whether anything is claimed is not checked: on a busy machine,
# without KVM, disks have irregular times, and the probe may give no answer for an array. No check depends on timing.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs what ./guest and ./faulty-disk need, and in this
# machine's root, which the virtual machine shares: jq mdadm dmsetup mkfs.ext4 openssl.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"

if [ "${1:-}" != --inside ]; then
  needs jq mdadm dmsetup mkfs.ext4 openssl nbdkit nbdfuse gcc
  # What plays a disk is built before: the machine is slow at it.
  # A disk for what lies on the disks that are played: the machine has little memory.
  exec "$here/guest" -t 2400 -d 2G -M ext4 -M loop -M fuse -M raid10 -M raid456 -M dm-mod env SCRUBJAY="$scrubjay" "$0" --inside "${1:-short}"
fi
length=$2

begin
export FAULTY_DIR=$work/disks
mkdir "$FAULTY_DIR"
read -r below <<<"$DISKS"
mkfs.ext4 -q "$below"
mount "$below" "$FAULTY_DIR"
disks=()
# Disks with ways of 10 ms: what the machine itself takes is little beside that.
add_disks() { # COUNT [SIZE]
  local n disk
  disks=()
  for ((n = 0; n < $1; n++)); do
    disk=$("$here/faulty-disk" create "d$n" "${2:-256M}" seek_us=10000 kbps=200000)
    echo 1 >"/sys/block/$(basename "$disk")/queue/rotational"
    disks+=("$disk")
  done
}
remove_disks() {
  local n
  for n in "${!disks[@]}"; do "$here/faulty-disk" destroy "d$n"; done
}
end_last() {
  remove_disks 2>/dev/null
  umount "$FAULTY_DIR"
}
array() { # LEVEL LAYOUT COUNT [SIZE]
  add_disks "$3" "${4:-}"
  mdadm --create /dev/md0 --run --assume-clean --level="$1" ${2:+--layout="$2"} --raid-devices="$3" --chunk=64 "${disks[@]}" >"$work/mdadm.out" 2>&1
}
end_array() {
  mdadm --stop /dev/md0 >>"$work/mdadm.out" 2>&1
  remove_disks
}
probe() { # DEVICE [OPTION...]
  "$scrubjay" probe "$@" --json --seed 1 --budget "${budget:-90s}" >"$work/probe.json" 2>"$work/probe.err" || true
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
  expect "$1: an answer or a reason" "$(said '.disks != null or .unmeasurable != null or .seconds >= 89')" true
}

# ---- what writes leave behind: all of the array is written, so that parity and copies are what they should be; then nothing may change
# on any member.
# A sum of each member's data, below all disks' times. (The first MiBs are md's own: it writes there when it likes.)
sums() {
  local n
  for n in "${!disks[@]}"; do tail -c +$((own + 1)) "$FAULTY_DIR/d$n/img" | md5sum; done
}
at_rest() { [ "$(awk '{print $9}' /sys/block/md0/stat)" = 0 ]; }
written() { awk '{print $5}' /sys/block/md0/stat; }
wrote() { [ "$(written)" -gt "$1" ] || ! kill -0 "$2" 2>/dev/null; }
writes() { # WHAT LEVEL KILLS UNLIKE (so many members that differ)
  local what=$1 is_true="if .confidence.level >= 0.95 then .level == \"$2\" else true end" before run first pid amid=0
  own=$(($(mdadm --examine "${disks[0]}" | awk '/Data Offset/ {print $4}') * 512))
  openssl enc -aes-128-ctr -K 00 -iv 00 </dev/zero 2>/dev/null | dd of=/dev/md0 bs=1M oflag=direct iflag=fullblock status=none 2>/dev/null || true
  before=$(sums)
  expect "$what: each member was written" "$(sort -u <<<"$before" | wc -l)" "$4"
  first=$(written)
  probe /dev/md0 --allow-writes
  echo "# $what, with writes: $(told), $(said '[.level, .confidence.level, .write_ratio]'), $(said .ios) requests, $(($(written) - first)) writes, $(said '.seconds | round') s, $(said .unmeasurable) $(cat "$work/probe.err")"
  expect "$what, with writes: it answered" "$(said .schema)" 1
  expect "$what, with writes: no level that is said with 95 % is wrong" "$(said "$is_true")" true
  soon at_rest
  expect "$what, with writes: no byte of a member is another" "$(sums)" "$before"
  for ((run = 1; run <= $3; run++)); do
    first=$(written)
    "$scrubjay" probe /dev/md0 --allow-writes --seed "$run" --budget 90s >/dev/null 2>"$work/probe.err" &
    pid=$!
    soon wrote "$first" $pid
    sleep "0.$((RANDOM % 10))"
    ! kill -9 $pid 2>/dev/null || [ "$(written)" = "$first" ] || amid=$((amid + 1))
    wait $pid 2>/dev/null || true
    soon at_rest
    expect "$what, killed, $run: no byte of a member is another" "$(sums)" "$before"
  done
  [ "$3" = 0 ] || echo "# $what: killed amid its writes $amid times of $3"
}

if [ "$length" = writes ]; then
  array 5 "" 4 128M
  writes "md RAID-5 of 4 disks" raid5 3 4
  end_array
  array 6 "" 5 128M
  writes "md RAID-6 of 5 disks" raid6 1 5
  end_array
  # Copies are alike: two sums for four disks.
  array 10 n2 4 128M
  writes "md RAID-10, near copies, of 4 disks" mirror-2 0 2
  end_array
  array 10 n2 5 128M
  writes "md RAID-10, near copies, of 5 disks" mirror-2 0 5
  end_array
  array 10 f2 4 128M
  writes "md RAID-10, far copies, of 4 disks" mirror-2 0 4
  end_array
  array 10 o2 4 128M
  writes "md RAID-10, offset copies, of 4 disks" mirror-2 0 4
  end_array
  done_checking
  exit
fi

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

  array 10 n2 5
  budget=180s probe /dev/md0
  right "md RAID-10, near copies, of 5 disks" 65536 5 2
  end_array

  array 10 o2 4
  probe /dev/md0
  right "md RAID-10, offset copies, of 4 disks" 65536 4 1
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
