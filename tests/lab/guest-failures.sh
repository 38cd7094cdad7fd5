#!/bin/bash
# Errors that programs meet, on a Debian kernel: SCSI and NVMe disks that say "medium error", a mirror of md, a pool of ZFS; a disk that is pulled;
# a link that is reset. Each is told within ten seconds, once.
#
#   guest-failures.sh             gets ZFS (./guest-zfs-setup), starts the machine (./guest) and runs itself there
#   guest-failures.sh --inside    the checks
#
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs what ./guest and ./guest-zfs-setup need, mdadm, python3, and jq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
if [ "${1:-}" != --inside ]; then
  needs jq mdadm python3
  zfs=$("$here/guest-zfs-setup") || exit $?
  # A file is written over all of each, so that the bad sectors are part of it.
  exec "$here/guest" -t 900 -d 64M,if=scsi,bad=60000 -d 64M,if=nvme,bad=60000:60001 -d 64M,bad=60000 -d 64M -d 512M,bad=100000:300000:500000:700000:900000 \
    -d 32M,if=scsi -d 32M,if=nvme -d 32M,if=scsi -M raid1 -M ext4 env SCRUBJAY="$scrubjay" ZFS="$zfs" "$0" --inside
fi
# shellcheck source=guest-zfs-start.sh
. "$here/guest-zfs-start.sh"
start_zfs
export SCRUBJAY_RUN=$work/run
# shellcheck disable=SC2153 # set by ./guest
read -ra disks <<<"$DISKS"
short() { basename "${disks[$1]}"; }
mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --level=1 --data-offset=1M --bitmap=none --raid-devices=2 "${disks[2]}" \
  --write-mostly "${disks[3]}" 2>/dev/null
zpool create -f -O compression=off -O primarycache=metadata tank "${disks[4]}"
mkdir scsi nvme mirror pulled gone
fill() { # DEVICE FOLDER MIB
  mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0 "$1"
  mount "$1" "$2"
  head -c "$3M" /dev/urandom >"$2/holiday"
  sync
}
fill "${disks[0]}" scsi 50
fill "${disks[1]}" nvme 50
fill /dev/md0 mirror 50
fill "${disks[5]}" pulled 5
fill "${disks[6]}" gone 5
head -c 280M /dev/urandom >/tank/holiday
sync
# shellcheck disable=SC2016 # for the program
printf '#!/bin/sh\nfile=$(mktemp "%s/told/XXXXXX")\n{ echo "$SMARTD_SUBJECT"; cat; } >"$file"\n' "$work" >tell
chmod 755 tell
mkdir told
printf 'host = "nas1"\nname-files = true\n[alert.exec]\nprogram = "%s/tell"\n' "$work" >config.toml
"$scrubjay" watch --config config.toml --state "$work/state" 2>watch.log &
daemon=$!
soon test -S run/watch
"$scrubjay" pause 10d >/dev/null
status() { "$scrubjay" status --json 2>/dev/null | jq -r ".watch | $1" 2>/dev/null || true; }
is_watched() { [ "$(status '.disks | length')" = 8 ]; }
soon is_watched || fail "all are watched: $(status '[.disks[].name]') $(cat watch.log)"
sleep 5
if grep -q 'errors that programs meet are not told' watch.log; then cat watch.log; fi
about() { grep -lE "^\[nas1\] .*\b$1\b" told/* 2>/dev/null || true; }
is_told() { [ -n "$(about "$1")" ]; }
# Until it is told: in milliseconds, and no more than ten seconds.
told_after() { # WHAT NAME BEGUN
  soon is_told "$2" || fail "$1: it is told: $(head -qn1 told/*; tail -5 watch.log)"
  local took=$(($(date +%s%3N) - $3))
  echo "# $1: $took ms"
  expect "$1: within ten seconds" "$((took < 10000))" 1
}
drop() { echo 3 >/proc/sys/vm/drop_caches; }

drop
begun=$(date +%s%3N)
cat scsi/holiday >/dev/null 2>&1 && fail "a program meets it"
told_after "a SCSI disk" "$(short 0)" "$begun"
begun=$(date +%s%3N)
cat nvme/holiday >/dev/null 2>&1 && fail "a program meets it"
told_after "an NVMe disk" "$(short 1)" "$begun"
for n in 0 1; do
  expect "$n: with the file" "$(grep -c 'in these sectors: .*holiday (ext4 on ' "$(about "$(short $n)" | head -1)")" 1
  expect "$n: it is the medium, and no cable" "$(grep -c 'the drive says that it cannot read' "$(about "$(short $n)" | head -1)")" 1
done
begun=$(date +%s%3N)
cat mirror/holiday >/dev/null || fail "the mirror reads it elsewhere"
told_after "a member of a mirror" "$(short 2)" "$begun"
expect "with the file" "$(grep -c 'in these sectors: .*holiday (ext4 on md0)' "$(about "$(short 2)" | head -1)")" 1
begun=$(date +%s%3N)
cat /tank/holiday >/dev/null 2>&1 && fail "a program meets it on the pool"
told_after "a disk of a pool" "$(short 4)" "$begun"
expect "with what names the file" "$(grep -c 'sudo zpool status -v tank' "$(about "$(short 4)" | head -1)")" 1

begun=$(date +%s%3N)
mdadm /dev/md0 --fail "${disks[3]}" >/dev/null 2>&1
told_after "an array that loses a member" md0 "$begun"

# What is gone has no name: it is called by its serial number.
begun=$(date +%s%3N)
echo 1 >"/sys/block/$(short 5)/device/delete"
told_after "a SCSI disk is pulled while it is mounted" lab-5 "$begun"
begun=$(date +%s%3N)
echo 1 >"/sys/block/$(short 6)/device/device/remove"
told_after "an NVMe disk is pulled while it is mounted" lab-6 "$begun"

name=$(short 7)
reset() { # SG_SCSI_RESET of the device; the next command learns of it
  python3 -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK), 0x2284, struct.pack("i", 1))' "/dev/$name"
  dd if="/dev/$name" of=/dev/null bs=4k count=1 iflag=direct status=none
}
for _ in 1 2; do
  reset
  sleep 32
done
expect "two resets of a link are no news" "$(about "$name" | wc -l)" 0
begun=$(date +%s%3N)
reset
told_after "a third reset of the link" "$name" "$begun"
expect "it is the cable" "$(head -n1 "$(about "$name" | head -1)" | grep -c 'its link was reset 3 times: check cable, port and power')" 1
sleep 20
expect "each is told once" "$(for file in told/*; do head -n1 "$file"; done | sort | uniq -d | wc -l)" 0
# (That the pool has lost a file comes minutes later.)
expect "and nothing else" "$(for file in told/*; do head -n1 "$file"; done | grep -vc 'DATA LOST in pool')" 8
for file in told/*; do head -n1 "$file" | sed 's/^/# /'; done
kill $daemon
wait $daemon || true
[ "$failed" = 0 ] || tail -30 watch.log | sed 's/^/# /'
done_checking
