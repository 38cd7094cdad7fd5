# An array of md, a RAID-6 of four disks; NEW is a fifth. In the virtual machine of tests/lab/guest-md.sh, whose disks DISKS names.
# shellcheck shell=bash disable=SC2154,SC2034
read -ra disks <<<"$DISKS"
OLD=$(basename "${disks[0]}") NEW=$(basename "${disks[4]}") A=$(basename "${disks[0]}")
# All as it was made: md0 whole, NEW no member.
whole() {
  mdadm --stop --scan >/dev/null 2>&1
  until_ready test ! -e /sys/block/md0/md/array_state
  mdadm --zero-superblock "${disks[@]:0:5}" >/dev/null 2>&1
  mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --data-offset=1M --bitmap=none --level=6 --raid-devices=4 "${disks[@]:0:4}" \
    >/dev/null 2>&1
  until_ready grep -q idle /sys/block/md0/md/sync_action
}
short_of_one() {
  whole
  mdadm /dev/md0 --fail "/dev/$OLD" --remove "/dev/$OLD" >/dev/null 2>&1
}
with_spare() {
  whole
  mdadm /dev/md0 --add "/dev/$NEW" >/dev/null 2>&1
}
# After a copy of OLD to NEW: OLD is not there.
unplugged() { mdadm --zero-superblock "/dev/$OLD"; }
# A drive that says what it counts.
smartctl() { echo '197 Current_Pending_Sector 0x0012 100 100 000 Old_age Always - 6'; }
# Types an answer at a terminal.
at_terminal() { # ANSWER COMMAND...
  local answer=$1
  shift
  printf '%s\n' "$answer" | script -qec "$*" /dev/null
}
mountpoint -q /dev/pts || { mkdir -p /dev/pts && mount -t devpts devpts /dev/pts; }
whole
clear() { mdadm --stop --scan >/dev/null 2>&1; }
