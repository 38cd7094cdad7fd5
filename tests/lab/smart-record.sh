#!/bin/bash
# Records the output of smartctl for emulated drives: the source of crates/daemon/tests/fixtures/recorded and altered.
#
#   smart-record.sh OUT        starts a guest; writes OUT/recorded/NAME.json, OUT/altered/NAME.json and OUT/exit-status.txt
#
# recorded: the answers of the emulated drive. altered: smart-answers.c changed the drive's answers before smartctl read them.
# Needs: what `guest` needs, smartmontools >= 7.0, gcc
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [ "${1:-}" = --inside ]; then
  read -r sata nvme virtio scsi <<<"$DISKS"
  for tries in {1..50}; do debug=$(grep -l scsi_debug /sys/block/sd*/device/model) && break; sleep 0.1; done
  debug=/dev/$(cut -d/ -f4 <<<"$debug")
  record() { # NAME COMMAND...: what it prints, and its exit status
    local name=$1 status=0
    shift
    "$@" >/tmp/said 2>&1 || status=$?
    echo "--- $name $status"
    base64 -w0 /tmp/said
    echo
  }
  read_smart() { smartctl --json -a -n standby "$@"; }
  changed() { SMART_ANSWERS=$1 LD_PRELOAD=$library read_smart "$2"; }
  library=$2
  record recorded/sata.json read_smart "$sata"
  record recorded/nvme.json read_smart "$nvme"
  record recorded/scsi-debug.json read_smart "$debug"
  record recorded/scsi-hd.json read_smart "$scsi"
  record recorded/virtio.json read_smart "$virtio"
  record recorded/no-permission.json setpriv --reuid=65534 --regid=65534 --clear-groups smartctl --json -a -n standby "$sata"
  # The group that may read disks may not send commands to them.
  group() { chgrp disk "$1" && chmod 660 "$1" && setpriv --reuid=65534 --regid=65534 --groups=disk smartctl --json -a -n standby "$1"; }
  record recorded/disk-group-sata.json group "$sata"
  record recorded/disk-group-nvme.json group "$nvme"
  record recorded/absent.json read_smart /dev/sdzz
  record recorded/unknown-option.txt smartctl --jsonx -a "$sata"
  record recorded/sat-on-scsi.json smartctl --json -a -n standby -d sat "$scsi"
  for what in standby packed pending failing self-test testing; do record "altered/$what.json" changed "$what" "$sata"; done
  for what in nvme-failing nvme-worn; do record "altered/$what.json" changed "$what" "$nvme"; done
  smartctl -t short "$sata" >/tmp/said 2>&1 || true
  sleep 3
  record recorded/self-test-passed.json read_smart "$sata"
  exit
fi

out=${1:?where to}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O1 -shared -fPIC -o "$work/smart-answers.so" "$here/smart-answers.c" -ldl
mkdir -p "$out/recorded" "$out/altered"
"$here/guest" -t 1200 -d 64M,if=sata -d 64M,if=nvme -d 64M -d 64M,if=scsi -M "-a scsi_debug sg" \
  bash "$here/smart-record.sh" --inside "$work/smart-answers.so" |
  while read -r _ name status && read -r said; do
    base64 -d <<<"$said" >"$out/$name"
    echo "$name $status"
  done >"$out/exit-status.txt"
