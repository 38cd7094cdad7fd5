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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::path::PathBuf;

    /// A folder that is removed with the value.
    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// The command of docs/install.md.
    fn verifies(out: &Path, signers: &Path) -> bool {
        let mut verify = Command::new("ssh-keygen");
        verify.args(["-Y", "verify", "-I", "release", "-n", NAMESPACE, "-f"]).arg(signers);
        verify.arg("-s").arg(out.join(format!("{LIST}.sig"))).stdin(File::open(out.join(LIST)).unwrap());
        verify.output().unwrap().status.success()
    }

    #[test]
    fn a_list_is_signed_by_its_key_and_a_changed_one_is_refused() {
        let folder = Folder(std::env::temp_dir().join(format!("scrubjay-sums-{}", std::process::id())));
        let out = folder.0.join("dist");
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join("a.deb"), "a package").unwrap();
        // A key for this test, without a passphrase.
        let key = folder.0.join("key");
        let make_key = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status();
        assert!(make_key.expect("ssh-keygen (Debian: openssh-client)").success());
        make(&out, Some(&key)).unwrap();
        let signers = folder.0.join("allowed_signers");
        let public = fs::read_to_string(key.with_extension("pub")).unwrap();
        fs::write(&signers, format!("release {public}")).unwrap();
        assert!(verifies(&out, &signers));
        let list = fs::read_to_string(out.join(LIST)).unwrap();
        assert!(list.ends_with("  a.deb\n") && list.len() == 64 + 8, "{list}");
        fs::write(out.join(LIST), list.replace("a.deb", "b.deb")).unwrap();
        assert!(!verifies(&out, &signers), "another list");
    }
}
