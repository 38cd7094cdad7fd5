#!/bin/bash
# The contents of a sector, in a virtual machine: files are found by their content on the raw disks, and `explain DISK SECTOR` must
# name them, the role of the place in its array, free space, and a file system's own metadata.
#
#   guest-sector.sh                starts the machine (./guest) and runs the short form there: RAID-5, RAID-6, RAID-1
#   guest-sector.sh long           every level and layout, more places, a partition, the device mapper
#   guest-sector.sh --inside FORM  the checks
#
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs what ./guest needs, and in this machine's root, which the
# virtual machine shares: jq mdadm sfdisk debugfs mkfs.xfs xfs_db dmsetup perl.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"

if [ "${1:-}" != --inside ]; then
  needs jq mdadm sfdisk mkfs.ext4 debugfs mkfs.xfs xfs_db dmsetup perl
  form=${1:-short}
  limit=900
  [ "$form" = short ] || limit=1800
  disks=() modules=()
  for _ in {1..5}; do disks+=(-d 20M); done
  for module in raid0 raid1 raid10 raid456 ext4 xfs dm_mod; do modules+=(-M "$module"); done
  exec "$here/guest" -t "$limit" "${disks[@]}" "${modules[@]}" env SCRUBJAY="$scrubjay" SEED="${SEED:-$RANDOM}" "$0" --inside "$form"
fi

form=$2
begin
export SCRUBJAY=$scrubjay
# shellcheck disable=SC2153 # set by ./guest
read -ra disks <<<"$DISKS"
count=2
[ "$form" = short ] || count=20
seed=$SEED
echo "# seed $seed"
mkdir top
quietly() { "$@" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }; }
array() { # LEVEL COUNT [OPTION...]
  local level=$1 number=$2 bitmap=(--bitmap=none)
  shift 2
  [ "$level" != 0 ] || bitmap=() # which has none, and mdadm wants to hear nothing of it
  members=("${disks[@]:0:number}")
  quietly mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --data-offset=1M "${bitmap[@]}" --level="$level" \
    --raid-devices="$number" "$@" "${members[@]}"
}
end_array() {
  quietly mdadm --stop /dev/md0
  quietly mdadm --zero-superblock "${members[@]}"
  wipe "${members[@]}"
}
# What the last file system left behind would be found again.
wipe() {
  local disk
  for disk; do dd if=/dev/zero of="$disk" bs=1M oflag=direct status=none 2>/dev/null || true; done
}
# Files on a file system, some of them deleted again, and a folder with many names.
put_files() { # DEVICE
  local n
  mount "$1" top
  for n in 1 2 3 4; do "$here/sector-truth" fill "top/f$n" "f$n" 1200; done
  "$here/sector-truth" fill top/gone1 gone1 800
  mkdir top/folder
  (cd top/folder && for ((n = 0; n < 60; n++)); do : >"sj-entry-$n-with-a-name-that-is-long-enough-to-fill-a-block-soon"; done)
  sync
  rm top/gone1
  umount top
}
truth() { # TITLE SHAPE TOP WITHOUT DEVICE...
  local title=$1 shape=$2 top=$3 without=$4
  shift 4
  seed=$((seed + 1))
  echo 3 >/proc/sys/vm/drop_caches
  checked=$((checked + 1))
  "$here/sector-truth" check "$title" "$shape" "$count" $seed "$top" "$without" "$@" || failed=$((failed + 1))
}
explained() { "$scrubjay" explain "$1" "$2" --json | jq -r "$3" || true; } # DEVICE SECTOR FILTER
mounted() { # COMMAND...: with the file system of /dev/md0 mounted
  mount /dev/md0 top
  "$@"
  umount top
}

# ---- RAID-5 with ext4, mounted; then degraded

