#!/bin/bash
# `probe` on arrays with real queues: disks with one head each, joined by a volume, as a block device.
# Usage: volume-probe.sh [RUNS], the number of runs for each array; nine of ten must be right, each within three minutes. One array for
# each kind of answer; with ARRAYS=all in the environment further arrays that must give the same answers.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, ./faulty-disk, fio and jq.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount loop losetup nbdkit nbdfuse gcc fio jq
runs=${1:-1}
disks=(d0 d1 d2 d3 d4)
end_first() { detach; }
end_last() {
  local disk going=()
  for disk in "${disks[@]}"; do
    "$here/faulty-disk" destroy "$disk" &
    going+=($!)
  done
  wait "${going[@]}"
}
begin
# Times are what it is about: they are not to be those of whoever else uses the processors.
chrt --rr --pid 1 $$ 2>/dev/null || true
export FAULTY_DIR=$work/disks
# shellcheck source=volume.sh
. "$here/volume.sh"
# A disk that is no larger serves too much without a seek: its neighbours are less than a mebibyte away.
size=256M
head=(seek_us=4000 kbps=100000)

# A volume of so many disks and no scheme, full of random bytes: what was never written would be answered without a disk.
make() { # LAYOUT DATA PARITY [WORD...]: a word for each disk that is unlike the others, `2:seek_us=5600`
  local layout=$1 data=$2 parity=$3 disk word own images=() devices=()
  shift 3
  for ((disk = 0; disk < data + parity; disk++)); do
    own=("${head[@]}")
    for word; do [ "${word%%:*}" != $disk ] || own+=("${word#*:}"); done
    devices+=("$("$here/faulty-disk" create d$disk $size "${own[@]}")")
    images+=("$FAULTY_DIR/d$disk/img")
  done
  "$scrubjay" volume create --data "$data" --parity "$parity" --layout "$layout" --scheme none --chunk 64KiB --name lab "${images[@]}" >/dev/null
  members=("${images[@]}")
  start
  fio --name=fill --ioengine=nbd --uri="$uri" --rw=write --bs=1M --size=100% --end_fsync=1 --output="$work/fio.out" 2>"$work/fio.err"
  stop
  members=("${devices[@]}")
  start
  attach
}
unmake() {
  detach
  stop
  end_last
}

# Probes $loop; leaves what is said in $work/probe.json, and how it ended in $status.
probe() { # SEED [OPTION...]
  local seed=$1
  shift
  status=0
  timeout --foreground -k 5 180 "$scrubjay" probe "$loop" --seed "$seed" --json "$@" >"$work/probe.json" 2>"$work/probe.err" || status=$?
}
# Probes until a filter of what is said gives this, twice at most: a timing alone never fails a test.
probe_until() { # FILTER SHOULD-BE [OPTION...]
  local seed filter=$1 wanted=$2
  shift 2
  for seed in 1 2; do
    probe $seed "$@"
    [ "$(said "$filter")" != "$wanted" ] || return 0
    echo "# seed $seed said: $(said "$filter")"
  done
}
said() { jq -c "$1" "$work/probe.json" 2>&1 || true; }
# Pattern, chunk and where one begins, in bytes; disks, copies and layouts; whether classes are those of the layout.
told() { said '[.pattern_bytes, .chunk_bytes, .phase_bytes, .disks, .copies, .layout]'; }

# Probes an array RUNS times, each with another seed and other bytes.
right() { # LAYOUT DATA PARITY SHOULD-BE
  local run again good=0
  for ((run = 1; run <= runs; run++)); do
    for again in '' ', again'; do
      make "$1" "$2" "$3"
      probe $run
      unmake
      echo "# $1 of $(($2 + $3)), seed $run$again: $(told), $(said .ios) requests, $(said '.seconds | round') s"
      # Once more where no average can be taken.
      [ "$(told)" != "$4" ] && [ "$runs" -lt 10 ] || break
    done
    [ "$(told)" != "$4" ] || good=$((good + 1))
  done
  expect "$1 of $(($2 + $3)): right in $good of $runs" $((good * 10 >= runs * 9)) 1
}
kib=1024
right raid5-ls 4 1 "[$((320 * kib)),65536,0,5,1,\"raid0|raid5-ls|raid6-pq\"]"
right raid5-la 3 1 "[$((768 * kib)),65536,0,4,1,\"raid5-la\"]"
if [ "${ARRAYS:-}" = all ]; then
  right raid0 4 0 "[$((256 * kib)),65536,0,4,1,\"raid0|raid5-ls|raid6-pq\"]"
  right raid5-ls 3 1 "[$((256 * kib)),65536,0,4,1,\"raid0|raid5-ls|raid6-pq\"]"
  right raid5-la 4 1 "[$((1280 * kib)),65536,0,5,1,\"raid5-la\"]"
fi

# One member that takes 1.4 times as long; chunk c of RAID-0 is of class c, on disk c.
make raid0 4 0 2:seek_us=5600
slow='[.findings[] | [.kind, .class]]'
probe_until "$slow" '[["slow",2]]'
echo "# a slow disk: $(said '[.disks, .class_times]')"
expect "a slow disk: which, and that it is the only one" "$(said "$slow")" '[["slow",2]]'
expect "a slow disk: by how much" "$(said '.findings[0].factor | . > 1.2 and . < 1.6')" true
expect "a slow disk: exit code" "$status" 3
unmake

# Writes tell RAID-5 from RAID-0, and change nothing.
make raid5-ls 3 1
before=$(sha256sum <"$loop")
probe_until '[.layout, .level]' '["raid5-ls","raid5"]' --allow-writes
echo "# with writes: $(said '[.layout, .level, .write_ratio, .confidence.level]')"
expect "with writes: the layout" "$(said '[.layout, .level]')" '["raid5-ls","raid5"]'
expect "with writes: no byte is another" "$(sha256sum <"$loop")" "$before"
unmake

# One disk is one disk.
loop=$("$here/faulty-disk" create d0 1G "${head[@]}")
probe_until '[.disks, .copies, .findings]' '[1,1,[]]'
loop=
expect "one disk" "$(said '[.disks, .copies, .findings]')" '[1,1,[]]'
done_checking
