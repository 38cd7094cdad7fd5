# A clean Debian with systemd, whose package was upgraded and is to be the older one again. In the virtual machine of tests/lab/upgrade.sh,
# which has the older package at /lab/old.deb.
# shellcheck shell=bash
# apt, which asks nobody here; the settings stay as they are.
apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "$@"; }
