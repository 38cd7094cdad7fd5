# Volumes on files and on loop devices; a piece that says so (`photos`) finds one being served.
# shellcheck shell=bash disable=SC2154,SC2034
make_loop a 8M && A=$made
members=()
for name in b c d e f g; do make_loop "$name" 64M && members+=("/dev/$made"); done
MEMBERS="${members[*]}"
B=$(basename "${members[0]}") C=$(basename "${members[1]}")
make_loop h 64M && SPARE=$made
MOUNT=$work/mount
mkdir -p "$MOUNT"
. tests/typed/volumes.sh
# A file that FUSE serves is there a moment after its folder.
is_serving() { is_served && { [ ! -d photos ] || [ -e photos/nbd ]; }; }
