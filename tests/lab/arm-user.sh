#!/bin/bash
# The tests of crates on 64-bit Arm's instructions, by qemu-user: several times faster than in a machine of guest-arm.sh, but on this machine's
# kernel, so with its pages, and without io_uring, BPF and what else qemu-user does not pass on.
#
#   arm-user.sh [CRATE...]     by default what needs no more of a kernel than files and sockets
#
# Exit: 0 all pass, 1 one does not, 77 cannot be run here. Needs qemu-user-static, jq and cargo-zigbuild (`cargo xtask dist` fetches it).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=check.sh
. "$here/check.sh"
needs jq qemu-aarch64-static
repository=$(realpath "$here/../..")
crates=("$@")
[ "${#crates[@]}" -gt 0 ] || crates=(code chart core watch trace control sim study research)
PATH="$(dirname "$(find "$repository/target/tools" -name cargo-zigbuild -type f 2>/dev/null | head -1)"):$PATH"
command -v cargo-zigbuild >/dev/null || skip "no cargo-zigbuild in target/tools: cargo xtask dist"
begin
cd "$repository"
packages=()
for crate in "${crates[@]}"; do packages+=(--package "$(sed -n 's/^name = "\(.*\)"/\1/p' "crates/$crate/Cargo.toml" | head -1)"); done
cargo zigbuild --quiet --profile smoke --tests --target aarch64-unknown-linux-musl --target-dir target/guest-arm "${packages[@]}" \
  --message-format json >"$work/built.json"
while IFS=$'\t' read -r test manifest; do
  name=$(basename "$test")
  (cd "$(dirname "$manifest")" && qemu-aarch64-static "$test" --test-threads 2) >"$work/$name.log" 2>&1 && status=0 || status=$?
  said=$(grep -m1 '^test result' "$work/$name.log" || tail -3 "$work/$name.log")
  expect "$(basename "$(dirname "$manifest")"), ${name%-*}: $said" "$status" 0
  [ $status = 0 ] || grep -E '^test .* FAILED|panicked' "$work/$name.log" | head -20
done < <(jq -r 'select(.reason == "compiler-artifact" and .executable != null and .profile.test) | [.executable, .manifest_path] | @tsv' "$work/built.json")
done_checking
