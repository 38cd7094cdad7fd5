#!/bin/bash
# The contents of a sector of a btrfs, an ext4, an XFS, or of a volume's member, on this machine: places are found by their content
# on the raw devices, and `explain DISK SECTOR` must name what is there.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, loop devices, btrfs and
# XFS, mkfs.btrfs, mkfs.ext4, debugfs, mkfs.xfs, xfs_db, xfs_logprint, nbdcopy, perl and jq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
grep -qw btrfs /proc/filesystems || modprobe btrfs 2>/dev/null || skip "no btrfs in this kernel"
needs root mount losetup loop mkfs.btrfs mkfs.ext4 debugfs mkfs.xfs xfs_db xfs_logprint nbdcopy perl jq
grep -qw xfs /proc/filesystems || modprobe xfs 2>/dev/null || skip "no XFS in this kernel"
loops=()
end_last() {
  local loop
  if mountpoint -q "$work/pool"; then umount "$work/pool" || true; fi
  for loop in "${loops[@]}"; do losetup -d "$loop" || true; done
}
begin
# shellcheck source=volume.sh
. "$here/volume.sh"
export SCRUBJAY=$scrubjay
seed=${SEED:-$RANDOM} count=20
echo "# seed $seed"
mkdir pool
detach_all() {
  local loop
  for loop in "${loops[@]}"; do losetup -d "$loop"; done
  loops=()
}
attach_new() { # COUNT SIZE
  local n
  detach_all
  for ((n = 0; n < $1; n++)); do
    rm -f "d$n"
    truncate -s "$2" "d$n"
    loops+=("$(losetup -f --show "d$n")")
  done
}
explained() { "$scrubjay" explain "$1" "$2" --json | jq -r "$3" || true; } # DEVICE SECTOR FILTER
truth() { # TITLE SHAPE TOP WITHOUT DEVICE...
  local title=$1 shape=$2 top=$3 without=$4
  shift 4
  seed=$((seed + 1)) checked=$((checked + 1))
  sync
  echo 3 >/proc/sys/vm/drop_caches 2>/dev/null || true
  "$here/sector-truth" check "$title" "$shape" $count $seed "$top" "$without" "$@" || failed=$((failed + 1))
}

# ---- btrfs: profiles, files, what was deleted; its trees are asked while it is mounted

pool() { # TITLE COPIES DEVICES MKFS-OPTION...
  local title=$1 copies=$2 n
  shift 2
  attach_new "$1" 160M
  shift
  mkfs.btrfs -q -f "$@" "${loops[@]}" >/dev/null 2>&1
  mount -o nodiscard "${loops[0]}" pool
  for n in 1 2 3; do "$here/sector-truth" fill "pool/f$n" "f$n" 3000; done
  "$here/sector-truth" fill pool/gone1 gone1 2000
  sync -f pool
  rm pool/gone1
  sync -f pool
  truth "$title" "copies:$copies" "$work/pool/" metadata "${loops[@]}"
  expect "$title: a superblock" "$(explained "${loops[0]}" 128 '.ends[0] | "\(.kind) \(.file_system)"')" "metadata btrfs"
  expect "$title: what is allocated to nothing" "$(explained "${loops[0]}" $(((160 << 11) - 8)) '.ends[0].kind')" free
  place=$(grep -abo -m1 "SJ-f2-700-" d0 d1 2>/dev/null | head -1 || true)
  [ -n "$place" ] || place=0:$(grep -abo -m1 "SJ-f2-700-" d0 | head -1)
  sector=$(($(cut -d: -f2 <<<"$place") / 512)) device=${loops[${place:1:1}]}
}
pool "btrfs RAID-1" 2 2 -d raid1 -m raid1
expect "btrfs RAID-1: it can make it again" "$(explained "$device" $sector '.ends[0] | "\(.is_kept) \(.keepers[0].command)"')" "true scrubjay scrub $work/pool"
umount pool
expect "btrfs, not mounted: nothing is guessed" "$(explained "$device" $sector '.ends[0].kind')" unknown
pool "btrfs RAID-0" 1 2 -d raid0 -m raid1
expect "btrfs RAID-0: it cannot" "$(explained "$device" $sector '.ends[0] | "\(.is_kept) \(.meaning | test("restore .*/pool/f2 from"))"')" "false true"
umount pool
pool "btrfs RAID-10" 2 4 -d raid10 -m raid10
umount pool
detach_all

# ---- ext4 and XFS not mounted and mounted

whole() { # KIND WITHOUT MKFS...
  local kind=$1 without=$2 n
  shift 2
  attach_new 1 96M
  "$@" "${loops[0]}" >/dev/null 2>&1
  mount "${loops[0]}" pool
  for n in 1 2 3; do "$here/sector-truth" fill "pool/f$n" "f$n" 3000; done
  "$here/sector-truth" fill pool/gone1 gone1 2000
  mkdir pool/folder
  (cd pool/folder && for ((n = 0; n < 60; n++)); do : >"sj-entry-$n-with-a-name-that-is-long-enough-to-fill-a-block-soon"; done)
  sync -f pool
  rm pool/gone1
  umount pool
  truth "$kind, not mounted" plain / - "${loops[0]}"
  expect "$kind: the superblock" "$(explained "${loops[0]}" 2 '.ends[0].kind')" metadata
  mount -o nodiscard "${loops[0]}" pool
  truth "$kind, mounted" plain "$work/pool/" "$without" "${loops[0]}"
  umount pool
}
whole "ext4 in blocks of 1 KiB" - mkfs.ext4 -q -b 1024
whole "ext4 in blocks of 4 KiB" - mkfs.ext4 -q -b 4096
whole "XFS with owners" - mkfs.xfs -q -f --unsupported -m rmapbt=1
whole "XFS without owners" metadata mkfs.xfs -q -f --unsupported
detach_all

# ---- file systems that were not unmounted in order: their tables are of yesterday, so nothing is said

crashed() { # KIND MKFS...
  local kind=$1
  shift
  attach_new 1 64M
  "$@" "${loops[0]}" >/dev/null 2>&1
  mount "${loops[0]}" pool
  "$here/sector-truth" fill pool/f1 f1 2000
  sync -f pool
  cp --sparse=always d0 copy
  umount pool
  loops+=("$(losetup -f --show copy)")
  sector=$(($(grep -abo -m1 "SJ-f1-700-" copy | cut -d: -f1) / 512))
  expect "$kind, crashed: nothing is guessed" "$(explained "${loops[1]}" "$sector" '.ends[0].kind')" unknown
  expect "$kind, crashed: of free space neither" "$(explained "${loops[1]}" $(((64 << 11) - 64)) '.ends[0].kind')" unknown
  expect "$kind, unmounted: the file" "$(explained "${loops[0]}" "$sector" '.ends[0].files[0] | startswith("/f1 ")')" true
}
crashed ext4 mkfs.ext4 -q
crashed XFS mkfs.xfs -q -f --unsupported
detach_all

# ---- a member of a volume: the sector of the volume, and the parities

attach_new 6 48M
members=("${loops[@]}")
"$scrubjay" volume create --data 4 --parity 2 --name lab "${members[@]}" >create.out
start
truncate -s 16M image
"$here/sector-truth" number image 32768
nbdcopy --flush image "$uri"
stop
truth "a volume 4+2" raid6 @ metadata "${members[@]}"
expect "a member's superblock" "$(explained "${members[0]}" 8 '.ends[0] | "\(.kind) \(.is_kept)"')" "outside true"
expect "how a volume makes it again" "$(explained "${members[0]}" 4096 '.ends[0].keepers[0].command')" "scrubjay scrub lab"
done_checking
