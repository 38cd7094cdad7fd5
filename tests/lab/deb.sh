#!/bin/bash
# The Debian package in a clean Debian: installed, upgraded, removed and purged in a folder of its own; then as a service of a
# virtual machine with systemd as its init.
#
#   deb.sh [PACKAGE]           PACKAGE: by default the newest in target/debian (`cargo xtask deb` makes it)
#   deb.sh --inside            the checks in the machine
#
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, mmdebstrap, Debian's archive for the first run (the
# clean Debian is kept in ${XDG_CACHE_HOME:-~/.cache}/scrubjay-deb), and what ./guest needs; uses lintian if it is installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
root='' # the clean Debian

inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
holds() { # NAME COMMAND...
  local name=$1 said
  shift
  checked=$((checked + 1))
  if said=$("$@" 2>&1); then echo "ok     $name"; else fail "$name: $said"; fi
}
fails() { ! "$@"; }

# ---- in the machine: PID 1 is systemd, the package is installed, nothing is enabled

if [ "${1:-}" = --inside ]; then
  status_is() { systemctl show -P "$1" "$2"; }
  json() { scrubjay status --json 2>/dev/null | jq -c "$1"; }
  is_json() { [ "$(json "$1")" = true ]; }
  log() { journalctl --no-pager -o cat -u scrubjay; }
  capabilities() { # PID: how many capabilities it may ever have
    local bits=$((0x$(awk '/^CapBnd:/ {print $2}' "/proc/$1/status"))) count=0
    for (( ; bits; bits >>= 1)); do count=$((count + (bits & 1))); done
    echo $count
  }
  # In the cgroup of the service, whose rules for devices are then this command's.
  pgrep_watch() { grep -lqs '^scrubjay$' /proc/[0-9]*/comm; }
  as_service() { (echo "$BASHPID" >/sys/fs/cgroup/system.slice/scrubjay.service/cgroup.procs && exec "$@"); }
  is_another() { [ "$(status_is MainPID scrubjay)" != "$1" ] && [ "$(status_is ActiveState scrubjay)" = active ]; }
  read -ra disks <<<"$DISKS"

  expect "installed, it is not enabled" "$(systemctl is-enabled scrubjay || true)" disabled
  expect "nor is the daily check" "$(systemctl is-enabled scrubjay-check.timer || true)" disabled
  holds "systemctl enable --now" systemctl enable --now scrubjay
  expect "it runs" "$(systemctl is-active scrubjay)" active
  systemctl --no-pager -n 0 status scrubjay | sed 's/^/# /'
  first=$(status_is MainPID scrubjay)
  holds "it may begin checks of md arrays, and write nowhere else in /sys" \
    nsenter -t "$first" -m sh -c 'test -w /sys/devices/virtual/block && ! test -w /sys/kernel && ! test -w /sys/devices/system'
  expect "with a filter of system calls" "$(awk '/^Seccomp:/ {print $2}' "/proc/$first/status")" 2
  expect "and 8 capabilities" "$(capabilities "$first")" 8
  expect "its folders are root's: what it keeps is for nobody else, and of its sockets one is for the page" \
    "$(stat -c '%a %U' /run/scrubjay /var/lib/scrubjay | tr '\n' ' ')" "711 root 700 root "
  expect "that one is for the page's group" "$(stat -c '%a %U %G' /run/scrubjay/page)" "660 root scrubjay-page"
  expect "another is for monitoring's" "$(stat -c '%a %U %G' /run/scrubjay/status)" "660 root scrubjay"
  useradd --create-home mon
  as_mon() { runuser -u mon -- scrubjay "$@" >mon.txt 2>&1; }
  as_mon check && verdict=0 || verdict=$?
  expect "who is not in its group is told what to type" "$verdict $(grep -c 'usermod -aG scrubjay' mon.txt)" "3 1"
  usermod -aG scrubjay mon
  as_mon check && verdict=0 || verdict=$?
  expect "who is in it learns how things stand" "$verdict $(cut -d: -f1 mon.txt)" "1 WARNING"
  holds "and may change nothing" fails as_mon pause 2h
  expect "the page is not enabled either" "$(systemctl is-enabled scrubjay-web || true)" disabled
  holds "systemctl enable --now scrubjay-web" systemctl enable --now scrubjay-web
  page() { # PATH
    exec 3<>/dev/tcp/127.0.0.1/8600 && printf 'GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n' "$1" >&3 && cat <&3
  }
  has_page() { page /metrics 2>/dev/null | grep -q '^scrubjay_watch_up 1'; }
  holds "the page asks the watch, as another user" soon has_page
  web=$(status_is MainPID scrubjay-web)
  holds "a user of its own" fails test "$(stat -c %U "/proc/$web")" = root
  expect "and no capability" "$(capabilities "$web")" 0
  in_page() { nsenter -t "$web" -m -S "$(stat -c %u "/proc/$web")" -G "$(stat -c %g "/proc/$web")" "$@"; }
  holds "it sees no disk" fails in_page test -e "${disks[0]}"
  holds "it opens no state of the watch" fails in_page cat /var/lib/scrubjay/history.db
  holds "nor its settings" fails in_page cat /etc/scrubjay/config.toml
  holds "a link for its owner is printed" scrubjay web --print-link
  holds "the disks are seen: virtio, SCSI, SATA, NVMe and scsi_debug" soon is_json '.watch.disks | length == 5'
  holds "smartctl is answered by SATA and NVMe drives" soon is_json '[.watch.disks[] | select(.health == "ok") | .name[0:2]] | sort == ["nv", "sd"]'
  lacks=$(scrubjay doctor --json | jq -c '[.looks[] | select(.state == "missing") | .what]' || true)
  expect "doctor misses only a way for alerts" "$lacks" '["alerts"]'
  holds "a process of the service may read a disk" as_service dd "if=${disks[0]}" of=/dev/null count=1 status=none
  holds "but not write to it" fails as_service dd if=/dev/zero "of=${disks[0]}" count=1 status=none
  holds "nor open devices of other kinds" fails as_service dd if=/dev/sg0 of=/dev/null count=0 status=none

  # What the unit forbids, and what each drop-in allows. (No ZFS here: another device's number stands for /dev/zfs.)
  read -r major minor <<<"$(stat -c '%Hr %Lr' /dev/sg0)"
  mknod /dev/zfs c "$major" "$minor"
  mkdir -p /mnt/pool
  may_write() { nsenter -t "$(status_is MainPID scrubjay)" -m test -w "$1"; }
  opens() { as_service dd "if=$1" of=/dev/null count=0 status=none; }
  drop_in() { # NAME
    rm -rf /etc/systemd/system/scrubjay.service.d
    install -D -m 644 "/usr/share/doc/scrubjay/contrib/systemd/$1.conf" "/etc/systemd/system/scrubjay.service.d/$1.conf"
    systemctl daemon-reload && systemctl restart scrubjay
  }
  holds "without a drop-in no device of ZFS is opened" fails opens /dev/zfs
  holds "and nothing is written to a mounted file system" fails may_write /mnt/pool
  holds "zfs.conf" drop_in zfs
  holds "zfs.conf lets it open /dev/zfs" opens /dev/zfs
  holds "and no disk for writing" fails as_service dd if=/dev/zero "of=${disks[0]}" count=1 status=none
  rm /dev/zfs
  holds "without a drop-in the kernel's log is not read" fails opens /dev/kmsg
  holds "kernel-log.conf" drop_in kernel-log
  holds "kernel-log.conf lets it read the kernel's log" opens /dev/kmsg
  holds "controllers.conf" drop_in controllers
  holds "controllers.conf lets programs open generic SCSI devices" opens /dev/sg0
  holds "btrfs-repair.conf" drop_in btrfs-repair
  holds "btrfs-repair.conf lets it write there" may_write /mnt/pool
  holds "and not elsewhere" fails may_write /srv
  rm -rf /etc/systemd/system/scrubjay.service.d
  systemctl daemon-reload && systemctl restart scrubjay
  first=$(status_is MainPID scrubjay)

  systemctl start scrubjay-check && verdict=0 || verdict=$?
  # WARNING where not all is known yet, CRITICAL once the pass has found the bad sector.
  scrubjay check >/dev/null && wanted=0 || wanted=$?
  expect "the daily check fails, as scrubjay check does" "$verdict $(status_is ExecMainStatus scrubjay-check)" "1 $wanted"
  holds "which is not content" fails test "$wanted" = 0
  echo "# $(journalctl --no-pager -o cat -u scrubjay-check | grep ' | ')"
  holds "systemctl enable --now scrubjay-check.timer" systemctl enable --now scrubjay-check.timer

  # Settings that are no good are refused, and the old ones stay; good ones are taken.
  echo 'hots = "nas"' >>/etc/scrubjay/config.toml
  systemctl reload scrubjay
  holds "a reload says what is wrong with the settings" soon sh -c 'journalctl -u scrubjay | grep -q hots'
  expect "and it runs on" "$(status_is MainPID scrubjay)" "$first"
  sed -i 's/^hots/host/' /etc/scrubjay/config.toml
  systemctl reload scrubjay
  holds "after another reload it has the new ones" soon is_json '.watch.host == "nas"'

  # Mail by the system's sendmail: exim, which delivers by itself, in the sandbox.
  useradd --create-home bob
  printf '[alert.email]\nto = ["bob@localhost"]\nfrom = "root@localhost"\n' >>/etc/scrubjay/config.toml
  systemctl reload scrubjay
  holds "a test message is accepted" soon scrubjay alert test
  holds "and exim delivers it" soon grep -q 'scrubjay alert confirm' /var/mail/bob

  # kill -9; then days by a fast calendar, until the watch has found what is to be found. (Not until it has read all: by that calendar
  # drives are asked every few seconds, and the disks are never idle for long.)
  kill -9 "$first"
  holds "killed, it is started anew" soon is_another "$first"
  expect "once" "$(status_is NRestarts scrubjay)" 1
  mkdir /run/systemd/system/scrubjay.service.d
  printf '[Service]\nExecStart=\nExecStart=/usr/bin/scrubjay watch --test-calendar 3000@%s\n' "$(date +%s)" \
    >/run/systemd/system/scrubjay.service.d/calendar.conf
  systemctl daemon-reload
  systemctl restart scrubjay
  holds "a bad sector is found" soon is_json '[.watch.disks[].unreadable] | add >= 1'
  scrubjay status | sed 's/^/# /' || true
  rm -r /run/systemd/system/scrubjay.service.d
  systemctl daemon-reload

  # Others keep their claims in its folder.
  touch /run/scrubjay/claims/of-another
  systemctl restart scrubjay
  running=$(status_is MainPID scrubjay)
  holds "an upgrade" apt-get -q -y -o Dpkg::Use-Pty=0 install /lab/next.deb
  holds "starts it anew" soon is_another "$running"
  expect "and leaves it enabled" "$(systemctl is-enabled scrubjay)" enabled
  begun=$(date +%s%N)
  systemctl stop scrubjay
  echo "# to stop took $((($(date +%s%N) - begun) / 1000000)) ms"
  expect "stopped, it ended well" "$(status_is Result scrubjay)" success
  holds "what others have in its folder is still there" test -e /run/scrubjay/claims/of-another
  systemctl start scrubjay
  here=/lab XTASK=/lab/xtask SCRUBJAY=/usr/bin/scrubjay scrubjay=/usr/bin/scrubjay types debian
  holds "a purge" apt-get -q -y -o Dpkg::Use-Pty=0 purge scrubjay
  holds "ends it" fails pgrep_watch
  expect "and nothing is left" "$(ls -d /etc/scrubjay /var/lib/scrubjay /run/scrubjay /etc/systemd/system/*/scrubjay* 2>/dev/null || true)" ""
  if [ $failed != 0 ]; then log | tail -40; fi
  done_checking
  exit
