# A kernel with ublk and NBD, and the files of docs/volume.md. In the virtual machine of tests/lab/guest-ublk.sh.
# shellcheck shell=bash disable=SC2154,SC2034
MOUNT=$work/mount
mkdir -p "$MOUNT"
. tests/typed/volumes.sh
# A block device that is served.
is_serving() { test -b /dev/ublkb0 || is_served; }
served_photos() {
  new_photos
  scrubjay volume serve a.img b.img c.img new.img e.img f.img --listen unix:photos.sock >serve.log 2>&1 &
  until_ready is_served
}
