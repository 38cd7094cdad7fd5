#!/bin/bash
# What `cargo xtask dist` made, on clean systems: installed, a disk with bad sectors scrubbed, an alert proven; and how long that took.
#
#   suites.sh [FOLDER]     FOLDER: by default target/dist. SUITES="bookworm trixie" and KINDS="deb rpm static image" narrow it
#
# Each row of its table says what it was, whether it worked, and the seconds from a clean system to the result; or why it was not tried. For
# another architecture than this machine's, programs run by qemu-user: slower, and without io_uring.
# Exit: 0 all that was tried holds, 1 something does not, 77 cannot be run here. Needs root, mmdebstrap, an archive of Debian, rpm, busybox-static,
# bubblewrap, qemu-user-static with binfmt, jq and what ./faulty-disk needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root fuse mount loop mmdebstrap jq gcc
dist=$(realpath "${1:-$here/../../target/dist}")
mirror=${MIRROR:-http://deb.debian.org/debian}
read -ra suites <<<"${SUITES:-bullseye bookworm trixie testing}"
read -ra kinds <<<"${KINDS:-deb rpm static image}"
frozen='Acquire::Check-Valid-Until "false"' # a mirror may stand still
rows=()
end_last() {
  local mounted
  while read -r mounted; do umount -l "$mounted"; done < <(awk -v work="$work" 'index($2, work) == 1 {print $2}' /proc/mounts | sort -r)
  "$here/faulty-disk" destroy bad
}
scrubjay=
begin
export FAULTY_DIR=$work/disks
disk=$("$here/faulty-disk" create bad 64M bad=4000+8)
is_wanted() { [[ " ${kinds[*]} " == *" $1 "* ]]; }
row() { rows+=("| $1 | $2 | $3 | $4 |"); echo "# ${rows[-1]}"; }

# In a root: the program's version, a scrub that finds exactly what is bad, and an alert that a person proves. With $run before each command.
proves() { # NAME
  local name=$1 status=0 code
  "${run[@]}" "$program" --version >"$work/version" 2>&1 || { fail "$name: it starts: $(cat "$work/version")"; return 1; }
  "${run[@]}" "$program" scrub "$disk" --policy none --json --no-progress --fresh --state /var/lib/scrubjay-lab >"$work/found.json" 2>"$work/found.err" || status=$?
  expect "$name: a scrub finds exactly what is bad" "$status $(jq -c '[.targets[0].unreadable[] | [.start, .count]]' "$work/found.json")" '3 [[4000,8]]'
  "${run[@]}" sh -c "SCRUBJAY_RUN=/run/scrubjay-lab; export SCRUBJAY_RUN; mkdir -p /run/scrubjay-lab; printf '#!/bin/sh\ncat >>/run/told\n' >/run/tell; chmod 755 /run/tell
    printf 'never = [\"vda\", \"sda\"]\n[alert.exec]\nprogram = \"/run/tell\"\n' >/run/config.toml
    $program watch --config /run/config.toml --state /run/state-lab 2>/run/watch.log & watch=\$!
    for second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 1; $program alert test >/run/test.txt 2>&1 && break; done
    code=\$(grep -o 'confirm [0-9]*' /run/told | head -1 | cut -d' ' -f2)
    $program alert confirm \"\$code\"; kill \$watch; wait \$watch" >"$work/alerts" 2>&1 || true
  expect "$name: an alert is proven" "$(grep -c 'exec is proven' "$work/alerts")" 1
}

# The researcher's program, where it lies beside.
lab_runs() { # NAME
  expect "$1: scrubjay-lab is started" "$("${run[@]}" "$program" trace generate --list 2>&1 | grep -c '^memoryless')" 1
}

# A clean Debian with its /dev, /proc and /sys, which the rest is copied from.
clean() { # SUITE ARCHITECTURE
  local base=${XDG_CACHE_HOME:-$HOME/.cache}/scrubjay-suites/$1-$2.tar
  if [ ! -s "$base" ]; then
    mkdir -p "$(dirname "$base")"
    mmdebstrap --quiet --aptopt="$frozen" --format=tar --variant=apt --architectures="$2" "$1" "$base.new" "$mirror" >"$work/mmdebstrap" 2>&1 || return 1
    mv "$base.new" "$base"
  fi
  root=$work/root
  umount_root
  mkdir "$root"
  tar -C "$root" -xf "$base" --exclude="./dev/*" || return 1
  mount_root
}
mount_root() {
  local place
  for place in dev proc sys; do
    mkdir -p "$root/$place"
    mount --rbind "/$place" "$root/$place"
    mount --make-rslave "$root/$place"
  done
}
umount_root() {
  local place
  for place in dev proc sys; do umount -lR "$work/root/$place" 2>/dev/null || true; done
  rm -rf --one-file-system "$work/root"
}
# So that programs of 64-bit Arm run here: the interpreter is opened now (F), so a root of its own need not have it.
emulates_arm() {
  local magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
  local mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
  [ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ] || return 0
  [ -e /proc/sys/fs/binfmt_misc/register ] || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc 2>/dev/null || return 1
  echo ":qemu-aarch64:M::$magic:$mask:/usr/bin/qemu-aarch64-static:F" >/proc/sys/fs/binfmt_misc/register 2>/dev/null
}
run=() program=/usr/bin/scrubjay root=$work/root
in_root() { run=(chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive); }

# ---- the Debian packages, by release and architecture

for architecture in amd64 arm64; do
  is_wanted deb || break
  package=$(find "$dist" -name "scrubjay_*_$architecture.deb" | head -1)
  for suite in "${suites[@]}"; do
    name="deb, $suite, $architecture"
    [ -n "$package" ] || { row "$suite" "$architecture" "deb" "not tried: none was made"; continue; }
    if [ "$architecture" != "$(dpkg --print-architecture)" ] && ! emulates_arm; then
      row "$suite" "$architecture" "deb" "not tried: this kernel runs no programs of another architecture (binfmt_misc)"
      continue
    fi
    clean "$suite" "$architecture" || { row "$suite" "$architecture" "deb" "not tried: the archive does not give it ($(grep -m1 -E '^(E|Err|W)[: ]' "$work/mmdebstrap" | cut -c1-120))"; continue; }
    in_root
    cp "$package" "$root/tmp/scrubjay.deb"
    cp "${package/scrubjay_/scrubjay-lab_}" "$root/tmp/lab.deb"
    begun=$SECONDS before=$failed
    cp /etc/resolv.conf "$root/etc/"
    "${run[@]}" apt-get -q -o Acquire::Check-Valid-Until=false update >"$work/apt" 2>&1 || fail "$name: the archive is reached: $(tail -3 "$work/apt")"
    if ! "${run[@]}" apt-get -q -y install --no-install-recommends /tmp/scrubjay.deb >"$work/apt" 2>&1; then
      fail "$name: installed: $(tail -9 "$work/apt")"
      row "$suite" "$architecture" "deb" "FAILED: apt"
      continue
    fi
    proves "$name" || true
    "${run[@]}" apt-get -q -y install --no-install-recommends /tmp/lab.deb >"$work/apt" 2>&1 || fail "$name: scrubjay-lab installed: $(tail -9 "$work/apt")"
    lab_runs "$name"
    [ "$failed" = "$before" ] && row "$suite" "$architecture" "deb" "installed, scrubbed, proven: $((SECONDS - begun)) s" || row "$suite" "$architecture" "deb" "FAILED"
  done
done

# ---- the rpm, in a root with a C library

if is_wanted rpm && package=$(find "$dist" -name 'scrubjay-[0-9]*.x86_64.rpm' | grep .) && clean bookworm amd64; then
  begun=$SECONDS before=$failed
  in_root
  rpm --root "$root" --initdb
  rpm --root "$root" --install --nodeps "$package" >"$work/rpm" 2>&1 || fail "rpm: installed: $(tail -3 "$work/rpm")"
  expect "rpm: its files are as it says" "$(rpm --root "$root" --verify --nodeps scrubjay 2>&1 | head -3)" ""
  proves rpm || true
  rpm --root "$root" --install --nodeps "${package/scrubjay-/scrubjay-lab-}" >"$work/rpm" 2>&1 || fail "rpm: scrubjay-lab installed: $(tail -3 "$work/rpm")"
  lab_runs rpm
  rpm --root "$root" --erase --nodeps scrubjay >"$work/rpm" 2>&1 || fail "rpm: removed: $(tail -3 "$work/rpm")"
  expect "rpm: removed, no program is left" "$(test -e "$root/usr/bin/scrubjay" && echo left || echo none)" none
  [ "$failed" = "$before" ] && row "rpm --root" amd64 rpm "installed, scrubbed, proven, removed: $((SECONDS - begun)) s" || row "rpm --root" amd64 rpm FAILED
fi

# ---- the static file, in a root with nothing but busybox

if is_wanted static && archive=$(find "$dist" -name 'scrubjay-*x86_64*.tar.gz' | grep .) && busybox=$(command -v busybox); then
  begun=$SECONDS before=$failed
  umount_root
  mkdir -p "$root"/{bin,tmp,run,var/lib,etc,usr/bin}
  mount_root
  cp "$busybox" "$root/bin/busybox"
  chroot "$root" /bin/busybox --install /bin
  tar -C "$root/tmp" -xzf "$archive"
  cp "$root"/tmp/scrubjay-*/bin/scrubjay{,-lab} "$root/usr/bin/"
  in_root
  proves "static, busybox" || true
  lab_runs "static, busybox"
  expect "static: a name is looked up without a library" \
    "$("${run[@]}" sh -c "printf '[alert.email]\nto = [\"a@b.c\"]\nserver = \"no.such.host.invalid\"\n' >/run/mail.toml; SCRUBJAY_RUN=/run/x; export SCRUBJAY_RUN; mkdir -p /run/x; $program watch --config /run/mail.toml --state /run/y 2>/run/y.log & sleep 3; $program alert test 2>&1; kill %1" | grep -c 'no.such.host.invalid')" 1
  [ "$failed" = "$before" ] && row "busybox alone" amd64 static "scrubbed, proven: $((SECONDS - begun)) s" || row "busybox alone" amd64 static FAILED
fi

# ---- the image's file system, by bubblewrap

if is_wanted image && image=$(find "$dist" -name 'scrubjay-*-oci-amd64.tar' | grep .) && command -v bwrap >/dev/null; then
  begun=$SECONDS before=$failed
  umount_root
  mkdir -p "$root" "$work/image"
  tar -C "$work/image" -xf "$image"
  manifest=$(jq -r '.manifests[0].digest' "$work/image/index.json" | tr : /)
  for layer in $(jq -r '.layers[].digest' "$work/image/blobs/$manifest" | tr : /); do tar -C "$root" -xzf "$work/image/blobs/$layer"; done
  mkdir -p "$root/run" "$root/var/lib" "$root/tmp"
  cp "$(command -v busybox)" "$root/usr/bin/busybox" # the image has no shell
  run=(bwrap --bind "$root" / --dev-bind /dev /dev --proc /proc --ro-bind /sys /sys --unshare-pid --die-with-parent --clearenv --setenv PATH /usr/bin:/usr/sbin:/busybox)
  mkdir -p "$root/busybox"
  chroot "$root" /usr/bin/busybox --install /busybox
  ln -sf /busybox/sh "$root/bin/sh" 2>/dev/null || { mkdir -p "$root/bin" && ln -sf /busybox/sh "$root/bin/sh"; }
  proves "image" || true
  expect "image: smartctl starts" "$("${run[@]}" smartctl --version | head -1 | cut -d' ' -f1)" smartctl
  [ "$failed" = "$before" ] && row "bubblewrap" amd64 image "scrubbed, proven: $((SECONDS - begun)) s" || row bubblewrap amd64 image FAILED
fi

echo
echo "| system | architecture | product | result |"
echo "|---|---|---|---|"
printf '%s\n' "${rows[@]}"
done_checking
