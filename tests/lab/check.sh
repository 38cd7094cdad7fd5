# Checks for the lab tests, to be sourced. Expects $work (a directory) and $scrubjay (the binary).
# shellcheck shell=bash disable=SC2154,SC2034
failed=0 checked=0

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
