//! Builds the programs for a target by zig, and their manual pages and completions.

use super::run::{output, succeed};
use super::target::{DistTarget, GLIBC, LinkedTo};
use super::tools;
use crate::place;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Replaces paths of this machine in the program, so that the bytes are the same wherever it is built.
const SOURCES: &str = "/usr/src/scrubjay";
/// Replaces the paths of packages from crates.io, too.
const DEPENDENCIES: &str = "/usr/src/cargo";
/// The researchers' program.
pub const LAB: &str = PACKAGES[1];
/// Its verbs, whose pages are in its package.
const LAB_VERBS: [&str; 4] = ["trace", "tune", "simulate", "study"];

/// The packages, each with a program of its name: of those who own disks, and of researchers.
pub const PACKAGES: [&str; 2] = ["scrubjay", "scrubjay-lab"];

/// What was built for a target.
pub struct Built {
    /// The target.
    pub target: &'static DistTarget,
    /// The target folder of cargo, which is not the one of other builds: the flags differ.
    pub cargo_folder: PathBuf,
    /// Where the programs lie, and `generated` beside them: manual pages and completions.
    pub folder: PathBuf,
}

impl Built {
    /// A program.
    pub fn program(&self, package: &str) -> PathBuf {
        self.folder.join(package)
    }
}

/// Builds the programs for a target, in the profile `dist`, without symbols.
///
/// # Errors
/// When a tool cannot be had, or the build fails, or the program asks for a newer C library than is promised.
pub fn build(target: &'static DistTarget) -> Result<Built> {
    let cargo_folder = place::target_folder().join("package");
    let mut command = command(target, &cargo_folder)?;
    succeed(
        command
            .args(["build", "--locked", "--profile", "dist"])
            .args(PACKAGES.map(|package| format!("--package={package}")))
            .arg("--target")
            .arg(target.for_zig()),
    )?;
    let folder = cargo_folder.join(target.triple).join("dist");
    let built = Built { target, cargo_folder, folder };
    for package in PACKAGES {
        check_glibc(&fs::read(built.program(package))?, target)?;
    }
    generate(&runnable(&built)?, &built.folder.join("generated"))?;
    Ok(built)
}

/// cargo-zigbuild with the environment of a build for this target.
fn command(target: &DistTarget, cargo_folder: &Path) -> Result<Command> {
    add_rust_library(target)?;
    let tools = tools::zig_folder()?;
    let mut command = Command::new(tools.join("cargo-zigbuild"));
    command.envs(environment(cargo_folder)?).env("CARGO_PROFILE_DIST_STRIP", "symbols").env("PATH", path_with(&tools)?);
    Ok(command)
}

/// The PATH with this folder before all others.
///
/// # Errors
/// A folder has a colon in its name.
pub fn path_with(folder: &Path) -> Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    Ok(std::env::join_paths(std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path)))?)
}

/// Fetches Rust's library for a target, where rustup manages the toolchain.
///
/// # Errors
/// It is not there, and there is no rustup.
pub fn add_rust_library(target: &DistTarget) -> Result<()> {
    let sysroot = PathBuf::from(output(Command::new("rustc").args(["--print", "sysroot"]))?);
    if sysroot.join("lib/rustlib").join(target.triple).join("lib").is_dir() {
        return Ok(());
    }
    succeed(Command::new("rustup").args(["target", "add", target.triple]))
        .with_context(|| format!("Rust's library for {} is not installed", target.triple))
}

/// The program that can be run here with the pages and completions of both: that one, or the one of this machine's own architecture.
fn runnable(built: &Built) -> Result<PathBuf> {
    if built.target.machine == std::env::consts::ARCH {
        return Ok(built.program(LAB));
    }
    let folder = place::target_folder();
    succeed(Command::new("cargo").args(["build", "--quiet", "--locked", "--profile", "smoke", "--package", LAB]))?;
    Ok(folder.join("smoke").join(LAB))
}

