# Disks: loop devices of a few MiB, with what files.sh has.
# shellcheck shell=bash disable=SC2154,SC2034
. tests/typed/files.sh
make_loop a 8M && A=$made
make_loop b 8M && B=$made
make_loop c 8M && C=$made
SERIAL=/dev/$A
# As for a trace that is to be recorded: nothing is there yet, and somebody reads the disk.
recording() {
  rm -f sda.parquet sda.toml
  beside
}
# Programs that may not be here, and files to check.
to_pace() {
  mkdir -p paced
  for program in restic snapraid rsync updatedb; do
    printf '#!/bin/sh\n' >"paced/$program"
    chmod +x "paced/$program"
  done
  PATH=$PWD/paced:$PATH
  sha256sum disk.img >sums.txt
}
