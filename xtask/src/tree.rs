//! The repository as text: every file that git tracks or would track.

use anyhow::{Context, Result, ensure};
use std::process::Command;

/// Text files, by path.
pub struct Tree {
    /// The files, sorted by path.
    pub files: Vec<SourceFile>,
}

/// One text file.
pub struct SourceFile {
    /// Path from the root of the repository, with `/`.
    pub path: String,
    /// The whole text.
    pub text: String,
}

impl Tree {
    /// The tracked files, and the untracked ones that are not ignored, of the current directory. Binary files (not
    /// UTF-8, or with a NUL byte) are left out, and so are tracked files that were deleted.
    ///
    /// # Errors
    /// When git does not answer.
    pub fn of_git() -> Result<Tree> {
        // A clone that belongs to another user (a container's volume) is fine: nothing is executed from it.
        let git = Command::new("git")
            .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .output()
            .context("cannot run git")?;
        ensure!(git.status.success(), "git ls-files: {}", String::from_utf8_lossy(&git.stderr).trim());
        let paths = String::from_utf8(git.stdout).context("a path that is not UTF-8")?;
        let mut files = Vec::new();
        for path in paths.split_terminator('\0') {
            let Ok(bytes) = std::fs::read(path) else { continue };
            if let Some(text) = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')) {
                files.push(SourceFile { path: path.to_owned(), text });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        Ok(Tree { files })
    }

    /// The text files at and below these paths of the current directory, where there need be no git; what is not there is left out.
    ///
    /// # Errors
    /// When a folder cannot be read.
    pub fn of_folder(paths: &[&str]) -> Result<Tree> {
        let mut open: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        let mut files = Vec::new();
        while let Some(path) = open.pop() {
            if std::fs::metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
                for entry in std::fs::read_dir(&path).with_context(|| path.clone())? {
                    open.push(format!("{path}/{}", entry?.file_name().to_string_lossy()));
                }
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                files.push(SourceFile { path, text });
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Tree { files })
    }

    /// A tree made of (path, text) pairs.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let mut files: Vec<SourceFile> =
            files.iter().map(|&(path, text)| SourceFile { path: path.to_owned(), text: text.to_owned() }).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Tree { files }
    }

    /// The Rust sources.
    pub fn rust(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }
}

impl SourceFile {
    /// Its lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}
