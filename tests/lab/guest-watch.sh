#!/bin/bash
# The watch on a Debian kernel: SATA and NVMe drives that answer smartctl; md arrays, one with two members that are bad in the same
# stripe and one without; a member that fails. The calendar is accelerated, for these tests only.
#
#   guest-watch.sh             starts the machine (./guest) and runs itself there
#   guest-watch.sh --inside    the checks
#
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs what ./guest needs, and in this machine's root, which the
# virtual machine shares: jq mdadm smartmontools.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"

if [ "${1:-}" != --inside ]; then
  needs jq mdadm smartctl
  # Members: data begin at sector 2048 (metadata 1.2 of disks of this size), chunks have 64 KiB. Of the first three, two are
  # bad in the same chunk of each; of the other two, at different places.
  exec "$here/guest" -t 900 -d 32M,if=sata -d "32M,if=nvme,bad=20000:20001" \
    -d "32M,if=virtio,bad=30000" -d "32M,if=virtio,bad=30050" -d 32M,if=virtio \
    -d "32M,if=virtio,bad=20000" -d "32M,if=virtio,bad=40000" -M raid456 -M raid1 \
    env SCRUBJAY="$scrubjay" "$0" --inside
fi

work=$(mktemp -d)
cd "$work"
# shellcheck disable=SC2153 # set by ./guest
read -ra disks <<<"$DISKS"
export SCRUBJAY_RUN=$work/run
short() { basename "${disks[$1]}"; }
mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --level=5 --chunk=64 --data-offset=1M --bitmap=none \
  --raid-devices=3 "${disks[@]:2:3}" 2>/dev/null
mdadm --create /dev/md1 --run --assume-clean --metadata=1.2 --level=1 --data-offset=1M --bitmap=none \
  --raid-devices=2 "${disks[@]:5:2}" 2>/dev/null
printf '#!/bin/sh\n{ echo "$SMARTD_SUBJECT"; cat; } >>%s/mails\n' "$work" >hook && chmod 755 hook
printf 'host = "nas1"\n[alert.exec]\nprogram = "%s/hook"\n' "$work" >config.toml
"$scrubjay" watch --config config.toml --state "$work/state" --test-calendar "10000@$(date +%s)" --test-full-speed 2>watch.log &
status() { "$scrubjay" status --json 2>/dev/null | jq -r ".watch | $1" 2>/dev/null || true; }
is_status() { [ "$(status "$1")" = "$2" ]; }
of() { status "[.disks[] | select(.name == \"$(short "$1")\")][0] | $2"; }
open() { status "[.incidents[] | select(.kind == \"$1\") | .headline] | join(\"; \")"; }

soon is_status '[.disks[] | select(.oldest_read != null)] | length' 7 || fail "seven disks are read: $(status .disks)"
expect "a SATA drive that is well is ok" "$(of 0 .health)" ok
expect "an NVMe drive with bad sectors is to be replaced" "$(of 1 '[.health, .unreadable] | @tsv')" "replace	2"
expect "drives without SMART are not ok" "$(of 4 .health)" unknown
expect "arrays are seen" "$(status '[.arrays[] | "\(.name) \(.level) \(.redundancy_left)"] | sort | join(", ")')" "md0 RAID5 1, md1 RAID1 1"
shared() { open stripes | grep -q .; }
soon shared || fail "the stripe that is bad on two members of md0 is spoken of: $(status .incidents)"
expect "of md0 only" "$(open stripes | grep -o 'md[01]' | sort -u)" md0
echo "# $(open stripes)"
mdadm /dev/md1 --fail "${disks[6]}" >/dev/null 2>&1
degraded() { open degraded | grep -q md1; }
soon degraded || fail "an array that lost a member is spoken of: $(status .incidents)"
told() { grep -q 'md1' mails; }
soon told || fail "somebody is told"
code=0
"$scrubjay" scrub-now md0 >now.txt || code=$?
expect "an array's turn is brought forward" "$code" 0
"$scrubjay" accept md1 >accept.txt || code=$?
expect "an array's problem is accepted" "$code" 0
"$scrubjay" explain "$(short 0)" >explain.txt || true
expect "explain agrees" "$(head -1 explain.txt | grep -c ok)" 1
COLUMNS=80 "$scrubjay" status | sed 's/^/# /'
kill %1
wait %1 || true
[ "$failed" = 0 ] || tail -30 watch.log | sed 's/^/# /'
done_checking
