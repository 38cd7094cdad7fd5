#!/bin/bash
# A scrub of md arrays in a virtual machine: md's check, driven in steps, finds what a plain check finds.
#
#   guest-md.sh                starts the machine (./guest) and runs the short form there: RAID-1 and RAID-6
#   guest-md.sh long           all levels and orders, many planted damages, repaired read errors, 50 times kill -9
#   guest-md.sh --inside FORM  the checks
#
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs what ./guest needs, and in this machine's root, which the
# virtual machine shares: jq mdadm; for the long form what ./faulty-disk needs, too.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"

if [ "${1:-}" != --inside ]; then
  needs jq mdadm ddrescue script
  form=${1:-short}
  limit=900 modules=(-M raid1 -M raid456)
  if [ "$form" = long ]; then
    needs nbdkit nbdfuse gcc
    limit=1500 modules+=(-M raid10 -M loop -M fuse)
  fi
  disks=()
  for _ in {1..6}; do disks+=(-d 64M); done
  exec "$here/guest" -t "$limit" "${disks[@]}" "${modules[@]}" env SCRUBJAY="$scrubjay" XTASK="${XTASK:-}" "$0" --inside "$form"
fi

form=$2
begin
# shellcheck disable=SC2153 # set by ./guest
read -ra disks <<<"$DISKS"
md=/sys/block/md0/md
knob() { cat "$md/$1"; }
knobs() { echo "$(knob sync_action) $(knob sync_min) $(knob sync_max)"; }
are_knobs() { [ "$(knobs)" = "$1" ]; }
array() { # LEVEL COUNT [OPTION...]
  local level=$1 count=$2
  shift 2
  mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --data-offset=1M --bitmap=none --level="$level" --raid-devices="$count" \
    "$@" "${disks[@]:0:count}" >"$work/mdadm.out" 2>&1 || { cat "$work/mdadm.out"; exit 1; }
  members=("${disks[@]:0:count}")
  echo 1234567 >"$md/sync_speed_max" # somebody's own
  soon are_knobs "idle 0 max"
}
end_array() {
  local member
  expect "$1: the knobs are as they were" "$(knobs) $(knob sync_speed_max)" "idle 0 max 1234567 (local)"
  mdadm --stop /dev/md0 >"$work/mdadm.out" 2>&1
  mdadm --zero-superblock "${members[@]}" >>"$work/mdadm.out" 2>&1
  for member in "${members[@]}"; do dd if=/dev/zero of="$member" bs=1M oflag=direct status=none 2>/dev/null || true; done
  rm -rf "$work"/state.*
}
# A page becomes another one, of random bytes, behind md's back. The place is in sectors of the member's data.
plant() { # MEMBER SECTOR [COUNT]
  dd if=/dev/urandom of="${members[$1]}" bs=$((${3:-8} * 512)) count=1 seek=$(((2048 + $2) * 512)) oflag=direct,seek_bytes \
    iflag=fullblock conv=notrunc status=none
}
# What a plain check finds. md compares stripes that it has in memory with each other, so they are made to go first.
plain_check() {
  forget
  echo check >"$md/sync_action"
  soon are_knobs "idle 0 max"
  knob mismatch_cnt
}
forget() {
  [ ! -e "$md/stripe_cache_size" ] || { echo 17 >"$md/stripe_cache_size" && echo 256 >"$md/stripe_cache_size"; }
}
mismatches() { jq -c '[.targets[0].mismatches[] | [.start, .count]]' "$work/$name.json" 2>&1 || true; }
name_of() { basename "${members[$1]}"; }
check_array() { # NAME [OPTION...]
  local what=$1
  shift
  forget
  scrub "state.$what" /dev/md0 --policy none "$@"
}

# ---- RAID-1: a page that differs is found, and nothing else

array 1 2
check_array raid1-clean --request 1MiB
expect "RAID-1 that agrees: exit code" "$status" 0
expect "RAID-1 that agrees: all is verified" "$(field bytes_verified)" $((129024 * 512))
expect "RAID-1: md's own reads are nobody's requests" "$(field slowdown.foreground_requests)" 0
expect "RAID-1: the verifier" "$(field verifier)" '"md"'
expect "the knobs after a scrub" "$(knobs)" "idle 0 max"
for detector in stat perf; do
  check_array "raid1-$detector" --detector $detector
  expect "RAID-1: nor by the detector $detector" "$(field detector) $(field slowdown.foreground_requests)" "\"$detector\" 0"
