#!/bin/bash
# A volume as a ublk block device (`volume serve --ublk`) in a virtual machine: a file system on it, its server killed under load and
# recovered without an error, members overwritten, which server may have which device, and that nothing is left at the end.
#
#   guest-ublk.sh                starts the machine (./guest) and runs the short form there
#   guest-ublk.sh long           over 40 kills, two with every request of the device under way; and its speed compared with NBD
#   guest-ublk.sh --inside FORM  the checks
#
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs what ./guest needs, and in this machine's root, which the
# virtual machine shares: fio jq mkfs.ext4 e2fsck fstrim blkdiscard nbd-client openssl.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"

if [ "${1:-}" != --inside ]; then
  needs fio jq mkfs.ext4 e2fsck fstrim blkdiscard nbd-client openssl
  form=${1:-short}
  limit=900
  [ "$form" = short ] || limit=2400
  disks=()
  for _ in {1..6}; do disks+=(-d 32M); done
  exec "$here/guest" -t "$limit" "${disks[@]}" -M nbd env SCRUBJAY="$scrubjay" XTASK="${XTASK:-}" "$0" --inside "$form"
fi

form=$2
server=
end_first() {
  umount "$work/fs" 2>/dev/null || true
}
begin
export SCRUBJAY_RUN=$work/run
mkdir "$work/fs"
# shellcheck disable=SC2153 # set by ./guest
read -ra disks <<<"$DISKS"
device=/dev/ublkb0
"$scrubjay" volume create --data 4 --parity 2 --name lab "${disks[@]}" >"$work/create.out"

# Serves the volume, and waits until its block device is there.
times_ready() { grep -c "^  $device" "$work/serve.err" || true; }
is_ready_or_ended() { ! kill -0 "$server" 2>/dev/null || [ "$(times_ready)" -gt "$ready_before" ]; }
serve() { # [OPTION...]
  touch "$work/serve.err"
  ready_before=$(times_ready)
  "$scrubjay" volume serve "${disks[@]}" --ublk "$@" 2>>"$work/serve.err" &
  server=$!
  soon is_ready_or_ended && kill -0 $server 2>/dev/null || { cat "$work/serve.err"; return 1; }
}
# Ends it, and leaves its exit code in $status.
stop_server() {
  status=0
  kill -TERM $server
  wait $server || status=$?
}
recovered() { grep -c "^  $device, recovered" "$work/serve.err" || true; }
complaints() { dmesg | grep -c 'I/O error\|EXT4-fs error\|EXT4-fs warning\|Buffer I/O' || true; }
refused() { # NAME PATTERN VOLUME-OPTION...: one line, exit code 2
  local name=$1 pattern=$2 status=0
  shift 2
  "$scrubjay" volume serve "$@" >"$work/refused" 2>&1 || status=$?
  expect "$name: refused in one line" "$status $(grep -c -- "$pattern" "$work/refused") $(wc -l <"$work/refused")" "2 1 1"
}
superblocks() { for disk in "${disks[@]}"; do head -c 1M "$disk"; done | sha256sum; }

# ---- a kernel without the driver: one line, nothing is changed

before=$(superblocks)
refused "no driver" "modprobe ublk_drv" "${disks[@]}" --ublk
expect "no driver: nothing is changed" "$(superblocks)" "$before"
modprobe ublk_drv

# ---- a file system on it

serve
expect "the volume's status names its device" "$("$scrubjay" volume status lab --json | jq -r .device)" "$device"
expect "the device is as long as the volume" "$(blockdev --getsize64 $device)" "$("$scrubjay" volume status lab --json | jq .size_bytes)"
mkfs.ext4 -q $device
mount -o discard $device "$work/fs"
head -c 12M /dev/urandom >"$work/fs/kept"
sync
sum=$(sha256sum <"$work/fs/kept")

# ---- its server is killed under load, again and again: nobody notices

