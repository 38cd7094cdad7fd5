//! `cargo xtask deb`: the Debian package, made by cargo-deb as `crates/cli/Cargo.toml` specifies.
//!
//! Its program is linked to the system's C library, not statically: a static program resolves names by modules of the C
//! library it was built with, and crashes where there is another one (docs/decisions.md, "Packages").

use crate::place;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The version of cargo-deb that is installed if there is none.
const CARGO_DEB: &str = "3.8.0";
/// The changelog, whose first line names the version of the package.
const CHANGELOG: &str = "packaging/changelog";
/// Replaces paths of this machine in the program, so that the bytes are the same wherever it is built.
const SOURCES: &str = "/usr/src/scrubjay";
/// Replaces the paths of packages from crates.io, too.
const DEPENDENCIES: &str = "/usr/src/cargo";

/// The script that tests the package; its head lists its requirements.
const TEST: &str = "tests/lab/deb.sh";

/// Builds `target/debian/*.deb`, and prints its path; with `--test`, tests it afterwards.
///
/// # Errors
/// When there is another argument, or a step fails.
pub fn run(arguments: &[String]) -> Result<bool> {
    let is_tested = match arguments {
        [] => false,
        [option] if option == "--test" => true,
        _ => bail!("what is {}? There is only --test", arguments.join(" ")),
    };
    check_version(&fs::read_to_string(CHANGELOG).context(CHANGELOG)?, env!("CARGO_PKG_VERSION"))?;
    let target = place::target_folder();
    announce(&target);
    let tools = target.join("tools");
    let cargo_deb = cargo_deb(&tools)?;
    // A folder of its own: its flags differ, so in a shared one it would be rebuilt after each other build.
    let folder = target.join("package");
    let moment = output(Command::new("git").args(["log", "-1", "--format=%ct"]))?;
    let environment = environment(&folder)?;
    let in_environment = |program: &Path| {
        let mut command = Command::new(program);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command
    };

    let mut build = in_environment(Path::new("cargo"));
    succeed(build.args(["build", "--locked", "--profile", "dist", "--package", "scrubjay"]))?;
    generate(&folder.join("dist/scrubjay"), &folder.join("dist/generated"))?;
    let packages = target.join("debian");
    fs::create_dir_all(&packages)?;
    let mut pack = in_environment(&cargo_deb);
    // For cargo-deb only: with another date, the build would recompile all C sources.
    pack.env("SOURCE_DATE_EPOCH", moment);
    // --package, because the metadata are in the manifest of crates/cli.
    pack.args(["--package", "scrubjay", "--profile", "dist", "--no-build", "--locked", "--strip", "--output"])
        .arg(&packages);
    let text = output(pack.stderr(Stdio::inherit()))?;
    println!("{text}");
    if !is_tested {
        return Ok(true);
    }
    let package = text.lines().last().context("cargo-deb says no path")?;
    Ok(Command::new(TEST).arg(package).status().context(TEST)?.success())
}

/// Says what is about to be fetched and compiled, and what that takes, before it begins.
fn announce(target: &Path) {
    let first = if target.join("package/dist/scrubjay").exists() {
        "compiles what has changed since the last package: up to five minutes on two cores"
    } else {
        "compiles all, with full optimization: some ten minutes on two cores, 3 GiB of memory, 2 GiB of disk"
    };
    eprintln!("cargo xtask deb: {first}.");
    let is_there =
        Command::new("cargo-deb").arg("--version").output().is_ok() || target.join("tools/bin/cargo-deb").exists();
    if !is_there {
        eprintln!(
            "It also fetches and compiles cargo-deb {CARGO_DEB} into {} (a minute or two).",
            target.join("tools").display()
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

/// Path of cargo-deb: the user's, or one that is installed below `tools`.
fn cargo_deb(tools: &Path) -> Result<PathBuf> {
    let is_there = |program: &Path| {
        let mut command = Command::new(program);
        command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
        output(&mut command).is_ok_and(|version| version.contains(" 3."))
    };
    let installed = tools.join("bin/cargo-deb");
    for program in [PathBuf::from("cargo-deb"), installed.clone()] {
        if is_there(&program) {
            return Ok(program);
        }
    }
    let mut install = Command::new("cargo");
    install.args(["install", "cargo-deb", "--version", CARGO_DEB, "--locked", "--force", "--root"]).arg(tools);
    succeed(&mut install).context("cannot install cargo-deb")?;
    Ok(installed)
}

/// The environment of the build and of cargo-deb: the target folder, and flags that remove this machine's paths.
fn environment(folder: &Path) -> Result<Vec<(&'static str, String)>> {
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")));
    let home = home.context("neither CARGO_HOME nor HOME is set")?;
    let root = place::root();
    let pairs = [(root.display().to_string(), SOURCES), (home, DEPENDENCIES)];
    // Separated as cargo requires, because paths may contain spaces. (In CFLAGS they may not.)
    let rust: Vec<String> = pairs.iter().map(|(from, to)| format!("--remap-path-prefix={from}={to}")).collect();
    let c: Vec<String> = pairs.iter().map(|(from, to)| format!("-ffile-prefix-map={from}={to}")).collect();
    Ok(vec![
        ("CARGO_TARGET_DIR", folder.display().to_string()),
        ("CARGO_ENCODED_RUSTFLAGS", rust.join("\u{1f}")),
        ("CFLAGS", c.join(" ")),
    ])
}

/// Makes the manual pages and completions, by the program itself.
fn generate(program: &Path, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?; // pages of verbs that no longer exist
    }
    fs::create_dir_all(folder)?;
    let pages = folder.join("man");
    succeed(Command::new(program).args(["generate", "man"]).arg(&pages))?;
    succeed(Command::new("gzip").args(["-9nr"]).arg(&pages))?; // cargo-deb does not compress pages that were built
    for shell in ["bash", "zsh", "fish"] {
        let text = output(Command::new(program).args(["generate", "completions", shell]))?;
        fs::write(folder.join(format!("scrubjay.{shell}")), text + "\n")?;
    }
    Ok(())
}

/// Runs a command; it is an error if that fails.
fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

/// Runs a command, and returns its trimmed output; it is an error if that fails.
fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {} {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
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

    #[test]
    fn compilers_get_flags_that_remove_the_paths_of_this_machine() {
        let environment = environment(Path::new("/x/target/package")).unwrap();
        let value = |wanted: &str| &environment.iter().find(|(name, _)| *name == wanted).unwrap().1;
        assert!(value("CARGO_ENCODED_RUSTFLAGS").contains(&format!("={}={SOURCES}\u{1f}", place::root().display())));
        assert!(value("CFLAGS").ends_with(&format!("={DEPENDENCIES}")));
    }
}