done
plant 1 8208
plant 0 100000 16
check_array raid1 --request 1MiB --fresh
expect "RAID-1 that does not agree: exit code" "$status" 3
expect "RAID-1 that does not agree: exactly the pages" "$(mismatches)" "[[8208,8],[100000,16]]"
expect "RAID-1: verified and mismatched are all" "$(field bytes_verified)" $(((129024 - 24) * 512))
"$scrubjay" scrub /dev/md0 --policy none --request 1MiB --no-progress --fresh --state "$work/state.words" >"$work/words" || true
sed 's/^/# /' "$work/words"

# ---- repair, where it was asked for: what nothing tells apart is made to agree

status=0
"$scrubjay" scrub /dev/md0 --policy none --repair --fresh --state "$work/state.asks" </dev/null >"$work/asks" 2>&1 || status=$?
expect "a repair asks, and there is no terminal" "$status $(grep -c 'add --yes' "$work/asks") $(knobs)" "2 1 idle 0 max"
status=0
"$scrubjay" scrub "${members[0]}" --repair --yes --state "$work/state.asks" >"$work/asks" 2>&1 || status=$?
expect "of a disk nothing tells what is right" "$status $(grep -c 'is for arrays of md' "$work/asks")" "2 1"
made() { jq -c '[.targets[0].made_to_agree[] | [.start, .count]]' "$work/$name.json" 2>&1 || true; }
check_array raid1-repaired --request 1MiB --fresh --repair --yes
expect "RAID-1, repair: exit code" "$status" 3
expect "RAID-1, repair: made to agree" "$(made) $(mismatches)" "[[8208,8],[100000,16]] []"
expect "RAID-1, repair: a plain check agrees" "$(plain_check)" 0

# ---- who may not be checked: one line, exit code 2, nothing changed

refused() { # WHAT PATTERN
  local status=0
  "$scrubjay" scrub /dev/md0 --policy none --state "$work/state.refused" >"$work/refused" 2>&1 || status=$?
  expect "$1: refused" "$status $(grep -c "$2" "$work/refused") $(wc -l <"$work/refused")" "2 1 1"
}
echo 0 >"$md/sync_min" && echo 65536 >"$md/sync_max" && echo check >"$md/sync_action"
refused "somebody else's check" "is busy (check)"
expect "somebody else's check goes on" "$(knobs)" "check 0 65536"
echo idle >"$md/sync_action" && echo max >"$md/sync_max" && echo 0 >"$md/sync_min"
mdadm --readonly /dev/md0 2>/dev/null
refused "a read-only array" "is readonly"
mdadm --readwrite /dev/md0 2>/dev/null
status=0
"$scrubjay" scrub "${members[0]}" --policy none --json --state "$work/state.member" >"$work/member.json" 2>/dev/null || status=$?
expect "a member alone is read, with a note" "$status $(jq '[.targets[0].notes[] | select(test("belongs to /dev/md0"))] | length' "$work/member.json")" "0 1"

# ---- a check that somebody begins in between: ours makes way

"$scrubjay" scrub /dev/md0 --policy delay --delay 300ms --request 512KiB --order sequential --no-progress --state "$work/state.way" >"$work/way" 2>&1 &
scrubber=$!
soon is_saved state.way 2048 || fail "nothing is saved"
echo idle >"$md/sync_action"
echo max >"$md/sync_max"
echo check >"$md/sync_action" || true
status=0
wait $scrubber || status=$?
expect "somebody began a check: exit code" "$status" 1
expect "somebody began a check: it says so" "$(grep -c 'NOT DONE: the array ' "$work/way")" 1
sed 's/^/# /' "$work/way"
soon are_knobs "idle 0 max" || fail "the other check comes to its end: $(knobs)"

# ---- Ctrl-C: over within a step, and all is put back

"$scrubjay" scrub /dev/md0 --policy delay --delay 100ms --request 512KiB --no-progress --state "$work/state.stop" >"$work/stop" 2>&1 &
scrubber=$!
soon is_saved state.stop 2048 || fail "nothing is saved"
kill -INT $scrubber
status=0
wait $scrubber || status=$?
expect "Ctrl-C: a pause" "$status $(grep -c ': paused: ' "$work/stop") $(knobs)" "130 1 idle 0 max"

# ---- degraded

mdadm /dev/md0 --fail "${members[1]}" 2>/dev/null
refused "a degraded array" "is degraded: 1 of its 2 members"
end_array RAID-1

# ---- RAID-6: who is wrong is named

