//! What a test run leaves in the checkout: nothing may be added or changed there.

use crate::place;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// Paths that differ from the last commit by `git status`, ignored ones included, without the folders that cargo builds in.
#[derive(Debug, PartialEq, Eq)]
pub struct Checkout(BTreeSet<String>);

impl Checkout {
    /// The state of the checkout now.
    ///
    /// # Errors
    /// When it cannot be determined, and why: no git, or no checkout.
    pub fn now() -> Result<Checkout, String> {
        let mut git = Command::new("git");
        // A clone that belongs to another user (a container's volume) is fine: nothing is executed from it.
        git.args(["-c", "safe.directory=*", "--no-optional-locks", "status", "--porcelain", "-z", "--ignored"]);
        let output = git.stdin(Stdio::null()).output().map_err(|error| format!("no git here: {error}"))?;
        if !output.status.success() {
            return Err("this is no checkout of git's".to_owned());
        }
        // Cargo marks its folders so.
        let is_cache = |path: &str| place::root().join(path).join("CACHEDIR.TAG").exists();
        Ok(Checkout::read(&String::from_utf8_lossy(&output.stdout), is_cache))
    }

    /// Parses the output of `git status --porcelain -z`, without folders that are caches.
    pub(super) fn read(status: &str, is_cache: impl Fn(&str) -> bool) -> Checkout {
        let is_left = |entry: &&str| !entry.get(3..).is_some_and(&is_cache);
        Checkout(status.split_terminator('\0').filter(is_left).map(str::to_owned).collect())
    }

    /// The entries that are not in `before`, one per path: `?? file` is new, ` M file` changed.
    pub fn since(&self, before: &Checkout) -> Vec<String> {
        self.0.difference(&before.0).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_changes_and_build_folders_do_not_count_as_left_behind() {
        let is_cache = |path: &str| path == "target/" || path == "fuzz/target/";
        let before = Checkout::read(" M README.md\0?? notes\0", is_cache);
        let after = " M Makefile\0 M README.md\0?? notes\0?? local-verify-0-verify.state\0!! fuzz/corpus/\0!! fuzz/target/\0!! target/\0";
        let after = Checkout::read(after, is_cache);
        assert_eq!(after.since(&before), [" M Makefile", "!! fuzz/corpus/", "?? local-verify-0-verify.state"]);
        assert!(after.since(&after).is_empty());
    }
}
