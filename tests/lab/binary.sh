#!/bin/bash
# The single file, made as docs/install.md says, and run where no library of the system is.
# Usage: binary.sh. Exit: 0 all checks hold, 1 one does not, 77 cannot be run here. Needs root, and what `make binary` needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs root make file
cd "$here/../.."
make binary
binary=$(realpath target/*-linux-gnu/dist/scrubjay)
begin
expect "it needs no library" "$(file "$binary" | grep -c 'static')" 1
mkdir root
install -m 755 "$binary" root/scrubjay
truncate -s 16M root/disk.img
code=0
chroot root /scrubjay scrub /disk.img --policy none --state /state >said.txt 2>&1 || code=$?
expect "it scrubs in an empty root" "$code" 0
chroot root /scrubjay generate man /pages >/dev/null
expect "it writes its manual pages" "$(find root/pages -name 'scrubjay-scrub.1' | wc -l)" 1
[ "$failed" = 0 ] || sed 's/^/# /' said.txt
done_checking
