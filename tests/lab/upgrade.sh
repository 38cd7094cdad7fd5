#!/bin/bash
# An upgrade from an older package with a year's state, the way back, and the upgrade again, on a clean Debian under systemd in a virtual machine.
#
#   upgrade.sh OLD.deb [NEW.deb]   NEW.deb: by default that of target/dist. FIXTURE=FILE keeps the year's history there, as SQL
#   upgrade.sh --inside            the checks in the machine
#
# The year is one of the older program itself, by a calendar that runs fast (two and a half minutes): three disks, of which one has bad sectors and one is
# taken away in summer; alerts that are sent and proven. OLD.deb: `cargo xtask deb` in a checkout of the older commit.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, mmdebstrap, Debian's archive, sqlite3, jq, what ./guest and ./faulty-disk need.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
year=$((365 * 86400))

# ---- in the machine: PID 1 is systemd, the older package is installed, and has a year's state

if [ "${1:-}" = --inside ]; then
  date -s "@$(cat /lab/ended)" >/dev/null # the year is over
  state=/var/lib/scrubjay/history.db
  is_active() { [ "$(systemctl show -P ActiveState scrubjay)" = active ]; }
  json() { scrubjay status --json | jq -c "$1"; }
  answers() { scrubjay status --json 2>/dev/null | jq -e '.watch.disks | length > 0' >/dev/null; }
  version() { sqlite3 -readonly "$state" 'PRAGMA user_version'; }
  told() { grep -c "$1" /run/told 2>/dev/null || true; }
  log() { journalctl --no-pager -o cat -u scrubjay; }
  installs() { # DEB: keeping the settings as they are
    apt-get -q -y --allow-downgrades -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold install "$1" >>/lab/apt.txt 2>&1
  }
  # What happened before the upgrade, by the verbs: without what the older one adds while it still runs.
  events() { scrubjay history --limit 100000 --json | jq -cS '.events[] | select(.time <= '"$(cat /lab/ended)"')'; }

  systemctl enable --now scrubjay >/dev/null 2>&1
  soon answers || true
  expect "the older program runs with its year" "$(is_active && version)" 1
  events >before.txt
  expect "a year has happened" "$([ "$(wc -l <before.txt)" -gt 100 ] && echo so)" so
  proven=$(json '[.watch.channels[] | [.name, .proven]]')
  expect "its channel is proven" "$(jq -c '[.[][1] > 0]' <<<"$proven")" '[true]'
  told_before=$(told .)

  holds() { checked=$((checked + 1)); if "${@:2}"; then echo "ok     $1"; else fail "$1"; fi; }
  holds "the upgrade is installed" installs /lab/new.deb
  soon answers || true
  expect "the newer program runs" "$(is_active && scrubjay --version)" "$(cat /lab/new.version)"
  expect "its tables are of its version" "$(version)" 4
  holds "it says so, and where the copy is" grep -q 'tables are version 4 .*history.db.version-1' <(log)
  events >after.txt
  holds "all that happened is still there" cmp before.txt after.txt
  expect "no history is called lost" "$(json '[.watch.incidents[] | select(.kind == "history")]')" '[]'
  expect "its channel is as proven as before" "$(json '[.watch.channels[] | [.name, .proven]]')" "$proven"
  expect "the upgrade alone alerts nobody" "$(($(told .) - told_before))" 0
  holds "what people set stays" grep -q 'host = "year"' /etc/scrubjay/config.toml

  # The way back without the copy: refused, by one clear line, and nothing is changed.
  holds "the older package is installed over it" installs /lab/old.deb
  refused() { log | grep -q 'history.db is of a newer Scrubjay (its tables are version 4, known is 1): install that one'; }
  holds "it refuses the newer history, in one line" soon refused
  expect "and leaves it as it is" "$(version)" 4
  # As docs/install.md says.
  here=/lab XTASK=/lab/xtask SCRUBJAY=/usr/bin/scrubjay scrubjay=/usr/bin/scrubjay types downgrade
  systemctl reset-failed scrubjay || true
  systemctl restart scrubjay
  soon answers || true
  expect "with the copy, it runs" "$(is_active && version)" 1
  events >back.txt
  holds "and all that happened until the upgrade is there" cmp before.txt back.txt

  holds "the upgrade again" installs /lab/new.deb
  soon answers || true
  expect "runs" "$(is_active && version)" 4
  events >again.txt
  holds "with all that happened" cmp before.txt again.txt
  expect "and says that its history was exchanged" "$(json '[.watch.incidents[] | select(.kind == "history")] | length')" 1
  if [ $failed != 0 ]; then log | tail -40; tail -20 /lab/apt.txt; scrubjay status; cat /run/told; diff before.txt after.txt | head; fi
  done_checking
  exit
fi

# ---- here: the year

