//! The packages that the project depends on: what cargo reports of them, and their licence files in its registry.

use super::expression::{Choice, choices};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Licences that are allowed in a program under MIT or Apache-2.0, and demand no more than a notice. The first one that a
/// package offers is chosen.
const ALLOWED: &[&str] = &[
    "Apache-2.0",
    "MIT",
    "ISC",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "Zlib",
    "bzip2-1.0.6",
    "0BSD", // has no conditions
    "Unicode-3.0",
    "CC0-1.0",
    "Apache-2.0 WITH LLVM-exception",
];

/// One third-party package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// Its name in `Cargo.toml`.
    pub name: String,
    /// Its version in `Cargo.toml`.
    pub version: String,
    /// Its licence expression in `Cargo.toml`.
    pub licence: String,
}

/// The packages in the output of `cargo tree --format {p}|{l}|`, each once, without those of this repository.
fn read(tree: &str) -> Result<Vec<Package>> {
    let mut packages = Vec::new();
    for line in tree.lines() {
        let mut fields = line.split('|');
        let (Some(package), Some(licence)) = (fields.next(), fields.next()) else { continue };
        let mut words = package.split(' ');
        let (name, version) = (words.next().unwrap_or_default(), words.next().and_then(|word| word.strip_prefix('v')));
        let version = version.with_context(|| format!("cargo tree says `{line}`"))?;
        let is_own = words.any(|word| word.starts_with("(/"));
        if !is_own {
            packages.push(Package { name: name.into(), version: version.into(), licence: licence.into() });
        }
    }
    packages.sort();
    packages.dedup();
    Ok(packages)
}

/// What `cargo tree` lists with these arguments, for a target (`all`: for any). Fetches from the registry what
/// is missing.
///
/// # Errors
/// When cargo fails.
pub fn packages(target: &str, arguments: &[&str]) -> Result<Vec<Package>> {
    let fixed = ["tree", "--locked", "--target", target, "--prefix", "none", "--format", "{p}|{l}|"];
    let output = Command::new("cargo").args(fixed).args(arguments).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr).trim());
    read(&String::from_utf8_lossy(&output.stdout))
}

impl Package {
    /// The licences under which it is used; `None`: none is allowed.
    pub fn chosen(&self) -> Option<Choice> {
        let rank = |choice: &Choice| -> Option<usize> {
            let ranks = choice.iter().map(|name| ALLOWED.iter().position(|allowed| allowed == name));
            ranks.collect::<Option<Vec<_>>>()?.into_iter().max()
        };
        let ranked = choices(&self.licence)?.into_iter().filter_map(|choice| rank(&choice).map(|rank| (rank, choice)));
        ranked.min_by_key(|(rank, _)| *rank).map(|(_, choice)| choice)
    }

    /// Its folder in cargo's registry.
    ///
    /// # Errors
    /// When it was not fetched yet.
    pub fn folder(&self) -> Result<PathBuf> {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))).context("no CARGO_HOME")?;
        let sources = home.join("registry/src");
        let registries = std::fs::read_dir(&sources).with_context(|| sources.display().to_string())?;
        let folders =
            registries.flatten().map(|registry| registry.path().join(format!("{}-{}", self.name, self.version)));
        folders
            .into_iter()
            .find(|folder| folder.is_dir())
            .with_context(|| format!("{} {} is not in {}: run cargo fetch", self.name, self.version, sources.display()))
    }

    /// The texts to be shipped, by file name: all, or where there was a choice those named for the chosen licence; and its
    /// notices. No text of the Apache License, which is the project's own, too.
    ///
    /// # Errors
    /// When a required text is missing, or cannot be read.
    pub fn texts(&self) -> Result<Vec<(String, String)>> {
        let chosen = self.chosen().with_context(|| format!("{}: {} is not allowed", self.name, self.licence))?;
        let files = files(&self.folder()?)?;
        let names = files.iter().map(|(name, _)| name.as_str());
        let wanted = wanted(&self.licence, &chosen, &names.collect::<Vec<_>>());
        let is_apache = is_apache(&chosen);
        ensure!(is_apache || !wanted.is_empty(), "{} {} has no licence text", self.name, self.version);
        Ok(files.into_iter().filter(|(name, _)| wanted.contains(name)).collect())
    }
}

