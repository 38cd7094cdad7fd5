//! The files of a package: the list in its `Cargo.toml` that cargo-deb reads, and the service, for the other kinds of package.

use super::build::Built;
use super::run::output;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asset {
    /// Its path in a system, without the first slash.
    pub path: String,
    /// Where it lies now.
    pub source: PathBuf,
    /// Its permissions, in octal digits.
    pub mode: String,
}

impl Asset {
    /// Is it of those that a user changes?
    pub fn is_settings(&self) -> bool {
        self.path.starts_with("etc/")
    }
}

/// All files of the package of this name, sorted by path.
///
/// # Errors
/// The list cannot be read, or names a file that is not there.
pub fn assets(built: &Built, name: &str) -> Result<Vec<Asset>> {
    let text = output(Command::new("cargo").args(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array().context("cargo metadata")?;
    let package = packages
        .iter()
        .find(|package| package["name"] == name)
        .with_context(|| format!("there is no package {name}"))?;
    let manifest = Path::new(package["manifest_path"].as_str().context("a package has a manifest")?);
    let folder = manifest.parent().context("a manifest lies in a folder")?;
    let rows = package["metadata"]["deb"]["assets"].as_array().with_context(|| format!("{name} has no assets"))?;
    let mut assets = Vec::new();
    for row in rows {
        let word = |index: usize| row[index].as_str().context("an asset has three words");
        assets.extend(expand(folder, &built.folder, word(0)?, word(1)?, word(2)?)?);
    }
    if !package["metadata"]["deb"]["systemd-units"].is_null() {
        // cargo-deb takes it from another list.
        let unit = "../../packaging/systemd/scrubjay.service";
        assets.extend(expand(folder, &built.folder, unit, "usr/lib/systemd/system/", "644")?);
    }
    assets.sort();
    Ok(assets)
}

/// The files of a row: a `*` stands for all names there, and a target that ends with `/` is a folder.
fn expand(manifest: &Path, folder: &Path, source: &str, target: &str, mode: &str) -> Result<Vec<Asset>> {
    let source = match source.strip_prefix("target/release/") {
        Some(built) => folder.join(built),
        None => manifest.join(source),
    };
    let name = source.file_name().and_then(|name| name.to_str()).context("an asset has a name")?.to_owned();
    let (begin, end) = name.split_once('*').unwrap_or((&name, ""));
    let is_pattern = name.contains('*');
    let mut found = Vec::new();
    for entry in std::fs::read_dir(source.parent().context("an asset lies in a folder")?)? {
        let entry = entry?;
        let file = entry.file_name().to_string_lossy().into_owned();
        let is_meant = if is_pattern { file.starts_with(begin) && file.ends_with(end) } else { file == name };
        if is_meant && entry.path().is_file() {
            let path = if target.ends_with('/') { format!("{target}{file}") } else { target.to_owned() };
            found.push(Asset { path, source: entry.path(), mode: mode.to_owned() });
        }
    }
    ensure!(!found.is_empty(), "{}: no such file", source.display());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place;

    #[test]
    fn a_star_stands_for_names_and_a_slash_for_a_folder() {
        let root = place::root();
        let expand = |source: &str, target: &str| expand(&root.join("crates/cli"), &root, source, target, "644");
        let paths = |assets: Vec<Asset>| assets.into_iter().map(|asset| asset.path).collect::<Vec<_>>();
        assert_eq!(
            paths(expand("../../README.md", "usr/share/doc/scrubjay/").unwrap()),
            ["usr/share/doc/scrubjay/README.md"]
        );
        assert_eq!(paths(expand("../../README.md", "a/b").unwrap()), ["a/b"]);
        let documents = paths(expand("../../docs/*.md", "docs/").unwrap());
        assert!(
            documents.contains(&"docs/install.md".to_owned()) && documents.iter().all(|path| path.ends_with(".md"))
        );
        assert!(expand("../../NOSUCH", "a/").is_err());
    }
}
