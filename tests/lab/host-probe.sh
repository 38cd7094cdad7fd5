#!/bin/bash
# `probe` on arrays of disks with one head each, and on devices that are no arrays, on loop devices of this machine (./array-disk):
# limits, blocks of 4 KiB, small partitions, lost members, a busy disk, a file. Also what its writes leave behind, even after a kill.
#
#   host-probe.sh [RUNS]       RUNS probes of each; in the environment, `ARRAYS=all` for more arrays, KILLS=N for the number of probes
#                              that are killed amid their writes (8), ONLY=writes to begin with the writes
#
# What is claimed with 99 % must be right, and what is declined must have a reason. Whether anything is claimed is not checked, and no
# check depends on timing. No byte may have changed afterwards.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, gcc, fio and jq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount loop losetup gcc fio jq addpart
runs=${1:-1} kills=${KILLS:-8}
# Whatever was made, also beside: who made it may be dead.
end_last() {
  local left
  for left in "$FAULTY_DIR"/*/; do
    [ ! -d "$left" ] || "$here/array-disk" destroy "$(basename "$left")"
  done
}
begin
# Times are what it is about: they are not to be those of whoever else uses the processors.
chrt --rr --pid 1 $$ 2>/dev/null || true
export FAULTY_DIR=$work/disks
head=(seek_us=4000 kbps=100000)

make() { # NAME SIZE [PARAMETER...]: leaves the device in $disk
  disk=$("$here/array-disk" create "$@")
}
unmake() { "$here/array-disk" destroy "$1"; }
said() { jq -c "$1" "$work/$name.json" 2>&1 || true; }
# What is said with 99 % and more: chunk, disks, copies; null where it is less or nothing.
surely='[(if .confidence.chunk >= 0.99 then .chunk_bytes else null end),
         (if .confidence.disks >= 0.99 then .disks else null end),
         (if .confidence.copies >= 0.99 then .copies else null end)]'
probe() { # NAME DEVICE [OPTION...]
  name=$1
  shift
  "$scrubjay" probe "$@" --json --budget 90s >"$work/$name.json" 2>"$work/$name.err" || true
}
# Is each of these what it is, or not said? And is there a reason where no disks are said?
right() { # NAME WHAT CHUNK DISKS COPIES
  name=$1
  echo "# $2: $(said '[.chunk_bytes, .disks, .copies, .layout, .joined]'), $(said '.confidence.disks'), $(said .ios) requests, $(said '.seconds | round') s, $(said .unmeasurable)"
  expect "$2: it answered" "$(said .schema)" 1
  expect "$2: nothing sure is wrong" "$(said "$surely | [., [$3, $4, $5]] | transpose | all(.[0] == null or .[0] == .[1])")" true
  expect "$2: an answer or a reason" "$(said '.disks != null or .unmeasurable != null or .seconds >= 89')" true
}
# Makes an array, probes it, takes it down; several may go on side by side, as they mostly wait.
array() { # NAME WHAT CHUNK DISKS COPIES SIZE [PARAMETER...]
  local name=$1 what=$2 chunk=$3 disks=$4 copies=$5 run
  shift 5
  make "$name" "$@"
  for ((run = 1; run <= runs; run++)); do
    probe "$name" "$disk" --seed "$run"
    right "$name" "$what" "$chunk" "$disks" "$copies"
  done
  unmake "$name"
}
# What runs beside others counts its checks for itself.
beside() { # NAME COMMAND...
  local log=$work/$1.log
  shift
  (
    failed=0 checked=0
    trap - EXIT
    "$@"
    echo "$checked $failed" >"$log.count"
  ) >"$log" 2>&1 &
  logs+=("$log")
}
gather() {
  local log all bad
  wait
  for log in "${logs[@]}"; do
    cat "$log"
    read -r all bad <"$log.count" || { fail "$(basename "$log"): it broke off" && continue; }
    checked=$((checked + all)) failed=$((failed + bad))
  done
  logs=()
}
logs=()

partition() { # 512 MiB in the middle of an array
  local start=$((300 * 2048)) size=$((512 * 2048)) run
  make part 2G map=raid5 disks=5 "${head[@]}"
  addpart "$disk" 1 $start $size
  for ((run = 1; run <= runs; run++)); do
    probe part "${disk}p1" --seed "$run"
    right part "a partition of 512 MiB of RAID-5 of 5" 65536 5 1
  done
  delpart "$disk" 1
  unmake part
}
busy() { # NAME SIZE WHAT CHUNK DISKS [PARAMETER...]: 100 foreign reads a second
  local name=$1 size=$2 what=$3 chunk=$4 disks=$5 stranger run
  shift 5
  make "$name" "$size" "$@"
  fio --name=stranger --filename="$disk" --rw=randread --bs=4k --iodepth=4 --ioengine=libaio --direct=1 --rate_iops=100 \
    --runtime=1000 --time_based --output="$work/$name.fio" 2>&1 &
  stranger=$!
  for ((run = 1; run <= runs; run++)); do
    probe "$name" "$disk" --seed "$run"
    right "$name" "$what, 100 foreign reads a second" "$chunk" "$disks" 1
    expect "$what, busy: no part of it is called memory" "$(said '.unmeasurable // "" | contains("memory")')" false
  done
  kill $stranger
  wait $stranger 2>/dev/null || true
  unmake "$name"
}
file() {
  head -c 64M /dev/urandom >"$work/image"
  probe file "$work/image"
  right file "a file" null 1 1
}

if [ "${ONLY:-}" != writes ]; then
  SECTOR=4096 beside native array native "RAID-5 of 4, blocks of 4 KiB" 65536 4 1 1G map=raid5 disks=4 "${head[@]}"
  beside part partition
  beside limit array limit "RAID-5 of 5 behind 300 requests a second" 65536 5 1 1G map=raid5 disks=5 iops=300 "${head[@]}"
  beside one array one "one disk of 512 MiB" null 1 1 512M disks=1 "${head[@]}"
  beside busy busy busy 1G "one disk" null 1 disks=1 "${head[@]}"
  beside file file
  gather
  if [ "${ARRAYS:-}" = all ]; then
    SECTOR=4096 beside native6 array native6 "RAID-6 of 6, blocks of 4 KiB" 32768 6 1 1G map=raid6 disks=6 chunk=32768 "${head[@]}"
    SECTOR=4096 beside native1 array native1 "RAID-1 of 8, blocks of 4 KiB" 32768 8 2 1G map=raid1 disks=8 chunk=32768 "${head[@]}"
    SECTOR=4096 beside nativeone array nativeone "one disk of 512 MiB, blocks of 4 KiB" null 1 1 512M disks=1 "${head[@]}"
    beside small array small "RAID-5 of 6, chunks of 256 KiB, 512 MiB" 262144 6 1 512M map=raid5 disks=6 chunk=262144 "${head[@]}"
    beside tiny array tiny "RAID-0 of 4, chunks of 512 KiB, 256 MiB" 524288 4 1 256M map=raid0 disks=4 chunk=524288 "${head[@]}"
    gather
    beside limit9 array limit9 "RAID-0 of 4 behind 900 requests a second" 65536 4 1 1G map=raid0 disks=4 iops=900 "${head[@]}"
    beside limit1 array limit1 "one disk behind 100 requests a second" null 1 1 1G disks=1 iops=100 "${head[@]}"
    beside limit3 array limit3 "flash behind 3000 requests a second" null 1 1 1G disks=4 iops=3000
    beside joined array joined "3 disks one behind the other" null 3 null 1G map=joined disks=3 "${head[@]}"
    beside pair array pair "a pair" null 2 2 1G map=raid1 disks=2 "${head[@]}"
    beside lost5 array lost5 "RAID-5 of 5 less one" 65536 5 1 1G map=raid5 disks=5 lost=2 "${head[@]}"
    gather
    beside lost6 array lost6 "RAID-6 of 6 less one" 65536 6 1 1G map=raid6 disks=6 lost=2 "${head[@]}"
    beside lost1 array lost1 "two pairs less one" 65536 4 2 1G map=raid1 disks=4 lost=2 "${head[@]}"
    beside busy5 busy busy5 2G "RAID-5 of 5" 65536 5 map=raid5 disks=5 "${head[@]}"
    beside busys busy busys 512M "one disk of 512 MiB" null 1 disks=1 "${head[@]}"
    gather
  fi
fi

# Writes: no byte is another, whatever the array; its own image below all times says so.
quick=(seek_us=3000 kbps=200000)
fill() { # NAME: random bytes, below
  head -c "$(stat -c %s "$FAULTY_DIR/$1/img")" /dev/urandom >"$FAULTY_DIR/$1/img"
}
sum() { sha256sum <"$FAULTY_DIR/$1/img"; }
writes() { # NAME WHAT LEVEL SIZE [PARAMETER...]
  local name=$1 what=$2 is_true="if .confidence.level >= 0.95 then .level == \"$3\" else true end" before run
  shift 3
  make "$name" "$@"
  fill "$name"
  before=$(sum "$name")
  # Nothing foretells a level: one in fifty may be wrong, two in a row are not.
  for run in 1 2; do
    probe "$name" "$disk" --seed $run --allow-writes
    [ "$(said "$is_true")" != true ] || break
  done
  echo "# $what, with writes: $(said '[.layout, .level, .confidence.level, .write_ratio]'), $(said .ios) requests, $(said '.seconds | round') s, $(said '[.findings[] | .kind]'), $(said .unmeasurable)"
  expect "$what, with writes: it answered" "$(said .schema)" 1
  expect "$what, with writes: no byte is another" "$(sum "$name")" "$before"
  expect "$what, with writes: no level that is said with 95 % is wrong" "$(said "$is_true")" true
  [ -z "${finding:-}" ] || expect "$what, with writes: no level, but why" "$(said "[.level, any(.findings[]; .kind == \"$finding\") or .disks == null]")" '[null,true]'
  unmake "$name"
}
# Writes that the kernel has passed on to a device by now.
written() { awk '{print $5}' "/sys/block/$(basename "$1")/stat"; }
wrote() { [ "$(written "$1")" -gt "$2" ] || ! kill -0 "$3" 2>/dev/null; }
killed() { # NAME WHAT TIMES SIZE [PARAMETER...]
  local name=$1 what=$2 times=$3 run pid before first amid=0 changed=0
  shift 3
  make "$name" "$@"
  fill "$name"
  before=$(sum "$name")
  for ((run = 1; run <= times; run++)); do
    first=$(written "$disk")
    "$scrubjay" probe "$disk" --allow-writes --seed "$run" --budget 60s >/dev/null 2>"$work/$name.err" &
    pid=$!
    # Where nothing is written, it ends by itself: it may not know what it writes to.
    soon wrote "$disk" "$first" $pid
    sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
    ! kill -9 $pid 2>/dev/null || [ "$(written "$disk")" = "$first" ] || amid=$((amid + 1))
    wait $pid 2>/dev/null || true
    [ "$(sum "$name")" = "$before" ] || { changed=$((changed + 1)) && before=$(sum "$name"); }
  done
  expect "$what, killed after its first writes in $amid of $times probes: contents that changed" $changed 0
  expect "$what: some were killed there" $((amid > 0)) 1
  unmake "$name"
}
beside w5 writes w5 "RAID-5 of 5" raid5 512M map=raid5 disks=5 "${quick[@]}"
finding=no_level beside wc writes wc "RAID-5 of 5 behind a write cache" raid5 512M map=raid5 disks=5 cache=16777216 "${quick[@]}"
beside k5 killed k5 "RAID-5 of 5" $((kills / 2)) 512M map=raid5 disks=5 chunk=16384 "${quick[@]}"
beside k1 killed k1 "RAID-1 of 4" $((kills - kills / 2)) 512M map=raid1 disks=4 chunk=16384 "${quick[@]}"
gather
if [ "${ARRAYS:-}" = all ]; then
  beside w0 writes w0 "RAID-0 of 4" raid0 512M map=raid0 disks=4 "${quick[@]}"
  beside w1 writes w1 "RAID-1 of 4" mirror-2 512M map=raid1 disks=4 "${quick[@]}"
  beside w4 writes w4 "RAID-4 of 5" raid4 512M map=raid4 disks=5 "${quick[@]}"
  beside w6 writes w6 "RAID-6 of 6" raid6 1G map=raid6 disks=6 "${quick[@]}"
  finding=no_level beside wl writes wl "RAID-5 of 5 less one" raid5 512M map=raid5 disks=5 lost=1 "${quick[@]}"
  beside wo writes wo "one disk" raid0 1G disks=1 "${quick[@]}"
  beside wj writes wj "3 disks one behind the other" raid0 1G map=joined disks=3 "${quick[@]}"
  gather
fi
done_checking