needs root fuse mount loop mmdebstrap dpkg-deb sqlite3 jq
old=$(realpath "${1:?which older package?}")
new=$(realpath "${2:-$(find "$here/../../target/dist" -name 'scrubjay_*_amd64.deb' 2>/dev/null | tail -1)}")
[ -f "$new" ] || skip "no package in target/dist: cargo xtask dist --only deb"
base=$(clean_debian systemd,systemd-sysv,udev,dbus,kmod,smartmontools,jq,sqlite3,diffutils)
scrubjay=
begin
export FAULTY_DIR=$work/disks
root=$work/root
end_last() {
  umount -l "$root/dev" "$root/proc" "$root/sys" 2>/dev/null || true
  for name in a b c; do "$here/faulty-disk" destroy "$name" || true; done
}
mkdir "$root"
tar -C "$root" -xf "$base" --exclude='./dev/*'
mkdir "$root/lab"
# Of an older revision, whatever its changelog says.
dpkg-deb -R "$old" older
sed -i 's/^Version: .*/&~old/' older/DEBIAN/control
dpkg-deb -Zgzip -z1 --root-owner-group -b older "$root/lab/old.deb" >/dev/null
cp "$new" "$root/lab/new.deb"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
inside apt-get -q -y -o Dpkg::Use-Pty=0 install /lab/old.deb >install.txt 2>&1 || { cat install.txt; exit 1; }
# A program that notes what it is told.
printf '#!/bin/sh\ncat >>/run/told; echo >>/run/told\n' >"$root/usr/local/bin/tell"
chmod 755 "$root/usr/local/bin/tell"
disks=()
for disk in "a 64M bad=40000+8" "b 64M" "c 64M"; do
  # shellcheck disable=SC2086 # words
  disks+=("$("$here/faulty-disk" create $disk)")
done
others=$(lsblk -dno NAME | grep -v '^loop' | sed 's/.*/"&"/' | paste -sd,)
also=$(printf '"%s",' "${disks[@]}")
printf 'host = "year"\nnever = [%s]\nalso = [%s]\n[alert.exec]\nprogram = "/usr/local/bin/tell"\n' "$others" "$also" >"$root/etc/scrubjay/config.toml"
for place in dev proc sys; do mount --rbind "/$place" "$root/$place" && mount --make-rslave "$root/$place"; done

speed=200000 begun=$(date +%s)
# Not by a function: the process that is stopped is to be the watch itself.
chroot "$root" env -i PATH=/usr/bin LC_ALL=C.UTF-8 scrubjay watch --test-calendar "$speed@$begun" --test-full-speed 2>watch.log &
watch=$!
jay() { inside scrubjay "$@"; }
prove() {
  jay alert test >/dev/null 2>&1 || return 1
  jay alert confirm "$(grep -o 'confirm [0-9]*' "$root/run/told" | tail -1 | cut -d' ' -f2)" >/dev/null 2>&1
}
soon prove
of_year() { sleep "$((year / speed * $1 / 12))"; } # MONTHS
of_year 6
"$here/faulty-disk" destroy c
of_year 6
kill $watch
wait $watch || true
expect "the older program ends when it is told to" "$(pgrep -fc "test-calendar $speed@$begun" || true)" 0
echo $((begun + ($(date +%s) - begun) * speed)) >"$root/lab/ended"
echo "# the year: $(sqlite3 -readonly "$root/var/lib/scrubjay/history.db" "SELECT 'events ' || (SELECT count(*) FROM event) || ', passes ' || (SELECT count(*) FROM pass) || ', messages ' || (SELECT count(*) FROM message_history)"), $(stat -c %s "$root/var/lib/scrubjay/history.db") bytes"
[ -z "${FIXTURE:-}" ] || sqlite3 -readonly "$root/var/lib/scrubjay/history.db" .dump \
  "SELECT printf('PRAGMA application_id=%d;', (SELECT application_id FROM pragma_application_id))" \
  "SELECT printf('PRAGMA user_version=%d;', (SELECT user_version FROM pragma_user_version))" >"$FIXTURE"
umount -lR "$root/dev" "$root/proc" "$root/sys"

# ---- the machine

dpkg-deb --fsys-tarfile "$new" | tar -x -O ./usr/bin/scrubjay >scrubjay-new
chmod 755 scrubjay-new
./scrubjay-new --version >"$root/lab/new.version"
cp "$here/upgrade.sh" "$here/check.sh" "$root/lab/"
repository=$(cd "$here/../.." && pwd)
mkdir -p "$root$repository/tests"
cp -r "$repository/README.md" "$repository/docs" "$root$repository/"
cp -r "$repository/tests/typed" "$root$repository/tests/"
cp "${XTASK:-$repository/target/debug/xtask}" "$root/lab/xtask"
machine=0
"$here/guest" -t 1200 -R "$root" -d 64M /lab/upgrade.sh --inside || machine=$?
case $machine in
77) skip "no machine can be started here" ;;
*) expect "in the machine" "$machine" 0 ;;
esac
done_checking
