#!/bin/bash
# A scrub of a real block device of this machine: it finds exactly the bad sectors, survives kills, and allows no second scrub.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, ./faulty-disk and jq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount losetup loop jq
end_first() { rm -f "$hold"; } # nobody ends before the disk has answered
end_last() {
  "$here/faulty-disk" destroy plain
  "$here/faulty-disk" destroy held
}
begin
hold=$work/hold
export FAULTY_DIR=$work/disks

size=$((256 << 20))
bad='[[1000,3],[70000,1],[300001,2]]' # what these say to faulty-disk: 1000+3,70000,300001+2
bad_bytes=$((6 * 512))
sectors_read() { awk '{print $3}' "/sys/block/${1#/dev/}/stat"; }

# From now on the disk answers no read once SECTORS more were read, until $hold is removed.
hold_after() { # SECTORS
  echo $((($(sectors_read "$disk") - made + $1) * 512)) >"$hold"
}
has_ended() { ! kill -0 "$1" 2>/dev/null; } # PID

disk=$("$here/faulty-disk" create plain $size bad=1000+3,70000,300001+2)

for order in sequential staggered; do
  scrub "$order" "$disk" --order $order --policy none
  expect "$order: exit code" "$status" 3
  expect "$order: exactly the bad sectors" "$(unreadable)" "$bad"
  expect "$order: the rest is verified" "$(field bytes_verified)" $((size - bad_bytes))
  expect "$order: complete" "$(field complete)" true
done
"$scrubjay" scrub "$disk" --policy none --range ..1MiB --no-progress --state "$work/hint" >"$work/hint.txt" || true
expect "the result says how to look up what lies there" "$(grep -c "scrubjay explain $disk 1000+3\$" "$work/hint.txt")" 1
# The same disk under a second name: two targets of one command are read one after the other.
mknod "$work/second" b "$((0x$(stat -c %t "$disk")))" "$((0x$(stat -c %T "$disk")))"
status=0
"$scrubjay" scrub "$disk" "$work/second" --policy none --no-progress --state "$work/two" >"$work/two.txt" 2>"$work/two.said" || status=$?
expect "two targets on one disk: exit code" "$status" 3
expect "two targets on one disk: both are read" "$(grep -c '6 UNREADABLE sectors in 3 places' "$work/two.txt")" 2
expect "two targets on one disk: the second has to wait" "$(grep -c 'it begins when the others have ended' "$work/two.said")" 1
"$here/faulty-disk" destroy plain

# From here on a disk that can be told to stop answering, so that a scrub is in the middle of it for sure.
disk=$("$here/faulty-disk" create held $size bad=1000+3,70000,300001+2 hold="$hold")
made=$(sectors_read "$disk") # the kernel counts on from whatever had the loop device before
half=$((size / 512 / 2))
percent=$((size / 512 / 100))
before=$(sectors_read "$disk")
scrub whole "$disk" --policy none
whole=$(($(sectors_read "$disk") - before))
expect "one go: exactly the bad sectors" "$(unreadable)" "$bad"

before=$(sectors_read "$disk")
hold_after $half
"$scrubjay" scrub "$disk" --policy none --json --state "$work/killed" >/dev/null 2>&1 &
first=$!
# It saves what it has read whenever that is a hundredth more; what is at the disk is not read yet.
soon is_saved killed $((half - 3 * percent)) || fail "the scrub that is to be killed saved no more than $(sectors_saved killed)"
kill -9 $first 2>/dev/null || true
rm "$hold"
wait $first 2>/dev/null || true
scrub killed "$disk" --policy none
total=$(($(sectors_read "$disk") - before))
expect "killed: exit code" "$status" 3
expect "killed: exactly the bad sectors" "$(unreadable)" "$bad"
expect "killed: complete" "$(field complete)" true
expect "killed: resumed" "$(field resumed)" true
# Read in two runs, less what one run reads (its re-reads around bad sectors included).
extra_permille=$(((total - whole) * 1000 / (size / 512)))
echo "# killed in the middle: read twice: $extra_permille/1000 of the disk"
expect "killed: at most 4 % is read twice" "$((extra_permille <= 40))" 1

hold_after $half
"$scrubjay" scrub "$disk" --policy none --json --state "$work/shared" >/dev/null 2>&1 &
first=$!
soon is_saved shared 1 || fail "the first of two scrubs did not start"
scrub shared "$disk" --policy none
expect "two at once: the second cannot" "$status" 1
expect "two at once: it says who holds the disk" "$(grep -c "\b$first\b" "$work/shared.err")" 1
kill -TERM $first 2>/dev/null || true
rm "$hold"
soon has_ended $first || { fail "the interrupted scrub did not end by itself" && kill -9 $first; }
first_status=0
wait $first || first_status=$?
expect "interrupted: exit code" "$first_status" 130
scrub shared "$disk" --policy none
expect "interrupted, then again: exactly the bad sectors" "$(unreadable)" "$bad"
expect "interrupted, then again: complete" "$(field complete)" true

done_checking
