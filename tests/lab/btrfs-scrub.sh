#!/bin/bash
# A mounted btrfs as the target of the scrub: damage is found, repaired by the kernel, and reported with the names of its files.
#
#   btrfs-scrub.sh            on this machine's kernel
#   btrfs-scrub.sh --guest    on that of a virtual machine (./guest)
#
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, loop devices, mkfs.btrfs, filefrag, fio and jq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
if [ "${1:-}" = --guest ]; then
  needs mkfs.btrfs btrfs btrfs-map-logical filefrag fio jq
  exec "$here/guest" -t 600 -M btrfs -M loop env SCRUBJAY="$scrubjay" "$0"
fi
grep -qw btrfs /proc/filesystems || modprobe btrfs 2>/dev/null || skip "no btrfs in this kernel"
needs root mount losetup loop mkfs.btrfs btrfs btrfs-map-logical filefrag fio jq
loops=()
unmount() {
  if mountpoint -q "$work/pool"; then umount "$work/pool"; fi
}
detach_all() {
  local loop
  for loop in "${loops[@]}"; do losetup -d "$loop" 2>/dev/null || true; done
  loops=()
}
end_last() {
  for ((tries = 0; tries < 50; tries++)); do
    if unmount 2>/dev/null; then break; fi
    sleep 0.1
  done
  detach_all
}
begin
mkdir pool

# A btrfs on DEVICES loop devices over files d1, d2, ..., mounted at $work/pool, with the file `photos` of 100 MiB.
make_pool() { # DEVICES MKFS-OPTION...
  local devices=$1 device
  shift
  unmount
  detach_all
  for ((device = 1; device <= devices; device++)); do
    rm -f "d$device"
    truncate -s 512M "d$device"
    loops+=("$(losetup -f --show --direct-io=on "d$device" 2>/dev/null || losetup -f --show "d$device")")
  done
  mkfs.btrfs -q -f "$@" "${loops[@]}" >/dev/null 2>&1
  mount "${loops[0]}" pool
  head -c 100M /dev/urandom >pool/photos
  sync -f pool
}
# The logical address of the file's first byte.
logical_of() { # FILE
  filefrag -v -b4096 "$1" | awk '$1 == "0:" {sub(/\.\./, "", $4); print $4 * 4096; exit}'
}
# "DEVICE-FILE BYTE" of copy COPY of a logical address.
place_of() { # LOGICAL COPY
  local line index
  line=$(btrfs-map-logical -l "$1" "${loops[0]}" | sed -n "${2}p")
  for index in "${!loops[@]}"; do
    [ "${loops[index]}" = "${line##*device }" ] || continue
    echo "d$((index + 1)) $(sed 's/.*physical \([0-9]*\).*/\1/' <<<"$line")"
  done
}
# Random bytes over BLOCKS blocks of 4 KiB of one copy, from BYTES behind a logical address on, and past every cache.
damage() { # LOGICAL COPY BLOCKS [BYTES]
  local file byte
  read -r file byte <<<"$(place_of "$1" "$2")"
  dd if=/dev/urandom of="$file" bs=4096 seek=$(((byte + ${4:-0}) / 4096)) count="$3" conv=notrunc,fsync status=none
}
forget_caches() { echo 3 >/proc/sys/vm/drop_caches 2>/dev/null || true; }
counts() { # of btrfs's own words
  awk '/Error summary/ {sub(/.*: */, ""); print} /Corrected|Uncorrectable|Unverified/ {print $1 $2}' | tr '\n' ' '
}

make_pool 2 -d raid1 -m raid1
(cd pool && sha256sum photos >"$work/sums")
logical=$(logical_of pool/photos)

scrub sound pool --policy none
expect "sound: exit code" "$status" 0
expect "sound: complete" "$(field complete)" true
expect "sound: nobody else was seen" "$(($(field slowdown.foreground_requests) <= 20))" 1

# One copy is damaged: 1 MiB, and a single block of the other device.
wound() {
  damage "$logical" 1 256
  damage "$logical" 2 1 $((50 << 20))
  forget_caches
}
wound
scrub looked pool --policy none --read-only
expect "read-only: exit code" "$status" 3
expect "read-only: all blocks are found, and none is called repaired" "$(field rows_unrepaired) $(field rows_repaired)" "257 0"
expect "read-only: nothing is repaired" "$(field 'btrfs.places | map(.end) | unique')" '["unrepaired"]'
scrub repaired pool --policy none
expect "one copy: exit code" "$status" 0
expect "one copy: all blocks were repaired" "$(field rows_repaired)" 257
expect "one copy: exactly these places" "$(field 'btrfs.places | map([.bytes, .end, .what]) | sort')" \
  '[[4096,"repaired","checksum"],[1048576,"repaired","checksum"]]'
