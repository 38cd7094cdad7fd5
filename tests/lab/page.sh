#!/bin/bash
# The page in a real Chromium: hosts with 1, 8 and 60 disks at the end of a modelled year, where a stand-in answers in place of a watch;
# a recording, which is marked as one; and a live watch over loop devices, one with bad sectors. Leaves screenshots in target/page/, of
# which readme.png is the README's (docs/page.png).
# Usage: page.sh. Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, chromium, node with npm (which fetches
# playwright-core and axe-core, some 12 MB, into target/page-tools), curl, jq, promtool and what faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount loop jq curl python3 chromium node npm promtool nbdkit nbdfuse
tools=$(cd "$here/../.." && pwd)/target/page-tools
output=$(cd "$here/../.." && pwd)/target/page
mkdir -p "$tools" "$output"
[ -d "$tools/node_modules/axe-core" ] || npm install --no-audit --no-fund --silent --prefix "$tools" playwright-core@1.57.0 axe-core@4.11.0 \
  || skip "npm cannot fetch playwright-core and axe-core"
begin
export FAULTY_DIR=$work/disks SCRUBJAY_RUN=$work/run
end_last() {
  for name in a b; do "$here/faulty-disk" destroy "$name" || true; done
}

# A page of its own, at a port that is free; its address is then in $url.
serve() { # NAME ARGUMENTS...
  local name=$1
  shift
  "$scrubjay" web --listen 127.0.0.1:0 --key "$work/key" "$@" 2>"$name.log" &
  soon grep -qs 'the page is at' "$name.log"
  url=$(grep -o 'http://127.0.0.1:[0-9]*' "$name.log")/
}

echo "# modelled years"
"$scrubjay" simulate watch --disks 1 --seed 3 --trouble 6 --page one.json >/dev/null
"$scrubjay" simulate watch --disks 8 --seed 27 --trouble 6 --page eight.json >/dev/null
"$scrubjay" simulate watch --disks 60 --seed 3 --trouble 2 --page sixty.json >/dev/null
pages=()
for name in one eight sixty; do
  "$here/stand-in" "$name.json" "$work/$name/watch" "$work/$name/page" &
  soon test -S "$name/page"
  SCRUBJAY_RUN=$work/$name serve "$name"
  pages+=("$name=$url")
  curl -fsS "${url}metrics" | promtool check metrics && echo "ok - $name: promtool takes the metrics" || fail "$name: promtool takes the metrics"
  # (Of sixty disks so much is told that the test of the beginning is not among it.)
  curl -fsS "$url" >page.html
  [ "$name" = sixty ] || expect "$name: a test alert is told of" "$(grep -c 'code (not shown)' page.html)" 1
  expect "$name: and no code of one" "$(grep -c 'code [0-9]\{6\}' page.html || true)" 0
  [ $name != eight ] || pages+=("disk=${url}d/$(jq -r '[.status.disks[] | select(.health == "replace")][0].key' eight.json)")
done

serve recorded --recorded eight.json
pages+=("recorded=$url" "recorded-disk=${url}d/$(jq -r '[.status.disks[] | select(.health == "ok")][0].key' eight.json)")
expect "the summary of a recording says so, and calls nothing well" \
  "$(curl -fsS "${url}api/v1/summary" | jq -c '[.is_recording, .is_fresh, .verdict, .disks.ok, ([.lights[] | select(. == "green")] | length)]')" '[true,false,"unknown",0,0]'
expect "and so do its metrics" "$(curl -fsS "${url}metrics" | grep -c '^scrubjay_recording 1$\|^scrubjay_watch_up 0$\|state="ok"} 1$')" 2

echo "# a live watch"
bad=$("$here/faulty-disk" create a 64M bad=40000+8)
good=$("$here/faulty-disk" create b 64M)
others=$(lsblk -dno NAME | grep -v '^loop' | sed 's/.*/"&"/' | paste -sd,)
printf 'host = "nas1"\nalso = ["%s", "%s"]\nnever = [%s]\n' "$bad" "$good" "$others" >config.toml
# What bench disk keeps, of a day before; and a line that a power cut tore.
mkdir -m 700 "$work/state"
id=$("$scrubjay" bench disk "$good" --seconds 0.2 --depth 1 --no-history --json | jq -r .id)
jq -nc --arg id "$id" '{id: $id, model: "", measured: (now - 86400 | floor), iops: 80, mean_seconds: 0.0125}' >"$work/state/bench-results.jsonl"
jq -nc --arg id "$id" '{id: $id, model: "", measured: (now | floor), iops: 40, mean_seconds: 0.025}' >>"$work/state/bench-results.jsonl"
echo '{"id": "torn' >>"$work/state/bench-results.jsonl"
"$scrubjay" watch --config config.toml --state "$work/state" --test-calendar "5000@$(date +%s)" 2>watch.log &
soon test -S run/page
serve live
live=$url
summary() { curl -fsS "${live}api/v1/summary" | jq -c "$1"; }
has_replace() { [ "$(summary .disks.replace 2>/dev/null)" = 1 ]; }
soon has_replace || fail "the page's summary has the bad disk: $(summary .)"
seen=$("$scrubjay" status --json | jq -r .watch.sentence)
expect "page and terminal say the same" "$(curl -fsS "$live" | grep -cF "$(jq -rn --arg text "$seen" '$text | @html')")" 1
curl -fsS "${live}metrics" | promtool check metrics && echo "ok - live: promtool takes the metrics" || fail "live: promtool takes the metrics"
expect "the metrics have its sectors" "$(curl -fsS "${live}metrics" | grep -c '^scrubjay_scrub_unreadable_sectors.* 8$')" 1
"$scrubjay" metrics --textfile scrubjay.prom
expect "the textfile has them, too" "$(grep -c '^scrubjay_scrub_unreadable_sectors.* 8$' scrubjay.prom)" 1
key=$(curl -fsS "${live}metrics" | sed -n 's/.*scrub_unreadable_sectors{disk="\([^"]*\)"} 8$/\1/p')
expect "the disk's page has its surface" "$(curl -fsS -G "${live}d/$(jq -rn --arg key "$key" '$key | @uri')" | grep -c 'class="bad"')" 1
key=$("$scrubjay" status --json | jq -r --arg name "${good#/dev/}" '.watch.disks[] | select(.name == $name).key')
fast=${live}d/$(jq -rn --arg key "$key" '$key | @uri')
curl -fsS "$fast" >fast.html
expect "the other's has what bench disk kept, with its past" "$(grep -o 'it took 12.5 ms at depth 1 before' fast.html | wc -l)" 1
expect "and says that a line of the file makes no sense" "$(grep -o '1 line of it makes no sense' fast.html | wc -l)" 1
link=$("$scrubjay" web --print-link --key "$work/key" --listen "${live:7:-1}" | head -1)
LIVE=$live LIVE_LINK=$link LIVE_DISK=$fast node "$here/page.mjs" "$scrubjay" "$tools" "$output" "${pages[@]}" "live=$live" "bench=$fast" || fail "in the browser"
[ "$failed" = 0 ] || tail -20 watch.log | sed 's/^/# /'
done_checking
