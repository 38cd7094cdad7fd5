# Scrubjay's entry points: `make demo` shows it, `make test` runs all tests, `make smoke` a short selection. For all else use cargo.
.PHONY: help demo test smoke linker cargo

# Where rustup installs cargo, for shells without it in their PATH.
export PATH := $(PATH):$(HOME)/.cargo/bin

help: ## lists the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /make \1\t/' | expand -t 14

demo: cargo ## scrubs a simulated disk with bad sectors while a program uses it; needs no root and no disk
	@cargo build --quiet --locked --profile suite --workspace --example demo
	@"$${CARGO_TARGET_DIR:-target}/suite/examples/demo"

test: cargo ## runs all tests; as root it also installs the Debian packages that the lab needs
	@cargo xtask test

smoke: cargo ## a short selection of the tests: format, tidy, the unit tests, a few storms
	@cargo xtask test smoke

# Requirements of cargo itself. `cargo xtask test` installs everything else.
cargo: linker
	@command -v cargo >/dev/null || { echo 'No cargo here. Get Rust from https://rustup.rs' >&2; exit 1; }

linker:
	@command -v cc >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -q && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends gcc libc6-dev; } || \
	  { echo 'No C linker here; on Debian, as root: apt-get install --no-install-recommends gcc libc6-dev' >&2; exit 1; }
