//! What a rule finds: a place and a sentence.

use std::fmt;

/// One violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TidyFinding {
    /// Path from the root of the repository.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl TidyFinding {
    /// The finding `message` at `path:line`.
    pub fn at(path: &str, line: usize, message: impl Into<String>) -> TidyFinding {
        TidyFinding { path: path.to_owned(), line, message: message.into() }
    }
}

/// `path:line: message`, which editors can jump to.
impl fmt::Display for TidyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// The findings of `rule` in a tree of (path, text) pairs, as text.
#[cfg(test)]
pub fn findings(rule: fn(&crate::tree::Tree) -> Vec<TidyFinding>, files: &[(&str, &str)]) -> Vec<String> {
    rule(&crate::tree::Tree::of(files)).iter().map(TidyFinding::to_string).collect()
}
