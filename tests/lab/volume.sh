# A volume for lab tests, to be sourced after check.sh. Expects $work (a directory) and $scrubjay (the binary).
# shellcheck shell=bash disable=SC2154,SC2034
export SCRUBJAY_RUN=$work/run
socket=$work/nbd.sock
uri="nbd+unix:///?socket=$socket"
server=
loop=

# Makes a volume of six files of SIZE each, four data and two parities.
make_volume() { # SIZE [OPTION...]
  local size=$1 member
  shift
  members=()
  for member in 0 1 2 3 4 5; do
    rm -f "$work/m$member"
    truncate -s "$size" "$work/m$member"
    members+=("$work/m$member")
  done
  "$scrubjay" volume create --data 4 --parity 2 --name lab "$@" "${members[@]}" >"$work/create.out"
}

# Serves it, and waits until it answers.
start() { # [OPTION...]
  "$scrubjay" volume serve "${members[@]}" --listen "unix:$socket" "$@" 2>>"$work/serve.err" &
  server=$!
  soon is_open_or_ended && kill -0 $server 2>/dev/null || { cat "$work/serve.err"; return 1; }
}
is_open_or_ended() {
  kill -0 $server 2>/dev/null || return 0
  "$scrubjay" volume status lab --json >"$work/status.json" 2>/dev/null || true
  [ -s "$work/status.json" ] && [ "$(jq -r .state "$work/status.json")" != opening ]
}

# Kills its server, and waits until the kernel has let go of the members, which are files: that may come after its end.
kill_server() {
  local member
  kill -9 $server
  wait $server 2>/dev/null || true
  server=
  for member in "${members[@]}"; do flock "$member" true; done
}

stop() {
  "$scrubjay" volume stop lab && wait $server
  server=
}

# What `volume check` says: how many stripes are not clean.
dirty_stripes() {
  "$scrubjay" volume check "${members[@]}" --json 2>/dev/null >"$work/check.json" || true
  jq '.stripes - .clean' "$work/check.json"
}

# The volume as a block device, $loop: NBD as a file, the file as a loop device. nbdfuse sends nothing on a connection that
# waits for an answer, so it has many.
attach() {
  mkdir -p "$work/fuse"
  nbdfuse -C 12 "$work/fuse" --unix "$socket" 2>>"$work/nbdfuse.err" &
  soon test -f "$work/fuse/nbd"
  loop=$(losetup -f --show --direct-io=on "$work/fuse/nbd" 2>/dev/null || losetup -f --show "$work/fuse/nbd")
}
detach() {
  [ -z "$loop" ] || losetup -d "$loop"
  loop=
  mountpoint -q "$work/fuse" && fusermount3 -u "$work/fuse" 2>/dev/null || umount -l "$work/fuse" 2>/dev/null || true
}
