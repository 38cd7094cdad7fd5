#!/bin/bash
# A program inside the budget (scrubjay pace), on a disk of 8 ms beside a client: exit codes, signals, pipes, locks, what it leaves behind;
# scrubjay and its guardian killed while it is held: it always runs on. By a cgroup, where one can be made, and by signals.
# Usage: pace.sh [KILLS]. Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, fio, jq, and what ./faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
kills=${1:-3}
needs root fuse loop fio jq nbdkit flock
begin
name=pace-$$
end_last() {
  umount "$work/mnt" 2>/dev/null || true
  "$here/faulty-disk" destroy "$name"
}
disk=$("$here/faulty-disk" create "$name" 512M seek_us=8000 kbps=150000)
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 -F "$disk"
mkdir "$work/mnt"
mount "$disk" "$work/mnt"
dd if=/dev/urandom of="$work/mnt/big" bs=1M count=200 status=none
echo data >"$work/mnt/small"
# (Unmounted and mounted again it would be busy while another mount namespace has a copy of the first mount.)
mount -o remount,ro "$work/mnt"
echo 128 >"/sys/block/$(basename "$disk")/queue/read_ahead_kb"

code() { local code=0; "$@" || code=$?; echo $code; }
forms=(signals)
"$scrubjay" pace -q --held-by cgroup -- true 2>/dev/null && forms=(cgroup signals)
if ! "$scrubjay" pace -q --held-by signals -- true 2>said; then skip "$(cat said)"; fi
echo "# held by: ${forms[*]}"

client() {
  fio --name=client --filename="$disk" --direct=1 --rw=randread --bs=4k --ioengine=psync --thinktime=30000 --runtime=600 --time_based \
    --size=200M --offset=300M >/dev/null 2>&1 &
  client=$!
}
# A program that reads the disk, and notes that it lives.
# shellcheck disable=SC2016 # these are for the inner shell
reader='while :; do cat "$0"; echo 1 >/proc/sys/vm/drop_caches; done >/dev/null & while :; do echo x >>"$1"; sleep 0.02; done'

for form in "${forms[@]}"; do
  pace=("$scrubjay" pace -q --held-by "$form")
  # shellcheck disable=SC2016
  expect "$form: its exit code" "$(code "${pace[@]}" -- sh -c 'exit 7')" 7
  expect "$form: the signal that ends it" "$(code "${pace[@]}" -- sh -c 'kill -TERM $$' 2>/dev/null)" 143
  expect "$form: pipes" "$(echo hello | "${pace[@]}" -- cat "$work/mnt/small" - | tr a-z A-Z | paste -sd' ')" "DATA HELLO"
  expect "$form: what is not there" "$(code "${pace[@]}" -- ./no-such-program 2>said)" 127
  expect "$form: one line says so" "$(wc -l <said)" 1
  expect "$form: what cannot be executed" "$(code "${pace[@]}" -- "$work/mnt/small" 2>said)" 126
  # shellcheck disable=SC2016
  expect "$form: signals are not blocked in it" "$("${pace[@]}" -- sh -c 'grep SigBlk /proc/self/status | tr -d "0\t"')" "SigBlk:"
  "$scrubjay" pace --held-by "$form" -- sh -c 'setsid sleep 5 & exit 3' >/dev/null 2>said || true
  grep -q 'one process that it started runs on' said || fail "$form: what it leaves behind is said: $(cat said)"
  echo 1 >/proc/sys/vm/drop_caches
  "${pace[@]}" --json paced.json -- sha256sum "$work/mnt/big" >/dev/null
  # (Under memory pressure the program itself is read again meanwhile, from another disk.)
  expect "$form: the result as JSON" "$(jq -r --arg disk "${disk#/dev/}" '[.schema, .exit_code, .held_by, any(.disks[]; contains($disk))] | @tsv' paced.json)" "1	0	$form	true"
  [ "$(jq .bytes_read paced.json)" -ge 200000000 ] || fail "$form: what it read: $(jq .bytes_read paced.json)"

  client
  echo 1 >/proc/sys/vm/drop_caches
  timeout -s INT 12 "${pace[@]}" --json paced.json -- sh -c "$reader" "$work/mnt/big" count >/dev/null 2>&1 || true
  [ "$(jq .holds paced.json)" -ge 1 ] || fail "$form: it is held beside a client: $(jq .holds paced.json)"
  [ "$(jq .slowdown.foreground_requests paced.json)" -ge 1 ] || fail "$form: the client is seen: $(jq .slowdown paced.json)"
  pkill -9 -f "$work/mnt/big" || true

  # Somebody waits for a lock that it holds while it would be held.
  # shellcheck disable=SC2016
  "${pace[@]}" --slowdown 0.001ms -- flock lock sh -c 'cat "$0"; echo done' "$work/mnt/big" >out 2>/dev/null & pid=$!
  sleep 1
  timeout 60 flock lock true || fail "$form: who waits for its lock gets it"
  wait $pid || true
  expect "$form: and it came to its end" "$(tail -c 5 out)" done

  stuck=0 unguarded=0
  for ((round = 1; round <= kills; round++)); do
    rm -f count
    "${pace[@]}" -- sh -c "$reader" "$work/mnt/big" count >/dev/null 2>&1 & pid=$!
    sleep "0.$((RANDOM % 8 + 2))"
    kill -9 $pid
    wait $pid 2>/dev/null || true
    sleep 0.2
    from=$(stat -c %s count)
    sleep 0.6
    [ "$(stat -c %s count)" -gt "$from" ] || stuck=$((stuck + 1))
    pkill -9 -f "$work/mnt/big" || true
    rm -f count
    "${pace[@]}" -- sh -c "$reader" "$work/mnt/big" count >/dev/null 2>&1 & pid=$!
    sleep "0.$((RANDOM % 8 + 2))"
    guardian=$(pgrep -P $pid -f 'scrubjay pace' | head -1)
    kill -9 "$guardian"
    sleep 0.3
    other=$(pgrep -P $pid -f 'scrubjay pace' | head -1 || true)
    [ -n "$other" ] && [ "$other" != "$guardian" ] || unguarded=$((unguarded + 1))
    kill -9 $pid
    wait $pid 2>/dev/null || true
    sleep 0.2
    from=$(stat -c %s count)
    sleep 0.6
    [ "$(stat -c %s count)" -gt "$from" ] || stuck=$((stuck + 1))
    pkill -9 -f "$work/mnt/big" || true
  done
  kill $client
  wait $client 2>/dev/null || true
  expect "$form: $kills kills of each: it always ran on" "$stuck" 0
  expect "$form: and got another guardian" "$unguarded" 0
done

expect "what the kernel does is refused" "$(code "$scrubjay" pace -- btrfs balance start / 2>said)" 2
grep -q 'btrfs balance pause' said || fail "with the word that pauses it: $(cat said)"
expect "a disk that is not there" "$(code "$scrubjay" pace --disk /no/such/disk -- true 2>said)" 2
if [ -d /sys/fs/cgroup ] && find /sys/fs/cgroup -maxdepth 4 -name 'scrubjay-pace-*' | grep -q .; then
  "$scrubjay" pace -q -- true
fi
expect "no cgroup is left" "$(find /sys/fs/cgroup -maxdepth 4 -name 'scrubjay-pace-*' 2>/dev/null | wc -l)" 0
done_checking