fi

# ---- here: what dpkg and apt do, in a folder

needs root mount mmdebstrap dpkg-deb
package=${1:-$(find "$here/../../target/debian" -name 'scrubjay_*.deb' -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -1 | cut -d' ' -f2-)}
[ -f "$package" ] || skip "no package: cargo xtask deb"
package=$(realpath "$package")
lab=${package/scrubjay_/scrubjay-lab_}
[ -f "$lab" ] || skip "no $lab beside it: cargo xtask deb"
base=$(clean_debian systemd,systemd-sysv,udev,dbus,kmod,man-db,smartmontools,jq,exim4-daemon-light)
scrubjay=
begin
root=$work/root
mkdir "$root"
tar -C "$root" -xf "$base"
# Somewhere apt may read it, and no file of the package.
mkdir "$root/lab"
cp "$package" "$root/lab/new.deb"
cp "$lab" "$root/lab/lab.deb"
apt() { inside apt-get -q -y -o Dpkg::Use-Pty=0 "$@"; }
# All files, without the books of dpkg, apt, systemd and man, and logs.
files() {
  (cd "$root" && find . -xdev -not -path './lab*' -not -path './var/lib/dpkg/*' -not -path './var/log/*' -not -path './var/cache/*' \
    -not -path './var/lib/apt/*' -not -path './run/systemd*' | sort)
}
files >before

