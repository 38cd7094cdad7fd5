# Volumes on files, for the scenes that have some. MEMBERS may name disks for another one, and SPARE one more.
# shellcheck shell=bash disable=SC2154,SC2034
arrange() {
  stop_all
  [ -z "${SPARE:-}" ] || blank_one "/dev/$SPARE"
  for name in a b c d e f old new; do truncate -s 64M "$name.img"; done
  openssl req -x509 -newkey rsa:2048 -nodes -keyout server.key -out server.pem -days 2 -subj /CN=localhost 2>/dev/null
  cp server.pem clients.pem
}
stop_all() {
  scrubjay volume stop >/dev/null 2>&1
  until_ready is_idle
  rm -f /tmp/photos.sock /run/photos.sock
}
is_idle() { ! is_served; }
clear() { stop_all; }
# Volumes on the files and on the loop devices.
create_both() {
  scrubjay volume create --data 4 --parity 2 --chunk 64KiB --name files [a-f].img >/dev/null
  # shellcheck disable=SC2086 # several
  create_on $MEMBERS
}
create_on() { # MEMBER...
  local forced=() member
  for member; do forced+=(--force "$member"); done
  scrubjay volume create --data 4 --parity 2 --chunk 64KiB --name photos "${forced[@]}" "$@" >/dev/null
}
# The volume `photos` on the loop devices, served.
photos() {
  # shellcheck disable=SC2086 # several
  create_on $MEMBERS
  # shellcheck disable=SC2086
  scrubjay volume serve $MEMBERS --listen unix:photos.sock >serve.log 2>&1 &
  until_ready is_served
}
# The volume `photos` on the files that docs/volume.md leaves.
new_photos() {
  create_on a.img b.img c.img new.img e.img f.img
}
blank_one() { # DEVICE
  blkdiscard -f "$1" 2>/dev/null || dd if=/dev/zero "of=$1" bs=1M status=none
}
# The loop devices hold no volume.
blank() {
  local member
  for member in $MEMBERS; do blank_one "$member"; done
}