# fio writes, with as many requests at a time as DEPTH says, then reads all of it and compares.
load() { # DEPTH SIZE
  fio --name=load --directory="$work/fs" --size="$2" --rw=randwrite --bsrange=4k-64k --bs_unaligned=0 --blockalign=4k --iodepth="$1" \
    --ioengine=libaio --direct=1 --verify=crc32c --verify_fatal=1 --fsync=64 --loops=1 --output-format=json >"$work/fio.json" 2>"$work/fio.err" &
  loader=$!
}
is_busy() { # REQUESTS: so many are under way, or the load has ended
  local reads writes
  kill -0 "$loader" 2>/dev/null || return 0
  read -r reads writes <"/sys/block/${device#/dev/}/inflight"
  [ $((reads + writes)) -ge "$1" ]
}
killed=0
kill_busy_server() { # REQUESTS
  soon is_busy "$1"
  kill -0 "$loader" 2>/dev/null || return 1
  kill -9 $server
  wait $server 2>/dev/null || true
  killed=$((killed + 1))
  serve # at once: it waits for the kernel by itself
}
end_of_load() { # NAME
  local status=0
  wait "$loader" || status=$?
  expect "$1: fio's exit code, and errors" "$status $(jq '[.jobs[] | .error, .total_err] | add' "$work/fio.json" 2>&1)" "0 0"
  [ "$status" = 0 ] || cat "$work/fio.err"
}
load 16 5M
for _ in 1 2; do
  kill_busy_server 4 || fail "the load ended before it was killed"
  sleep 0.5
done
end_of_load "killed under load"
expect "killed under load: both servers recovered it" "$killed $(recovered)" "2 2"
expect "killed under load: the kernel saw no error" "$(complaints)" 0

# ---- members are written over below it

for member in 2 4; do
  dd if=/dev/urandom of="${disks[member]}" bs=1M seek=2 count=16 oflag=direct conv=notrunc status=none
  echo 3 >/proc/sys/vm/drop_caches
  expect "member $member written over: the file is right" "$(sha256sum <"$work/fs/kept")" "$sum"
done
"$scrubjay" scrub lab --policy none --no-progress --fresh --state "$work/state" >/dev/null || true
"$scrubjay" volume findings lab --json >"$work/findings" || true # its exit code tells that there are some
expect "members written over: repaired, and nothing lost" \
  "$(jq -s '(map(select(.end == "repaired")) | length > 100), (map(select(.end == "lost")) | length)' "$work/findings" | xargs)" "true 0"

# ---- whose device it is, and who has it

file_volume() { truncate -s 16M "$work"/{x,y,z} && "$scrubjay" volume create --data 2 --parity 1 --name other "$work"/{x,y,z} >/dev/null; }
file_volume
refused "another volume asks for it" "not a device of this volume" "$work"/{x,y,z} --ublk=0
stop_server
expect "stopped while it is mounted: it says so, and stays" \
  "$status $(grep -c "$device is mounted at .*: it stays" "$work/serve.err") $(test -b $device && echo there)" "0 1 there"
refused "another volume asks for it while it has no server" "not a device of this volume" "$work"/{x,y,z} --ublk=0
refused "it asks for another one" "name 0, not 7" "${disks[@]}" --ublk=7
(sha256sum <"$work/fs/kept" >"$work/sum" && echo 3 >/proc/sys/vm/drop_caches && sha256sum <"$work/fs/kept" >"$work/sum") & # waits
reader=$!
serve
expect "served again: it goes on" "$(recovered)" 3
wait $reader
expect "served again: the file is right" "$(cat "$work/sum")" "$sum"

# ---- discards, zeros, the end

