//! `cargo xtask seeds`: the volume in simulated storms, by seed (`crates/sim/examples/seeds.rs`), built for speed first.

use anyhow::Result;
use std::process::Command;

/// Hands everything on to the example, which has a thread for each core.
///
/// # Errors
/// When cargo cannot be run.
pub fn run(arguments: &[String]) -> Result<bool> {
    let cargo = ["run", "--quiet", "--release", "--package", "scrubjay-sim", "--example", "seeds"];
    let is_planted = arguments.iter().any(|argument| argument == "--planted");
    let features: &[&str] = if is_planted { &["--features", "planted"] } else { &[] };
    Ok(Command::new("cargo").args(cargo).args(features).arg("--").args(arguments).status()?.success())
}