array 6 6 --chunk=64
plant 3 40960
plant 2 80000 16
plant 1 100000 && plant 4 100000
check_array raid6
expect "RAID-6: exit code" "$status" 3
expect "RAID-6: exactly the pages" "$(mismatches)" "[[40960,8],[80000,16],[100000,8]]"
expect "RAID-6: the wrong members are named, and of two none is" "$(jq -c '[.targets[0].mismatches[].member]' "$work/$name.json")" \
  "[\"$(name_of 3)\",\"$(name_of 2)\",null]"
expect "RAID-6: md's own reads are nobody's requests" "$(field slowdown.foreground_requests)" 0
expect "RAID-6: as much as a plain check finds" "$(plain_check)" 32

# Chunk 320 of the fourth member is a parity, which md may write; chunk 625 of the third are data, which its repair takes for right.
check_array raid6-repaired --repair --yes --fresh
expect "RAID-6, repair: a wrong parity is made to fit" "$(made)" "[[40960,8]]"
expect "RAID-6, repair: wrong data are left as they are" "$(mismatches)" "[[80000,16],[100000,8]]"
expect "RAID-6, repair: a plain check counts them" "$(plain_check)" 24

# ---- kill -9, then the next one puts the knobs back and goes on

killed() { # OPTION...
  "$scrubjay" scrub /dev/md0 --policy delay --delay 20ms --request 256KiB --no-progress --state "$work/state.killed" "$@" >/dev/null 2>&1 &
  local pid=$!
  # The first one not before there is something to go on from: on a busy machine that takes longer.
  [ -s "$work/killed.first" ] || { soon is_saved state.killed 1024 && echo yes >"$work/killed.first"; }
  sleep "0.$((RANDOM % 8 + 2))"
  # One that came to its end before begins anew, and is killed then.
  if ! kill -9 $pid 2>/dev/null; then
    wait $pid 2>/dev/null || true
    rm -rf "$work/state.killed" "$work/killed.first"
    killed "$@"
    return
  fi
  wait $pid 2>/dev/null || true
  status=0
  "$scrubjay" scrub "$work/no-such-disk" --state "$work/state.killed" >"$work/after" 2>&1 || status=$?
}
times=2
[ "$form" = short ] || times=50
for ((n = 1; n <= times; n++)); do
  order=sequential
  ((n % 2)) || order=staggered
  killed --order $order
  are_knobs "idle 0 max" || fail "after kill -9 no. $n: $(knobs); $(cat "$work/after")"
  [ -z "$(ls "$work"/state.killed/*.md-guard 2>/dev/null)" ] || fail "after kill -9 no. $n a guard is left"
done
expect "after kill -9 and the next start" "$(knobs)" "idle 0 max"
forget
scrub state.killed /dev/md0 --policy none
expect "after kill -9: it goes on, and finds the same" "$(field resumed) $(mismatches)" "true [[80000,16],[100000,8]]"
end_array RAID-6
types md
if [ "$form" = short ]; then
  done_checking
  exit
fi

# ---- every level, one range after the other and staggered: the same places, and as much as a plain check finds

planted() { # LEVEL COUNT OPTION...: seven pages on random members
  local n
  array "$@"
  for n in 3000 11000 30008 50000 70000 99000 128000; do plant $((RANDOM % $2)) $((n / 8 * 8)); done
}
for level in 1 10 5 6; do
  case $level in
  1) planted 1 2 ;;
  *) planted $level 4 --chunk=64 ;;
  esac
  plain=$(plain_check)
  places=
  for order in sequential staggered; do
    check_array "level$level-$order" --order $order --segment 1MiB --region 8MiB --request 256KiB
    expect "RAID-$level, $order: exit code" "$status" 3
    expect "RAID-$level, $order: all has a verdict" \
      "$(jq '.targets[0] | .bytes_verified + ([.mismatches[].count] | add) * 512 <= .bytes and .complete' "$work/$name.json")" true
    [ -n "$places" ] || places=$(mismatches)
    expect "RAID-$level, $order: the same places" "$(mismatches)" "$places"
  done
  echo "# RAID-$level: a plain check counts $plain, places: $places"
  case $level in
  1) expect "RAID-1: the seven pages" "$places" "[[3000,8],[11000,8],[30008,8],[50000,8],[70000,8],[99000,8],[128000,8]]" ;;
  5 | 6)
    expect "RAID-$level: the seven pages" "$places" "[[3000,8],[11000,8],[30008,8],[50000,8],[70000,8],[99000,8],[128000,8]]"
    expect "RAID-$level: as much as a plain check counts" "$(jq '[.targets[0].mismatches[].count] | add' "$work/$name.json")" "$plain"
    ;;
  # md counts whole requests of 64 KiB.
  10) expect "RAID-10: seven pages" "$(jq '[.targets[0].mismatches[].count] | length, add' "$work/$name.json" | xargs) $plain" "7 56 896" ;;
  esac
  end_array "RAID-$level"
