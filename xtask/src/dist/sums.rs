//! The list of SHA-256 sums of all that was made, and its signature by an SSH key, which every machine can check without another tool.

use super::run::succeed;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The list's name.
const LIST: &str = "SHA256SUMS";
/// What the signature is for: `ssh-keygen -Y verify -n` asks for the same word.
const NAMESPACE: &str = "scrubjay-release";

/// Writes the list in `out`, and signs it if there is a key.
///
/// # Errors
/// Nothing was made; sha256sum or ssh-keygen fails.
pub fn make(out: &Path, key: Option<&Path>) -> Result<()> {
    let mut names = fs::read_dir(out)?.map(|entry| Ok(entry?.file_name())).collect::<Result<Vec<_>>>()?;
    ensure!(!names.is_empty(), "nothing was made: no target makes what --only names");
    names.sort();
    let sums = Command::new("sha256sum").current_dir(out).arg("--").args(&names).output().context("sha256sum")?;
    ensure!(sums.status.success(), "sha256sum: {}", sums.status);
    fs::write(out.join(LIST), &sums.stdout)?;
    print!("{}", String::from_utf8_lossy(&sums.stdout));
    let Some(key) = key else {
        println!("{LIST} is not signed: --sign KEY does it, with a private key of OpenSSH");
        return Ok(());
    };
    let mut sign = Command::new("ssh-keygen");
    succeed(sign.args(["-q", "-Y", "sign", "-n", NAMESPACE, "-f"]).arg(key).arg(out.join(LIST)))?;
    println!("{}", out.join(format!("{LIST}.sig")).display());
    Ok(())
}
