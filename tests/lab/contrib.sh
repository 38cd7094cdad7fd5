#!/bin/bash
# The files in contrib/, as far as tools can check them: alert rules fire and resolve, and each metric and field in them exists.
# Usage: contrib.sh. Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root,
# promtool, jq, curl, python3, visudo.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs promtool jq curl python3 visudo setpriv
contrib=$(cd "$here/../../contrib" && pwd)
begin
(cd "$contrib/prometheus" && promtool check rules scrubjay.rules.yml && promtool test rules scrubjay.rules.test.yml scrubjay.rules.long.test.yml) >rules.txt 2>&1 \
  || { fail "promtool takes the rules, which fire and are over"; sed 's/^/# /' rules.txt; }
checked=$((checked + 1))
"$scrubjay" simulate watch --disks 8 --seed 3 --trouble 6 --page page.json >/dev/null
"$here/stand-in" page.json "$work/run/page" &
soon test -S run/page
SCRUBJAY_RUN=$work/run "$scrubjay" web --read-only --listen 127.0.0.1:0 2>page.log &
soon grep -qs 'the page is at' page.log
url=$(grep -o 'http://[^;]*' page.log)
curl -fsS "$url/metrics" >metrics.txt
promtool check metrics <metrics.txt || fail "promtool takes the metrics"
# What a model never has: a slowdown of others, checks by an array's own checker, a history that is refused.
given=$( (grep -o '^scrubjay_[a-z_]*' metrics.txt; echo scrubjay_latency_added_seconds; echo scrubjay_array_corrupt_blocks; echo scrubjay_array_corrected_blocks; echo scrubjay_history_trouble) | sort -u)
named=$(cat "$contrib"/prometheus/scrubjay.rules.yml "$contrib"/grafana/scrubjay.json | grep -o 'scrubjay_[a-z_]*' | sort -u)
expect "every metric that is named there is one" "$(comm -13 <(echo "$given") <(echo "$named"))" ""
{ echo "groups: [{name: q, rules: ["; jq -r '.panels[].targets[].expr | "{record: \"q" + (. | length | tostring) + "\", expr: " + (. | @json) + "},"' "$contrib/grafana/scrubjay.json"; echo "]}]"; } >queries.yml
promtool check rules queries.yml >queries.txt 2>&1 || { fail "Prometheus parses the dashboard's queries"; sed 's/^/# /' queries.txt; }
checked=$((checked + 1))
curl -fsS "$url/api/v1/summary" >summary.json
for field in .is_recording .verdict .text .host .disks.ok .disks.replace .arrays.degraded .scrub.oldest_read .alerts .data_age_s .is_fresh; do
  expect "tiles find $field" "$(jq "$field | type != \"null\"" summary.json)" true
done
named=$( (grep -o 'value_json\.[a-z_.]*' "$contrib/home-assistant/scrubjay.yaml" | sed 's/value_json//'; grep -o 'field: [a-z][a-z]*' "$contrib/homepage/services.yaml" | sed 's/field: /./') | sort -u)
for field in $named; do
  expect "the summary has $field" "$(jq "[$field] | length" summary.json)" 1
done
# For monitoring: as a user of the group, and as one of none.
"$here/stand-in" page.json "$work/run/watch" "$work/run/status" &
soon test -S run/status
chmod 711 . run
chmod 600 run/watch
chgrp 4242 run/status
chmod 660 run/status
as() { # GROUP COMMAND...
  local group=$1
  shift
  SCRUBJAY_RUN=$work/run setpriv --reuid=65534 --regid=65534 --groups "$group" -- "$@"
}
mkdir bin
cp "$scrubjay" bin/scrubjay # where anybody may run it
chmod 755 bin bin/scrubjay
said=$(SCRUBJAY_RUN=$work/run "$scrubjay" check) && state=0 || state=$?
word=${said%%:*}
typed=$(sed -n 's/^command\[check_scrubjay\]=//p' "$contrib/monitoring/nrpe.cfg" | sed "s,/usr/bin/scrubjay,$work/bin/scrubjay,")
code=0
as 4242 sh -c "$typed" >nrpe.txt || code=$?
expect "NRPE's command says in one line how things stand, to the group" "$code $(wc -l <nrpe.txt) $(cut -d: -f1 nrpe.txt)" "$state 1 $word"
code=0
as 65534 sh -c "$typed" >nrpe.txt || code=$?
expect "to others that they may not ask, and what to type" "$code $(grep -c 'UNKNOWN: .*usermod -aG scrubjay' nrpe.txt)" "3 1"
code=0
as 65534 bin/scrubjay status >/dev/null 2>others.txt || code=$?
expect "their status is no success" "$code" 4
as 4242 bin/scrubjay status | head -1 >group.txt
expect "that of the group is the watch's" "$(cut -d' ' -f1 group.txt)" "$(jq -r .status.host page.json)"
code=0
as 4242 bin/scrubjay pause 2h 2>/dev/null || code=$?
expect "which may change nothing" "$code" 4
cp "$contrib/monitoring/sudoers" sudoers
chmod 440 sudoers
expect "sudo takes its lines" "$(visudo -cf sudoers 2>&1 | tail -1)" "sudoers: parsed OK"
expect "Checkmk's local check is one line of state, name, figures and words" \
  "$(SCRUBJAY_RUN=$work/run PATH=$work/bin:$PATH "$contrib/monitoring/checkmk-local" | grep -cE "^$state Scrubjay disks_ok=[0-9]+\|unreadable_sectors=[0-9]+(\|[a-z_]+=[0-9.]+)* $word: .+")" 1
expect "which says so when nobody answers" \
  "$(SCRUBJAY_RUN=$work/none PATH=$work/bin:$PATH "$contrib/monitoring/checkmk-local" | grep -cE '^3 Scrubjay - UNKNOWN: ')" 1
# For cron: not beside a rebuild, and else the scrub, for some hours.
mkdir stubs
printf '#!/bin/sh\necho "scrubjay $*"\n' >stubs/scrubjay
printf '#!/bin/sh\necho "pool: ${POOL_STATE:-ONLINE}"\n' >stubs/zpool
chmod 755 stubs/*
cron() { PATH=$work/stubs:$PATH MDSTAT=$work/mdstat "$contrib/cron/scrub-one-disk" /dev/sdx; }
printf 'md0 : active raid1 sda[0] sdb[1]\n      1 blocks [2/2] [UU]\n' >mdstat
expect "cron's script scrubs where all is well" "$(cron)" "scrubjay scrub /dev/sdx --no-progress"
expect "but not beside a resilver" "$(POOL_STATE='resilver in progress' cron)" "a pool of ZFS is degraded or busy: not scrubbed"
printf 'md0 : active raid1 sda[0]\n      1 blocks [2/1] [U_]\n' >mdstat
expect "nor where an array is degraded" "$(cron)" "an array of md is degraded or busy: not scrubbed"
rm mdstat
expect "and where there is no md, it scrubs" "$(cron)" "scrubjay scrub /dev/sdx --no-progress"
done_checking