expect "one copy: the file is named" "$(field 'btrfs.places | map(.files[]) | unique')" "[\"$work/pool/photos\"]"
expect "one copy: nothing is lost" "$(field 'unreadable | length')" 0
ours="csum=$(field btrfs.counts.csum_errors) Corrected:$(field btrfs.counts.corrected_errors) Uncorrectable:$(field btrfs.counts.uncorrectable_errors) Unverified:$(field btrfs.counts.unverified_errors) "
scrub again pool --policy none
expect "one copy: afterwards all is well" "$status" 0
wound
theirs=$(btrfs scrub start -B pool 2>/dev/null | counts)
expect "one copy: counted as btrfs counts" "$ours" "$theirs"
forget_caches
expect "one copy: the file is as it was" "$(cd pool && sha256sum --quiet -c "$work/sums" && echo right)" right

# A superblock is damaged.
dd if=/dev/urandom of=d2 bs=4096 seek=$(((64 << 20) / 4096)) count=1 conv=notrunc,fsync status=none
scrub supers pool --policy none
expect "superblock: found and written anew" "$(field 'btrfs.places | map([.what, .end, .device])')" '[["superblock","repaired",2]]'

# Tree blocks are damaged on one device.
tree=$(btrfs inspect-internal dump-super "${loops[0]}" | awk '$1 == "root" {print $2}')
damage "$tree" 1 4
forget_caches
scrub trees pool --policy none
expect "tree block: found and repaired" "$(field 'btrfs.places | map([.bytes, .end])')" '[[16384,"repaired"]]'

# Killed in the middle, with damage before and behind.
damage "$logical" 1 3
damage "$logical" 2 2 $((90 << 20))
sectors=$((2 * 512 * 2048))
"$scrubjay" scrub pool --policy delay --delay 4ms --order sequential --json --state "$work/killed" >/dev/null 2>&1 &
first=$!
soon is_saved killed $((sectors / 2)) || fail "the scrub that is to be killed saved no more than $(sectors_saved killed)"
# It must not come to the damage behind, and be killed before it has saved what it did there.
kill -STOP $first
scrub second pool --policy none
expect "two at once: the second cannot" "$status" 1
kill -9 $first 2>/dev/null || true
wait $first 2>/dev/null || true
scrub killed pool --policy none --order sequential
expect "killed: exit code" "$status" 0
expect "killed: complete" "$(field complete)" true
expect "killed: resumed" "$(field resumed)" true
expect "killed: all of both runs" "$(field rows_repaired)" 5
scrub after pool --policy none
expect "killed: afterwards all is well" "$status" 0

