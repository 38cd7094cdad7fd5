//! The programs that packages are made with: the user's, or what is fetched into `target/tools`.

use super::run::{output, succeed};
use crate::place;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A tool from crates.io. It is compiled once, in a minute or two.
pub struct CargoTool {
    /// Its name, there and as a program.
    pub name: &'static str,
    /// The version that is installed if there is none.
    pub version: &'static str,
    /// How the version of any that will do begins.
    major: &'static str,
}

/// Makes Debian packages by what Cargo.toml says.
pub const CARGO_DEB: CargoTool = CargoTool { name: "cargo-deb", version: "3.8.0", major: " 3." };
/// Makes packages for rpm in the same way.
pub const CARGO_GENERATE_RPM: CargoTool = CargoTool { name: "cargo-generate-rpm", version: "0.21.1", major: " 0.2" };

fn folder() -> PathBuf {
    place::target_folder().join("tools")
}

impl CargoTool {
    /// Is it there?
    pub fn is_there(&self) -> bool {
        self.found().is_some()
    }

    fn found(&self) -> Option<PathBuf> {
        let says = |program: &Path| {
            let mut command = Command::new(program);
            command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
            output(&mut command).is_ok_and(|version| format!(" {version}").contains(self.major))
        };
        [PathBuf::from(self.name), folder().join("bin").join(self.name)].into_iter().find(|program| says(program))
    }

    /// Its path. Installs it if there is none.
    ///
    /// # Errors
    /// It cannot be installed.
    pub fn path(&self) -> Result<PathBuf> {
        if let Some(found) = self.found() {
            return Ok(found);
        }
        let mut install = Command::new("cargo");
        install.args(["install", self.name, "--version", self.version, "--locked", "--force", "--root"]).arg(folder());
        succeed(&mut install).with_context(|| format!("cannot install {}", self.name))?;
        Ok(folder().join("bin").join(self.name))
    }
}

/// A folder of programs from PyPI, with the versions and hashes of `packaging/tools.txt`: zig, cargo-zigbuild and maturin.
///
/// # Errors
/// There is no Python that makes environments, or no registry.
pub fn zig_folder() -> Result<PathBuf> {
    let (venv, list) = (folder().join("venv"), place::root().join("packaging/tools.txt"));
    let installed = venv.join("tools.txt");
    let wanted = std::fs::read(&list).with_context(|| list.display().to_string())?;
    if std::fs::read(&installed).ok().as_ref() != Some(&wanted) {
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&venv))
            .context("on Debian: apt-get install python3-venv")?;
        succeed(
            Command::new(venv.join("bin/pip"))
                .args(["--quiet", "--disable-pip-version-check", "install", "--require-hashes", "--no-deps", "-r"])
                .arg(&list),
        )?;
        std::fs::write(&installed, wanted)?;
    }
    Ok(venv.join("bin"))
}

/// Says what is about to be fetched and compiled, before it begins.
pub fn announce(products: &[String]) {
    eprintln!(
        "cargo xtask dist: compiles all for each target, with full optimization: some ten minutes each on two cores, 3 GiB of memory, 2 GiB of disk."
    );
    eprintln!(
        "It fetches zig, cargo-zigbuild and maturin from PyPI (190 MB, once), and by rustup Rust's library for each target."
    );
    for (product, tool) in [("deb", CARGO_DEB), ("rpm", CARGO_GENERATE_RPM)] {
        if products.iter().any(|wanted| wanted == product) && !tool.is_there() {
            eprintln!("It also fetches and compiles {} {} (a minute or two).", tool.name, tool.version);
        }
    }
    eprintln!("All of it goes to {}; nothing is installed on this machine.", folder().display());
}
