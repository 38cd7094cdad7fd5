//! Which commit this is: as git says, else as `git archive` wrote into the file `commit`, else unknown.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=commit");
    let (commit, date) = by_git().or_else(by_archive).unwrap_or_default();
    println!("cargo:rustc-env=SCRUBJAY_COMMIT={commit}");
    println!("cargo:rustc-env=SCRUBJAY_COMMIT_DATE={date}");
}

/// The commit that is checked out, and its date; marked where tracked files differ from it.
fn by_git() -> Option<(String, String)> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(["-c", "safe.directory=*"]).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // Only in a checkout of this project, not in that of another one which has it in a folder.
    let root = git(&["rev-parse", "--show-toplevel"])?;
    if !Path::new(&root).join("crates/control/commit").exists() {
        return None;
    }
    for file in [git(&["rev-parse", "--git-path", "HEAD"])?, git(&["rev-parse", "--git-path", "logs/HEAD"])?] {
        println!("cargo:rerun-if-changed={file}");
    }
    let line = git(&["log", "-1", "--format=%h %cs", "--abbrev=12"])?;
    let (commit, date) = line.split_once(' ')?;
    Some((commit.to_owned(), date.to_owned()))
}

/// What `git archive` put in the place of `$Format`.
fn by_archive() -> Option<(String, String)> {
    let text = std::fs::read_to_string("commit").ok()?;
    let (commit, date) = text.trim().split_once(' ')?;
    let is_written = commit.len() >= 12 && commit.chars().all(|char| char.is_ascii_hexdigit());
    is_written.then(|| (commit[..12].to_owned(), date.to_owned()))
}
