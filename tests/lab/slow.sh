#!/bin/bash
# A place of a disk that is slower than those around it: what explain, the watch and the page's document say of it, after one pass and after six.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, FUSE, loop devices, jq and what faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount loop losetup gcc jq
end_first() { [ -z "${daemon:-}" ] || kill -TERM "$daemon" 2>/dev/null || true; }
end_last() { "$here/faulty-disk" destroy one; }
begin
export FAULTY_DIR=$work/disks SCRUBJAY_RUN=$work/run XDG_STATE_HOME=$work
mkdir run
# The ninth of 16 regions of 128 MiB.
disk=$("$here/faulty-disk" create one 2G kbps=300000 slow=2097152+262144 slow_pct=500)
name=${disk#/dev/}
# Only large requests are measured; on a slow machine the usual budget of a disk without clients may not pay for them within seconds.
scrub=("$scrubjay" scrub "$disk" --no-progress --slowdown 1s --max-slowdown 10s)
pass() { "${scrub[@]}" --fresh >/dev/null; }
speed() { "$scrubjay" explain "$disk" --json | jq -c ".speed | $1"; }
expect "nothing is measured before the first pass" "$(speed '[.begun, .slow_places]')" "[0,0]"
pass
expect "one pass finds it, and nothing else" "$(speed '[.slow_places, .slow[0].start, .slow[0].count, .slow[0].lasts]')" "[1,2097152,262144,false]"
expect "how much slower" "$(speed '.slow[0].ratio | . > 1.3 and . < 6')" true
expect "each part was measured" "$(speed '[.parts[].typical | select(. > 0)] | length')" 16
expect "in words" "$("$scrubjay" explain "$disk" | grep -c 'sectors 2097152 to 2359295')" 1
# Killed in the midst of a pass: what was measured is kept.
timeout --signal=KILL 4 "${scrub[@]}" --fresh >/dev/null 2>&1 || true
"${scrub[@]}" >/dev/null
expect "a pass that was killed has its map" "$(speed '[.passes, .slow_places]')" "[2,1]"
# A file that is damaged is begun anew, and harms no scrub.
for file in scrubjay/*.visits; do head -c 1000 /dev/urandom >"$file"; done
for _ in 3 4 5 6; do pass; done
expect "six passes agree" "$(speed '[.passes, .slow[0].lasts]')" "[6,true]"
others=$(lsblk -dno NAME | grep -vx "$name" | sed 's/.*/"&"/' | paste -sd,)
printf 'also = ["%s"]\nnever = [%s]\n' "$disk" "$others" >config.toml
"$scrubjay" watch --config config.toml --state scrubjay 2>watch.log &
daemon=$!
status() { "$scrubjay" status --json 2>/dev/null | jq -r ".watch.disks[0] | $1"; }
is_slow() { [ "$(status .health)" = watch ]; }
soon is_slow || fail "the watch says so: $(status .) $(tail -3 watch.log)"
expect "to be watched, and not replaced" "$(status '[.health, .reasons[0]] | join(": ")')" "watch: 1 place slower than those around, pass after pass"
done_checking