done

# ---- read errors are repaired by md, and counted

export FAULTY_DIR=$work/disks
kept=("${disks[@]}")
end_last() { for n in 0 1 2; do "$here/faulty-disk" destroy "f$n"; done; }
for level in 1 10 5; do
  disks=()
  for n in 0 1 2; do
    bad=()
    [ $n != 1 ] || bad=(bad=$((2048 + 20000)),$((2048 + 60000)))
    disks+=("$("$here/faulty-disk" create "f$n" 64M "${bad[@]}")")
  done
  if [ $level = 1 ]; then array 1 3; else array $level 3 --chunk=64; fi
  check_array "repaired$level" --request 512KiB
  expect "RAID-$level, read errors: exit code" "$status" 0
  expect "RAID-$level, read errors: of the right member" "$(jq -c '[.targets[0].repaired_errors[].member]' "$work/$name.json")" \
    "[\"$(name_of 1)\"]"
  # Of a mirror the log has the beginning of a request of some hundred KiB.
  expect "RAID-$level, read errors: the log tells where" "$(jq -c '[.targets[0].repaired_errors[].places[][0]] as $told |
    [22048, 62048] | map(. as $bad | any($told[]; . <= $bad and $bad < . + 1024))' "$work/$name.json")" "[true,true]"
  # Of a mirror md writes whole requests of 64 KiB anew, several if the disk got them as one.
  case $level in
  5) expect "RAID-5, read errors: repaired and counted" "$(field sectors_repaired)" 16 ;;
  *)
    repaired=$(field sectors_repaired)
    expect "RAID-$level, read errors: repaired and counted" "$([ "$repaired" -ge 256 ] && [ $((repaired % 8)) = 0 ] && echo yes || echo "$repaired")" yes
    ;;
  esac
  expect "RAID-$level, read errors: all is verified" "$(field bytes_verified) $(field complete)" "$(field bytes) true"
  scrub "state.again$level" /dev/md0 --policy none
  expect "RAID-$level, read errors: once only" "$status" 0
  end_array "RAID-$level of faulty disks"
  end_last
done
disks=("${kept[@]}")

# ---- a check that rests for long is ended, and nothing of it is left meanwhile

array 5 4 --chunk=64
"$scrubjay" scrub /dev/md0 --policy delay --delay 40s --request 512KiB --no-progress --state "$work/state.rest" >"$work/rest" 2>&1 &
scrubber=$!
soon grep -q check "$md/sync_action" || fail "a check begins"
soon are_knobs "idle 0 max" || fail "a check that rests is ended"
expect "a check that rests for long: it is still at work" "$(kill -0 $scrubber && echo yes)" yes
kill -INT $scrubber
status=0
wait $scrubber || status=$?
expect "a check that rests for long: a pause" "$status" 130
end_array "RAID-5, at rest"

# ---- beside somebody who uses it

array 5 4 --chunk=64
for ((n = 0; n < 200; n++)); do
  dd if=/dev/md0 of=/dev/null bs=4k count=1 skip=$((RANDOM % 40000)) iflag=direct status=none
done &
scrub state.beside /dev/md0
expect "RAID-5, beside somebody: exit code" "$status" 0
wait $! || true
seen=$(field slowdown.foreground_requests)
expect "RAID-5, beside somebody: his requests are seen, and no others" "$([ "$seen" -ge 1 ] && [ "$seen" -le 200 ] && echo yes || echo "$seen")" yes
end_array "RAID-5, beside somebody"

# ---- beside somebody who writes: nothing is made up

for level in 1 10 6; do
  if [ $level = 1 ]; then array 1 2; else array $level 4 --chunk=64; fi
  while :; do
    dd if=/dev/urandom of=/dev/md0 bs=64k count=2 seek=$((RANDOM % 900)) oflag=direct conv=notrunc status=none
  done &
  writer=$!
  check_array "written$level" --request 256KiB
  kill $writer
  wait $writer 2>/dev/null || true
  expect "RAID-$level, beside a writer: it agrees, and nothing was repaired" "$status $(mismatches) $(field sectors_repaired) $(field transient_errors)" "0 [] 0 0"
  end_array "RAID-$level, beside a writer"
done
done_checking
