# Functions that the lab tests share, to be sourced: requirements, a work folder, and checks. Expects $here (this folder);
# sets $scrubjay (the binary; a test that runs none empties it) and, after begin, $work (a folder of the test's own, which is its current directory then).
# shellcheck shell=bash disable=SC2154,SC2034
scrubjay=$(realpath -m "${SCRUBJAY:-$here/../../target/release/scrubjay}")
failed=0 checked=0

skip() { # WHY
  echo "$(basename "$0" .sh): not run: $*" >&2
  exit 77
}

# Ends as "not run" unless all of these are here: root, fuse, mount, loop (devices), libnbd (for python3), or programs.
needs() { # NEED...
  local need image capabilities
  for need; do
    case $need in
    root) [ "$(id -u)" = 0 ] || skip "needs root" ;;
    fuse) (: <>/dev/fuse) 2>/dev/null || skip "no /dev/fuse here (a container?)" ;;
    mount)
      capabilities=0x$(awk '/^CapEff/ {print $2}' /proc/self/status)
      ((capabilities >> 21 & 1)) || skip "may not mount here (a container without CAP_SYS_ADMIN?)"
      ;;
    loop)
      image=$(mktemp) && truncate -s 1M "$image"
      losetup -d "$(losetup -f --show "$image" 2>/dev/null)" 2>/dev/null || { rm "$image"; skip "no loop devices here (a container?)"; }
      rm "$image"
      ;;
    libnbd) /usr/bin/python3 -c 'import nbd' 2>/dev/null || skip "no python3-libnbd" ;;
    *) command -v "$need" >/dev/null || skip "no $need" ;;
    esac
  done
}

# Makes $work and goes there, as some programs leave files where they are run (fio's NAME-verify.state), and sees to it that
# at the end, however it comes, nothing is left: jobs are killed and $work is removed.
# A test may define end_first and end_last for what is to be undone before and after the jobs are killed.
begin() {
  [ -z "$scrubjay" ] || [ -x "$scrubjay" ] || { echo "$(basename "$0" .sh): no program at $scrubjay: set SCRUBJAY, or cargo build --release" >&2; exit 1; }
  work=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/scrubjay-$(basename "$0" .sh).XXXXXX")")
  trap finish EXIT
  trap 'exit 143' INT TERM
  cd "$work"
}
end_first() { :; }
end_last() { :; }
finish() {
  local pid
  end_first || true
  for pid in $(jobs -p); do kill -9 "$pid" 2>/dev/null || true; done
  wait
  end_last || true
  cd /
  rm -rf "$work"
}

# Tries until a command succeeds. It should at once, however busy the machine is; what does not within five minutes hangs.
soon() { # COMMAND...
  local begun=$SECONDS
  until "$@"; do
    [ $((SECONDS - begun)) -lt 300 ] || return 1
    sleep 0.05
  done
}

# Of the state that a scrub keeps in $work/NAME: how many sectors have a verdict ("done gap+count gap+count*times ...").
sectors_saved() { # NAME
  { cat "$work/$1"/*.hasty "$work/$1"/*.scrub 2>/dev/null || true; } | awk '$1 == "done" {
    sum = 0
    for (i = 2; i <= NF; i++) { split($i, of, /[+*]/); sum += of[2] * (of[3] ? of[3] : 1) }
    if (sum > most) most = sum
  } END {print most + 0}'
}
is_saved() { # NAME SECTORS: at least so many
  [ "$(sectors_saved "$1")" -ge "$2" ]
}

fail() {
  echo "FAILED $*"
  failed=$((failed + 1))
}

expect() { # NAME IS SHOULD-BE
  checked=$((checked + 1))
  if [ "$2" = "$3" ]; then echo "ok     $1"; else fail "$1: is '$2', should be '$3'"; fi
}

# Runs a scrub with the state directory $work/NAME; leaves its exit code in $status, its output in $work/NAME.{json,err}.
# One that hangs is ended after five minutes (status 124), ten times what the slowest disk here takes.
scrub() { # NAME DISK [OPTION...]
  name=$1 status=0
  shift
  timeout --foreground -k 5 300 "$scrubjay" scrub "$@" --json --state "$work/$name" >"$work/$name.json" 2>"$work/$name.err" || status=$?
  case $status in
  0 | 3) ;;
  *) sed "s/^/# $name: /" "$work/$name.err" ;;
  esac
}

# Of the last scrub: a field of its target, and the unreadable runs as [[start,count],...].
field() { jq -c ".targets[0].$1" "$work/$name.json" 2>&1 || true; }
unreadable() { jq -c '[.targets[0].unreadable[] | [.start, .count]]' "$work/$name.json" 2>&1 || true; }

done_checking() {
  echo "# $checked checks, $failed failed"
  [ $failed = 0 ]
}

# A check: what documents tell people to type in a scene (tests/typed) works, and prints what they show. Needs the program of `cargo xtask`.
types() { # SCENE
  local xtask=${XTASK:-$here/../../target/debug/xtask} code=0
  SCRUBJAY=$scrubjay "$xtask" typed "$1" || code=$?
  expect "documents: what they tell people to type (scene $1)" "$code" 0
}

# Prints the path of a tar file: a clean Debian of this machine's release with these packages. It is made once, and kept. For what needs mmdebstrap.
clean_debian() { # PACKAGE,PACKAGE...
  local cache=${XDG_CACHE_HOME:-$HOME/.cache}/scrubjay-deb codename base
  base=$cache/$(echo "$1" | cksum | cut -d' ' -f1).tar
  if [ ! -e "$base" ]; then
    mkdir -p "$cache"
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    mmdebstrap -q --format=tar --variant=minbase --include="$1" \
      "$codename" "$base.new" >"$cache/log" 2>&1 || { tail -5 "$cache/log" >&2; skip "cannot make a clean Debian (no network?)"; }
    mv "$base.new" "$base" # in one step: a base that is there is whole
  fi
  echo "$base"
}
