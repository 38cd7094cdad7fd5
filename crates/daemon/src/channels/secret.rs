//! Secrets: read from files that only their owner can read, and never shown.

use super::error::ChannelFault;
use super::fingerprint::FingerprintMaker;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Bytes of a file, at most: passwords, tokens and certificates are shorter.
const FILE_MAX: u64 = 1 << 20;

/// A password or a token.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretText(String);

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl SecretText {
    /// Reads the one line of a file that only its owner can read.
    pub(crate) fn read(key: &'static str, path: &Path) -> Result<SecretText, ChannelFault> {
        let (bytes, mode) = read_file(key, path)?;
        if mode & 0o077 != 0 {
            return Err(ChannelFault::Exposed { key, path: path.to_owned(), mode });
        }
        let wrong = |problem: &str, advice| ChannelFault::Wrong {
            key,
            problem: format!("{} {problem}", path.display()),
            advice,
        };
        let text = String::from_utf8(bytes).map_err(|_| wrong("is no text", "write the secret into it, as UTF-8"))?;
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        match text {
            "" => Err(wrong("is empty", "write the secret into it")),
            text if text.contains(char::is_control) => {
                Err(wrong("has more than one line, or control characters", "write nothing but the secret into it"))
            }
            text => Ok(SecretText(text.to_owned())),
        }
    }

    /// The secret itself, for the other side only.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Replaces the secret in a reply.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, "***")
    }

    /// Adds a secret to a fingerprint.
    pub(crate) fn add_to_fingerprint(secret: Option<&SecretText>, key: &str, maker: &mut FingerprintMaker) {
        maker.add(key, secret.map(|secret| secret.0.as_bytes()));
    }
}

/// The contents of a file, and its mode bits. Never blocks: anything but a regular file is refused.
pub(crate) fn read_file(key: &'static str, path: &Path) -> Result<(Vec<u8>, u32), ChannelFault> {
    let read = || -> io::Result<(Vec<u8>, u32)> {
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let file = File::open(path)?;
        let mode = file.metadata()?.permissions().mode() & 0o7777;
        let mut bytes = Vec::new();
        file.take(FILE_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > FILE_MAX {
            return Err(io::Error::other("it is too long"));
        }
        Ok((bytes, mode))
    };
    read().map_err(|error| ChannelFault::Unreadable { key, path: path.to_owned(), why: error.to_string() })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::path::PathBuf;
    use tempfile::TempDir;

    /// Makes a file with this text and mode.
    pub(crate) fn file(folder: &TempDir, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_and_every_other_mode_taken() {
        let folder = tempfile::tempdir().unwrap();
        for mode in (0o400..=0o777).filter(|mode| mode & 0o400 != 0) {
            let path = file(&folder, "secret", "a secret", mode);
            let read = SecretText::read("alert.email.password-file", &path);
            assert_eq!(read.is_ok(), mode & 0o077 == 0, "{mode:o}");
            if let Err(fault) = read {
                let shown = path.display();
                let expected = format!(
                    "alert.email.password-file: {shown} can be read by others than its owner (mode {mode:04o}): chmod 600 {shown}"
                );
                assert_eq!(fault.to_string(), expected);
            }
        }
    }

    #[test]
    fn a_secret_is_one_line_and_any_other_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| SecretText::read("key", &file(&folder, "secret", text, 0o600));
        for text in [" p@ss: w^rd$ ", " p@ss: w^rd$ \n", " p@ss: w^rd$ \r\n"] {
            assert_eq!(read(text).unwrap().reveal(), " p@ss: w^rd$ ");
        }
        for text in ["", "\n", "a\nb", "a\0b", "a\r\nX: b\r\n"] {
            assert!(matches!(read(text), Err(ChannelFault::Wrong { .. })), "{text:?}");
        }
        let absent = SecretText::read("key", &folder.path().join("absent")).unwrap_err();
        assert!(absent.to_string().contains("absent cannot be read (No such file"), "{absent}");
        let is_folder = SecretText::read("key", folder.path()).unwrap_err();
        assert!(is_folder.to_string().contains("(it is no file)"), "{is_folder}");
    }

    #[test]
    fn a_secret_is_never_shown() {
        let secret = SecretText("hunter2".to_owned());
        assert_eq!(format!("{secret:?} {}", secret.hide_in("no such password: hunter2")), "*** no such password: ***");
    }
}