/// The environment of a build: the target folder, and flags that remove this machine's paths.
///
/// # Errors
/// Neither `CARGO_HOME` nor `HOME` is set.
pub fn environment(folder: &Path) -> Result<Vec<(&'static str, String)>> {
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

/// Makes the manual pages and completions of both programs, by the researchers' one.
///
/// # Errors
/// The program cannot be run, or a file cannot be written.
pub fn generate(program: &Path, folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?; // pages of verbs that no longer exist
    }
    fs::create_dir_all(folder)?;
    let (pages, of_lab) = (folder.join("man"), folder.join("man-lab"));
    succeed(Command::new(program).args(["generate", "man"]).arg(&pages))?;
    fs::create_dir_all(&of_lab)?;
    fs::write(of_lab.join("scrubjay-lab.1"), ".so man1/scrubjay.1\n")?;
    for page in fs::read_dir(&pages)?.collect::<Result<Vec<_>, _>>()? {
        let name = page.file_name().to_string_lossy().into_owned();
        let verb = name.trim_start_matches("scrubjay-").split(['-', '.']).next().unwrap_or_default();
        if LAB_VERBS.contains(&verb) {
            fs::rename(page.path(), of_lab.join(&name))?;
        }
    }
    succeed(Command::new("gzip").args(["-9nr"]).args([&pages, &of_lab]))?; // cargo-deb does not compress pages that were built
    for shell in ["bash", "zsh", "fish"] {
        let text = output(Command::new(program).args(["generate", "completions", shell]))?;
        fs::write(folder.join(format!("scrubjay.{shell}")), text + "\n")?;
    }
    Ok(())
}

/// Refuses a program that asks for a newer glibc than is promised, or for any where none is.
fn check_glibc(program: &[u8], target: &DistTarget) -> Result<()> {
    let newest = newest_glibc(program);
    match target.linked_to {
        LinkedTo::Nothing => ensure!(newest.is_none(), "{}: asks for glibc {newest:?}", target.triple),
        LinkedTo::Glibc => {
            ensure!(newest <= Some(GLIBC), "{}: asks for glibc {newest:?}, newer than {GLIBC:?}", target.triple);
        }
    }
    Ok(())
}

/// The newest version of glibc among the names of versioned symbols, `GLIBC_2.28`.
fn newest_glibc(program: &[u8]) -> Option<(u32, u32)> {
    const NAME: &[u8] = b"GLIBC_";
    let places = program.windows(NAME.len()).enumerate().filter(|(_, bytes)| *bytes == NAME);
    let version = |(place, _): (usize, &[u8])| {
        let rest = &program[place + NAME.len()..];
        let text =
            rest.iter().take_while(|c| c.is_ascii_digit() || **c == b'.').map(|&c| c as char).collect::<String>();
        let mut numbers = text.split('.').map(str::parse::<u32>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    };
    places.filter_map(version).max()
}

#[cfg(test)]
mod tests {
    use super::super::target::ALL;
    use super::*;

    #[test]
    fn compilers_get_flags_that_remove_the_paths_of_this_machine() {
        let environment = environment(Path::new("/x/target/package")).unwrap();
        let value = |wanted: &str| &environment.iter().find(|(name, _)| *name == wanted).unwrap().1;
        assert!(value("CARGO_ENCODED_RUSTFLAGS").contains(&format!("={}={SOURCES}\u{1f}", place::root().display())));
        assert!(value("CFLAGS").ends_with(&format!("={DEPENDENCIES}")));
    }

    #[test]
    fn a_program_that_asks_for_a_newer_c_library_is_refused() {
        let program = |names: &str| [b"\x7fELF\0".as_slice(), names.as_bytes()].concat();
        assert_eq!(newest_glibc(&program("GLIBC_2.9\0GLIBC_2.28\0GLIBC_2.2.5\0GLIBC_PRIVATE\0")), Some((2, 28)));
        assert!(check_glibc(&program("GLIBC_2.28\0"), &ALL[0]).is_ok());
        assert!(check_glibc(&program("GLIBC_2.34\0"), &ALL[0]).is_err());
        assert!(check_glibc(&program("musl"), &ALL[2]).is_ok());
        assert!(check_glibc(&program("GLIBC_2.17\0"), &ALL[2]).is_err(), "it is not static");
    }
}
