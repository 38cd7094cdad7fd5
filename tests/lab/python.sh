#!/bin/bash
# The Python package, as its users get it: a wheel, checked, installed in a clean environment, tried by pytest.
# Usage: python.sh [long]. long: the fleet of 1,000 volumes, with kills. Environment: SCRUBJAY, the command to compare with.
# Exit: 0 all holds, 1 something does not, 77 cannot be run here.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
venv=$target/python-venv
skip() {
  echo "not run: $1"
  exit 77
}
command -v python3 >/dev/null || skip "no python3"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip "python3 is older than 3.9"
# What is installed is told by the file of what was asked for: the environment is made anew when that changes.
wanted=$(cat "$root/crates/python/tests/requirements.txt")
if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv" || skip "python3 -m venv makes no environment: apt-get install python3-venv"
  "$venv/bin/pip" -q install -r "$root/crates/python/tests/requirements.txt" || skip "no package registry that pip reaches"
  echo "$wanted" >"$venv/wanted"
fi
export PATH=$venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 CARGO_TARGET_DIR=$target
work=$(mktemp -d /tmp/scrubjay-python.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$root/crates/python"
maturin build -q --locked --profile "${PROFILE:-smoke}" --out "$work/wheels"
twine check --strict "$work"/wheels/*.whl
# In an environment with nothing else in it: the wheel brings all that it needs.
python3 -m venv "$work/clean"
"$work/clean/bin/pip" -q install "$work"/wheels/*.whl
printf '128166372000000000,usr,0,Read,4096,512,10\n' >"$work/one.csv"
"$work/clean/bin/python" -c "import scrubjay; assert scrubjay.open('$work/one.csv').info()['requests'] == 1"
# Not in the checkout, where the sources of the package would be found first.
pip -q install --force-reinstall --no-deps --no-index "$work"/wheels/*.whl
cp -r tests "$work/tests"
cd "$work"
export SCRUBJAY=${SCRUBJAY:-$target/release/scrubjay} SCRUBJAY_ROOT=$root
if [ "${1:-}" = long ]; then
  python tests/fleet_long.py "${@:2}"
else
  python -m pytest -q -p no:cacheprovider tests
fi