apt install /lab/new.deb >installed.txt 2>&1 || true
holds "apt installs it" inside dpkg-query -W scrubjay
expect "it says what to do next" "$(grep -c '^  sudo scrubjay doctor\|^  sudo systemctl enable\|^  sudo scrubjay setup' installed.txt)" 3
dead_links() {
  local document target
  find "$root/usr/share/doc/scrubjay" -name '*.md' | while read -r document; do
    grep -o '](\([^)#]*\)' "$document" | sed 's/^](//' | grep -v '://\|^$' | while read -r target; do
      [ -e "$(dirname "$document")/$target" ] || [ -e "$(dirname "$document")/$target.gz" ] || echo "${document#"$root"}: $target"
    done
  done
}
expect "no link of its documents is dead" "$(dead_links | sort -u | paste -sd' ')" ""
expect "it is of its version" "$(inside scrubjay --version | cut -d" " -f1-2)" "scrubjay $(dpkg-deb -f "$package" Version | cut -d- -f1)"
holds "apt has no complaint" inside apt-get check
expect "it recommends smartmontools" "$(dpkg-deb -f "$package" Recommends)" smartmontools
holds "man scrubjay" inside man -w scrubjay scrubjay-watch scrubjay-volume-serve
for file in bash-completion/completions/scrubjay zsh/vendor-completions/_scrubjay fish/vendor_completions.d/scrubjay.fish; do
  holds "completions: $file" test -s "$root/usr/share/$file"
