#!/bin/bash
# 64-bit Arm: what depends on the architecture compiles for it. (It runs there in the long tests.)
# Usage: arm.sh. Exit: 0 it compiles, 1 it does not, 77 cannot be tried here. Needs cargo, and rustup for the target.
set -euo pipefail
target=aarch64-unknown-linux-gnu
cd "$(dirname "$0")/../.."
rustup target list --installed 2>/dev/null | grep -qx $target || rustup target add $target >/dev/null 2>&1 ||
  { echo "arm.sh: not run: no standard library for $target (rustup target add $target)" >&2; exit 77; }
cargo check --profile=suite --package scrubjay-code --package scrubjay-device --target $target
