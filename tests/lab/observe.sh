#!/bin/bash
# A watch that only observes, then the real one: nothing of the disk is read, nothing is sent, nothing that was observed counts.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, FUSE, loop devices, jq and what faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount loop losetup gcc jq
end_first() { [ -z "${daemon:-}" ] || kill -TERM "$daemon" 2>/dev/null || true; }
end_last() { "$here/faulty-disk" destroy bad; }
begin
export FAULTY_DIR=$work/disks SCRUBJAY_RUN=$work/run
mkdir run
disk=$("$here/faulty-disk" create bad 64M bad=4000+8)
others=$(lsblk -dno NAME | grep -v '^loop' | sed 's/.*/"&"/' | paste -sd,)
printf '#!/bin/sh\ncat >>"%s/told"\n' "$work" >tell
chmod 755 tell
printf 'also = ["%s"]\nnever = [%s]\n[alert.exec]\nprogram = "%s/tell"\n' "$disk" "$others" "$work" >config.toml
read_sectors() { awk '{print $3}' "/sys/block/${disk#/dev/}/stat"; }
status() { "$scrubjay" status --json 2>/dev/null | jq -c ".watch | $1"; }
is() { [ "$(status "$1")" = "$2" ]; }
blockdev --flushbufs "$disk"
sleep 1
before=$(read_sectors)
# Five minutes, after which a problem is told, are a second.
"$scrubjay" watch --observe --config config.toml --state state --test-calendar "20000@$(date +%s)" 2>watch.log &
daemon=$!
soon grep -qs 'only observing' watch.log || fail "it says that it only observes"
passes='[.observed.disks[].passes] | add >= 1'
soon is "$passes" true || fail "an imagined pass comes to its end: $(status .observed)"
soon is '.observed.told_days >= 1' true || fail "after a day it tells"
expect "a day's lines are in the journal" "$(grep -c '^observed: in .* it would have read .* of 1 disk' watch.log | awk '{print ($1 >= 1)}')" 1
expect "nothing of the disk was read by it" "$((($(read_sectors) - before) * 512 < 4 << 20))" 1
expect "no bad sector is known, and none is denied" "$(status '[.disks[0].unreadable, .disks[0].health]')" '[0,"unknown"]'
expect "nothing counts as read" "$(status '[.disks[0].oldest_read, (.lights[] | select(.name == "All sectors read") | .words)]')" '[null,"only observed: nothing is read"]'
expect "it is never called well" "$("$scrubjay" check | cut -d: -f1 | grep -c '^OK')" 0
soon is '.observed.messages >= 1' true || fail "what would have been sent is counted"
expect "nothing was sent" "$(test -e told && echo sent || echo nothing)" nothing
expect "a person is told in status" "$("$scrubjay" status | grep -c 'only observed since')" 1
kill -TERM $daemon
wait $daemon || true
expect "what is real is untouched" "$(ls state)" observed

# By the word in the settings, then without it: it begins anew by itself.
sed -i '1i observe = true' config.toml
"$scrubjay" watch --config config.toml --state state --test-calendar "20000@$(date +%s)" --test-full-speed 2>watch.log &
daemon=$!
soon grep -qs 'only observing' watch.log || fail "the word in the settings"
soon is '.observed != null' true || fail "it observes: $(status .observed)"
expect "set" "$("$scrubjay" set observe false --config config.toml | grep -c 'it reads and sends from now on')" 1
soon is '.observed == null and .disks[0].unreadable == 8' true || fail "now it reads, and finds what is bad: $(status .disks)"
soon grep -qs 'REPLACE' told || fail "and tells"
expect "its history is new, not lost" "$(status '[.incidents[] | select(.subject == "history")] | length')" 0
kill -TERM $daemon
wait $daemon || true
daemon=
done_checking