expect "fstrim" "$(fstrim -v "$work/fs" | grep -c 'bytes.* trimmed')" 1
umount "$work/fs"
e2fsck -f -n $device >"$work/fsck.out" 2>&1 && status=0 || status=$?
expect "fsck finds nothing" "$status" 0
dd if=/dev/urandom of=$device bs=1M count=8 oflag=direct status=none
blkdiscard -z -o 1M -l 4M $device
expect "zeros are zeros, durable or not" "$(head -c 5M $device | tail -c 4M | tr -d '\0' | wc -c)" 0
blkdiscard -f -o 2M -l 3M $device 2>/dev/null
expect "the rest is as it was" "$(head -c 1M $device | tr -d '\0' | wc -c | awk '{print ($1 > 1000000)}')" 1
exec 5<$device
stop_server
expect "stopped while a process has it: it says which" "$status $(grep -c "$device is open in process $$ " "$work/serve.err")" "0 1"
serve # which has inherited it, too, and is not in its own way
exec 5<&-
stop_server
expect "stopped when nobody else has it: it is gone" "$status $(soon test ! -e /dev/ublkc0 && test ! -e $device && echo gone)" "0 gone"
serve
stop_server
expect "stopped when nobody has it: it is gone at once" "$status $(test -e $device || test -e /dev/ublkc0 || echo gone)" "0 gone"
"$scrubjay" volume check "${disks[@]}" --json >"$work/check.json" 2>/dev/null || true
expect "the check is clean" "$(jq '.stripes - .clean' "$work/check.json")" 0
expect "the kernel saw no error to the end" "$(complaints)" 0
types block-device
if [ "$form" = short ]; then
  done_checking
  exit
fi

# ---- many kills, some with every request of the device under way (which Linux before 6.16 notices by a time-out only)

serve
mkfs.ext4 -q -F $device
mount $device "$work/fs"
for ((round = 1; round <= 10; round++)); do
  before=$(recovered) killed=0
  if ((round % 5)); then
    load 16 6M
    while [ $killed -lt 5 ] && kill_busy_server $((RANDOM % 12 + 1)); do sleep "0.$((RANDOM % 10))"; done
  else
    load 256 12M
    kill_busy_server 128 || true
  fi
  end_of_load "round $round: killed $killed times under load"
  expect "round $round: recovered each time, at least once" "$(recovered) $((killed > 0))" "$((before + killed)) 1"
done
umount "$work/fs"
e2fsck -f -n $device >"$work/fsck.out" 2>&1 && status=0 || status=$?
expect "many kills: fsck finds nothing" "$status" 0
expect "many kills: the kernel saw no error" "$(complaints)" 0
stop_server

# ---- its speed, beside NBD's: the same volume, the same server, the kernel's own client

serve --listen "unix:$work/nbd"
nbd-client -unix "$work/nbd" /dev/nbd0 >/dev/null 2>&1
dd if=/dev/urandom of=$device bs=1M count=64 oflag=direct status=none
figure() { # DEVICE RW BS DEPTH: requests a second
  fio --name=figure --filename="$1" --size=64M --rw="$2" --bs="$3" --iodepth="$4" --ioengine=libaio --direct=1 --time_based --runtime=5 \
    --output-format=json | jq '.jobs[0] | .read.iops + .write.iops | floor'
}
median() { sort -n | sed -n 2p; }
for job in "randread 4k 1" "randread 4k 16" "read 64k 1" "read 64k 16" "randwrite 4k 16" "write 64k 16"; do
  read -r rw bs depth <<<"$job"
  rm -f "$work"/{ublk,nbd}.figures
  for _ in 1 2 3; do
    figure $device "$rw" "$bs" "$depth" >>"$work/ublk.figures"
    figure /dev/nbd0 "$rw" "$bs" "$depth" >>"$work/nbd.figures"
  done
  echo "# $rw $bs, $depth at a time: ublk $(median <"$work/ublk.figures") a second, NBD $(median <"$work/nbd.figures")"
done
nbd-client -d /dev/nbd0 >/dev/null 2>&1
stop_server
expect "after the figures" "$status $(test -e $device || echo gone)" "0 gone"
done_checking
