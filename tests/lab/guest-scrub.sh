#!/bin/bash
# A scrub of each kind of disk that a virtual machine can have: it finds exactly the bad sectors.
#
#   guest-scrub.sh             starts the machine (./guest) and runs itself there
#   guest-scrub.sh --inside    the checks
#
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs what ./guest needs, and in this machine's root,
# which the virtual machine shares: jq dmsetup cryptsetup-bin.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
buses=(virtio scsi sata nvme)

if [ "${1:-}" != --inside ]; then
  disks=()
  for bus in "${buses[@]}"; do disks+=(-d "32M,if=$bus,bad=2048:2049:60000"); done
  exec "$here/guest" "${disks[@]}" -d 16M -d "32M,if=scsi,bad=2048:2049:60000" -M 'scsi_debug dev_size_mb=8' -M dm_integrity -M 'sd_mod' \
    env SCRUBJAY="$scrubjay" "$0" --inside
fi

work=$(mktemp -d)
# shellcheck disable=SC2153 # set by ./guest
read -ra disks <<<"$DISKS"
bad='[[2048,2],[60000,1]]'

for n in "${!buses[@]}"; do
  bus=${buses[n]}
  scrub "$bus" "${disks[n]}" --policy none
  expect "$bus: exit code" "$status" 3
  expect "$bus: exactly the bad sectors" "$(unreadable)" "$bad"
  expect "$bus: the rest is verified" "$(field bytes_verified)" $(((32 << 20) - 3 * 512))
  echo "# $bus: cause: $(jq -c '[.targets[0].unreadable[].cause] | unique' "$work/$bus.json" 2>&1 || true)"
done

scrub nvme-verify "${disks[3]}" --policy none --verify nvme
expect "NVMe Verify: exit code" "$status" 3
expect "NVMe Verify: exactly the bad sectors" "$(unreadable)" "$bad"

# ---- SCSI VERIFY: scsi_debug says GOOD by itself, and what its error injection is told to say

scsi=$(basename "$(echo /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*/target*/*/block/*)")
address=$(basename "$(readlink -f "/sys/block/$scsi/device")")
scrub scsi-verify "/dev/$scsi" --policy none --verify scsi
expect "SCSI VERIFY, good disk: exit code" "$status" 0
expect "SCSI VERIFY, good disk: all is verified" "$(field bytes_verified)" $((8 << 20))

inject=/sys/kernel/debug/scsi_debug/$address/error
if [ -e "$inject" ]; then
  # type 2: the command ends so; for the next 30; opcode; host, driver and status byte; sense: key 3, 11/00
  for opcode in 0x2f 0x8f; do echo "2 -30 $opcode 0x0 0x0 0x2 0x3 0x11 0x0" >"$inject"; done
  scrub scsi-injected "/dev/$scsi" --policy none --verify scsi
  expect "SCSI VERIFY, injected error: exit code" "$status" 3
  expect "SCSI VERIFY, injected error: sense data is told" \
    "$(jq -r '[.targets[0].unreadable[].cause] | unique | join(" ")' "$work/scsi-injected.json" 2>&1 || true)" "MEDIUM ERROR 11/00"
else
  echo "# no error injection in this kernel's scsi_debug (it came with 6.7)"
fi

# ---- dm-integrity: two sectors are changed below it; their reads then fail with EILSEQ

below=${disks[4]}
options=(--integrity crc32c --integrity-no-journal)
mark() { printf 'scrubjay lab %-499s' "$1"; } # one sector, not to be found elsewhere
integritysetup format -q --sector-size 512 --integrity crc32c "$below"
integritysetup open "${options[@]}" "$below" lab
for sector in 5000 9001; do mark $sector | dd of=/dev/mapper/lab bs=512 seek=$sector oflag=direct status=none; done
integritysetup close lab
for sector in 5000 9001; do
  at=$(grep -abo "scrubjay lab $sector" "$below" | tail -1 | cut -d: -f1)
  mark changed | dd of="$below" bs=512 seek=$((at / 512)) conv=notrunc oflag=direct status=none
done
integritysetup open "${options[@]}" "$below" lab
scrub integrity /dev/mapper/lab --policy none
expect "dm-integrity: exit code" "$status" 3
expect "dm-integrity: exactly the changed sectors" "$(unreadable)" '[[5000,1],[9001,1]]'
echo "# dm-integrity: cause: $(jq -c '[.targets[0].unreadable[].cause] | unique' "$work/integrity.json" 2>&1 || true)"

# ---- a disk that goes in the middle, and another one that is given its name

is_gone() { [ ! -e "/sys/block/${1#/dev/}" ]; }
# The kernel gives the first free name: the later of the two will get the earlier one's.
read -r first second < <(printf '%s\n' "${disks[1]}" "${disks[5]}" | sort | xargs)
IFS=: read -r host channel target lun < <(basename "$(readlink -f "/sys/block/${second#/dev/}/device")")
"$scrubjay" scrub "$first" --policy delay --delay 2s --request 512KiB --state "$work/swapped" >"$work/gone.out" 2>&1 &
soon is_saved swapped 1 || fail "the scrub that is to lose its disk saved nothing"
echo 1 >"/sys/block/${first#/dev/}/device/delete"
status=0
wait $! || status=$?
expect "disk gone: exit code" "$status" 1
expect "disk gone: it says so, and blames no sector for it" "$(grep -c 'NOT DONE: the device is gone' "$work/gone.out")" 1
echo 1 >"/sys/block/${second#/dev/}/device/delete"
soon is_gone "$first" && soon is_gone "$second"
echo "$channel $target $lun" >"/sys/class/scsi_host/host$host/scan"
soon test -b "$first" || fail "no disk came back as $first"
scrub swapped "$first" --policy none
expect "another disk of that name: the pass begins anew" "$(field resumed)" false
expect "another disk of that name: exactly the bad sectors" "$(unreadable)" "$bad"

done_checking