done
holds "bash takes the completions" bash -n "$root/usr/share/bash-completion/completions/scrubjay"
inside scrubjay watch --print-config >printed
holds "the settings are what --print-config prints" cmp printed "$root/etc/scrubjay/config.toml"
expect "every key in them is commented" "$(grep -cv '^#\|^$' printed || true)" 0
expect "they are a conffile, the only one" "$(inside dpkg-query -W -f '${Conffiles}' scrubjay | awk '{print $1}' | xargs)" /etc/scrubjay/config.toml
expect "nothing is enabled" "$(find "$root/etc/systemd" -name 'scrubjay*')" ""
said=$(inside systemd-analyze verify scrubjay.service scrubjay-check.service scrubjay-check.timer 2>&1 || true)
expect "systemd-analyze verify is silent" "$said" ""
holds "systemd-analyze security: at most 4.1" inside systemd-analyze security --offline=true --threshold=41 scrubjay.service
holds "and the check's at most 1.5" inside systemd-analyze security --offline=true --threshold=15 scrubjay-check.service
# What a folder without devices and without systemd lacks; nothing else is to be missing.
inside scrubjay doctor --json >doctor.json || true
lacks=$(jq -c '[.looks[] | select(.state == "missing") | .what] | unique - ["disks", "watch", "detection"]' doctor.json)
expect "doctor misses nothing but what a folder lacks" "$lacks" '[]'