array 5 3 --chunk=64
quietly mkfs.ext4 -q /dev/md0
put_files /dev/md0
mounted truth "ext4 on a RAID-5" raid5 "$work/top/" - "${members[@]}"
expect "md's superblock" "$(explained "${members[1]}" 8 '.ends[0].kind')" outside
place=$(grep -abo -m1 "SJ-f2-700-" "${members[0]}" "${members[1]}" "${members[2]}" | head -1)
disk=${place%%:*} byte=${place#*:}
sector=$((${byte%%:*} / 512))
expect "what an array can make again" "$(explained "$disk" $sector '.ends[0] | "\(.is_kept) \(.keepers[0].command)"')" "true scrubjay scrub /dev/md0"
mount /dev/md0 top
[ "$form" = short ] || "$scrubjay" explain "$disk" "$sector+2" | sed 's/^/# /'
for member in "${members[@]}"; do
  [ "$member" = "$disk" ] || { quietly mdadm /dev/md0 --fail "$member"; break; }
done
expect "degraded, it cannot" "$(explained "$disk" $sector '.ends[0] | "\(.is_kept) \(.meaning | test("/f2 from a backup"))"')" "false true"
umount top
end_array

# ---- RAID-6 with an XFS that records owners, mounted

xfs() { # DEVICE [OPTION...]
  local device=$1
  shift
  quietly mkfs.xfs -q -f --unsupported "$@" "$device"
}
array 6 5 --chunk=16
xfs /dev/md0 -m rmapbt=1
put_files /dev/md0
mounted truth "XFS with owners on a RAID-6" raid6 "$work/top/" - "${members[@]}"
end_array

# ---- RAID-1

array 1 2
"$here/sector-truth" number /dev/md0 32768
sync
truth "RAID-1" mirror:2 @ metadata "${members[@]}"
end_array

if [ "$form" = short ]; then
  done_checking
  exit
fi

# ---- a partition with ext4, not mounted

printf '2048,8192\n10240,\n' | quietly sfdisk "${disks[0]}"
part=${disks[0]}2
soon test -b "$part"
quietly mkfs.ext4 -q -b 1024 "$part"
put_files "$part"
truth "ext4 on a partition, not mounted" plain / - "${disks[0]}"
expect "before the first partition" "$(explained "${disks[0]}" 100 '.ends[0].kind')" outside
expect "a partition without a file system" "$(explained "${disks[0]}" 4000 '.ends[0] | "\(.device) \(.kind)"')" "$(basename "${disks[0]}1") unknown"
expect "a partition by its own sectors" "$(explained "$part" 2 '.ends[0] | "\(.kind) \(.start)"')" "metadata 2"
refused() { # DISK SECTOR PATTERN
  local status=0
  "$scrubjay" explain "$1" "$2" >"$work/refused" 2>&1 || status=$?
  expect "refused: sector $2" "$status $(wc -l <"$work/refused") $(grep -c "$3" "$work/refused")" "2 1 1"
}
refused "${disks[0]}" 40960 "has 40960 sectors, the last is 40959"
refused "${disks[0]}" 40955+8 "has 40960 sectors"
wipe "${disks[0]}"
quietly blockdev --rereadpt "${disks[0]}"

# ---- RAID-1 with XFS, not mounted, and mounted

array 1 2
xfs /dev/md0
put_files /dev/md0
truth "XFS on a RAID-1, not mounted" mirror:2 / - "${members[@]}"
mounted truth "XFS without owners on a RAID-1" mirror:2 "$work/top/" metadata "${members[@]}"
end_array

# ---- every level and layout

layout() { # TITLE SHAPE LEVEL COUNT [OPTION...]: without a file system, the sector of the array itself is compared
  local title=$1 shape=$2
  shift 2
  array "$@"
  numbered /dev/md0
  truth "$title" "$shape" @ metadata "${members[@]}"
  end_array
}
numbered() { # DEVICE
  "$here/sector-truth" number "$1" 32768
  sync
}
for way in left-asymmetric right-asymmetric left-symmetric right-symmetric parity-first parity-last; do
  layout "RAID-5 $way" raid5 5 4 --chunk=16 --layout=$way
  layout "RAID-6 $way" raid6 6 5 --chunk=32 --layout=$way
done
layout "RAID-4" raid5 4 4 --chunk=64
layout "RAID-0" raid0 0 3 --chunk=64
for way in n2 n3 f2 o2 f3 o3; do
  layout "RAID-10 $way of 4" "mirror:${way#?}" 10 4 --chunk=64 --layout=$way
  layout "RAID-10 $way of 5" "mirror:${way#?}" 10 5 --chunk=64 --layout=$way
done

# ---- the device mapper: two pieces of a disk, stripes, and a RAID-5 below

size=$((40960 - 4096))
dmsetup create two --table "0 16384 linear ${disks[0]} 22528
16384 16384 linear ${disks[0]} 4096"
numbered /dev/mapper/two
truth "two pieces of the device mapper" plain @ metadata "${disks[0]}"
quietly dmsetup remove two
wipe "${disks[0]}"
dmsetup create striped --table "0 $((size / 128 * 128 * 2)) striped 2 128 ${disks[0]} 2048 ${disks[1]} 4096"
numbered /dev/mapper/striped
truth "stripes of the device mapper" plain @ metadata "${disks[0]}" "${disks[1]}"
quietly dmsetup remove striped
wipe "${disks[0]}" "${disks[1]}"
array 5 3 --chunk=64
dmsetup create above --table "0 61440 linear /dev/md0 3072"
quietly mkfs.ext4 -q /dev/mapper/above
put_files /dev/mapper/above
truth "the device mapper on a RAID-5" raid5 / - "${members[@]}"
quietly dmsetup remove above
end_array
done_checking
