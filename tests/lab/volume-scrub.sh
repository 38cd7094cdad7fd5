#!/bin/bash
# A served volume as the target of the scrub: what dd overwrote on its members is found and repaired, beside a working client; the
# scrub and the server are killed amid that, and it is resumed.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs jq and fio; no root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs fio jq
begin
# shellcheck source=volume.sh
. "$here/volume.sh"

job() { # NAME OPTION...
  fio --name="$1" --ioengine=nbd --uri="$uri" "${@:2}" --output="$work/$1.fio" >/dev/null 2>&1
}
# Random bytes over COUNT chunks of 64 KiB of member M, from the chunk at START on: the data area begins at chunk 16.
scribble() { # M START COUNT
  dd if=/dev/urandom of="$work/m$1" bs=64k seek="$2" count="$3" conv=notrunc,fsync status=none
}
# Starts a scrub too slow to come to its end meanwhile, a MiB of about 95 each second, and waits until it has saved some of
# what it did.
start_slowly() { # NAME
  "$scrubjay" scrub lab --policy delay --delay 1s --request 1MiB --order sequential --json --state "$work/$1" \
    >"$work/$1.slow.json" 2>"$work/$1.slow.err" &
  slow=$!
  soon is_saved_or_ended "$1"
  kill -0 $slow 2>/dev/null || fail "$1: the slow scrub saved nothing: $(cat "$work/$1.slow.err")"
}
is_saved_or_ended() { # NAME
  is_saved "$1" 1000 || ! kill -0 $slow 2>/dev/null
}
# Waits for the slow scrub; leaves its exit code in $status.
end_slowly() {
  status=0
  wait $slow || status=$?
  slow=
}

# Reads what was written again and again, until the scrub beside is over.
read_meanwhile() {
  rm -f "$work/has-begun" "$work/is-over"
  until [ -e "$work/is-over" ]; do
    job beside --rw=read --bs=1M --size=256M --verify=crc32c --rate=50M --exec_prerun="touch $work/has-begun" || return
  done
}

for chunk in 4KiB 64KiB; do
  make_volume 96M --chunk $chunk
  start
  job fill --rw=write --bs=1M --size=256M --end_fsync=1 --verify=crc32c --do_verify=0

  scribble 1 100 200
  scribble 4 150 200
  scrub "damaged-$chunk" lab --policy none
  expect "$chunk: damage is found and repaired: exit 0" $status 0
  expect "$chunk: all of it is verified" "$(field complete) $(field error)" 'true null'
  expect "$chunk: much was repaired, on members 1 and 4" "$(jq -c '.targets[0] | [(.rows_repaired > 300), ([.repaired[].member] | unique)]' "$work/$name.json")" '[true,[1,4]]'
  expect "$chunk: all of that was repaired" "$(jq -c '[.targets[0].repaired[].end] | unique' "$work/$name.json")" '["repaired"]'
  expect "$chunk: nothing was lost" "$(field lost) $(unreadable)" '[] []'
  scrub "again-$chunk" lab --policy none
  expect "$chunk: the next pass is clean: exit 0" "$status $(field repaired)" '0 []'

  # Beside a client, inside the budget.
  scribble 2 200 8
  read_meanwhile &
  client=$!
  soon test -e "$work/has-begun"
  # On a busy machine a scrub may be over before the client's first request.
  for _ in 1 2 3; do
    scrub "beside-$chunk" lab
    is_seen=$(jq '.targets[0] | .detector == "server" and .slowdown.foreground_requests > 0' "$work/$name.json")
    [ "$status" = 0 ] && [ "$is_seen" = false ] || break
  done
  touch "$work/is-over"
  expect "$chunk: beside a client, damage is found and repaired, by one or the other" $status 0
  expect "$chunk: the client was seen" "$is_seen" true
  wait $client && client_ended=0 || client_ended=$?
  expect "$chunk: it read what was written" $client_ended 0

  # The scrub is killed; another one is refused meanwhile; what it found is known when it goes on.
  scribble 3 20 4
  start_slowly "kill-$chunk"
  other=0
  "$scrubjay" scrub lab --state "$work/other" >"$work/other.out" 2>"$work/other.err" || other=$?
  expect "$chunk: a second scrub of the volume is refused" "$other $(grep -c 'is being scrubbed already' "$work/other.err")" '1 1'
  kill -9 $slow
  end_slowly 2>/dev/null
  scrub "kill-$chunk" lab --policy none
  expect "$chunk: it goes on after kill -9" "$(field resumed) $(field complete)" 'true true'
  expect "$chunk: and knows what was found before, all of it repaired" "$status $(jq '.targets[0].rows_repaired > 0' "$work/$name.json")" '0 true'

  # The server is killed.
  start_slowly "server-$chunk"
  kill_server
  end_slowly
  expect "$chunk: without its server, it is not done: exit 1" $status 1
  start
  scrub "server-$chunk" lab --policy none
  expect "$chunk: it goes on when the volume is served again" "$status $(field resumed) $(field complete)" '0 true true'
  job read --rw=read --bs=1M --size=256M --verify=crc32c && read_ended=0 || read_ended=$?
  expect "$chunk: all is what was written" $read_ended 0

  # A member less.
  "$scrubjay" volume fail 5
  scrub "degraded-$chunk" lab --policy none
  expect "$chunk: a degraded volume is verified as it is, and not called clean" "$status $(field complete) $(field volume_state)" '3 true "degraded"'
  stop
  expect "$chunk: the check is clean" "$("$scrubjay" volume check "${members[@]:0:5}" --json 2>/dev/null | jq '.stripes - .clean')" 0
done
scrub nobody lab
expect "a volume that is not served is refused: exit 2" "$status $(grep -c 'scrubjay volume serve' "$work/$name.err")" '2 1'
done_checking
