# A volume for lab tests, to be sourced after check.sh. Expects $work (a directory) and $scrubjay (the binary).
# shellcheck shell=bash disable=SC2154,SC2034
export SCRUBJAY_RUN=$work/run
socket=$work/nbd.sock
uri="nbd+unix:///?socket=$socket"
server=

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
  local tries
  "$scrubjay" volume serve "${members[@]}" --listen "unix:$socket" "$@" 2>>"$work/serve.err" &
  server=$!
  for ((tries = 0; tries < 600; tries++)); do
    "$scrubjay" volume status lab --json >"$work/status.json" 2>/dev/null || true
    if [ "$(jq -r .state "$work/status.json" 2>/dev/null)" != opening ] && [ -s "$work/status.json" ]; then return 0; fi
    kill -0 $server 2>/dev/null || { cat "$work/serve.err"; return 1; }
    sleep 0.05
  done
  return 1
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
