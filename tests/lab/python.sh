#!/bin/bash
# The Python package as its users get it: a wheel, checked, installed in a clean environment, and tested by pytest.
# Usage: python.sh                 the wheel of the library that the workspace's build made; no kills, no notebook
#        python.sh long            the wheel that pip makes of the sources, which recompiles everything; every test
#        python.sh fleet [WHAT]    figures of a fleet of 1,000 volumes, and kills: see crates/python/tests/fleet_long.py
# Environment: SCRUBJAY, the command to compare with. Exit: 0 all checks hold, 1 one does not, 77 cannot be run here.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
package=$root/crates/python
target=${CARGO_TARGET_DIR:-$root/target}
venv=$target/python-venv
form=${1:-short}
skip() {
  echo "not run: $1"
  exit 77
}
command -v python3 >/dev/null || skip "no python3"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip "python3 is older than 3.9"
[ -x "$venv/bin/pip" ] || python3 -m venv "$venv" || skip "python3 -m venv makes no environment: apt-get install python3-venv"
# What is installed is told by the lists of what was asked for.
lists=(requirements.txt)
[ "$form" = short ] || lists+=(requirements-long.txt)
for list in "${lists[@]}"; do
  cmp -s "$package/tests/$list" "$venv/$list" && continue
  "$venv/bin/pip" -q --disable-pip-version-check install -r "$package/tests/$list" || skip "no package registry that pip reaches"
  cp "$package/tests/$list" "$venv/$list"
done
program=${SCRUBJAY:-$target/release/scrubjay}
case $program in "$target"/*/scrubjay) profile=$(basename "$(dirname "$program")") ;; *) profile=release ;; esac
work=$(mktemp -d /tmp/scrubjay-python.XXXXXX)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 CARGO_TARGET_DIR=$target

# The library in the profile of the program, as `make test` has built it, with what maturin writes beside it. Maturin itself builds by
# the features that this one package asks of its dependencies: with these they, and all of ours above them, are compiled once more,
# which takes minutes.
workspace_wheel() {
  (cd "$root" && cargo build -q --locked --profile "$profile" --workspace --lib)
  mkdir "$work/content"
  (cd "$package" && "$venv/bin/maturin" pep517 write-dist-info --metadata-directory "$work/content" --interpreter "$venv/bin/python")
  cp -r "$package/python/scrubjay" "$work/content/"
  find "$work/content" -name __pycache__ -prune -exec rm -r {} +
  cp "$target/$profile/lib_core.so" "$work/content/scrubjay/_core.abi3.so"
  "$venv/bin/wheel" pack "$work/content" --dest-dir "$1" >/dev/null
}

# As pip makes it of the sources.
ordinary_wheel() {
  "$venv/bin/pip" -q wheel --no-deps --wheel-dir "$1" "$package"
  # The other one is the same, but for the bytes of the library.
  mkdir "$work/beside"
  workspace_wheel "$work/beside"
  "$venv/bin/python" "$package/tests/same_wheel.py" "$1"/*.whl "$work"/beside/*.whl
}

mkdir "$work/wheels"
if [ "$form" = long ]; then ordinary_wheel "$work/wheels"; else workspace_wheel "$work/wheels"; fi
"$venv/bin/twine" check --strict "$work"/wheels/*.whl
# In an environment with nothing else in it: the wheel brings all that it needs.
python3 -m venv "$work/clean"
"$work/clean/bin/pip" -q install "$work"/wheels/*.whl
printf '128166372000000000,usr,0,Read,4096,512,10\n' >"$work/one.csv"
"$work/clean/bin/python" -c "import scrubjay; assert scrubjay.open('$work/one.csv').info()['requests'] == 1"
# Not in the checkout, where the sources of the package would be found first.
"$venv/bin/pip" -q install --force-reinstall --no-deps --no-index "$work"/wheels/*.whl
cp -r "$package/tests" "$work/tests"
cd "$work"
export PATH=$venv/bin:$PATH SCRUBJAY=$program SCRUBJAY_ROOT=$root
case $form in
short) python -m pytest -q -p no:cacheprovider -m "not long" tests ;;
long) python -m pytest -q -p no:cacheprovider tests ;;
fleet) python tests/fleet_long.py "${@:2}" ;;
*) echo "no such form: $form" && exit 1 ;;
esac
