//! The static programs: each as one file, and both as an archive with pages, completions, units and documents, to be unpacked into
//! /usr/local.

use super::assets::assets;
use super::build::{Built, PACKAGES};
use super::run::{VERSION, moment, output, succeed};
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;

/// All of them, in `out`.
///
/// # Errors
/// A step fails.
pub fn make(built: &Built, out: &Path) -> Result<()> {
    let name = format!("scrubjay-{VERSION}-linux-{}", built.target.machine);
    for package in PACKAGES {
        let file = out.join(name.replacen("scrubjay", package, 1));
        fs::copy(built.program(package), &file)?;
        println!("{}", file.display());
    }
    let stage = built.folder.join("archive");
    if stage.exists() {
        fs::remove_dir_all(&stage)?;
    }
    let files = PACKAGES.into_iter().map(|package| assets(built, package)).collect::<Result<Vec<_>>>()?;
    for asset in files.into_iter().flatten() {
        let path = stage.join(&name).join(asset.path.strip_prefix("usr/").unwrap_or(&asset.path));
        fs::create_dir_all(path.parent().context("an asset lies in a folder")?)?;
        fs::copy(&asset.source, &path)?;
        succeed(Command::new("chmod").arg(&asset.mode).arg(&path))?;
    }
    let archive = out.join(format!("{name}.tar.gz"));
    pack(&stage, &archive)?;
    println!("{}", archive.display());
    Ok(())
}

/// Packs what lies in a folder, the same bytes each time: names in order, one owner, the time of the commit.
///
/// # Errors
/// There is no GNU tar, or no space.
pub fn pack(folder: &Path, archive: &Path) -> Result<()> {
    let plain = archive.with_extension("");
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"])
        .arg(format!("--mtime=@{}", moment()?));
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>>>()?;
    let mut names: Vec<_> = names;
    names.sort();
    succeed(tar.arg("-cf").arg(&plain).arg("-C").arg(folder).args(names))?;
    output(Command::new("gzip").args(["-9nf"]).arg(&plain)).map(drop)
}
