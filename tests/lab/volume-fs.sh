#!/bin/bash
# File systems on a volume whose members are overwritten while they are mounted: ext4 and btrfs see no error.
# Usage: volume-fs.sh [ext4] [btrfs]. Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, nbdfuse, losetup,
# mkfs.ext4, mkfs.btrfs and jq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount nbdfuse losetup loop mkfs.ext4 e2fsck mkfs.btrfs jq
unmount() { mountpoint -q "$work/fs" && umount "$work/fs" || true; }
end_first() {
  unmount
  detach
}
begin
# shellcheck source=volume.sh
. "$here/volume.sh"
mkdir "$work/fs"

# Random bytes over SIZE MiB of member M, from MiB START on.
scribble() { # M START SIZE
  dd if=/dev/urandom of="$work/m$1" bs=1M seek="$2" count="$3" conv=notrunc,fsync status=none
}
repair() {
  "$scrubjay" scrub lab --policy none --no-progress --fresh --state "$work/state" >/dev/null || true
}
forget_caches() {
  sync
  echo 3 >/proc/sys/vm/drop_caches 2>/dev/null || true
}

for kind in ${*:-ext4 btrfs}; do
  make_volume 96M --chunk 64KiB
  start
  attach
  "mkfs.$kind" -q "$loop"
  mount "$loop" "$work/fs"
  mkdir "$work/fs/files"
  for ((file = 0; file < 40; file++)); do
    head -c $((1000 * (file * file + 1) % 3000000 + 1000)) /dev/urandom >"$work/fs/files/$file"
  done
  head -c 48M /dev/urandom >"$work/fs/files/large"
  forget_caches
  (cd "$work/fs/files" && sha256sum ./* >"$work/sums")

  # One member after the other, each repaired before the next: the data area begins at 1 MiB.
  for member in 1 4 0; do
    scribble $member 1 60
    forget_caches
    expect "$kind: files are right, member $member is not" "$(cd "$work/fs/files" && sha256sum --quiet -c "$work/sums" >/dev/null 2>&1 && echo right)" right
    repair
  done
  # Two at once, and writes meanwhile.
  scribble 2 10 10
  scribble 5 12 10
  cp "$work/fs/files/large" "$work/fs/files/again"
  forget_caches
  expect "$kind: two members are not, and it was written to" "$(cd "$work/fs/files" && cmp large again && sha256sum --quiet -c "$work/sums" >/dev/null 2>&1 && echo right)" right
  if [ $kind = btrfs ]; then
    expect "btrfs: its own scrub finds nothing" "$(btrfs scrub start -B -r "$work/fs" 2>&1 | grep -c 'no errors found')" 1
  fi
  umount "$work/fs"
  if [ $kind = ext4 ]; then
    e2fsck -f -n "$loop" >"$work/fsck.out" 2>&1 && fsck_ended=0 || fsck_ended=$?
    expect "ext4: fsck finds nothing" $fsck_ended 0
  else
    btrfs check --readonly "$loop" >"$work/fsck.out" 2>&1 && fsck_ended=0 || fsck_ended=$?
    expect "btrfs: check finds nothing" $fsck_ended 0
  fi
  "$scrubjay" volume findings lab --json >"$work/findings" || true
  echo "# $kind: $(jq -s 'group_by(.end, .kind) | map({(.[0].end + " " + .[0].kind): length}) | add' -c "$work/findings")"
  expect "$kind: nothing was lost" "$(jq -s 'map(select(.end == "lost")) | length' "$work/findings")" 0
  expect "$kind: much was repaired" "$(jq -s 'map(select(.end == "repaired")) | length > 100' "$work/findings")" true
  unmount
  detach
  repair
  stop
  expect "$kind: the check is clean" "$(dirty_stripes)" 0
done
done_checking
