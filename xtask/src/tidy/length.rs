//! Rule: no source file is too long.

use super::finding::TidyFinding;
use crate::tree::Tree;

/// The limit of a file, in lines; the aim is 150 to 400. A file without a limit grows until it is hard to change.
const LINES_MAX: usize = 600;

pub fn check(tree: &Tree) -> Vec<TidyFinding> {
    tree.rust()
        .filter_map(|file| {
            let lines = file.lines().count();
            (lines > LINES_MAX)
                .then(|| TidyFinding::at(&file.path, LINES_MAX + 1, format!("{lines} lines, {LINES_MAX} at most")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::findings;
    use super::*;

    #[test]
    fn the_limit_itself_is_allowed() {
        let full = "x\n".repeat(LINES_MAX);
        assert!(findings(check, &[("a.rs", &full), ("notes.md", &full.repeat(2))]).is_empty());
        assert_eq!(findings(check, &[("a.rs", &format!("{full}x\n"))]), ["a.rs:601: 601 lines, 600 at most"]);
    }
}
