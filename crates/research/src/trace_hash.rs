//! The SHA-256 of a trace's files, by which a result can be repeated on the same input.

use ring::digest::{Context, SHA256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;

/// The SHA-256 of a file as it lies there (compressed, if it is), in hexadecimal digits.
///
/// # Errors
/// When it cannot be read.
pub fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut context, mut piece) = (Context::new(&SHA256), vec![0; PIECE]);
    loop {
        match file.read(&mut piece)? {
            0 => break,
            count => context.update(&piece[..count]),
        }
    }
    Ok(context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The SHA-256 of each of several files, in their order; none where one is no plain file (a pipe is read once only).
pub fn sha256_of_all(files: &[impl AsRef<Path>]) -> Vec<String> {
    if !files.iter().all(|file| file.as_ref().is_file()) {
        return Vec::new();
    }
    let all: io::Result<Vec<String>> = files.iter().map(|file| sha256(file.as_ref())).collect();
    all.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_sha256sum() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        std::fs::write(&path, "abc").unwrap();
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-4, "abc"
        assert_eq!(sha256_of_all(&[&path, &path]), [known, known]);
        assert!(sha256_of_all(&[path.as_path(), Path::new("/dev/null")]).is_empty());
    }
}
