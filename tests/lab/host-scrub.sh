#!/bin/bash
# The scrubber on a real block device of this machine: finds exactly the bad sectors, survives being killed, shares no disk.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, ./faulty-disk and jq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount losetup loop jq
end_last() {
  "$here/faulty-disk" destroy plain
  "$here/faulty-disk" destroy slow
}
begin
export FAULTY_DIR=$work/disks

size=$((256 << 20))
bad='[[1000,3],[70000,1],[300001,2]]' # what these say to faulty-disk: 1000+3,70000,300001+2
bad_bytes=$((6 * 512))
sectors_read() { awk '{print $3}' "/sys/block/${1#/dev/}/stat"; }

# Polls until DISK has been read up to SECTORS beyond SINCE, or PID has ended, or 60 s are over.
until_read() { # DISK SINCE SECTORS PID
  local tries
  for ((tries = 0; tries < 1200; tries++)); do
    [ $(($(sectors_read "$1") - $2)) -lt "$3" ] || return 0
    kill -0 "$4" 2>/dev/null || return 1
    sleep 0.05
  done
  return 1
}

# Gives PID 20 s to end, then ends it.
until_ended() { # PID
  local tries
  for ((tries = 0; tries < 400; tries++)); do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.05
  done
  fail "the interrupted scrub did not end by itself"
  kill -9 "$1" 2>/dev/null || true
}

disk=$("$here/faulty-disk" create plain $size bad=1000+3,70000,300001+2)

for order in sequential staggered; do
  scrub "$order" "$disk" --order $order --policy none
  expect "$order: exit code" "$status" 3
  expect "$order: exactly the bad sectors" "$(unreadable)" "$bad"
  expect "$order: the rest is verified" "$(field bytes_verified)" $((size - bad_bytes))
  expect "$order: complete" "$(field complete)" true
done
"$here/faulty-disk" destroy plain

# From here on a slow disk: 256 MiB take about 5 s, time enough to be in the middle of it.
disk=$("$here/faulty-disk" create slow $size bad=1000+3,70000,300001+2 kbps=50000)
half=$((size / 512 / 2))
before=$(sectors_read "$disk")
scrub whole "$disk" --policy none
whole=$(($(sectors_read "$disk") - before))
expect "one go: exactly the bad sectors" "$(unreadable)" "$bad"

before=$(sectors_read "$disk")
"$scrubjay" scrub "$disk" --policy none --json --state "$work/killed" >/dev/null 2>&1 &
first=$!
until_read "$disk" "$before" $half $first || fail "the scrub that is to be killed did not come to the middle"
kill -9 $first 2>/dev/null || true
wait $first 2>/dev/null || true
scrub killed "$disk" --policy none
total=$(($(sectors_read "$disk") - before))
expect "killed: exit code" "$status" 3
expect "killed: exactly the bad sectors" "$(unreadable)" "$bad"
expect "killed: complete" "$(field complete)" true
expect "killed: resumed" "$(field resumed)" true
# Read in two runs, less what one run reads (its re-reads around bad sectors included), may be 2 % of the disk.
extra_permille=$(((total - whole) * 1000 / (size / 512)))
echo "# killed in the middle: read twice: $extra_permille/1000 of the disk"
expect "killed: at most 2 % is read twice" "$((extra_permille <= 20))" 1

before=$(sectors_read "$disk")
"$scrubjay" scrub "$disk" --policy none --json --state "$work/shared" >/dev/null 2>&1 &
first=$!
until_read "$disk" "$before" 2048 $first || fail "the first of two scrubs did not start"
scrub shared "$disk" --policy none
expect "two at once: the second cannot" "$status" 1
expect "two at once: it says who holds the disk" "$(grep -c "\b$first\b" "$work/shared.err")" 1
kill -TERM $first 2>/dev/null || true
until_ended $first
first_status=0
wait $first || first_status=$?
expect "interrupted: exit code" "$first_status" 130
scrub shared "$disk" --policy none
expect "interrupted, then again: exactly the bad sectors" "$(unreadable)" "$bad"
expect "interrupted, then again: complete" "$(field complete)" true

done_checking
