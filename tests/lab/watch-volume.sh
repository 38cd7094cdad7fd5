#!/bin/bash
# The watch and a served volume: its scrub is started, stopped and resumed like that of a disk, and never runs at the same time as the
# reading of its members; repairs are reported for the volume, and for no disk; the server and the daemon are killed.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, loop devices, jq, fio and sqlite3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root loop jq fio sqlite3
begin
# shellcheck source=volume.sh
. "$here/volume.sh"
speed=20000 from=$(date +%s) disks=()
end_last() { [ ${#disks[@]} = 0 ] || losetup -d "${disks[@]}"; }

make_volume 64M
for file in "${members[@]}"; do disks+=("$(losetup -f --show "$file")"); done
members=("${disks[@]}")
mkdir -m 700 run
start
fio --name=fill --ioengine=nbd --uri="$uri" --rw=write --bs=1M --size=128M --end_fsync=1 --output=fill.fio >/dev/null
scribble() { # MEMBER START COUNT: random bytes over chunks, below the server
  dd if=/dev/urandom of="m$1" bs=64k seek="$2" count="$3" conv=notrunc,fsync status=none
}
# Two runs of rows on one member, silently changed below everything, before anybody reads them.
scribble 2 100 4
watched=$(printf '"%s",' "${disks[@]}")
others=$(lsblk -dno NAME | grep -v '^loop' | sed 's/.*/"&"/' | paste -sd,)
cat >program.sh <<'SH'
#!/bin/sh
echo "$SMARTD_SUBJECT" >>"$0.messages"
SH
chmod +x program.sh
cat >config.toml <<TOML
host = "nas1"
also = [${watched%,}]
never = [$others]
scrub.every = "4d"
[alert.exec]
program = "$work/program.sh"
TOML
watch() { # its process is then $daemon
  "$scrubjay" watch --config config.toml --state state --test-full-speed --test-calendar "$speed@$from" 2>>watch.log &
  daemon=$!
  soon test -S run/watch
}
status() { "$scrubjay" status --json 2>/dev/null | jq -r ".watch | $1" 2>/dev/null || true; }
is_status() { [ "$(status "$1")" = "$2" ]; }
history() { sqlite3 -readonly state/history.db "$1"; }
checks() { history "SELECT count(*) FROM event WHERE kind = 'check-finished' AND subject = 'lab'"; }
has_checks() { [ "$(checks)" -ge "$1" ]; }
passes() { history "SELECT count(DISTINCT disk) FROM pass"; }
has_passes() { [ "$(passes)" -ge "$1" ]; }

echo "# a volume is read by its own scrub, and its members by theirs"
watch
soon is_status '(.arrays[] | select(.name == "lab")) | [.name, .is_there, .check != null] | @csv' '"lab",true,true' || fail "the volume is seen: $(status .arrays)"
soon has_checks 1 || fail "the volume is scrubbed: $(tail -20 watch.log)"
soon has_passes 6 || fail "its six members are read: $(passes): $(tail -20 watch.log)"
together() { # of the journal: a session of the volume and one of a member that overlap
  awk '
    /: reading, pass / { name = $1; sub(":", "", name); if (name == "lab" ? members : lab) bad++
      if (name == "lab") lab = 1; else { on[name] = 1; members++ } }
    /: (the pass is over|stopped after|not read|it answers no reads)/ { name = $1; sub(":", "", name)
      if (name == "lab") lab = 0; else if (on[name]) { delete on[name]; members-- } }
    END { print bad + 0 }' watch.log
}
expect "never at a time" "$(together)" 0
expect "it is corrected, and nothing is lost" "$(status '(.arrays[] | select(.name == "lab")).check | (.corrected > 0 and .unreadable == 0)')" true
soon grep -q 'WATCH array lab: .* places were wrong, and have been put right' program.sh.messages || fail "it is told: $(cat program.sh.messages)"
expect "no disk is blamed for it" "$(status '[.disks[] | select(.health == "replace" or .health == "watch")] | length')" 0
expect "the history has it" "$(history "SELECT count(*) > 0 FROM event WHERE kind = 'check-finished' AND words LIKE '%corrected%'")" 1
"$scrubjay" scrub lab --policy none --json --state other >again.json 2>again.err || true
expect "nothing is left to repair" "$(jq -c '.targets[0].repaired' again.json)" '[]'
expect "all sectors are read, the volume's, too" "$(status '.lights[2].colour')" green
"$scrubjay" plan >plan.txt || true
expect "the plan has it" "$(grep -c '^array lab ' plan.txt)" 1

soon grep -q 'resolved: WATCH array lab' program.sh.messages || fail "a pass that finds nothing ends it"

echo "# servers and daemons that are killed"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
watch
soon is_status '(.arrays[] | select(.name == "lab")).is_there' true || fail "the volume is seen again"
expect "what is known of it survives" "$(status '(.arrays[] | select(.name == "lab")).check | .oldest_read != null')" true
kill_server
soon is_status '(.arrays[] | select(.name == "lab")).is_there' false || fail "a volume without a server is not there: $(status .arrays)"
expect "nothing of it is green" "$(status '.lights[1].colour')" red
start
soon is_status '(.arrays[] | select(.name == "lab")).is_there' true || fail "it is there again"
before=$(checks)
soon has_checks $((before + 1)) || fail "it is scrubbed again: $(tail -5 watch.log)"
kill "$daemon"
wait "$daemon" 2>/dev/null || true
expect "the history is whole" "$(history 'PRAGMA integrity_check')" ok
stop || true
[ "$failed" = 0 ] || tail -40 watch.log | sed 's/^/# /'
done_checking