/// Is it the Apache License alone?
pub fn is_apache(chosen: &Choice) -> bool {
    chosen.len() == 1 && chosen.contains("Apache-2.0")
}

/// Which of these files are to be shipped, for a package with this licence expression.
fn wanted(licence: &str, chosen: &Choice, names: &[&str]) -> Vec<String> {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let (notices, licences): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| is_notice(name));
    if is_apache(chosen) {
        return owned(&notices);
    }
    if choices(licence).is_some_and(|choices| choices.len() == 1) {
        return owned(names);
    }
    let short = |licence: &String| licence.split('-').next().unwrap_or_default().to_lowercase();
    let [only] = &chosen.iter().map(short).collect::<Vec<_>>()[..] else { return owned(names) };
    let named: Vec<&str> =
        licences.iter().copied().filter(|name| name.to_lowercase().contains(only.as_str())).collect();
    owned(&[if named.is_empty() { licences } else { named }, notices].concat())
}

fn is_notice(name: &str) -> bool {
    name.to_lowercase().starts_with("notice")
}

/// The files in a package's folder that are named like licences and notices, sorted by name.
fn files(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let (name, path) = entry.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))?;
        let starts = ["license", "licence", "copying", "copyright", "notice", "unlicense"];
        if starts.iter().any(|start| name.to_lowercase().starts_with(start)) && path.is_file() {
            files.push((name, String::from_utf8_lossy(&std::fs::read(&path)?).into_owned()));
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(licence: &str) -> Package {
        Package { name: "one".into(), version: "1.0.0".into(), licence: licence.into() }
    }

    #[test]
    fn third_party_packages_are_read_once_and_own_ones_not() {
        let tree = "scrubjay v0.1.0 (/x/crates/cli)|MIT|\none v1.0.0|MIT|\nmacro v2.0.0 (proc-macro)|ISC|\n\none v1.0.0|MIT| (*)\n";
        let names: Vec<String> =
            read(tree).unwrap().iter().map(|package| format!("{} {}", package.name, package.licence)).collect();
        assert_eq!(names, ["macro ISC", "one MIT"]);
        assert!(read("nonsense|MIT|").is_err());
    }

    #[test]
    fn an_allowed_choice_is_taken_and_all_licences_in_it_must_be_allowed() {
        let chosen = |licence: &str| package(licence).chosen().map(|choice| Vec::from_iter(choice).join("+"));
        assert_eq!(chosen("MIT OR Apache-2.0").as_deref(), Some("Apache-2.0"));
        assert_eq!(chosen("Unlicense OR MIT").as_deref(), Some("MIT"));
        assert_eq!(chosen("Apache-2.0 AND ISC").as_deref(), Some("Apache-2.0+ISC"));
        assert_eq!(chosen("GPL-3.0-only OR MIT").as_deref(), Some("MIT"));
        for refused in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "MPL-2.0", "", "see LICENSE"] {
            assert_eq!(chosen(refused), None, "{refused}");
        }
    }

    #[test]
    fn the_texts_of_the_chosen_licence_and_the_notices_are_shipped() {
        let wanted =
            |licence: &str, names: &[&str]| wanted(licence, &package(licence).chosen().unwrap(), names).join(" ");
        assert_eq!(wanted("MIT OR Apache-2.0", &["LICENSE-APACHE", "LICENSE-MIT"]), "");
        assert_eq!(wanted("Apache-2.0", &["LICENSE.txt", "NOTICE.txt"]), "NOTICE.txt");
        assert_eq!(wanted("Unlicense OR MIT", &["COPYING", "LICENSE-MIT", "UNLICENSE"]), "LICENSE-MIT");
        assert_eq!(wanted("MIT", &["LICENSE", "NOTICE"]), "LICENSE NOTICE");
        assert_eq!(wanted("BSD-3-Clause", &["LICENSE", "LICENSE.BSD-3-Clause"]), "LICENSE LICENSE.BSD-3-Clause");
        assert_eq!(wanted("Apache-2.0 AND ISC", &["LICENSE", "LICENSE-other-bits"]), "LICENSE LICENSE-other-bits");
    }
}
