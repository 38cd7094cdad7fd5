//! The packages for rpm, made by cargo-generate-rpm: the files are those of the Debian packages.

use super::assets::{Asset, assets};
use super::build::{self, Built, LAB, PACKAGES};
use super::run::{VERSION, moment, succeed};
use super::target::GLIBC;
use super::tools::CARGO_GENERATE_RPM;
use anyhow::Result;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What runs when the package is installed and removed: two groups as in the Debian package, and systemd. Nothing is enabled or started;
/// an upgrade restarts what runs.
const SCRIPTS: &str = r#"
pre_install_script = "for group in scrubjay-page scrubjay; do getent group $group >/dev/null || groupadd --system $group || :; done"
post_install_script = """
systemctl daemon-reload >/dev/null 2>&1 || :
if [ "$1" -eq 1 ]; then
  echo 'Scrubjay is installed, and does nothing yet. Next: scrubjay doctor; systemctl enable --now scrubjay scrubjay-web; scrubjay setup'
  echo '/usr/share/doc/scrubjay/docs/install.md has more.'
fi
"""
pre_uninstall_script = """
[ "$1" -ne 0 ] || systemctl --no-reload disable --now scrubjay.service scrubjay-web.service scrubjay-check.timer >/dev/null 2>&1 || :
"""
post_uninstall_script = """
systemctl daemon-reload >/dev/null 2>&1 || :
[ "$1" -eq 0 ] || systemctl try-restart scrubjay.service scrubjay-web.service >/dev/null 2>&1 || :
"""
"#;

/// The packages of a target, in `out`.
///
/// # Errors
/// A step fails.
pub fn make(built: &Built, out: &Path) -> Result<()> {
    PACKAGES.into_iter().try_for_each(|package| make_one(built, package, out))
}

fn make_one(built: &Built, name: &str, out: &Path) -> Result<()> {
    let metadata = built.folder.join(format!("{name}.rpm.toml"));
    fs::write(&metadata, text(name, &assets(built, name)?)?)?;
    let mut command = Command::new(CARGO_GENERATE_RPM.path()?);
    let folder = if name == LAB { "crates/lab" } else { "crates/cli" };
    command.envs(build::environment(&built.cargo_folder)?).args(["--package", folder, "--profile", "dist"]);
    command.args(["--target", built.target.triple, "--auto-req", "disabled", "--payload-compress", "xz"]);
    command.args(["--source-date", &moment()?]).arg("--metadata-overwrite").arg(&metadata);
    let package = out.join(format!("{name}-{VERSION}-1.{}.rpm", built.target.machine));
    succeed(command.arg("--output").arg(&package))?;
    println!("{}", package.display());
    Ok(())
}

/// What cargo-generate-rpm is told, in its words.
fn text(name: &str, assets: &[Asset]) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "name = \"{name}\"\nlicense = \"MIT OR Apache-2.0\"")?;
    let glibc = format!("[requires]\nglibc = \">= {}.{}\"", GLIBC.0, GLIBC.1);
    if name == LAB {
        writeln!(text, "{glibc}\nscrubjay = \"*\"")?;
    } else {
        writeln!(text, "{SCRIPTS}\n{glibc}\n\"(shadow-utils or shadow)\" = \"*\"")?;
        writeln!(text, "[recommends]\nsmartmontools = \"*\"")?;
    }
    for asset in assets {
        writeln!(
            text,
            "[[assets]]\nsource = {:?}\ndest = \"/{}\"\nmode = \"{}\"",
            asset.source, asset.path, asset.mode
        )?;
        if asset.is_settings() {
            writeln!(text, "config = \"noreplace\"")?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_were_changed_are_kept() {
        let asset = |path: &str| Asset { path: path.into(), source: "/x".into(), mode: "644".into() };
        let text = text("scrubjay", &[asset("etc/scrubjay/config.toml"), asset("usr/bin/scrubjay")]).unwrap();
        assert_eq!(text.matches("noreplace").count(), 1);
        assert!(text.contains("glibc = \">= 2.28\"") && text.contains("dest = \"/usr/bin/scrubjay\""));
    }
}
