#!/bin/bash
# The files in contrib/, as far as tools can check them: alert rules fire and resolve, and each metric and field in them exists.
# Usage: contrib.sh. Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs promtool, jq, curl, python3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs promtool jq curl python3
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
