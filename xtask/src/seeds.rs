//! `cargo xtask seeds`: the volume in simulated storms, by seed (`crates/sim/examples/seeds.rs`), built for speed first.

use crate::place;
use anyhow::{Context, Result};
use std::process::Command;

/// Hands everything on to the example, which has a thread for each core; but for `--profile NAME`, first, of the build.
///
/// # Errors
/// When cargo, or what it builds, cannot be run.
pub fn run(arguments: &[String]) -> Result<bool> {
    let (profile, arguments) = match arguments {
        [flag, profile, rest @ ..] if flag == "--profile" => (profile.as_str(), rest),
        all => ("release", all),
    };
    // Not `cargo run`, which takes one package, and builds what that depends on once more: with the features that it needs.
    let build = ["build", "--quiet", "--profile", profile, "--workspace", "--example", "seeds"];
    let is_planted = arguments.iter().any(|argument| argument == "--planted");
    let features: &[&str] = if is_planted { &["--features", "scrubjay-sim/planted"] } else { &[] };
    if !Command::new("cargo").args(build).args(features).status().context("cannot run cargo")?.success() {
        return Ok(false);
    }
    let seeds = place::target_folder().join(profile).join("examples/seeds");
    Ok(Command::new(&seeds).args(arguments).status().with_context(|| seeds.display().to_string())?.success())
}
