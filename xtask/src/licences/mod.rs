//! `cargo xtask licences` and `cargo xtask notices`: all dependencies have allowed licences, come from crates.io, and are
//! listed in NOTICES.

mod expression;
pub mod package;

use anyhow::{Context, Result};
use package::{Package, is_apache, packages};
use std::fmt::Write;

/// The file of licence texts that is shipped with the program.
const NOTICES: &str = "NOTICES";
/// The target whose packages are listed; the others that are given to users have the same.
pub const SHIPPED_FOR: &str = "x86_64-unknown-linux-gnu";
/// The only allowed source of packages.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// The file that states the sources of packages.
const LOCK: &str = "Cargo.lock";

const HEAD: &str = "\
Scrubjay is licensed under MIT or Apache-2.0, at your option (LICENSE-MIT, LICENSE-APACHE). The program holds the Rust
packages of others that are named here, and the standard library of Rust (copyright the Rust Project contributors, used
under the Apache License 2.0). Written by `cargo xtask notices` from the packages' own files.

Used under the Apache License 2.0, whose text is in LICENSE-APACHE:

";

/// Checks the licences of everything that is built, tests and tools included; its sources; and whether the notices are
/// those of the packages shipped. True when there are no findings.
///
/// # Errors
/// When cargo fails, or a file cannot be read.
pub fn run(_arguments: &[String]) -> Result<bool> {
    let all = packages(SHIPPED_FOR, &["--workspace", "--edges", "normal,build,dev"])?;
    let mut findings: Vec<String> = all
        .iter()
        .filter(|package| package.chosen().is_none())
        .map(|Package { name, version, licence }| format!("{name} {version}: the licence `{licence}` is not allowed"))
        .collect();
    let text = std::fs::read_to_string(LOCK).context(LOCK)?;
    findings.extend(foreign_sources(&text).into_iter().map(|(line, source)| format!("{LOCK}:{line}: {source}")));
    if findings.is_empty() && std::fs::read_to_string(NOTICES).ok().as_deref() != Some(&notices(&shipped()?)?) {
        findings.push(format!("{NOTICES} is not what the packages shipped say: run cargo xtask notices"));
    }
    findings.iter().for_each(|finding| println!("{finding}"));
    println!("licences: {} packages, {} findings", all.len(), findings.len());
    Ok(findings.is_empty())
}

/// Writes the notices.
///
/// # Errors
/// When a package has no licence text, or cargo fails.
pub fn write(_arguments: &[String]) -> Result<bool> {
    let shipped = shipped()?;
    std::fs::write(NOTICES, notices(&shipped)?).context(NOTICES)?;
    println!("{NOTICES}: {} packages", shipped.len());
    Ok(true)
}

/// The packages linked into the program: without those for tests, or for the build only.
fn shipped() -> Result<Vec<Package>> {
    packages(SHIPPED_FOR, &["--package", "scrubjay", "--package", "scrubjay-lab", "--edges", "normal,no-proc-macro"])
}

/// The lines of a lock file that name another source than crates.io.
fn foreign_sources(lock: &str) -> Vec<(usize, String)> {
    let lines = lock.lines().enumerate().filter_map(|(index, line)| Some((index + 1, line.strip_prefix("source = ")?)));
    let foreign = lines.filter(|(_, source)| source.trim_matches('"') != SOURCE);
    foreign.map(|(line, source)| (line, format!("{source} is not crates.io"))).collect()
}

/// The notices of these packages.
fn notices(packages: &[Package]) -> Result<String> {
    let (mut text, mut rest) = (HEAD.to_owned(), String::new());
    for package in packages {
        let is_apache = package.chosen().is_some_and(|chosen| is_apache(&chosen));
        if is_apache {
            writeln!(text, "  {} {}", package.name, package.version)?;
        }
        for (name, lines) in package.texts()? {
            writeln!(
                rest,
                "\n{}\n{} {} ({}): {name}\n",
                "=".repeat(80),
                package.name,
                package.version,
                package.licence
            )?;
            lines.trim().lines().try_for_each(|line| writeln!(rest, "{}", line.replace('\t', "    ").trim_end()))?;
        }
    }
    Ok(text + &rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_from_other_sources_than_crates_io_are_found() {
        let lock = format!("[[package]]\nname = \"a\"\nsource = \"{SOURCE}\"\n\n[[package]]\nname = \"ours\"\n");
        assert_eq!(foreign_sources(&lock), []);
        let git = "source = \"git+https://example.org/a\"\n";
        let found = (7, "\"git+https://example.org/a\" is not crates.io".to_owned());
        assert_eq!(foreign_sources(&format!("{lock}{git}")), [found]);
    }
}