# The researcher's program, absent and installed.
expect "without scrubjay-lab one line says which package has its verbs" \
  "$(inside scrubjay tune x.csv 2>&1 | grep -c 'install the package scrubjay-lab'; inside scrubjay tune x.csv >/dev/null 2>&1 || echo $?)" $'1\n2'
holds "apt installs it" apt install /lab/lab.deb
holds "scrubjay starts it" inside scrubjay trace generate --list
expect "its help is scrubjay's" "$(inside scrubjay help tune | grep -c '^Usage: scrubjay tune ')" 1
holds "man scrubjay-tune" inside man -w scrubjay-lab scrubjay-tune scrubjay-trace-capture scrubjay-simulate-watch
holds "apt purges it" apt purge scrubjay-lab

# An upgrade: the next revision of the same.
dpkg-deb -R "$package" next
sed -i 's/^Version: .*/&.1/' next/DEBIAN/control
dpkg-deb -Zgzip -z1 --root-owner-group -b next "$root/lab/next.deb" >/dev/null
printf 'host = "nas"\n' >>"$root/etc/scrubjay/config.toml"
mkdir -p "$root/var/lib/scrubjay" "$root/run/scrubjay/claims"
touch "$root/var/lib/scrubjay/history.db"
holds "apt upgrades it" apt install /lab/next.deb
expect "it is the next one" "$(inside dpkg-query -W -f '${Version}' scrubjay)" "$(dpkg-deb -f "$package" Version).1"
expect "changed settings stay" "$(tail -1 "$root/etc/scrubjay/config.toml")" 'host = "nas"'
holds "what was kept stays" test -e "$root/var/lib/scrubjay/history.db"

holds "apt removes it" apt remove scrubjay
holds "the program is gone" fails test -e "$root/usr/bin/scrubjay"
holds "what was kept stays" test -e "$root/var/lib/scrubjay/history.db"
holds "settings stay" test -e "$root/etc/scrubjay/config.toml"
holds "apt purges it" apt purge scrubjay
files >after
expect "nothing is left" "$(diff before after || true)" ""

if command -v lintian >/dev/null; then
  # There is no mail address of the project, and nobody wished for the package in Debian.
  nobody=bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs
  said=$(lintian --allow-root --fail-on error --suppress-tags "$nobody" "$package" 2>&1) && verdict=0 || verdict=$?
  echo "$said" | sed 's/^/# /'
  expect "lintian finds no error" "$verdict" 0
else
  echo "# no lintian here: not asked"
fi

# ---- the machine

apt install /lab/new.deb /lab/lab.deb >/dev/null
cp "$here/deb.sh" "$here/check.sh" "$root/lab/"
cp "$root/lab/next.deb" "$root/lab/upgrade.deb"
# What types documents' commands in the machine, where it looks for them.
repository=$(cd "$here/../.." && pwd)
mkdir -p "$root$repository/tests"
cp -r "$repository/README.md" "$repository/docs" "$root$repository/"
cp -r "$repository/tests/typed" "$root$repository/tests/"
cp "${XTASK:-$repository/target/debug/xtask}" "$root/lab/xtask"
inside systemctl -q mask exim4 # its sendmail needs no server
machine=0
"$here/guest" -t 600 -R "$root" -d 64M,bad=2048 -d 64M,if=scsi,bad=2048 -d 64M,if=sata -d 64M,if=nvme,bad=2048 -M 'scsi_debug dev_size_mb=8' \
  /lab/deb.sh --inside || machine=$?
case $machine in
77) echo "# no machine can be started here: the service was not tried" ;;
*) expect "the service in the machine" "$machine" 0 ;;
esac
done_checking
