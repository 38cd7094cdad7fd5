//! The Debian packages, made by cargo-deb as `crates/cli/Cargo.toml` and `crates/lab/Cargo.toml` specify: of this machine (`cargo xtask deb`), or for users (`dist`).
//!
//! Its program is linked to the system's C library: that one knows the system's ways to look names up (docs/decisions.md, "Packages").

use super::build::{self, Built, LAB, PACKAGES};
use super::run::{moment, output, succeed};
use super::tools::CARGO_DEB;
use crate::place;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The changelog, whose first line names the version of the package.
const CHANGELOG: &str = "packaging/changelog";
/// The script that tests the package; its head lists its requirements.
const TEST: &str = "tests/lab/deb.sh";

/// `cargo xtask deb`: builds `target/debian/*.deb` with this machine's own compiler, and prints its path; with `--test`, tests it
/// afterwards.
///
/// # Errors
/// When there is another argument, or a step fails.
pub fn run(arguments: &[String]) -> Result<bool> {
    let is_tested = match arguments {
        [] => false,
        [option] if option == "--test" => true,
        _ => bail!("what is {}? There is only --test", arguments.join(" ")),
    };
    let target = place::target_folder();
    announce(&target);
    // A folder of its own: its flags differ, so in a shared one it would be rebuilt after each other build.
    let folder = target.join("package");
    let mut build = Command::new("cargo");
    build.envs(build::environment(&folder)?);
    let packages = PACKAGES.map(|package| format!("--package={package}"));
    succeed(build.args(["build", "--locked", "--profile", "dist"]).args(packages))?;
    build::generate(&folder.join("dist").join(LAB), &folder.join("dist/generated"))?;
    pack(LAB, &folder, &["--strip"], &target.join("debian"))?;
    let text = pack("scrubjay", &folder, &["--strip"], &target.join("debian"))?;
    if !is_tested {
        return Ok(true);
    }
    let package = text.lines().last().context("cargo-deb says no path")?;
    Ok(Command::new(TEST).arg(package).status().context(TEST)?.success())
}

/// The packages of a target, in `out`.
///
/// # Errors
/// A step fails.
pub fn make(built: &Built, out: &Path) -> Result<()> {
    // Their needs are stated, not asked of this machine's packages. The programs have no symbols any more.
    let options = ["--target", built.target.triple, "--variant", "dist", "--no-strip"];
    PACKAGES.into_iter().try_for_each(|package| pack(package, &built.cargo_folder, &options, out).map(drop))
}

/// Runs cargo-deb on what was built below `folder`; prints and returns what it says.
fn pack(package: &str, folder: &Path, options: &[&str], out: &Path) -> Result<String> {
    check_version(&fs::read_to_string(CHANGELOG).context(CHANGELOG)?, env!("CARGO_PKG_VERSION"))?;
    fs::create_dir_all(out)?;
    let mut pack = Command::new(CARGO_DEB.path()?);
    // The date is for cargo-deb only: with another date, the build would recompile all C sources.
    pack.envs(build::environment(folder)?).env("SOURCE_DATE_EPOCH", moment()?);
    pack.args(["--package", package, "--profile", "dist", "--no-build", "--locked"]).args(options);
    let text = output(pack.arg("--output").arg(out).stderr(Stdio::inherit()))?;
    println!("{text}");
    Ok(text)
}

/// Says what is about to be fetched and compiled, and what that takes, before it begins.
fn announce(target: &Path) {
    let first = if target.join("package/dist/scrubjay").exists() {
        "compiles what has changed since the last package: up to five minutes on two cores"
    } else {
        "compiles all, with full optimization: some ten minutes on two cores, 3 GiB of memory, 2 GiB of disk"
    };
    eprintln!("cargo xtask deb: {first}.");
    if !CARGO_DEB.is_there() {
        let place = target.join("tools");
        eprintln!(
            "It also fetches and compiles {} {} into {} (a minute or two).",
            CARGO_DEB.name,
            CARGO_DEB.version,
            place.display()
        );
    }
    eprintln!(
        "It needs a C compiler, git and gzip, and crates.io for what is not fetched yet; nothing is installed on this machine."
    );
}

/// Checks that the package's changelog begins with this version: `scrubjay (0.1.0-1) ...`.
fn check_version(changelog: &str, version: &str) -> Result<()> {
    let packaged =
        changelog.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(packaged, _)| packaged);
    let is_same = packaged.rsplit_once('-').is_some_and(|(upstream, _)| upstream == version);
    ensure!(is_same, "{CHANGELOG} begins with version {packaged}, but Cargo.toml has {version}: write an entry");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changelog_of_the_package_must_begin_with_the_version() {
        assert!(check_version("scrubjay (0.1.0-1) unstable; urgency=medium\n", "0.1.0").is_ok());
        for other in ["scrubjay (0.2.0-1) unstable\n", "scrubjay (0.1.0) unstable\n", ""] {
            assert!(check_version(other, "0.1.0").is_err(), "{other:?}");
        }
    }
}
