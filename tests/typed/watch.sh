# A watch over small disks, some of them bad and some that will be taken out; its only channel is a program that keeps what it is told.
# shellcheck shell=bash disable=SC2154,SC2034
bad=() gone=()
for name in bad1 bad2 bad3; do bad+=("$("$lab/faulty-disk" create "$name" 8M bad=4000+8)"); done
for name in gone1 gone2; do make_loop "$name" 8M && gone+=("/dev/$made"); done
make_loop b 8M && B=$made
A=$(basename "${bad[0]}") OLD=$B SERIAL=$B
cat >"$work/tell" <<SH
#!/bin/sh
cat >>"$work/told"
SH
chmod 755 "$work/tell"
quoted() { printf '"%s"\n' "$@" | paste -sd,; }
printf 'host = "nas1"\nalso = [%s]\nnever = [%s]\n[alert.exec]\nprogram = "%s"\n' "$(quoted "${bad[@]}" "${gone[@]}" "/dev/$B")" \
  "$(lsblk -dno NAME | grep -v '^loop' | sed 's/.*/"&"/' | paste -sd,)" "$work/tell" >/etc/scrubjay/config.toml
WEB="--key $work/key"
# Five minutes, after which a problem is told, are a second.
scrubjay watch --test-calendar "300@$(date +%s)" >"$work/watch.log" 2>&1 &
jq_status() { scrubjay status --json 2>/dev/null | jq -e "$1"; }
until_ready jq_status '[.watch.disks[] | select(.oldest_read != null)] | length == 6'
arrange() {
  SERIAL=$B
  openssl req -x509 -newkey rsa:2048 -nodes -keyout nas1.key -out nas1.pem -days 2 -subj /CN=nas1.lan 2>/dev/null
}
# The next bad disk, of which a problem is open.
problem() {
  SERIAL=$(basename "${bad[0]}") A=$(basename "${bad[0]}") bad=("${bad[@]:1}" "${bad[0]}")
  local try
  for try in {1..6}; do # on a busy machine it takes longer than a person would wait
    until_ready grep -q "REPLACE.*$A" "$work/told"
    ! grep -q "REPLACE.*$A" "$work/told" || break
  done
}
# The next disk that is taken out.
taken_out() {
  SERIAL=$(basename "${gone[0]}")
  losetup -d "${gone[0]}"
  forget_loop "$SERIAL"
  gone=("${gone[@]:1}")
  until_ready jq_status "[.watch.disks[] | select(.name == \"$SERIAL\" and .health != \"missing\")] | length == 0"
}
# The code of the newest test that arrived.
code() {
  until_ready grep -q 'confirm [0-9]\{6\}' "$work/told"
  grep -o 'confirm [0-9]\{6\}' "$work/told" | tail -1 | cut -d' ' -f2
}
clear() {
  for name in bad1 bad2 bad3; do "$lab/faulty-disk" destroy "$name"; done
}
