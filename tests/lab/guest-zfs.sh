#!/bin/bash
# ZFS's own scrub, driven: pools of every kind, scrubbed whole; held and gone on with; killed; a resilver, an export and a person in the midst of it.
#
#   guest-zfs.sh [KILLS]       gets ZFS (./guest-zfs-setup), starts the machine (./guest) and runs itself there
#   guest-zfs.sh --inside N    the checks
#
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs what ./guest and ./guest-zfs-setup need, fio, and jq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
if [ "${1:-}" != --inside ]; then
  needs fio jq
  zfs=$("$here/guest-zfs-setup") || exit $?
  disks=()
  for _ in 1 2 3 4 5 6 7; do disks+=(-d 256M); done
  exec "$here/guest" -t 2400 "${disks[@]}" env SCRUBJAY="$scrubjay" ZFS="$zfs" "$0" --inside "${1:-5}"
fi
kills=$2
# shellcheck source=guest-zfs-start.sh
. "$here/guest-zfs-start.sh"
start_zfs
# shellcheck disable=SC2153 # set by ./guest
read -ra disks <<<"$DISKS"
parameters=/sys/module/zfs/parameters
values() { cat $parameters/zfs_scan_vdev_limit $parameters/zfs_scrub_min_time_ms | tr '\n' ' '; }
scan() { zpool status tank | sed -n 's/^ *scan: //p'; }
make() { # VDEV...
  zpool destroy tank 2>/dev/null || true
  for disk in "${disks[@]}"; do wipefs -qa "$disk" 2>/dev/null || true; done
  zpool create -f -O compression=off -O primarycache=metadata tank "$@"
  dd if=/dev/urandom of=/tank/big bs=1M count=60 status=none
  sync
}
# Prints the exit code; what the command says is in ./said.
code() {
  local code=0
  "$@" >said 2>&1 || code=$?
  echo $code
}

make mirror "${disks[@]:0:2}"
expect "a mirror is scrubbed whole" "$(code "$scrubjay" scrub tank -q)" 0
grep -q '^tank: clean: scrub repaired 0B' said || fail "it says so: $(cat said)"
expect "by its mount point, as JSON" "$("$scrubjay" scrub /tank -q --json | jq -r '[.complete, .end, .lost_blocks] | @tsv')" "true	complete	0"
make raidz1 "${disks[@]:0:3}"
expect "a raidz1 is scrubbed whole" "$(code "$scrubjay" scrub tank -q)" 0
make raidz2 "${disks[@]:0:4}" special mirror "${disks[@]:4:2}" spare "${disks[6]}"
expect "a raidz2 with a special mirror and a spare" "$(code "$scrubjay" scrub tank -q)" 0
make draid1:2d:5c:1s "${disks[@]:0:5}"
expect "a dRAID" "$(code "$scrubjay" scrub tank -q)" 0
echo "# $(head -1 said)"

make mirror "${disks[@]:0:2}"
zpool export tank
dd if=/dev/urandom of="${disks[0]}1" bs=1M seek=20 count=30 conv=notrunc,nocreat status=none
sync
zpool import -d /dev tank
expect "a member with wrong data: it is repaired, and the errors are told" "$(code "$scrubjay" scrub tank -q)" 3
grep -q 'MEMBERS HAVE ERRORS' said || fail "which: $(cat said)"
grep -q 'sudo zpool status tank names the members' said || fail "and what to do: $(cat said)"
zpool clear tank

# A scrub that does not come to its end by itself.
echo 1 >$parameters/zfs_scan_suspend_progress
zpool scrub tank
timeout -s INT 8 "$scrubjay" scrub tank -q >said 2>&1 || true
is_paused() { scan | grep -q paused; }
soon is_paused || fail "a signal pauses it: $(scan)"
grep -q '^tank: paused' said || fail "and it says so: $(cat said)"
zpool scrub tank # goes on
"$scrubjay" scrub tank -q >said 2>&1 & pid=$!
sleep 4
zpool scrub -p tank
ended() { ! kill -0 $pid 2>/dev/null; }
soon ended || fail "it ends when somebody else pauses it"
expect "and says so" "$(grep -c 'somebody else has paused it' said)" 1
zpool scrub tank
"$scrubjay" scrub tank -q >said 2>&1 & pid=$!
sleep 4
zpool scrub -s tank
soon ended || fail "it ends when somebody else ends it"
expect "and says that" "$(grep -c 'somebody else has ended it' said)" 1
zpool scrub tank
"$scrubjay" scrub tank -q >said 2>&1 & pid=$!
sleep 4
zpool export tank
soon ended || fail "it ends when the pool is exported"
expect "and says that, too" "$(grep -c 'exported, or serves nothing' said)" 1
zpool import -d /dev tank

