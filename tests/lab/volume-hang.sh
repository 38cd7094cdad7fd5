#!/bin/bash
# A volume one of whose members hangs under load, is let go, and comes back: its clients go on, it is taken back with what it
# held, and all is right. The member is a loop device on a file of nbdfuse, whose server (nbdkit) is stopped for a while.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, FUSE, loop devices, nbdkit, nbdfuse,
# python3-libnbd and jq. Takes a minute: a member may owe an answer for 30 s.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount loop losetup nbdkit nbdfuse fusermount3 jq libnbd
backend= disk=
# Whoever waits for the backend cannot end before it answers.
end_first() { [ -z "$backend" ] || kill -CONT "$backend" 2>/dev/null || true; }
end_last() {
  [ -z "$disk" ] || losetup -d "$disk" || true
  fusermount3 -q -z -u "$work/fuse" 2>/dev/null || true
}
begin
# shellcheck source=volume.sh
. "$here/volume.sh"

# Asks again, up to TRIES times, a tenth of a second apart, until it is so.
await() { # TRIES COMMAND...
  local tries=$1
  shift
  while ! "$@"; do
    ((tries-- > 0)) || return 1
    sleep 0.1
  done
}
status() { timeout 30 "$scrubjay" volume status lab --json >"$work/status.json" 2>/dev/null || true; }
is_called() { # STATE
  status
  [ "$(jq -r .state "$work/status.json")" = "$1" ]
}
member() { jq -c ".members[3] | [$1]" "$work/status.json"; }
use() { # SECONDS: makes all durable that the others wrote, and reads some of it
  timeout "$1" /usr/bin/python3 -c 'import nbd, sys; h = nbd.NBD(); h.connect_uri(sys.argv[1])
h.flush(); h.pread(1 << 20, 0); h.flush()' "$uri" && echo done
}
readd() { timeout 30 "$scrubjay" volume readd "$1" 2>"$work/readd.err"; }

truncate -s 32M "$work"/m{0,1,2,backing}
nbdkit -f -U "$work/backend.sock" -P "$work/backend.pid" file "$work/mbacking" 2>"$work/nbdkit.err" &
backend=$!
await 200 test -s "$work/backend.pid"
mkdir "$work/fuse"
nbdfuse -C 12 "$work/fuse" --unix "$work/backend.sock" 2>"$work/nbdfuse.err" &
await 200 test -f "$work/fuse/nbd" || skip "nbdfuse does not start: $(cat "$work/nbdfuse.err")"
disk=$(losetup -f --show --direct-io=on "$work/fuse/nbd" 2>/dev/null || losetup -f --show "$work/fuse/nbd")
members=("$work"/m{0,1,2} "$disk")
"$scrubjay" volume create --data 3 --parity 1 --chunk 4KiB --size 48MiB --name lab "${members[@]}" >"$work/create.out"

start
/usr/bin/python3 "$here/acked.py" write "$uri" "$work/acked" 1 >"$work/acked.out" 2>&1 &
client=$!
expect "a flush and a read, before" "$(use 60)" "done"
kill -STOP $backend
begun=$SECONDS
expect "they end while the member hangs" "$(use 75)" "done"
echo "# after $((SECONDS - begun)) s"
is_called degraded || true
expect "the member is out, and why is said" "$(member '.state, .detail')" '["failed","it did not answer in time"]'
expect "it may not return yet" "$(member .may_return)" '[false]'
readd "$disk" && fail "it was taken back while it hangs"
expect "nor is it asked to" "$(grep -c 'it has not ended what it was asked' "$work/readd.err")" 1
expect "they end without it" "$(use 60)" "done"

kill -CONT $backend
begun=$SECONDS
may_return() { status && [ "$(member .may_return)" = '[true]' ]; }
expect "it answers, and may return" "$(await 300 may_return && echo yes)" yes
expect "where is said in words" "$("$scrubjay" volume status lab | grep -c "scrubjay volume readd $disk")" 1
expect "it is taken back" "$(readd "$disk" && echo yes || cat "$work/readd.err")" yes
expect "and is active" "$(await 300 is_called open && member .state)" '["active"]'
echo "# after $((SECONDS - begun)) s"
stop
wait $client || fail "the client: $(tail -1 "$work/acked.out")"
expect "the check is clean" "$(dirty_stripes)" 0

# What it holds is right: it stands for another one now.
start
"$scrubjay" volume fail 0
expect "without another one" "$(await 100 is_called degraded && echo degraded)" degraded
/usr/bin/python3 "$here/acked.py" verify "$uri" "$work/acked" >"$work/acked.out" 2>&1 && right=yes || right=no
echo "# $(tail -1 "$work/acked.out")"
expect "every acknowledged write is there" $right yes
expect "the other one is taken back" "$(readd "$work/m0" && await 300 is_called open && echo yes)" yes
stop
expect "the check is clean again" "$(dirty_stripes)" 0
losetup -d "$disk"
disk=
await 100 fusermount3 -q -u "$work/fuse" || true
kill $backend
wait
done_checking
