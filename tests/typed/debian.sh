# A clean Debian with systemd: the package is installed, used and removed as docs/install.md says. In the virtual machine of
# tests/lab/deb.sh, which has the package at /lab/new.deb, and a user bob who gets mail.
# shellcheck shell=bash disable=SC2154,SC2034
read -ra disks <<<"$DISKS"
A=$(basename "${disks[2]}")
afresh() {
  apt-get -q -y -o Dpkg::Use-Pty=0 purge scrubjay >/dev/null 2>&1
  rm -rf /etc/scrubjay /var/lib/scrubjay
}
# The package is there, and its daemon runs.
installed() {
  [ -e /usr/bin/scrubjay ] || apt install /lab/new.deb >/dev/null 2>&1
  systemctl start scrubjay
  until_ready test -S /run/scrubjay/watch
}
# apt, which asks nobody here.
apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@"; }
# The questions of setup, answered: mail to bob by sendmail, and the code that came to him.
answers() {
  local before
  before=$(grep -c 'alert confirm' /var/mail/bob)
  echo bob@localhost
  echo
  has_more() { [ "$(grep -c 'alert confirm' /var/mail/bob)" -gt "$before" ]; }
  until_ready has_more
  grep -o 'confirm [0-9]\{6\}' /var/mail/bob | tail -1 | cut -d' ' -f2
}
scrubjay() {
  if [ "$1" = setup ]; then answers | command scrubjay setup; else command scrubjay "$@"; fi
}
# The page's own folder and port, as the service has them.
WEB=
