#!/bin/bash
# Reads of programs that fail: told by the watch within ten seconds, ten thousand of them once, with the place; the file of ext4 or btrfs by its name
# where the settings allow it, else by what the message says to type; a member of a volume; what the watch itself reads does not count.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, FUSE, loop devices, jq, mkfs.ext4 and what faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount loop losetup gcc jq mkfs.ext4 mkfs.btrfs python3 nbdcopy
end_first() { [ -z "${daemon:-}" ] || kill -TERM "$daemon" 2>/dev/null || true; }
end_last() {
  umount "$work/mnt" "$work/tree" 2>/dev/null || true
  "$here/faulty-disk" destroy one
  "$here/faulty-disk" destroy many
  "$here/faulty-disk" destroy btrfs
  "$here/faulty-disk" destroy member
}
begin
export FAULTY_DIR=$work/disks SCRUBJAY_RUN=$work/run
mkdir run mnt tree
# Written below the faults: a write at the disk would heal them.
truncate -s 128M image
mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 image
mount -o loop image mnt
head -c 100M /dev/urandom >mnt/holiday
umount mnt
one=$("$here/faulty-disk" create one 128M bad=160000+8)
dd if=image of="$FAULTY_DIR/one/img" bs=1M conv=notrunc status=none
blockdev --flushbufs "$one"
many=$("$here/faulty-disk" create many 64M bad=40000+4096)
mount -o ro,noload "$one" mnt
# A btrfs: all of its data is one file, so that half of the disk is bad.
truncate -s 256M tree.img
mkfs.btrfs -q -m single tree.img >/dev/null 2>&1
mount -o loop tree.img tree
head -c 150M /dev/urandom >tree/album
umount tree
btrfs=$("$here/faulty-disk" create btrfs 256M bad=200000+100000)
dd if=tree.img of="$FAULTY_DIR/btrfs/img" bs=1M conv=notrunc status=none
blockdev --flushbufs "$btrfs"
mount -o ro "$btrfs" tree
# A volume, one of whose members has a bad part.
truncate -s 64M m0 m1 m2
"$scrubjay" volume create --data 2 --parity 1 --name lab m0 m1 m2 >/dev/null
serve() { # MEMBER...
  "$scrubjay" volume serve "$@" --listen "unix:$work/nbd" >served 2>&1 &
  server=$!
  soon test -S nbd || fail "the volume is served: $(cat served)"
}
serve m0 m1 m2
head -c 40M /dev/urandom >photos
nbdcopy photos "nbd+unix:///?socket=$work/nbd"
kill -INT "$server" && wait "$server" || true
member=$("$here/faulty-disk" create member 64M bad=30000+8)
dd if=m0 of="$FAULTY_DIR/member/img" bs=1M conv=notrunc status=none
blockdev --flushbufs "$member"
others=$(lsblk -dno NAME | grep -v '^loop' | sed 's/.*/"&"/' | paste -sd,)
# Each message is a file: its number is the name.
# shellcheck disable=SC2016 # for the program
printf '#!/bin/sh\nfile=$(mktemp "%s/told/XXXXXX")\n{ echo "$SMARTD_SUBJECT"; cat; } >"$file"\n' "$work" >tell
chmod 755 tell
mkdir told
printf 'name-files = true\nalso = ["%s", "%s", "%s", "%s"]\nnever = [%s]\n[alert.exec]\nprogram = "%s/tell"\n' "$one" "$many" "$btrfs" "$member" "$others" "$work" >config.toml
"$scrubjay" watch --config config.toml --state state 2>watch.log &
daemon=$!
soon test -S run/watch
"$scrubjay" pause 10d >/dev/null
if grep -q 'errors that programs meet are not told' watch.log; then skip "$(cat watch.log)"; fi
status() { "$scrubjay" status --json 2>/dev/null | jq -r ".watch | $1"; }
is_watched() { [ "$(status '.disks | length')" = 4 ]; }
soon is_watched || fail "all are watched: $(cat watch.log)"
about() { grep -lE "(BACK UP|WATCH) ${1#/dev/} " told/* 2>/dev/null || true; }
is_told() { [ -n "$(about "$1")" ]; }

begun=$(date +%s%3N)
cat mnt/holiday >/dev/null 2>&1 && fail "a program meets it"
soon is_told "$one" || fail "it is told: $(cat watch.log)"
took=$(($(date +%s%3N) - begun))
echo "# $took ms"
expect "a read that fails is told within ten seconds" "$((took < 10000))" 1
mail=$(about "$one" | head -1)
typed=$(sed -n 's/.*what lies there: sudo \(scrubjay explain .*\)/\1/p' "$mail")
# shellcheck disable=SC2086 # words of a command
expect "and what it says to type names the file" "$("$scrubjay" ${typed#scrubjay } | grep -c holiday | awk '{print ($1 > 0)}')" 1
expect "and it is named in the message" "$(grep -c 'in these sectors: .*holiday (ext4 on ' "$mail")" 1
expect "the disk is not called ok" "$(status '[.disks[] | select(.name == "'"${one#/dev/}"'")][0].health')" watch

begun=$(date +%s%3N)
cat tree/album >/dev/null 2>&1 && fail "a program meets it on the btrfs"
soon is_told "$btrfs" || fail "it is told of the btrfs: $(cat watch.log)"
took=$(($(date +%s%3N) - begun))
echo "# $took ms"
expect "a file of a btrfs is named within ten seconds" "$((took < 10000)) $(grep -c 'in these sectors: .*album (btrfs on ' "$(about "$btrfs" | head -1)")" "1 1"

rm -f nbd
serve "$member" m1 m2
begun=$(date +%s%3N)
nbdcopy "nbd+unix:///?socket=$work/nbd" read
cmp -n "$(stat -c %s photos)" read photos || fail "the volume reads what was written"
soon is_told "$member" || fail "it is told of the member: $(cat watch.log)"
took=$(($(date +%s%3N) - begun))
echo "# $took ms"
expect "a read of a volume's member is told, though the volume answered" "$(grep -c 'data of the volume' "$(about "$member" | head -1)")" 1
kill -INT "$server" && wait "$server" || true

python3 - "$many" <<'PYTHON'
import os, sys
disk = os.open(sys.argv[1], os.O_RDONLY)
failed = 0
for number in range(10000):
    os.posix_fadvise(disk, 0, 0, os.POSIX_FADV_DONTNEED)
    try:
        os.pread(disk, 512, (40000 + number % 4096) * 512)
    except OSError:
        failed += 1
print("#", failed, "reads failed")
PYTHON
soon is_told "$many" || fail "they are told"
sleep 15
expect "10,000 that fail are one message" "$(about "$many" | wc -l)" 1
echo "# $(head -1 "$(about "$many")")"
counted=$(grep -c 'of programs failed' watch.log)
"$scrubjay" resume >/dev/null
for disk in "$one" "$many"; do "$scrubjay" scrub-now "${disk#/dev/}" >/dev/null; done
has_passed() { [ "$(status '[.disks[] | select(.unreadable > 0)] | length')" = 2 ]; }
soon has_passed || fail "the watch reads them: $(status .disks)"
sleep 3
expect "what the watch itself reads does not count" "$(grep -c 'of programs failed' watch.log)" "$counted"
expect "a message for each disk, and no other of these" "$(grep -lE 'BACK UP|WATCH .* failed' told/* | wc -l)" 4
head -qn1 told/* | sed 's/^/# /'
done_checking
