//! `cargo xtask seeds`: the volume in simulated storms, by seed (`crates/proof/examples/seeds.rs`), built for speed first.

use crate::place;
use anyhow::{Context, Result};
use std::process::Command;

/// Builds the example, in the profile that is named if `--profile NAME` comes first, and hands it all other arguments. It has a
/// thread for each core.
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
    let features: &[&str] = if is_planted { &["--features", "scrubjay-proof/planted"] } else { &[] };
    if !Command::new("cargo").args(build).args(features).status().context("cannot run cargo")?.success() {
        return Ok(false);
    }
    let folder = if profile == "dev" { "debug" } else { profile };
    let seeds = place::target_folder().join(folder).join("examples/seeds");
    Ok(Command::new(&seeds).args(arguments).status().with_context(|| seeds.display().to_string())?.success())
}
