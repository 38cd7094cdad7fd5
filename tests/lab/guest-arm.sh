#!/bin/bash
# What `cargo xtask dist` made for 64-bit Arm, and this repository's tests, in virtual machines of that architecture: with pages of 4 KiB and of 16.
#
#   guest-arm.sh [FILE]    FILE: a static scrubjay for 64-bit Arm; by default that of target/dist. TESTS= leaves the tests out
#
# In each machine: a scrub of a virtio disk with a bad sector, its delays measured by BPF; a volume written to over NBD, damaged below it, and
# repaired by a scrub; a watch whose alert comes to a real mail server and is confirmed; and the tests of the crates that ask for the architecture.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, mmdebstrap, an archive of Debian, qemu-system-arm, busybox-static, kmod, e2fsprogs, jq;
# for the tests cargo-zigbuild (`cargo xtask dist` fetches it).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"

# ---- in the machine

if [ "${1:-}" = --inside ]; then
  out=$2 port=$3
  shift 3
  cd /tmp
  export SCRUBJAY_RUN=/run/lab TMPDIR=/tmp
  mkdir -p /run/lab
  echo '127.0.0.1 localhost' >/etc/hosts
  [ ! -s "$out/ca.pem" ] || export SSL_CERT_FILE=$out/ca.pem
  jay() { "$out/scrubjay" "$@"; }
  getconf PAGESIZE >"$out/pagesize"
  jay --version >"$out/version" 2>&1 || true

  status=0
  jay scrub /dev/vda --json --no-progress --fresh --state /tmp/scrub >"$out/scrub.json" 2>"$out/scrub.err" || status=$?
  echo $status >"$out/scrub.status"

  members=()
  for member in 0 1 2 3 4 5; do truncate -s 24M "m$member" && members+=("/tmp/m$member"); done
  {
    jay volume create --data 4 --parity 2 --name lab "${members[@]}"
    jay volume serve "${members[@]}" --listen unix:/tmp/nbd.sock &
    serve=$!
    until nbdinfo --size 'nbd+unix:///?socket=/tmp/nbd.sock' >size 2>/dev/null; do sleep 0.2; done
    head -c "$(cat size)" /dev/urandom >written
    nbdcopy written 'nbd+unix:///?socket=/tmp/nbd.sock'
    # 256 KiB of a member's data, below the volume.
    dd if=/dev/urandom of=m1 bs=64K seek=100 count=4 conv=notrunc status=none
    jay scrub lab --json --no-progress --state /tmp/scrub-lab >"$out/healed.json" || echo "scrub: $?"
    jay volume findings lab --json >"$out/findings.json" || true
    nbdcopy 'nbd+unix:///?socket=/tmp/nbd.sock' read
    jay volume stop lab
    wait $serve
    cmp written read && echo same >"$out/volume.cmp"
    jay volume check "${members[@]}" >"$out/check.txt" && echo clean >"$out/volume.check"
  } >"$out/volume.log" 2>&1 || true

  printf 'host = "arm"\nalso = ["/dev/vda"]\n[alert.email]\nto = ["me@example.org"]\nserver = "10.0.2.2:%s"\ntls = "none"\n' "$port" >config.toml
  {
    jay watch --config config.toml --state /tmp/state 2>"$out/watch.log" &
    watch=$!
    for _ in $(seq 60); do sleep 1; jay alert test && break; done
    for _ in $(seq 60); do code=$(grep -ho 'confirm [0-9]*' "$out"/mails/*.eml 2>/dev/null | head -1 | cut -d' ' -f2) && [ -n "$code" ] && break; sleep 1; done
    jay alert confirm "$code"
    jay status
    kill $watch
    wait $watch
  } >"$out/alert.log" 2>&1 || true

  for test; do
    name=$(basename "$test")
    status=0
    crate=$(dirname "$(cat "$test.manifest")")
    [ -d "/tmp/${crate##*/}" ] || cp -r "$crate" /tmp/ # tests make files beside their sources, and want O_DIRECT and leases of them
    busybox mount --bind "/tmp/${crate##*/}" "$crate"
    (cd "$crate" && "$test" --test-threads 2) >"$out/$name.log" 2>&1 || status=$?
    busybox umount "$crate"
    echo "$status" >"$out/$name.status"
  done
  exit
fi

# ---- here

needs root mmdebstrap qemu-system-aarch64 busybox modprobe mkfs.ext4 jq
repository=$(realpath "$here/../..")
scrubjay=
begin
if [ -n "${1:-}" ]; then
  program=$(realpath "$1")
else
  archive=$(find "$repository/target/dist" -name 'scrubjay-[0-9]*-linux-aarch64.tar.gz' 2>/dev/null | grep .) || skip "no target/dist/scrubjay-*-linux-aarch64.tar.gz: cargo xtask dist"
  tar -xzf "$archive" --strip-components=2 --wildcards '*/bin/scrubjay'
  program=$work/scrubjay
fi

# A Debian of that architecture, unpacked and not configured: nothing of it runs here.
base=${XDG_CACHE_HOME:-$HOME/.cache}/scrubjay-guest-arm/root
if [ ! -e "$base" ]; then
  mkdir -p "$(dirname "$base")"
  rm -rf "$base.new"
  mmdebstrap --quiet --format=dir --variant=extract --architectures=arm64 \
    --include=linux-image-arm64,linux-image-arm64-16k,bash,dash,busybox-static,coreutils,diffutils,grep,libc-bin,libnbd-bin trixie "$base.new" "${MIRROR:-http://deb.debian.org/debian}" \
    >"$work/mmdebstrap" 2>&1 || skip "the archive does not give a Debian for arm64: $(tail -1 "$work/mmdebstrap")"
  for folder in bin sbin lib; do [ -e "$base.new/$folder" ] || ln -s "usr/$folder" "$base.new/$folder"; done
  find "$base.new/usr/lib/modules/" -name '*.ko.xz' -exec xz -d {} +
  for modules in "$base.new"/usr/lib/modules/*; do depmod -b "$base.new" "$(basename "$modules")"; done
  mkdir -p "$base.new"/{proc,sys,run,root}
  mv "$base.new" "$base"
fi

# The tests, each with the manifest of its crate, beside which it runs.
tests=()
crates=${TESTS-code device core serve control jobs watch}
if [ -n "$crates" ]; then
  packages=()
  for crate in $crates; do packages+=(--package "scrubjay-$crate"); done
  PATH="$(dirname "$(find "$repository/target/tools" -name cargo-zigbuild -type f | head -1)"):$PATH"
  command -v cargo-zigbuild >/dev/null || skip "no cargo-zigbuild in target/tools: cargo xtask dist"
  (cd "$repository" && cargo zigbuild --quiet --profile smoke --tests --target aarch64-unknown-linux-musl --target-dir target/guest-arm "${packages[@]}" \
    --message-format json) >"$work/built.json" 2>"$work/built.err" || fail "the tests compile: $(tail -5 "$work/built.err")"
  while IFS=$'\t' read -r test manifest; do
    tests+=("$test")
    echo "$manifest" >"$test.manifest"
  done < <(jq -r 'select(.reason == "compiler-artifact" and .executable != null and .profile.test) | [.executable, .manifest_path] | @tsv' "$work/built.json")
fi

mkfifo mail.in
exec {mail_in}<>mail.in

# Runs this script in a machine with the kernel VERSION; what it wrote is then in $out.
machine() { # VERSION
  local version=$1
  out=$work/out-$version
  mkdir -p "$out/mails"
  cp "$program" "$out/scrubjay"
  cp /etc/ssl/certs/ca-certificates.crt "$out/ca.pem" 2>/dev/null || true # the CAs of usual servers, for tests
  "$here/smtp-server" "$out/mails" <&"$mail_in" >"$out/port" 2>"$out/mail.log" &
  server=$!
  soon test -s "$out/port"
  rm -rf initrd
  mkdir -p initrd/{bin,modules,proc,dev,lower,root,tmpfs}
  cp "$base/usr/bin/busybox" initrd/bin/busybox
  modprobe -d "$base" -S "$version" -a --show-depends virtio_pci virtio_blk virtio_net 9pnet_virtio 9p overlay ext4 | awk '$1 == "insmod" && !seen[$2]++ {print $2}' >needed
  xargs cp -t initrd/modules <needed
  {
    printf '#!/bin/busybox sh\nset -x\n/bin/busybox mount -t proc proc /proc\n/bin/busybox mount -t devtmpfs dev /dev\n'
    sed 's,.*/,/bin/busybox insmod /modules/,' needed
    cat <<SH
m() { /bin/busybox mount "\$@"; }
p9=trans=virtio,version=9p2000.L,msize=262144
m -t 9p -o \$p9,cache=loose,ro root /lower
m -t tmpfs tmpfs /tmpfs
/bin/busybox mkdir -p /tmpfs/upper$out /tmpfs/upper$repository /tmpfs/upper/tmp /tmpfs/work
m -t overlay -o lowerdir=/lower,upperdir=/tmpfs/upper,workdir=/tmpfs/work root /root
cd /root
m --move /dev dev
m --move /proc proc
m -t sysfs sys sys
m -t tmpfs run run
m -t tracefs trace sys/kernel/tracing
m -t 9p -o \$p9,cache=loose,ro repository .$repository
m -t 9p -o \$p9 out .$out
m -t ext4 /dev/vdb tmp
/bin/busybox ifconfig lo 127.0.0.1
/bin/busybox ifconfig eth0 10.0.2.15
/bin/busybox ln -s /proc/self/fd dev/fd
/bin/busybox mkdir dev/shm
exec /bin/busybox switch_root /root /bin/bash -c 'export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8; $here/guest-arm.sh --inside $out $(cat "$out/port") ${tests[*]} >$out/console 2>&1; echo \$? >$out/status; sync; echo b >/proc/sysrq-trigger; sleep 60'
SH
  } >initrd/init
  chmod +x initrd/init
  (cd initrd && find . | busybox cpio -o -H newc 2>/dev/null) >initrd.cpio
  truncate -s 64M disk.img
  rm -f tmp.img
  truncate -s 1G tmp.img
  mkfs.ext4 -q tmp.img
  timeout -k 5 "${LIMIT:-2400}" qemu-system-aarch64 -nodefaults -no-user-config -display none -machine virt -cpu max,pauth-impdef=on -accel tcg,thread=multi \
    -smp 2 -m 2048 -no-reboot -kernel "$base/boot/vmlinuz-$version" -initrd initrd.cpio -serial "file:$out/serial" \
    -append "console=ttyAMA0 quiet panic=-1 mitigations=off audit=0 loglevel=4" \
    -blockdev "node-name=d,driver=blkdebug,image.driver=file,image.filename=$work/disk.img,inject-error.0.event=none,inject-error.0.iotype=read,inject-error.0.errno=5,inject-error.0.once=off,inject-error.0.sector=4000" \
    -device virtio-blk-pci,drive=d,serial=lab-arm -drive "id=t,if=none,format=raw,cache=unsafe,file=$work/tmp.img" -device virtio-blk-pci,drive=t -netdev user,id=n -device virtio-net-pci,netdev=n,romfile= \
    -virtfs "local,path=$base,mount_tag=root,security_model=none,readonly=on,multidevs=remap" \
    -virtfs "local,path=$repository,mount_tag=repository,security_model=none,readonly=on,multidevs=remap" \
    -virtfs "local,path=$out,mount_tag=out,security_model=none" </dev/null 2>"$out/qemu" || true
  kill $server
  [ -s "$out/status" ] || { fail "$version: the machine came to its end: $(grep -v '+0x' "$out/serial" | tail -20)"; return 1; }
}
of() { jq -c "$2" "$out/$1" 2>&1 || true; }
for version in $(find "$base/usr/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort); do
  case $version in *-16k) pages=16384 ;; *) pages=4096 ;; esac
  machine "$version" || continue
  expect "$version: its pages" "$(cat "$out/pagesize")" $pages
  expect "a scrub finds exactly what is bad" "$(cat "$out/scrub.status") $(of scrub.json '[.targets[0].unreadable[] | [.start, .count]]')" "3 [[4000,1]]"
  expect "its delays are measured, not estimated" "$(of scrub.json '.targets[0].slowdown.is_estimate')" false
  expect "the volume holds what was written, damaged and repaired" "$(cat "$out/volume.cmp" 2>&1)" same
  expect "what was damaged was found, of one member, and repaired" "$(jq -sc '[(length >= 4), (map([.member, .end]) | unique)]' "$out/findings.json" 2>&1)" '[true,[[1,"repaired"]]]'
  expect "it is clean in the end" "$(cat "$out/volume.check" 2>&1)" clean
  expect "an alert comes by mail and is proven" "$(grep -c 'email is proven' "$out/alert.log")" 1
  for test in "${tests[@]}"; do
    name=$(basename "$test")
    expect "$name: $(grep -h '^test result' "$out/$name.log" | cut -d. -f1,2)" "$(cat "$out/$name.status" 2>&1)" 0
    grep -h '^test .*FAILED' "$out/$name.log" || true
  done
  [ -z "${KEEP:-}" ] || cp -r "$out" "$KEEP"
done
done_checking
