//! What a run leaves in the checkout: nothing may lie there afterwards, or be changed, that was not so before.

use crate::place;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// What git says is not as in the last commit, what it ignores included, one entry a path; but not what cargo builds.
#[derive(Debug, PartialEq, Eq)]
pub struct Checkout(BTreeSet<String>);

impl Checkout {
    /// The checkout as it is now.
    ///
    /// # Errors
    /// Why that cannot be told: no git, or no checkout.
    pub fn now() -> Result<Checkout, String> {
        let mut git = Command::new("git");
        // A clone that belongs to another user (a container's volume) is fine: nothing is run from it.
        git.args(["-c", "safe.directory=*", "--no-optional-locks", "status", "--porcelain", "-z", "--ignored"]);
        let output = git.stdin(Stdio::null()).output().map_err(|error| format!("no git here: {error}"))?;
        if !output.status.success() {
            return Err("this is no checkout of git's".to_owned());
        }
        // What cargo builds, it marks.
        let is_cache = |path: &str| place::root().join(path).join("CACHEDIR.TAG").exists();
        Ok(Checkout::read(&String::from_utf8_lossy(&output.stdout), is_cache))
    }

    /// From the output of `git status --porcelain -z`, without the folders that are somebody's cache.
    pub(super) fn read(status: &str, is_cache: impl Fn(&str) -> bool) -> Checkout {
        let is_left = |entry: &&str| !entry.get(3..).is_some_and(&is_cache);
        Checkout(status.split_terminator('\0').filter(is_left).map(str::to_owned).collect())
    }

    /// What there is now that was not there `before`, one entry a path: `?? file` is new, ` M file` changed.
    pub fn since(&self, before: &Checkout) -> Vec<String> {
        self.0.difference(&before.0).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_and_what_cargo_builds_is_not_left() {
        let is_cache = |path: &str| path == "target/" || path == "fuzz/target/";
        let before = Checkout::read(" M README.md\0?? notes\0", is_cache);
        let after = " M Makefile\0 M README.md\0?? notes\0?? local-verify-0-verify.state\0!! fuzz/corpus/\0!! fuzz/target/\0!! target/\0";
        let after = Checkout::read(after, is_cache);
        assert_eq!(after.since(&before), [" M Makefile", "!! fuzz/corpus/", "?? local-verify-0-verify.state"]);
        assert!(after.since(&after).is_empty());
    }
}
