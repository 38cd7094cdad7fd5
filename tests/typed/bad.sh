# A disk of 2 GiB with six bad sectors, as docs/repair.md has it.
# shellcheck shell=bash disable=SC2034,SC2154
A=$(basename "$("$lab/faulty-disk" create bad 2G bad=1000000+3,1000200+2,3500000)")
clear() { "$lab/faulty-disk" destroy bad; }