before=$(values)
fio --name=client --filename=/tank/big --rw=randread --bs=16k --runtime=600 --time_based --thinktime=20000 --ioengine=psync >/dev/null &
client=$!
changed=0
for ((round = 1; round <= kills; round++)); do
  zpool scrub tank 2>/dev/null || true
  "$scrubjay" scrub tank -q --tune-zfs --slowdown 20ms 2>/dev/null >said & pid=$!
  sleep "$((RANDOM % 5 + 1)).$((RANDOM % 10))"
  kill -9 $pid
  wait $pid 2>/dev/null || true
  [ "$(values)" = "$before" ] || changed=$((changed + 1))
  timeout -s INT 3 "$scrubjay" scrub tank -q >/dev/null 2>said || true
  [ "$(values)" = "$before" ] || fail "round $round: $(values) is not $before"
done
kill $client
expect "$kills kills: parameters were changed at some, and are back" "$((changed > 0)) $(values)" "1 $before"
echo 0 >$parameters/zfs_scan_suspend_progress

zpool scrub -s tank 2>/dev/null || true
echo 1 >$parameters/zfs_scan_suspend_progress
zpool attach tank "${disks[0]}" "${disks[2]}"
is_resilvering() { scan | grep -q 'resilver in progress'; }
if soon is_resilvering; then
  expect "nothing is begun while a device is filled" "$(code "$scrubjay" scrub tank -q)" 2
  grep -q 'fills a device' said || fail "and why: $(cat said)"
fi
echo 0 >$parameters/zfs_scan_suspend_progress
is_resilvered() { scan | grep -q '^resilvered'; }
soon is_resilvered || true
zpool export tank
zpool import -o readonly=on -d /dev tank
expect "a pool that is imported for reading only" "$(code "$scrubjay" scrub tank -q)" 2
grep -q 'imported for reading only' said || fail "why: $(cat said)"
is_exported() { zpool export tank 2>/dev/null; }
soon is_exported || fail "it is exported again: $(zpool export tank 2>&1)"
zpool import -d /dev tank

# The watch: nothing is begun until the settings say so.
make mirror "${disks[@]:0:2}"
export SCRUBJAY_RUN=$work/run
from=$(date +%s) # the calendar of both starts
watch() {
  # An hour, after which a scrub that was paused goes on, is some seconds.
  "$scrubjay" watch --state "$work/watched" --config "$work/config.toml" --test-calendar "300@$from" >>watch.log 2>&1 &
  daemon=$!
  is_watched() { "$scrubjay" status --json 2>/dev/null | jq -e '.watch.arrays[]? | select(.name == "tank")' >/dev/null; }
  soon is_watched || fail "the pool is watched: $(tail -3 watch.log)"
}
unwatch() {
  kill "$daemon"
  wait "$daemon" 2>/dev/null || true
}
: >config.toml
watch
expect "a pool that the settings do not name" "$("$scrubjay" scrub-now tank 2>&1 | grep -c 'is next')" 0
printf '[zfs]\nscrub = ["tank", "none"]\n' >config.toml
kill -HUP "$daemon"
is_said() { grep -q "$1" watch.log; }
soon is_said 'zfs.scrub: none: no such pool is imported' || fail "a pool that is not there is named"
echo 1 >$parameters/zfs_scan_suspend_progress
"$scrubjay" scrub-now tank >said 2>&1 || true
is_scrubbed_by_watch() { scan | grep -q 'scrub in progress'; }
soon is_scrubbed_by_watch || fail "the watch begins its scrub: $(cat said) $(tail -3 watch.log)"
unwatch
expect "its end pauses it" "$(scan | grep -c paused)" 1
echo 0 >$parameters/zfs_scan_suspend_progress
watch
is_over() { grep -q '^tank: the pass is over' watch.log && scan | grep -q '^scrub repaired'; }
soon is_over || fail "the next one goes on: $(tail -5 watch.log) $(scan)"
# The history has the command that began it; one that lets it go on leaves no line there (the kernel answers it with an error that zpool expects).
expect "and ZFS has scrubbed it once" "$(zpool history tank | grep -c 'zpool scrub tank')" "1"
unwatch
echo "# $(grep '^tank' watch.log | tr '\n' ';')"
done_checking
