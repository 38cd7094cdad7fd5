#!/bin/bash
# A volume whose server is killed while fio writes and verifies, again and again: what fio wrote is there, nothing is wrong.
# Usage: volume-kill.sh [TIMES]. Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs jq and fio; no root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scrubjay=${SCRUBJAY:-$here/../../target/release/scrubjay}
times=${1:-3}
for program in fio jq; do
  command -v $program >/dev/null || { echo "volume-kill: not run: no $program" >&2; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/scrubjay-kill.XXXXXX")
finish() {
  [ -z "$server" ] || kill -9 "$server" 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 143' INT TERM
# shellcheck source=check.sh
. "$here/check.sh"
# shellcheck source=volume.sh
. "$here/volume.sh"
make_volume 24M --chunk 4KiB --size 64MiB

# fio writes with verify headers, and leaves a record of what was acknowledged; after a kill it verifies just that.
job() { # SEED OPTION...
  local seed=$1
  shift
  (cd "$work" && exec fio --name=job --ioengine=nbd --uri="$uri" --rw=randwrite --bs=4k --iodepth=16 --size=64M \
    --randseed="$seed" --verify=crc32c --verify_fatal=1 --verify_state_save=1 --output=fio.out "$@" >>fio.err 2>&1)
}
bad=0 unclean=0
for ((round = 1; round <= times; round++)); do
  start
  rm -f "$work"/*.state
  job $round --do_verify=0 --time_based --runtime=60 --trigger-file="$work/trigger" &
  fio=$!
  sleep "0.$((RANDOM % 8 + 2))"
  kill -9 $server
  wait $server 2>/dev/null || true
  wait $fio 2>/dev/null || true
  start
  # All that can be verified without knowing where fio was: every block holds one whole write of its own, or zeros.
  python3 - "$uri" "$work/found" <<'PYTHON' || bad=$((bad + 1))
import nbd, struct, sys, zlib
uri, out = sys.argv[1:]
h = nbd.NBD(); h.connect_uri(uri)
size, wrong, written = h.get_size(), 0, 0
for offset in range(0, size, 1 << 20):
    data = h.pread(1 << 20, offset)
    for at in range(0, 1 << 20, 4096):
        block = data[at:at + 4096]
        if block == bytes(4096): continue
        written += 1
        # fio's verify header: magic 0xacca, type, length, seed, offset, ... (fio verify.h)
        magic, kind, length = struct.unpack_from("<HHI", block)
        place, = struct.unpack_from("<Q", block, 16)
        if magic != 0xacca or length != 4096 or place != offset + at: wrong += 1
print(written, wrong, file=open(out, "w"))
sys.exit(wrong != 0)
PYTHON
  stop
  [ "$(dirty_stripes)" = 0 ] || unclean=$((unclean + 1))
done
expect "after each of $times kills every block holds a whole write" $bad 0
expect "after each of $times kills the check is clean" $unclean 0
done_checking
