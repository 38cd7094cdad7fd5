//! `cargo xtask seeds` and `years`: the volume in simulated storms, and the watch in modelled years, by seed
//! (`crates/proof/examples`), built with optimization.

use crate::place;
use crate::test::PROFILE;
use anyhow::{Context, Result};
use std::process::Command;

/// Builds the example `seeds`, in the profile NAME if `--profile NAME` comes first (else in that of the tests), and runs it with all other arguments. It
/// uses one thread per core.
///
/// # Errors
/// When cargo, or the example, cannot be run.
pub fn run(arguments: &[String]) -> Result<bool> {
    example("seeds", arguments)
}

/// Builds the example `years` and runs it, with the same arguments as [`run`]: the watch in years of modelled hosts.
///
/// # Errors
/// When cargo, or the example, cannot be run.
pub fn years(arguments: &[String]) -> Result<bool> {
    example("years", arguments)
}

fn example(name: &str, arguments: &[String]) -> Result<bool> {
    let (profile, arguments) = match arguments {
        [flag, profile, rest @ ..] if flag == "--profile" => (profile.as_str(), rest),
        all => (PROFILE, all),
    };
    // Not `cargo run`: it takes one package, and rebuilds the dependencies with the features that this one needs.
    let build = ["build", "--quiet", "--profile", profile, "--workspace", "--example", name];
    let is_planted = arguments.iter().any(|argument| argument == "--planted");
    let features: &[&str] = if is_planted { &["--features", "scrubjay-proof/planted"] } else { &[] };
    if !Command::new("cargo").args(build).args(features).status().context("cannot run cargo")?.success() {
        return Ok(false);
    }
    let folder = if profile == "dev" { "debug" } else { profile };
    let built = place::target_folder().join(folder).join("examples").join(name);
    Ok(Command::new(&built).args(arguments).status().with_context(|| built.display().to_string())?.success())
}
