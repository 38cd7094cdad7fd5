#!/bin/bash
# What small random writes to a volume cost its members, counted by the kernel: three reads, three writes, 3.4 bytes per byte.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, losetup, fio, python3-libnbd and jq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root loop losetup fio jq libnbd
loops=()
end_last() {
  local loop
  for loop in "${loops[@]}"; do losetup -d "$loop" || true; done
}
begin
# shellcheck source=volume.sh
. "$here/volume.sh"
for ((member = 0; member < 6; member++)); do
  truncate -s 64M "$work/m$member"
  loop=$(losetup -f --show --direct-io=on "$work/m$member" 2>/dev/null || losetup -f --show "$work/m$member" 2>/dev/null) ||
    skip "no loop devices here (a container?)"
  loops+=("$loop")
done
members=("${loops[@]}")
"$scrubjay" volume create --data 4 --parity 2 --chunk 4KiB --name lab "${members[@]}" >/dev/null
start

# Requests and sectors, read and written, of all members: the 1st, 3rd, 5th and 7th field of the kernel's counters.
counters() {
  local loop
  for loop in "${loops[@]}"; do cat "/sys/block/${loop#/dev/}/stat"; done | awk '{r += $1; rs += $3; w += $5; ws += $7} END {printf "%.0f %.0f %.0f %.0f\n", r, rs, w, ws}'
}
job() { # OPTION...
  fio --name=count --ioengine=nbd --uri="$uri" --size=64M "$@" --output="$work/fio.out" --output-format=json >/dev/null 2>"$work/fio.err"
}
job --rw=write --bs=1M --end_fsync=1
read -r r0 rs0 w0 ws0 < <(counters)
job --rw=randwrite --bs=4k --iodepth=1 --number_ios=4000
read -r r1 rs1 w1 ws1 < <(counters)
count=$(jq '.jobs[0].write.total_ios' "$work/fio.out")
echo "# $count writes of 4 KiB: $((r1 - r0)) reads ($((rs1 - rs0)) sectors), $((w1 - w0)) writes ($((ws1 - ws0)) sectors)"
# Beside the rows: a page of intents on each member for each of 16 regions, once, and cleaning.
expect "three reads a write" "$(((r1 - r0 + count / 2) / count)) $(((r1 - r0) * 100 / count <= 301))" '3 1'
expect "three writes a write" "$(((w1 - w0 + count / 2) / count)) $(((w1 - w0) * 100 / count <= 310))" '3 1'
expect "at most 3.6 bytes a byte" $(((ws1 - ws0) * 512 * 10 <= count * 4096 * 36)) 1
# Written above, flushed now: the first read of a chunk looks at one list, later ones at nothing.
/usr/bin/python3 -c 'import nbd, sys; h = nbd.NBD(); h.connect_uri(sys.argv[1]); h.flush()' "$uri"
job --rw=read --bs=4k
read -r r0 _ _ _ < <(counters)
job --rw=randread --bs=4k --iodepth=1 --number_ios=4000 --norandommap=0
read -r r1 _ _ _ < <(counters)
count=$(jq '.jobs[0].read.total_ios' "$work/fio.out")
echo "# $count reads of 4 KiB, read before: $((r1 - r0)) reads"
expect "one read a read" $(((r1 - r0) * 100 / count <= 101)) 1
stop
expect "the check is clean" "$(dirty_stripes)" 0
done_checking
