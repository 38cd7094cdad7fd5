# The machine of the README's picture at the end of a modelled year: a stand-in answers in place of a watch.
# shellcheck shell=bash disable=SC2154,SC2034
scrubjay simulate watch --disks 8 --seed 27 --trouble 6 --page "$work/eight.json" >/dev/null
"$lab/stand-in" "$work/eight.json" /run/scrubjay/watch /run/scrubjay/page &
until_ready test -S /run/scrubjay/watch
WEB="--key $work/key"
