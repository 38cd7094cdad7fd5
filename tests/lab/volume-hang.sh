#!/bin/bash
# A volume with two members that hang under load, are failed, and come back: its clients go on, and the members are taken back with
# their contents, and are right. One is a file of nbdfuse, the other a loop device on such a file; their servers (nbdkit) are
# suspended for a while, both at once.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, FUSE, loop devices, nbdkit, nbdfuse,
# python3-libnbd and jq. Takes a minute: a member may owe an answer for 30 s.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount loop losetup nbdkit nbdfuse fusermount3 jq libnbd
backends=() disk=
# Whoever waits for the backends cannot end before they answer.
end_first() { kill -CONT "${backends[@]}" 2>/dev/null || true; }
end_last() {
  local which
  [ -z "$disk" ] || losetup -d "$disk" || true
  for which in 3 4; do fusermount3 -q -z -u "$work/fuse$which" 2>/dev/null || true; done
}
begin
# shellcheck source=volume.sh
. "$here/volume.sh"

status() { timeout 300 "$scrubjay" volume status lab --json >"$work/status.json" 2>/dev/null || true; }
is_called() { # STATE
  status
  [ "$(jq -r .state "$work/status.json")" = "$1" ]
}
hung() { jq -c ".members[3:] | map([$1])" "$work/status.json"; }
use() { # makes all durable that the others wrote, and reads some of it
  timeout 300 /usr/bin/python3 -c 'import nbd, sys; h = nbd.NBD(); h.connect_uri(sys.argv[1])
h.flush(); h.pread(1 << 20, 0); h.flush()' "$uri" && echo done
}
readd() { timeout 300 "$scrubjay" volume readd "$1" >"$work/readd.out" 2>"$work/readd.err"; }

# A file whose server can be stopped.
make_fuse() { # WHICH
  truncate -s 32M "$work/backing$1"
  nbdkit -f -U "$work/backend$1.sock" -P "$work/backend$1.pid" file "$work/backing$1" 2>"$work/nbdkit.err" &
  backends+=($!)
  soon test -s "$work/backend$1.pid"
  mkdir "$work/fuse$1"
  nbdfuse -C 12 "$work/fuse$1" --unix "$work/backend$1.sock" 2>"$work/nbdfuse.err" &
  soon test -f "$work/fuse$1/nbd" || skip "nbdfuse does not start: $(cat "$work/nbdfuse.err")"
}
truncate -s 32M "$work"/m{0,1,2}
make_fuse 3
make_fuse 4
disk=$(losetup -f --show --direct-io=on "$work/fuse3/nbd" 2>/dev/null || losetup -f --show "$work/fuse3/nbd")
members=("$work"/m{0,1,2} "$disk" "$work/fuse4/nbd")
"$scrubjay" volume create --data 3 --parity 2 --chunk 4KiB --size 48MiB --name lab "${members[@]}" >"$work/create.out"

start
/usr/bin/python3 "$here/acked.py" write "$uri" "$work/acked" 1 >"$work/acked.out" 2>&1 &
client=$!
expect "a flush and a read, before" "$(use)" "done"
kill -STOP "${backends[@]}"
begun=$SECONDS
expect "they end while two members hang" "$(use)" "done"
echo "# after $((SECONDS - begun)) s"
are_out() { status && [ "$(hung .state)" = '[["failed"],["failed"]]' ]; }
soon are_out || true
expect "both are out, and why is said" "$(hung '.state, .detail' | sed 's/"it did not answer in time"/late/g')" '[["failed",late],["failed",late]]'
expect "they may not return yet" "$(hung .may_return)" '[[false],[false]]'
for member in "${members[@]:3}"; do
  readd "$member" && fail "$member was taken back while it hangs"
  expect "nor is it asked to" "$(grep -c 'it has not ended what it was asked' "$work/readd.err")" 1
done
expect "they end without them" "$(use)" "done"

kill -CONT "${backends[@]}"
begun=$SECONDS
may_return() { status && [ "$(hung .may_return)" = '[[true],[true]]' ]; }
expect "they answer, and may return" "$(soon may_return && echo yes)" yes
for member in "${members[@]:3}"; do
  expect "where is said in words" "$("$scrubjay" volume status lab | grep -c "scrubjay volume readd $member")" 1
  expect "it is taken back" "$(readd "$member" && echo yes || cat "$work/readd.err")" yes
done
expect "and they are active" "$(soon is_called open && hung .state)" '[["active"],["active"]]'
echo "# after $((SECONDS - begun)) s"
stop
wait $client || fail "the client: $(tail -1 "$work/acked.out")"
expect "the check is clean" "$(dirty_stripes)" 0

# What they hold is right: they stand for others now.
start
"$scrubjay" volume fail 0
"$scrubjay" volume fail 1
expect "without two others" "$(soon is_called degraded && echo degraded)" degraded
/usr/bin/python3 "$here/acked.py" verify "$uri" "$work/acked" >"$work/acked.out" 2>&1 && right=yes || right=no
echo "# $(tail -1 "$work/acked.out")"
expect "every acknowledged write is there" $right yes
for member in 0 1; do expect "another one is taken back" "$(readd "$work/m$member" && echo yes)" yes; done
expect "the volume is whole" "$(soon is_called open && echo yes)" yes
stop
expect "the check is clean again" "$(dirty_stripes)" 0
losetup -d "$disk"
disk=
for which in 3 4; do soon fusermount3 -q -u "$work/fuse$which" || true; done
kill "${backends[@]}"
wait
done_checking
