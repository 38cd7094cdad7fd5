//! Benchmarks, and what they have in common. Nothing here decides whether a test passes.

pub mod budget;
pub mod scrub;
pub mod traces;

use crate::place::target_folder;
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::process::Command;

/// Sorts the numbers, and returns the one in the middle.
fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Builds with cargo in release mode.
fn build(arguments: &[&str]) -> Result<()> {
    let built = Command::new("cargo").args(["build", "--quiet", "--release"]).args(arguments).status()?;
    ensure!(built.success(), "cargo build --release {} fails", arguments.join(" "));
    Ok(())
}

/// Runs a command, and returns its output.
///
/// # Errors
/// When it cannot be run, or fails.
fn output_of(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| name.clone())?;
    ensure!(output.status.success(), "{name}: {}{}", output.status, String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// The first number that follows `key` in a text, JSON or not.
fn number_after(text: &str, key: &str) -> Option<f64> {
    let rest = text.split_once(key)?.1.trim_start();
    let end = rest.find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+' | 'e' | 'E')).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A file or folder; dropping it removes it.
struct Scratch(PathBuf);

impl Scratch {
    fn folder(name: &str) -> Result<Scratch> {
        let path = target_folder().join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: it lies in the target folder, which `cargo clean` empties.
        let _ = if self.0.is_dir() { std::fs::remove_dir_all(&self.0) } else { std::fs::remove_file(&self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_three_is_the_middle_one() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
    }

    #[test]
    fn a_number_is_found_behind_its_key() {
        assert_eq!(number_after(r#"{"a":1,"seconds": 12.5e-1,"b":2}"#, "\"seconds\":"), Some(1.25));
        assert_eq!(number_after("median 0.250 s", "median"), Some(0.25));
        assert_eq!(number_after(r#"{"a":1}"#, "\"seconds\":"), None);
    }
}