# Found by a run that could repair nothing, and killed behind it: the next run begins again, and repairs it.
has_found() { grep -qs "^corrected" "$work/$1"/*.scrub "$work/$1"/*.hasty; }
killed_behind() { # NAME OPTION...
  local name=$1 pid
  shift
  "$scrubjay" scrub pool "$@" --policy delay --delay 4ms --order sequential --json --state "$work/$name" >/dev/null 2>&1 &
  pid=$!
  soon has_found "$name" || fail "$name: nothing was found"
  kill -9 $pid 2>/dev/null || fail "$name: it has ended before it was killed"
  wait $pid 2>/dev/null || true
}
damage "$logical" 1 3
forget_caches
killed_behind looking --read-only
scrub looking pool --policy none --order sequential
expect "found only: not resumed, and repaired" "$(field resumed) $(field rows_unrepaired) $(field rows_repaired)" "false 0 3"
scrub looked_after pool --policy none
expect "found only: afterwards all is well" "$status" 0
# The other way round: what an earlier run has repaired is not called unrepaired.
damage "$logical" 1 3
forget_caches
killed_behind mending
scrub mending pool --policy none --order sequential --read-only
expect "repaired before: resumed, and called repaired" "$(field resumed) $(field rows_unrepaired) $(field rows_repaired)" "true 0 3"

# Somebody else reads beside it, and is seen.
"$scrubjay" scrub pool --policy delay --delay 4ms --fresh --json --state "$work/beside" >"$work/beside.json" 2>"$work/beside.err" &
first=$!
soon is_saved beside 1 || fail "the scrub beside fio did not start"
fio --name=beside --filename="$work/pool/photos" --readonly --rw=randread --bs=4k --direct=1 --rate_iops=200 --runtime=2 \
  --time_based --output-format=json --output="$work/fio.json" >/dev/null
kill -TERM $first
begun=$SECONDS status=0
wait $first || status=$?
name=beside
expect "beside fio: stopped by a signal, at once" "$status $((SECONDS - begun <= 5))" "130 1"
reads=$(jq '.jobs[0].read.total_ios' fio.json) seen=$(field slowdown.foreground_requests)
echo "# fio read $reads times, $seen requests of others were seen"
expect "beside fio: its reads are seen, and few others" "$((seen >= reads * 9 / 10 && seen <= reads * 13 / 10 + 50))" 1

# Both copies are damaged.
damage "$logical" 1 2 $((8 << 20))
damage "$logical" 2 2 $((8 << 20))
forget_caches
scrub lost pool --policy none
expect "both copies: exit code" "$status" 3
expect "both copies: exactly these blocks, on each device" "$(unreadable | jq -c 'map(.[1])')" '[16,16]'
expect "both copies: lost, and the file is named" "$(field 'btrfs.places | map([.bytes, .end, .files[]])')" \
  "[[8192,\"lost\",\"$work/pool/photos\"],[8192,\"lost\",\"$work/pool/photos\"]]"
expect "both copies: counted as uncorrectable" "$(field btrfs.counts.uncorrectable_errors)" 4
rm pool/photos
sync -f pool
scrub deleted pool --policy none
expect "both copies: nothing is lost when the file is gone" "$status" 0

# What cannot be scrubbed is refused in one line.
refused() { # NAME STATUS WORDS TARGET
  scrub "$1" "$4" --policy none
  expect "$1: refused" "$status $(wc -l <"$work/$1.err") $(grep -c "$3" "$work/$1.err")" "$2 1 1"
}
head -c 20M /dev/urandom >pool/more
sync -f pool
mkdir pool/folder
refused inside 2 "is mounted at $work/pool" pool/folder
refused elsewhere 2 "the mount point of a btrfs (this is proc)" /proc
uuid=$(btrfs filesystem show "${loops[0]}" | sed -n 's/.*uuid: //p')
if [ -w "/sys/fs/btrfs/$uuid/devinfo/1/scrub_speed_max" ]; then
  echo 1m >"/sys/fs/btrfs/$uuid/devinfo/1/scrub_speed_max"
  btrfs scrub start -B pool >/dev/null 2>&1 &
  foreign=$!
  soon sh -c "btrfs scrub status pool | grep -q running" || fail "the other scrub did not start"
  refused foreign 2 "another scrub of it is running" pool
  btrfs scrub cancel pool >/dev/null 2>&1 || true
  wait $foreign || true
  echo 0 >"/sys/fs/btrfs/$uuid/devinfo/1/scrub_speed_max"
fi
su_status=0
setpriv --reuid=65534 --regid=65534 --clear-groups "$scrubjay" scrub pool --state /tmp/none >/dev/null 2>"$work/nobody.err" || su_status=$?
expect "without permission: refused" "$su_status $(wc -l <"$work/nobody.err")" "4 1"

# Mounted read-only nothing is repaired; not mounted it is a disk, and one is told what it is.
mount -o remount,ro pool
scrub readonly pool --policy none
expect "mounted read-only: exit code" "$status" 0
expect "mounted read-only: said so" "$(field notes | grep -c 'nothing is repaired')" 1
unmount
scrub disk "${loops[0]}" --policy none
expect "not mounted: exit code" "$status" 0
expect "not mounted: said what it is" "$(field notes | grep -c 'belongs to a btrfs')" 1

# A device is missing.
losetup -d "${loops[1]}"
unset 'loops[1]' # by the end its number may be another's
btrfs device scan --forget >/dev/null 2>&1 || true
mount -o degraded "${loops[0]}" pool
scrub degraded pool --policy none
expect "degraded: not clean" "$status $(field btrfs.devices_missing)" "3 [2]"

# Stripes and parities.
make_pool 3 -d raid5 -m raid1
(cd pool && sha256sum photos >"$work/sums.before")
logical=$(logical_of pool/photos)
damage "$logical" 1 2
forget_caches
read -r file byte <<<"$(place_of "$logical" 1)"
bytes_there() { dd if="$file" bs=4096 skip=$((byte / 4096)) count=2 status=none | cksum; }
spoilt=$(bytes_there)
scrub parity pool --policy none
told="$status $(field 'btrfs.places | map([.what, .end])') $(field rows_repaired)"
case $(uname -r) in
# It repairs the data of other devices while it does a device's parities, and counts none of that: docs/btrfs.md.
6.12.*) echo "# RAID-5, Linux 6.12: told: $told" ;;
*) expect "RAID-5: found and repaired" "$told" '0 [["chunk","repaired"]] 2' ;;
esac
expect "RAID-5: other bytes than the spoilt ones" "$([ "$(bytes_there)" = "$spoilt" ] || echo yes)" yes
(cd pool && sha256sum photos >"$work/sums.after")
expect "RAID-5: the file is whole" "$(cmp "$work/sums.before" "$work/sums.after" && echo yes)" yes
expect "RAID-5: nobody else is made up" "$(($(field slowdown.foreground_requests) <= 20))" 1
make_pool 2 -d raid0 -m raid1
logical=$(logical_of pool/photos)
damage "$logical" 1 1 4096
forget_caches
scrub stripes pool --policy none
expect "RAID-0: exactly this block, of this file" "$status $(field 'btrfs.places | map([.bytes, .end, .logical, .files[]])')" \
  "3 [[4096,\"lost\",$((logical + 4096)),\"$work/pool/photos\"]]"
done_checking
