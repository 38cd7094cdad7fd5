//! The Python package as a wheel for all Pythons from 3.9 on, by maturin and zig.

use super::build::{add_rust_library, environment, path_with};
use super::run::succeed;
use super::target::{DistTarget, GLIBC};
use super::tools;
use crate::place;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

/// The wheel of a target, in `out`.
///
/// # Errors
/// A step fails.
pub fn make(target: &DistTarget, out: &Path) -> Result<()> {
    add_rust_library(target)?;
    let folder = tools::zig_folder()?;
    let mut command = Command::new(folder.join("maturin"));
    // Not SOURCE_DATE_EPOCH for the build itself: all C sources would be compiled again after each commit.
    command.envs(environment(&place::target_folder().join("package"))?).env("PATH", path_with(&folder)?);
    command.args(["build", "--zig", "--locked", "--profile", "dist", "--strip", "--target", target.triple]);
    command.arg("--compatibility").arg(format!("manylinux_{}_{}", GLIBC.0, GLIBC.1));
    succeed(command.args(["--manifest-path", "crates/python/Cargo.toml", "--out"]).arg(out))
}
