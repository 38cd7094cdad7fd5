#!/bin/bash
# A volume with third-party clients: nbdinfo, nbdcopy, nbdsh, qemu-img, qemu-io and fio over NBD.
# Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs jq and those programs; no root.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs nbdinfo nbdcopy nbdsh qemu-img qemu-io fio jq
begin
# shellcheck source=volume.sh
. "$here/volume.sh"

for chunk in 4KiB 64KiB; do
  make_volume 48M --chunk $chunk --size 128MiB
  start
  expect "$chunk: nbdinfo sees the size" "$(nbdinfo --size "$uri")" $((128 << 20))
  expect "$chunk: nbdinfo lists it" "$(nbdinfo --list --json "$uri" | jq -r '.exports[0]."export-name"')" lab
  expect "$chunk: nothing is allocated" "$(nbdinfo --map --json "$uri" | jq -c '[.[].type]')" '[3]'

  head -c 96M /dev/urandom >"$work/source"
  nbdcopy "$work/source" "$uri"
  truncate -s 128M "$work/source"
  nbdcopy "$uri" "$work/back"
  expect "$chunk: nbdcopy there and back" "$(cmp "$work/source" "$work/back" && echo same)" same
  expect "$chunk: 96 MiB are allocated" "$(nbdinfo --map --totals --json "$uri" | jq '.[] | select(.type == 0).size')" $((96 << 20))
  expect "$chunk: qemu-img compares" "$(qemu-img compare -f raw -F raw "$work/source" "$uri")" 'Images are identical.'

  PATH=/usr/bin:$PATH nbdsh -u "$uri" -c '
import random
r = random.Random(1)
model = bytearray(h.pread(1 << 20, 3 << 20))
for step in range(400):
    start = r.randrange(1 << 20); count = min(1 + r.randrange(9000), (1 << 20) - start)
    what = r.randrange(4)
    if what < 2:
        data = r.randbytes(count); h.pwrite(data, (3 << 20) + start, nbd.CMD_FLAG_FUA if what else 0)
        model[start:start + count] = data
    elif what == 2:
        h.zero(count, (3 << 20) + start); model[start:start + count] = bytes(count)
    assert h.pread(count, (3 << 20) + start) == model[start:start + count], step
h.flush()
try:
    h.pread(512, h.get_size()); raise SystemExit("a read beyond the end")
except nbd.Error as error:
    assert error.errnum == 22, error.errno
' && nbdsh_ended=0 || nbdsh_ended=$?
  expect "$chunk: nbdsh reads what it wrote, whatever the alignment" $nbdsh_ended 0

  qemu-io -f raw -c 'write -P 7 1M 3M' -c 'write -z 2M 64k' -c 'discard 3M 1M' -c flush -c 'read -P 7 1M 1M' \
    -c 'read -P 0 2M 64k' "$uri" >"$work/qemu-io.out" && qemu_ended=0 || qemu_ended=$?
  expect "$chunk: qemu-io writes, zeroes, discards" "$qemu_ended $(grep -c -i 'verification failed' "$work/qemu-io.out")" '0 0'
  qemu-img convert -f raw -O raw "$uri" "$work/converted"
  nbdcopy "$uri" "$work/back"
  expect "$chunk: qemu-img converts what nbdcopy reads" "$(cmp "$work/converted" "$work/back" && echo same)" same

  fio --name=verify --ioengine=nbd --uri="$uri" --rw=randrw --bsrange=512-64k --bs_unaligned --iodepth=16 --size=96M \
    --io_size=96M --verify=crc32c --verify_fatal=1 --fsync=64 --output="$work/fio.out" >/dev/null 2>&1 && fio_ended=0 || fio_ended=$?
  expect "$chunk: fio verifies" $fio_ended 0
  stop
  expect "$chunk: nothing was found wrong" "$(dirty_stripes)" 0
  expect "$chunk: it was stopped in order" "$("$scrubjay" volume inspect "${members[@]}" --json | jq .members[0].superblock.clean)" true
done
done_checking
