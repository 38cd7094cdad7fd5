# What all scenes share: a machine on which the commands of documents and help pages can be typed as they are printed. Sourced by the scripts
# of `cargo xtask typed`, which run in a mount namespace of their own. A scene may define `arrange` (makes the folder of a piece) and
# `clear` (takes down what it made). Names of disks, without /dev/, are in A, B, C, SPARE and MEMBERS.
# shellcheck shell=bash disable=SC2034,SC2154
root=$PWD
lab=$PWD/tests/lab
work=$(mktemp -d "${TMPDIR:-/tmp}/scrubjay-typed.XXXXXX")
PATH=$(dirname "$(realpath -m "$SCRUBJAY")"):/usr/local/sbin:/usr/sbin:/sbin:$PATH
export PATH HOME=$work/home FAULTY_DIR=$work/disks TERM=dumb
PREFIX=$work/bin WATCH='' WEB='' SERIAL=''
mkdir -p "$HOME/.zfunc" "$HOME/.local/share/bash-completion/completions" "$HOME/.config/fish/completions" "$PREFIX" "$work/fixtures"
# The folders that root's scrubs and the watch keep: this namespace's own.
private=(/var/lib/scrubjay /run/scrubjay /etc/scrubjay)
[ "$scene" != debian ] && [ "$scene" != downgrade ] || private=() # there the services have the same
for folder in "${private[@]}"; do
  mkdir -p "$folder" && mount -t tmpfs -o mode=755 typed "$folder"
done
# What scripts beside this one have mounted is theirs alone: a copy in this namespace would keep it mounted.
while read -r _ _ _ _ at _; do
  case $at in "${TMPDIR:-/tmp}"/*) umount -l "$at" ;; esac
done </proc/self/mountinfo
arrange() { :; }
clear() { :; }
loops=() beside=''
leave() {
  trap - EXIT
  cd /
  local pid
  for pid in $(jobs -p); do kill "$pid" 2>/dev/null; done
  wait
  clear
  for loop in "${loops[@]}"; do losetup -d "/dev/$loop" 2>/dev/null; done
  [ ${#private[@]} = 0 ] || umount "${private[@]}"
  rm -rf "$work"
  exit
}
trap leave EXIT
trap 'exit 1' TERM

# It is detached: by the end its number may be another's.
forget_loop() { # NAME
  local kept=() loop
  for loop in "${loops[@]}"; do [ "$loop" = "$1" ] || kept+=("$loop"); done
  loops=("${kept[@]}")
}

# A loop device over a new file; its name, without /dev/, is then in $made.
make_loop() { # NAME SIZE
  truncate -s "$2" "$work/$1.disk"
  made=$(basename "$(losetup --direct-io=on -f --show "$work/$1.disk" 2>/dev/null || losetup -f --show "$work/$1.disk")")
  loops+=("$made")
}
# The two lines by which `cargo xtask typed` knows which command is next, and how it ended.
begins() { # PIECE COMMAND
  begun=${EPOCHREALTIME/./}
  echo "@@typed $1 $2"
}
ended() { # STATUS
  echo "@@typed = $1 $(((${EPOCHREALTIME/./} - begun) / 1000))"
}
# Goes to a new folder, in which the next commands are typed.
piece() { # INDEX
  [ -z "$beside" ] || kill "$beside"
  beside=''
  cd "$work" && rm -rf "piece$1" && mkdir "piece$1" && cd "piece$1" && arrange
}
# A program that reads disk A meanwhile, until the next piece.
beside() {
  while dd "if=/dev/$A" of=/dev/null bs=4k count=1 skip=$((RANDOM % 2000)) iflag=direct 2>/dev/null; do sleep .01; done &
  beside=$!
}
# For commands that go on until they are stopped: Ctrl-C after two seconds, which is no failure.
stopped() {
  timeout --preserve-status -s INT 2 "$@"
  local status=$?
  [ $status = 130 ] || return $status
}
# Waits until a command succeeds, for ten seconds at most.
until_ready() { # COMMAND...
  local try
  for try in {1..200}; do
    "$@" >/dev/null 2>&1 && return
    sleep 0.05
  done
}
# After a command that goes on in the background: waits until it serves. A server that ended is a failure.
serves() { # PID
  until_ready is_serving
  kill -0 "$1"
}
is_served() { ! scrubjay volume status | grep -q "^no volume"; }
is_serving() { is_served; }
# A program of examples/, from the folder of the built program.
example() { # NAME ARGUMENT...
  "$(dirname "$(realpath "$SCRUBJAY")")/examples/$1" "${@:2}"
}
# A trace in fio's format, of devices whose names are given: reads of 4 KiB in bursts, for a minute.
trace() { # DEVICE...
  echo 'fio version 3 iolog'
  for device; do printf '0 %s add\n0 %s open\n' "$device" "$device"; done
  awk -v names="$*" 'BEGIN {
    srand(1); count = split(names, name, " ")
    for (at = 1; at < 60000; at += rand() < .9 ? 4 : 700 * rand())
      printf "%d %s read %d 4096\n", 1000 * at, name[1 + int(count * rand())], 4096 * int(200000 * rand())
  }'
}
