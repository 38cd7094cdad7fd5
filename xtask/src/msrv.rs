//! `cargo xtask msrv`: the oldest Rust that `Cargo.toml` promises (`rust-version`) builds everything that ships.

use crate::licences::SHIPPED_FOR;
use crate::licences::package::packages;
use anyhow::{Context, Result};
use std::process::{Command, Stdio, exit};

/// A promised version of Rust: major, minor, patch.
type Version = [u32; 3];

/// Compares the promises of all dependencies with the project's, then builds with that compiler. True when that succeeds;
/// where there is no such compiler and rustup cannot get it, ends the program with the status for "not run".
///
/// # Errors
/// When cargo fails, or a manifest cannot be read.
pub fn run(_arguments: &[String]) -> Result<bool> {
    let manifest = std::fs::read_to_string("Cargo.toml").context("Cargo.toml")?;
    let text = promised(&manifest).context("Cargo.toml has no rust-version")?;
    let promise = version(text).with_context(|| format!("rust-version {text}"))?;
    let mut newer = 0;
    for package in packages(SHIPPED_FOR, &["--workspace", "--edges", "normal,build,dev"])? {
        let path = package.folder()?.join("Cargo.toml");
        let manifest = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let needs = promised(&manifest).and_then(version).filter(|needs| *needs > promise);
        if let Some([major, minor, patch]) = needs {
            println!("{} {} needs Rust {major}.{minor}.{patch}, and {text} is promised", package.name, package.version);
            newer += 1;
        }
    }
    if newer > 0 {
        return Ok(false);
    }
    if !has_toolchain(text) {
        println!("no Rust {text} here, and `rustup toolchain install {text} --profile minimal` does not get it");
        exit(crate::test::STATUS_NOT_RUN);
    }
    let check = ["run", text, "cargo", "check", "--package", "scrubjay", "--package", "scrubjay-lab", "--locked"];
    let mut cargo = Command::new("rustup");
    cargo.args(check).args(["--target-dir".as_ref(), crate::place::target_folder().join("msrv").as_os_str()]);
    // The cargo that runs xtask sets its compiler in the environment; this one must use its own.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        cargo.env_remove(variable);
    }
    Ok(cargo.status().context("cannot run rustup")?.success())
}

/// Whether rustup has this compiler; installs it if necessary.
fn has_toolchain(version: &str) -> bool {
    let runs = |arguments: &[&str]| {
        let mut rustup = Command::new("rustup");
        rustup.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        rustup.status().is_ok_and(|status| status.success())
    };
    let is_there = || runs(&["which", "--toolchain", version, "cargo"]);
    is_there() || (runs(&["toolchain", "install", version, "--profile", "minimal"]) && is_there())
}

/// The `rust-version` of a manifest.
fn promised(manifest: &str) -> Option<&str> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \""))?;
    line.split('"').next()
}

fn version(text: &str) -> Option<Version> {
    let mut version = [0; 3];
    let mut parts = text.split('.');
    for place in &mut version {
        *place = parts.next().map_or(Some(0), |part| part.parse().ok())?;
    }
    parts.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_read_and_compared() {
        assert_eq!(promised("[package]\nname = \"a\"\nrust-version = \"1.89\" # why\n"), Some("1.89"));
        assert_eq!(promised("[package]\nrust-version.workspace = true\n"), None);
        assert_eq!(
            [version("1.89"), version("1.89.1"), version("2")],
            [Some([1, 89, 0]), Some([1, 89, 1]), Some([2, 0, 0])]
        );
        assert!(version("1.9") < version("1.89") && version("1.89.0") == version("1.89"));
        assert_eq!([version("new"), version("1.2.3.4")], [None, None]);
    }
}
