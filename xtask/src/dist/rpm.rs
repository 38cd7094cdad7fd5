//! The package for rpm, made by cargo-generate-rpm: the files are those of the Debian package.

use super::assets::{Asset, assets};
use super::build::{self, Built};
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

/// The package of a target, in `out`.
///
/// # Errors
/// A step fails.
pub fn make(built: &Built, out: &Path) -> Result<()> {
    let metadata = built.folder.join("rpm.toml");
    fs::write(&metadata, text(&assets(built)?)?)?;
    let mut command = Command::new(CARGO_GENERATE_RPM.path()?);
    command.envs(build::environment(&built.cargo_folder)?).args(["--package", "crates/cli", "--profile", "dist"]);
    command.args(["--target", built.target.triple, "--auto-req", "disabled", "--payload-compress", "xz"]);
    command.args(["--source-date", &moment()?]).arg("--metadata-overwrite").arg(&metadata);
    let package = out.join(format!("scrubjay-{VERSION}-1.{}.rpm", built.target.machine));
    succeed(command.arg("--output").arg(&package))?;
    println!("{}", package.display());
    Ok(())
}

/// What cargo-generate-rpm is told, in its words.
fn text(assets: &[Asset]) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "name = \"scrubjay\"\nlicense = \"MIT OR Apache-2.0\"{SCRIPTS}")?;
    writeln!(text, "[requires]\nglibc = \">= {}.{}\"\n\"(shadow-utils or shadow)\" = \"*\"", GLIBC.0, GLIBC.1)?;
    writeln!(text, "[recommends]\nsmartmontools = \"*\"")?;
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
        let text = text(&[asset("etc/scrubjay/config.toml"), asset("usr/bin/scrubjay")]).unwrap();
        assert_eq!(text.matches("noreplace").count(), 1);
        assert!(text.contains("glibc = \">= 2.28\"") && text.contains("dest = \"/usr/bin/scrubjay\""));
    }
}
